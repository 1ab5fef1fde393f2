# A tag that says a name or a key among its attributes, in any order and with any blanks and quotes (docs/tags.md, 4 and
# 6): <parameter type="string" name='q' >. In elements the name may be missing.

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp
from harmonystream._native.core.chars cimport is_json_space
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.names cimport is_bad, is_word_byte
from harmonystream._native.tags.value_type cimport named_type
from harmonystream._native.tags.view cimport *

cdef struct Attributes:
    Py_ssize_t at, n, stop                       # the name that they say; the end of the tag
    uint8_t typed                                # the type that they say: a mask, TYPE_JSON, or 0
    bint empty                                   # a slash comes before the tag's end
    bint foreign                                 # it has an attribute that means nothing


cdef inline int look_text(const View* v, const MemberKey* text, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    """Is this text at i?"""
    cdef Py_ssize_t size = text.n if text.n < n - i else n - i, k
    if i >= n:
        return MORE
    if memcmp(v.p + i, text.text, size) != 0:
        return NO
    for k in range(i, i + size):
        if is_special(v, k):
            return NO
    return YES if size == text.n else MORE


cdef inline int look_tag_end(const View* v, const MemberKey* end, Py_ssize_t i, Py_ssize_t n,
                             Attributes* found) noexcept nogil:
    """The end of a tag at i, perhaps with a slash before it."""
    cdef bint slash = i < n and v.p[i] == c'/' and not is_special(v, i)
    cdef int verdict = look_text(v, end, i + slash, n)
    found.empty = slash
    found.stop = i + slash + end.n
    return verdict


cdef inline int look_attribute_value(const View* v, const TagTable* row, Py_ssize_t i, Py_ssize_t n, Py_ssize_t* at,
                                     Py_ssize_t* stop) noexcept nogil:
    """An attribute's value at i, between quotes or without: it is from *at to *stop. No marker begins in quotes."""
    cdef uint64_t markers = row.follow_value | row.roles[VALUE_CLOSE]
    cdef uint8_t quote = v.p[i] if v.p[i] == c'"' or v.p[i] == c"'" else 0
    cdef Py_ssize_t x = i + (quote != 0)
    cdef int k = -1, verdict
    at[0] = x
    while x < n:
        if is_special(v, x) or x - at[0] > NAME_CAP:
            return NO
        if not quote and (is_json_space(v.p[x]) or is_bad(v.p[x])):
            break
        if quote:
            if v.p[x] == quote:
                break
            verdict = match(v, row, x, n, markers, &k)
            if verdict != NO:
                return MORE if verdict == MORE else NO
            if v.p[x] == c'\n':
                return NO
        x += 1
    if x == n:
        return MORE
    stop[0] = x
    return YES if quote or x > at[0] else NO


cdef inline bint is_text(const View* v, Py_ssize_t at, Py_ssize_t n, const uint8_t* word, int size) noexcept nogil:
    return n == size and memcmp(v.p + at, word, n) == 0


cdef inline bint take_attribute(const View* v, const MemberKey* own, Py_ssize_t word, Py_ssize_t size, Py_ssize_t at,
                                Py_ssize_t n, bint call, Attributes* found) noexcept nogil:
    """What an attribute says. False: it may be an argument. size 0: it is the `=` just after the tag's name."""
    cdef uint8_t first
    while n and is_json_space(v.p[at]):
        at += 1
        n -= 1
    while n and is_json_space(v.p[at + n - 1]):
        n -= 1
    if size == 0 or is_text(v, word, size, b"name", 4) or is_text(v, word, size, own.text, own.n):
        if found.n == 0:
            found.at = at
            found.n = n
    elif is_text(v, word, size, b"string", 6):
        first = v.p[at] | 0x20 if n else 0
        if found.typed == 0:
            found.typed = TYPE_STRING if first == c't' else TYPE_JSON if first == c'f' else 0
    elif is_text(v, word, size, b"type", 4):
        if found.typed == 0:
            found.typed = named_type(v.p + at, n)
    elif not is_text(v, word, size, b"id", 2) and not is_text(v, word, size, b"index", 5):
        found.foreign = True
        return not call and not is_text(v, word, size, b"value", 5)
    return True


cdef inline int look_attributes(const View* v, const TagTable* row, const TagShape* shape, Py_ssize_t i, Py_ssize_t n,
                                Attributes* found) noexcept nogil:
    """From i, after the tag's own name: its attributes and its end, and among them a name."""
    cdef Py_ssize_t x = i, y, at = 0, stop = 0, size
    cdef int verdict
    found.at = found.n = found.typed = found.foreign = 0
    while True:
        y = skip_ws(v, x, n)
        verdict = look_tag_end(v, &shape.end, y, n, found)
        if verdict != NO:
            return MORE if verdict == MORE else YES if found.n or shape == &row.element_tag else NO
        size = 0
        if x > i or v.p[y] != c'=':
            while y + size < n and is_word_byte(v.p[y + size]) and not is_special(v, y + size):
                size += 1
            if size == 0 or y == x:
                return NO
        x = skip_ws(v, y + size, n)
        if x == n:
            return MORE
        if v.p[x] != c'=' or is_special(v, x):
            return NO
        x = skip_ws(v, x + 1, n)
        if x == n:
            return MORE
        verdict = look_attribute_value(v, row, x, n, &at, &stop)
        if verdict != YES:
            return verdict
        if not take_attribute(v, &shape.word, y, size, at, stop - at, shape == &row.call_tag, found):
            return NO
        x = stop + (v.p[x] == c'"' or v.p[x] == c"'")
