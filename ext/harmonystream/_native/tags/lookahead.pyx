# Looking ahead: does a marker count (docs/tags.md, 2 to 6)? The answer depends on the bytes alone, not on how they were
# cut: MORE asks for more of them, and a look that would need more bytes than its limit is a NO.

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.string cimport memchr, memcmp, memset
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.chars cimport is_json_space
from harmonystream._native.core.tools cimport begins_tool, has_parameters, is_parameter, names_tool, tool_index
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.attributes cimport Attributes, look_attributes
from harmonystream._native.tags.call_names cimport backquotes, look_opened
from harmonystream._native.tags.call_object cimport *
from harmonystream._native.tags.lookahead cimport *
from harmonystream._native.tags.names cimport is_bad, is_name, is_word_byte, look_written, skip_call_word
from harmonystream._native.tags.object_name cimport read_object_name, without_comma
from harmonystream._native.tags.quotation cimport unless_quoted
from harmonystream._native.tags.value_type cimport look_type
from harmonystream._native.tags.view cimport *

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    MAX_OPENERS = 8                    # in a row: more of them are text
    OPENER_LEFT = 32                   # bytes that may be left of the opener of a key
    SAME_LETTERS = 3                   # that a closer with another name shares with its own
    SLIP_SIZE = 8                      # bytes of the shortest closer in which one byte may be wrong
    MAX_CLOSERS = 8                    # in a row, after a value's closer: more of them are text


cdef int look_follow(const View* v, const TagTable* row, Py_ssize_t i, Py_ssize_t origin, uint64_t mask) noexcept nogil:
    """After ws, one of these markers, or the end."""
    cdef Py_ssize_t n = limit(v, origin)
    cdef int k, verdict = match(v, row, skip_ws(v, i, n), n, mask, &k)
    return at_the_end(v, origin) if verdict == MORE else verdict


cdef int look_stop(const View* v, const TagTable* row, Py_ssize_t i, int k) noexcept nogil:
    """Does the stop k at i count?"""
    return YES if is_special(v, i) else look_follow(v, row, i + row.literals[k].n, i, row.follow_stop)


# --- headers ---------------------------------------------------------------------------------------------------------

cdef int look_bare(const View* v, const Context* c, Py_ssize_t origin, bint at_line_start,
                   const CallHeader* h) noexcept nogil:
    """A call outside of a section that could be prose (Qwen3-Coder leaves the section's opener out)."""
    cdef const TagTable* row = c.row
    if c.tools.n >= 0:
        if not names_tool(c.tools, v.p + h.name_at, h.name_n):
            return NO
    elif not at_line_start:
        return NO
    if h.empty:
        return YES
    return look_follow(v, row, h.stop, origin, row.roles[KEY_OPEN] | row.roles[ELEMENT_OPEN] | row.roles[CALL_CLOSE])


cdef int look_hollow(const View* v, const TagTable* row, Py_ssize_t j, Py_ssize_t origin, CallHeader* h) noexcept nogil:
    """At j, after the outer openers: the section's closer, perhaps after `[]`, or `[]` alone where the closer may be
    empty? VOID: there is no call in it."""
    cdef Py_ssize_t n = limit(v, origin)
    cdef int k = -1, verdict
    cdef bint alone = False
    if (row.wrapped or row.call_opens) and v.p[j] == c'[':
        j = skip_ws(v, j + 1, n)
        if j == n:
            return undecided(v, origin)
        if v.p[j] != c']' or is_special(v, j):
            return NO
        alone = row.lacks_closer
        h.stop = j + 1 if alone else 0
        j = skip_ws(v, j + 1, n)
    verdict = match(v, row, j, n, row.roles[SECTION_CLOSE], &k)
    if verdict == MORE and not (alone and (v.end or capped(v, origin))):
        return undecided(v, origin)
    if verdict == YES:
        h.stop = j + row.literals[k].n
    elif not alone:
        return NO
    h.hollow = 1
    return VOID


cdef int look_fence(const View* v, const TagTable* row, Py_ssize_t* j, Py_ssize_t origin) noexcept nogil:
    """At *j, after the outer openers: a Markdown fence, with an object or array in it? Then *j is set to that. A row
    whose closer may be empty does not show where the fence ends."""
    cdef Py_ssize_t n = limit(v, origin), x = j[0] + 3
    cdef int verdict = NO if row.lacks_closer or is_special(v, j[0]) else backquotes(v, j[0], n)
    if verdict == YES:
        while x < n and c'a' <= (v.p[x] | 0x20) <= c'z':
            x += 1
        x = skip_ws(v, x, n)
        verdict = MORE if x == n else YES if v.p[x] == c'{' or v.p[x] == c'[' else NO
    if verdict == YES:
        j[0] = x
    return undecided(v, origin) if verdict == MORE else verdict


cdef int look_twice(const View* v, const Context* c, Py_ssize_t origin, CallHeader* h) noexcept nogil:
    """The header h is valid. If the same call's header comes once more, after ws, h becomes the last of them. Always
    YES, or MORE."""
    cdef const TagTable* row = c.row
    cdef CallHeader other
    cdef Py_ssize_t n = limit(v, origin), x, at = 0
    cdef uint64_t openers = row.roles[SECTION_OPEN] | row.roles[CALL_OPEN]
    cdef int k = -1, verdict, opened
    while not h.key_n:
        x = h.stop
        opened = 0
        verdict = match(v, row, skip_ws(v, x, n), n, openers, &k)
        while verdict == YES and opened < MAX_OPENERS:
            opened += 1
            at = skip_ws(v, x, n)
            if row.literals[k].role == CALL_OPEN:
                break
            x = at + row.literals[k].n
            verdict = match(v, row, skip_ws(v, x, n), n, openers, &k)
        if verdict == YES and row.literals[k].role == CALL_OPEN:
            memset(&other, 0, sizeof(CallHeader))
            verdict = look_opened(v, c, at, k, origin, &other)
            if verdict == YES and other.name_n == h.name_n and other.id_n == h.id_n and (
                    memcmp(v.p + other.name_at, v.p + h.name_at, h.name_n) == 0
                    and memcmp(v.p + other.id_at, v.p + h.id_at, h.id_n) == 0):
                other.in_section = h.in_section
                other.repeated = 1
                h[0] = other
                continue
        return MORE if verdict == MORE and not v.end and not capped(v, origin) else YES
    return YES


cdef int look_header(const View* v, const Context* c, Stream* s, Py_ssize_t i, bint at_line_start,
                     CallHeader* h) noexcept nogil:
    """Does the opener at i open a call? YES: h describes it. VOID: everything before h.stop is dropped. MORE at the
    end of the stream: the header is unfinished."""
    cdef const TagTable* row = c.row
    cdef uint64_t openers = row.roles[SECTION_OPEN] | row.roles[CALL_OPEN]
    cdef Py_ssize_t n = limit(v, i), j = i, at = i
    cdef int k = -1, verdict, known, again, opened = 0, sections, opener = -1
    cdef bint holds = row.wrapped                          # an object may follow the openers
    memset(h, 0, sizeof(CallHeader))
    h.in_section = s.tags.in_section
    while True:
        verdict = match(v, row, j, n, openers, &k)
        if verdict != YES or row.literals[k].role != SECTION_OPEN:
            break
        opened += 1
        if opened > MAX_OPENERS:
            return NO
        h.in_section = 1
        j = skip_ws(v, j + row.literals[k].n, n)
    h.repeated = opened > 1
    sections = opened
    if verdict == YES:
        while verdict == YES:
            opened += 1
            if opened > MAX_OPENERS:
                return NO
            at, opener = j, k
            j = skip_ws(v, j + row.literals[k].n, n)
            verdict = match(v, row, j, n, row.roles[CALL_OPEN], &k)
            h.repeated |= verdict == YES
        if verdict == MORE:
            return undecided(v, i)
        holds = row.wrapped and (not row.has_section or (
            row.holds_objects and (h.in_section or row.bare == BARE_ANY)))
        if holds and look_fence(v, row, &j, i) == MORE:
            return MORE
        if not holds or is_special(v, j) or (v.p[j] != c'{' and v.p[j] != c'['):
            verdict = look_opened(v, c, at, opener, i, h)
            if (verdict == YES and not h.empty) or (verdict == NO and h.stop and row.open_name and c.tools.n < 0):
                again = h.repeated
                h.repeated = 0
                known = verdict
                verdict = look_twice(v, c, i, h)
                if verdict == YES and known == NO and not h.repeated:
                    return NO
                h.repeated |= again
            if verdict != YES or not row.has_section or h.in_section or row.bare != BARE_DECLARED:
                return verdict
            h.bare = 1
            return look_bare(v, c, i, at_line_start, h)
    elif verdict == MORE:
        return undecided(v, i)
    elif holds and look_fence(v, row, &j, i) == MORE:
        return MORE
    if sections or row.lacks_closer:
        verdict = look_hollow(v, row, j, i, h)
        if verdict != NO:
            return verdict
    return look_listed(v, c, s, j, i, MARKED, h)


# --- wrapped calls ----------------------------------------------------------------------------------------------------

cdef int failed(CallHeader* h, Py_ssize_t origin, Py_ssize_t x) noexcept nogil:
    """The byte at x shows that it is not a call. After a long look every opener before x is text, because looking ahead
    from each of them would read the same bytes again."""
    if x - origin <= LOOK_CAP:
        return NO
    h.stop = x
    return ALL_TEXT


cdef int look_listed(const View* v, const Context* c, Stream* s, Py_ssize_t i, Py_ssize_t origin, int alone,
                     CallHeader* h) noexcept nogil:
    """Does an object, a Python call, or an array of these begin at i?"""
    cdef const TagTable* row = c.row
    cdef Py_ssize_t n = limit(v, origin), x = skip_ws(v, i + 1, n) if v.p[i] == c'[' else i
    cdef int verdict
    if row.call_opens and not (row.wrapped and x < n and v.p[x] == c'{'):
        if x == n:
            return undecided(v, origin)
        h.array = x > i
        h.body = PYTHON
        if row.name_as == CALL_NAME:
            x = skip_call_word(v, x, n)
        h.name_at = x
        verdict = look_written(v, row, c.tools, x, origin, alone != MARKED, &h.name_n, &h.stop)
        h.stop += 1
        return verdict
    if row.wrapped and (v.p[i] == c'{' or v.p[i] == c'['):
        return look_object(v, c, s, i, origin, alone, h)
    return NO


cdef bint may_name(const Tags* g, uint8_t ch, bint unmarked) noexcept nogil:
    """A value that begins with ch, under a key that may hold the name: may it be that, or an object with the call?"""
    cdef const ObjectScan* o = &g.probe
    if (unmarked and g.name_at) or o.nth == MOST_VALUES or o.inner == MOST_VALUES:
        return False
    return is_quote(o, ch) or (ch == c'{' and not o.inner)


cdef int look_member(const View* v, const Context* c, Tags* g, int found, Py_ssize_t x, Py_ssize_t origin,
                     bint unmarked, CallHeader* h) noexcept nogil:
    """A value of the probed object begins or ends at x. YES: its call has a name. NO: it is not a call.

    unmarked: there was no opener, so a name that is not declared needs the arguments after it.
    """
    cdef uint8_t[NAME_CAP + 16] name
    cdef int k, member = g.probe.key
    cdef bint named = member == ARGUMENTS_MEMBER and (g.probe.keys == KEYS_ARE_NAMES or c.tools.n < 0)
    cdef bint alias = member == ALIAS_MEMBER
    if found == F_BEGINS:
        if g.probe.keys == KEYS_OF_MEMBERS and g.probe.nth == 1 and not g.probe.inner:
            g.name_at = 0                                  # the first key is not the name
        alias = alias and may_name(g, v.p[x], unmarked)
        if unmarked and (member == OTHER_MEMBER or (member == ALIAS_MEMBER and not alias)):
            return NO
        if alias and v.p[x] == c'{':
            enter_inner(&g.probe)
        elif alias or member == NAME_MEMBER:
            g.name_at = <int32_t>(x - origin) if v.p[x] != c'{' and v.p[x] != c'[' else 0
            g.name_nth = g.probe.nth if g.probe.nth < MOST_VALUES else 0
            g.name_inner = g.probe.inner if g.probe.inner < MOST_VALUES else 1
        elif member == ID_MEMBER:
            g.id_at = <int32_t>(x - origin) if is_quote(&g.probe, v.p[x]) else 0
    if not g.name_at or not (named if found == F_BEGINS else alias or member == NAME_MEMBER):
        return MORE
    if found == F_ENDED and member == NAME_MEMBER:
        if not read_object_name(v, origin + g.name_at, g.probe.python, name, &k) or tool_index(c.tools, name, k) < 0:
            g.name_at = 0
            return MORE
        h.unended = 1
    elif not read_object_name(v, origin + g.name_at, g.probe.python, name, &k):
        return NO if unmarked and alias else MORE
    elif not is_name(c.tools, name, k):
        k = without_comma(name, k) if found == F_ENDS and g.name_nth and g.probe.inner < MOST_VALUES else 0
        if k == 0 or not (tool_index(c.tools, name, k) >= 0 or (
                not unmarked and c.tools.n < 0 and is_name(c.tools, name, k))):
            return NO if unmarked and alias else MORE
        h.unended = h.name_open = 1
        named = True
    if (unmarked or alias) and not named and not names_tool(c.tools, name, k):
        return NO if unmarked and alias else MORE
    h.python = g.probe.python
    h.name_nth = g.name_nth
    h.name_inner = g.name_inner
    h.object_name = origin + g.name_at
    h.object_id = origin + g.id_at if g.id_at else 0
    return YES


cdef bint is_misplaced(const ObjectScan* o, uint8_t ch) noexcept nogil:
    """Between the members of the probed object: a byte that shows that a quote or a brace is missing or doubled? From
    there on it is unclear what is inside of a string."""
    if o.depth != 1 or o.in_string or is_json_space(ch) or ch == c',' or ch == c':' or ch == c'}' or ch == c']':
        return False
    return o.expect == X_COLON or o.expect == X_COMMA or (o.expect == X_KEY and not begins_key(o, ch))


cdef int look_broken(const View* v, const TagTable* row, const Tags* g, Py_ssize_t x, Py_ssize_t i, Py_ssize_t most,
                     uint64_t markers) noexcept nogil:
    """Does a marker at x show that the object from i on is broken? In a string it does if it begins a line, because
    JSON's strings have no line ends, or if it closes the call after a bracket."""
    cdef Py_ssize_t b = x
    cdef int k = -1, verdict = match(v, row, x, most, markers, &k)
    if verdict != YES:
        return verdict
    if row.literals[k].role == STOP:
        return look_stop(v, row, x, k)
    if not g.probe.in_string or v.p[x - 1] == c'\n':
        return YES
    while is_json_space(v.p[b - 1]):                                         # the object's brace is before them
        b -= 1
    return YES if row.literals[k].role in (SECTION_CLOSE, CALL_CLOSE) and v.p[b - 1] in b"}]" else NO


cdef int look_object(const View* v, const Context* c, Stream* s, Py_ssize_t i, Py_ssize_t origin, int alone,
                     CallHeader* h) noexcept nogil:
    """Has the object, or array of objects, at i a name? Continues where the last look stopped, because the input may be
    long. A line that may begin with one is looked at like a marker: there may be many."""
    cdef const TagTable* row = c.row
    cdef Tags* g = &s.tags
    cdef uint64_t markers = row.calls | row.roles[STOP]
    cdef Py_ssize_t x = i, cap = LOOK_CAP if alone == LINE else c.out.held.cap
    cdef Py_ssize_t most = v.n if v.n - origin < cap else origin + cap
    cdef int k, verdict
    cdef bint over
    h.stop = i
    h.body = WRAPPED
    h.array = v.p[i] == c'['
    if h.array:
        x = skip_ws(v, i + 1, limit(v, origin))
        if x == limit(v, origin):
            return undecided(v, origin)
        if v.p[x] != c'{' or is_special(v, x):
            return NO
    if x - origin < g.probed <= v.n - origin:
        x = <Py_ssize_t>(origin + g.probed)
    else:
        object_reset(&g.probe)
        g.name_at = g.id_at = 0
    while x < most:
        if is_special(v, x):
            if v.marks[x] & BEGINS_CONTROL:
                return failed(h, origin, x)
            x += 1
            continue
        if row.first[v.p[x]] & markers and not g.probe.escape:
            verdict = look_broken(v, row, g, x, i, most, markers)
            if verdict == YES:
                return failed(h, origin, x)
            if verdict == MORE:
                break
        if is_misplaced(&g.probe, v.p[x]):
            return failed(h, origin, x)
        verdict = object_step(&g.probe, row, v.p[x])
        if verdict == F_OVER:
            return failed(h, origin, x)
        if row.key_is_name and g.probe.keys == KEYS_UNKNOWN and g.probe.expect == X_IN_KEY and g.probe.key_n == 0:
            g.name_at = <int32_t>(x - origin)
        if verdict == F_BEGINS or verdict == F_ENDS or verdict == F_ENDED or verdict == F_ENDED_OVER:
            over = verdict == F_ENDED_OVER
            verdict = look_member(v, c, g, F_ENDED if over else verdict, x, origin, alone != MARKED, h)
            if verdict != MORE or over:
                return verdict if verdict == YES else failed(h, origin, x)
        x += 1
    g.probed = x - origin
    return MORE if v.n - origin < cap else failed(h, origin, most)


cdef int look_named(const View* v, const Context* c, CallHeader* h) noexcept nogil:
    """Does a declared name begin a line, with a call's opener and an object after it? In open-ended rows the model may
    write the name first."""
    cdef const TagTable* row = c.row
    cdef Py_ssize_t n = limit(v, v.i), x = v.i
    cdef int k = -1, verdict
    while x < n and not is_special(v, x) and not is_bad(v.p[x]) and not is_json_space(v.p[x]):
        x += 1
    if x == v.i or not begins_tool(c.tools, v.p + v.i, x - v.i):
        return NO
    if x == n:
        return undecided(v, v.i)
    memset(h, 0, sizeof(CallHeader))
    h.name_at, h.name_n = v.i, x - v.i
    if tool_index(c.tools, v.p + v.i, x - v.i) < 0:
        return NO
    x = skip_ws(v, x, n)
    verdict = match(v, row, x, n, row.roles[CALL_OPEN], &k)
    if verdict == YES:
        x = skip_ws(v, x + row.literals[k].n, n)
        verdict = match(v, row, x, n, row.roles[NAME_END], &k)
        if verdict == YES:
            x = skip_ws(v, x + row.literals[k].n, n)
        verdict = MORE if verdict == MORE or x == n else YES if v.p[x] == c'{' and not is_special(v, x) else NO
    h.stop = x
    h.body = RAW
    return undecided(v, v.i) if verdict == MORE else verdict


# --- bodies -----------------------------------------------------------------------------------------------------------

cdef int look_equals(const View* v, const TagTable* row, Py_ssize_t x, Py_ssize_t n, Key* key) noexcept nogil:
    """A key that has no end: is its value closed at x? Then the value begins after the `=`."""
    cdef const uint8_t* found
    cdef int k = -1, verdict = NO if row.value_opener else match(v, row, x, n, row.roles[VALUE_CLOSE], &k)
    if verdict != YES:
        return verdict
    found = <const uint8_t*>memchr(v.p + key.at, c'=', x - key.at)
    if found == NULL or found == v.p + key.at:
        return NO
    key.n = found - v.p - key.at
    key.stop = key.at + key.n + 1
    while is_json_space(v.p[key.at + key.n - 1]):
        key.n -= 1
    key.missing = 1
    return YES


cdef int look_key(const View* v, const Context* c, const Stream* s, Py_ssize_t i, Py_ssize_t origin,
                  Key* key) noexcept nogil:
    """A key from i, after its opener, and its end. A declared key may have bytes that no other has."""
    cdef const TagTable* row = c.row
    cdef Py_ssize_t n = limit(v, origin), x = skip_ws(v, i, n), last
    cdef int k = -1, verdict, around
    cdef bint newline = False, odd = False, broken = False # broken: only a declared key has such bytes
    cdef bint declares = has_parameters(c.tools, s.tags.tool)
    key.at = last = x
    key.typed = key.missing = key.opening = key.foreign = 0
    key.stop = 0
    while True:
        verdict = match(v, row, x, n, row.roles[KEY_END] | row.roles[VALUE_OPEN], &k)
        if verdict == MORE:
            return NO if broken and v.end else undecided(v, origin)
        if verdict == YES:
            break
        if is_special(v, x):
            return NO
        if v.p[x] == c'<' or v.p[x] == c'>' or (v.p[x] == c'"' and row.first[c'"'] & row.roles[KEY_END]):
            verdict = NO if odd else look_equals(v, row, x, n, key)
            if verdict == NO and not broken:
                around = match(v, row, x, n, row.follow_value | row.roles[VALUE_CLOSE], &k)
                if around == MORE and row.value_opener:
                    return undecided(v, origin)
                broken = around == YES or not row.value_opener
            odd = True
            if verdict != NO or (broken and not declares):
                return undecided(v, origin) if verdict == MORE else verdict
        if not is_json_space(v.p[x]):
            if newline and declares and is_parameter(c.tools, s.tags.tool, v.p + key.at, last - key.at):
                key.n = last - key.at
                key.stop = last
                key.missing = not row.value_opener
                key.opening = row.value_opener
                return YES
            last = x + 1
            if newline or last - key.at > NAME_CAP:
                return NO
        newline |= v.p[x] == c'\n' and last > key.at
        x += 1
    key.n = last - key.at
    broken |= row.literals[k].role == VALUE_OPEN
    if key.n == 0:
        return NO
    if odd and broken and not (declares and is_parameter(c.tools, s.tags.tool, v.p + key.at, key.n)):
        return NO
    key.typed = row.literals[k].typed
    key.stop = x + row.literals[k].n
    key.missing = row.literals[k].role == VALUE_OPEN
    key.opening = row.value_opener and not key.missing
    return look_type(v, row, n, origin, &key.stop, &key.typed) if row.types_values and not key.missing else YES


cdef bint is_odd(const View* v, const Key* key) noexcept nogil:
    """Does it contain what separates attributes?"""
    cdef Py_ssize_t i
    for i in range(key.at, key.at + key.n):
        if v.p[i] == c'"' or v.p[i] == c"'" or v.p[i] == c'=':
            return True
    return False


cdef int look_pair(const View* v, const Context* c, const Stream* s, Py_ssize_t i, int k, Py_ssize_t origin,
                   Key* key) noexcept nogil:
    """Reads the key after the opener k at i, also if the model wrote the opener several times. If the key is not in the
    row's form, it may be in attributes."""
    cdef const Literal* opener = &c.row.literals[k]
    cdef Py_ssize_t x, n = limit(v, origin)
    cdef Attributes found
    cdef int looked, openers = 1, verdict = NO
    while not opener.only_stem and openers < MAX_OPENERS:
        x = skip_ws(v, i + opener.n, n)
        verdict = match(v, c.row, x, n, c.row.roles[KEY_OPEN], &k)
        if verdict == MORE:
            return undecided(v, origin)
        if verdict == NO or c.row.literals[k].only_stem:
            break
        i = x
        opener = &c.row.literals[k]
        openers += 1
    verdict = NO
    if not opener.only_stem:
        verdict = look_key(v, c, s, i + opener.n, origin, key)
    key.repeated = openers > 1
    if verdict == MORE or not opener.stem or (verdict == YES and (
            key.missing or not is_odd(v, key) or (
                has_parameters(c.tools, s.tags.tool) and is_parameter(c.tools, s.tags.tool, v.p + key.at, key.n)))):
        return verdict
    looked = look_attributes(v, c.row, &c.row.key_tag, i + opener.stem, limit(v, origin), &found)
    if looked == MORE and not capped(v, origin):
        return MORE
    if looked != YES or found.empty:
        return verdict
    key.at, key.n, key.stop, key.typed, key.foreign = found.at, found.n, found.stop, found.typed, found.foreign
    key.missing = 0
    key.opening = c.row.value_opener
    return YES


cdef int look_lost_key(const View* v, const Context* c, const Stream* s, Py_ssize_t i, Py_ssize_t origin,
                       Key* key) noexcept nogil:
    """At i, a parameter of the declared tool and a key's end, without the key's opener: it is missing, or what is left
    of it comes before the name, or a call's opener is in its place."""
    cdef const TagTable* row = c.row
    cdef Py_ssize_t n = limit(v, origin), x = skip_ws(v, i, n), at = x, stop
    cdef uint64_t mask = row.follow_value | row.roles[VALUE_CLOSE] | row.roles[VALUE_OPEN] | row.roles[KEY_END]
    cdef int k = -1, verdict
    if not has_parameters(c.tools, s.tags.tool):
        return NO
    verdict = match(v, row, x, n, row.roles[CALL_OPEN], &k)
    if verdict == YES:
        at = x = skip_ws(v, x + row.literals[k].n, n)
    while True:
        verdict = match(v, row, x, n, mask, &k)
        if verdict == MORE:
            return undecided(v, origin)
        if verdict == YES:
            break
        if is_special(v, x) or v.p[x] == c'\n' or x - at > NAME_CAP + OPENER_LEFT:
            return NO
        x += 1
    if row.literals[k].role != KEY_END:
        return NO
    stop = x
    while stop > at and is_json_space(v.p[stop - 1]):
        stop -= 1
    for x in range(at, stop):
        if x - at > OPENER_LEFT:
            break
        if stop - x <= NAME_CAP and (x == at or not is_word_byte(v.p[x - 1])) and is_parameter(
                c.tools, s.tags.tool, v.p + x, stop - x):
            key.at, key.n, key.typed = x, stop - x, row.literals[k].typed
            key.stop = skip_ws(v, stop, n) + row.literals[k].n
            key.missing, key.repeated, key.foreign, key.opening = 1, 0, 0, row.value_opener
            return look_type(v, row, n, origin, &key.stop, &key.typed) if row.types_values else YES
    return NO


cdef int look_tail(const View* v, const Literal* closer, Py_ssize_t i, Py_ssize_t n, Py_ssize_t* stop) noexcept nogil:
    """Is it this closer that begins at i, with 1 to 16 bytes before its `>`?"""
    cdef Py_ssize_t size = closer.n - 1, x = i + size, most = x + 16
    if closer.text[size] != c'>' or (v.marks != NULL and closer.group >= BY_ID):
        return NO
    if memcmp(v.p + i, closer.text, size if size < n - i else n - i) != 0:
        return NO
    while x < n and x <= most and v.p[x] != c'>':
        if v.p[x] == c'<' or v.p[x] == c'\n' or is_special(v, x):
            return NO
        x += 1
    if x > most:
        return NO
    stop[0] = x + 1
    return MORE if x >= n else YES


cdef int look_misspelt(const View* v, const TagTable* row, Py_ssize_t i, Py_ssize_t origin, int role,
                       Py_ssize_t* stop) noexcept nogil:
    """A closer with something before its `>`, as in </parameter1>."""
    cdef uint64_t closers = row.first[v.p[i]] & row.roles[role]
    cdef int k, one, verdict = NO
    while closers:
        k = row.heads[lowest_bit(closers)]
        closers &= closers - 1
        while k != NO_LITERAL:
            one = look_tail(v, &row.literals[k], i, limit(v, origin), stop)
            if one == YES:
                return YES
            if one == MORE:
                verdict = undecided(v, origin)
            k = row.literals[k].next
    return verdict


cdef inline bint is_ascii_word(uint8_t ch) noexcept nogil:
    return c'0' <= ch <= c'9' or c'a' <= (ch | 0x20) <= c'z' or ch == c'_'


cdef inline Py_ssize_t skip_blanks(const View* v, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    """Spaces and tabs."""
    while i < n and (v.p[i] == c' ' or v.p[i] == c'\t') and not is_special(v, i):
        i += 1
    return i


cdef int look_other_name(const View* v, const Literal* closer, const uint8_t* key, Py_ssize_t n_key, Py_ssize_t i,
                         Py_ssize_t n, Py_ssize_t* stop) noexcept nogil:
    """Is it this closer that begins at i, with another name in it, or without its `>`? The name is the key's, or its
    first three letters are the closer's, in any case. MORE: the input up to n may begin such a closer."""
    cdef Py_ssize_t at = closer.n - 1, x, k
    if closer.text[at] != c'>' or (v.marks != NULL and closer.group >= BY_ID) or (
            closer.text[1] == c'/' and i + 1 < n and v.p[i + 1] != c'/'):    # most often
        return NO
    while at > 0 and is_ascii_word(closer.text[at - 1]):
        at -= 1
    if closer.n - 1 - at < SAME_LETTERS or memchr(closer.text, c'/', at) == NULL:
        return NO
    x = i + at if at < n - i else n
    if memcmp(v.p + i, closer.text, x - i) != 0 or (v.special and broken(v, i, x - i)):
        return NO
    k = skip_blanks(v, x, n)
    x = k + n_key if n_key < n - k else n
    if n_key == 0 or memcmp(v.p + k, key, x - k) != 0 or (x < n and is_ascii_word(v.p[x])):
        x = k
        while x < n and (is_ascii_word(v.p[x]) if x - k >= SAME_LETTERS else
                         (v.p[x] | 0x20) == (closer.text[at + x - k] | 0x20)):
            x += 1
        if x < n and x - k < SAME_LETTERS:
            return NO
    if v.special and broken(v, k - 1, x - k + 1):
        return NO
    x = skip_blanks(v, x, n)
    if x == n:
        return MORE
    stop[0] = x + (v.p[x] == c'>' and not is_special(v, x))
    return YES if stop[0] > x or v.p[x] == c'<' or v.p[x] == c'\n' or is_special(v, x) else NO


cdef int look_slip(const View* v, const Literal* closer, Py_ssize_t i, Py_ssize_t n, Py_ssize_t* stop) noexcept nogil:
    """Is it this closer that begins at i, with one byte between its `/` and its `>` missing, too many, or another?
    MORE: the input up to n may begin such a closer."""
    cdef Py_ssize_t p = 1, x, rest, last = closer.n - 1
    cdef int extra, lacking, verdict = NO
    cdef const uint8_t* slash = <const uint8_t*>memchr(closer.text, c'/', last)
    if slash == NULL or closer.n < SLIP_SIZE or closer.text[last] != c'>' or (
            v.marks != NULL and closer.group >= BY_ID):
        return NO
    while p < last and i + p < n and v.p[i + p] == closer.text[p]:
        p += 1
    if i + p == n:
        return NO if v.special and broken(v, i, p) else MORE
    if p == last or p <= slash - closer.text:
        return NO
    for extra in range(2):
        for lacking in range(1 - extra, 2):
            x = i + p + extra
            if extra and (v.p[x - 1] == c'<' or v.p[x - 1] == c'>' or v.p[x - 1] == c'\n'):
                continue
            rest = closer.n - p - lacking
            if memcmp(v.p + x, closer.text + p + lacking, rest if rest < n - x else n - x) != 0:
                continue
            if v.special and broken(v, i, (rest if rest < n - x else n - x) + x - i):
                continue
            if rest <= n - x:
                stop[0] = x + rest
                return YES
            verdict = MORE
    return verdict


cdef int look_wrong_closer(const View* v, const TagTable* row, const Stream* s, Py_ssize_t i, Py_ssize_t origin,
                           int role, Py_ssize_t* stop) noexcept nogil:
    """A closer with another name, with one byte that is wrong, or without its `>`. A value's may have the name of its
    key."""
    cdef uint64_t closers = row.first[v.p[i]] & row.roles[role]
    cdef int k, one, verdict = NO
    while closers:
        k = row.heads[lowest_bit(closers)]
        closers &= closers - 1
        while k != NO_LITERAL:
            one = look_other_name(v, &row.literals[k], s.header, s.header_n if role == VALUE_CLOSE else 0, i,
                                  limit(v, origin), stop)
            if one == MORE:
                verdict = undecided(v, origin)
            if one != YES:
                one = look_slip(v, &row.literals[k], i, limit(v, origin), stop)
            if one == YES:
                return YES
            if one == MORE:
                verdict = undecided(v, origin)
            k = row.literals[k].next
    return verdict


cdef int look_value_follow(const View* v, const TagTable* row, Py_ssize_t i, Py_ssize_t origin,
                           bint quotes) noexcept nogil:
    """After a value's closer and, unless the value quotes pairs, a few more of these: what may follow a value? The
    opener of a key that attributes must say needs them, because such an opener alone may be in any text."""
    cdef Py_ssize_t n = limit(v, origin), stop = 0
    cdef uint64_t mask = row.follow_value if quotes else row.follow_value | row.roles[VALUE_CLOSE]
    cdef int k = -1, closed = 0, verdict
    cdef Attributes found
    while True:
        i = skip_ws(v, i, n)
        verdict = match(v, row, i, n, mask, &k)
        if verdict == YES and row.literals[k].role == VALUE_CLOSE:
            i += row.literals[k].n
        elif verdict == NO and not quotes and not is_special(v, i):
            verdict = look_misspelt(v, row, i, origin, VALUE_CLOSE, &stop)
            if verdict != YES:
                return at_the_end(v, origin) if verdict == MORE else verdict
            i = stop
        else:
            if verdict == YES and row.literals[k].only_stem and row.literals[k].role == KEY_OPEN:
                verdict = look_attributes(v, row, &row.key_tag, i + row.literals[k].stem, n, &found)
            return at_the_end(v, origin) if verdict == MORE else verdict
        closed += 1
        if closed > MAX_CLOSERS:
            return NO


cdef int look_left(const View* v, const Context* c, const Stream* s, Py_ssize_t i, Py_ssize_t origin,
                   bint noise) noexcept nogil:
    """Is the call over after the closer that ends at i? It is if none of its markers comes before a stop, another call
    or the end. noise: it is also over if the next marker shows that the text before it is not part of a value."""
    cdef const TagTable* row = c.row
    cdef Py_ssize_t x = i, n = limit(v, origin)
    cdef uint64_t others = row.roles[SECTION_OPEN] | row.roles[CALL_OPEN] | row.roles[STOP]
    cdef uint64_t mask = others | row.roles[KEY_OPEN] | row.roles[VALUE_CLOSE] | row.roles[CALL_CLOSE]
    cdef int k = -1, verdict = NO
    cdef Key key
    mask |= row.roles[SECTION_CLOSE]
    while x < n and verdict == NO:
        if row.first[v.p[x]] & mask:
            verdict = match(v, row, x, n, mask, &k)
        x += 1
    if verdict == YES and not others >> row.literals[k].group & 1:
        if not noise or row.literals[k].role == VALUE_CLOSE:
            return NO
        if row.literals[k].role == KEY_OPEN:
            verdict = look_pair(v, c, s, x - 1, k, origin, &key)
            if verdict == NO:
                return NO
    if verdict == YES:
        return unless_quoted(v, row, i, YES)
    return NO if capped(v, origin) or v.cut else YES if v.end else MORE


cdef bint may_be_next(const View* v, const Context* c, const Stream* s, const Key* key) noexcept nogil:
    """Could this key follow the open one? The tag could also be part of a value that is code, or itself a call."""
    if key.n == s.header_n and memcmp(v.p + key.at, s.header, key.n) == 0:
        return False
    return not has_parameters(c.tools, s.tags.tool) or is_parameter(c.tools, s.tags.tool, v.p + key.at, key.n)


cdef int look_implied_end(const View* v, const Context* c, const Stream* s, Py_ssize_t i,
                          Py_ssize_t origin) noexcept nogil:
    """After ws, what ends the value without its closer, an opener of a call, or the end? Then the tag before i is that
    closer, misspelt."""
    cdef Py_ssize_t n = limit(v, origin), stop = 0, x = skip_ws(v, i, n)
    cdef int k = -1, role, verdict = match(v, c.row, x, n, c.row.value_any | c.row.follow_section, &k)
    if verdict != YES:
        return at_the_end(v, origin) if verdict == MORE else NO
    role = c.row.literals[k].role
    if role == VALUE_CLOSE:
        return NO
    if role == CALL_OPEN or role == SECTION_OPEN:
        return unless_quoted(v, c.row, x, YES)
    return look_value_end(v, c, s, x, v.p[x - 1] == c'\n' or role == KEY_OPEN, x, &stop, &k)


cdef int look_value_end(const View* v, const Context* c, const Stream* s, Py_ssize_t i, bint at_line_start,
                        Py_ssize_t origin, Py_ssize_t* stop, int* hit) noexcept nogil:
    """Does a marker at i end the value? YES: *hit is the marker (-1: a misspelt closer), and *stop is after it. MORE at
    the end of the stream: half a marker."""
    cdef const TagTable* row = c.row
    cdef uint64_t closers = row.roles[VALUE_CLOSE] | row.roles[CALL_CLOSE] | row.roles[SECTION_CLOSE]
    cdef Py_ssize_t x, n = limit(v, origin)
    cdef int k = -1, role, verdict = match(v, row, i, n, row.value_any, &k)
    cdef Key key
    if verdict == MORE:
        return undecided(v, origin)
    if verdict == NO:
        hit[0] = -1
        if is_special(v, i):
            return NO
        verdict = look_misspelt(v, row, i, origin, VALUE_CLOSE, stop)
        if verdict == NO:
            verdict = look_wrong_closer(v, row, s, i, origin, VALUE_CLOSE, stop)
        return look_implied_end(v, c, s, stop[0], origin) if verdict == YES else verdict
    hit[0] = k
    stop[0] = i + row.literals[k].n
    role = row.literals[k].role
    if is_special(v, i) and role != KEY_OPEN:
        return YES
    if role == VALUE_CLOSE:
        verdict = look_value_follow(v, row, stop[0], origin, s.tags.call.tagged.quotes_pair)
        if verdict == NO and not s.tags.call.tagged.quotes_pair:
            verdict = look_lost_key(v, c, s, stop[0], origin, &key)
            if verdict == MORE and not v.end:
                return MORE
            if verdict == YES and may_be_next(v, c, s, &key):
                return YES
            verdict = NO
        if verdict == NO:
            return look_left(v, c, s, stop[0], origin, not s.tags.call.tagged.quotes_pair)
        return unless_quoted(v, row, stop[0], verdict) if s.tags.call.tagged.quotes_pair else verdict
    if role == STOP:
        return look_follow(v, row, stop[0], origin, row.follow_stop)
    if role == SECTION_CLOSE:
        verdict = look_follow(v, row, stop[0], origin, row.follow_section)
        return look_left(v, c, s, stop[0], origin, False) if verdict == NO else unless_quoted(v, row, i, verdict)
    if role == KEY_OPEN:
        if not at_line_start and row.strip:
            return NO
        verdict = look_pair(v, c, s, i, k, origin, &key)
        if verdict == YES and not may_be_next(v, c, s, &key):
            return NO
        if verdict == YES and key.opening:
            verdict = look_follow(v, row, key.stop, origin, row.roles[VALUE_OPEN] | row.roles[KEY_END])
        return unless_quoted(v, row, i, verdict)
    verdict = look_follow(v, row, stop[0], origin, row.follow_call)
    if verdict == YES:
        x = skip_ws(v, stop[0], n)
        if match(v, row, x, n, row.roles[SECTION_CLOSE], &k) == YES:
            x += row.literals[k].n
            if at_line_start:
                verdict = match(v, row, skip_ws(v, x, n), n, closers, &k)
                verdict = NO if verdict == YES else YES if verdict == NO else at_the_end(v, origin)
            else:
                verdict = look_follow(v, row, x, origin, row.follow_section)
                if verdict == NO:
                    return look_left(v, c, s, x, origin, False)
    elif verdict == NO:
        return look_left(v, c, s, stop[0], origin, False)
    return unless_quoted(v, row, i, verdict)
