# Records as events: what a machine wrote without Python, and what Python sees of it.

from harmonystream._native.core.types cimport Out, Record
from harmonystream._native.stream.events cimport MessageEnd, MessageStart


cdef class EventMaker:             # what a stream must remember for its next events
    # of the open message; None between messages
    cdef str open_role, open_channel, open_recipient, open_content_type
    cdef str empty_args            # the arguments of a complete call that wrote none
    cdef str end_reason            # of the StreamEnd

    cdef tuple collect(self, const Out* out)
    cdef tuple preview(self, const Out* out)
    cdef object event_of(self, const Out* out, Py_ssize_t i)
    cdef MessageStart message_start(self, const Out* out, const Record* r)
    cdef MessageEnd message_end(self, const Record* r)
