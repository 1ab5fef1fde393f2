# The words of a Harmony header, and what each may be: the cursor that all readers of a header share, and its questions.

from libc.stdint cimport uint8_t, uint16_t
from libc.string cimport memchr, memcmp, strlen
from harmonystream._native.core.chars cimport is_space
from harmonystream._native.core.tools cimport tool_index
from harmonystream._native.core.types cimport *


cdef inline int separator_at(const uint8_t* p, int i, int n) noexcept nogil:
    """Length of the whitespace character or inert mark at i; 0: none; -1: p ends inside what may be one."""
    cdef uint8_t c = p[i]
    if c < 0x80:
        return is_space(c)
    if c == MARK_INERT:
        return 1
    if c == 0xC2:
        if i + 1 == n:
            return -1
        return 2 if p[i + 1] == 0x85 or p[i + 1] == 0xA0 else 0
    if c != 0xE1 and c != 0xE2 and c != 0xE3:
        return 0
    if i + 1 == n:
        return -1
    if ((c == 0xE1 and p[i + 1] != 0x9A) or (c == 0xE3 and p[i + 1] != 0x80)
            or (c == 0xE2 and p[i + 1] != 0x80 and p[i + 1] != 0x81)):
        return 0
    if i + 2 == n:
        return -1
    if c != 0xE2:                                                            # U+1680, U+3000
        return 3 if p[i + 2] == 0x80 else 0
    if p[i + 1] == 0x81:                                                     # U+205F
        return 3 if p[i + 2] == 0x9F else 0
    return 3 if 0x80 <= p[i + 2] <= 0x8A or p[i + 2] == 0xA8 or p[i + 2] == 0xA9 or p[i + 2] == 0xAF else 0


cdef inline bint is_mark(uint8_t c) noexcept nogil:
    return c == MARK_CHANNEL or c == MARK_CONSTRAIN


cdef inline int skip_separators(const uint8_t* p, int i, int n) noexcept nogil:
    cdef int k
    while i < n and not is_mark(p[i]):
        k = separator_at(p, i, n)
        if k <= 0:
            break
        i += k
    return i


cdef inline Span next_word(const uint8_t* p, int* i, int n) noexcept nogil:
    """The next word of this segment, and the cursor moved past it. Empty at a mark or the end."""
    cdef Span w
    cdef int j = skip_separators(p, i[0], n)
    w.at = <uint16_t>j
    while j < n and not is_mark(p[j]) and separator_at(p, j, n) <= 0:
        j += 1
    w.n = <uint16_t>(j - w.at)
    i[0] = j
    return w


cdef inline Span peek_word(const uint8_t* p, int i, int n) noexcept nogil:
    return next_word(p, &i, n)


cdef inline Span span(int at, int n) noexcept nogil:
    cdef Span w
    w.at = <uint16_t>at
    w.n = <uint16_t>n
    return w


# --- what a word is ---------------------------------------------------------------------------------------------------

cdef inline bint span_is(const Stream* s, Span w, const char* literal) noexcept nogil:
    return w.n == strlen(literal) and memcmp(s.header + w.at, literal, w.n) == 0


cdef inline bint span_begins(const Stream* s, Span w, const char* literal) noexcept nogil:
    cdef size_t n = strlen(literal)
    return w.n >= n and memcmp(s.header + w.at, literal, n) == 0


cdef inline bint span_opens(const Stream* s, Span w, const char* literal) noexcept nogil:
    """Is the word a beginning of the literal, or the literal itself?"""
    return w.n <= strlen(literal) and memcmp(s.header + w.at, literal, w.n) == 0


cdef inline bint spans_equal(const Stream* s, Span a, Span b) noexcept nogil:
    return a.n == b.n and memcmp(s.header + a.at, s.header + b.at, a.n) == 0


cdef inline bint has_role(const Stream* s, Span w) noexcept nogil:
    return (span_is(s, w, b"assistant") or span_is(s, w, b"user") or span_is(s, w, b"system")
            or span_is(s, w, b"developer") or span_is(s, w, b"tool"))


cdef inline Span after_assistants(const Stream* s, Span w) noexcept nogil:
    """What follows the `assistant`s that the word begins with."""
    while w.n >= 9 and memcmp(s.header + w.at, b"assistant", 9) == 0:
        w = span(w.at + 9, w.n - 9)
    return w


cdef inline int repeats_assistant(const Stream* s, Span w, bint unfinished) noexcept nogil:
    """How often the word says `assistant`; 0 if it is anything else.

    An unfinished word may end inside one (counts as one more).
    """
    cdef Span rest = after_assistants(s, w)
    cdef int times = (w.n - rest.n) // 9
    if rest.n == 0:
        return times
    return times + 1 if unfinished and span_opens(s, rest, b"assistant") else 0


cdef inline uint8_t exact_channel(const Stream* s, Span w) noexcept nogil:
    if span_is(s, w, b"analysis"):
        return ANALYSIS
    if span_is(s, w, b"commentary"):
        return COMMENTARY
    return FINAL if span_is(s, w, b"final") else NO_CHANNEL


cdef inline Span letters_of(const Stream* s, Span w) noexcept nogil:
    """The word's first run of ASCII letters."""
    cdef int i = w.at, end = w.at + w.n, j
    while i < end and not (c'a' <= (s.header[i] | 0x20) <= c'z'):
        i += 1
    j = i
    while j < end and c'a' <= (s.header[j] | 0x20) <= c'z':
        j += 1
    return span(i, j - i)


cdef inline bint letters_begin(const Stream* s, Span w, const char* literal) noexcept nogil:
    cdef size_t i, n = strlen(literal)
    if w.n < n:
        return False
    for i in range(n):
        if (s.header[w.at + i] | 0x20) != <uint8_t>literal[i]:
            return False
    return True


cdef inline bint letters_are(const Stream* s, Span w, const char* literal) noexcept nogil:
    return w.n == strlen(literal) and letters_begin(s, w, literal)


cdef inline uint8_t normal_channel(const Stream* s, Span w) noexcept nogil:
    cdef Span run = letters_of(s, w)
    if letters_begin(s, run, b"analysis"):
        return ANALYSIS
    if letters_begin(s, run, b"comment"):
        return COMMENTARY
    return FINAL if letters_begin(s, run, b"final") else NO_CHANNEL


cdef inline bint is_content_type(const Stream* s, Span w) noexcept nogil:
    return (span_is(s, w, b"json") or span_is(s, w, b"code") or span_is(s, w, b"text") or span_is(s, w, b"python")
            or span_is(s, w, b"markdown") or span_is(s, w, b"response"))


cdef inline bint is_builtin(const Stream* s, Span w) noexcept nogil:
    cdef const void* dot = memchr(s.header + w.at, c'.', w.n)
    if dot != NULL:
        w.n = <uint16_t>(<const uint8_t*>dot - (s.header + w.at))
    return span_is(s, w, b"python") or span_is(s, w, b"browser") or span_is(s, w, b"container")


cdef inline bint is_tool(const Stream* s, const ToolTable* t, Span w) noexcept nogil:
    """Is it the name of a declared tool?"""
    return tool_index(t, s.header + w.at, w.n) >= 0


cdef inline Span without_functions(const Stream* s, Span w) noexcept nogil:
    return span(w.at + 10, w.n - 10) if span_begins(s, w, b"functions.") else w


cdef inline Span call_name(const Stream* s) noexcept nogil:
    return without_functions(s, s.recipient)


cdef inline Span spaced_name(const Stream* s, const ToolTable* t, Span w, int n) noexcept nogil:
    """Stretch the recipient over the longest declared name with spaces that is here whole."""
    cdef Span name = without_functions(s, w), best = w, word
    cdef int k, i = w.at + w.n
    for k in range(t.max_spaces):
        word = next_word(s.header, &i, n)
        if word.n == 0:
            break
        if is_tool(s, t, span(name.at, i - name.at)):
            best = span(w.at, i - w.at)
    return best
