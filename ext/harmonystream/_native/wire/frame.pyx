# The frame of an event, prepared once.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
cimport cython
from libc.stdlib cimport free, malloc
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.naming cimport name_errors

DEBUG = bool(DEBUG_BUILD)


@cython.final
cdef class Frame:
    """Frame(parts, holes)
--

    Bytes with holes between the parts: "t", the text of a delta, JSON-escaped; "n", the running number of the frame.
    Frame([b""], "") sends nothing: it is for deltas that are neither sent, nor numbered, nor kept.

    parts: bytes, one more than holes. Raises TypeError or ValueError for anything else.
    """

    def __cinit__(self, parts, str holes not None):
        cdef Py_ssize_t i, n
        cdef bytes part
        self.parts = tuple(parts)
        self.holes = holes.encode()
        n = len(self.parts)
        if any(type(part) is not bytes for part in self.parts):
            raise TypeError("the parts of a frame are bytes")
        if n != len(self.holes) + 1 or self.holes.strip(b"nt"):
            raise ValueError("a frame has a hole, 't' or 'n', between any two parts")
        self.pieces.items = <FramePiece*>malloc(n * sizeof(FramePiece))
        if self.pieces.items == NULL:
            raise MemoryError()
        self.pieces.n = n
        for i in range(n):
            part = <bytes>self.parts[i]
            self.pieces.items[i].p = <const uint8_t*>PyBytes_AS_STRING(part)
            self.pieces.items[i].n = PyBytes_GET_SIZE(part)
            self.pieces.items[i].hole = <uint8_t>PyBytes_AS_STRING(self.holes)[i] if i < n - 1 else 0
            self.pieces.size += PyBytes_GET_SIZE(part)
        self.pieces.texts, self.pieces.numbers = self.holes.count(b"t"), self.holes.count(b"n")
        self.pieces.silent = self.pieces.size == 0 and n == 1

    def __dealloc__(self):
        free(self.pieces.items)

    def __repr__(self):
        return f"Frame({self.parts!r}, {self.holes.decode()!r})"


name_errors(Frame)
