# The vocabulary: every token's bytes in one blob, flags per id, control ids by name. Built once, never changed.

from collections.abc import Mapping

from cpython.buffer cimport PyBuffer_Release
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.core.fnv cimport fnv_bytes, fnv_empty
from harmonystream._native.core.utf8 cimport utf8_is_whole
from harmonystream.errors import VocabError

DEBUG = bool(DEBUG_BUILD)

UNFILLED = object()


@cython.final
cdef class Vocab:
    """Vocab(tokens, control, name="", encoder=None)
--

    A vocabulary: id -> bytes, and control ids by name. Immutable; share it between threads. Usually made by a loader in
    `vocab`.

    tokens: the bytes of each id, or None where there is no such id.
    control: names -> ids.
    encoder: an Encoder of vocabs/encoders.py, which encode() calls. Loaders pass it.

    Raises TypeError for tokens that are not bytes and ids that are not int, VocabError for ids that are out of range or
    given twice.
    """

    def __cinit__(self, tokens=None, control=UNFILLED, name="", encoder=None):
        if tokens is None or (control is UNFILLED and tokens is not UNFILLED):
            raise TypeError("Vocab() needs tokens, the bytes of each id, and control, the names and ids of its control "
                            "tokens ({} for none): the loaders of harmonystream.vocab read them from a tokenizer")
        if not isinstance(name, str):
            raise TypeError(f"name is a str, not {name!r:.80}")
        if encoder is not None and not hasattr(encoder, "ordinary_many"):
            raise TypeError(f"encoder is what a loader of harmonystream.vocab makes, not {encoder!r:.80}: to encode "
                            "with a function, pass it to from_bytes(encode=)")
        self.name = name
        self.encoder = encoder
        self.by_name = {}
        self.programs = {}
        if tokens is UNFILLED:
            return
        if isinstance(tokens, (str, bytes, dict)) or not hasattr(tokens, "__iter__"):
            raise TypeError(f"tokens is a list of the bytes of each id, not {type(tokens).__name__}")
        cdef list items = list(tokens)
        cdef Py_ssize_t size = 0, n = len(items)
        cdef Py_ssize_t i
        controls = checked_controls(control)
        if controls:
            n = max(n, max(controls.values()) + 1)
        for i in range(len(items)):
            token = items[i]
            if token is not None and not isinstance(token, bytes):
                raise TypeError(f"token {i} is {type(token).__name__}: a vocabulary maps ids to bytes (or None for a "
                                f"hole)")
            size += 0 if token is None else PyBytes_GET_SIZE(token)
        by_id = {tid: key.encode() for key, tid in controls.items()}
        size += sum(map(len, by_id.values()))
        self.allocate(n, size)
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
        if self.view != NULL:
            PyBuffer_Release(self.view)
            free(self.view)
            return
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
        """Bytes and offsets are in place: set the flags, the names and the fingerprint. Nothing changes afterwards, so
        threads may share it.
        """
        cdef uint32_t i
        for i in range(self.n):
            if not self.flags[i] & V_MISSING and self.offset[i + 1] > self.offset[i]:
                if utf8_is_whole(self.text + self.offset[i], self.offset[i + 1] - self.offset[i]):
                    self.flags[i] |= V_VALID
        for key, tid in control.items():
            i = tid
            self.by_name[key] = tid
            self.flags[i] = (self.flags[i] & V_VALID) | V_CONTROL
        with nogil:
            self.hashed = self.hash_all()
        return 0

    cdef uint64_t hash_all(self) noexcept nogil:
        cdef uint64_t h = fnv_bytes(fnv_empty(), <const uint8_t*>&self.n, sizeof(self.n))
        h = fnv_bytes(h, <const uint8_t*>self.offset, (self.n + 1) * sizeof(uint32_t))
        h = fnv_bytes(h, self.flags, self.n)
        return fnv_bytes(h, self.text, self.offset[self.n])

    def __len__(self):
        return self.n

    def __contains__(self, tid):
        return isinstance(tid, int) and 0 <= tid < self.n and not self.flags[<uint32_t>tid] & V_MISSING

    def token_bytes(self, tid, /):
        """The bytes of an id; for a control id, its name. Raises KeyError for an id that does not exist."""
        if tid not in self:
            raise KeyError(f"{tid!r} is not an id of this vocabulary (0 to {self.n - 1}, holes excepted)")
        cdef uint32_t i = tid
        return PyBytes_FromStringAndSize(<const char*>self.text + self.offset[i], self.offset[i + 1] - self.offset[i])

    def decode(self, ids, /):
        """The text of ids. A control id is its name. What is not UTF-8 is U+FFFD. Raises what token_bytes() raises."""
        return b"".join([self.token_bytes(tid) for tid in ids]).decode("utf-8", "replace")

    def is_control(self, tid, /):
        """Is it a control id?"""
        return tid in self and bool(self.flags[<uint32_t>tid] & V_CONTROL)

    cdef bint spells(self, bytes text) noexcept:
        """Is this the text of an id?"""
        cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(text)
        cdef Py_ssize_t n = PyBytes_GET_SIZE(text)
        cdef uint32_t i
        for i in range(self.n):
            if self.offset[i + 1] - self.offset[i] != n or self.flags[i] & V_MISSING:
                continue
            if memcmp(self.text + self.offset[i], p, n) == 0:
                return True
        return False

    def missing(self, format, /):
        """The markers that this format needs and this vocabulary does not have as ids, as a tuple of spellings.

        format: a name or a row. Harmony needs its control tokens. Other formats need their stops and, if their markers
        are control tokens, all markers; of a marker that goes on after such a token, the token. Of a marker with
        several spellings, one is enough. Raises FormatError for an unknown name.
        """
        from harmonystream.formats import control_markers
        begins = tuple(filter(None, self.by_name))
        found = [spellings[0] for spellings in control_markers(format)
                 if not any([name.startswith(begins) or self.spells(name.encode()) for name in spellings])]
        return tuple(found)

    def encode(self, text, *, control=False):
        """The ids of a text, as a list.

        By default the whole text is ordinary: a control token that is spelled in it never becomes a control id. With
        control=True each spelled control token becomes its id, as in a prompt that a template has rendered.
        Raises VocabError if the vocabulary was loaded from something that cannot encode, and ImportError if the package
        that encodes (tiktoken or tokenizers) is not installed.
        """
        if self.encoder is None:
            raise VocabError(f"{self!r} cannot encode text: load it with from_tiktoken() or from_tokenizers(), "
                             "or pass encode= to from_bytes()")
        if not isinstance(text, str):
            raise TypeError(f"encode() takes a str, not {type(text).__name__}: encode_many() takes a list of them")
        return self.encoder.marked(text) if control else self.encoder.ordinary(text)

    def encode_many(self, texts, *, control=False):
        """What encode() gives for each text of a list, as a list of arrays of uint32 (array.array).

        It is faster than many calls, and lets go of the GIL while tiktoken or tokenizers encode.
        Raises what encode() raises.
        """
        if self.encoder is None:
            self.encode("")
        if isinstance(texts, (str, bytes)) or not hasattr(texts, "__iter__"):
            raise TypeError(f"encode_many() takes a list of str, not {type(texts).__name__}: encode() takes one str")
        texts = list(texts)
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"encode_many() takes a list of str, and item {i} is {type(text).__name__}")
        return self.encoder.marked_many(texts) if control else self.encoder.ordinary_many(texts)

    @property
    def markers(self):
        """The spellings that encode(control=True) reads as one token, with their ids: control and added tokens."""
        return dict(self.by_name) if self.encoder is None else dict(self.encoder.markers)

    @property
    def control(self):
        """Control names -> ids (a new dict)."""
        return dict(self.by_name)

    @property
    def fingerprint(self):
        """A hash of 64 bits over the ids, their bytes and flags."""
        return self.hashed

    def save(self, path):
        """Writes a file that load() maps in a few milliseconds. An old file is replaced.

        The tokenizer that encode() needs is saved, too, unless it is a function of the caller. Raises OSError if the
        file cannot be written.
        """
        from harmonystream.vocabs.files import save
        save(self, path)

    @staticmethod
    def load(path, *, encode=None):
        """The vocabulary in a file that save() wrote. It is mapped, so all processes that load it share its memory.

        encode: a function from an ordinary text to its ids, as in from_bytes(). None: the saved tokenizer.

        A loaded vocabulary is pickled as its path. Raises VocabError for a file that is damaged, truncated or not
        written by save(), and OSError if it cannot be read. Replace a file with save() only. A process crashes if its
        mapped file is written to.
        """
        from harmonystream.vocabs.files import load
        return load(path, encode=encode)

    def __reduce__(self):
        if self.path is None:
            raise TypeError("a Vocab is not pickled: load it again where it is needed, or save() it, and pickle what "
                            "Vocab.load() gives")
        from harmonystream.vocabs.files import shared
        return shared, (self.path, self.hashed)

    def __repr__(self):
        return f"<Vocab {self.name or 'unnamed'}: {self.n} ids, {len(self.by_name)} control ids>"


cdef dict checked_controls(object control):
    """Names and ids as exact str and int: a subclass may answer in its own way."""
    cdef dict found = {}, seen = {}
    if control is not None and not isinstance(control, Mapping):
        raise TypeError(f"control maps names (str) to ids (int), not {control!r:.80}")
    for key, tid in dict(control or {}).items():
        if not isinstance(key, str) or not isinstance(tid, int) or isinstance(tid, bool):
            raise TypeError(f"control maps names (str) to ids (int), not {key!r} to {tid!r}")
        key, tid = str.__str__(key), int.__index__(tid)
        if not 0 <= tid < MAX_IDS:
            raise VocabError(f"control id {tid} of {key!r} is out of range (0 to {MAX_IDS - 1})")
        if tid in seen:
            raise VocabError(f"control tokens {seen[tid]!r} and {key!r} have the same id {tid}")
        seen[tid] = key
        found[key] = tid
    return found


name_errors(Vocab)
