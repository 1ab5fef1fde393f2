# The objects that a step of a batch returns.

cimport cython
from libc.stdint cimport uint8_t
from harmonystream._native.core.types cimport Buffer
from harmonystream._native.wire.slot cimport Step


@cython.no_gc
cdef class Block:
    cdef uint8_t* p
    cdef Py_ssize_t size

    cdef void take(self, Step* step, Py_ssize_t size) noexcept


@cython.final
@cython.no_gc
cdef class Frames(Block):          # n + 1 offsets, and after them the frames
    cdef Py_ssize_t n

    cdef void own(self, Buffer* out) noexcept
    cdef bytes at(self, Py_ssize_t i)
