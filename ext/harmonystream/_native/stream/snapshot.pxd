# A stream's state as bytes, and back: small, versioned, validated.

cimport cython
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from harmonystream._native.stream.program cimport Program
from harmonystream._native.core.types cimport Held, Stream, ToolTable

cdef struct Head:                      # of a blob, after its version and its format's name
    uint64_t vocab, tools              # their fingerprints
    uint8_t no_trim
    uint32_t max_hold
    uint16_t n_args                    # bytes of `empty_args`, of the state to reset to, of the state
    uint32_t n_origin, n_state


@cython.final
cdef class Blob:
    cdef Head head
    cdef str format, empty_args
    cdef bytes origin                  # None: the stream begins as usual
    cdef bytes state
    cdef bytes watched                 # of a Watcher; empty if the parser has none


cdef bytes state_pack(Stream* s, const Held* held, bint tagged)
cdef int state_unpack(Stream* s, Held* held, Program program, const ToolTable* tools, bytes data) except -1
cdef bytes blob_pack(str format, Head* head, str empty_args, bytes origin, bytes state, bytes watched)
cdef Blob blob_unpack(object given)
