# The arguments of a call, made into one JSON object as they come.

cimport cython
from libc.stdint cimport uint8_t
from harmonystream._native.core.types cimport Buffer

cdef enum:
    MAX_DEPTH = 200     # what jiter reads, and so the official client
    MAX_SCALAR = 4300   # as many digits of an integer as jiter and Python read


@cython.final
cdef class Arguments:
    cdef bytes text_opening         # sent before the text of arguments that do not begin as an object
    cdef Buffer sent                # everything that may be sent
    cdef Buffer raw                 # the text as it was written, until everything goes into a string
    # read but not sent yet: what separates members, and then the unfinished scalar or escape
    cdef Buffer held
    cdef Py_ssize_t scalar_n        # bytes of that scalar or escape
    cdef int number                 # state of the number that is being read (core/json_number.pxd)
    cdef const char* word           # the literal that is being read
    cdef int depth
    cdef uint8_t[MAX_DEPTH] closers
    cdef uint8_t step
    cdef bint filled                # has the object any member?
    cdef bint in_key                # is the string being read, or read last, a key?

    cdef Py_ssize_t read(self, const uint8_t* p, Py_ssize_t n) except -1
    cdef bint advance(self, const uint8_t* p, Py_ssize_t n) noexcept
    cdef Py_ssize_t begin(self, const uint8_t* p, Py_ssize_t n) noexcept
    cdef Py_ssize_t string(self, const uint8_t* p, Py_ssize_t i, Py_ssize_t n) noexcept
    cdef bint structure(self, uint8_t c) noexcept
    cdef bint value(self, uint8_t c) noexcept
    cdef bint scalar(self, uint8_t c) noexcept
    cdef bint release_scalar(self) noexcept
    cdef bint escape(self, uint8_t c) noexcept
    cdef str since(self, Py_ssize_t before)
    cdef bint put(self, uint8_t c) noexcept
    cdef bint hold(self, uint8_t c) noexcept
    cdef bint release(self) noexcept
    cdef bint open(self, uint8_t c) noexcept
    cdef bint close(self) noexcept
    cdef bint quote(self, bint in_key) noexcept
    cdef bint give_up(self) noexcept
    cdef bint wrap(self, const uint8_t* opening, Py_ssize_t n) noexcept
