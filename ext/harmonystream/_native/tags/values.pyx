# Writes the text of a value as JSON. Key/value markup has no types: the tool's schema decides whether `5` is a number
# or a string.
#
# The result is always valid JSON. A value that fits none of the schema's types stays whole, as a string. Valid numbers
# are passed on byte for byte: 1.50 stays 1.50.

from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcmp, strchr, strlen
from harmonystream._native.core.buffer cimport buffer_free, buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.chars cimport is_space
from harmonystream._native.core.json_number cimport N_START, is_integral, number_ends, scan_number
from harmonystream._native.core.json_text cimport put_escaped
from harmonystream._native.core.types cimport (
    TYPE_ARRAY, TYPE_BOOLEAN, TYPE_INTEGER, TYPE_NULL, TYPE_NUMBER, TYPE_OBJECT, TYPE_STRING, Buffer,
)
from harmonystream._native.tags.python_literal cimport read_literal
from harmonystream._native.tags.python_number cimport SCALAR_CAP, plain_number

DEBUG = bool(DEBUG_BUILD)


# --- strings ----------------------------------------------------------------------------------------------------------

cdef bint put_string(Buffer* out, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    return buffer_put(out, b'"', 1) and put_escaped(out, p, n) and buffer_put(out, b'"', 1)


# --- numbers and words ------------------------------------------------------------------------------------------------

cdef bint fits_number(const uint8_t* p, Py_ssize_t n, int types, bint unfinished) noexcept nogil:
    """A JSON number that these types allow, or, if unfinished, the beginning of one."""
    cdef int stage = N_START
    if types & (TYPE_INTEGER | TYPE_NUMBER) == 0 or scan_number(p, 0, n, &stage) != n:
        return False
    return (unfinished or number_ends(stage)) and (types & TYPE_NUMBER != 0 or is_integral(p, n))


cdef bint is_short_number(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """May it be a number with a `+`, or without digits on one side of its point? One with zeros in front is a code."""
    cdef Py_ssize_t i = 1 if n > 0 and (p[0] == c'+' or p[0] == c'-') else 0
    if n == i or n > SCALAR_CAP or (p[i] == c'0' and n > i + 1 and c'0' <= p[i + 1] <= c'9'):
        return False
    for i in range(i, n):
        if not (c'0' <= p[i] <= c'9' or p[i] == c'.' or p[i] | 0x20 == c'e' or p[i] == c'+' or p[i] == c'-'):
            return False
    return True


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
    """A value of these types is a string unless it is a short literal, so it is written before its end comes."""
    return types & TYPE_STRING != 0 and types & (TYPE_OBJECT | TYPE_ARRAY) == 0


cdef bint literal_prefix(const uint8_t* p, Py_ssize_t n, int types) noexcept nogil:
    """Could this, or a longer text that begins so, be a null, number or boolean, where `types` allows strings too?"""
    cdef bint unfinished = True
    cdef int literals = TYPE_NULL | TYPE_INTEGER | TYPE_NUMBER | TYPE_BOOLEAN
    if n > LITERAL_CAP or not streams_as_string(types) or types & literals == 0:
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


cdef int first_byte(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """The value's first byte after ws. -1: it has not come. 0: there is more ws than a value may begin with."""
    cdef Py_ssize_t i = 0
    while i < n and i <= LITERAL_CAP and is_space(p[i]):
        i += 1
    return 0 if i > LITERAL_CAP else -1 if i == n else p[i]


cdef bint json_prefix(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Could this, or a longer text that begins so, be JSON? The first byte decides, or a whole word."""
    cdef int first = first_byte(p, n)
    return (first == -1 or first == c'"' or first == c'[' or first == c'{' or first == c'-' or c'0' <= first <= c'9'
            or literal_prefix(p, n, TYPE_STRING | TYPE_NULL | TYPE_BOOLEAN))


# --- values -----------------------------------------------------------------------------------------------------------

cdef int put_unescaped(const uint8_t* s, Py_ssize_t n, Buffer* out) noexcept nogil:
    """Writes JSON that was escaped once more, as for a string, without that level of backslashes.

    1: written; 0: the text is not such JSON; -1: no memory.
    """
    cdef const char* letters = b'"\\/nrt'
    cdef const char* meant = b'"\\/\n\r\t'
    cdef Buffer inner
    cdef Py_ssize_t i = 0
    cdef const void* found = memchr(s, c'\\', n)
    cdef const char* letter
    cdef int done
    if s[0] == c'(' or found == NULL:
        return 0
    inner.p = NULL
    inner.n = inner.cap = 0
    if not buffer_room(&inner, n):
        return -1
    while i < n:
        letter = strchr(letters, s[i + 1]) if s[i] == c'\\' and i + 1 < n and s[i + 1] != 0 else NULL
        if letter != NULL:
            inner.p[inner.n] = <uint8_t>meant[letter - letters]
            i += 2
        else:
            if s[i] == c'\\' and i + 1 < n:                                  # another escape: it stays as it is
                inner.p[inner.n] = s[i]
                inner.n += 1
                i += 1
            inner.p[inner.n] = s[i]
            i += 1
        inner.n += 1
    while inner.n > 0 and is_space(inner.p[inner.n - 1]):
        inner.n -= 1
    done = read_literal(inner.p, inner.n, NULL)
    if done > 0:
        done = 1 if buffer_put(out, inner.p, inner.n) else -1
    buffer_free(&inner)
    return done


cdef int put_container(const uint8_t* s, Py_ssize_t n, int types, Buffer* out) noexcept nogil:
    """An object or array of these types, in JSON or as a Python literal. 1: written; 0: it is not; -1: no memory."""
    cdef Py_ssize_t before = out.n
    cdef int done
    if n == 0 or not ((s[0] == c'{' and types & TYPE_OBJECT)
                      or ((s[0] == c'[' or s[0] == c'(') and types & TYPE_ARRAY)):
        return 0
    done = read_literal(s, n, NULL)
    if done > 0:
        return 1 if buffer_put(out, s, n) else -1
    if done == 0:
        done = read_literal(s, n, out)
    if done <= 0:
        out.n = before
    return put_unescaped(s, n, out) if done == 0 else done


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
    cdef uint8_t[SCALAR_CAP + 32] number
    cdef int done = 0, written
    if types != TYPE_STRING and not (n > LITERAL_CAP and streams_as_string(types)) and (types or json_prefix(p, n)):
        while size > 0 and is_space(s[0]):
            s += 1
            size -= 1
        while size > 0 and is_space(s[size - 1]):
            size -= 1
        word = word_json(s, size, types)
        if word != NULL:
            return 1 if buffer_put(out, <const uint8_t*>word, strlen(word)) else -1
        if types == 0:
            done = read_literal(s, size, NULL) if untyped_json else 0
        else:
            done = fits_number(s, size, types, False)
            if not done and types & TYPE_STRING == 0 and is_short_number(s, size):
                written = plain_number(s, size, number)
                if written and fits_number(number, written, types, False):
                    return 1 if buffer_put(out, number, written) else -1
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
