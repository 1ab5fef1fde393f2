# Looking ahead (docs/tags.md, 2): does what must follow a marker follow it? These functions read the view. They change
# only the memory of how far a wrapped call has been searched.

from libc.stdint cimport uint8_t, uint64_t
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.call_names cimport CallHeader
from harmonystream._native.tags.view cimport View

cdef struct Key:                                 # of a value
    Py_ssize_t at, n, stop                       # stop: after the key's end marker
    uint8_t typed                                # the types that come with the key: a mask, TYPE_JSON, or 0
    uint8_t missing                              # the key's end marker, or its opener, is missing
    uint8_t repeated                             # its opener comes more than once
    uint8_t opening                              # the value's opener must follow
    uint8_t foreign                              # its tag has an attribute that means nothing


cdef int look_follow(const View* v, const TagTable* row, Py_ssize_t i, Py_ssize_t origin, uint64_t mask) noexcept nogil
cdef int look_stop(const View* v, const TagTable* row, Py_ssize_t i, int k) noexcept nogil
cdef int look_header(const View* v, const Context* c, Stream* s, Py_ssize_t i, bint at_line_start,
                     CallHeader* h) noexcept nogil
cdef int look_value_end(const View* v, const Context* c, const Stream* s, Py_ssize_t i, bint at_line_start,
                        Py_ssize_t origin, Py_ssize_t* stop, int* hit) noexcept nogil
cdef int look_pair(const View* v, const Context* c, const Stream* s, Py_ssize_t i, int k, Py_ssize_t origin,
                   Key* key) noexcept nogil
cdef int look_lost_key(const View* v, const Context* c, const Stream* s, Py_ssize_t i, Py_ssize_t origin,
                       Key* key) noexcept nogil
cdef int look_misspelt(const View* v, const TagTable* row, Py_ssize_t i, Py_ssize_t origin, int role,
                       Py_ssize_t* stop) noexcept nogil
cdef int look_wrong_closer(const View* v, const TagTable* row, const Stream* s, Py_ssize_t i, Py_ssize_t origin,
                           int role, Py_ssize_t* stop) noexcept nogil
cdef enum Alone:                                 # what says that a call without an opener is one
    MARKED, ANSWER, LINE                         # it has an opener; an answer begins with it; a line does

cdef int look_listed(const View* v, const Context* c, Stream* s, Py_ssize_t i, Py_ssize_t origin, int alone,
                     CallHeader* h) noexcept nogil
cdef int look_object(const View* v, const Context* c, Stream* s, Py_ssize_t i, Py_ssize_t origin, int alone,
                     CallHeader* h) noexcept nogil
cdef int look_named(const View* v, const Context* c, CallHeader* h) noexcept nogil
