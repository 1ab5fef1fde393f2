# Program: a Format compiled against a Vocab.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.fnv cimport fnv_bytes, fnv_empty
from harmonystream._native.core.locks cimport FREE_THREADED
from harmonystream._native.tags.fast_token cimport TokenTexts
from harmonystream._native.tags.tag_table cimport Row
from harmonystream._native.core.types cimport *
from harmonystream._native.core.vocab cimport V_CONTROL, V_MISSING, V_VALID, Vocab, text_class

from harmonystream.errors import FormatError, VocabError
from harmonystream.formats import Format, HeaderFormat, format_of, is_file

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    MAX_PROGRAMS = 32                  # each is there by its row, and by its name if it has been asked for by that
    MAX_NAME = 16                      # bytes of a format's name: its room in a state blob

NO_VOCAB = Vocab([b"?"], {}, "none")

cdef tuple ROWS = (Format, HeaderFormat)

cdef dict MARKERS = {
    "start": M_START, "channel": M_CHANNEL, "constrain": M_CONSTRAIN, "message": M_MESSAGE,
    "end": M_END, "call": M_CALL, "return": M_RETURN, "endoftext": M_ENDOFTEXT,
}


@cython.final
cdef class Program:
    """What each id does, in flat tables. Immutable; shared by all parsers of one format and vocabulary."""

    def __cinit__(self, format, Vocab vocab not None):
        cdef Tables* t = &self.tables
        cdef bytes row_text
        cdef const uint8_t* row
        self.format = format
        self.vocab = vocab
        if not isinstance(format.name, str) or not format.name.isascii() or not 0 < len(format.name) <= MAX_NAME:
            raise FormatError(f"a format's name has 1 to {MAX_NAME} ASCII characters; {format.name!r} has not")
        self.classes = <uint8_t*>malloc(vocab.n)
        if self.classes == NULL:
            raise MemoryError()
        t.n = vocab.n
        t.text = vocab.text
        t.offset = vocab.offset
        t.classes = self.classes
        if isinstance(format, HeaderFormat):
            self.fill_headers()
            self.fingerprint = vocab.fingerprint
        else:
            row_text = repr(format).encode("utf-8", "replace")
            row = <const uint8_t*>PyBytes_AS_STRING(row_text)
            self.fingerprint = vocab.hashed ^ fnv_bytes(fnv_empty(), row, PyBytes_GET_SIZE(row_text))
            self.row = Row(format, vocab)
            self.row.resolve(vocab, self.classes, format)
            self.tags = &self.row.table
        self.stop_ids = tuple(sorted(self.stops()))
        self.texts = TokenTexts.__new__(TokenTexts, vocab.n, self.tags != NULL and self.tags.has_pair)

    cdef set stops(self):
        """The ids of the format's stops: by name and, in a row, by their bytes."""
        cdef int i
        found = {self.vocab.by_name[marker] for marker in self.format.stops if marker in self.vocab.by_name}
        if self.tags != NULL:
            for i in range(self.tags.n_control):
                if self.tags.literals[self.tags.control_literals[i]].role == STOP:
                    found.add(self.tags.control_ids[i])
        return found

    cdef int fill_headers(self) except -1:
        """The tables of Harmony."""
        cdef uint32_t tid
        cdef Tables* t = &self.tables
        cdef Vocab vocab = self.vocab
        format = self.format
        unknown = set(format.markers) ^ set(MARKERS)
        if unknown:
            raise FormatError(f"format {format.name!r}: a header format has exactly the markers {sorted(MARKERS)}; "
                              f"differing: {sorted(unknown)}")
        missing = [format.markers[role] for role in MARKERS if role in format.required
                   and format.markers[role] not in vocab.by_name]
        if missing:
            raise VocabError(
                f"{vocab!r} lacks control ids that the format {format.name!r} needs: {', '.join(missing)}. "
                "Was the tokenizer loaded with its special tokens, and is it the model's own?")
        for tid in range(vocab.n):
            self.classes[tid] = class_of(vocab, tid)
        self.spellings = {}
        for role, spelling in format.markers.items():
            data = spelling.encode()
            if not 3 <= len(data) <= HOLD_CAP or not data.startswith(b"<|"):
                raise FormatError(f"format {format.name!r}: marker {spelling!r} must begin with '<|' and have 3 to "
                                  f"{HOLD_CAP} bytes")
            self.spellings[role] = data
            t.spellings[<int>MARKERS[role]].text = <const uint8_t*>PyBytes_AS_STRING(data)
            t.spellings[<int>MARKERS[role]].n = len(data)
            if spelling in vocab.by_name:
                tid = vocab.by_name[spelling]
                self.classes[tid] = <uint8_t>(CONTROL | <int>MARKERS[role])
        return 0

    def __dealloc__(self):
        free(self.classes)

    def __repr__(self):
        return f"<Program {self.format.name} on {self.vocab!r}>"


cdef uint8_t class_of(Vocab v, uint32_t tid) noexcept:
    """Harmony's class of an id that is not one of its markers."""
    cdef Py_ssize_t n = v.offset[tid + 1] - v.offset[tid]
    if v.flags[tid] & V_MISSING:
        return MISSING
    if v.flags[tid] & V_CONTROL or n == 0:
        return CONTROL | M_INERT
    return text_class(v.text + v.offset[tid], n, v.flags[tid] & V_VALID)


cdef Program compiled(object format, Vocab vocab):
    """The vocabulary's program for this format, made once. Two threads may both make it: all get the first."""
    cdef bint named = type(format) is str                                    # of a subclass, equality says nothing
    if isinstance(format, Program):
        return format
    program = vocab.programs.get(format) if named else None
    if program is not None:
        return program
    row = format if isinstance(format, ROWS) else format_of(format)
    # the program keeps the row, and so its id, alive
    key = id(row)
    program = vocab.programs.get(key)
    if program is None:
        # for callers that make a new Format for each request
        if len(vocab.programs) >= MAX_PROGRAMS:
            vocab.programs.clear()
        program = vocab.programs.setdefault(key, Program(row, vocab))
    if named and not is_file(format):                                        # which may change
        program = vocab.programs.setdefault(format, program)
    return program


cdef Vocab DEFAULT_VOCAB = None


cdef Vocab default_vocab():
    global DEFAULT_VOCAB
    if FREE_THREADED or DEFAULT_VOCAB is None:
        from harmonystream.vocab import o200k_harmony
        if FREE_THREADED:                                                    # no global is written without a lock
            return o200k_harmony()
        DEFAULT_VOCAB = o200k_harmony()
    return DEFAULT_VOCAB


cdef dict DEFAULT_PROGRAMS = {}        # of formats without a vocabulary given, by name


cdef Program default_program(object format):
    """With the vocabulary that a format has by itself, if it has one."""
    cdef bint named = type(format) is str
    program = DEFAULT_PROGRAMS.get(format) if named else None
    if program is None:
        row = format_of(format)
        program = compiled(row, default_vocab() if isinstance(row, HeaderFormat) else NO_VOCAB)
        if named and not is_file(format):
            DEFAULT_PROGRAMS[format] = program
    return program
