# A stream's state as bytes, and back: small, versioned, validated.

from harmonystream._types cimport Stream, Tables

cdef bytes state_pack(const Stream* s)
cdef int state_unpack(Stream* s, const Tables* t, bytes data) except -1
cdef bytes blob_pack(str format, object vocab, object tools, bint no_trim, str empty_args, bytes origin, bytes state)
cdef object blob_unpack(object data)
