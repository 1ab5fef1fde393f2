# Reads a whole JSON value, or a whole Python literal, which it writes as JSON. Models that were trained on Python
# write {'a': True, 'b': (1, None)} where JSON belongs. Nothing is evaluated: the reader keeps a stack of closers, and
# has no recursion.

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcmp, strlen
from harmonystream._native.core.buffer cimport buffer_free, buffer_put
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.chars cimport are_literal, hex_digit, is_json_space
from harmonystream._native.core.json_number cimport N_START, number_ends, scan_number
from harmonystream._native.core.json_text cimport put_escaped
from harmonystream._native.core.types cimport Buffer
from harmonystream._native.core.utf8 cimport utf8_encode

DEBUG = bool(DEBUG_BUILD)

cdef enum Reading:
    BAD, NEXT, WHOLE           # not a literal; a value follows; a value has ended

cdef struct Reader:
    const uint8_t* p
    Py_ssize_t i, n
    Buffer* out                # where a Python literal is written as JSON; NULL: the text is JSON, and only checked
    Buffer stack               # what closes each open container; '(' for a tuple without a comma: (1) is not a tuple
    bint no_memory


cdef inline uint8_t peek(Reader* r) noexcept nogil:
    """The next byte after whitespace; 0 at the end."""
    cdef uint8_t c
    while r.i < r.n:
        c = r.p[r.i]
        if not is_json_space(c) and (c != 12 or r.out == NULL):
            return c
        r.i += 1
    return 0


cdef inline void write(Reader* r, const char* text) noexcept nogil:
    if r.out != NULL and not buffer_put(r.out, <const uint8_t*>text, strlen(text)):
        r.no_memory = True


cdef inline bint accept(Reader* r, const char* word) noexcept nogil:
    cdef Py_ssize_t n = strlen(word)
    if r.n - r.i < n or memcmp(r.p + r.i, word, n) != 0:
        return False
    r.i += n
    return True


cdef int hex_at(Reader* r, int digits) noexcept nogil:
    """So many hexadecimal digits as a number (up to 8: the highest fit no int, and no character); -1: they are not
    there."""
    cdef uint32_t value = 0
    cdef int k, digit
    if r.n - r.i < digits:
        return -1
    for k in range(digits):
        digit = hex_digit(r.p[r.i + k])
        if digit < 0:
            return -1
        value = value << 4 | <uint32_t>digit
    r.i += digits
    return <int>value if value <= 0x10FFFF else -1


cdef bint json_string(Reader* r) noexcept nogil:
    """Past the string whose opening quote has been read."""
    cdef uint8_t c
    while r.i < r.n:
        if r.i + 8 <= r.n and are_literal(r.p + r.i):
            r.i += 8
            continue
        c = r.p[r.i]
        r.i += 1
        if c == c'"':
            return True
        if c < 0x20:
            return False
        if c == c'\\':
            if r.i == r.n:
                return False
            c = r.p[r.i]
            r.i += 1
            if c == c'u':
                if hex_at(r, 4) < 0:
                    return False
            elif not (c == c'"' or c == c'\\' or c == c'/'
                      or c == c'b' or c == c'f' or c == c'n' or c == c'r' or c == c't'):
                return False
    return False


cdef void put_character(Reader* r, uint32_t code) noexcept nogil:
    cdef uint8_t utf8[4]
    if not put_escaped(r.out, utf8, utf8_encode(code, utf8)):
        r.no_memory = True


cdef int python_escape(Reader* r) noexcept nogil:
    """The character that an escape means, its backslash read. -1: the literal is invalid. -2: it joins two lines."""
    cdef const char* names = b"\\'\"abfnrtv"
    cdef const char* values = b"\\'\"\a\b\f\n\r\t\v"
    cdef uint8_t c
    cdef int k, value
    if r.i == r.n:
        return -1
    c = r.p[r.i]
    if c'0' <= c <= c'7':
        value = 0
        for k in range(3):
            if r.i < r.n and c'0' <= r.p[r.i] <= c'7':
                value = value * 8 + r.p[r.i] - c'0'
                r.i += 1
        return value
    for k in range(10):
        if c == <uint8_t>names[k]:
            r.i += 1
            return values[k]
    if c == c'\n' or c == c'\r':
        r.i += 1
        if c == c'\r' and r.i < r.n and r.p[r.i] == c'\n':
            r.i += 1
        return -2
    if c == c'x' or c == c'u' or c == c'U':
        r.i += 1
        return hex_at(r, 2 if c == c'x' else 4 if c == c'u' else 8)
    return -1 if c == c'N' else c'\\'            # \N{...} needs a table of names; \d is a backslash and a d


cdef void put_code(Reader* r, int code, int* high) noexcept nogil:
    """A character of a Python string, 0 for its end. Two escapes may make one character; half of one is U+FFFD."""
    if high[0] and 0xDC00 <= code <= 0xDFFF:
        put_character(r, 0x10000 + ((high[0] - 0xD800) << 10) + (code - 0xDC00))
        high[0] = 0
        return
    if high[0]:
        put_character(r, 0xFFFD)
        high[0] = 0
    if 0xD800 <= code <= 0xDBFF:
        high[0] = code
    elif code >= 0:
        put_character(r, code)


cdef bint python_string(Reader* r, uint8_t quote) noexcept nogil:
    """Past the string whose opening quote has been read, writing it as JSON."""
    cdef Py_ssize_t start = r.i
    cdef uint8_t c
    cdef int code, high = 0
    write(r, b'"')
    while r.i < r.n:
        c = r.p[r.i]
        if c != quote and c != c'\\' and c != c'\n' and c != c'\r' and c != 0:
            r.i += 1
            continue
        if r.i > start or c == quote:
            put_code(r, -1, &high)
            r.no_memory |= not put_escaped(r.out, r.p + start, r.i - start)
        r.i += 1
        if c == quote:
            write(r, b'"')
            return True
        code = python_escape(r) if c == c'\\' else -1
        if code == -1:
            return False
        if code >= 0:
            put_code(r, code, &high)
        start = r.i
    return False


cdef bint scalar(Reader* r, uint8_t c) noexcept nogil:
    """Past the string, number or word that begins with c, here."""
    cdef Py_ssize_t start = r.i
    cdef int stage = N_START
    if c == c'"' or (c == c"'" and r.out != NULL):
        r.i += 1
        return json_string(r) if r.out == NULL else python_string(r, c)
    if c == c'-' or c'0' <= c <= c'9':
        r.i = scan_number(r.p, start, r.n, &stage)
        if r.out != NULL and not buffer_put(r.out, r.p + start, r.i - start):
            r.no_memory = True
        return number_ends(stage)
    if r.out == NULL:
        return accept(r, b"true") or accept(r, b"false") or accept(r, b"null")
    if accept(r, b"True"):
        write(r, b"true")
    elif accept(r, b"False"):
        write(r, b"false")
    elif accept(r, b"None"):
        write(r, b"null")
    else:
        return False
    return True


cdef bint read_key(Reader* r) noexcept nogil:
    """Past an object's key and its colon."""
    cdef uint8_t c = peek(r)
    if (c != c'"' and c != c"'") or not scalar(r, c) or peek(r) != c':':
        return False
    r.i += 1
    write(r, b": ")
    return True


cdef Reading close_container(Reader* r, uint8_t closer) noexcept nogil:
    r.i += 1
    r.stack.n -= 1
    write(r, b"}" if closer == c'}' else b"]")
    return WHOLE


cdef Reading read_value(Reader* r) noexcept nogil:
    """Past a scalar, an empty container, or what opens another."""
    cdef uint8_t c = peek(r), closer = 0
    if c == c'{':
        closer = c'}'
    elif c == c'[':
        closer = c']'
    elif c == c'(' and r.out != NULL:
        closer = c'('
    if closer == 0:
        return WHOLE if scalar(r, c) else BAD
    if not buffer_put(&r.stack, &closer, 1):
        r.no_memory = True
        return BAD
    r.i += 1
    write(r, b"{" if closer == c'}' else b"[")
    c = peek(r)
    if c == (c')' if closer == c'(' else closer):
        return close_container(r, closer)
    return NEXT if closer != c'}' or read_key(r) else BAD


cdef Reading after_value(Reader* r) noexcept nogil:
    """From the end of a value in a container to the next one, or past the container's end."""
    cdef uint8_t* closer = r.stack.p + r.stack.n - 1
    cdef uint8_t c = peek(r)
    if c == c',':
        r.i += 1
        if closer[0] == c'(':
            closer[0] = c')'
        if r.out == NULL or peek(r) != closer[0]:
            write(r, b", ")
            return NEXT if closer[0] != c'}' or read_key(r) else BAD
        c = closer[0]                                  # Python allows a comma before the end
    return close_container(r, closer[0]) if c == closer[0] and c != c'(' else BAD


cdef int read_literal(const uint8_t* p, Py_ssize_t n, Buffer* out) noexcept nogil:
    """1: this is one JSON value, or, with `out`, one Python literal, written there. 0: it is neither. -1: no memory."""
    cdef Reader r
    cdef Reading step = NEXT
    r.p = p
    r.n = n
    r.i = 0
    r.out = out
    r.stack.p = NULL
    r.stack.n = r.stack.cap = 0
    r.no_memory = False
    while step == NEXT:
        step = read_value(&r)
        while step == WHOLE and r.stack.n > 0:
            step = after_value(&r)
    if step == WHOLE:
        peek(&r)
    buffer_free(&r.stack)
    return -1 if r.no_memory else step == WHOLE and r.i == n
