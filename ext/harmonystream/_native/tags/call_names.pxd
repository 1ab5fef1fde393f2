# What a call's header says, and the look for its name.

from libc.stdint cimport int64_t, uint8_t
from harmonystream._native.core.types cimport Context
from harmonystream._native.tags.view cimport View

cdef struct CallHeader:
    Py_ssize_t stop                              # where it ends
    Py_ssize_t name_at, name_n
    Py_ssize_t id_at, id_n                       # after the name; id_at 0: its marker is not there
    Py_ssize_t key_at, key_n                     # its first key, whose opener is missing
    int64_t object_name, object_id               # wrapped: where the quotes of name and id are in the input; 0: no id
    uint8_t name_nth, name_inner                 # and which member is the name, as in WrappedCall
    uint8_t body                                 # the state of its body: PAIRS, RAW, WRAPPED or PYTHON
    uint8_t empty                                # the name's end ends the call too
    uint8_t repeated, bare, in_section, array
    uint8_t doubled                              # the end of the word `function` comes more than once
    uint8_t unended                              # the end of its name is missing, or a quote of it in an object
    uint8_t name_open                            # in an object: its closing quote is, and the next key's is there
    uint8_t python                               # in an object: it is written as Python prints it
    uint8_t hollow                               # there is no call between its opener and its closer


cdef int look_opened(const View* v, const Context* c, Py_ssize_t i, int k, Py_ssize_t origin,
                     CallHeader* h) noexcept nogil
cdef int backquotes(const View* v, Py_ssize_t i, Py_ssize_t n) noexcept nogil
