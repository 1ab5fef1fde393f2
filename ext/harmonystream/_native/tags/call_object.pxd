# The members of a wrapped call: {"name": …, "arguments": …}. Follows one object byte by byte, in constant memory, and
# says where its members' values begin and end. It tracks nesting and strings only, so it also gets through what is
# not quite JSON.

from libc.stdint cimport uint8_t
from libc.string cimport memset
from harmonystream._native.core.chars cimport is_json_space
from harmonystream._native.core.types cimport ObjectScan

cdef enum Expect:
    X_KEY, X_IN_KEY, X_COLON, X_VALUE, X_IN_STRING, X_IN_NEST, X_IN_SCALAR, X_COMMA, X_OVER

cdef enum Member:
    OTHER_MEMBER, NAME_MEMBER, ARGUMENTS_MEMBER

cdef enum Found:                       # what a byte did
    F_NOTHING
    F_BEGINS                           # it begins the value of the member `key`
    F_ENDS                             # it is the value's last byte
    F_ENDED                            # it ended a scalar, and is not part of it
    F_OVER                             # it closed the object
    F_ENDED_OVER                       # both of the last two

cdef enum:
    MAYBE_NAME = 1
    MAYBE_ARGUMENTS = 2
    MAYBE_PARAMETERS = 4


cdef inline void object_reset(ObjectScan* o) noexcept nogil:
    memset(o, 0, sizeof(ObjectScan))


cdef inline void key_byte(ObjectScan* o, uint8_t c) noexcept nogil:
    cdef uint8_t k = o.key_n
    if k < 4:
        o.named &= ~(0 if c == (<const char*>b"name")[k] else MAYBE_NAME)
    if k < 9:
        o.named &= ~(0 if c == (<const char*>b"arguments")[k] else MAYBE_ARGUMENTS)
    if k < 10:
        o.named &= ~(0 if c == (<const char*>b"parameters")[k] else MAYBE_PARAMETERS)
    if k < 255:
        o.key_n += 1


cdef inline void key_over(ObjectScan* o) noexcept nogil:
    o.key = OTHER_MEMBER
    if o.named & MAYBE_NAME and o.key_n == 4:
        o.key = NAME_MEMBER
    elif (o.named & MAYBE_ARGUMENTS and o.key_n == 9) or (o.named & MAYBE_PARAMETERS and o.key_n == 10):
        o.key = ARGUMENTS_MEMBER
    o.expect = X_COLON


cdef inline bint object_in_string(const ObjectScan* o) noexcept nogil:
    return o.in_string


cdef inline int object_step(ObjectScan* o, uint8_t c) noexcept nogil:
    """One byte of the object, the first of which is its `{`."""
    if o.depth == 0:
        o.depth = 1
        o.expect = X_KEY
        return F_NOTHING
    if o.in_string:
        if o.escape:
            o.escape = 0
        elif c == c'\\':
            o.escape = 1
        elif c == c'"':
            o.in_string = 0
            if o.expect == X_IN_KEY:
                key_over(o)
                return F_NOTHING
            if o.expect == X_IN_STRING:
                o.expect = X_COMMA
                return F_ENDS
            return F_NOTHING
        if o.expect == X_IN_KEY:
            key_byte(o, c)
        return F_NOTHING
    if o.expect == X_IN_NEST:
        if c == c'"':
            o.in_string = 1
        elif c == c'{' or c == c'[':
            o.depth += 1
        elif c == c'}' or c == c']':
            o.depth -= 1
            if o.depth == 1:
                o.expect = X_COMMA
                return F_ENDS
        return F_NOTHING
    if o.expect == X_VALUE:
        if is_json_space(c) or c == c':':
            return F_NOTHING
        if c == c'"':
            o.in_string = 1
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
        if c == c'}':
            o.depth = 0
            o.expect = X_OVER
            return F_ENDED_OVER
        if c == c',' or is_json_space(c):
            o.expect = X_KEY if c == c',' else X_COMMA
            return F_ENDED
        return F_NOTHING
    if c == c'}':
        o.depth = 0
        o.expect = X_OVER
        return F_OVER
    if c == c',':
        o.expect = X_KEY
    elif c == c':':
        o.expect = X_VALUE
    elif c == c'"':
        o.in_string = 1
        if o.expect == X_KEY:
            o.expect = X_IN_KEY
            o.key = OTHER_MEMBER
            o.key_n = 0
            o.named = MAYBE_NAME | MAYBE_ARGUMENTS | MAYBE_PARAMETERS
    elif c == c'{' or c == c'[':                                             # where none belongs: it nests all the same
        o.depth = 2
        o.expect = X_IN_NEST
        o.key = OTHER_MEMBER
    return F_NOTHING
