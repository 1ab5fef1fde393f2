# An emitter's state as bytes: the envelope, its signature, and the parts in it.

import hmac

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcmp, memcpy
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.fields cimport *
from harmonystream._native.core.naming cimport name_errors

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    VERSION = 2
    DICTS = 1                          # flags
    SIGNED = 2
    TOLD = 4
    MOST_FLAGS = 7
    HEAD_SIZE = 3 + 3 + 8 + 3 * 4 + 2 * 2
    DIGEST_SIZE = 32
    MOST_ID = 0xFFFF                   # bytes of an id

cdef struct Head:
    uint8_t version, api, flags
    int64_t number
    uint32_t n_parser, n_options, n_said
    uint16_t n_id, n_created


@cython.final
cdef class Saved:
    """Saved(api, dicts, told, number, parser, options, id, created, said)
--

    What an emitter was. api: one letter. told: `said` is what a script has told; else it is the JSON of what Python
    remembers. number: of the next payload. Raises TypeError or ValueError for what does not fit.
    """

    def __cinit__(self, bytes api not None, bint dicts, bint told, int64_t number, bytes parser not None,
                  bytes options not None, bytes id not None, bytes created not None, bytes said not None):
        if len(id) > MOST_ID or len(created) > MOST_ID or len(api) != 1:
            raise ValueError(f"this stream cannot be moved: its id, or its time, is longer than {MOST_ID:,} bytes")
        self.api, self.dicts, self.told, self.number = api, dicts, told, number
        self.parser, self.options, self.id, self.created, self.said = parser, options, id, created, said


cdef void walk(Head* h, Fields* f) noexcept:
    byte_field(f, &h.version)
    byte_field(f, &h.api)
    byte_field(f, &h.flags)
    long_field(f, &h.number)
    word_field(f, &h.n_parser)
    word_field(f, &h.n_options)
    word_field(f, &h.n_said)
    short_field(f, &h.n_id)
    short_field(f, &h.n_created)


def pack(Saved saved not None, key=None):
    """As bytes, signed if there is a key."""
    cdef uint8_t[HEAD_SIZE] room
    cdef Head h
    cdef Fields f
    check_key(key)
    h.version, h.api = VERSION, <uint8_t>PyBytes_AS_STRING(saved.api)[0]
    h.flags = (DICTS if saved.dicts else 0) | (0 if key is None else SIGNED) | (TOLD if saved.told else 0)
    h.number, h.n_parser, h.n_options = saved.number, <uint32_t>len(saved.parser), <uint32_t>len(saved.options)
    h.n_said, h.n_id, h.n_created = <uint32_t>len(saved.said), <uint16_t>len(saved.id), <uint16_t>len(saved.created)
    memcpy(room, b"HSE", 3)
    f.p, f.n, f.at, f.writing, f.truncated = room, HEAD_SIZE, 3, True, False
    walk(&h, &f)
    head = PyBytes_FromStringAndSize(<const char*>room, HEAD_SIZE)
    data = b"".join((head, saved.parser, saved.options, saved.said, saved.id, saved.created))
    return data if key is None else data + hmac.digest(key, data, "sha256")


def unpack(given, key=None):
    """What pack() wrote with this key. Raises TypeError for what is not bytes, ValueError for anything else."""
    cdef bytes data
    cdef Head h
    cdef Fields f
    cdef Py_ssize_t end
    check_key(key)
    if not isinstance(given, (bytes, bytearray, memoryview)):
        raise TypeError(f"from_bytes() takes bytes, not {type(given).__name__}")
    data = bytes(given)
    f.p, f.n, f.at, f.writing, f.truncated = (<uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), 3, False,
                                              False)
    if f.n < HEAD_SIZE or memcmp(f.p, b"HSE", 3):
        raise ValueError("not an emitter state: it does not begin like one, or is truncated")
    walk(&h, &f)
    if h.version != VERSION:
        raise ValueError(f"this emitter state has version {h.version}; this release reads version {VERSION}")
    if key is not None or h.flags & SIGNED:
        check_signature(data, h.flags, key)
    end = f.at + h.n_parser + h.n_options + h.n_said + h.n_id + h.n_created
    if f.n != end + (DIGEST_SIZE if h.flags & SIGNED else 0) or h.flags > MOST_FLAGS or h.number < 0:
        raise ValueError("not a usable emitter state: its length does not fit its content")
    parser, options, said = part(&f, h.n_parser), part(&f, h.n_options), part(&f, h.n_said)
    id, created = part(&f, h.n_id), part(&f, h.n_created)
    return Saved.__new__(Saved, data[4:5], h.flags & DICTS != 0, h.flags & TOLD != 0, h.number, parser, options, id,
                         created, said)


cdef bytes part(Fields* f, Py_ssize_t n):
    f.at += n
    return PyBytes_FromStringAndSize(<const char*>f.p + f.at - n, n)


cdef int check_key(object key) except -1:
    if key is not None and (not isinstance(key, bytes) or not key):
        raise TypeError(
            f"key is bytes that only your servers know, not {'empty' if key == b'' else type(key).__name__}")
    return 0


cdef int check_signature(bytes data, uint8_t flags, bytes key) except -1:
    if key is None:
        raise ValueError("this emitter state is signed: pass the key")
    signed, digest = data[:-DIGEST_SIZE], data[-DIGEST_SIZE:]
    if not flags & SIGNED or not hmac.compare_digest(hmac.digest(key, signed, "sha256"), digest):
        raise ValueError("this emitter state was not signed with this key, or has been altered since")
    return 0


name_errors(Saved)
