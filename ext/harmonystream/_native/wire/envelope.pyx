# An emitter's state as bytes: the envelope, its signature, and the parts in it.

import hmac

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcmp, memcpy, memset
cimport cython
from harmonystream._native.core.buffer cimport buffer_free, buffer_put, buffer_room
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
    ROOM = 1024                        # for an envelope without much text
    DIGEST_SIZE = 32
    MOST_ID = 0xFFFF                   # bytes of an id


@cython.final
cdef class Saved:
    """Saved(api, dicts, told, number, parser, options, id, created, said)
--

    What an emitter was. api: one letter. told: `said` is what a script has told; else it is the JSON of what Python
    remembers. number: of the next payload. Raises TypeError or ValueError for what does not fit.
    """

    def __cinit__(self):
        self.data = b""

    def __init__(self, bytes api not None, bint dicts, bint told, int64_t number, bytes parser not None,
                 bytes options not None, bytes id not None, bytes created not None, bytes said not None):
        cdef bytes part
        cdef int k = 0
        check_sizes(len(id), len(created))
        if len(api) != 1:
            raise ValueError("api is one letter")
        self.head.api, self.head.number = <uint8_t>PyBytes_AS_STRING(api)[0], number
        self.head.flags = (DICTS if dicts else 0) | (TOLD if told else 0)
        for part in (parser, options, said, id, created):
            self.head.n[k] = <uint32_t>len(part)
            k += 1
        self.data, self.at = b"".join((parser, options, said, id, created)), 0

    cdef const uint8_t* start(self, int part) noexcept:
        """Where it begins."""
        cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(self.data) + self.at
        cdef int k
        for k in range(part):
            p += self.head.n[k]
        return p

    cdef bytes part(self, int part):
        return PyBytes_FromStringAndSize(<const char*>self.start(part), self.head.n[part])

    @property
    def api(self):
        return PyBytes_FromStringAndSize(<const char*>&self.head.api, 1)

    @property
    def dicts(self):
        return self.head.flags & DICTS != 0

    @property
    def told(self):
        return self.head.flags & TOLD != 0

    @property
    def number(self):
        return self.head.number

    @property
    def parser(self):
        return self.part(PARSER)

    @property
    def options(self):
        return self.part(OPTIONS)

    @property
    def said(self):
        return self.part(SAID)

    @property
    def id(self):
        return self.part(ID)

    @property
    def created(self):
        return self.part(CREATED)


cdef void walk(EnvelopeHead* h, Fields* f) noexcept:
    cdef int k
    byte_field(f, &h.version)
    byte_field(f, &h.api)
    byte_field(f, &h.flags)
    long_field(f, &h.number)
    for k in range(N_PARTS):
        h.n[k] = <uint32_t>field(f, h.n[k], 4 if k < ID else 2)


# --- out ---

cdef int begin_envelope(Sealing* e, uint8_t api, bint dicts, bint told, int64_t number, object key) except -1:
    """The parts follow in their order, each put or ended once; then sealed(). Free `made` in any case."""
    memset(e, 0, sizeof(Sealing))
    check_key(key)
    e.head.version, e.head.api, e.head.number = VERSION, api, number
    e.head.flags = (DICTS if dicts else 0) | (0 if key is None else SIGNED) | (TOLD if told else 0)
    if not buffer_room(&e.made, ROOM):
        raise MemoryError()
    e.made.n = e.begin = HEAD_SIZE
    return 0


cdef int end_part(Sealing* e, int part) except -1:
    """All that was appended to `made` is this part."""
    e.head.n[part] = <uint32_t>(e.made.n - e.begin)
    e.begin = e.made.n
    return 0


cdef int put_part(Sealing* e, int part, const uint8_t* p, Py_ssize_t n) except -1:
    if not buffer_put(&e.made, p, n):
        raise MemoryError()
    return end_part(e, part)


cdef bytes sealed(Sealing* e, object key):
    """All of it as bytes, signed if there is a key."""
    cdef bytes data
    cdef Fields f
    check_sizes(e.head.n[<int>ID], e.head.n[<int>CREATED])
    memcpy(e.made.p, b"HSE", 3)
    f.p, f.n, f.at, f.writing, f.truncated = e.made.p, HEAD_SIZE, 3, True, False
    walk(&e.head, &f)
    data = PyBytes_FromStringAndSize(<const char*>e.made.p, e.made.n)
    return data if key is None else data + hmac.digest(key, data, "sha256")


def pack(Saved saved not None, key=None):
    """As bytes, signed if there is a key."""
    cdef Sealing e
    cdef const uint8_t* p = saved.start(PARSER)
    cdef int k
    try:
        begin_envelope(&e, saved.head.api, saved.dicts, saved.told, saved.head.number, key)
        for k in range(N_PARTS):
            put_part(&e, k, p, saved.head.n[k])
            p += saved.head.n[k]
        return sealed(&e, key)
    finally:
        buffer_free(&e.made)


# --- in ---

def unpack(given, key=None):
    """What pack() wrote with this key. Raises TypeError for what is not bytes, ValueError for anything else."""
    cdef Saved saved
    cdef EnvelopeHead* h
    cdef Fields f
    cdef Py_ssize_t end
    cdef int k
    check_key(key)
    if not isinstance(given, (bytes, bytearray, memoryview)):
        raise TypeError(f"from_bytes() takes bytes, not {type(given).__name__}")
    saved = Saved.__new__(Saved)
    saved.data, h = bytes(given), &saved.head
    f.p, f.n, f.at, f.writing, f.truncated = (<uint8_t*>PyBytes_AS_STRING(saved.data), PyBytes_GET_SIZE(saved.data), 3,
                                              False, False)
    if f.n < HEAD_SIZE or memcmp(f.p, b"HSE", 3):
        raise ValueError("not an emitter state: it does not begin like one, or is truncated")
    walk(h, &f)
    if h.version != VERSION:
        raise ValueError(f"this emitter state has version {h.version}; this release reads version {VERSION}")
    if key is not None or h.flags & SIGNED:
        check_signature(saved.data, h.flags, key)
    saved.at = end = f.at
    for k in range(N_PARTS):
        end += h.n[k]
    if f.n != end + (DIGEST_SIZE if h.flags & SIGNED else 0) or h.flags > MOST_FLAGS or h.number < 0:
        raise ValueError("not a usable emitter state: its length does not fit its content")
    return saved


cdef int check_sizes(Py_ssize_t n_id, Py_ssize_t n_created) except -1:
    if n_id > MOST_ID or n_created > MOST_ID:
        raise ValueError(f"this stream cannot be moved: its id, or its time, is longer than {MOST_ID:,} bytes")
    return 0


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
