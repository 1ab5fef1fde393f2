# What an engine asks about a format before and beside a parser: its markers as ids, and where a prompt or an output
# leaves the model. No question changes anything.

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcmp
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.bulk_tokens cimport account_plain, is_plain_token
from harmonystream._native.core.locks cimport read_once
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.core.out cimport out_free, out_init
from harmonystream._native.core.token_ids cimport Ids, ids_free
from harmonystream._native.core.types cimport *
from harmonystream._native.core.vocab cimport V_MISSING, Vocab
from harmonystream._native.stream.machine cimport machine_ids, set_shortcut
from harmonystream._native.stream.open_stream cimport context_of
from harmonystream._native.stream.parser cimport Parser, take_ids
from harmonystream._native.stream.program cimport NO_VOCAB, Program

DEBUG = bool(DEBUG_BUILD)


@cython.final
@cython.no_gc
cdef class Markup:
    """Markup(format="harmony", vocab=None)
--

    A format's markers in a vocabulary, and questions that engines ask about prompts and outputs.

    format, vocab: as Parser has them. Raises FormatError, VocabError or TypeError as Parser does, and ValueError
    without a vocabulary. Make one for each model and keep it: it reads the whole vocabulary once.

    reasoning_start, reasoning_end, call_start, call_end: the ids that are such a marker by themselves, ascending; ()
    if the format has none, or the vocabulary spells it in several tokens. Harmony has headers, so it has no starts, and
    `<|end|>` ends its reasoning. stops: Parser's stop_ids.
    """

    cdef Program program
    cdef readonly tuple reasoning_start
    cdef readonly tuple reasoning_end
    cdef readonly tuple call_start
    cdef readonly tuple call_end
    cdef readonly tuple stops

    def __cinit__(self, format="harmony", vocab=None):
        self.program = (<Parser>Parser.__new__(Parser, format, vocab, check_stops=False)).program
        if self.program.vocab is NO_VOCAB:
            raise ValueError(f"markers have ids in a vocabulary: pass the model's, Markup({format!r}, vocab)")
        self.stops = self.program.stop_ids
        if self.program.tags == NULL:
            named = self.program.format.markers
            self.reasoning_start = self.call_start = ()
            self.reasoning_end = (self.program.vocab.by_name[named["end"]],)
            self.call_end = (self.program.vocab.by_name[named["call"]],)
            return
        self.reasoning_start = self.ids_of(THINK_OPEN, THINK_OPEN)
        self.reasoning_end = self.ids_of(THINK_CLOSE, THINK_CLOSE)
        self.call_start, self.call_end = self.ids_of(SECTION_OPEN, CALL_OPEN), self.ids_of(SECTION_CLOSE, CALL_CLOSE)

    cdef tuple ids_of(self, uint8_t role, uint8_t other):
        """The ids that are a marker of one of these roles, ascending."""
        cdef const TagTable* t = self.program.tags
        cdef Vocab vocab = self.program.vocab
        cdef const uint8_t* p
        cdef uint32_t tid
        cdef int i
        cdef set found = set()
        for i in range(t.n):
            if t.literals[i].role == role or t.literals[i].role == other:
                spelling = (<const char*>t.literals[i].text)[:t.literals[i].n].decode()
                if spelling in vocab.by_name:
                    found.add(vocab.by_name[spelling])
        for tid in range(vocab.n):
            p = vocab.text + vocab.offset[tid]
            if vocab.flags[tid] & V_MISSING or not t.first[p[0]]:
                continue
            for i in range(t.n):
                if ((t.literals[i].role == role or t.literals[i].role == other)
                        and <uint32_t>t.literals[i].n == vocab.offset[tid + 1] - vocab.offset[tid]
                        and memcmp(p, t.literals[i].text, t.literals[i].n) == 0):
                    found.add(tid)
        return tuple(sorted(found))

    def is_ordinary(self, Py_ssize_t tid, /):
        """Is it a token of text that cannot begin a marker? False for control ids and for unknown ids."""
        cdef const Tables* t = &self.program.tables
        return 0 <= tid < <Py_ssize_t>t.n and t.classes[tid] & (CONTROL | MISSING | (
            MARKS if self.program.tags != NULL else 0)) == 0

    def where(self, prompt, /):
        """Where a prompt leaves the model: "content" (nothing is open), "reasoning", "answer" (reasoning is over), or
        "call" (in a call's arguments; Harmony only).

        prompt: ids or text; its end is enough. Parser(prompt=prompt) begins there.
        """
        return where_of(self.parser("auto", prompt))

    def find_reasoning_end(self, ids, /, *, start="auto", prompt=None):
        """The number of these ids, an output from its beginning, after which reasoning is over. None if it is not over.

        What comes after them is an answer or a call. Without any reasoning, that begins with the delta that has the
        first word. In Harmony reasoning is over where the header of another message ends; more may follow later.
        start, prompt: as Parser has them. In a loop `parser.region` is cheaper than asking again.
        """
        cdef Parser parser = self.parser(start, prompt)
        cdef Ids given
        cdef int64_t found
        take_ids(&given, ids)
        try:
            found = reasoning_end_in(parser, given.ids, given.n)
        finally:
            ids_free(&given)
        return None if found < 0 else found

    cdef Parser parser(self, object start, object prompt):
        return Parser.__new__(Parser, self.program, self.program.vocab, start=start, prompt=prompt, check_stops=False)

    def __reduce__(self):
        raise TypeError("a Markup is not pickled: each process makes its own")

    def __repr__(self):
        return f"<Markup of {self.program.format.name} in {self.program.vocab!r}>"


cpdef str where_of(Parser parser):
    """`Markup.where` of a parser that has read nothing since its prompt."""
    cdef const Stream* s = &parser.s
    if parser.program.tags != NULL:
        return "reasoning" if s.tags.reasoning else "answer" if s.tags.answer else "content"
    if s.state != BODY:
        return "content"
    if s.kind != NOT_A_CALL:
        return "call"
    return "reasoning" if s.sink == R_REASONING else "answer" if s.channel_code == FINAL else "content"


cdef int64_t reasoning_end_in(Parser parser, const uint32_t* ids, Py_ssize_t n) except -2:
    """-1: reasoning is not over after these ids."""
    cdef Stream* s = &parser.s
    cdef Out out
    cdef Context c
    cdef Py_ssize_t i
    cdef uint32_t tid
    cdef bint reasoned = s.region == IN_REASONING
    cdef int64_t found = 0 if where_of(parser) in ("answer", "call") else -1
    out_init(&out)
    c = context_of(parser, &out)
    s.input_mode = ID_MODE
    for i in range(n if found < 0 else 0):
        tid = read_once(ids + i)
        if reasoned and s.fast == R_REASONING and is_plain_token(s, c.tables, tid):
            account_plain(s, c.tables, tid, True)
            continue
        s.fast = 0
        out.n_records = out.n_text = 0
        machine_ids(s, &c, &tid, 1)
        set_shortcut(s, c.row, &parser.held)
        if s.region == IN_REASONING or (c.row != NULL and s.tags.reasoning):
            reasoned = True
        elif c.row == NULL:
            found = i + 1 if s.state == BODY and s.sink != R_NONE else -1
        elif reasoned:
            found = i + 1 if s.state != DONE else -1
        else:
            found = first_said(&out)
        if found >= 0 or s.state == DONE:
            break
    out_free(&out)
    if out.no_memory:
        raise MemoryError()
    return found


cdef int64_t first_said(const Out* out) noexcept:
    """Where the first word of an answer, or the first call, begins in these records; -1: nowhere."""
    cdef const Record* r
    cdef Py_ssize_t i, k
    for i in range(out.n_records):
        r = &out.records[i]
        if r.kind == R_CALL_START:
            return r.start
        if r.kind == R_CONTENT:
            for k in range(r.n):
                if out.text[r.at + k] not in (c' ', c'\t', c'\r', c'\n'):
                    return r.start
    return -1


name_errors(Markup)
