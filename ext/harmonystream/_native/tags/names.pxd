# What may be the name of a call (docs/tags.md, 4), and the key of an argument of a written call (5).

from libc.stdint cimport uint8_t, uint64_t
from harmonystream._native.core.chars cimport is_json_space
from harmonystream._native.core.tools cimport names_tool, tool_index
from harmonystream._native.core.types cimport NAME_CAP, QUOTE, STOP, TagTable, ToolTable
from harmonystream._native.tags.view cimport *


cdef inline bint is_bad(uint8_t c) noexcept nogil:
    """Bytes that no name has: control characters, quotes, brackets and what separates."""
    return (c < 32 or c == 127 or c == c'<' or c == c'>' or c == c'{' or c == c'}' or c == c'[' or c == c']'
            or c == c'(' or c == c')' or c == c'"' or c == c"'" or c == c'`' or c == c'=' or c == c',' or c == c';')


cdef inline bint is_good(const View* v, const ToolTable* tools, Py_ssize_t at, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    if n == 0:
        return False
    for i in range(at, at + n):
        if is_json_space(v.p[i]):
            return tool_index(tools, v.p + at, n) >= 0
    return True


cdef inline bint is_name(const ToolTable* tools, const uint8_t* name, int n) noexcept nogil:
    """Good, or that of a declared tool: a model that quotes the instructions writes {"name": "<function-name>"}."""
    cdef int i
    if tool_index(tools, name, n) >= 0:
        return True
    for i in range(n):
        if is_bad(name[i]) or is_json_space(name[i]):
            return False
    return True


cdef inline bint is_blank(uint8_t c) noexcept nogil:
    return c == c' ' or c == c'\t'


cdef inline bint is_word_byte(uint8_t c) noexcept nogil:
    """A byte of a key, and of a word or number but for its signs."""
    return c'0' <= c <= c'9' or c'a' <= (c | 0x20) <= c'z' or c == c'_' or c == c'-' or c == c'.' or c >= 0x80


cdef inline int look_quoted_key(const View* v, const TagTable* row, Py_ssize_t i, Py_ssize_t n, Py_ssize_t* at,
                                Py_ssize_t* size) noexcept nogil:
    """A key in quotes, at i, of 1 to 256 bytes: *at. NO: there are no quotes, or no such key."""
    cdef Py_ssize_t x
    cdef int k = -1, verdict = match(v, row, i, n, row.roles[QUOTE], &k)
    cdef uint8_t quote = 0
    if verdict == NO and not is_special(v, i) and (v.p[i] == c'"' or v.p[i] == c"'"):
        quote = v.p[i]
    elif verdict != YES:
        return verdict
    at[0] = x = i + 1 if quote else i + row.literals[k].n
    while True:
        if x >= n:
            return MORE
        verdict = match(v, row, x, n, row.roles[QUOTE], &k)
        if verdict != NO or (quote and v.p[x] == quote and not is_special(v, x)):
            break
        if is_special(v, x) or v.p[x] < 32 or v.p[x] == 127 or (quote and v.p[x] == c'\\') or x - at[0] == NAME_CAP:
            return NO
        if row.first[v.p[x]] & (row.calls | row.roles[STOP]) & (~row.by_id if v.marks != NULL else ~<uint64_t>0):
            return NO                                      # what may end the call is not a key
        x += 1
    size[0] = x - at[0]
    if verdict == MORE:
        return MORE
    return NO if size[0] == 0 or (quote and verdict == YES) else YES


cdef inline int look_bare_key(const View* v, Py_ssize_t i, Py_ssize_t n, Py_ssize_t* size) noexcept nogil:
    """A key without quotes, at i, up to its colon: 1 to 256 bytes of names, other than a colon, and spaces inside."""
    cdef Py_ssize_t x = i, last = i
    while x < n and not is_special(v, x) and not is_bad(v.p[x]) and v.p[x] != c':' and x - i <= NAME_CAP:
        x += 1
        last = x if v.p[x - 1] != c' ' else last
    size[0] = last - i
    return YES if 0 < size[0] <= NAME_CAP else NO if x < n or size[0] else MORE


cdef inline int look_key_end(const View* v, const TagTable* row, Py_ssize_t i, Py_ssize_t origin, Py_ssize_t* at,
                             Py_ssize_t* size, Py_ssize_t* stop) noexcept nogil:
    """A key and what ends it? YES: it is at *at and has `size` bytes, and *stop is after its end."""
    cdef Py_ssize_t n = limit(v, origin), x = i
    cdef int verdict = NO
    at[0] = i
    if row.bare_keys:
        verdict = look_quoted_key(v, row, i, n, at, size) if i < n else MORE
        if verdict == YES:
            x = at[0] + size[0] + (at[0] - i)
        elif verdict == NO:
            at[0] = i
            verdict = look_bare_key(v, i, n, size)
            x = i + size[0]
        if verdict == MORE:
            return undecided(v, origin)
        if verdict == NO:
            return NO
    else:
        while x < n and is_word_byte(v.p[x]) and not is_special(v, x) and x - i <= NAME_CAP:
            x += 1
        size[0] = x - i
        if size[0] > NAME_CAP or (size[0] == 0 and x < n):
            return NO
    x = skip_ws(v, x, n)
    if x == n:
        return undecided(v, origin)
    if v.p[x] != row.key_ends or is_special(v, x):
        return NO
    stop[0] = x + 1
    if row.bare_keys:
        return YES
    if x + 1 == n:
        return at_the_end(v, origin)
    return NO if v.p[x + 1] == c'=' and not is_special(v, x + 1) else YES


cdef inline Py_ssize_t skip_call_word(const View* v, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    """After the `call:` or `:` that may come before a name; also after the first bytes of it, if no more is there."""
    cdef const char* word = b"call:"
    cdef Py_ssize_t k = 0
    if i < n and v.p[i] == c':' and not is_special(v, i):
        return i + 1
    while k < 5 and i + k < n and v.p[i + k] == <uint8_t>word[k] and not is_special(v, i + k):
        k += 1
    return i + k if k == 5 or i + k == n else i


cdef inline int look_written(const View* v, const TagTable* row, const ToolTable* tools, Py_ssize_t i,
                             Py_ssize_t origin, bint alone, Py_ssize_t* name_n, Py_ssize_t* stop) noexcept nogil:
    """Does a written call begin at i, with a name of *name_n bytes? Its bracket is at *stop, perhaps after blanks.
    alone: no opener and no array says so, so its name or its arguments must."""
    cdef Py_ssize_t n = limit(v, origin), x = i, last = i, at = 0, size = 0, end = 0
    while x < n and v.p[x] != row.call_opens:
        if is_special(v, x) or x - i >= NAME_CAP:
            return NO
        if is_json_space(v.p[x]):
            if not is_blank(v.p[x]) and not tools.max_spaces:
                return NO
        elif is_bad(v.p[x]) or (last < x and not tools.max_spaces):
            return NO
        else:
            last = x + 1
        x += 1
    if x == n:
        return undecided(v, origin)
    name_n[0] = last - i
    stop[0] = x
    if is_special(v, x) or is_json_space(v.p[i]) or not is_good(v, tools, i, last - i):
        return NO
    for at in range(last, x):
        if not is_blank(v.p[at]):
            return NO
    if not alone:
        return YES
    if tools.n >= 0 and not names_tool(tools, v.p + i, last - i):
        return NO
    if tools.n >= 0 and last == x:
        return YES
    x = skip_ws(v, x + 1, n)
    if x < n and v.p[x] == row.call_closes and not is_special(v, x):
        return YES
    return look_key_end(v, row, x, origin, &at, &size, &end)
