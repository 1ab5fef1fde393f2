# Rows of ids or of text in another library's Arrow array. What its buffers say is checked before it is used, as far as
# the C data interface can be checked: it gives the length of an array, and not the size of its buffers.

cimport cython
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset
from harmonystream._native.core.buffer cimport buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.token_ids cimport ids_free, ids_take
from harmonystream._native.stream.arrow cimport ArrowArray, ArrowArrayStream, ArrowSchema

DEBUG = bool(DEBUG_BUILD)

cdef dict LISTS = {"+l": False, "+L": True}
cdef dict STRINGS = {"u": False, "U": True, "z": False, "Z": True}
cdef tuple VIEWS = ("vu", "vz")
cdef dict IDS = {"i": INT32, "I": UINT32, "l": INT64}
WANTED = ("a column is an Arrow array of lists (or large lists) of int32, uint32 or int64, an array of strings or "
          "binary (also large ones and views), or a pair (values, offsets)")


@cython.final
cdef class Rows:
    """Rows that parse_many() reads. It keeps the memory that they lie in."""

    def __cinit__(self):
        self.values_given.block = self.offsets_given.block = NULL
        self.values_given.viewed = self.offsets_given.viewed = False

    def __dealloc__(self):
        ids_free(&self.values_given)
        ids_free(&self.offsets_given)
        if self.array.release != NULL:
            self.array.release(&self.array)

    def __len__(self):
        return self.n

    cdef int take(self, str format, str item, bint is_batch) except -1:
        """Finds the buffers of `array`, which is set, or of the one column of a record batch."""
        cdef ArrowArray* a = &self.array
        cdef ArrowArray* child
        cdef int64_t buffers = 2 if format in LISTS else 3
        if format in LISTS and item in IDS:
            self.kind, self.wide = IDS[item], LISTS[format]
        elif format in STRINGS:
            self.kind, self.wide = STRING, STRINGS[format]
        elif format in VIEWS:
            self.kind, buffers = VIEW, max(3, a.n_buffers)
        else:
            kind = f"{format!r} of {item!r}" if format in LISTS else repr(format)
            raise TypeError(f"{WANTED}; this one has the Arrow type {kind}")
        if not possible(a, 1 if is_batch else buffers):
            raise ValueError("this Arrow array is damaged: its length, offset or number of buffers is impossible")
        self.n, self.first = a.length, a.offset
        if is_batch:
            a = a.children[0] if a.n_children == 1 and a.null_count <= 0 and a.buffers[0] == NULL else NULL
            if a == NULL or not possible(a, max(3, a.n_buffers) if self.kind == VIEW else buffers):
                raise ValueError("a record batch has one column, and no nulls of its own, unlike this one")
            if a.length < self.first + self.n:
                raise ValueError("this record batch is longer than its column")
            self.first += a.offset
        self.validity = <const uint8_t*>a.buffers[0] if a.null_count != 0 else NULL
        self.offsets = a.buffers[1]
        self.n_values = -1
        if self.kind == VIEW:
            return self.take_views(a)
        if self.kind == STRING:
            self.values = <const uint8_t*>a.buffers[2]
        else:
            child = a.children[0] if a.n_children == 1 else NULL
            if child == NULL or not possible(child, 2):
                raise ValueError("this Arrow array is damaged: its length, offset or number of buffers is impossible")
            if child.null_count != 0:
                self.ids_valid = <const uint8_t*>child.buffers[0]
            self.values, self.n_values = <const uint8_t*>child.buffers[1], child.length
            self.values_first = child.offset
        return self.check()

    cdef int take_views(self, const ArrowArray* a) except -1:
        cdef const uint8_t* p
        cdef int64_t k, n
        self.values, self.blocks = <const uint8_t*>self.offsets, a.buffers + 2
        self.n_blocks = a.n_buffers - 3
        self.sizes = <const int64_t*>a.buffers[a.n_buffers - 1]
        if (self.n and self.values == NULL) or (self.n_blocks and self.sizes == NULL):
            raise ValueError("this Arrow array is damaged: its rows have values, and the buffer of values is missing")
        for k in range(self.n):
            if not is_null(self, k) and not text_at(self, k, &p, &n):
                raise ValueError(f"string {k} of this Arrow array lies outside of its buffers")
        return 0

    cdef int check(self) except -1:
        """Offsets ascend, and stay within the values."""
        cdef int64_t i, end, last
        if self.n == 0:
            return 0
        if self.offsets == NULL:
            raise ValueError("this Arrow array has no offsets")
        last = offset_at(self, 0)
        if last < 0:
            raise ValueError(f"offsets[0] is {last}, which is less than 0")
        for i in range(self.n):
            end = offset_at(self, i + 1)
            if end < last:
                raise ValueError(f"offsets[{i + 1}] is {end}, less than offsets[{i}], {last}: offsets ascend")
            last = end
        if 0 <= self.n_values < last:
            raise ValueError(f"the offsets end at {last}, beyond the {self.n_values} values")
        if self.values == NULL and last > offset_at(self, 0):
            raise ValueError("this Arrow array is damaged: its rows have values, and the buffer of values is missing")
        return 0


cdef int ids_at(Rows rows, int64_t row, Buffer* narrow, const uint32_t** p, int64_t* n) noexcept nogil:
    """The ids of a row, in the column or, of int64, in `narrow`. NO_IDS: one is null, or no id."""
    cdef int64_t begin = offset_at(rows, row), at = rows.values_first + begin, i, value
    cdef int32_t signs = 0
    cdef const int32_t* given = NULL
    if rows.values != NULL:
        given = <const int32_t*>rows.values + at
    n[0] = offset_at(rows, row + 1) - begin
    if begin < 0 or n[0] < 0 or rows.n_values < begin + n[0] or (given == NULL and n[0]):
        return NO_IDS                                                        # another thread has written to the buffer
    if rows.ids_valid != NULL:
        for i in range(at, at + n[0]):
            if not rows.ids_valid[i >> 3] >> (i & 7) & 1:
                return NO_IDS
    if rows.kind == INT32:
        for i in range(n[0]):                                                # what is read again later may be any id
            signs |= given[i]
    p[0] = <const uint32_t*>given
    if rows.kind != INT64:
        return NO_IDS if signs < 0 else TAKEN
    narrow.n = 0
    if not buffer_room(narrow, n[0] * sizeof(uint32_t)):
        return NO_ROOM
    for i in range(n[0]):
        value = (<const int64_t*>rows.values)[at + i]
        if value < 0 or value >> 32:
            return NO_IDS
        (<uint32_t*>narrow.p)[i] = <uint32_t>value
    p[0] = <const uint32_t*>narrow.p
    return TAKEN


cdef bint possible(const ArrowArray* a, int64_t buffers) noexcept:
    return (0 <= a.length <= (<int64_t>1 << 40) and 0 <= a.offset <= (<int64_t>1 << 40) and a.n_buffers == buffers
            and buffers <= (1 << 24) and a.buffers != NULL and (a.n_children == 0 or a.children != NULL))


def rows_of(column):
    """The rows of a column, as a list of `Rows`, one for each chunk."""
    return list(rows_by_chunk(column))


def rows_by_chunk(column):
    """The same, each chunk when it is asked for."""
    if isinstance(column, Rows):
        return iter([column])
    if isinstance(column, tuple) and len(column) == 2:
        return iter([pair(column[0], column[1])])
    if hasattr(column, "__arrow_c_array__"):
        schema, array = column.__arrow_c_array__()
        return iter([one_array(schema, array)])
    if hasattr(column, "__arrow_c_stream__"):
        return chunks(moved(column.__arrow_c_stream__()))
    raise TypeError(f"{WANTED}, not {type(column).__name__}")


cdef Rows pair(object values, object offsets):
    cdef Rows rows = Rows.__new__(Rows)
    ids_take(&rows.values_given, values)
    ids_take(&rows.offsets_given, offsets)
    rows.kind = UINT32
    rows.n = rows.offsets_given.n - 1
    rows.n_values = rows.values_given.n
    if rows.n < 0 or rows.offsets_given.ids[0] != 0 or rows.offsets_given.ids[rows.n] != rows.n_values:
        raise ValueError(f"offsets begin at 0 and end at the number of ids, {rows.n_values}")
    rows.offsets = rows.offsets_given.ids
    rows.values = <const uint8_t*>rows.values_given.ids
    rows.check()
    return rows


cdef int check_schema(const ArrowSchema* schema) except -1:
    if (schema == NULL or schema.format == NULL
            or (schema.n_children == 1 and (schema.children == NULL or schema.children[0] == NULL))):
        raise ValueError("this Arrow schema is damaged: a pointer in it is null")
    return 0


cdef tuple format_of(const ArrowSchema* schema):
    """The type, of a list that of its items, and whether it is the one column of a record batch."""
    cdef bint is_batch
    check_schema(schema)
    is_batch = schema.n_children == 1 and <bytes>schema.format == b"+s"
    if is_batch:
        schema = schema.children[0]
        check_schema(schema)
    if schema.n_children == 1:
        check_schema(schema.children[0])
    if schema.dictionary != NULL:
        raise TypeError(f"{WANTED}; this one is dictionary-encoded: decode it first")
    item = type_of(schema.children[0]) if schema.n_children == 1 else ""
    if schema.n_children == 1 and schema.children[0].dictionary != NULL:
        item = "dictionary"
    return type_of(schema), item, is_batch


cdef str type_of(const ArrowSchema* schema):
    """Its format string, for comparing and for errors: it may be no UTF-8."""
    return (<bytes>schema.format).decode("utf-8", "backslashreplace")


cdef Rows one_array(object schema, object array):
    cdef Rows rows = Rows.__new__(Rows)
    cdef ArrowArray* given = <ArrowArray*>PyCapsule_GetPointer(array, "arrow_array")
    cdef const ArrowSchema* of = <const ArrowSchema*>PyCapsule_GetPointer(schema, "arrow_schema")
    if given.release == NULL or of.release == NULL:
        raise ValueError("this Arrow array has been released")
    kind = format_of(of)
    rows.array = given[0]
    given.release = NULL                                                     # it is ours now
    rows.take(kind[0], kind[1], kind[2])
    return rows


@cython.final
@cython.no_gc
cdef class OwnStream:
    """Takes the stream out of another library's capsule."""
    cdef ArrowArrayStream stream

    def __dealloc__(self):
        if self.stream.release != NULL:
            self.stream.release(&self.stream)


cdef OwnStream moved(object capsule):
    cdef OwnStream own = OwnStream.__new__(OwnStream)
    cdef ArrowArrayStream* given = <ArrowArrayStream*>PyCapsule_GetPointer(capsule, "arrow_array_stream")
    if given.release == NULL:
        raise ValueError("this Arrow stream has been released")
    own.stream = given[0]
    given.release = NULL
    return own


def chunks(OwnStream own):
    """The chunks of a stream, as a generator."""
    cdef ArrowArrayStream* stream = &own.stream
    cdef Rows rows
    kind = kind_of(stream)
    while True:
        rows = Rows.__new__(Rows)
        if stream.get_next(stream, &rows.array):
            raise ValueError(f"this Arrow stream cannot be read: {stream_error(stream)}")
        if rows.array.release == NULL:
            return
        rows.take(kind[0], kind[1], kind[2])
        yield rows


cdef tuple kind_of(ArrowArrayStream* stream):
    cdef ArrowSchema schema
    memset(&schema, 0, sizeof(schema))
    if stream.get_schema(stream, &schema):
        raise ValueError(f"this Arrow stream cannot be read: {stream_error(stream)}")
    try:
        return format_of(&schema)
    finally:
        if schema.release != NULL:
            schema.release(&schema)


cdef str stream_error(ArrowArrayStream* stream):
    cdef const char* text = stream.get_last_error(stream)
    return "it does not say why" if text == NULL else (<bytes>text).decode("utf-8", "replace")
