# What a script has told, as bytes and back.

from harmonystream._native.core.types cimport Buffer
from harmonystream._native.core.fields cimport Fields
from harmonystream._native.wire.tell cimport Writer

cdef enum Fault:
    USABLE, REFUSED, LACKS_MEMORY

cdef bint told_pack(const Writer* w, Buffer* to) noexcept nogil
cdef Fault told_unpack(Writer* w, Fields* f, Buffer* frames) noexcept nogil
