# The members of a wrapped call: {"name": …, "arguments": …}. Follows one object byte by byte, in constant memory, and
# says where its members' values begin and end. It tracks nesting and strings only, so it also gets through what is
# not quite JSON.

from libc.stdint cimport uint8_t, uint16_t, uint64_t
from libc.string cimport memset
from harmonystream._native.core.chars cimport is_json_space, lowest_bit
from harmonystream._native.core.types cimport ObjectScan, TagTable

cdef enum:
    MOST_VALUES = 255                            # are counted
    MOST_DEPTH = 0x7fffffff

cdef enum Expect:
    X_KEY, X_IN_KEY, X_COLON, X_VALUE, X_IN_STRING, X_IN_NEST, X_IN_SCALAR, X_COMMA, X_OVER

cdef enum Member:
    OTHER_MEMBER, NAME_MEMBER, ARGUMENTS_MEMBER, ID_MEMBER
    KNOWN_MEMBER                       # it means nothing here, and is not reported
    ALIAS_MEMBER                       # it may hold the name, or an object with the call

cdef enum Keys:                        # where a key may be a call's name: {"f": {…}}
    KEYS_UNKNOWN                       # no value has begun
    KEYS_OF_MEMBERS                    # the first key is one that the row knows, and has a string
    KEYS_ARE_NAMES

cdef enum Found:                       # what a byte did
    F_NOTHING
    F_BEGINS                           # it begins the value of the member `key`
    F_ENDS                             # it is the value's last byte
    F_ENDED                            # it ended a scalar, and is not part of it
    F_OVER                             # it closed the object
    F_ENDED_OVER                       # both of the last two
    F_STRAY                            # the first byte that is not part of an object, or a comma instead of a value

cdef inline void object_reset(ObjectScan* o) noexcept nogil:
    memset(o, 0, sizeof(ObjectScan))


cdef inline bint is_quote(const ObjectScan* o, uint8_t c) noexcept nogil:
    """Does c begin a string?"""
    return c == c'"' or (c == c"'" and o.python)


cdef inline bint begins_key(const ObjectScan* o, uint8_t c) noexcept nogil:
    """Does c begin a key, where one may come? The first key says whether there are single quotes."""
    return is_quote(o, c) or (c == c"'" and o.expect == X_KEY and o.nth == 0 and not o.stray)


cdef inline void key_byte(ObjectScan* o, const TagTable* row, uint8_t c) noexcept nogil:
    cdef uint64_t left = o.named
    cdef int i
    while left:
        i = lowest_bit(left)
        left &= left - 1
        if o.key_n >= row.members[i].n or row.members[i].text[o.key_n] != c:
            o.named &= ~(1 << i)
    if o.key_n < 255:
        o.key_n += 1


cdef inline void key_over(ObjectScan* o, const TagTable* row) noexcept nogil:
    cdef int i
    o.key = OTHER_MEMBER
    for i in range(row.n_members):
        if o.named >> i & 1 and o.key_n == row.members[i].n:
            o.key = row.members[i].member
    o.expect = X_COLON


cdef inline void settle_keys(ObjectScan* o, uint8_t c) noexcept nogil:
    """A value begins with c. The first one says what keys are."""
    if o.keys == KEYS_UNKNOWN:
        o.keys = KEYS_OF_MEMBERS if o.key != OTHER_MEMBER and is_quote(o, c) else KEYS_ARE_NAMES
    if o.keys == KEYS_ARE_NAMES:
        o.key = ARGUMENTS_MEMBER


cdef inline void begin_key(ObjectScan* o, uint8_t quote) noexcept nogil:
    """After a key's first quote."""
    o.in_string = quote
    o.python |= quote == c"'"
    o.expect = X_IN_KEY
    o.key = OTHER_MEMBER
    o.key_n = 0
    o.named = <uint16_t>~0


cdef inline void enter_inner(ObjectScan* o) noexcept nogil:
    """The object that has just begun holds the call: its members are read as the outer one's."""
    o.inner = 1
    o.depth = 1
    o.expect = X_KEY


cdef inline bint object_in_string(const ObjectScan* o) noexcept nogil:
    return o.in_string


cdef inline int object_step(ObjectScan* o, const TagTable* row, uint8_t c) noexcept nogil:
    """One byte of the object. The first byte is its `{`."""
    cdef bint stray
    if o.depth == 0:
        o.depth = 1
        o.expect = X_KEY
        return F_NOTHING
    if o.in_string:
        if o.escape:
            o.escape = 0
        elif c == c'\\':
            o.escape = 1
        elif c == o.in_string:
            o.in_string = 0
            if o.expect == X_IN_KEY:
                key_over(o, row)
                return F_NOTHING
            if o.expect == X_IN_STRING:
                o.expect = X_COMMA
                return F_ENDS
            return F_NOTHING
        if o.expect == X_IN_KEY:
            key_byte(o, row, c)
        return F_NOTHING
    if o.expect == X_IN_NEST:
        if is_quote(o, c):
            o.in_string = c
        elif c == c'{' or c == c'[':
            o.depth += o.depth < MOST_DEPTH
        elif c == c'}' or c == c']':
            o.depth -= 1
            if o.depth == 1:
                o.expect = X_COMMA
                return F_ENDS
        return F_NOTHING
    if o.expect == X_VALUE:
        if is_json_space(c) or c == c':':
            return F_NOTHING
        if row.key_is_name and c != c',' and c != c'}' and c != c']':
            settle_keys(o, c)
        if c != c',' and c != c'}' and c != c']':
            if o.inner:
                o.inner += o.inner < MOST_VALUES
            else:
                o.nth += o.nth < MOST_VALUES
        if is_quote(o, c):
            o.in_string = c
            o.expect = X_IN_STRING
            return F_BEGINS
        if c == c'{' or c == c'[':
            o.depth = 2
            o.expect = X_IN_NEST
            return F_BEGINS
        if c != c',' and c != c'}' and c != c']':
            o.expect = X_IN_SCALAR
            return F_BEGINS
    if o.expect == X_IN_SCALAR:
        if c == c'}' and not o.inner:
            o.depth = 0
            o.expect = X_OVER
            return F_ENDED_OVER
        if c == c'}':
            o.inner = 0
            o.expect = X_COMMA
            return F_ENDED
        if c == c',' or is_json_space(c):
            o.expect = X_KEY if c == c',' else X_COMMA
            return F_ENDED
        return F_NOTHING
    stray = o.expect == X_VALUE or o.expect == X_COLON
    if c == c'}' and not o.inner:
        o.stray |= stray
        o.depth = 0
        o.expect = X_OVER
        return F_OVER
    if c == c',' or c == c'}':
        o.stray |= stray
        o.expect = X_KEY if c == c',' else X_COMMA
        o.inner = 0 if c == c'}' else o.inner
        return F_STRAY if stray else F_NOTHING
    stray = o.stray
    if c == c':':
        o.stray |= o.expect != X_COLON
        o.expect = X_VALUE
    elif begins_key(o, c):
        if o.expect == X_KEY:
            begin_key(o, c)
        else:
            o.in_string = c
            o.stray = 1
    elif c == c'{' or c == c'[':                                             # where none belongs: it nests anyway
        o.stray = 1
        o.depth = 2
        o.expect = X_IN_NEST
        o.key = OTHER_MEMBER
    elif not is_json_space(c):
        o.stray = 1
    return F_STRAY if o.stray > stray else F_NOTHING
