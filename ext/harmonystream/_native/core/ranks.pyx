# The file of an embedded vocabulary: for each rank a byte, the length of its token, then the bytes of all tokens.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.vocab cimport MAX_IDS, UNFILLED, V_MISSING, Vocab, checked_controls
from harmonystream.errors import VocabError

DEBUG = bool(DEBUG_BUILD)


def load_ranks(bytes data not None, Py_ssize_t count, control, str name="", encoder=None):
    """A Vocab of `count` tokens, of which `data` has the lengths and then the bytes, and of control tokens after them.

    A token of no bytes is a hole. Raises VocabError where the lengths and the bytes do not fit.
    """
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(data)
    cdef Py_ssize_t n = PyBytes_GET_SIZE(data), i
    cdef int64_t at = 0, tid, last = count - 1, size
    cdef bytes key
    controls = checked_controls(control)
    if not 0 < count <= n or count > MAX_IDS:
        raise VocabError(f"{n} bytes cannot have the lengths of {count} tokens")
    for i in range(count):
        at += p[i]
    if at != n - count:
        raise VocabError(f"the lengths of {count} tokens add up to {at}, and {n - count} bytes follow them")
    cdef Vocab vocab = Vocab(UNFILLED, None, name, encoder)
    vocab.allocate(max(last, max(controls.values(), default=0)) + 1, n + sum(len(key.encode()) for key in controls))
    memcpy(vocab.text, p + count, n - count)
    at = 0
    for i in range(count):
        vocab.offset[i] = <uint32_t>at
        if p[i] == 0:
            vocab.flags[i] = V_MISSING
        at += p[i]
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
