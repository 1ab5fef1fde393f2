# How a writer of frames starts, alone or as another one of a pattern.

cimport cython
from harmonystream._native.wire.script cimport Script
from harmonystream._native.wire.writer cimport OpenWriter


cdef class StartingWriter(OpenWriter):
    cdef StartingWriter pattern    # it was made by that one; None: by its constructor
    # of a pattern, once it was asked for another writer:
    cdef dict shape                # the attributes that its constructor has set, without the response's identity
    cdef Script shape_script       # the script of this shape, or None
    cdef str time                  # the attribute that says when a response was created; None: the API has none
    cdef str prefix                # of ids, which stems lack; None: Python knows what a response begins with
    cdef str head                  # of all; None: the script has it
    cdef bint word_stem            # only letters and digits are a stem as they are

    @cython.final
    cdef int set_script(self, Script script, str id, str created, str stem, str head) except -1
    @cython.final
    cdef int put_constant(self, int k, str text, bint escaped) except -1
    @cython.final
    cdef bytes begin(self, Script script, tuple constants, bytes opening)
    @cython.final
    cdef int take_shape(self) except -1
    @cython.final
    cdef StartingWriter another(self)
    @cython.final
    cdef void rest(self) noexcept
    @cython.final
    cdef int renew(self) except -1
    @cython.final
    cdef bytes start_as(self, object id, object created)
