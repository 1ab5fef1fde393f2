# What the hot path asks of CPython itself, where Cython's own way costs a call or a reference.

from cpython.object cimport PyObject
from libc.stdint cimport uint32_t

cdef extern from *:
    """
    /* The value of an exact int, or -1 if it is negative or does not fit one digit: then the slow path decides. */
    static CYTHON_INLINE Py_ssize_t hs_small_int(PyObject *o) {
    #if PY_VERSION_HEX >= 0x030C0000
        Py_ssize_t value = PyUnstable_Long_IsCompact((PyLongObject *)o) ? PyUnstable_Long_CompactValue((PyLongObject *)o) : -1;
        return value < 0 ? -1 : value;
    #else
        Py_ssize_t digits = Py_SIZE(o);
        return digits == 1 ? (Py_ssize_t)((PyLongObject *)o)->ob_digit[0] : digits == 0 ? 0 : -1;
    #endif
    }

    /* (event,), stealing the event. If nobody holds the last tuple made here any more, it is used again, as zip() and enumerate() do:
       that saves an allocation per token. Events and str cannot form a cycle, so the tuple's place in the collector does not matter. */
    static CYTHON_INLINE PyObject *hs_single(PyObject **last, PyObject *event) {
        PyObject *single = *last, *old;
    #ifndef Py_GIL_DISABLED
        if (single != NULL && Py_REFCNT(single) == 1) {
            old = PyTuple_GET_ITEM(single, 0);
            PyTuple_SET_ITEM(single, 0, event);
    #if PY_VERSION_HEX >= 0x030E0000
            ((PyTupleObject *)single)->ob_hash = -1;
    #endif
            Py_INCREF(single);
            Py_DECREF(old);
            return single;
        }
    #endif
        single = PyTuple_New(1);
        if (single == NULL) {
            Py_DECREF(event);
            return NULL;
        }
        PyTuple_SET_ITEM(single, 0, event);
    #ifndef Py_GIL_DISABLED
        Py_INCREF(single);
        old = *last;
        *last = single;
        Py_XDECREF(old);
    #endif
        return single;
    }
    #define hs_incref(o) (Py_INCREF((PyObject *)(o)), (PyObject *)(o))

    /* One call at a time per parser. With the GIL only a call that released it can be met; without, anyone. */
    #if defined(_MSC_VER)
      #include <intrin.h>
      #define hs_enter(flag) (_InterlockedExchange8((flag), 1) == 0)
      #define hs_leave(flag) ((void)_InterlockedExchange8((flag), 0))
      #define hs_is_in(flag) (_InterlockedOr8((flag), 0) != 0)
      #define hs_get_int(p) ((int)_InterlockedOr((volatile long *)(p), 0))
      #define hs_put_int(p, v) ((void)_InterlockedExchange((volatile long *)(p), (v)))
    #else
      #define hs_enter(flag) (__atomic_exchange_n((flag), 1, __ATOMIC_ACQUIRE) == 0)
      #define hs_leave(flag) (__atomic_store_n((flag), 0, __ATOMIC_RELEASE))
      #define hs_is_in(flag) (__atomic_load_n((flag), __ATOMIC_ACQUIRE) != 0)
      #define hs_get_int(p) (__atomic_load_n((p), __ATOMIC_ACQUIRE))
      #define hs_put_int(p, v) (__atomic_store_n((p), (v), __ATOMIC_RELEASE))
    #endif
    /* The caller's buffers may be written while they are read: what is checked must be what is used. */
    #define hs_read_once(p) (*(const volatile uint32_t *)(p))
    #ifdef Py_GIL_DISABLED
      #define HS_FREE_THREADED 1
    #else
      #define HS_FREE_THREADED 0
    #endif
    """
    Py_ssize_t small_int "hs_small_int"(object number) noexcept
    object single "hs_single"(PyObject** last, PyObject* event)
    PyObject* incref "hs_incref"(object o) noexcept
    bint enter "hs_enter"(char* flag) noexcept nogil
    void leave "hs_leave"(char* flag) noexcept nogil
    bint is_in "hs_is_in"(char* flag) noexcept nogil                       # for who may look without the GIL
    int get_int "hs_get_int"(int* p) noexcept nogil
    void put_int "hs_put_int"(int* p, int value) noexcept nogil
    uint32_t read_once "hs_read_once"(const uint32_t* p) noexcept nogil
    const int FREE_THREADED "HS_FREE_THREADED"
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* n) except NULL
    bint PyLong_CheckExact(object o) noexcept
    bint PyList_CheckExact(object o) noexcept
    void Py_XDECREF(PyObject* o) noexcept
