# cython: language_level=3, binding=False, always_allow_keywords=False
# What CPython itself takes for a call per token: nothing with this interface can be faster. Built by limits.py.

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.long cimport PyLong_AsLong
from libc.stdint cimport uint32_t
from libc.string cimport memcpy
cimport cython

cdef extern from *:
    """
    /* Is the tuple's only reference the caller's own? Then its item can be exchanged. */
    static int exchange(PyObject* kept, PyObject* item) {
        if (Py_REFCNT(kept) != 1) return 0;
        PyObject* old = PyTuple_GET_ITEM(kept, 0);
        Py_INCREF(item);
        PyTuple_SET_ITEM(kept, 0, item);
        Py_DECREF(old);
        return 1;
    }
    """
    bint exchange(void* kept, void* item)


@cython.final
@cython.no_gc
@cython.freelist(8)
cdef class Event:
    cdef readonly str text
    cdef readonly long start, stop


cdef class Limits:
    cdef bytes source
    cdef tuple kept
    cdef char[4096 + 4] sink

    def __cinit__(self):
        self.kept = (None,)
        self.source = bytes(range(256)) * 16

    def nothing(self, item, /):
        return None

    def event(self, item, /):
        return Event.__new__(Event)

    def tuple_of_item(self, item, /):
        return (item,)

    def tuple_of_event(self, item, /):
        cdef Event event = Event.__new__(Event)
        return (event,)

    def tuple_used_again(self, item, /):
        cdef Event event = Event.__new__(Event)
        if not exchange(<void*>self.kept, <void*>event):
            self.kept = (event,)
        return self.kept

    def copy_each(self, list ids not None, /):
        """The least that a span of ids can cost: unpack each, and copy four bytes for it."""
        cdef Py_ssize_t i, at = 0
        cdef uint32_t tid
        for i in range(PyList_GET_SIZE(ids)):
            tid = <uint32_t>PyLong_AsLong(<object>PyList_GET_ITEM(ids, i))
            memcpy(self.sink + at, PyBytes_AS_STRING(self.source) + (tid & 0xFFF), 4)
            at = (at + 4) & 0xFFF
