# The name of a call, and the id that may follow it (docs/tags.md, 4).

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp, memset
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.chars cimport is_json_space
from harmonystream._native.core.tools cimport find_name, tool_index
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.call_names cimport *
from harmonystream._native.tags.attributes cimport Attributes, look_attributes
from harmonystream._native.tags.names cimport is_bad, is_good, is_name
from harmonystream._native.tags.view cimport *

DEBUG = bool(DEBUG_BUILD)


cdef int read_name(const View* v, const Context* c, Py_ssize_t at, Py_ssize_t origin, bint second, CallHeader* h,
                   Py_ssize_t* stop, int* hit) noexcept nogil:
    """Reads a name from `at` up to what ends it. YES: h has the name, `stop` is its end, and `hit` the marker there
    (-1: `{`, a newline or a fence).

    second: the name after the word `function`, which a newline or a fence ends too.
    """
    cdef const TagTable* row = c.row
    cdef Py_ssize_t n = limit(v, origin), x = at, last = at
    cdef uint64_t ends = row.header | row.roles[NAME_END]
    cdef int verdict
    cdef uint8_t ch
    if not second:
        ends |= row.roles[EMPTY_CALL] | row.roles[ID_OPEN]
    hit[0] = -1
    while True:
        verdict = match(v, row, x, n, ends, hit)
        if verdict == MORE:
            if v.end and x == v.n and last > at and row.open_end and not second:
                hit[0] = -1
                break                                      # the stream ends the name
            return undecided(v, origin)
        if verdict == YES:
            break
        hit[0] = -1
        if is_special(v, x):
            return NO
        ch = v.p[x]
        if ch == c'{' and (second or row.open_name) or (second and ch == c'\n'):
            break
        if second and ch == c'`':
            verdict = backquotes(v, x, n)
            if verdict != YES:
                return undecided(v, origin) if verdict == MORE else NO
            break
        if not is_json_space(ch):
            if is_bad(ch) or (last > at and last < x and c.tools.max_spaces == 0) or x + 1 - at > NAME_CAP:
                return NO
            last = x + 1
        x += 1
    h.name_at = at
    h.name_n = last - at
    stop[0] = x
    return YES


cdef int backquotes(const View* v, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    """Are there three backquotes at i?"""
    cdef Py_ssize_t k
    for k in range(i, i + 3):
        if k >= n:
            return MORE
        if v.p[k] != c'`':
            return NO
    return YES


cdef int look_function(const View* v, const Context* c, Py_ssize_t i, Py_ssize_t origin, bint other_word,
                       CallHeader* h) noexcept nogil:
    """After the word `function` and its separator: the name, if there is one; otherwise the word is the name. After
    another word only what a fence follows is the name."""
    cdef CallHeader other
    cdef Py_ssize_t n = limit(v, origin), at = skip_ws(v, i, n), stop = 0
    cdef int k = -1, verdict = match(v, c.row, at, n, c.row.header | c.row.roles[NAME_END], &k)
    cdef bint doubled = False
    while verdict == YES and c.row.literals[k].role == NAME_END:
        doubled = True
        at = skip_ws(v, at + c.row.literals[k].n, n)
        verdict = match(v, c.row, at, n, c.row.header | c.row.roles[NAME_END], &k)
    if verdict == MORE:
        return undecided(v, origin)
    if verdict == YES or v.p[at] == c'{':
        return YES
    memset(&other, 0, sizeof(CallHeader))
    verdict = read_name(v, c, at, origin, True, &other, &stop, &k)
    if verdict == MORE:
        return MORE
    if verdict == YES and other_word:
        verdict = backquotes(v, skip_ws(v, stop, n), n)
        if verdict == MORE:
            return undecided(v, origin) if not v.end else YES
    if verdict == YES and is_good(v, c.tools, other.name_at, other.name_n):
        h.name_at = other.name_at
        h.name_n = other.name_n
        h.stop = stop
        h.doubled = doubled
    return YES


cdef int look_id(const View* v, const Context* c, Py_ssize_t i, Py_ssize_t origin, CallHeader* h, Py_ssize_t* stop,
                 int* hit) noexcept nogil:
    """After the marker between a call's name and its id: h has the id, which may be empty, and `hit` what ends it."""
    cdef CallHeader other
    cdef int verdict = read_name(v, c, skip_ws(v, i, limit(v, origin)), origin, False, &other, stop, hit)
    if verdict != YES:
        return verdict
    h.id_at = other.name_at
    h.id_n = other.name_n
    if hit[0] >= 0 and c.row.literals[hit[0]].role == ID_OPEN:
        return NO
    return YES if h.id_n == 0 or is_good(v, c.tools, h.id_at, h.id_n) else NO


cdef int trim_key(const View* v, CallHeader* h, Py_ssize_t at, Py_ssize_t end, Py_ssize_t n) noexcept nogil:
    """The key at `at`, after a name of n bytes: without ws around it, and not empty."""
    cdef Py_ssize_t i
    at = skip_ws(v, at, end)
    for i in range(at, end):
        if v.p[i] == c'\n':
            return NO
    h.key_at = at
    h.key_n = end - at
    h.name_n = n
    return YES if end > at else NO


cdef int split_key(const View* v, const ToolTable* tools, CallHeader* h) noexcept nogil:
    """The first key's opener is missing, so that the name runs into the key: after the longest declared name."""
    cdef Py_ssize_t n
    for n in range(h.name_n - 1, 0, -1):
        if tool_index(tools, v.p + h.name_at, n) >= 0:
            return trim_key(v, h, h.name_at + n, h.name_at + h.name_n, n)
    return NO


cdef bint is_half(const View* v, const Context* c, Py_ssize_t stop, const CallHeader* h) noexcept nogil:
    """The marker at `stop` breaks a header off. Should the incomplete header be dropped? Otherwise it is text."""
    cdef const uint8_t* name = v.p + h.name_at
    cdef Py_ssize_t n = h.name_n
    if n == 0 or (is_special(v, stop) and is_good(v, c.tools, h.name_at, n)) or tool_index(c.tools, name, n) >= 0:
        return True
    return (c.row.name_as == ID_NAME and n > 10 and memcmp(name, b"functions.", 10) == 0
            and is_good(v, c.tools, h.name_at, n))


cdef inline bint is_known(const Context* c, const uint8_t* name, Py_ssize_t n) noexcept nogil:
    """Is this the name of a declared tool, or an id with one, perhaps with more around it?"""
    cdef Py_ssize_t at = 0, size = 0
    return c.tools.n > 0 and find_name(c.tools, name, n, c.row.name_as == ID_NAME, &at, &size)


cdef int look_unended(const View* v, const Context* c, Py_ssize_t at, Py_ssize_t origin, CallHeader* h) noexcept nogil:
    """A known name without its end: before an object, perhaps in a fence, or before a key or the call's closer."""
    cdef Py_ssize_t n = limit(v, origin), x = at, last
    cdef uint64_t begins = c.row.roles[KEY_OPEN] | c.row.roles[ELEMENT_OPEN] | c.row.roles[CALL_CLOSE]
    cdef int k = -1, verdict = NO
    while x < n and v.p[x] != c'\n' and v.p[x] != c'{' and not is_special(v, x) and x - at < NAME_CAP:
        if c.row.has_pair and c.row.first[v.p[x]] & begins:
            verdict = match(v, c.row, x, n, begins, &k)
            if verdict != NO:
                break
        x += 1
    last = x
    while last > at and is_json_space(v.p[last - 1]):
        last -= 1
    if x == n or (verdict == NO and v.p[x] != c'\n' and v.p[x] != c'{') or not is_known(c, v.p + at, last - at):
        return NO
    x = skip_ws(v, x, n)
    if x < n and v.p[x] == c'{':
        verdict = YES
    else:
        verdict = match(v, c.row, x, n, begins, &k) if c.row.has_pair else backquotes(v, x, n)
    if verdict != YES:
        return undecided(v, origin) if verdict == MORE else NO
    h.name_at, h.name_n, h.stop = at, last - at, last
    h.id_at = h.id_n = 0
    h.unended = 1
    h.body = PAIRS if c.row.has_pair else RAW
    return YES


cdef int look_opened(const View* v, const Context* c, Py_ssize_t i, int k, Py_ssize_t origin,
                     CallHeader* h) noexcept nogil:
    """The name after the opener k of a call, at i. Where it is not what the row says, attributes may say it."""
    cdef const Literal* opener = &c.row.literals[k]
    cdef Py_ssize_t n = limit(v, origin)
    cdef Attributes found
    cdef int verdict = NO
    if not opener.only_stem:
        verdict = look_name(v, c, skip_ws(v, i + opener.n, n), origin, h)
        if verdict == NO and not c.row.open_name:
            verdict = look_unended(v, c, skip_ws(v, i + opener.n, n), origin, h)
    if verdict != NO or not opener.stem:
        return verdict
    verdict = look_attributes(v, c.row, &c.row.call_tag, i + opener.stem, n, &found)
    if verdict != YES:
        return undecided(v, origin) if verdict == MORE else NO
    if not is_name(c.tools, v.p + found.at, <int>found.n):
        return NO
    h.name_at, h.name_n, h.stop = found.at, found.n, found.stop
    h.id_at = h.id_n = 0
    h.empty = found.empty
    h.body = PAIRS if c.row.has_pair else RAW
    return YES


cdef int look_name(const View* v, const Context* c, Py_ssize_t at, Py_ssize_t origin, CallHeader* h) noexcept nogil:
    """The name of a call, its id, and what ends them."""
    cdef const TagTable* row = c.row
    cdef Py_ssize_t stop = 0
    cdef int k = -1, role, verdict = read_name(v, c, at, origin, False, h, &stop, &k)
    cdef bint other
    if verdict != YES:
        return verdict
    if k >= 0 and row.literals[k].role == ID_OPEN:
        other = row.literals[k].typed                      # an attribute
        verdict = look_id(v, c, stop + row.literals[k].n, origin, h, &stop, &k)
        if verdict != YES:
            return verdict
        if other:
            h.id_n = 0
    role = row.literals[k].role if k >= 0 else -1
    h.stop = stop
    if role < 0 and stop == v.n and (h.id_at or tool_index(c.tools, v.p + h.name_at, h.name_n) < 0):
        return MORE                                        # the stream ends in the header
    if role == CALL_CLOSE and row.open_name and h.name_n == 0 and not h.id_at:
        h.stop += row.literals[k].n
        h.hollow = 1
        return VOID
    if role == KEY_END and row.open_name:
        if h.id_at or split_key(v, c.tools, h) == NO:
            return NO
    elif role != NAME_END and role != EMPTY_CALL and (not row.open_name or (row.open_end and k >= 0)):
        return VOID if is_half(v, c, stop, h) else NO
    if not is_good(v, c.tools, h.name_at, h.name_n):
        return NO
    if (row.open_name and (role in (SECTION_OPEN, CALL_OPEN)
                           or (c.tools.n >= 0 and role in (SECTION_CLOSE, CALL_CLOSE, STOP)))
            and tool_index(c.tools, v.p + h.name_at, h.name_n) < 0):
        return NO                                          # a tag before a word, in a sentence about tags
    h.body = PAIRS if row.has_pair else RAW
    if role == NAME_END or role == EMPTY_CALL:
        h.stop += row.literals[k].n
        if role == EMPTY_CALL:
            h.empty = 1
        elif row.name_as == FUNCTION_NAME:
            other = h.name_n != 8 or memcmp(v.p + h.name_at, b"function", 8) != 0
            verdict = look_function(v, c, h.stop, origin, other, h)
            if verdict != YES:
                return verdict
    return YES
