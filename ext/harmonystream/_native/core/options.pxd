# The options of callers: an error about one has its name.


cdef inline bint flag_of(str name, object value) except -1:
    """A text such as "false" would count as true."""
    if value is True:
        return True
    if value is False:
        return False
    raise TypeError(f"{name} is True or False, not {value!r}")


cdef inline Py_ssize_t size_of(str name, object value) except? -1:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is a whole number, not {value!r}")
    return value
