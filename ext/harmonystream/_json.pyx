# The JSON scanner for Python; the machines inline it from _json.pxd.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
cimport cython
from harmonystream._build cimport DEBUG_BUILD
from harmonystream._json cimport *
from harmonystream._types cimport Json

DEBUG = bool(DEBUG_BUILD)


@cython.final
@cython.no_gc
cdef class JsonScanner:
    """Follows a JSON value piece by piece, in constant memory, without looking back."""

    cdef Json json

    def __cinit__(self):
        json_reset(&self.json)

    def feed(self, data, /):
        cdef bytes piece
        if isinstance(data, str):
            piece = (<str>data).encode("utf-8", "replace")
        elif isinstance(data, bytes):
            piece = data
        else:
            raise TypeError(f"feed() takes str or bytes, not {type(data).__name__}")
        json_step(&self.json, <const uint8_t*>PyBytes_AS_STRING(piece), PyBytes_GET_SIZE(piece))

    def reset(self):
        json_reset(&self.json)

    @property
    def balanced(self):
        return json_balanced(&self.json)

    @property
    def complete(self):
        return self.json.stage == J_CLOSED

    @property
    def end(self):
        return None if self.json.end < 0 else self.json.end

    @property
    def depth(self):
        return self.json.depth

    def __repr__(self):
        return f"JsonScanner(balanced={self.balanced}, complete={self.complete}, end={self.end}, depth={self.depth})"
