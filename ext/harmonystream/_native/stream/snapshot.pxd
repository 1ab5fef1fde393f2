# A stream's state as bytes, and back: small, versioned, validated.

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from harmonystream._native.stream.program cimport Program
from harmonystream._native.core.types cimport Buffer, Held, Stream, ToolTable

cdef struct Head:                      # of a blob, after its version and its format's name
    uint64_t vocab, tools              # their fingerprints
    uint8_t no_trim
    uint32_t max_hold
    uint16_t n_args                    # bytes of `empty_args`, of the state to reset to, of the state
    uint32_t n_origin, n_state


cdef struct Blob:                      # what blob_put() wrote
    Head head
    const uint8_t* format
    const uint8_t* args
    const uint8_t* origin              # no bytes: the stream begins as usual
    const uint8_t* state
    const uint8_t* watched             # of a Watcher; no bytes if the parser has none
    Py_ssize_t n_format, n_watched


cdef bytes state_pack(Stream* s, const Held* held, bint tagged)
cdef int state_unpack(Stream* s, Held* held, Program program, const ToolTable* tools, const uint8_t* p,
                      Py_ssize_t n) except -1
cdef int blob_put(str format, Head* head, str empty_args, bytes origin, Stream* s, const Held* held, bint tagged,
                  bytes watched, Buffer* to) except -1
cdef int blob_unpack(Blob* blob, const uint8_t* p, Py_ssize_t n) except -1
cdef str format_in(const Blob* blob)
cdef str empty_args_in(const Blob* blob)
