# The signature of a block of reasoning, used if the caller gives none: clients keep a block only if it has one. It is
# a hash of 64 bits, spread to 32 bytes, as base64. It cannot be used to verify anything.

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy
from harmonystream._native.core.buffer cimport buffer_free, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.cpython cimport PyUnicode_AsUTF8AndSize
from harmonystream._native.core.fnv cimport fnv_empty, fnv_number
from harmonystream._native.core.json_text cimport put_escaped
from harmonystream._native.core.types cimport Buffer

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    SIZE = 44                          # of 32 bytes, as base64


cdef inline uint64_t mixed(uint64_t h) noexcept nogil:
    """Each bit of the result depends on each of `h` (the finalizer of MurmurHash3)."""
    h = (h ^ (h >> 33)) * <uint64_t>0xFF51AFD7ED558CCD
    h = (h ^ (h >> 33)) * <uint64_t>0xC4CEB9FE1A85EC53
    return h ^ (h >> 33)


cdef uint64_t words(uint64_t h, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Adds these bytes to the hash, eight at a time, and how many they are."""
    cdef Py_ssize_t i = 0
    cdef uint64_t word
    while i + 8 <= n:
        memcpy(&word, p + i, 8)
        h = fnv_number(h ^ (h >> 29), word)
        i += 8
    word = 0
    if n > i:
        memcpy(&word, p + i, n - i)
    return mixed(fnv_number(fnv_number(h, word), <uint64_t>n))


cdef bint put_signature(Buffer* to, const uint8_t* id, Py_ssize_t n_id, const uint8_t* text,
                        Py_ssize_t n) noexcept nogil:
    """Appends the signature of a text in a response with this id, both as JSON strings hold them. False without memory.
    """
    cdef const char* digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    cdef uint64_t h
    cdef uint8_t[33] made
    cdef uint64_t part
    cdef uint8_t* out
    cdef int i
    if not buffer_room(to, SIZE):
        return False
    h = words(words(fnv_empty(), id, n_id), text, n)
    for i in range(32):
        if i % 8 == 0:
            h = mixed(h + <uint64_t>0x9E3779B97F4A7C15)
        made[i] = <uint8_t>(h >> (8 * (i % 8)))
    made[32] = 0
    out = to.p + to.n
    for i in range(11):
        part = (<uint64_t>made[3 * i] << 16) | (<uint64_t>made[3 * i + 1] << 8) | made[3 * i + 2]
        out[4 * i] = digits[part >> 18]
        out[4 * i + 1] = digits[(part >> 12) & 63]
        out[4 * i + 2] = digits[(part >> 6) & 63]
        out[4 * i + 3] = digits[part & 63]
    out[SIZE - 1] = c'='
    to.n += SIZE
    return True


def signature(str id not None, str text not None, /):
    """The signature of a text in the response with this id. Raises UnicodeEncodeError for lone surrogates."""
    cdef Buffer made, one, other
    cdef Py_ssize_t n_id, n
    cdef const uint8_t* p_id = <const uint8_t*>PyUnicode_AsUTF8AndSize(id, &n_id)
    cdef const uint8_t* p = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &n)
    made.p = one.p = other.p = NULL
    made.n = made.cap = one.n = one.cap = other.n = other.cap = 0
    try:
        if not (put_escaped(&one, p_id, n_id) and put_escaped(&other, p, n)
                and put_signature(&made, one.p, one.n, other.p, other.n)):
            raise MemoryError()
        return (<const char*>made.p)[:made.n].decode()
    finally:
        buffer_free(&made)
        buffer_free(&one)
        buffer_free(&other)
