# Values as they come: which strings of a call's arguments a parser also reports decoded, and how far it has read them.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from harmonystream._native.core.types cimport Buffer, Out, Record
from harmonystream._native.stream.events cimport ToolCallDelta
from harmonystream._native.stream.records cimport EventMaker

cdef enum:
    MOST_PATHS = 64                # one bit each in a mask
    MOST_STEPS = 16                # keys and positions of one path
    MOST_KEY = 256                 # bytes of a key or of a tool's name

cdef enum StringKind:              # the string that is open
    NO_STRING, KEY_STRING, VALUE_STRING, OTHER_STRING

cdef struct Level:                 # a container that a watched path leads through
    uint64_t alive                 # the paths that lead through it
    int64_t index                  # of its element that is being read; counts only in an array
    uint8_t array                  # a flag

cdef struct Watching:
    uint64_t alive                 # paths of the open call; 0: no call is open, or none of its values is watched
    uint64_t ahead                 # paths that lead to the value that may begin now
    int64_t depth                  # containers that are open
    int32_t tracked                # the outermost of them, which `levels` describes
    int32_t surrogate              # the high half of a pair, which waits for the other; 0: there is none
    uint8_t reading                # StringKind
    uint8_t key_due                # the next string of the innermost level is a key
    uint8_t path                   # the number of the path whose value is open
    uint8_t escape_n               # bytes of the unfinished escape, its backslash included
    uint8_t escape[6]              # these bytes without the backslash
    Level[MOST_STEPS] levels


@cython.final
cdef class Watch:                  # a list of paths; immutable, shared by the parsers that watch it
    cdef readonly tuple paths      # as the caller gave them: a tool's name, then keys, positions and `...`
    cdef readonly object fingerprint
    cdef list keys                 # by path: its steps, a key as UTF-8

    cdef uint64_t matching(self, uint64_t alive, Py_ssize_t step, object key)
    cdef uint64_t of_length(self, uint64_t alive, Py_ssize_t least, Py_ssize_t most)


@cython.final
cdef class Watcher:                # how far a stream has been read
    cdef readonly Watch watch
    cdef Watching w
    cdef Buffer key, text          # of the open string: the key so far; what this piece adds to the value
    cdef tuple path                # the open value's, concrete

    cdef Watcher copy(self)
    cdef void clear(self) noexcept
    cdef tuple collect(self, EventMaker maker, const Out* out)
    cdef tuple follow(self, ToolCallDelta delta, bint quiet)
    cdef bytes pack(self)
    cdef int unpack(self, bytes data, object name, bint begun) except -1
    cdef int check(self, object name, bint begun) except -1
    cdef int check_string(self) except -1
    cdef uint64_t leads_into(self, int k, uint64_t some)
    cdef object step_of(self, uint64_t alive, Py_ssize_t step)
    cdef int begin_call(self, const uint8_t* name, Py_ssize_t n) except -1
    cdef int end_call(self, list events, const Record* r) except -1
    cdef int read(self, list events, int64_t index, const uint8_t* p, Py_ssize_t n, int64_t at) except -1
    cdef int structure(self, list events, int64_t index, uint8_t c, int64_t at) except -1
    cdef int begin_string(self, list events, int64_t index, int64_t at) except -1
    cdef int begin_container(self, bint array) except -1
    cdef Py_ssize_t read_string(self, list events, int64_t index, const uint8_t* p, Py_ssize_t n, int64_t at) except -1
    cdef int end_string(self, list events, int64_t index, int64_t at) except -1
    cdef int put_value(self, list events, int64_t index, int64_t at) except -1
    cdef tuple place(self)


cdef Watcher watcher_of(object watch)
cdef int watch_unpack(Watcher watcher, bytes data, object name, bint begun) except -1
