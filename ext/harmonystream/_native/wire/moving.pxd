# A writer of frames that can be moved to another process.

cimport cython
from libc.stdint cimport int64_t
from harmonystream._native.wire.json_filter cimport Arguments
from harmonystream._native.wire.script cimport Script
from harmonystream._native.wire.starting cimport StartingWriter


cdef class MovingWriter(StartingWriter):
    @cython.final
    cdef int tell_again(self, Script script, tuple constants, bytes told, Arguments filter, int64_t number) except -1
