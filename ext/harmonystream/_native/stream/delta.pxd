# The records of one call as one delta.

from libc.stdint cimport int64_t, uint8_t
from harmonystream._native.core.types cimport Out
from harmonystream._native.stream.records cimport EventMaker

cdef object delta_of(EventMaker maker, const Out* out)
cdef object plain_delta(uint8_t kind, str text, int64_t index)
