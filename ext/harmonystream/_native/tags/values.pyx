# The text of a value -> JSON. Key/value markup has no types of its own: whether `5` is a number or a string, the tool's schema says.
#
# The schema's word is final, the result is always valid JSON, and what fits no type stays whole, as a string. Valid spellings are
# passed through byte for byte: 1.50 stays 1.50.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcmp, memcpy, strlen
from harmonystream._native.core.buffer cimport buffer_free, buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.chars cimport are_literal, hex_digit, is_json_space, is_space
from harmonystream._native.core.json_number cimport N_START, is_integral, number_ends, scan_number
from harmonystream._native.core.json_text cimport put_escaped
from harmonystream._native.core.utf8 cimport utf8_encode, without_surrogates
from harmonystream._native.core.types cimport (
    TYPE_ARRAY, TYPE_BOOLEAN, TYPE_INTEGER, TYPE_NULL, TYPE_NUMBER, TYPE_OBJECT, TYPE_STRING, Buffer,
)

from harmonystream._schema import TYPES as _TYPES

DEBUG = bool(DEBUG_BUILD)

cdef enum Step:
    BAD, NEXT, WHOLE           # a value follows; a value has ended


# --- strings ----------------------------------------------------------------------------------------------------------------------

cdef bint put_string(Buffer* out, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    return buffer_put(out, b'"', 1) and put_escaped(out, p, n) and buffer_put(out, b'"', 1)


# --- numbers and words ------------------------------------------------------------------------------------------------------------

cdef bint fits_number(const uint8_t* p, Py_ssize_t n, int types, bint unfinished) noexcept nogil:
    """A JSON number that these types allow, or, if unfinished, the beginning of one."""
    cdef int stage = N_START
    if types & (TYPE_INTEGER | TYPE_NUMBER) == 0 or scan_number(p, 0, n, &stage) != n:
        return False
    return (unfinished or number_ends(stage)) and (types & TYPE_NUMBER != 0 or is_integral(p, n))


cdef bint begins_word(const uint8_t* p, Py_ssize_t n, const char* word) noexcept nogil:
    """The word in any case, or its beginning."""
    cdef Py_ssize_t i
    if n > <Py_ssize_t>strlen(word):
        return False
    for i in range(n):
        if (p[i] | 0x20) != <uint8_t>word[i]:
            return False
    return True


cdef inline bint is_word(const uint8_t* p, Py_ssize_t n, const char* word) noexcept nogil:
    return n == <Py_ssize_t>strlen(word) and begins_word(p, n, word)


cdef inline bint streams_as_string(int types) noexcept nogil:
    """A value of these types is a string unless it is a short literal: nobody has to wait for its end."""
    return types & TYPE_STRING != 0 and types & (TYPE_OBJECT | TYPE_ARRAY) == 0


cdef bint literal_prefix(const uint8_t* p, Py_ssize_t n, int types) noexcept nogil:
    """Could this, or a longer text that begins with it, be a null, number or boolean of types that allow strings too?"""
    cdef bint unfinished = True
    if n > LITERAL_CAP or not streams_as_string(types) or types & (TYPE_NULL | TYPE_INTEGER | TYPE_NUMBER | TYPE_BOOLEAN) == 0:
        return False
    while n > 0 and is_space(p[0]):
        p += 1
        n -= 1
    while n > 0 and is_space(p[n - 1]):
        n -= 1
        unfinished = False
    if n == 0 or fits_number(p, n, types, unfinished):
        return True
    if types & TYPE_NULL and begins_word(p, n, b"null") and (unfinished or n == 4):
        return True
    return types & TYPE_BOOLEAN and ((begins_word(p, n, b"true") and (unfinished or n == 4))
                                     or (begins_word(p, n, b"false") and (unfinished or n == 5)))


# --- JSON values, and what Python calls a literal ---------------------------------------------------------------------------------

cdef struct Reader:
    const uint8_t* p
    Py_ssize_t i, n
    Buffer* out                # where a Python literal is written as JSON; NULL: the text is JSON, and only checked
    Buffer stack               # what closes each open container; '(' for a tuple that has had no comma: (1) is none
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


cdef inline void emit(Reader* r, const char* text) noexcept nogil:
    if r.out != NULL and not buffer_put(r.out, <const uint8_t*>text, strlen(text)):
        r.no_memory = True


cdef inline bint take(Reader* r, const char* word) noexcept nogil:
    cdef Py_ssize_t n = strlen(word)
    if r.n - r.i < n or memcmp(r.p + r.i, word, n) != 0:
        return False
    r.i += n
    return True


cdef int hex_at(Reader* r, int digits) noexcept nogil:
    """So many hexadecimal digits as a number (up to 8: the highest fit no int, and no character); -1: they are not there."""
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
            elif not (c == c'"' or c == c'\\' or c == c'/' or c == c'b' or c == c'f' or c == c'n' or c == c'r' or c == c't'):
                return False
    return False


cdef void put_character(Reader* r, uint32_t code) noexcept nogil:
    cdef uint8_t utf8[4]
    if not put_escaped(r.out, utf8, utf8_encode(code, utf8)):
        r.no_memory = True


cdef int python_escape(Reader* r) noexcept nogil:
    """The character that an escape stands for, its backslash read; -1: the literal is wrong; -2: none, a line goes on."""
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
    emit(r, b'"')
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
            emit(r, b'"')
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
        return take(r, b"true") or take(r, b"false") or take(r, b"null")
    if take(r, b"True"):
        emit(r, b"true")
    elif take(r, b"False"):
        emit(r, b"false")
    elif take(r, b"None"):
        emit(r, b"null")
    else:
        return False
    return True


cdef bint read_key(Reader* r) noexcept nogil:
    """Past an object's key and its colon."""
    cdef uint8_t c = peek(r)
    if (c != c'"' and c != c"'") or not scalar(r, c) or peek(r) != c':':
        return False
    r.i += 1
    emit(r, b": ")
    return True


cdef Step close_container(Reader* r, uint8_t closer) noexcept nogil:
    r.i += 1
    r.stack.n -= 1
    emit(r, b"}" if closer == c'}' else b"]")
    return WHOLE


cdef Step read_value(Reader* r) noexcept nogil:
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
    emit(r, b"{" if closer == c'}' else b"[")
    c = peek(r)
    if c == (c')' if closer == c'(' else closer):
        return close_container(r, closer)
    return NEXT if closer != c'}' or read_key(r) else BAD


cdef Step after_value(Reader* r) noexcept nogil:
    """From the end of a value in a container to the next one, or past the container's end."""
    cdef uint8_t* closer = r.stack.p + r.stack.n - 1
    cdef uint8_t c = peek(r)
    if c == c',':
        r.i += 1
        if closer[0] == c'(':
            closer[0] = c')'
        if r.out == NULL or peek(r) != closer[0]:
            emit(r, b", ")
            return NEXT if closer[0] != c'}' or read_key(r) else BAD
        c = closer[0]                                  # Python allows a comma before the end
    return close_container(r, closer[0]) if c == closer[0] and c != c'(' else BAD


cdef int read_all(const uint8_t* p, Py_ssize_t n, Buffer* out) noexcept nogil:
    """1: this is one JSON value, or, with `out`, one Python literal, written there. 0: it is none. -1: no memory."""
    cdef Reader r
    cdef Step step = NEXT
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


# --- values -----------------------------------------------------------------------------------------------------------------------

cdef int put_container(const uint8_t* s, Py_ssize_t n, int types, Buffer* out) noexcept nogil:
    """An object or array of these types, in JSON or as a Python literal. 1: written; 0: it is none; -1: no memory."""
    cdef Py_ssize_t before = out.n
    cdef int done
    if n == 0 or not ((s[0] == c'{' and types & TYPE_OBJECT) or ((s[0] == c'[' or s[0] == c'(') and types & TYPE_ARRAY)):
        return 0
    done = read_all(s, n, NULL)
    if done > 0:
        return 1 if buffer_put(out, s, n) else -1
    if done == 0:
        done = read_all(s, n, out)
    if done <= 0:
        out.n = before
    return done


cdef const char* word_json(const uint8_t* s, Py_ssize_t n, int types) noexcept nogil:
    """null, true or false, if these types allow it and this says it; NULL otherwise."""
    cdef bint no_string = types != 0 and types & TYPE_STRING == 0
    if (types & TYPE_NULL or no_string) and is_word(s, n, b"null"):
        return b"null"
    if no_string and n == 4 and memcmp(s, b"None", 4) == 0:
        return b"null"
    if types & TYPE_BOOLEAN == 0:
        return NULL
    if is_word(s, n, b"true") or (types & ~TYPE_NULL == TYPE_BOOLEAN and n == 1 and s[0] == c'1'):
        return b"true"
    if is_word(s, n, b"false") or (types & ~TYPE_NULL == TYPE_BOOLEAN and n == 1 and s[0] == c'0'):
        return b"false"
    return NULL


cdef int value_json(const uint8_t* p, Py_ssize_t n, int types, bint untyped_json, Buffer* out) noexcept nogil:
    """Append the JSON of the value whose whole text (UTF-8) this is. `types`: a mask, 0 for anything.

    1: done. 0: done, but as a string, which the types do not allow. -1: no memory; nothing was appended.
    """
    cdef const uint8_t* s = p
    cdef Py_ssize_t size = n, before = out.n
    cdef const char* word
    cdef int done = 0
    if types != TYPE_STRING and not (n > LITERAL_CAP and streams_as_string(types)):
        while size > 0 and is_space(s[0]):
            s += 1
            size -= 1
        while size > 0 and is_space(s[size - 1]):
            size -= 1
        word = word_json(s, size, types)
        if word != NULL:
            return 1 if buffer_put(out, <const uint8_t*>word, strlen(word)) else -1
        if types == 0:
            done = read_all(s, size, NULL) if untyped_json else 0
        else:
            done = fits_number(s, size, types, False)
            if not done:
                done = put_container(s, size, types, out)
                if done > 0:
                    return 1
        if done > 0:
            return 1 if buffer_put(out, s, size) else -1
    if done < 0 or not put_string(out, p, n):
        out.n = before
        return -1
    return types == 0 or types & TYPE_STRING != 0


# --- for Python -------------------------------------------------------------------------------------------------------------------

cdef int mask_of(object types) except -1:
    cdef int mask = 0
    for name in types:
        if name not in _TYPES:
            raise ValueError(f"a JSON type is one of {', '.join(_TYPES)}, not {name!r}")
        mask |= <int>_TYPES[name]
    return mask


cdef tuple converted(str text, object types, str untyped):
    cdef bytes data = without_surrogates(text).encode()
    cdef Buffer out
    cdef int mask = mask_of(types), done
    if untyped not in ("string", "json"):
        raise ValueError(f"untyped is 'string' or 'json', not {untyped!r}")
    out.p = NULL
    out.n = out.cap = 0
    done = value_json(<const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), mask, untyped == "json", &out)
    try:
        if done < 0:
            raise MemoryError()
        return PyUnicode_DecodeUTF8(<const char*>out.p, out.n, NULL), done == 1
    finally:
        buffer_free(&out)


def transcode(str text not None, types=(), *, str untyped not None="string"):
    """The JSON of a value whose text this is. `types`: names of the JSON types that it may have; none: any.

    `untyped="json"` takes a value without types for JSON if it is valid JSON, and for a string otherwise.
    """
    return converted(text, types, untyped)[0]


def fits(str text not None, types=()):
    """Does the text spell a value of one of these types? If not, transcode() makes a string of it all the same."""
    return converted(text, types, "string")[1]


def may_be_literal(str text not None, types=()):
    """Could this, or a longer text, be a null, number or boolean of types that allow strings too?"""
    cdef bytes data = text.encode()
    return literal_prefix(<const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), mask_of(types))
