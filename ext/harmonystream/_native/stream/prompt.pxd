# Where a prompt leaves off: the state in which a stream begins.

from harmonystream._native.stream.program cimport Program
from harmonystream._native.core.tools cimport Tools
from harmonystream._native.core.types cimport Stream

cdef int begin_stream(Stream* s, Program program, Tools tools, bint trim, object start, object prompt) except -1
