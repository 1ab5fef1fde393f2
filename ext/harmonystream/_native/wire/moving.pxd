# A writer of frames that can be moved to another process.

from harmonystream._native.wire.writer cimport OpenWriter


cdef class MovingWriter(OpenWriter):
    pass
