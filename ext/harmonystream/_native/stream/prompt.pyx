# Where a prompt leaves off: the state in which a stream begins.
#
# Only the end of the prompt matters, from its last start marker on. The machine reads it like output, and the
# events are discarded.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcmp, memset
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.harmony.harmony cimport harmony_ids, harmony_init, harmony_open, harmony_text
from harmonystream._native.core.token_ids cimport Ids, ids_free, ids_take
from harmonystream._native.stream.program cimport NO_VOCAB, Program
from harmonystream._native.core.out cimport out_free, out_init
from harmonystream._native.core.tools cimport Tools
from harmonystream._native.tags.driver cimport tags_init, tags_open
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport without_surrogates

DEBUG = bool(DEBUG_BUILD)


cdef int begin_stream(Stream* s, Program program, Tools tools, bint trim, object start, object prompt) except -1:
    """Bring a zeroed stream to where `start` or `prompt` (see Parser) leaves off, and count from there. 0: at the usual
    place.
    """
    if prompt is not None and start != "auto":
        raise ValueError(f"pass prompt= or start={start!r}, not both: a prompt decides the start by itself")
    if prompt is not None and not hasattr(prompt, "__len__") and not hasattr(prompt, "__iter__"):
        raise TypeError(f"prompt is the prompt's token ids or its text, not {prompt!r:.80}")
    if program.tags != NULL:
        return begin_tags(s, program, trim, start, prompt)
    return begin_messages(s, program, tools, start, prompt)


# --- tag formats ------------------------------------------------------------------------------------------------------

cdef int begin_tags(Stream* s, Program program, bint trim, object start, object prompt) except -1:
    tags_init(s, trim)
    if prompt is None:
        if start not in ("auto", "content", "reasoning", "answer"):
            raise ValueError(f"start is 'auto', 'content', 'reasoning' or 'answer' in the format "
                             f"{program.format.name!r}, not {start!r}")
        if start == "auto" or start == "content":
            return 0
        tags_open(s, start == "reasoning", start == "answer", True)
        return 1
    if program.vocab is NO_VOCAB and not isinstance(prompt, (str, bytes)) and not is_empty(prompt):
        raise ValueError(f"this parser has no vocabulary, so it cannot read the ids of prompt=: pass the model's, "
                         f"Parser({program.format.name!r}, vocab, prompt=ids), or the prompt's text")
    opened, closed, rest = last_thought(last_turn(prompt, program), program.format)
    if opened == closed:
        return 0
    tags_open(s, opened > closed, closed > opened, rest.strip("\n") == "")
    return 1


cdef bint is_empty(object prompt) except -1:
    return hasattr(prompt, "__len__") and len(prompt) == 0


cdef tuple spellings(object marker):
    return marker if isinstance(marker, tuple) else (marker,)


cdef object last_turn(object prompt, Program program):
    """The text of the prompt after the last marker that begins a turn or, in a row without such markers, ends one."""
    cdef Ids ids
    cdef Py_ssize_t i
    cdef const TagTable* t = program.tags
    cdef uint32_t tid
    cdef uint8_t role = TURN if program.format.turns else STOP
    if isinstance(prompt, bytes):
        prompt = prompt.decode("utf-8", "replace")
    if not isinstance(prompt, str):
        ids_take(&ids, prompt)
        try:
            i = ids.n
            while i > 0 and not has_role(t, ids.ids[i - 1], role):
                i -= 1
            pieces = []
            while i < ids.n:
                tid = ids.ids[i]
                if tid < program.vocab.n:
                    pieces.append(program.vocab.text[program.vocab.offset[tid]:program.vocab.offset[tid + 1]])
                i += 1
        finally:
            ids_free(&ids)
        prompt = b"".join(pieces).decode("utf-8", "replace")
    ends = program.format.turns or program.format.stops
    return prompt[max((prompt.rfind(end) + len(end) for end in ends if end in prompt), default=0):]


cdef bint has_role(const TagTable* t, uint32_t tid, uint8_t role) noexcept:
    cdef int i
    for i in range(t.n_control):
        if t.control_ids[i] == tid:
            return t.literals[t.control_literals[i]].role == role
    return False


cdef tuple last_thought(str text, object format):
    """Where the last think opener and closer stand (-1: nowhere), and what follows the later one."""
    if format.think is None:
        return -1, -1, ""
    found = [max((text.rfind(spelling), len(spelling)) for spelling in spellings(marker)) for marker in format.think]
    (opened, n_open), (closed, n_close) = found
    rest = text[opened + n_open:] if opened > closed else text[closed + n_close:]
    return opened, closed, rest


# --- Harmony ----------------------------------------------------------------------------------------------------------

cdef int begin_messages(Stream* s, Program program, Tools tools, object start, object prompt) except -1:
    cdef Out out
    cdef Context c
    cdef bint plain = start == "auto" or start == "content"
    if prompt is not None:
        prefix = last_message(prompt, program)
        plain = prefix is None
    elif isinstance(start, str) and (start == "" or start.startswith("<|") or start.startswith(" to=")):
        prefix = start
    elif not plain and start != "reasoning" and start != "answer":
        raise ValueError(f"start is 'auto', 'content', 'reasoning', 'answer', or Harmony text such as "
                         f"'<|start|>assistant<|channel|>final<|message|>'; not {start!r}")
    else:
        prefix = None
    harmony_init(s, prefix is None or not (isinstance(prefix, tuple) or prefix == "" or prefix.startswith("<|start|>")))
    if plain:
        return 0
    out_init(&out)
    c.tables = &program.tables
    c.row = NULL
    c.tools = &tools.table
    c.out = &out
    try:
        if prefix is None:
            harmony_open(s, &c, ANALYSIS if start == "reasoning" else FINAL)
        else:
            read_prefix(s, &c, prefix)
        if out.no_memory:
            raise MemoryError()
    finally:
        out_free(&out)
    settle(s)
    return 1


cdef int read_prefix(Stream* s, const Context* c, object prefix) except -1:
    cdef Ids ids
    cdef bytes data
    if isinstance(prefix, tuple):
        ids_take(&ids, prefix)
        s.input_mode = ID_MODE
        harmony_ids(s, c, ids.ids, ids.n)
        ids_free(&ids)
        return 0
    data = without_surrogates(prefix).encode()
    s.input_mode = TEXT_MODE
    harmony_text(s, c, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), True)
    if s.n_held:
        raise ValueError(f"the start ends inside a marker: {prefix[-s.n_held:]!r}")
    return 0


cdef void settle(Stream* s) noexcept:
    """The prompt is read: what it holds is not output, and is not counted."""
    s.position = s.attributed = s.header_at = s.header_text_at = s.pending_at = s.pending_stop = 0
    memset(s.usage, 0, sizeof(s.usage))
    s.deviations = s.calls = 0
    s.terminated = s.cut = s.wrote = s.token_region = 0
    s.input_mode = NO_INPUT
    memset(s.token_starts, 0, sizeof(s.token_starts))
    if s.state == HEADER and s.role_state == ROLE_OPEN and s.header_n == 9 and memcmp(s.header, b"assistant", 9) == 0:
        # the usual end of a prompt: the role is settled
        harmony_init(s, True)
    s.prompt_n = s.header_n if s.state == HEADER else 0
    s.announce = s.state == BODY


cdef object last_message(object prompt, Program program):
    """The prompt from its last start marker on: ids as a tuple, or text; None if there is none."""
    cdef str marker = program.format.markers["start"]
    cdef Ids ids
    cdef Py_ssize_t i
    cdef uint32_t start
    if isinstance(prompt, bytes):
        prompt = prompt.decode("utf-8", "replace")
    if isinstance(prompt, str):
        i = prompt.rfind(marker)
        return None if i < 0 else prompt[i:]
    start = program.vocab.by_name[marker]
    ids_take(&ids, prompt)
    try:
        i = ids.n - 1
        while i >= 0 and ids.ids[i] != start:
            i -= 1
        return None if i < 0 else tuple([ids.ids[k] for k in range(i, ids.n)])
    finally:
        ids_free(&ids)
