# The JSON scanner for Python. The machines inline the code in core/json_scan.pxd.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.core.json_scan cimport *
from harmonystream._native.core.types cimport Json
from harmonystream._native.core.utf8 cimport without_surrogates

DEBUG = bool(DEBUG_BUILD)


@cython.final
@cython.no_gc
cdef class JsonScanner:
    """JsonScanner()
--

    Follows a JSON value piece by piece, in constant memory, and knows whether the value is complete, and where it
    ended.

    It follows only strings, brackets and bare scalars. So a balanced value may still be invalid JSON inside.
    """

    cdef Json json

    def __cinit__(self):
        json_reset(&self.json)

    def feed(self, data, /):
        """Reads the next piece, str or bytes, cut anywhere. Raises TypeError for anything else."""
        cdef bytes piece
        if isinstance(data, str):
            piece = without_surrogates(data).encode()
        elif isinstance(data, bytes):
            piece = data
        else:
            raise TypeError(f"feed() takes str or bytes, not {type(data).__name__}")
        json_step(&self.json, <const uint8_t*>PyBytes_AS_STRING(piece), PyBytes_GET_SIZE(piece))

    def reset(self):
        """Starts over with a new value."""
        json_reset(&self.json)

    @property
    def balanced(self):
        """Is the text so far one whole value, with only whitespace around it? A bare scalar may still go on."""
        return json_balanced(&self.json)

    @property
    def complete(self):
        """Has the first value ended for certain?"""
        return self.json.stage == J_CLOSED

    @property
    def end(self):
        """Bytes up to the end of the first value; None while it is open."""
        return None if self.json.end < 0 else self.json.end

    @property
    def depth(self):
        """Open objects and arrays."""
        return self.json.depth

    def __repr__(self):
        return f"JsonScanner(balanced={self.balanced}, complete={self.complete}, end={self.end}, depth={self.depth})"


name_errors(JsonScanner)
