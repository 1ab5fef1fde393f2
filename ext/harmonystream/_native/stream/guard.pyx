# The flag that a step of a batch raises for all of its streams at once: with the GIL, nobody can come past it, and no stream's own lock
# need be touched. It is an object of its own because a stream may live longer than its batch.

cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD

DEBUG = bool(DEBUG_BUILD)


@cython.final
@cython.no_gc
cdef class Guard:
    pass
