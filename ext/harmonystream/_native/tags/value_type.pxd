# The type of a value, as a word between tags after its key.

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport strncmp
from harmonystream._native.core.chars cimport is_json_space
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.view cimport *

cdef enum:
    MAX_WORD = 16                                # letters of a type's word


cdef inline bint is_among(const uint8_t* word, int n, const char* words) noexcept nogil:
    """Is it one of these words, each with a space before and after it?"""
    while words[0] == c' ' and words[1] != 0:
        words += 1
        if strncmp(words, <const char*>word, n) == 0 and words[n] == c' ':
            return True
        while words[0] != c' ':
            words += 1
    return False


cdef inline uint8_t type_of_word(const uint8_t* word, int n) noexcept nogil:
    """The type that a word in lower case means; 0: none. harmonystream/_schema.py has the same words."""
    if is_among(word, n, b" string str text char varchar "):
        return TYPE_STRING
    if is_among(word, n, b" integer int uint long short bigint smallint "):
        return TYPE_INTEGER
    if is_among(word, n, b" number num float double decimal real "):
        return TYPE_NUMBER
    if is_among(word, n, b" boolean bool "):
        return TYPE_BOOLEAN
    if is_among(word, n, b" null none nonetype nil "):
        return TYPE_NULL
    if is_among(word, n, b" object dict map mapping struct "):
        return TYPE_OBJECT
    return TYPE_ARRAY if is_among(word, n, b" array list arr tuple set sequence ") else 0


cdef inline uint8_t named_type(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """The type that a name such as "int32", "list[str]" or "string[]" means; 0: none."""
    cdef uint8_t[MAX_WORD + 1] word
    cdef int k = 0
    cdef uint8_t kind
    while k < n and k < MAX_WORD and c'a' <= (p[k] | 0x20) <= c'z':
        word[k] = p[k] | 0x20
        k += 1
    kind = type_of_word(word, k)
    if k == n or c'0' <= p[k] <= c'9' or p[k] == c'(':
        return kind
    if p[k] == c'[' and n == k + 2 and p[k + 1] == c']':
        return TYPE_ARRAY
    return kind if (p[k] == c'[' or p[k] == c'<') and kind & (TYPE_ARRAY | TYPE_OBJECT) else 0


cdef inline int look_type(const View* v, const TagTable* row, Py_ssize_t n, Py_ssize_t origin,
                          Py_ssize_t* stop, uint8_t* typed) noexcept nogil:
    """After a key's end, at *stop: is there a type between its tags? Then *stop moves after them. NO: there is half of
    one, so it is not a key."""
    cdef uint64_t others = (row.follow_value | row.roles[KEY_END] | row.roles[VALUE_OPEN] | row.roles[VALUE_CLOSE]
                            | row.roles[TYPE_OPEN])
    cdef Py_ssize_t at, x = skip_ws(v, stop[0], n)
    cdef int k = -1, verdict = match(v, row, x, n, row.roles[TYPE_OPEN], &k)
    if verdict != YES:
        return undecided(v, origin) if verdict == MORE else YES
    at = x = skip_ws(v, x + row.literals[k].n, n)
    while True:
        verdict = match(v, row, x, n, row.roles[TYPE_CLOSE] | others, &k)
        if verdict == MORE:
            return undecided(v, origin)
        if verdict == YES and row.literals[k].role == TYPE_CLOSE:
            break
        if verdict == YES or is_special(v, x):
            return NO
        x += 1
    stop[0] = x + row.literals[k].n
    while x > at and is_json_space(v.p[x - 1]):
        x -= 1
    typed[0] = named_type(v.p + at, x - at)
    return YES
