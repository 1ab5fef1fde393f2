# How a writer of frames starts.

cimport cython
from harmonystream._native.wire.script cimport Script
from harmonystream._native.wire.writer cimport OpenWriter


cdef class StartingWriter(OpenWriter):
    @cython.final
    cdef int set_script(self, Script script, tuple constants, bint asks_ids) except -1
    @cython.final
    cdef int put_constant(self, int k, str text, bint escaped) except -1
    @cython.final
    cdef bytes begin(self, Script script, tuple constants, bint asks_ids, str usage, bytes opening)
