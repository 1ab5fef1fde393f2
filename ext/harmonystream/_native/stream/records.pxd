# What a machine wrote, record by record, as Python objects.

from libc.stdint cimport uint8_t
from harmonystream._native.stream.events cimport ToolCallEnd, ToolCallStart
from harmonystream._native.core.types cimport Out, Record

cdef str without_surrogates(str text)
cdef str decoded(const uint8_t* p, Py_ssize_t n)
cdef str header_part(const Out* o, const Record* r, int k)
cdef ToolCallStart call_start(const Out* o, const Record* r)
cdef ToolCallEnd call_end(const Record* r, str empty_args)
