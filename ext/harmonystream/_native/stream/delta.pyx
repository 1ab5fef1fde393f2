# The records of one call as one Delta, for hosts that need no events: the new reasoning, the new content, and the new
# parts of each call.

from libc.stdint cimport int64_t, uint8_t
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.json_text cimport UNREADABLE_SIZE, unreadable_text
from harmonystream._native.core.named cimport named_tuple
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport decoded
from harmonystream._native.stream.records cimport EventMaker

from harmonystream.completion import CallDelta, Delta

DEBUG = bool(DEBUG_BUILD)

cdef object NOTHING = Delta("", "", ())


cdef object plain_delta(uint8_t kind, str text, int64_t index):
    """Of one piece of text for the open sink. index: the open call's."""
    if kind == R_CONTENT:
        return named_tuple(Delta, ("", text, ()))
    if kind == R_REASONING:
        return named_tuple(Delta, (text, "", ()))
    return named_tuple(Delta, ("", "", (named_tuple(CallDelta, (index, None, None, text)),)))


cdef object delta_of(EventMaker maker, const Out* out):
    """Of all records. The maker learns which message is open, as it does from events."""
    cdef const Record* r
    cdef Py_ssize_t i
    cdef list reasoning = [], content = [], calls = [], arguments = []
    cdef str name = None, id = None, text
    cdef int64_t index = -1                # of the call that begins or goes on; -1: no call
    for i in range(out.n_records):
        r = &out.records[i]
        if r.kind == R_CONTENT:
            content.append(decoded(out.text + r.at, r.n))
        elif r.kind == R_REASONING:
            reasoning.append(decoded(out.text + r.at, r.n))
        elif r.kind == R_ARGUMENTS or r.kind == R_EMPTY_ARGUMENTS:
            text = maker.empty_args if r.kind == R_EMPTY_ARGUMENTS else decoded(out.text + r.at, r.n)
            if text:
                index = r.index
                arguments.append(text)
        elif r.kind == R_CALL_START:
            index, name = r.index, decoded(out.text + r.at, r.n)
            id = decoded(out.text + r.at + r.n, r.n_id) if r.n_id else None
        elif r.kind == R_CALL_END:
            if r.flags & UNREADABLE:
                index = r.index
                arguments.append(decoded(unreadable_text(), UNREADABLE_SIZE))
            if index >= 0 and (name is not None or arguments):
                calls.append(call_delta_of(index, id, name, arguments))
            index, name, id, arguments = -1, None, None, []
        elif r.kind == R_MESSAGE_START:
            maker.message_start(out, r)
        elif r.kind == R_MESSAGE_END:
            maker.message_end(r)
    if index >= 0:
        calls.append(call_delta_of(index, id, name, arguments))
    if not (reasoning or content or calls):
        return NOTHING
    return named_tuple(Delta, (whole_text(reasoning), whole_text(content), tuple(calls)))


cdef object call_delta_of(int64_t index, str id, str name, list arguments):
    return named_tuple(CallDelta, (index, id, name, whole_text(arguments)))


cdef inline str whole_text(list pieces):
    return <str>pieces[0] if len(pieces) == 1 else "".join(pieces)
