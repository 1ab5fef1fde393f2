# Where a prompt leaves off: the state in which a stream begins.
#
# Only the end of the prompt matters, from its last start marker on. The machine reads it like output; its events are nobody's.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcmp, memset
from harmonystream._build cimport DEBUG_BUILD
from harmonystream._harmony cimport harmony_ids, harmony_init, harmony_open, harmony_text
from harmonystream._ids cimport Ids, ids_free, ids_take
from harmonystream._program cimport Program
from harmonystream._records cimport without_surrogates
from harmonystream._sink cimport out_free, out_init
from harmonystream._tools cimport Tools
from harmonystream._types cimport *

DEBUG = bool(DEBUG_BUILD)


cdef int begin_stream(Stream* s, Program program, Tools tools, object start, object prompt) except -1:
    """Bring a zeroed stream to where `start` or `prompt` (see Parser) leaves off, and count from there. 0: at the usual place."""
    cdef Out out
    cdef Context c
    cdef bint plain = start == "auto" or start == "content"
    if prompt is not None:
        if start != "auto":
            raise ValueError(f"pass prompt= or start={start!r}, not both: a prompt decides the start by itself")
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
        s.text_mode = 1
        harmony_ids(s, c, ids.ids, ids.n)
        ids_free(&ids)
        return 0
    data = without_surrogates(prefix).encode()
    s.text_mode = 2
    harmony_text(s, c, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), True)
    if s.n_held:
        raise ValueError(f"the start ends inside a marker: {prefix[-s.n_held:]!r}")
    return 0


cdef void settle(Stream* s) noexcept:
    """The prompt is read: what it holds is not output, and is not counted."""
    s.position = s.attributed = s.header_at = s.header_text_at = s.pending_at = s.pending_stop = 0
    memset(s.usage, 0, sizeof(s.usage))
    s.deviations = s.calls = 0
    s.terminated = s.incomplete = s.wrote = s.text_mode = s.token_region = 0
    memset(s.token_starts, 0, sizeof(s.token_starts))
    if s.state == HEADER and s.role_state == ROLE_OPEN and s.header_n == 9 and memcmp(s.header, b"assistant", 9) == 0:
        harmony_init(s, True)                                                # the usual end of a prompt: the role is settled
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
