# The arguments of a call, made into one JSON object as they come.

cimport cython
from libc.stdint cimport uint8_t
from harmonystream._native.core.types cimport Buffer

cdef enum:
    MAX_DEPTH = 200     # what jiter reads, and so the official client
    MAX_SCALAR = 4300   # as many digits of an integer as jiter and Python read

cdef enum:                             # what may come next
    A_BEGIN, A_KEY, A_COLON, A_VALUE, A_AFTER, A_NUMBER, A_WORD, A_STRING, A_ESCAPE, A_DONE
    A_TEXT                             # anything: it is in a string that was made here


cdef struct Filter:
    const uint8_t* text_opening     # sent before the text of arguments that do not begin as an object
    Py_ssize_t n_text_opening
    Buffer sent                     # everything that may be sent
    Buffer raw                      # the text as it was written, until everything goes into a string
    # read but not sent yet: what separates members, and then the unfinished scalar or escape
    Buffer held
    Py_ssize_t scalar_n             # bytes of that scalar or escape
    int number                      # state of the number that is being read (core/json_number.pxd)
    const char* word                # the literal that is being read
    int depth
    uint8_t[MAX_DEPTH] closers
    uint8_t step
    bint filled                     # has the object any member?
    bint in_key                     # is the string being read, or read last, a key?


@cython.final
cdef class Arguments:
    cdef bytes text_opening
    cdef Filter f

    cdef str since(self, Py_ssize_t before)


cdef bytes opening_of(str text_key)
cdef bint filter_read(Filter* f, const uint8_t* p, Py_ssize_t n) noexcept nogil
cdef bint filter_end(Filter* f, bint complete) noexcept nogil
cdef void filter_clear(Filter* f, Py_ssize_t most) noexcept nogil
