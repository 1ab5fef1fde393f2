# What the hot path asks of CPython itself, where Cython's own way costs a call or a reference.

from cpython.object cimport PyObject

cdef extern from *:
    """
    /* The value of an exact int, or -1 if it is negative or does not fit one digit: then the slow path decides. */
    static CYTHON_INLINE Py_ssize_t hs_small_int(PyObject *o) {
    #if PY_VERSION_HEX >= 0x030C0000
        PyLongObject *number = (PyLongObject *)o;
        Py_ssize_t value = PyUnstable_Long_IsCompact(number) ? PyUnstable_Long_CompactValue(number) : -1;
        return value < 0 ? -1 : value;
    #else
        Py_ssize_t digits = Py_SIZE(o);
        return digits == 1 ? (Py_ssize_t)((PyLongObject *)o)->ob_digit[0] : digits == 0 ? 0 : -1;
    #endif
    }

    /* What feed() returned: the last tuple of one event, and the event before the last one. Each is used again when
       there is no other reference to it, as zip() does with its tuple: that saves two allocations per token. The loop
       variable of a caller holds the last event, but not the one before. Events and str cannot form a cycle, so the
       tuple's place in the collector does not matter. */
    typedef struct {
        PyObject *tuple, *event;
    } hs_returned;

    /* The event before the last one, to be filled anew, or NULL. */
    static CYTHON_INLINE PyObject *hs_take_event(hs_returned *returned, PyObject *type) {
    #ifndef Py_GIL_DISABLED
        PyObject *event = returned->event;
        if (event != NULL && Py_REFCNT(event) == 1 && (PyObject *)Py_TYPE(event) == type) {
            returned->event = NULL;
            return event;
        }
    #endif
        return NULL;
    }

    /* (event,), stealing the event. */
    static CYTHON_INLINE PyObject *hs_single(hs_returned *returned, PyObject *event) {
        PyObject *single = returned->tuple, *old;
    #ifndef Py_GIL_DISABLED
        if (single != NULL && Py_REFCNT(single) == 1) {
            old = returned->event;
            returned->event = PyTuple_GET_ITEM(single, 0);
            PyTuple_SET_ITEM(single, 0, event);
    #if PY_VERSION_HEX >= 0x030E0000
            ((PyTupleObject *)single)->ob_hash = -1;
    #endif
            Py_INCREF(single);
            Py_XDECREF(old);
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
        old = returned->tuple;
        returned->tuple = single;
        Py_XDECREF(old);
    #endif
        return single;
    }
    /* The bytes of a str that has nothing but ASCII, or NULL. */
    static CYTHON_INLINE const unsigned char *hs_ascii_bytes(PyObject *text, Py_ssize_t *n) {
        if (!PyUnicode_IS_COMPACT_ASCII(text)) return NULL;
        *n = PyUnicode_GET_LENGTH(text);
        return (const unsigned char *)PyUnicode_1BYTE_DATA(text);
    }
    #define hs_incref(o) (Py_INCREF((PyObject *)(o)), (PyObject *)(o))
    """
    Py_ssize_t small_int "hs_small_int"(object number) noexcept
    ctypedef struct Returned "hs_returned":
        PyObject* tuple
        PyObject* event
    PyObject* take_event "hs_take_event"(Returned* returned, object type) noexcept
    tuple single "hs_single"(Returned* returned, PyObject* event)
    PyObject* incref "hs_incref"(object o) noexcept
    const unsigned char* ascii_bytes "hs_ascii_bytes"(object text, Py_ssize_t* n) noexcept
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* n) except NULL
    bint PyLong_CheckExact(object o) noexcept
    bint PyList_CheckExact(object o) noexcept
    void Py_XDECREF(PyObject* o) noexcept
