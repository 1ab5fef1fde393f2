# What a machine wrote, record by record, as Python objects.

from harmonystream._native.stream.events cimport ToolCallEnd, ToolCallStart
from harmonystream._native.core.types cimport Out, Record

cdef str header_part(const Out* o, const Record* r, int k)
cdef ToolCallStart call_start(const Out* o, const Record* r)
cdef ToolCallEnd call_end(const Record* r, str empty_args)
