# The states TEXT (content and reasoning) and SECTION (between the calls of a section), in which calls may begin. Each
# step takes something from the view, or returns False if it needs more input.

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memset
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.chars cimport is_json_space
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.calls cimport begin_call
from harmonystream._native.tags.lookahead cimport *
from harmonystream._native.tags.mentions cimport *
from harmonystream._native.tags.transitions cimport end_turn, enter_text
from harmonystream._native.tags.view cimport *

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    NEWLINES_AT_ONCE = 64

cdef uint8_t[NEWLINES_AT_ONCE] NEWLINES
memset(NEWLINES, c'\n', NEWLINES_AT_ONCE)


# --- text and newlines ------------------------------------------------------------------------------------------------

cdef void flush_newlines(Stream* s, const Context* c) noexcept nogil:
    """The newline run is followed by text: it is text."""
    cdef Tags* g = &s.tags
    cdef int64_t n
    while g.newlines > 0:
        n = g.newlines if g.newlines < NEWLINES_AT_ONCE else NEWLINES_AT_ONCE
        put_text(s, c.out, NEWLINES, n, g.newline_at, g.newline_stop)
        g.newlines -= n


cdef void end_newlines(Stream* s, const Context* c) noexcept nogil:
    """The turn is over. A newline run is text, unless a marker that means nothing came after it."""
    if s.tags.seam:
        s.tags.newlines = 0
    flush_newlines(s, c)


cdef void take_newlines(Stream* s, const Context* c, View* v, Py_ssize_t to) noexcept nogil:
    """Newlines up to `to`: what follows decides whether they are text."""
    cdef Tags* g = &s.tags
    cdef Py_ssize_t some
    while v.i < to:
        if g.newlines == NEWLINE_CAP:
            flush_newlines(s, c)
        if g.newlines == 0:
            g.newline_at = s.position
        some = to - v.i if to - v.i < NEWLINE_CAP - g.newlines else <Py_ssize_t>(NEWLINE_CAP - g.newlines)
        g.newlines += some
        g.newline_stop = position_at(s, v, v.i + some - 1) + 1
        consume(s, c, v, v.i + some, s.region)


cdef void end_backquotes(Tags* g, uint8_t follower) noexcept nogil:
    """A run of backquotes is over. Only one that begins its line opens a fence. Otherwise, or if a fence is open and no
    letter follows, with which the name of a language would begin, the run closes the fence."""
    if g.ticks >= 3 and g.ticks >= g.fence:
        if g.lead and (not g.fence or c'a' <= (follower | 0x20) <= c'z'):
            g.fence = g.ticks
            g.code = FENCE_INFO
        else:
            g.fence = 0
            g.code = NO_CODE
    elif g.ticks >= 3 and g.code == FENCE_BLANK:                             # a shorter fence in a longer one
        g.code = FENCE_INFO
    g.ticks = g.lead = 0


cdef void read_backquotes(Tags* g, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Updates the state of the fences, byte by byte where that is needed."""
    cdef Py_ssize_t i = 0, line = 0                        # line: up to there g.lead is known
    cdef const void* found
    while i < n:
        if g.ticks == 0 and g.code != FENCE_INFO and g.code != FENCE_BLANK:
            found = memchr(p + i, c'`', n - i)
            if found == NULL:
                break
            i = <const uint8_t*>found - p
        if p[i] == c'`':
            if g.ticks == 0:
                read_line(g, p, line, i)
            if (g.lead or g.fence) and g.ticks < 255:                        # others open and close nothing
                g.ticks += 1
            i += 1
            line = i
            continue
        if g.ticks:
            end_backquotes(g, p[i])
        if g.code == FENCE_INFO and p[i] == c'\n':
            g.code = FENCE_BLANK
        elif g.code == FENCE_BLANK and not is_json_space(p[i]) and p[i] != c'>':
            g.code = CODE
        i += 1
    read_line(g, p, line, n)


cdef void part_text(Stream* s, const Context* c, View* v) noexcept nogil:
    """Text follows a call, thoughts or a newline run that is dropped. A newline parts it from the text of its kind
    before, unless white space does."""
    cdef int64_t at
    s.parted &= ~(1 << s.sink)
    if s.tags.newlines == 0 and v.p[v.i] != c' ' and v.p[v.i] != c'\t' and v.p[v.i] != c'\r' and v.p[v.i] != c'\n':
        flush_pending(s, c.out)
        at = after(s, s.position)
        put_text(s, c.out, b"\n", 1, at, at)


cdef void put_text_to(Stream* s, const Context* c, View* v, Py_ssize_t to) noexcept nogil:
    """Writes text up to `to`. Newlines at its end are held."""
    cdef Py_ssize_t e = to
    if s.tags.seam:
        if v.p[v.i] == c'\n' and s.tags.seam == SPLIT:
            s.parted = s.spoken
        while v.i < to and v.p[v.i] == c'\n':
            consume(s, c, v, v.i + 1, s.region)
        if v.i == to:
            return
    follow_backquotes(&s.tags, v.p + v.i, to - v.i)
    if s.trim:
        while e > v.i and v.p[e - 1] == c'\n':
            e -= 1
    if e > v.i:
        if s.tags.at_start:
            s.tags.at_start = is_blank(v.p + v.i, e - v.i)
        s.tags.line_start = line_after(LINE_BEGINS if s.tags.newlines else s.tags.line_start, v.p + v.i, e - v.i)
        if s.parted >> s.sink & 1:
            part_text(s, c, v)
        flush_newlines(s, c)
        s.tags.seam = 0
        note_spoken(s, v.p + v.i, e - v.i)
        put_run(s, c, v, e)
    if to > e:
        flush_pending(s, c.out)
        take_newlines(s, c, v, to)


cdef void drop_named(Stream* s, const Context* c, View* v) noexcept nogil:
    """A control id that would be text: it is never shown."""
    cdef Py_ssize_t to = v.i + 1
    while to < v.n and v.marks[to] & BEGINS_TOKEN == 0:
        to += 1
    if s.tags.ticks:
        end_backquotes(&s.tags, v.p[v.i])
    flush_pending(s, c.out)
    note(s, D_STRAY_CONTROL, s.position)
    if not s.error:
        consume(s, c, v, to, IN_HEADER)


cdef void put_plain(Stream* s, const Context* c, View* v, Py_ssize_t to) noexcept nogil:
    """Text up to `to`, without the control ids in it."""
    cdef Py_ssize_t q
    if not v.special:
        put_text_to(s, c, v, to)
        return
    while v.i < to and not s.error:
        q = v.i
        while q < to and v.marks[q] & NAMED_ID == 0:
            q += 1
        if q > v.i:
            put_text_to(s, c, v, q)
        else:
            drop_named(s, c, v)


cdef void after_marker(Stream* s) noexcept nogil:
    if s.tags.newlines:
        s.parted = s.spoken
    s.tags.newlines = 0
    s.tags.line_start = s.tags.lead = 1
    s.tags.seam = SPLIT if s.trim else NO_SEAM


cdef void drop_marker(Stream* s, const Context* c, View* v, Py_ssize_t n) noexcept nogil:
    flush_pending(s, c.out)
    after_marker(s)
    consume(s, c, v, v.i + n, IN_HEADER)


# --- TEXT -------------------------------------------------------------------------------------------------------------

cdef uint64_t live_in_text(const Stream* s, const Context* c) noexcept nogil:
    """The markers that mean something where text is."""
    cdef const TagTable* row = c.row
    cdef uint64_t live = row.roles[DROP] | row.roles[STOP] | row.roles[ANSWER_OPEN]
    live |= (row.roles[THINK_OPEN] | row.roles[THINK_CLOSE]) & (row.by_id if s.tags.answer else ~<uint64_t>0)
    if not c.tools.forbidden:
        live |= row.roles[SECTION_OPEN] | row.roles[SECTION_CLOSE]
        if row.bare != BARE_NO or not row.has_section:
            live |= row.roles[CALL_OPEN] | row.roles[CALL_CLOSE]
        if row.control and s.tags.code != EXAMPLE:
            live |= row.roles[NAME_END]
        if row.line_calls and not s.tags.reasoning and c.tools.n > 0:
            live |= <uint64_t>1 << LINE_CALL
    return live


cdef inline Py_ssize_t next_marker(const View* v, const TagTable* row, uint64_t live) noexcept nogil:
    """Where the first byte of a marker is, or a control or inert id."""
    cdef Py_ssize_t q = v.i
    cdef const void* found
    if row.only_first >= 0 and not v.special:
        found = memchr(v.p + q, row.only_first, v.n - q)
        return v.n if found == NULL else <const uint8_t*>found - v.p
    while q < v.n and not (row.first[v.p[q]] & live or is_special(v, q)):
        q += 1
    return q


cdef inline Py_ssize_t first_line_end(const View* v, Py_ssize_t to) noexcept nogil:
    """After the first newline of the text up to `to`: a line may begin with a call there."""
    cdef const void* found = memchr(v.p + v.i, c'\n', to - v.i)
    return to if found == NULL else <const uint8_t*>found - v.p + 1


cdef int look_late_closer(const View* v, const TagTable* row, uint64_t live, Py_ssize_t i,
                          Py_ssize_t* stop) noexcept nogil:
    """Is a misspelt closer of a call or section here, though nothing is open any more?"""
    cdef int verdict = NO
    if row.roles[CALL_CLOSE] & live:
        verdict = look_misspelt(v, row, i, i, CALL_CLOSE, stop)
    if verdict == NO and row.roles[SECTION_CLOSE] & live:
        verdict = look_misspelt(v, row, i, i, SECTION_CLOSE, stop)
    return look_follow(v, row, stop[0], i, row.follow_call | row.roles[CALL_CLOSE]) if verdict == YES else verdict


cdef int step_blank(Stream* s, const Context* c, View* v) noexcept nogil:
    """Before an answer's first word: does an object here begin a call without an opener? YES: it is read, or ws is. NO:
    here is something else."""
    cdef CallHeader h
    cdef uint8_t ch = v.p[v.i]
    cdef Py_ssize_t i = v.i
    cdef int verdict
    if is_special(v, v.i) or s.tags.reasoning or c.tools.forbidden:
        return NO
    while i < v.n and is_blank(v.p + i, 1):
        i += 1
    if i > v.i:
        put_plain(s, c, v, i)
        return YES
    if ch != c'{' and ch != c'[':
        return NO
    memset(&h, 0, sizeof(CallHeader))
    verdict = look_listed(v, c, s, v.i, v.i, ANSWER, &h)
    if verdict == MORE and not v.end:
        return MORE
    s.tags.probed = s.tags.name_at = s.tags.id_at = 0
    if verdict == YES:
        begin_call(s, c, v, &h)
        return YES
    s.tags.at_start = 0
    return NO


cdef int step_label(Stream* s, const Context* c, View* v) noexcept nogil:
    """Where thoughts or an answer begin: is the label here, and nothing else in its line? Before an answer, the line
    must have an end."""
    cdef const TagTable* row = c.row
    cdef Py_ssize_t k = 0
    cdef int hit = -1, verdict = YES
    while k < row.label.n and v.i + k < v.n and v.p[v.i + k] == row.label.text[k] and not is_special(v, v.i + k):
        k += 1
    if k < row.label.n:
        verdict = MORE if v.i + k == v.n and not v.end else NO
    elif s.tags.reasoning and v.i + k < v.n and (v.p[v.i + k] != c'\n' or is_special(v, v.i + k)):
        verdict = match(v, row, v.i + k, v.n, row.roles[THINK_CLOSE], &hit)
        if verdict == MORE and v.end:
            verdict = NO
    elif v.i + k == v.n:
        verdict = MORE if not v.end else YES if s.tags.reasoning else NO
    elif v.p[v.i + k] != c'\n' or is_special(v, v.i + k):
        verdict = NO
    if verdict == MORE:
        return MORE
    s.tags.at_start = 0
    if verdict == YES:
        if not s.tags.reasoning:
            note(s, D_STRAY_CONTROL, s.position)
        if not s.error:
            drop_marker(s, c, v, k)
    return verdict


cdef int step_line(Stream* s, const Context* c, View* v, uint64_t live) noexcept nogil:
    """Does a call begin this line without an opener, or before it? YES: it is read. NO: here is something else."""
    cdef Tags* g = &s.tags
    cdef CallHeader h
    cdef Py_ssize_t x
    cdef int verdict = NO
    cdef uint8_t ended = 0                                                   # as in step_opener()
    if not (g.line_start == LINE_BEGINS or g.newlines) or is_special(v, v.i) or not (
            g.code == NO_CODE or (g.code == FENCE_BLANK and not c.row.examples)):
        return NO
    if live & <uint64_t>1 << LINE_CALL and (v.p[v.i] == c'[' or (v.p[v.i] == c'{' and c.row.wrapped)):
        memset(&h, 0, sizeof(CallHeader))
        verdict = look_listed(v, c, s, v.i, v.i, LINE, &h)
        x = v.i if v.p[v.i] == c'{' else skip_ws(v, v.i + 1, v.n)
        if (verdict != MORE or v.end) and x < v.n and v.p[x] == c'{':        # an object: else it is a marker's look
            g.probed = g.name_at = g.id_at = 0
    elif c.row.open_end and c.tools.n > 0:
        verdict = look_named(v, c, &h)
    if verdict == MORE:
        return NO if v.end else MORE
    if verdict != YES:
        return NO
    if g.code == FENCE_BLANK and g.newlines:
        flush_newlines(s, c)                                                 # the line of the fence ends with them
        ended = 1 << s.sink
    begin_call(s, c, v, &h)
    s.parted &= ~ended
    return YES


cdef bint step_text(Stream* s, const Context* c, View* v) noexcept nogil:
    cdef const TagTable* row = c.row
    cdef uint64_t live
    cdef Py_ssize_t q, stop = 0
    cdef int k = -1, verdict = NO
    if s.tags.ticks and v.p[v.i] != c'`':
        end_backquotes(&s.tags, v.p[v.i])                                    # it may change what is live
    live = live_in_text(s, c)
    if s.tags.at_start:
        verdict = step_blank(s, c, v) if row.unmarked and not s.tags.reasoning else step_label(s, c, v)
        if verdict != NO:                                                    # before a scan: what is held may be long
            return verdict == YES
    if row.line_calls or row.open_end:
        verdict = step_line(s, c, v, live)
        if verdict != NO:
            return verdict == YES
    q = next_marker(v, row, live)
    if q > v.i:
        put_plain(s, c, v, first_line_end(v, q) if row.open_end else q)
        return True
    if s.tags.code == EXAMPLE:
        live &= ~row.calls | (row.by_id if v.marks != NULL else 0)
    verdict = match(v, row, q, v.n, ~<uint64_t>0 if row.overlaps else live, &k)
    if verdict == YES and live & <uint64_t>1 << row.literals[k].group == 0:
        verdict = NO                                                         # of those that overlap, the longest
    if verdict == YES:
        return step_text_marker(s, c, v, k)
    if verdict == NO and s.tags.seam and s.calls and s.tags.code != EXAMPLE and not is_special(v, q):
        verdict = look_late_closer(v, row, live, q, &stop)
        if verdict == YES:
            note(s, D_MISSPELT_CLOSER, s.position)
            if not s.error:
                drop_marker(s, c, v, stop - q)
            return True
    if verdict == NO and takes_thought_tags(s, v, row):
        verdict = step_thought_tag(s, c, v)
        if verdict == YES:
            return True
    if verdict == MORE and not v.end:
        return False
    if is_special(v, q):
        step_text_special(s, c, v)
    else:
        put_plain(s, c, v, q + 1)
    return True


cdef void step_text_special(Stream* s, const Context* c, View* v) noexcept nogil:
    """A control id that is not live here, or an inert one."""
    cdef uint64_t calls = ~c.row.follow_stop                                 # of what is not live; a turn is inert
    cdef int k = -1
    if v.marks[v.i] & BEGINS_CONTROL and c.tools.forbidden and match(v, c.row, v.i, v.n, calls, &k) == YES:
        flush_pending(s, c.out)
        note(s, D_CALL_WITHOUT_TOOLS, s.position)
        consume(s, c, v, v.i + c.row.literals[k].n, IN_HEADER)
        return
    drop_special(s, c, v)


cdef int look_opener_of_thoughts(const Stream* s, const View* v, const TagTable* row, int k) noexcept nogil:
    """Does the think opener k open reasoning here, or is it dropped there? NO: the text only mentions it."""
    cdef const Tags* g = &s.tags
    cdef int verdict
    if not row.mentions or is_special(v, v.i) or is_named(v, v.i) or is_rare(row.literals[k].text, row.literals[k].n):
        return YES
    if g.fence:
        return NO
    if g.line_start or g.newlines:
        return YES
    if not g.reasoning:
        return look_thought(v, row, v.i, v.i + row.literals[k].n)
    verdict = look_code_end(v, v.i + row.literals[k].n, v.i)
    return NO if verdict == YES else MORE if verdict == MORE else YES


cdef int look_mention(Stream* s, const View* v, const TagTable* row, int k) noexcept nogil:
    """Does the text only mention the closer?"""
    cdef Tags* g = &s.tags
    cdef const Literal* literal = &row.literals[k]
    if is_special(v, v.i) or is_named(v, v.i):
        return NO
    if literal.role == THINK_CLOSE:
        if g.think_mentions and (not g.reasoning or g.fence):
            g.think_mentions -= 1
            return YES
        if not g.reasoning and is_prose(literal) and s.spoken >> R_CONTENT & 1:
            return YES
        # In thoughts it counts at once: a server that constrains the answer asks after each token whether it has begun.
        if row.mentions and not (g.reasoning or g.line_start or g.newlines) and not is_rare(literal.text, literal.n):
            return look_code_end(v, v.i + literal.n, v.i)
    if literal.role == SECTION_CLOSE or literal.role == CALL_CLOSE:
        if g.mentions:
            g.mentions -= 1
            return YES
        if is_rare(literal.text, literal.n):
            return NO
        if g.fence:
            return YES
        return NO if g.line_start or g.newlines else look_sentence(v, v.i + literal.n, v.i)
    return YES if literal.role == NAME_END and g.mentions else NO


cdef void pass_drop(Stream* s, const Context* c, View* v, Py_ssize_t n) noexcept nogil:
    """Drops a marker that means nothing. The newlines before it are kept, and those after it are dropped."""
    if s.trim and s.tags.seam == NO_SEAM and (s.tags.line_start == LINE_BEGINS or s.tags.newlines > 0):
        s.tags.seam = SEAM
    flush_pending(s, c.out)
    consume(s, c, v, v.i + n, IN_HEADER)


cdef void think(Stream* s, const TagTable* row, bint reasoning) noexcept nogil:
    """After a marker, thoughts or an answer begin."""
    cdef Tags* g = &s.tags
    cdef bint changes = g.reasoning != reasoning
    g.reasoning = reasoning
    g.at_start = decides_at_start(row, reasoning)
    g.think_mentions = g.fence = g.ticks = g.code = 0
    if reasoning:
        g.answer = 0
    enter_text(s)
    if s.trim and changes:
        s.parted = s.spoken
    elif s.trim:
        g.seam = SPLIT


cdef bint takes_thought_tags(const Stream* s, const View* v, const TagTable* row) noexcept nogil:
    """Are tags that are named after thoughts looked for?"""
    return row.think_tags and s.tags.reasoning and (v.marks == NULL or not row.roles[THINK_CLOSE] & row.by_id)


cdef int step_thought_tag(Stream* s, const Context* c, View* v) noexcept nogil:
    """In thoughts: does a closer that is misspelt end them? YES: it is read. An opener makes the next one text."""
    cdef Tags* g = &s.tags
    cdef Py_ssize_t stop = 0
    cdef bint closes = False
    cdef int verdict = look_thought_tag(v, v.i, &stop, &closes)
    if verdict != YES:
        return verdict
    if not closes:
        g.think_mentions += g.think_mentions < 255
    elif g.think_mentions:
        g.think_mentions -= 1
    elif not g.fence:
        verdict = NO
        if c.row.mentions and not g.line_start and not g.newlines:
            verdict = look_code_end(v, stop, v.i)
            if verdict == NO and not (stop < v.n and v.p[stop] == c'`'):
                verdict = look_quote(v, stop, v.i)
        if verdict == MORE:
            return MORE
        if verdict == NO:
            note(s, D_MISSPELT_CLOSER, s.position)
            if not s.error:
                drop_marker(s, c, v, stop - v.i)
                think(s, c.row, False)
            return YES
    put_plain(s, c, v, v.i + 1)
    return YES


cdef void step_answer(Stream* s, const Context* c, View* v, Py_ssize_t n) noexcept nogil:
    """The opener of the answer means nothing, unless thoughts are open: they end."""
    if not s.tags.reasoning:
        pass_drop(s, c, v, n)
        return
    note(s, D_MISSING_CLOSER, s.position)
    if s.error:
        return
    drop_marker(s, c, v, n)
    think(s, c.row, False)


cdef bint step_text_marker(Stream* s, const Context* c, View* v, int k) noexcept nogil:
    """Handles the marker k. Returns False if more input is needed."""
    cdef Tags* g = &s.tags
    cdef int role = c.row.literals[k].role, verdict
    cdef Py_ssize_t n = c.row.literals[k].n
    if role == SECTION_OPEN or role == CALL_OPEN:
        return step_opener(s, c, v, n, v.i)
    if role == STOP:
        verdict = look_stop(v, c.row, v.i, k)
        if verdict == YES:
            take_stop(s, c, v, n)
        elif verdict == NO:
            put_plain(s, c, v, v.i + 1)
        return verdict != MORE
    if role == THINK_OPEN:
        verdict = look_opener_of_thoughts(s, v, c.row, k)
        if verdict == MORE:
            return False
        if verdict == NO:
            if g.fence or not g.reasoning:                                   # in inline code of thoughts it is alone
                g.think_mentions += g.think_mentions < 255
            put_plain(s, c, v, v.i + 1)
            return True
    else:
        verdict = look_mention(s, v, c.row, k)
        if verdict == MORE:
            return False
        if verdict == YES:
            put_plain(s, c, v, v.i + 1)
            return True
    if role == ANSWER_OPEN:
        step_answer(s, c, v, n)
        return True
    if role == NAME_END:
        flush_pending(s, c.out)
        note(s, D_STRAY_CONTROL, s.position)
        if not s.error:
            consume(s, c, v, v.i + n, IN_HEADER)
        return True
    if role == DROP:
        pass_drop(s, c, v, n)
        return True
    if role == SECTION_CLOSE or role == CALL_CLOSE:
        note(s, D_STRAY_CLOSER, s.position)
    elif role == THINK_OPEN and g.reasoning:
        note(s, D_REPEATED_OPENER, s.position)
    elif role == THINK_CLOSE and not g.reasoning:
        note(s, D_STRAY_CLOSER, s.position)
    if s.error:
        return True
    drop_marker(s, c, v, n)
    if role == THINK_OPEN or role == THINK_CLOSE:
        think(s, c.row, role == THINK_OPEN)
    return True


cdef inline bint is_example(const Stream* s, const Context* c, const View* v, int verdict) noexcept nogil:
    """Is the call here the first thing in a fence? Then the model shows it."""
    return (c.row.examples and (verdict == YES or verdict == VOID) and not is_special(v, v.i)
            and not is_named(v, v.i)
            and (s.tags.code == FENCE_INFO or s.tags.code == FENCE_BLANK))


cdef int look_far_call(const View* v, const Context* c, Stream* s, Py_ssize_t i, Py_ssize_t size) noexcept nogil:
    """A section's opener that should be a control token is plain text at i, and no call follows it directly. Does a
    call follow after some words?"""
    cdef const TagTable* row = c.row
    cdef CallHeader h
    cdef Py_ssize_t x = i + size, n = limit(v, i)
    cdef uint64_t mask = row.follow_call | row.roles[CALL_CLOSE]
    cdef int k = -1, verdict = MORE
    if not row.control or not row.has_call or match(v, row, i, n, row.roles[SECTION_OPEN], &k) != YES:
        return NO
    while x < n:
        verdict = match(v, row, x, n, mask, &k) if row.first[v.p[x]] & mask else NO
        if verdict != NO:
            break
        x += 1
    if x < n and verdict == YES:
        if row.literals[k].role != CALL_OPEN:
            return NO
        verdict = look_header(v, c, s, x, line_after(IN_LINE, v.p + i, x - i) != IN_LINE, &h)
        return NO if verdict == MORE and v.end else verdict if verdict == MORE or verdict == YES else NO
    return NO if v.end or capped(v, i) else MORE


cdef bint has_openers_only(const View* v, const TagTable* row, Py_ssize_t i) noexcept nogil:
    """Is there nothing but openers and ws up to the end? Half an opener is something else."""
    cdef int k = -1
    while i < v.n and match(v, row, i, v.n, row.roles[SECTION_OPEN] | row.roles[CALL_OPEN], &k) == YES:
        i = skip_ws(v, i + row.literals[k].n, v.n)
    return i == v.n


cdef bint step_opener(Stream* s, const Context* c, View* v, Py_ssize_t n, Py_ssize_t at) noexcept nogil:
    """An opener of n bytes is at `at`, in text or, after whitespace, in a section. False: it is not known yet whether
    the opener counts."""
    cdef CallHeader h
    cdef Tags* g = &s.tags
    cdef bint at_line_start = g.line_start or g.newlines > 0
    cdef uint8_t ended = 0                                 # the sink whose line is over already, as a bit
    # is the opener in no sentence about tags, and in no program?
    cdef bint by_id = is_special(v, at) or is_named(v, at)
    cdef bint is_apart = s.state == SECTION or by_id or (
        g.code < CODE and (at_line_start or is_rare(v.p + at, n)))
    cdef int verdict = look_header(v, c, s, at, at_line_start, &h)
    if verdict == MORE:
        if not v.end:
            return False
        if (is_apart or v.cut) and has_openers_only(v, c.row, at):
            note(s, D_UNFINISHED_HEADER, position_at(s, v, at))
            drop_marker(s, c, v, v.n - v.i)
            return True
        if s.state == TEXT:
            note(s, D_UNFINISHED_HEADER, s.position)
        h.stop = v.n
        verdict = ALL_TEXT if v.n - at > LOOK_CAP else NO
    if verdict == VOID and h.hollow and not is_apart:
        verdict = NO
    g.probed = g.name_at = g.id_at = 0
    if s.state == TEXT and is_example(s, c, v, verdict):
        g.code = EXAMPLE
        note(s, D_FENCED_CALL, s.position)
        put_plain(s, c, v, v.i + 1)
    elif (verdict == NO or verdict == ALL_TEXT) and s.state == SECTION:
        enter_text(s)
    elif verdict == ALL_TEXT and not by_id:
        if g.mentions < 255:
            g.mentions += 1
        put_plain(s, c, v, h.stop)
    elif verdict == NO or verdict == ALL_TEXT:
        if by_id or (c.row.unmarked and at_line_start and g.code == NO_CODE):
            note(s, D_STRAY_CONTROL, s.position)
            if not s.error:
                drop_marker(s, c, v, n)
        else:
            verdict = look_far_call(v, c, s, at, n)
            if verdict == MORE:
                return False
            if verdict == YES:
                note(s, D_STRAY_CONTROL, s.position)
                if not s.error:
                    drop_marker(s, c, v, n)
                return True
            if g.mentions < 255:
                g.mentions += 1
            put_plain(s, c, v, v.i + 1)
    else:
        if at > v.i:
            consume(s, c, v, at, IN_HEADER)                                  # ws between calls
        if verdict == VOID:
            note(s, D_ABANDONED_HEADER, s.position)
            if not s.error:
                drop_marker(s, c, v, h.stop - v.i)
        else:
            if s.state == TEXT and (g.code == FENCE_INFO or g.code == FENCE_BLANK) and g.newlines:
                flush_newlines(s, c)                                         # the line of the fence ends with them
                ended = 1 << s.sink
            begin_call(s, c, v, &h)
            s.parted &= ~ended
    return True


# --- stops, and SECTION -----------------------------------------------------------------------------------------------

cdef void take_stop(Stream* s, const Context* c, View* v, Py_ssize_t n) noexcept nogil:
    """The model's turn is over."""
    cdef int64_t at = s.position
    end_newlines(s, c)
    flush_pending(s, c.out)
    at = after(s, at)
    consume(s, c, v, v.i + n, IN_HEADER)
    if c.out.labels == NULL:
        out_record(c.out, R_MESSAGE_END, at, after(s, position_before(s, v)))
    s.attributed = after(s, position_before(s, v))
    end_turn(s)


cdef inline int64_t position_before(const Stream* s, const View* v) noexcept nogil:
    """The position after the token of the byte that was consumed last."""
    return s.position + (v.marks != NULL and v.i < v.n and not v.marks[v.i] & BEGINS_TOKEN)


cdef bint step_section(Stream* s, const Context* c, View* v) noexcept nogil:
    """After a call in a section: the next call, the section's end, or text after all."""
    cdef const TagTable* row = c.row
    cdef uint64_t expected = row.follow_call | row.roles[CALL_CLOSE]
    cdef Py_ssize_t n = limit(v, v.i), j = skip_ws(v, v.i, n), stop = 0
    cdef int k = -1, role, verdict = match(v, row, j, n, expected, &k)
    if verdict == NO and not is_special(v, j):
        role = CALL_CLOSE
        verdict = look_misspelt(v, row, j, j, CALL_CLOSE, &stop)
        if verdict == YES:
            verdict = look_follow(v, row, stop, j, expected)
        elif verdict == NO:
            role = SECTION_CLOSE
            verdict = look_misspelt(v, row, j, j, SECTION_CLOSE, &stop)
        if verdict == YES:
            note(s, D_MISSPELT_CLOSER, position_at(s, v, j))
            if s.error:
                return True
            consume(s, c, v, stop, IN_HEADER)
            if role == SECTION_CLOSE:
                enter_text(s)
            return True
    if verdict == MORE:
        if capped(v, v.i):
            enter_text(s)
        elif v.end:
            consume(s, c, v, v.n, IN_HEADER)
        else:
            return False
        return True
    role = row.literals[k].role if verdict == YES else STOP
    if role == STOP and verdict == YES:
        verdict = look_stop(v, row, j, k)
        if verdict == MORE:
            return False
        if verdict == YES:
            consume(s, c, v, j, IN_HEADER)
            take_stop(s, c, v, row.literals[k].n)
    elif role == SECTION_OPEN or role == CALL_OPEN:
        return step_opener(s, c, v, row.literals[k].n, j)
    if verdict == NO:
        if j == v.i and is_special(v, j) and v.marks[j] & INERT_ID:
            drop_special(s, c, v)
        else:
            enter_text(s)
    elif role == SECTION_CLOSE or role == CALL_CLOSE:
        if role == CALL_CLOSE:
            note(s, D_STRAY_CLOSER, position_at(s, v, j))
        if not s.error:
            consume(s, c, v, j + row.literals[k].n, IN_HEADER)
            if role == SECTION_CLOSE:
                enter_text(s)
    return True
