# A stream's state as bytes (Parser.to_bytes). A blob comes from outside: every field is checked against its range and
# against the others as far as memory and the counts depend on them, and what follows from others (sink, region, the
# shortcut) is not stored.

import struct
from typing import NamedTuple

from libc.string cimport memcmp, memcpy
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.harmony.header_words cimport span_begins
from harmonystream._native.harmony.message_transitions cimport route
from harmonystream._native.stream.program cimport Program
from harmonystream._native.tags.tag_snapshot cimport tags_pack, tags_unpack
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport utf8_is_incomplete

DEBUG = bool(DEBUG_BUILD)

cdef uint32_t MOST = 0x7FFFFFFF               # counts stop there
cdef int64_t HIGHEST = <int64_t>1 << 62      # no stream is longer; leaves room for sums
_FIXED = struct.Struct("<6q7q3q6B8H17B2I")


cdef bytes state_pack(const Stream* s, const Held* held, bint tagged):
    cdef int kept = min(<int>s.deviations, DEVIATION_CAP), i
    fixed = _FIXED.pack(
        s.position, s.attributed, s.header_at, s.header_text_at, s.pending_at, s.pending_stop,
        s.usage[0], s.usage[1], s.usage[2], s.usage[3], s.usage[4], s.usage[5], s.usage[6],
        s.json.depth, s.json.count, s.json.end, s.json.in_string, s.json.escape, s.json.stage, s.json.broken,
        s.json.scalar, s.json.matched,
        s.role.at, s.role.n, s.channel.at, s.channel.n, s.recipient.at, s.recipient.n, s.content_type.at,
        s.content_type.n,
        s.state, s.channel_code, s.kind, s.role_state, s.marked, s.phase, s.extra, s.announce, s.terminated,
        s.incomplete, s.wrote,
        s.input_mode, s.finished, s.strict, s.n_pending, s.n_held, s.error,
        s.deviations, s.calls)
    parts = [fixed, struct.pack("<3HqB", s.header_n, s.word_at, s.prompt_n, s.error_at, s.error_state)]
    for i in range(kept):
        parts.append(struct.pack("<Bq", s.deviation[i], s.deviation_at[i]))
    parts.append((<const char*>s.pending)[:s.n_pending])
    parts.append((<const char*>s.held)[:s.n_held])
    parts.append((<const char*>s.header)[:s.header_n])
    parts.append((<const char*>s.token_starts)[:(s.header_n + 7) // 8])
    if tagged:
        parts.append(tags_pack(s, held))
    return b"".join(parts)


cdef int refuse(what) except -1:
    raise ValueError(f"not a usable parser state: {what}")


cdef int state_unpack(Stream* s, Held* held, Program program, const ToolTable* tools, bytes data) except -1:
    """Fills a zeroed Stream; raises ValueError for anything that state_pack() could not have written."""
    cdef int i, kept
    cdef Py_ssize_t at = _FIXED.size, size
    if len(data) < at + 15:
        refuse("it is truncated")
    (s.position, s.attributed, s.header_at, s.header_text_at, s.pending_at, s.pending_stop,
     s.usage[0], s.usage[1], s.usage[2], s.usage[3], s.usage[4], s.usage[5], s.usage[6],
     s.json.depth, s.json.count, s.json.end, s.json.in_string, s.json.escape, s.json.stage, s.json.broken,
     s.json.scalar, s.json.matched,
     s.role.at, s.role.n, s.channel.at, s.channel.n, s.recipient.at, s.recipient.n, s.content_type.at, s.content_type.n,
     s.state, s.channel_code, s.kind, s.role_state, s.marked, s.phase, s.extra, s.announce, s.terminated,
     s.incomplete, s.wrote,
     s.input_mode, s.finished, s.strict, s.n_pending, s.n_held, s.error,
     s.deviations, calls) = _FIXED.unpack_from(data)
    if calls > MOST or s.deviations > MOST:
        refuse("a count is out of range")
    s.calls = calls
    s.header_n, s.word_at, s.prompt_n, s.error_at, s.error_state = struct.unpack_from("<3HqB", data, at)
    at += 15
    kept = min(<int>s.deviations, DEVIATION_CAP)
    if s.n_pending > 3 or s.n_held > HOLD_CAP or s.header_n > HEADER_CAP:
        refuse("a buffer is larger than it can be")
    size = at + 9 * kept + s.n_pending + s.n_held + s.header_n + (s.header_n + 7) // 8
    if len(data) < size or (len(data) > size and program.tags == NULL):
        refuse("its length does not fit its content")
    for i in range(kept):
        s.deviation[i], s.deviation_at[i] = struct.unpack_from("<Bq", data, at)
        at += 9
        if not 0 < s.deviation[i] < N_DEVIATIONS or not 0 <= s.deviation_at[i] <= s.position + len(data):
            refuse("a deviation is unknown")
    at = take(s.pending, data, at, s.n_pending)
    at = take(s.held, data, at, s.n_held)
    at = take(s.header, data, at, s.header_n)
    take(s.token_starts, data, at, (s.header_n + 7) // 8)
    check_numbers(s, program.tags != NULL)
    check_flags(s)
    if program.tags != NULL:
        tags_unpack(s, held, program.tags, tools, data[size:])
        return 0
    check_messages(s)
    check_buffers(s, &program.tables)
    restore_derived(s)
    return 0


cdef Py_ssize_t take(uint8_t* to, bytes data, Py_ssize_t at, Py_ssize_t n):
    memcpy(to, <const char*>data + at, n)
    return at + n


cdef int check_numbers(const Stream* s, bint slack) except -1:
    """slack: the events of a token may be incomplete."""
    cdef int64_t total = 0
    cdef int i
    if not 0 <= s.position < HIGHEST:
        refuse("its position is out of range")
    for i in range(N_REGIONS):
        if not 0 <= s.usage[i] <= s.position:
            refuse("its counts do not fit its position")
        total += s.usage[i]
    if total != s.position and not s.error:
        refuse("its counts do not add up to its position")
    if not 0 <= s.attributed <= s.position + slack or not 0 <= s.header_at <= s.header_text_at <= s.position:
        refuse("a position lies outside the stream")
    if s.n_pending and not 0 <= s.pending_at <= s.pending_stop <= s.position + slack:
        refuse("a position lies outside the stream")
    if not 0 <= s.json.depth <= s.json.count < HIGHEST or not -1 <= s.json.end <= s.json.count:
        refuse("its JSON scanner is in no possible state")
    return 0


cdef int check_flags(const Stream* s) except -1:
    if (s.json.in_string > 1 or s.json.escape > s.json.in_string or s.json.stage > 3 or s.json.broken > 1
            or s.json.matched > 5):
        refuse("its JSON scanner is in no possible state")
    if (s.state >= N_STATES or s.channel_code > OTHER_CHANNEL or s.kind > OTHER_CALL
            or s.role_state > ROLE_IMPLIED or s.phase > 4 or s.input_mode > TEXT_MODE):
        refuse("a field is out of range")
    if max(s.marked, s.announce, s.incomplete, s.wrote, s.finished, s.strict) > 1 or s.terminated > 2:
        refuse("a flag is neither 0 nor 1")
    if (s.error and (not s.strict or s.error > D_LAST_STRICT or s.error_state >= N_STATES
            or not 0 <= s.error_at < HIGHEST)):
        refuse("it has failed in a way that is not possible")
    return 0


cdef int check_messages(const Stream* s) except -1:
    """Harmony's states and messages."""
    if s.state > DONE:
        refuse("a field is out of range")
    if s.state != BODY and (s.announce or s.kind != NOT_A_CALL or s.n_pending):
        refuse("it has an open message and none")
    if s.kind != NOT_A_CALL and (s.role.n or s.recipient.n == 0):
        refuse("it has a call without a name")
    return 0


cdef int tokens_in_header(const Stream* s) noexcept:
    """Positions that the header takes at least."""
    cdef int i, n = 0
    for i in range(s.prompt_n, s.header_n):
        n += s.input_mode == TEXT_MODE or (s.token_starts[i >> 3] >> (i & 7)) & 1
    return n


cdef int check_buffers(const Stream* s, const Tables* t) except -1:
    cdef int k
    cdef bint found
    for part in (s.role, s.channel, s.recipient, s.content_type):
        if part["at"] + part["n"] > s.header_n:
            refuse("a name lies outside the header")
    if s.prompt_n > s.header_n or (s.word_at != NO_WORD and s.word_at >= s.header_n):
        refuse("a position lies outside the header")
    if s.state == HEADER and not s.error and (
            s.header_text_at + tokens_in_header(s) > s.position or tokens_in_header(s) > s.usage[IN_HEADER]):
        refuse("its header is longer than the stream")
    if s.header_n & 7 and s.token_starts[s.header_n >> 3] >> (s.header_n & 7):
        refuse("its header has more tokens than bytes")
    if s.kind != NOT_A_CALL and s.recipient.n == 10 and span_begins(s, s.recipient, b"functions."):
        refuse("it has a call without a name")
    if s.n_pending and not utf8_is_incomplete(s.pending, s.n_pending):
        refuse("its incomplete character is not the beginning of one")
    found = s.n_held == 0
    for k in range(1, N_MARKERS):
        if (s.input_mode == TEXT_MODE and s.n_held < t.spellings[k].n
                and memcmp(s.held, t.spellings[k].text, s.n_held) == 0):
            found = True
    if not found:
        refuse("it holds text that begins no marker")
    return 0


cdef void restore_derived(Stream* s) noexcept:
    if s.state == BODY:
        route(s)
        return
    s.sink = R_NONE
    s.region = IN_START if s.state == START else IN_HEADER if s.state == HEADER else IN_DONE


# --- the envelope: what the state belongs to --------------------------------------------------------------------------

_ENVELOPE = struct.Struct("<3sB16sQQBIHII")
VERSION = 2


class Blob(NamedTuple):
    """What to_bytes() wrote: the state, and the options and fingerprints that it belongs to."""

    format: str
    vocab: int
    tools: int
    no_trim: int
    max_hold: int
    empty_args: str
    origin: bytes | None
    state: bytes
    watched: bytes  # of a Watcher; empty if the parser has none


cdef bytes blob_pack(str format, object vocab, object tools, bint no_trim, Py_ssize_t max_hold, str empty_args,
                     bytes origin, bytes state, bytes watched):
    args = empty_args.encode("utf-8", "surrogatepass")
    origin = origin or b""
    head = _ENVELOPE.pack(b"HSP", VERSION, format.encode(), vocab, tools, no_trim, max_hold, len(args), len(origin),
                          len(state))
    return b"".join((head, args, origin, state, watched))


cdef object blob_unpack(object data):
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"from_bytes() takes bytes, not {type(data).__name__}")
    data = bytes(data)
    if len(data) < _ENVELOPE.size or not data.startswith(b"HSP"):
        raise ValueError("not a parser state: it does not begin like one, or is truncated")
    _, version, name, vocab, tools, no_trim, max_hold, n_args, n_origin, n_state = _ENVELOPE.unpack_from(data)
    if version != VERSION:
        raise ValueError(f"this parser state has version {version}; this release reads version {VERSION}")
    args_at = _ENVELOPE.size
    origin_at = args_at + n_args
    state_at = origin_at + n_origin
    watched_at = state_at + n_state
    if len(data) < watched_at or no_trim > 1:
        refuse("its length does not fit its content")
    try:
        format = name.rstrip(b"\0").decode("ascii")
        empty_args = data[args_at:origin_at].decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise ValueError("not a usable parser state: a name is not text") from None
    return Blob(format, vocab, tools, no_trim, max_hold, empty_args, data[origin_at:state_at] or None,
                data[state_at:watched_at], data[watched_at:])
