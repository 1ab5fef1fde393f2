# label(): the machine without events, over whole buffers. A conversation of a tag format is cut into turns first, and
# the machine reads the assistant's alone: docs/tags.md, 9.

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcmp, memcpy, memset
from harmonystream._native.core.buffer cimport buffer_free, buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.locks cimport read_once
from harmonystream._native.core.options cimport flag_of
from harmonystream._native.core.out cimport out_free, out_init
from harmonystream._native.core.token_ids cimport Ids, ids_free, ids_take
from harmonystream._native.core.types cimport *
from harmonystream._native.stream.arrow_in cimport NO_IDS, NO_ROOM, TAKEN, Rows, ids_at, is_null, is_text
from harmonystream._native.stream.machine cimport machine_finish, machine_ids
from harmonystream._native.stream.program cimport NO_VOCAB
from harmonystream._native.stream.open_stream cimport context_of
from harmonystream._native.stream.parser cimport Parser

from harmonystream.errors import VocabError

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    WORD_CAP = 16                      # bytes of a role's name

cdef enum Author:                      # whose turn a marker begins
    NO_TURN, ASSISTANTS, SOMEBODY_ELSES, BY_NEXT_WORD

cdef struct Turns:
    uint8_t[MAX_LITERALS] author       # by literal
    bint split                         # the rows are conversations of a tag format


def label(ids, format="harmony", vocab=None, *, tools=None, start="auto", prompt=None, conversation=False,
          offsets=None, out=None):
    """One byte per token, its `Region`, for loss masks and counts. Releases the GIL. Header text that turns out to be a
    body counts as it.

    format, vocab, tools, start, prompt: as Parser has them. conversation: the ids are a whole rendered conversation;
    what is not the assistant's is SUPPRESSED, and so, in formats with tags, is the marker of its turn, which the
    template writes.
    offsets: the ids are many rows, `ids[offsets[i]:offsets[i + 1]]`, each a stream of its own. out: a writable buffer
    of len(ids) bytes that gets the labels, and is returned; None: new bytes.

    Raises what Parser() and feed() raise, never ParseError; ValueError for offsets that do not cover the ids, for an
    `out` of another size, and for a conversation in a format without turns; VocabError if the vocabulary has none of
    them.
    """
    cdef Parser p
    cdef Ids span, cuts
    cdef Turns turns
    cdef Py_buffer view
    cdef bint viewed = False
    cdef bytes labels = b""
    cdef uint8_t* to
    cdef bint turned = flag_of("conversation", conversation)
    p = labeller(format, vocab, tools, start, prompt, turned)
    turns_of(&turns, p, turned)
    span.block = cuts.block = NULL
    span.viewed = cuts.viewed = False
    try:
        ids_take(&span, ids)
        ids_take(&cuts, (0, span.n) if offsets is None else offsets)
        check_offsets(&cuts, span.n)
        if out is None:
            labels = PyBytes_FromStringAndSize(NULL, span.n)
            to = <uint8_t*>PyBytes_AS_STRING(labels)
        else:
            PyObject_GetBuffer(out, &view, PyBUF_SIMPLE | PyBUF_WRITABLE)
            viewed = True
            if view.len != span.n:
                raise ValueError(f"out has {view.len} bytes, for {span.n} ids: it needs one for each")
            to = <uint8_t*>view.buf
        label_rows(p, &turns, &span, &cuts, to)
        return labels if out is None else out
    finally:
        ids_free(&span)
        ids_free(&cuts)
        if viewed:
            PyBuffer_Release(&view)


cdef Parser labeller(object format, object vocab, object tools, object start, object prompt, bint conversation):
    cdef Parser p
    if conversation and (start != "auto" or prompt is not None):
        raise ValueError("a conversation has its prompts in it: pass neither start= nor prompt=")
    p = Parser.__new__(Parser, format, vocab, tools=tools, start=start, prompt=prompt, check_stops=False)
    if p.program.vocab is NO_VOCAB:
        raise ValueError(f"label() reads ids, so it needs the model's vocabulary: label(ids, {p.format!r}, vocab=...)")
    if conversation and p.program.tags == NULL:
        # Harmony's messages name their authors
        return Parser.__new__(Parser, format, vocab, tools=tools, start="")
    return p


cdef int turns_of(Turns* turns, Parser p, bint conversation) except -1:
    """Whose turn each marker of the row begins. After a marker without a role, the role's name follows."""
    cdef const TagTable* t = p.program.tags
    cdef bint found = False
    cdef int i
    memset(turns, 0, sizeof(Turns))
    turns.split = conversation and t != NULL
    if not turns.split:
        return 0
    if t.roles[TURN] == 0:
        raise ValueError(f"the format {p.format!r} has no turns: label each completion by itself")
    for i in range(t.n_control):
        if t.literals[t.control_literals[i]].role == TURN:
            found = True
    if not found:
        raise VocabError(f"{p.vocab!r} has none of the turns of {p.format!r}: {', '.join(p.program.format.turns)}")
    for i in range(t.n):
        if t.literals[i].role == TURN:
            name = t.literals[i].text[:t.literals[i].n].lower()
            if b"assistant" in name:
                turns.author[i] = ASSISTANTS
            else:
                turns.author[i] = SOMEBODY_ELSES if b"user" in name or b"system" in name else BY_NEXT_WORD
    return 0


def labeller_of(format, vocab, tools, start, conversation):
    """The parser that label_rows_of() copies."""
    return labeller(format, vocab, tools, start, None, flag_of("conversation", conversation))


def label_rows_of(Parser parser not None, Rows rows not None, int64_t begin, int64_t stop, bint conversation):
    """Label the rows begin .. stop of a column of ids, without the GIL: the labels, where each row's end (int64), and
    a byte for each row, 0 if it is null or has an invalid id. Such a row has no labels.
    """
    cdef Parser own = parser.fork()
    cdef Buffer[4] made            # labels, ends, is it there?, ids that were wide
    cdef Turns turns
    cdef int i
    if is_text(rows):
        raise TypeError("label_many() reads ids: lists of int32, uint32 or int64, or a pair (values, offsets)")
    if not 0 <= begin <= stop <= rows.n:
        raise ValueError("these rows are not in the column")
    turns_of(&turns, own, conversation)
    memset(made, 0, sizeof(made))
    try:
        label_all(own, &turns, rows, begin, stop, made)
        return tuple([PyBytes_FromStringAndSize(<const char*>made[i].p, made[i].n) for i in range(3)])
    finally:
        for i in range(4):
            buffer_free(&made[i])


cdef int label_all(Parser p, const Turns* turns, Rows rows, int64_t begin, int64_t stop, Buffer* made) except -1:
    cdef Out out
    cdef Context c
    cdef Stream fresh
    cdef const uint32_t* ids = NULL
    cdef uint8_t is_there
    cdef int taken
    cdef bint no_memory = False
    cdef int64_t i, n = 0
    out_init(&out)
    c = context_of(p, &out)
    p.s.input_mode = ID_MODE
    fresh = p.s
    with nogil:
        for i in range(begin, stop):
            taken = NO_IDS if is_null(rows, i) else ids_at(rows, i, &made[3], &ids, &n)
            no_memory = taken == NO_ROOM or not buffer_room(&made[0], n + 1)  # at least one: NULL would make records
            if no_memory:
                break
            is_there = taken == TAKEN
            if is_there:
                if turns.split:
                    label_turns(&p.s, &fresh, &c, turns, ids, n, made[0].p + made[0].n)
                else:
                    label_one(&p.s, &fresh, &c, ids, n, made[0].p + made[0].n)
                made[0].n += n
            no_memory = (out.no_memory or not buffer_put(&made[1], <const uint8_t*>&made[0].n, 8)
                         or not buffer_put(&made[2], &is_there, 1))
            if no_memory:
                break
    out_free(&out)
    if no_memory:
        raise MemoryError()
    return 0


cdef int check_offsets(const Ids* cuts, Py_ssize_t n) except -1:
    cdef Py_ssize_t i
    if cuts.n == 0 or cuts.ids[0] != 0 or cuts.ids[cuts.n - 1] != n:
        raise ValueError(f"offsets begin at 0 and end at the number of ids, {n}")
    for i in range(1, cuts.n):
        if cuts.ids[i] < cuts.ids[i - 1]:
            raise ValueError(f"offsets[{i}] is {cuts.ids[i]}, less than offsets[{i - 1}], {cuts.ids[i - 1]}: offsets "
                             f"ascend")
    return 0


cdef int label_rows(Parser p, const Turns* turns, const Ids* span, const Ids* cuts, uint8_t* to) except -1:
    cdef Out out
    cdef Context c
    cdef Stream fresh
    cdef Py_ssize_t i, begin, stop
    out_init(&out)
    c = context_of(p, &out)
    p.s.input_mode = ID_MODE
    fresh = p.s
    with nogil:
        for i in range(cuts.n - 1):
            begin, stop = read_once(cuts.ids + i), read_once(cuts.ids + i + 1)
            if not begin <= stop <= span.n:                                  # another thread has written to the buffer
                break
            if turns.split:
                label_turns(&p.s, &fresh, &c, turns, span.ids + begin, stop - begin, to + begin)
            else:
                label_one(&p.s, &fresh, &c, span.ids + begin, stop - begin, to + begin)
    out_free(&out)
    if out.no_memory:
        raise MemoryError()
    return 0


cdef void label_one(Stream* s, const Stream* fresh, const Context* c, const uint32_t* ids, Py_ssize_t n,
                    uint8_t* to) noexcept nogil:
    """One stream, from its beginning to its end."""
    memcpy(s, fresh, sizeof(Stream))
    c.out.held.input.n = c.out.held.marks.n = c.out.held.value.n = 0
    c.out.labels = to
    machine_ids(s, c, ids, n)
    machine_finish(s, c, False, False)


# --- conversations ----------------------------------------------------------------------------------------------------

cdef void label_turns(Stream* s, const Stream* fresh, const Context* c, const Turns* turns, const uint32_t* ids,
                      Py_ssize_t n,
                      uint8_t* to) noexcept nogil:
    """What the assistant wrote, turn by turn; all else is suppressed."""
    cdef Py_ssize_t i = 0, begin, stop
    memset(to, IN_SUPPRESSED, n)
    while i < n:
        begin = assistants_turn(c, turns, ids, i, n)
        if begin == 0:
            i += 1
            continue
        stop = turn_end(c, ids, begin, n)
        label_one(s, fresh, c, ids + begin, stop - begin, to + begin)
        i = stop


cdef int marker_of(const Context* c, uint32_t tid) noexcept nogil:
    """The row's marker that this control id is; -1: none."""
    cdef const TagTable* t = c.row
    cdef int i
    if tid < c.tables.n and c.tables.classes[tid] & CONTROL:
        for i in range(t.n_control):
            if t.control_ids[i] == tid:
                return t.control_literals[i]
    return -1


cdef Py_ssize_t turn_end(const Context* c, const uint32_t* ids, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    """Where the turn ends that ids[i] is in: after its stop, or before the next turn."""
    cdef int k
    while i < n:
        k = marker_of(c, read_once(ids + i))
        if k >= 0 and c.row.literals[k].role == TURN:
            return i
        i += 1
        if k >= 0 and c.row.literals[k].role == STOP:
            return i
    return n


cdef Py_ssize_t assistants_turn(const Context* c, const Turns* turns, const uint32_t* ids, Py_ssize_t i,
                                Py_ssize_t n) noexcept nogil:
    """Where the assistant's text begins if ids[i] begins its turn; else 0."""
    cdef int k = marker_of(c, read_once(ids + i))
    cdef uint8_t author = turns.author[k] if k >= 0 else <uint8_t>NO_TURN
    cdef uint8_t[WORD_CAP] word
    cdef bint by_control = False
    cdef Py_ssize_t size = 0, begin
    if author == NO_TURN or author == SOMEBODY_ELSES:
        return 0
    begin = word_end(c, ids, i + 1, n, word, &size, &by_control)
    if size == 9 and memcmp(word, b"assistant", 9) == 0 and (author == BY_NEXT_WORD or by_control):
        return begin
    return i + 1 if author == ASSISTANTS else 0


cdef Py_ssize_t word_end(const Context* c, const uint32_t* ids, Py_ssize_t i, Py_ssize_t n, uint8_t* word,
                         Py_ssize_t* size,
                         bint* by_control) noexcept nogil:
    """Reads a role's name, and the newline or the control id after it; size 0: there is none. Returns where the text
    after it begins.
    """
    cdef const Tables* t = c.tables
    cdef uint32_t tid, k
    size[0] = 0
    while i < n:
        tid = read_once(ids + i)
        i += 1
        if tid >= t.n or t.classes[tid] & (CONTROL | MISSING):
            by_control[0] = tid < t.n and t.classes[tid] & CONTROL and t.classes[tid] & NAMED_CLASS == 0 and (
                marker_of(c, tid) < 0)
            if not by_control[0]:
                size[0] = 0
            return i
        for k in range(t.offset[tid], t.offset[tid + 1]):
            if t.text[k] == c'\n':
                return i
            if size[0] == WORD_CAP:
                size[0] = 0
                return i
            word[size[0]] = t.text[k]
            size[0] += 1
    size[0] = 0
    return i
