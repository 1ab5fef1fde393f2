# The vocabulary: every token's bytes in one blob, flags per id, control ids by name. Built once, never changed.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int8_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.out cimport utf8_continues, utf8_length
from harmonystream.errors import VocabError

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    MAX_IDS = 1 << 24

cdef object UNFILLED = object()        # load_ranks() fills the Vocab itself


cdef bint whole_utf8(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i = 0
    cdef int need, k
    while i < n:
        need = utf8_length(p[i])
        if need == 0 or i + need > n:
            return False
        for k in range(1, need):
            if not utf8_continues(p + i, k, p[i + k]):
                return False
        i += need
    return True


cdef uint64_t hashed(uint64_t h, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """FNV-1a: to tell vocabularies apart, not to resist anyone."""
    cdef Py_ssize_t i
    for i in range(n):
        h = (h ^ p[i]) * <uint64_t>0x100000001B3
    return h


@cython.final
cdef class Vocab:
    """Vocab(tokens, control, name="", encoder=None)
--

    A vocabulary: id -> bytes, and control ids by name. Immutable; share it between threads. Usually made by a loader in `vocab`.

    tokens[i] is the bytes of id i, or None where there is no such id; control maps names to ids.
    encoder is what encode() asks, an Encoder of _encoders.py; loaders pass it.
    Raises TypeError for what is not bytes or int, VocabError for ids that are out of range or given twice.
    """

    def __cinit__(self, tokens, control, str name="", encoder=None):
        self.name = name
        self.encoder = encoder
        self.by_name = {}
        self.programs = {}
        if tokens is UNFILLED:
            return
        cdef list items = list(tokens)
        cdef Py_ssize_t size = 0, n = len(items)
        cdef Py_ssize_t i
        controls = checked_controls(control)
        if controls:
            n = max(n, max(controls.values()) + 1)
        for i in range(len(items)):
            token = items[i]
            if token is not None and not isinstance(token, bytes):
                raise TypeError(f"token {i} is {type(token).__name__}: a vocabulary maps ids to bytes (or None for a hole)")
            size += 0 if token is None else PyBytes_GET_SIZE(token)
        size += sum(len(key.encode()) for key in controls)
        self.allocate(n, size)
        by_id = {tid: key.encode() for key, tid in controls.items()}
        size = 0
        for i in range(n):
            token = by_id.get(i)
            if token is None and i < len(items):
                token = items[i]
            self.offset[i] = <uint32_t>size
            if token is None:
                self.flags[i] = V_MISSING
            else:
                memcpy(self.text + size, PyBytes_AS_STRING(token), PyBytes_GET_SIZE(token))
                size += PyBytes_GET_SIZE(token)
        self.offset[n] = <uint32_t>size
        self.seal(controls)

    def __dealloc__(self):
        free(self.text)
        free(self.offset)
        free(self.flags)

    cdef int allocate(self, Py_ssize_t n, Py_ssize_t bytes) except -1:
        if n == 0:
            raise VocabError("the vocabulary is empty: pass the bytes of at least one token")
        if n > MAX_IDS:
            raise VocabError(f"the vocabulary has {n} ids; at most {MAX_IDS} are supported")
        if bytes > 0xFFFFFFFF - 16:
            raise VocabError(f"the tokens have {bytes} bytes in all; at most 4 GiB are supported")
        self.n = <uint32_t>n
        self.text = <uint8_t*>calloc(bytes + 16, 1)
        self.offset = <uint32_t*>malloc((n + 1) * sizeof(uint32_t))
        self.flags = <uint8_t*>calloc(n, 1)
        if self.text == NULL or self.offset == NULL or self.flags == NULL:
            raise MemoryError()
        return 0

    cdef int seal(self, object control) except -1:
        """Bytes and offsets are in place: set the flags and the names."""
        cdef uint32_t i
        for i in range(self.n):
            if not self.flags[i] & V_MISSING and self.offset[i + 1] > self.offset[i]:
                if whole_utf8(self.text + self.offset[i], self.offset[i + 1] - self.offset[i]):
                    self.flags[i] |= V_VALID
        for key, tid in control.items():
            i = tid
            self.by_name[key] = tid
            self.flags[i] = (self.flags[i] & V_VALID) | V_CONTROL
        return 0

    def __len__(self):
        return self.n

    def __contains__(self, tid):
        return isinstance(tid, int) and 0 <= tid < self.n and not self.flags[<uint32_t>tid] & V_MISSING

    def token_bytes(self, tid, /):
        """The bytes of an id; a control id has its name. KeyError for an id that does not exist."""
        if tid not in self:
            raise KeyError(f"{tid!r} is not an id of this vocabulary (0 to {self.n - 1}, holes excepted)")
        cdef uint32_t i = tid
        return PyBytes_FromStringAndSize(<const char*>self.text + self.offset[i], self.offset[i + 1] - self.offset[i])

    def is_control(self, tid, /):
        """Is it a control id?"""
        return tid in self and bool(self.flags[<uint32_t>tid] & V_CONTROL)

    def encode(self, str text not None, *, control=False):
        """The ids of a text, as a list.

        By default the whole text is ordinary: a control token that is spelled in it never becomes a control id. With
        control=True each spelled control token becomes its id, as in a prompt that a template has rendered.
        Raises VocabError if the vocabulary was loaded from something that cannot encode, and ImportError if the package that
        encodes (tiktoken or tokenizers) is not installed.
        """
        if self.encoder is None:
            raise VocabError(f"{self!r} cannot encode text: load it with from_tiktoken() or from_tokenizers(), or pass encode= to from_bytes()")
        return self.encoder.marked(text) if control else self.encoder.ordinary(text)

    @property
    def markers(self):
        """What encode(control=True) takes for one token, with its id: control tokens, and added tokens such as <think>."""
        return dict(self.by_name) if self.encoder is None else dict(self.encoder.markers)

    @property
    def control(self):
        """Control names -> ids (a new dict)."""
        return dict(self.by_name)

    @property
    def fingerprint(self):
        """64 bits that tell this vocabulary from others: the ids, their bytes and flags."""
        cdef uint64_t h = <uint64_t>0xCBF29CE484222325
        if self.known_fingerprint is None:
            with nogil:
                h = hashed(h, <const uint8_t*>&self.n, sizeof(self.n))
                h = hashed(h, <const uint8_t*>self.offset, (self.n + 1) * sizeof(uint32_t))
                h = hashed(h, self.flags, self.n)
                h = hashed(h, self.text, self.offset[self.n])
            self.known_fingerprint = h
        return self.known_fingerprint

    def __reduce__(self):
        raise TypeError("a Vocab is not pickled: load it again where it is needed")

    def __repr__(self):
        return f"<Vocab {self.name or 'unnamed'}: {self.n} ids, {len(self.by_name)} control ids>"


cdef dict checked_controls(control):
    cdef dict found = {}, seen = {}
    for key, tid in dict(control or {}).items():
        if not isinstance(key, str) or not isinstance(tid, int) or isinstance(tid, bool):
            raise TypeError(f"control maps names (str) to ids (int), not {key!r} to {tid!r}")
        if not 0 <= tid < MAX_IDS:
            raise VocabError(f"control id {tid} of {key!r} is out of range (0 to {MAX_IDS - 1})")
        if tid in seen:
            raise VocabError(f"control tokens {seen[tid]!r} and {key!r} have the same id {tid}")
        seen[tid] = key
        found[key] = tid
    return found


# --- tiktoken rank files ----------------------------------------------------------------------------------------------------------

cdef int8_t[256] SEXTETS


cdef void make_sextets() noexcept:
    cdef const char* alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    cdef int i
    memset(SEXTETS, -1, 256)
    for i in range(64):
        SEXTETS[<uint8_t>alphabet[i]] = <int8_t>i

make_sextets()


cdef Py_ssize_t parse_rank(const uint8_t* p, Py_ssize_t i, Py_ssize_t n, uint8_t* out, Py_ssize_t* size, int64_t* rank) noexcept nogil:
    """One line `base64 rank`: the cursor behind it, or -1. `size`: bytes decoded."""
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
            raise VocabError(f"this is not a tiktoken rank file: after rank {last}, expected a line `base64 rank` with a higher rank")
        for tid in range(last + 1, rank):
            vocab.offset[tid] = <uint32_t>at
            vocab.flags[tid] = V_MISSING
        vocab.offset[rank] = <uint32_t>at
        at += size
        last = rank
    for tid, key in by_id:
        if tid <= last:
            raise VocabError(f"control token {key.decode()!r} has id {tid}, which is an ordinary token of the rank file")
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
