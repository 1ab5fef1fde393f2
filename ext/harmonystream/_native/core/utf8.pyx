# UTF-8 and str.

from cpython.unicode cimport PyUnicode_AsEncodedString, PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t
from harmonystream._native.core.build cimport DEBUG_BUILD

DEBUG = bool(DEBUG_BUILD)


cdef str decoded(const uint8_t* p, Py_ssize_t n):
    """The bytes as text, with U+FFFD for what is ill-formed."""
    return PyUnicode_DecodeUTF8(<const char*>p, n, "replace")


cdef str without_surrogates(object text):
    """The text, also of a subclass of str, as a str with U+FFFD for each surrogate: UTF-8 has none. A pair that JSON or
    a cut left apart becomes two.
    """
    return PyUnicode_AsEncodedString(text, b"utf-32-le", b"surrogatepass").decode("utf-32-le", "replace")
