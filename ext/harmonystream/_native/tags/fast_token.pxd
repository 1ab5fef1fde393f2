# The second shortcut of the decode loop: one token of a tag format that holds newlines, quotes or structure, but no marker.

from harmonystream._native.stream.parser cimport Parser

cdef tuple quick_token(Parser parser, Py_ssize_t tid)
