# Many streams per decode step.

cimport cython
from libc.stdint cimport uint32_t
from harmonystream._parser cimport Parser
from harmonystream._program cimport Program
from harmonystream._types cimport Out


@cython.final
cdef class Batch:
    cdef Program program
    cdef dict options
    cdef list parsers              # by slot; None: free
    cdef list writers              # of the slots that were opened with an emitter
    cdef list free
    cdef char busy

    cdef int check(self, const uint32_t* slots, Py_ssize_t n) except -1
    cdef int step(self, Out* out, Py_ssize_t* ends, const uint32_t* slots, Py_ssize_t n, const uint32_t* ids, Py_ssize_t n_ids,
                  const uint32_t* offsets) except -1
    cdef object columns(self, Out* out, const Py_ssize_t* ends, Py_ssize_t n, const uint32_t* slots)
    cdef list frames(self, Out* out, const Py_ssize_t* ends, Py_ssize_t n, const uint32_t* slots)
