# Parser(watch=…): strings inside a call's arguments, decoded while the model writes them.
#
# A Watcher reads the arguments that the machine has just written, which are JSON in every format. It follows only the
# containers that a watched path leads through: `levels` has one entry for each, and of all that lies deeper it counts
# brackets. So its memory does not depend on the arguments. Broken JSON is followed as far as brackets, quotes and
# commas go, and nothing is ever an error here: the arguments' own deltas have all that the model wrote.

import struct

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
cimport cython
from harmonystream._native.core.buffer cimport buffer_free, buffer_put
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.chars cimport has_quote_or_backslash, hex_digit
from harmonystream._native.core.cpython cimport PyUnicode_AsUTF8AndSize
from harmonystream._native.core.fnv cimport fnv_bytes, fnv_empty
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport decoded, utf8_encode, utf8_is_whole, without_surrogates
from harmonystream._native.stream.events cimport ToolCallDelta, ValueDelta, ValueEnd, ValueStart
from harmonystream._native.stream.records cimport EventMaker
from harmonystream._native.tags.object_name cimport simple_escape, unicode_escape

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    KEPT = 4096                    # bytes of a buffer that are kept between two calls

_STATE = struct.Struct("<QQqii4B6sIq")
_LEVEL = struct.Struct("<QqB")


@cython.final
cdef class Watch:
    """Watch(paths)
--

    The paths that a parser watches. Raises TypeError or ValueError for anything else."""

    def __cinit__(self, paths):
        if isinstance(paths, (str, bytes)) or not hasattr(paths, "__iter__"):
            raise TypeError(f"watch is a list of paths, [(\"write_file\", \"content\")], not {type(paths).__name__}")
        self.paths = tuple([path_of(path) for path in paths])
        if len(self.paths) > MOST_PATHS:
            raise ValueError(f"watch has {len(self.paths)} paths; at most {MOST_PATHS}")
        self.keys = [tuple([step.encode() if isinstance(step, str) else step for step in path]) for path in self.paths]
        text = repr(self.keys).encode()
        self.fingerprint = fnv_bytes(fnv_empty(), text, len(text))

    cdef uint64_t matching(self, uint64_t alive, Py_ssize_t step, object key):
        """Those of the paths `alive` whose step with this number is this key (bytes), or leads to this position."""
        cdef Py_ssize_t i
        cdef uint64_t found = 0
        cdef tuple path
        for i in range(len(self.keys)):
            if alive >> i & 1:
                path = <tuple>self.keys[i]
                if step < len(path) and (path[step] == key or (path[step] is ... and type(key) is int)):
                    found |= <uint64_t>1 << i
        return found

    cdef uint64_t of_length(self, uint64_t alive, Py_ssize_t least, Py_ssize_t most):
        """Those of the paths `alive` that have so many steps after the tool's name."""
        cdef Py_ssize_t i
        cdef uint64_t found = 0
        for i in range(len(self.keys)):
            if alive >> i & 1 and least <= len(<tuple>self.keys[i]) - 1 <= most:
                found |= <uint64_t>1 << i
        return found


cdef tuple path_of(object given):
    """One path, checked."""
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise TypeError(f"a watched path is a tuple of a tool's name and keys, not {given!r}")
    path = tuple(given)
    if not 2 <= len(path) <= MOST_STEPS + 1:
        raise ValueError(f"a watched path has a tool's name and 1 to {MOST_STEPS} keys or positions; {path!r} has not")
    if not isinstance(path[0], str):
        raise TypeError(f"a watched path begins with a tool's name, a str, not {path[0]!r}")
    return tuple([step_of(step) for step in path])


cdef object step_of(object step):
    if step is ...:
        return step
    if isinstance(step, str):
        step = without_surrogates(step)
        if len(step.encode()) > MOST_KEY:
            raise ValueError(f"a name in a watched path has at most {MOST_KEY} bytes; {step[:20]!r}... has more")
        return step
    if isinstance(step, int) and not isinstance(step, bool):
        if not 0 <= step < 1 << 62:
            raise ValueError(f"a position in a watched path counts from 0, not {step}")
        return int(step)
    raise TypeError(f"a step of a watched path is a key (str), a position (int) or ... for all positions, not {step!r}")


cdef Watcher watcher_of(object watch):
    """For a parser with this `watch=`; None if there is nothing to watch."""
    cdef Watcher made
    if watch is None or watch is ():                                         # the default: most parsers watch nothing
        return None
    if not isinstance(watch, Watch):
        watch = Watch(watch)
    if not (<Watch>watch).paths:
        return None
    made = Watcher.__new__(Watcher)
    made.watch = <Watch>watch
    return made


cdef int watch_unpack(Watcher watcher, bytes data, object name, bint begun) except -1:
    """The part of a state blob about watched values, into the parser's watcher.

    name: the tool of the open call, as bytes; ... if the stream does not know it any more, and None without a call.
    begun: has the call's start been an event?
    """
    if watcher is not None and data:
        return watcher.unpack(data, name, begun)
    if watcher is not None or data:
        raise ValueError("this parser state was made with another watch list: pass the same watch= to from_bytes()")
    return 0


@cython.final
@cython.no_gc
cdef class Watcher:
    """How far the arguments of one stream have been read."""

    def __dealloc__(self):
        buffer_free(&self.key)
        buffer_free(&self.text)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.key.cap + self.text.cap

    cdef Watcher copy(self):
        cdef Watcher twin = Watcher.__new__(Watcher)
        twin.watch, twin.w, twin.path = self.watch, self.w, self.path
        if not buffer_put(&twin.key, self.key.p, self.key.n):
            raise MemoryError()
        return twin

    cdef void clear(self) noexcept:
        """No call is open."""
        memset(&self.w, 0, sizeof(Watching))
        self.key.n = self.text.n = 0
        self.path = None

    # --- from records and deltas to events ---

    cdef tuple collect(self, EventMaker maker, const Out* out):
        """All records of one call as events, and the values that they hold of."""
        cdef const Record* r
        cdef Py_ssize_t i, n
        cdef str empty
        cdef list events = []
        for i in range(out.n_records):
            r = &out.records[i]
            if r.kind == R_EMPTY_ARGUMENTS and not maker.empty_args:
                continue
            if r.kind == R_CALL_END:
                self.end_call(events, r)
            events.append(maker.event_of(out, i))
            if r.kind == R_CALL_START:
                self.begin_call(out.text + r.at, r.n)
            elif r.kind == R_ARGUMENTS:
                self.read(events, r.index, out.text + r.at, r.n, r.stop)
            elif r.kind == R_EMPTY_ARGUMENTS:
                empty = without_surrogates(maker.empty_args)
                self.read(events, r.index, <const uint8_t*>PyUnicode_AsUTF8AndSize(empty, &n), n, r.stop)
        return tuple(events)

    cdef tuple follow(self, ToolCallDelta delta, bint quiet):
        """This delta and the values in it. quiet: it has neither a quote nor a backslash."""
        cdef ValueDelta value
        cdef list events
        cdef Py_ssize_t n
        cdef const char* p
        if quiet and self.w.reading == VALUE_STRING and not self.w.escape_n and not self.w.surrogate:
            value = ValueDelta.__new__(ValueDelta)
            value.index, value.path, value.text = delta.index, self.path, delta.arguments
            value.start = value.stop = delta.stop
            return delta, value
        events = [delta]
        p = PyUnicode_AsUTF8AndSize(delta.arguments, &n)
        self.read(events, delta.index, <const uint8_t*>p, n, delta.stop)
        return tuple(events)

    cdef int begin_call(self, const uint8_t* name, Py_ssize_t n) except -1:
        self.clear()
        self.w.alive = self.w.ahead = self.watch.matching(~<uint64_t>0, 0, name[:n])
        return 0

    cdef int end_call(self, list events, const Record* r) except -1:
        """Ends an open value that the model did not close."""
        if self.w.reading == VALUE_STRING:
            flush_surrogate(&self.w, &self.text)
            self.put_value(events, r.index, r.start)
            events.append(ValueEnd(r.index, self.path, False, r.start, r.start))
        self.clear()
        return 0

    # --- reading ---

    cdef int read(self, list events, int64_t index, const uint8_t* p, Py_ssize_t n, int64_t at) except -1:
        """These bytes of the open call's arguments; the values' events go to `events`. at: where the delta ends."""
        cdef Py_ssize_t i = 0
        if not self.w.alive:
            return 0
        while i < n:
            if self.w.reading == NO_STRING:
                self.structure(events, index, p[i], at)
                i += 1
            elif self.w.reading == OTHER_STRING:
                i += skip_string(&self.w, p + i, n - i)
            else:
                i += self.read_string(events, index, p + i, n - i, at)
        if self.w.reading == VALUE_STRING:
            self.put_value(events, index, at)
        if self.text.cap > KEPT:
            buffer_free(&self.text)
        return 0

    cdef int structure(self, list events, int64_t index, uint8_t c, int64_t at) except -1:
        """One byte outside of all strings."""
        cdef Watching* w = &self.w
        cdef Level* level
        if c == c'"':
            self.begin_string(events, index, at)
        elif c == c'{' or c == c'[':
            self.begin_container(c == c'[')
        elif c == c'}' or c == c']':
            if w.depth == w.tracked and w.depth > 0:
                w.tracked -= 1
            w.depth -= w.depth > 0
            w.ahead = w.key_due = 0
        elif c == c',' and w.depth == w.tracked and w.tracked > 0:
            level = &w.levels[w.tracked - 1]
            w.key_due = not level.array
            w.ahead = 0
            if level.array:
                level.index += 1
                w.ahead = self.watch.matching(level.alive, w.tracked, level.index)
        return 0

    cdef int begin_container(self, bint array) except -1:
        """A watched path that has more steps leads through it, or its brackets are counted."""
        cdef Watching* w = &self.w
        cdef Level* level
        cdef uint64_t through = self.watch.of_length(w.ahead, w.tracked + 1, MOST_STEPS) if w.ahead else 0
        w.ahead = 0
        w.depth += 1
        if through:                                                          # so it lies in the innermost level
            level = &w.levels[w.tracked]
            level.alive, level.index, level.array = through, 0, array
            w.tracked += 1
            w.key_due = not array
            if array:
                w.ahead = self.watch.matching(through, w.tracked, 0)
        return 0

    cdef int begin_string(self, list events, int64_t index, int64_t at) except -1:
        cdef Watching* w = &self.w
        cdef uint64_t here = self.watch.of_length(w.ahead, w.tracked, w.tracked) if w.ahead else 0
        w.ahead = 0
        w.reading = OTHER_STRING
        if w.depth == w.tracked and w.key_due:
            w.reading = KEY_STRING
            w.key_due = 0
        elif here:
            w.reading = VALUE_STRING
            w.path = 0
            while not here >> w.path & 1:
                w.path += 1
            self.path = self.place()
            events.append(ValueStart(index, self.path, at, at))
        return 0

    cdef Py_ssize_t read_string(self, list events, int64_t index, const uint8_t* p, Py_ssize_t n,
                                int64_t at) except -1:
        """A key or a watched value, as far as it goes; returns the bytes read."""
        cdef Buffer* to = &self.key if self.w.reading == KEY_STRING else &self.text
        cdef Py_ssize_t i = decode(&self.w, to, p, n)
        if i < 0:
            raise MemoryError()
        if self.w.reading == KEY_STRING and to.n > MOST_KEY:                        # no path has this key
            to.n = MOST_KEY + 1
        if i == n:
            return n
        flush_surrogate(&self.w, to)
        self.end_string(events, index, at)
        return i + 1

    cdef int end_string(self, list events, int64_t index, int64_t at) except -1:
        cdef Watching* w = &self.w
        cdef bytes key
        if w.reading == VALUE_STRING:
            self.put_value(events, index, at)
            events.append(ValueEnd(index, self.path, True, at, at))
            self.path = None
        else:
            key = (<const char*>self.key.p)[:self.key.n] if self.key.n else b""
            w.ahead = self.watch.matching(w.levels[w.tracked - 1].alive, w.tracked, key)
            self.key.n = 0
            if self.key.cap > KEPT:
                buffer_free(&self.key)
        w.reading = NO_STRING
        return 0

    cdef int put_value(self, list events, int64_t index, int64_t at) except -1:
        """What has been decoded of the open value, as an event."""
        cdef ValueDelta value
        if self.text.n:
            value = ValueDelta.__new__(ValueDelta)
            value.index, value.path, value.text = index, self.path, decoded(self.text.p, self.text.n)
            value.start = value.stop = at
            self.text.n = 0
            events.append(value)
        return 0

    cdef tuple place(self):
        """The open value's path in these arguments: keys and positions."""
        cdef tuple path = <tuple>self.watch.paths[self.w.path]
        cdef int k
        return tuple([self.w.levels[k].index if self.w.levels[k].array else path[k + 1]
                      for k in range(self.w.tracked)])

    # --- state as bytes ---

    cdef bytes pack(self):
        cdef const Watching* w = &self.w
        cdef int k
        state = _STATE.pack(self.watch.fingerprint, w.alive, w.depth, w.tracked, w.surrogate, w.reading, w.key_due,
                            w.path, w.escape_n, (<const char*>w.escape)[:6], self.key.n, <int64_t>w.ahead)
        levels = [_LEVEL.pack(w.levels[k].alive, w.levels[k].index, w.levels[k].array) for k in range(w.tracked)]
        return b"".join((state, *levels, (<const char*>self.key.p)[:self.key.n] if self.key.n else b""))

    cdef int unpack(self, bytes data, object name, bint begun) except -1:
        """Raises ValueError for anything that pack() could not have written. name, begun: see watch_unpack()."""
        cdef Watching* w = &self.w
        cdef Py_ssize_t at = _STATE.size
        cdef int k
        if len(data) < at:
            refuse("the part about watched values is truncated")
        (fingerprint, w.alive, w.depth, w.tracked, w.surrogate, w.reading, w.key_due, w.path, w.escape_n, escape, n_key,
         ahead) = _STATE.unpack_from(data)
        if fingerprint != self.watch.fingerprint:
            raise ValueError("this parser state was made with another watch list: pass the same watch= to from_bytes()")
        w.ahead = <uint64_t><int64_t>ahead
        memcpy(w.escape, <const char*>escape, 6)
        if not 0 <= w.tracked <= MOST_STEPS or not w.tracked <= w.depth < <int64_t>1 << 62:
            refuse("its watched value lies at no possible depth")
        if n_key > MOST_KEY + 1 or len(data) != at + w.tracked * _LEVEL.size + n_key:
            refuse("its length does not fit its content")
        for k in range(w.tracked):
            w.levels[k].alive, w.levels[k].index, w.levels[k].array = _LEVEL.unpack_from(data, at)
            at += _LEVEL.size
        if not buffer_put(&self.key, <const uint8_t*>(<const char*>data) + at, n_key):
            raise MemoryError()
        self.check(name, begun)
        if w.reading == VALUE_STRING:
            self.path = self.place()
        return 0

    cdef int check(self, object name, bint begun) except -1:
        """Raises ValueError unless the fields fit the open call, the watched paths, and each other."""
        cdef const Watching* w = &self.w
        cdef const Level* level
        cdef uint64_t alive
        cdef int64_t most
        cdef int k
        if not w.alive:                                                      # then nothing is followed
            if (w.depth or w.ahead or w.surrogate or w.reading or w.key_due or w.path or w.escape_n or self.key.n
                    or (begun and name is not None and name is not ... and self.watch.matching(~w.alive, 0, name))):
                refuse("it does not watch the call that is open")
            return 0
        if name is ...:
            name = self.step_of(w.alive, 0)
        if name is None or w.alive != self.watch.matching(~<uint64_t>0, 0, name):
            refuse("it watches another call than the one that is open")
        for k in range(w.tracked):
            level = &w.levels[k]
            alive = self.watch.of_length(self.leads_into(k, level.alive), k + 1, MOST_STEPS)
            most = <int64_t>1 << 62 if level.array else 1
            if not level.alive or level.array > 1 or level.alive != alive or not 0 <= level.index < most:
                refuse("a container of a watched value is in no possible state")
        if w.ahead and (w.depth != w.tracked or w.ahead != self.leads_into(w.tracked, w.ahead)):
            refuse("a container of a watched value is in no possible state")
        if w.key_due > 1 or (w.key_due and (w.depth != w.tracked or w.tracked == 0 or w.levels[w.tracked - 1].array)):
            refuse("a container of a watched value is in no possible state")
        if w.path >= len(self.watch.paths):
            refuse("a field about watched values is out of range")
        return self.check_string()

    cdef int check_string(self) except -1:
        """What check() does, for the string that is open."""
        cdef const Watching* w = &self.w
        cdef uint64_t alive = w.levels[w.tracked - 1].alive if w.tracked else w.alive
        cdef tuple path
        cdef int k
        if w.reading > OTHER_STRING or w.escape_n > 5:
            refuse("a field about watched values is out of range")
        if (w.escape_n and w.reading == NO_STRING) or (w.escape_n > 1 and w.reading == OTHER_STRING):
            refuse("the open escape of a watched value is not an escape")
        if w.surrogate and (w.reading == NO_STRING or w.reading == OTHER_STRING):
            refuse("the held half of a surrogate pair in a watched value is not one")
        if w.surrogate and not 0xD800 <= w.surrogate < 0xDC00:
            refuse("the held half of a surrogate pair in a watched value is not one")
        if w.escape_n > 1 and (w.escape[0] != c'u' or min([hex_digit(w.escape[k]) for k in range(1, w.escape_n - 1)],
                                                          default=0) < 0):
            refuse("the open escape of a watched value is not an escape")
        if w.reading == KEY_STRING and (w.depth != w.tracked or w.tracked == 0 or w.levels[w.tracked - 1].array):
            refuse("a container of a watched value is in no possible state")
        if w.reading != KEY_STRING and self.key.n or not utf8_is_whole(self.key.p, min(self.key.n, MOST_KEY)):
            refuse("the key of a watched value is not a key")
        if w.reading == VALUE_STRING:
            path = <tuple>self.watch.keys[w.path]
            if len(path) - 1 != w.tracked or w.depth != w.tracked or not alive >> w.path & 1:
                refuse("its watched value lies at no possible depth")
            for k in range(w.tracked):
                if w.levels[k].array == isinstance(path[k + 1], bytes):
                    refuse("its watched value lies at another path")
        return 0

    cdef uint64_t leads_into(self, int k, uint64_t some):
        """The paths that lead to the value at depth k that is being read, if these do."""
        cdef const Level* outer
        if k == 0:
            return self.w.alive
        outer = &self.w.levels[k - 1]
        return self.watch.matching(outer.alive, k, outer.index if outer.array else self.step_of(some, k))

    cdef object step_of(self, uint64_t alive, Py_ssize_t step):
        """The key, as bytes, that this step of the paths `alive` has; None if it is a position in all of them."""
        cdef Py_ssize_t i
        for i in range(len(self.watch.keys)):
            path = self.watch.keys[i]
            if alive >> i & 1 and step < len(path) and isinstance(path[step], bytes):
                return path[step]
        return None


cdef int refuse(str what) except -1:
    raise ValueError(f"not a usable parser state: {what}")


# --- strings ---

cdef Py_ssize_t skip_string(Watching* w, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Reads a string that is not watched; returns the bytes read. Its escape is open while escape_n is 1."""
    cdef Py_ssize_t i = 0
    while i < n:
        if w.escape_n:
            w.escape_n = 0
            i += 1
            continue
        while i + 8 <= n and not has_quote_or_backslash(p + i):
            i += 8
        while i < n and p[i] != c'"' and p[i] != c'\\':
            i += 1
        if i < n:
            i += 1
            if p[i - 1] == c'"':
                w.reading = NO_STRING
                return i
            w.escape_n = 1
    return n


cdef Py_ssize_t decode(Watching* w, Buffer* to, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """The inside of a string, decoded into `to`; returns where its closing quote is, or n; -1: there is no memory."""
    cdef Py_ssize_t i = 0, k
    cdef bint room = True
    while i < n and room:
        if w.escape_n == 1 and p[i] >= 0x80:               # no escape; a backslash before any character is dropped
            w.escape_n = 0
        elif w.escape_n > 1 and hex_digit(p[i]) < 0:       # \u with fewer than four digits ends here
            w.escape_n = 0
            room = flush_surrogate(w, to) and put_code(to, 0xFFFD)
        elif w.escape_n:
            w.escape[w.escape_n - 1] = p[i]
            w.escape_n += 1
            i += 1
            if w.escape[0] != c'u' or w.escape_n == 6:
                w.escape_n = 0
                room = end_escape(w, to)
        else:
            k = i
            while i + 8 <= n and not has_quote_or_backslash(p + i):
                i += 8
            while i < n and p[i] != c'"' and p[i] != c'\\':
                i += 1
            if i > k:
                room = flush_surrogate(w, to) and buffer_put(to, p + k, i - k)
            if i < n and p[i] == c'"':
                break
            if i < n:
                w.escape_n = 1
                i += 1
    return i if room else -1


cdef bint end_escape(Watching* w, Buffer* to) noexcept nogil:
    """w.escape holds a whole escape. False: there is no memory."""
    cdef int code
    if w.escape[0] != c'u':
        return flush_surrogate(w, to) and put_code(to, simple_escape(w.escape[0]))
    code = unicode_escape(w.escape + 1)
    if 0xDC00 <= code < 0xE000 and w.surrogate:
        code = 0x10000 + ((w.surrogate - 0xD800) << 10) + (code - 0xDC00)
        w.surrogate = 0
    elif not flush_surrogate(w, to):
        return False
    if 0xD800 <= code < 0xDC00:
        w.surrogate = code
        return True
    return put_code(to, <uint32_t>code)


cdef bint flush_surrogate(Watching* w, Buffer* to) noexcept nogil:
    """The half that waited stays alone. False: there is no memory."""
    if not w.surrogate:
        return True
    w.surrogate = 0
    return put_code(to, 0xFFFD)


cdef bint put_code(Buffer* to, uint32_t code) noexcept nogil:
    cdef uint8_t[4] text
    return buffer_put(to, text, utf8_encode(code, text))
