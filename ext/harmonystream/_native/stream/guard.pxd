# What keeps others out of a batch's streams while a step has given up the GIL. The batch has it, and so has each of its parsers.

cimport cython


@cython.final
@cython.no_gc
cdef class Guard:
    cdef bint stepping             # written and read with the GIL; a free-threaded Python uses the locks of the streams themselves
    cdef unsigned long owner       # the thread of that step
