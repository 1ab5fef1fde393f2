# The Harmony machine: START, HEADER, BODY, DONE (docs/harmony.md, 2). It runs without the GIL and touches no Python
# object.

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memchr, memcmp, memcpy, memset
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.bulk_tokens cimport plain_run
from harmonystream._native.core.chars cimport is_space
from harmonystream._native.core.locks cimport read_once
from harmonystream._native.core.json_scan cimport json_balanced, json_reset
from harmonystream._native.core.out cimport *
from harmonystream._native.core.types cimport *
from harmonystream._native.harmony.headers cimport *
from harmonystream._native.harmony.message_transitions cimport *
from harmonystream._native.harmony.token_regions cimport *

DEBUG = bool(DEBUG_BUILD)


# --- headers ----------------------------------------------------------------------------------------------------------

cdef void put_leftover(Stream* s, const Context* c, int i) noexcept nogil:
    """Header bytes from i on are body text."""
    cdef int64_t at
    cdef int j
    if i < s.prompt_n:
        i = s.prompt_n
    relabel(s, c, i)
    while i < s.header_n and s.sink != R_NONE:
        if s.header[i] == MARK_INERT:
            flush_pending(s, c.out)
            i += 1
            continue
        at = header_position(s, c, i)
        j = i + 1
        while j < s.header_n and s.header[j] != MARK_INERT and (
                step_of(s) or not (s.token_starts[j >> 3] >> (j & 7)) & 1):
            j += 1
        put_bytes(s, c.out, s.header + i, j - i, at, step_of(s))
        i = j


cdef enum Ending:                      # what ends a header that has no <|message|>
    BY_TERMINATOR, BY_START, BY_OVERFLOW, BY_FINISH


cdef bint end_header(Stream* s, const Context* c, Ending ending, int64_t at) noexcept nogil:
    """Headerless rule (docs/harmony.md, 5): opens the message if there is one. True if it did."""
    cdef int body = header_split(s, c.tools, ending != BY_OVERFLOW, ending == BY_FINISH)
    cdef bint has_body = body < s.header_n
    cdef bint opens = has_body or ending == BY_OVERFLOW
    if ending == BY_TERMINATOR:
        opens = opens or s.channel_code != NO_CHANNEL or s.recipient.n or s.role.n
    if s.role_state == ROLE_IMPLIED:
        note(s, D_TEXT_BETWEEN_MESSAGES, s.header_at)
    if s.error:
        return False
    if opens:
        if has_body:
            at = header_position(s, c, body)
        open_message(s, c, s.header_at, at, at)
        if not s.error:
            put_leftover(s, c, body)
    return opens


cdef inline void push_header(Stream* s, uint8_t byte, bint begins_token) noexcept nogil:
    s.header[s.header_n] = byte
    if begins_token:
        s.token_starts[s.header_n >> 3] |= <uint8_t>(1 << (s.header_n & 7))
    s.header_n += 1


cdef bint header_full(Stream* s, const Context* c, int64_t at) noexcept nogil:
    if s.header_n < HEADER_CAP:
        return False
    note(s, D_HEADER_TOO_LONG, s.header_at)
    if not s.error:
        end_header(s, c, BY_OVERFLOW, at)
    return True


cdef void check_alive(Stream* s, const Context* c, int64_t at) noexcept nogil:
    """Without a mark so far: can this still be a header? If not, it ends here."""
    if s.marked or header_alive(s, c.tools):
        return
    if s.role_state != ROLE_IMPLIED:                                         # that has a note of its own
        note(s, D_NO_MARKUP, s.header_at)
    if not s.error:
        end_header(s, c, BY_OVERFLOW, at)


cdef bint header_byte(Stream* s, const Context* c, uint8_t byte, int64_t at, bint begins_token) noexcept nogil:
    """False: the header was full, and the byte belongs to the body that has opened."""
    if header_full(s, c, at):
        return False
    push_header(s, 0xC0 if byte >= MARK_INERT else byte, begins_token)       # 0xC0: as invalid as they are, and no mark
    check_alive(s, c, at)
    return True


cdef void header_marker(Stream* s, const Context* c, uint8_t m, int64_t at, int width) noexcept nogil:
    if m == M_MESSAGE:
        header_resolve(s, c.tools)
        if not s.error:
            open_message(s, c, s.header_at, at, at + width)
    elif m == M_CHANNEL or m == M_CONSTRAIN or m == M_INERT:
        if header_full(s, c, at):
            if not s.error:
                body_marker(s, c, m, at, width)
            return
        push_header(s, MARK_CHANNEL if m == M_CHANNEL else MARK_CONSTRAIN if m == M_CONSTRAIN else MARK_INERT, True)
        if m != M_INERT:
            s.marked = 1
            return
        note(s, D_STRAY_CONTROL, at)
        if not s.error:
            check_alive(s, c, at)
    elif m == M_START:
        # a stored completion may begin with its <|start|>
        if s.header_n or at > 0:
            note(s, D_ABANDONED_HEADER if s.header_n else D_DOUBLED_START, s.header_at)
        if not s.error:
            if end_header(s, c, BY_START, at):
                flush_pending(s, c.out)
                close_message(s, c, at, at, True)
            begin_header(s, ROLE_OPEN, at, width)
    else:
        note(s, D_MISSING_MESSAGE if m != M_ENDOFTEXT else D_END_OF_TEXT, s.header_at)
        if not s.error:
            if end_header(s, c, BY_TERMINATOR, at):
                flush_pending(s, c.out)
                close_message(s, c, at, at + width, True)
            if m == M_ENDOFTEXT:
                enter_done(s)
            else:
                enter_start(s)


# --- the other states -------------------------------------------------------------------------------------------------

cdef void body_marker(Stream* s, const Context* c, uint8_t m, int64_t at, int width) noexcept nogil:
    flush_pending(s, c.out)
    if m == M_INERT or m == M_MESSAGE or m == M_CONSTRAIN:
        note(s, D_STRAY_CONTROL, at)
    elif m == M_START or m == M_CHANNEL:
        note(s, D_MISSING_END, at)
        if s.error:
            return
        close_message(s, c, at, at, True)
        begin_header(s, ROLE_OPEN if m == M_START else ROLE_PRESET, at, width if m == M_START else 0)
        if m == M_CHANNEL:
            header_marker(s, c, m, at, width)
    else:
        if m == M_ENDOFTEXT:
            note(s, D_END_OF_TEXT, at)
            if s.error:
                return
        close_message(s, c, at, at + width, True)
        if m == M_ENDOFTEXT:
            enter_done(s)
        else:
            enter_start(s)


cdef void start_marker(Stream* s, const Context* c, uint8_t m, int64_t at, int width) noexcept nogil:
    if m == M_START:
        begin_header(s, ROLE_OPEN, at, width)
    elif m == M_INERT:
        note(s, D_STRAY_CONTROL, at)
    elif m == M_ENDOFTEXT:
        enter_done(s)
    elif m == M_CHANNEL or m == M_CONSTRAIN or m == M_MESSAGE:
        note(s, D_MISSING_START, at)
        if not s.error:
            begin_header(s, ROLE_PRESET, at, 0)
            header_marker(s, c, m, at, width)
    else:
        note(s, D_STRAY_TERMINATOR, at)
        s.terminated = 1


cdef void take_marker(Stream* s, const Context* c, uint8_t m, int64_t at, int width) noexcept nogil:
    cdef uint8_t before = s.state, foreign = s.state == BODY and s.role.n
    if before == START:
        start_marker(s, c, m, at, width)
    elif before == HEADER:
        header_marker(s, c, m, at, width)
        foreign = s.role.n and m != M_START and s.state != HEADER
    elif before == BODY:
        body_marker(s, c, m, at, width)
        foreign = foreign and m != M_START and m != M_CHANNEL
    else:
        note_after_end(s, at)
    landed(s, IN_DONE if before == DONE else IN_SUPPRESSED if foreign else IN_HEADER, width)


cdef void note_after_end(Stream* s, int64_t at) noexcept nogil:
    """Once: engines that ignore the end may go on for long."""
    if s.terminated == 1:
        s.terminated = 2
        note(s, D_AFTER_END, at)


cdef Py_ssize_t take_text(Stream* s, const Context* c, const uint8_t* p, Py_ssize_t n, bint valid,
                          int64_t at) noexcept nogil:
    """n bytes that are not a marker; returns how many were taken: fewer if strict mode stopped.

    valid: they are whole characters.
    """
    cdef Py_ssize_t i = 0
    cdef int step = step_of(s)
    while i < n and not s.error:
        if s.state == BODY:
            landed(s, s.region, n - i)
            if s.sink == R_NONE:
                return n
            if valid and i == 0 and s.n_pending == 0:
                put_text(s, c.out, p, n, at, at + (n - 1) * step + 1)
            else:
                put_bytes(s, c.out, p + i, n - i, at + i * step, step)
            return n
        if s.state == DONE:
            note_after_end(s, at)
            landed(s, IN_DONE, n - i)
            return n
        if s.state == START:
            if is_space(p[i]):
                landed(s, IN_START, 1)
                i += 1
                continue
            begin_header(s, ROLE_IMPLIED, at + i * step, 0)
        landed(s, IN_HEADER, 1)
        if header_byte(s, c, p[i], at + i * step, i == 0 or step or s.header_n == 0):
            i += 1
        elif step:
            s.usage[IN_HEADER] -= 1
    return i


# --- id mode ----------------------------------------------------------------------------------------------------------

cdef inline Py_ssize_t label_run(Stream* s, const Context* c, const uint32_t* ids, Py_ssize_t n) noexcept nogil:
    """In a body only control ids matter to labels."""
    cdef const uint8_t* classes = c.tables.classes
    cdef uint32_t size = c.tables.n
    cdef uint32_t tid
    cdef Py_ssize_t i = 0
    while i < n:
        tid = read_once(ids + i)
        if tid < size and classes[tid] & CONTROL:
            break
        i += 1
    memset(c.out.labels + s.position, s.region, i)
    return i


cdef void take_id(Stream* s, const Context* c, uint32_t tid) noexcept nogil:
    cdef const Tables* t = c.tables
    cdef uint8_t cls = t.classes[tid] if tid < t.n else <uint8_t>MISSING
    cdef int64_t at = s.position
    if cls & CONTROL:
        take_marker(s, c, cls & MARKER_BITS, at, 1)
    elif cls & MISSING:
        note(s, D_UNKNOWN_ID, at)
        if not s.error:
            take_text(s, c, b"\xef\xbf\xbd", 3, True, at)
    else:
        take_text(s, c, t.text + t.offset[tid], t.offset[tid + 1] - t.offset[tid], cls & PLAIN != 0, at)
    if s.error:
        return
    s.position += 1
    s.usage[s.token_region] += 1
    if c.out.labels != NULL:
        c.out.labels[at] = s.token_region


cdef void harmony_ids(Stream* s, const Context* c, const uint32_t* ids, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i = 0, taken
    if n and s.announce:
        announce_message(s, c.out, 0, 0)
    while i < n and not s.error and not c.out.no_memory:
        if s.state == BODY and s.n_pending == 0:
            if c.out.labels != NULL:
                taken = label_run(s, c, ids + i, n - i)
            elif s.sink != R_NONE:
                taken = plain_run(s, c, ids + i, n - i)
            else:
                taken = 0
            i += taken
            s.position += taken
            s.usage[s.region] += taken
            if i == n:
                return
        take_id(s, c, read_once(ids + i))
        i += 1


# --- text mode --------------------------------------------------------------------------------------------------------

cdef int match_marker(const Tables* t, const uint8_t* p, Py_ssize_t n, uint8_t* found) noexcept nogil:
    """p[0] is `<`. 1: a whole marker; -1: all of p is the beginning of one; 0: text."""
    cdef uint8_t k
    cdef Py_ssize_t m
    if n > 1 and p[1] != c'|':
        return 0
    for k in range(1, N_MARKERS):
        m = t.spellings[k].n if n > t.spellings[k].n else n
        if memcmp(p, t.spellings[k].text, m) == 0:
            found[0] = k
            return 1 if m == t.spellings[k].n else -1
    return 0


cdef Py_ssize_t spelled_marker(Stream* s, const Context* c, uint8_t m) noexcept nogil:
    """Take the marker as text; returns its length."""
    take_marker(s, c, m, s.position, c.tables.spellings[m].n)
    s.position += c.tables.spellings[m].n
    return c.tables.spellings[m].n


cdef inline void advance_text(Stream* s, const Context* c, const uint8_t* p, Py_ssize_t n, bint valid) noexcept nogil:
    if n:
        s.position += take_text(s, c, p, n, valid, s.position)


cdef Py_ssize_t resume_held(Stream* s, const Context* c, const uint8_t* p, Py_ssize_t n, bint valid) noexcept nogil:
    """The held beginning of a marker meets the next piece. Returns how much of the piece it used."""
    cdef uint8_t[2 * HOLD_CAP] joint
    cdef Py_ssize_t held = s.n_held, more = n if n < HOLD_CAP else HOLD_CAP
    cdef uint8_t found = 0
    cdef int verdict
    memcpy(joint, s.held, held)
    memcpy(joint + held, p, more)
    verdict = match_marker(c.tables, joint, held + more, &found)
    if verdict == 1:
        s.n_held = 0
        return spelled_marker(s, c, found) - held
    if verdict == -1:
        memcpy(s.held, joint, held + more)
        s.n_held = <uint8_t>(held + more)
        return more
    s.n_held = 0
    advance_text(s, c, joint, held, valid)
    return 0


cdef void harmony_text(Stream* s, const Context* c, const uint8_t* p, Py_ssize_t n, bint valid) noexcept nogil:
    cdef Py_ssize_t i = 0, run
    cdef const uint8_t* q
    cdef uint8_t found = 0
    cdef int verdict
    if n and s.announce:
        announce_message(s, c.out, 0, 0)
    if s.n_held and n:
        i = resume_held(s, c, p, n, valid)
    run = i
    while i < n and not s.error and not c.out.no_memory:
        q = <const uint8_t*>memchr(p + i, c'<', n - i)
        if q == NULL:
            break
        i = q - p
        verdict = match_marker(c.tables, q, n - i, &found)
        if verdict == 0:
            i += 1
            while i + 1 < n and p[i] == c'<' and p[i + 1] != c'|':           # a run of them needs no search
                i += 1
            continue
        advance_text(s, c, p + run, i - run, valid)
        if s.error:
            return
        if verdict == -1:
            memcpy(s.held, q, n - i)
            s.n_held = <uint8_t>(n - i)
            return
        i += spelled_marker(s, c, found)
        run = i
    if not s.error and not c.out.no_memory:
        advance_text(s, c, p + run, n - run, valid)


# --- ends -------------------------------------------------------------------------------------------------------------

cdef void harmony_init(Stream* s, bint in_header) noexcept nogil:
    """A fresh stream (all zero): inside the assistant's header, or before any message."""
    s.shortcut_look = s.shortcut_want = PLAIN
    json_reset(&s.json)
    begin_header(s, ROLE_PRESET, 0, 0)
    if not in_header:
        enter_start(s)
        s.terminated = 0


cdef void harmony_open(Stream* s, const Context* c, uint8_t channel) noexcept nogil:
    """The prompt has opened a message on this channel."""
    s.channel_code = channel
    open_message(s, c, 0, 0, 0)


cdef void harmony_finish(Stream* s, const Context* c, bint stopped, bint known) noexcept nogil:
    """The stream is over. stopped: the engine says normally; known: it says something."""
    cdef Py_ssize_t n = s.n_held
    if s.announce:
        announce_message(s, c.out, 0, 0)
    if n:
        s.n_held = 0
        advance_text(s, c, s.held, n, True)
    flush_pending(s, c.out)
    if s.state == HEADER:
        if not end_header(s, c, BY_FINISH, s.position):
            if s.header_n > s.prompt_n:
                note(s, D_UNFINISHED_HEADER, s.header_at)
            begin_header(s, ROLE_PRESET, s.position, 0)
            return
        note(s, D_MISSING_MESSAGE, s.header_at)
        flush_pending(s, c.out)
    if s.state == BODY and not s.error:
        s.cut = s.kind != NOT_A_CALL and not stopped
        close_message(s, c, s.position, s.position, stopped or (not known and json_balanced(&s.json)))
        end_stream(s)
