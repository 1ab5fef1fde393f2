# Named tuples without a call of Python.

cdef extern from *:
    """
    /* A named tuple of these fields, which it takes over; what its class's __new__ does, without the call of Python. */
    static PyObject *hs_named_tuple(PyObject *kind, PyObject *fields) {
        PyObject *arguments = PyTuple_Pack(1, fields);
        PyObject *made = arguments == NULL ? NULL : PyTuple_Type.tp_new((PyTypeObject *)kind, arguments, NULL);
        Py_XDECREF(arguments);
        return made;
    }
    """
    object named_tuple "hs_named_tuple"(object kind, tuple fields)
