# Where a prompt leaves off: the state in which a stream begins.

from harmonystream._program cimport Program
from harmonystream._tools cimport Tools
from harmonystream._types cimport Stream

cdef int begin_stream(Stream* s, Program program, Tools tools, bint trim, object start, object prompt) except -1
