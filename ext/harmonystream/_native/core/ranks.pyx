# tiktoken's rank files: a line `base64 rank` for each token, the ranks ascending.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int8_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.vocab cimport MAX_IDS, UNFILLED, V_MISSING, Vocab, checked_controls
from harmonystream.errors import VocabError

DEBUG = bool(DEBUG_BUILD)

cdef int8_t[256] SEXTETS


cdef void make_sextets() noexcept:
    cdef const char* alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    cdef int i
    memset(SEXTETS, -1, 256)
    for i in range(64):
        SEXTETS[<uint8_t>alphabet[i]] = <int8_t>i

make_sextets()


cdef Py_ssize_t parse_rank(const uint8_t* p, Py_ssize_t i, Py_ssize_t n, uint8_t* out, Py_ssize_t* size,
                           int64_t* rank) noexcept nogil:
    """One line `base64 rank`: the cursor after it, or -1. `size`: bytes decoded."""
    cdef uint32_t bits = 0
    cdef int have = 0
    cdef Py_ssize_t k = 0, digits
    while i < n and SEXTETS[p[i]] >= 0:
        bits = (bits << 6) | <uint32_t>SEXTETS[p[i]]
        have += 6
        if have >= 8:
            have -= 8
            out[k] = <uint8_t>(bits >> have)
            k += 1
        i += 1
    while i < n and p[i] == c'=':
        i += 1
    if k == 0 or i >= n or p[i] != c' ':
        return -1
    i += 1
    digits = i
    rank[0] = 0
    while i < n and c'0' <= p[i] <= c'9' and i - digits < 9:
        rank[0] = rank[0] * 10 + (p[i] - c'0')
        i += 1
    if i == digits or (i < n and p[i] != c'\n' and p[i] != c'\r'):
        return -1
    while i < n and (p[i] == c'\n' or p[i] == c'\r'):
        i += 1
    size[0] = k
    return i


def load_ranks(bytes data not None, control, str name="", encoder=None):
    """A Vocab from the content of a tiktoken rank file (ranks ascending) and its control tokens."""
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(data)
    cdef Py_ssize_t i = 0, n = PyBytes_GET_SIZE(data), size = 0, at = 0
    cdef int64_t lines = data.count(b"\n") + 1
    cdef int64_t rank = -1, last = -1, tid
    cdef bytes key
    controls = checked_controls(control)
    cdef int64_t top = max(lines + 1024, max(controls.values(), default=0) + 1)
    cdef Vocab vocab = Vocab(UNFILLED, None, name, encoder)
    vocab.allocate(min(top, MAX_IDS), n + sum(len(key.encode()) for key in controls))
    by_id = sorted((v, k.encode()) for k, v in controls.items())
    while i < n:
        i = parse_rank(p, i, n, vocab.text + at, &size, &rank)
        if i < 0 or rank <= last or rank >= vocab.n:
            raise VocabError(f"this is not a tiktoken rank file: after rank {last}, expected a line `base64 rank` "
                             f"with a higher rank")
        for tid in range(last + 1, rank):
            vocab.offset[tid] = <uint32_t>at
            vocab.flags[tid] = V_MISSING
        vocab.offset[rank] = <uint32_t>at
        at += size
        last = rank
    for tid, key in by_id:
        if tid <= last:
            raise VocabError(f"control token {key.decode()!r} has id {tid}, which is an ordinary token of the rank "
                             f"file")
    for tid, key in by_id:
        for rank in range(last + 1, tid):
            vocab.offset[rank] = <uint32_t>at
            vocab.flags[rank] = V_MISSING
        vocab.offset[tid] = <uint32_t>at
        memcpy(vocab.text + at, PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))
        at += PyBytes_GET_SIZE(key)
        last = tid
    if last < 0:
        raise VocabError("the rank file is empty")
    vocab.n = <uint32_t>(last + 1)
    vocab.offset[vocab.n] = <uint32_t>at
    vocab.seal(controls)
    return vocab
