# label(): the machine without events, over a whole buffer.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.token_ids cimport Ids, ids_free, ids_take
from harmonystream._native.stream.machine cimport machine_finish, machine_ids
from harmonystream._native.stream.parser cimport Parser
from harmonystream._native.core.out cimport out_free, out_init
from harmonystream._native.core.types cimport Context, Out

DEBUG = bool(DEBUG_BUILD)


def label(ids, format="harmony", *, vocab=None, tools=None, start="auto", prompt=None):
    """One byte per token, its `Region`, for loss masks and counts; the options are those of Parser. Releases the GIL.

    Header text that turns out to be a body counts as that body. Raises what Parser() and feed() raise, never ParseError.
    """
    cdef Parser p = Parser.__new__(Parser, format, vocab, tools=tools, start=start, prompt=prompt)
    cdef Ids span
    cdef Out out
    cdef Context c
    cdef bytes labels
    ids_take(&span, ids)
    try:
        labels = PyBytes_FromStringAndSize(NULL, span.n)
        out_init(&out)
        out.labels = <uint8_t*>PyBytes_AS_STRING(labels)
        c = p.context(&out)
        p.claim(1)
        p.s.text_mode = 1
        with nogil:
            machine_ids(&p.s, &c, span.ids, span.n)
            machine_finish(&p.s, &c, False, False)
        out_free(&out)
        if out.no_memory:
            raise MemoryError()
        return labels
    finally:
        ids_free(&span)
