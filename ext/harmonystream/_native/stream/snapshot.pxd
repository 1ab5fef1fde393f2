# A stream's state as bytes, and back: small, versioned, validated.

from harmonystream._native.stream.program cimport Program
from harmonystream._native.core.types cimport Held, Stream, ToolTable

cdef bytes state_pack(const Stream* s, const Held* held, bint tagged)
cdef int state_unpack(Stream* s, Held* held, Program program, const ToolTable* tools, bytes data) except -1
cdef bytes blob_pack(str format, object vocab, object tools, bint no_trim, Py_ssize_t max_hold, str empty_args,
                     bytes origin, bytes state, bytes watched)
cdef object blob_unpack(object data)
