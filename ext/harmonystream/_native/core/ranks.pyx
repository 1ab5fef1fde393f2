# The file of an embedded vocabulary. A token is two tokens of lower ranks, as byte-pair encoding has made it, so the
# file has two numbers for each rank, without text. It deflates to three quarters of what lengths and texts do.

from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.vocab cimport MAX_IDS, UNFILLED, V_MISSING, Vocab, checked_controls
from harmonystream.errors import VocabError

DEBUG = bool(DEBUG_BUILD)


cdef inline uint32_t number(const uint8_t* p, Py_ssize_t count, Py_ssize_t i) noexcept nogil:
    return p[i] | <uint32_t>p[count + i] << 8 | <uint32_t>p[2 * count + i] << 16


def load_ranks(bytes data not None, Py_ssize_t count, control, str name="", encoder=None):
    """A Vocab of `count` tokens, which `data` describes, and of control tokens after them.

    Each token has two numbers of three bytes. They are the ranks of two tokens before it, whose bytes together are the
    token's. A token of one byte has its own rank, and its value. First come the low bytes of all first numbers, then
    their middle and high ones, then those of the second numbers. A token has at most 255 bytes.
    Raises VocabError for data that is not like that.
    """
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(data)
    cdef const uint8_t* q
    cdef Py_ssize_t n = PyBytes_GET_SIZE(data), i
    cdef int64_t at = 0, tid, last = count - 1, size
    cdef uint32_t left, right
    cdef bytes key
    controls = checked_controls(control)
    if not 0 < count <= MAX_IDS or n != 6 * count:
        raise VocabError(f"{n} bytes cannot have two numbers of three bytes for each of {count} tokens")
    q = p + 3 * count
    cdef bytearray sizes = bytearray(count)
    cdef uint8_t* length = <uint8_t*>PyByteArray_AS_STRING(sizes)
    for i in range(count):
        left, right = number(p, count, i), number(q, count, i)
        size = 1 if left == i and right < 256 else length[left] + length[right] if left < i and right < i else 0
        if not 0 < size < 256:
            raise VocabError(f"token {i} is neither a byte nor two tokens before it, of at most 255 bytes together")
        length[i] = <uint8_t>size
        at += size
    cdef Vocab vocab = Vocab(UNFILLED, None, name, encoder)
    vocab.allocate(max(last, max(controls.values(), default=0)) + 1, at + sum(len(key.encode()) for key in controls))
    at = 0
    for i in range(count):
        left, right = number(p, count, i), number(q, count, i)
        vocab.offset[i] = <uint32_t>at
        if left == i:
            vocab.text[at] = <uint8_t>right
        else:
            memcpy(vocab.text + at, vocab.text + vocab.offset[left], length[left])
            memcpy(vocab.text + at + length[left], vocab.text + vocab.offset[right], length[right])
        at += length[i]
    for tid, key in sorted((v, k.encode()) for k, v in controls.items()):
        if tid < count:
            raise VocabError(f"control token {key.decode()!r} has id {tid}, which is that of an ordinary token")
        for i in range(last + 1, tid):
            vocab.offset[i] = <uint32_t>at
            vocab.flags[i] = V_MISSING
        vocab.offset[tid] = <uint32_t>at
        size = PyBytes_GET_SIZE(key)
        memcpy(vocab.text + at, PyBytes_AS_STRING(key), size)
        at += size
        last = tid
    vocab.n = <uint32_t>(last + 1)
    vocab.offset[vocab.n] = <uint32_t>at
    vocab.seal(controls)
    return vocab
