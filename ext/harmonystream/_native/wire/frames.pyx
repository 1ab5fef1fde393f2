# Block and Frames: the bytes that a step of a batch has made, as Python objects. They own the step's memory.

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBUF_STRIDES, PyBUF_WRITABLE
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t
from libc.stdlib cimport free
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD

DEBUG = bool(DEBUG_BUILD)


cdef extern from "Python.h":
    object PySeqIter_New(object sequence)


@cython.no_gc
cdef class Block:
    """Bytes that a step has made, for a memoryview."""

    def __init__(self):
        raise TypeError("only Batch makes them")

    def __reduce__(self):
        raise TypeError(f"{type(self).__name__} is not pickled: send bytes")

    def __dealloc__(self):
        free(self.p)

    cdef void take(self, Step* step, Py_ssize_t size) noexcept:
        self.p = step.block
        self.size = size
        step.block = NULL

    def __getbuffer__(self, Py_buffer* view, int flags):
        if self.p == NULL:
            raise BufferError("this block is empty")
        if flags & PyBUF_WRITABLE:
            raise BufferError("it is read-only")
        view.obj = self
        view.buf = self.p
        view.len = self.size
        view.readonly = True
        view.itemsize = 1
        view.ndim = 1
        view.format, view.shape, view.strides, view.suboffsets = NULL, NULL, NULL, NULL
        if flags & PyBUF_FORMAT:
            view.format = b"B"
        if flags & PyBUF_ND:
            view.shape = &view.len
        if flags & PyBUF_STRIDES == PyBUF_STRIDES:
            view.strides = &view.itemsize
        view.internal = NULL


@cython.final
@cython.no_gc
cdef class Frames(Block):
    """What `Batch.feed_sse` returns: a sequence with the frames of each slot, in the order of the call, as bytes; b""
    if there are none.

    They are in one block, and each becomes an object when it is asked for: `block[offset[i]:offset[i + 1]]` is the
    i-th without a copy.
    """

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        """The frames of the i-th slot of the call; a slice is a list of them."""
        if isinstance(i, slice):
            return [self.at(k) for k in range(*i.indices(self.n))]
        return self.at(i)

    def __eq__(self, other):
        """Are they the same bytes for each slot? With other Frames, or a list or tuple of bytes."""
        if isinstance(other, Frames):
            if self.p != NULL and (<Frames>other).p != NULL:
                return memoryview(self) == memoryview(other)
            return len(self) == len(other)
        if not isinstance(other, (list, tuple)):
            return NotImplemented
        return len(other) == self.n and all([self.at(k) == other[k] for k in range(self.n)])

    __hash__ = None

    cdef void own(self, Buffer* out) noexcept:
        self.p, self.size = out.p, out.n
        out.p = NULL

    cdef bytes at(self, Py_ssize_t i):
        cdef const int64_t* offset = <const int64_t*>self.p
        if i < 0:
            i += self.n
        if not 0 <= i < self.n:
            raise IndexError("the call had fewer slots")
        return PyBytes_FromStringAndSize(<const char*>(offset + self.n + 1) + offset[i], offset[i + 1] - offset[i])

    def __iter__(self):
        return PySeqIter_New(self)

    @property
    def block(self):
        """All frames, one after the other in the order of the slots, as a memoryview."""
        return memoryview(self)[(self.n + 1) * sizeof(int64_t):]

    @property
    def offset(self):
        """Where each slot's frames begin in the block, and at last its size: int64, len() + 1 of them, as a memoryview.
        """
        return memoryview(self)[:(self.n + 1) * sizeof(int64_t)].cast("q")

    def __repr__(self):
        return f"<Frames: {self.n} slots, {len(self.block) if self.p != NULL else 0} bytes>"
