# Errors that name the class. Cython says "__cinit__() takes at most 2 positional arguments"; a caller wrote
# Parser(...).

cdef extern from *:
    """
    static newfunc hs_unnamed_new;           /* of the one class of this module */

    static PyObject *hs_named_new(PyTypeObject *type, PyObject *args, PyObject *options) {
        PyObject *made = hs_unnamed_new(type, args, options);
        PyObject *kind, *error, *trace, *text, *message = NULL, *old, *name;
        const char *dot;
        if (made != NULL || !PyErr_ExceptionMatches(PyExc_TypeError)) return made;
        PyErr_Fetch(&kind, &error, &trace);
        text = error == NULL ? NULL : PyObject_Str(error);
        old = PyUnicode_FromString("__cinit__()");
        dot = strrchr(type->tp_name, '.');
        name = PyUnicode_FromFormat("%s()", dot == NULL ? type->tp_name : dot + 1);
        if (text != NULL && old != NULL && name != NULL && PyUnicode_Contains(text, old) == 1)
            message = PyUnicode_Replace(text, old, name, 1);
        Py_XDECREF(text); Py_XDECREF(old); Py_XDECREF(name);
        if (message == NULL) {
            PyErr_Clear();
            PyErr_Restore(kind, error, trace);
            return NULL;
        }
        PyErr_SetObject(kind, message);
        Py_DECREF(message); Py_XDECREF(kind); Py_XDECREF(error); Py_XDECREF(trace);
        return NULL;
    }

    static CYTHON_INLINE void hs_name_errors(PyObject *type) {
        hs_unnamed_new = ((PyTypeObject *)type)->tp_new;
        ((PyTypeObject *)type)->tp_new = hs_named_new;
        ((PyTypeObject *)type)->tp_vectorcall = NULL;    /* which would not ask tp_new */
    }
    """
    void name_errors "hs_name_errors"(object type) noexcept    # once in a module, for its class
