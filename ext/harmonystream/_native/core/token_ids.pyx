# Token ids from Python: one int, a sequence, or an integer buffer (array, numpy, torch), without a Python object per
# element for buffers.

import sys

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_STRIDES, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, strchr
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.cpython cimport PyList_CheckExact, PyLong_CheckExact, small_int
from harmonystream._native.core.locks cimport FREE_THREADED

DEBUG = bool(DEBUG_BUILD)

cdef char NATIVE_ORDER = c"<" if sys.byteorder == "little" else c">"
cdef int64_t MAX_ID = 0xFFFFFFFF
WANTED = "token ids are one int, a sequence of ints, or a buffer of integers (array, numpy, torch)"


cdef int ids_take(Ids* out, object given) except -1:
    """Fills `out`; the caller frees it. Raises before anything was used, so a bad id leaves the stream as it was."""
    out.block = NULL
    out.viewed = False
    out.n = 0
    out.ids = out.inline_ids
    try:
        if PyLong_CheckExact(given):
            out.inline_ids[0] = one_id(given, -1)
            out.n = 1
        elif isinstance(given, (list, tuple)):
            take_sequence(out, given)
        elif isinstance(given, (str, bytes, bytearray)):
            raise TypeError(f"{WANTED}, not {type(given).__name__}")
        elif PyObject_CheckBuffer(given):
            take_buffer(out, given)
        else:
            take_other(out, given)
    except BaseException:
        ids_free(out)
        raise
    return 0


cdef void ids_free(Ids* out) noexcept:
    free(out.block)
    out.block = NULL
    if out.viewed:
        out.viewed = False
        PyBuffer_Release(&out.view)


cdef where(Py_ssize_t index):
    return "the id" if index < 0 else f"ids[{index}]"


cdef uint32_t one_id(object item, Py_ssize_t index) except? 0xFFFFFFFF:
    cdef int overflow = 0
    cdef long long value
    if not PyLong_CheckExact(item):
        if isinstance(item, bool) or not hasattr(item, "__index__"):
            hint = ": one stream's ids are flat" if isinstance(item, (list, tuple)) else ""
            raise TypeError(f"{WANTED}; {where(index)} is {type(item).__name__}{hint}")
        item = item.__index__()
    value = PyLong_AsLongLongAndOverflow(item, &overflow)
    if overflow or value < 0 or value > MAX_ID:
        raise ValueError(f"{where(index)} is {item}: a token id is from 0 to 4294967295")
    return <uint32_t>value


cdef uint32_t* room(Ids* out, Py_ssize_t n) except NULL:
    if n <= INLINE_IDS:
        return out.inline_ids
    out.block = <uint32_t*>malloc(n * sizeof(uint32_t))
    if out.block == NULL:
        raise MemoryError()
    return out.block


cdef int take_sequence(Ids* out, object given) except -1:
    cdef Py_ssize_t i = 0, n, value
    cdef uint32_t* ids
    cdef tuple items
    cdef list plain
    # exact ints run no code: the list cannot change under us
    if not FREE_THREADED and PyList_CheckExact(given):
        plain = <list>given
        n = len(plain)
        ids = room(out, n)
        while i < n:
            value = small_int(plain[i]) if PyLong_CheckExact(plain[i]) else -1
            if value < 0:
                break
            ids[i] = <uint32_t>value
            i += 1
        if i == n:
            out.ids = ids
            out.n = n
            return 0
        ids_free(out)
    items = given if type(given) is tuple else tuple(given)
    n = len(items)
    ids = room(out, n)
    for i in range(n):
        ids[i] = one_id(items[i], i)
    out.ids = ids
    out.n = n
    return 0


cdef int take_other(Ids* out, object given) except -1:
    if hasattr(given, "numpy"):                                              # a torch tensor: shares its memory
        take_buffer(out, given.numpy())
    elif hasattr(given, "__index__") and not isinstance(given, bool):
        out.inline_ids[0] = one_id(given, -1)
        out.n = 1
    elif hasattr(given, "__iter__") and not isinstance(given, (dict, set, frozenset)):
        take_sequence(out, given)
    else:
        raise TypeError(f"{WANTED}, not {type(given).__name__}")
    return 0


cdef int take_buffer(Ids* out, object given) except -1:
    cdef Py_buffer* view = &out.view
    cdef Py_ssize_t n = 1, stride
    cdef int axis, long_axis = -1
    cdef char code
    cdef int k = 0
    PyObject_GetBuffer(given, view, PyBUF_FORMAT | PyBUF_STRIDES)
    out.viewed = True
    code = view.format[0] if view.format != NULL else c'B'
    if code == c'@' or code == c'=' or code == NATIVE_ORDER:
        k = 1
        code = view.format[1]
    if code == 0 or strchr(b"hHiIlLqQ", code) == NULL or view.format[k + 1] != 0:
        form = "B" if view.format == NULL else (<bytes>view.format).decode()
        raise TypeError(f"{WANTED}; this buffer holds {form!r}, not 2-, 4- or 8-byte integers in the machine's byte "
                        f"order")
    for axis in range(view.ndim):
        if view.shape[axis] != 1:
            if long_axis >= 0:
                shape = tuple([view.shape[k] for k in range(view.ndim)])
                raise ValueError(f"ids must be one stream's: a shape with one dimension longer than 1, not {shape}")
            long_axis = axis
            n = view.shape[axis]
    # NULL: contiguous (ctypes)
    stride = view.strides[long_axis] if long_axis >= 0 and view.strides != NULL else view.itemsize
    copy_items(out, <const char*>view.buf, n, stride, view.itemsize, strchr(b"hilq", code) != NULL)
    return 0


cdef int copy_items(Ids* out, const char* p, Py_ssize_t n, Py_ssize_t stride, Py_ssize_t size, bint signed) except -1:
    cdef Py_ssize_t i
    cdef int64_t value = 0, bad = -1
    cdef int32_t signs = 0
    cdef uint32_t* ids
    # int32 as it lies: only the sign must be checked
    if size == 4 and stride == 4 and <size_t>p % 4 == 0:
        if signed:
            for i in range(n):
                signs |= (<const int32_t*>p)[i]
            if signs < 0:
                bad = 0
                while bad < n - 1 and (<const int32_t*>p)[bad] >= 0:
                    bad += 1
        out.ids = <const uint32_t*>p
    else:
        ids = room(out, n)
        for i in range(n):
            value = item_at(p + i * stride, size, signed)
            if value < 0 or value > MAX_ID:
                bad = i
                break
            ids[i] = <uint32_t>value
        out.ids = ids
    if bad >= 0:
        value = item_at(p + bad * stride, size, signed)
        shown = <object>value if signed else <object><uint64_t>value
        raise ValueError(f"ids[{bad}] is {shown}: a token id is from 0 to 4294967295")
    out.n = n
    return 0


cdef inline int64_t item_at(const char* p, Py_ssize_t size, bint signed) noexcept nogil:
    """One integer, aligned or not."""
    cdef int64_t wide = 0
    cdef int32_t medium = 0
    cdef int16_t small = 0
    if size == 8:
        # a uint64 beyond int64 turns negative: refused as well
        memcpy(&wide, p, 8)
        return wide
    if size == 4:
        memcpy(&medium, p, 4)
        return medium if signed else <int64_t><uint32_t>medium
    memcpy(&small, p, 2)
    return small if signed else <int64_t><uint16_t>small
