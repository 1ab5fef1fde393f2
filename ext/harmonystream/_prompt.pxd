# Where a prompt leaves off.

from harmonystream._program cimport Program

cdef object last_message(object prompt, Program program)
