# One stream: the Python face of a machine.

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t
from harmonystream._native.stream.open_stream cimport OpenStream, is_free
from harmonystream._native.core.token_ids cimport Ids
from harmonystream._native.core.cpython cimport PyLong_CheckExact, Returned, small_int
from harmonystream._native.core.bulk_tokens cimport is_plain_token
from harmonystream._native.core.types cimport *
from harmonystream._native.stream.plain_piece cimport Piece


@cython.final
cdef class Parser(OpenStream):
    cdef Returned returned         # what feed() may use again: see core/cpython.pxd

    cdef tuple quick_watched(self, Py_ssize_t tid)
    cdef str text_of(self, Py_ssize_t tid)
    cdef str first_text(self, Py_ssize_t tid)
    cdef tuple run_ids(self, object given)
    cdef tuple run_span(self, const uint32_t* ids, Py_ssize_t n)
    cdef int check_alone(self) except -1
    cdef tuple quick(self, Py_ssize_t tid)
    cdef int copy_state(self, Parser other) except -1
    cdef int read_ids(self, const uint32_t* ids, Py_ssize_t n, Out* out) except -1
    cdef str read_text(self, object text, Out* out, Piece* piece)
    cdef void run_text(self, const uint8_t* p, Py_ssize_t n, bint valid, Out* out) noexcept
    cdef bint read_end(self, object reason, Out* out) except -1
    cdef object release(self, Out* out, bint as_delta)
    cdef void done(self, Out* out) noexcept
    cdef tuple whole_piece(self, str text, const Piece* piece)
    cdef tuple one_delta(self, uint8_t kind, str text, int64_t start, int64_t stop)


cdef Parser parser_in(const uint8_t* p, Py_ssize_t n, object vocab, object format, object tools, object watch)
cdef int take_ids(Ids* out, object given) except -1


cdef inline Py_ssize_t plain_token(Parser parser, object ids) noexcept:
    """The id if its text goes to the open sink as it is; else -1. The shortcut of the decode loop."""
    cdef Py_ssize_t tid
    if not is_free(parser) or not parser.s.fast or not PyLong_CheckExact(ids):
        return -1
    tid = small_int(ids)
    return tid if tid >= 0 and is_plain_token(&parser.s, &parser.program.tables, <uint32_t>tid) else -1
