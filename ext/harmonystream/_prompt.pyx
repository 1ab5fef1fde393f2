# Where a prompt leaves off: the message that the model goes on with.

from libc.stdint cimport uint32_t
from harmonystream._build cimport DEBUG_BUILD
from harmonystream._ids cimport Ids, ids_free, ids_take
from harmonystream._program cimport Program

DEBUG = bool(DEBUG_BUILD)


cdef object last_message(object prompt, Program program):
    """The prompt from its last start marker on: ids as a tuple, or text; None if there is none."""
    cdef str marker = program.format.markers["start"]
    cdef Ids ids
    cdef Py_ssize_t i
    cdef uint32_t start
    if isinstance(prompt, bytes):
        prompt = prompt.decode("utf-8", "replace")
    if isinstance(prompt, str):
        i = prompt.rfind(marker)
        return None if i < 0 else prompt[i:]
    start = program.vocab.by_name[marker]
    ids_take(&ids, prompt)
    try:
        i = ids.n - 1
        while i >= 0 and ids.ids[i] != start:
            i -= 1
        return None if i < 0 else tuple([ids.ids[k] for k in range(i, ids.n)])
    finally:
        ids_free(&ids)
