# What a stream says: eight types of events, and three about watched values.
#
# The parser makes them with __new__ and sets the C fields; __init__ is for everyone else. The shared dunders are plain
# functions over __match_args__, because cdef classes with a common base would lose the freelist.

cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD

DEBUG = bool(DEBUG_BUILD)


cdef tuple fields(event):
    return tuple([getattr(event, name) for name in type(event).__match_args__])


cdef equal(event, other):
    return fields(event) == fields(other) if type(event) is type(other) else NotImplemented


cdef described(event):
    parts = ", ".join([f"{name}={getattr(event, name)!r}" for name in type(event).__match_args__])
    return f"{type(event).__name__}({parts})"


cdef once(bint is_set):
    if is_set:
        raise TypeError("events are immutable: make a new one")


@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class MessageStart:
    """MessageStart(role, channel=None, recipient=None, content_type=None, start=0, stop=0)
--

    A message opens: its header is read. `channel`, `recipient` and `content_type` are None where the header has none,
    and in formats with tags.

    start, stop: the range of generated tokens (text mode: bytes of UTF-8) that an event covers, here the header.
    """

    __match_args__ = ("role", "channel", "recipient", "content_type", "start", "stop")

    def __init__(self, str role not None, str channel=None, str recipient=None, str content_type=None, int64_t start=0,
                 int64_t stop=0):
        once(self.role is not None)
        self.role, self.channel, self.recipient, self.content_type = role, channel, recipient, content_type
        self.start, self.stop = start, stop

    def __eq__(self, other): return equal(self, other)
    def __hash__(self): return hash(fields(self))
    def __repr__(self): return described(self)
    def __reduce__(self): return type(self), fields(self)


@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class MessageEnd:
    """MessageEnd(role, channel=None, recipient=None, content_type=None, start=0, stop=0)
--

    The message that opened last is over; its fields come again. start, stop: the range of its terminator, empty where
    it has none."""

    __match_args__ = ("role", "channel", "recipient", "content_type", "start", "stop")

    def __init__(self, str role not None, str channel=None, str recipient=None, str content_type=None, int64_t start=0,
                 int64_t stop=0):
        once(self.role is not None)
        self.role, self.channel, self.recipient, self.content_type = role, channel, recipient, content_type
        self.start, self.stop = start, stop

    def __eq__(self, other): return equal(self, other)
    def __hash__(self): return hash(fields(self))
    def __repr__(self): return described(self)
    def __reduce__(self): return type(self), fields(self)


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class ReasoningDelta:
    """ReasoningDelta(text, start=0, stop=0)
--

    More of the model's reasoning. start, stop: the tokens (text mode: bytes) from the first to the last of the text."""

    __match_args__ = ("text", "start", "stop")

    def __init__(self, str text not None, int64_t start=0, int64_t stop=0):
        once(self.text is not None)
        self.text, self.start, self.stop = text, start, stop

    def __eq__(self, other): return equal(self, other)
    def __hash__(self): return hash(fields(self))
    def __repr__(self): return described(self)
    def __reduce__(self): return type(self), fields(self)


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class ContentDelta:
    """ContentDelta(text, channel=None, start=0, stop=0)
--

    More text for the user. In Harmony, `channel` is "commentary" in a preamble and "final" in the answer. start, stop:
    as in ReasoningDelta."""

    __match_args__ = ("text", "channel", "start", "stop")

    def __init__(self, str text not None, str channel=None, int64_t start=0, int64_t stop=0):
        once(self.text is not None)
        self.text, self.channel, self.start, self.stop = text, channel, start, stop

    def __eq__(self, other): return equal(self, other)
    def __hash__(self): return hash(fields(self))
    def __repr__(self): return described(self)
    def __reduce__(self): return type(self), fields(self)


@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class ToolCallStart:
    """ToolCallStart(index, name, id=None, kind="function", start=0, stop=0)
--

    A tool call opens. `index` counts from 0 in the stream. `id` is the model's own, or None. `kind`: "function";
    "builtin" for a tool that Harmony's models were trained with; "other" for one that was not declared. start, stop:
    the range of what opened the call, empty where that is a message's header."""

    __match_args__ = ("index", "name", "id", "kind", "start", "stop")

    def __init__(self, int64_t index, str name not None, str id=None, str kind not None="function", int64_t start=0,
                 int64_t stop=0):
        once(self.name is not None)
        self.index, self.name, self.id, self.kind, self.start, self.stop = index, name, id, kind, start, stop

    def __eq__(self, other): return equal(self, other)
    def __hash__(self): return hash(fields(self))
    def __repr__(self): return described(self)
    def __reduce__(self): return type(self), fields(self)


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class ToolCallDelta:
    """ToolCallDelta(index, arguments, start=0, stop=0)
--

    More of a call's arguments: JSON as the model wrote it, or made of its keys and values in formats with tags. start,
    stop: as in ReasoningDelta."""

    __match_args__ = ("index", "arguments", "start", "stop")

    def __init__(self, int64_t index, str arguments not None, int64_t start=0, int64_t stop=0):
        once(self.arguments is not None)
        self.index, self.arguments, self.start, self.stop = index, arguments, start, stop

    def __eq__(self, other): return equal(self, other)
    def __hash__(self): return hash(fields(self))
    def __repr__(self): return described(self)
    def __reduce__(self): return type(self), fields(self)


@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class ToolCallEnd:
    """ToolCallEnd(index, complete, balanced, start=0, stop=0)
--

    A call is over. `complete`: it was neither cut nor unreadable; `balanced`: its arguments are one balanced JSON
    value. Run a call only if it is both. The range is empty."""

    __match_args__ = ("index", "complete", "balanced", "start", "stop")

    def __init__(self, int64_t index, bint complete, bint balanced, int64_t start=0, int64_t stop=0):
        once(self.made)
        self.made = True
        self.index, self.complete, self.balanced, self.start, self.stop = index, complete, balanced, start, stop

    def __eq__(self, other): return equal(self, other)
    def __hash__(self): return hash(fields(self))
    def __repr__(self): return described(self)
    def __reduce__(self): return type(self), fields(self)


@cython.final
@cython.no_gc
@cython.freelist(16)
cdef class ValueStart:
    """ValueStart(index, path, start=0, stop=0)
--

    A string that the parser watches begins in the call `index`. `path` is its place: a tuple of keys and positions. The
    ranges of the three events about watched strings are empty."""

    __match_args__ = ("index", "path", "start", "stop")

    def __init__(self, int64_t index, tuple path not None, int64_t start=0, int64_t stop=0):
        once(self.path is not None)
        self.index, self.path, self.start, self.stop = index, path, start, stop

    def __eq__(self, other): return equal(self, other)
    def __hash__(self): return hash(fields(self))
    def __repr__(self): return described(self)
    def __reduce__(self): return type(self), fields(self)


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class ValueDelta:
    """ValueDelta(index, path, text, start=0, stop=0)
--

    More of a watched string, decoded: what JSON's escapes stand for."""

    __match_args__ = ("index", "path", "text", "start", "stop")

    def __init__(self, int64_t index, tuple path not None, str text not None, int64_t start=0, int64_t stop=0):
        once(self.path is not None)
        self.index, self.path, self.text, self.start, self.stop = index, path, text, start, stop

    def __eq__(self, other): return equal(self, other)
    def __hash__(self): return hash(fields(self))
    def __repr__(self): return described(self)
    def __reduce__(self): return type(self), fields(self)


@cython.final
@cython.no_gc
@cython.freelist(16)
cdef class ValueEnd:
    """ValueEnd(index, path, complete, start=0, stop=0)
--

    A watched string is over. `complete`: its closing quote was written."""

    __match_args__ = ("index", "path", "complete", "start", "stop")

    def __init__(self, int64_t index, tuple path not None, bint complete, int64_t start=0, int64_t stop=0):
        once(self.path is not None)
        self.index, self.path, self.complete, self.start, self.stop = index, path, complete, start, stop

    def __eq__(self, other): return equal(self, other)
    def __hash__(self): return hash(fields(self))
    def __repr__(self): return described(self)
    def __reduce__(self): return type(self), fields(self)


@cython.final
@cython.no_gc
@cython.freelist(16)
cdef class StreamEnd:
    """StreamEnd(reason=None, start=0, stop=0)
--

    The stream is over. `reason`: tool_calls, stop, length or the engine's own word; None if nothing shows why."""

    __match_args__ = ("reason", "start", "stop")

    def __init__(self, str reason=None, int64_t start=0, int64_t stop=0):
        once(self.made)
        self.made = True
        self.reason, self.start, self.stop = reason, start, stop

    def __eq__(self, other): return equal(self, other)
    def __hash__(self): return hash(fields(self))
    def __repr__(self): return described(self)
    def __reduce__(self): return type(self), fields(self)


# --- attribute access -------------------------------------------------------------------------------------------------

cdef extern from *:
    """
    #include <structmember.h>

    /* A delta's str fields as slots, as __slots__ makes them: the interpreter reads a slot by itself, but calls a
       getter.
       They are the first fields of the object. `end` is the offset of the field after them; the slots are made
       only if it agrees. */
    static int hs_make_slots(PyObject *kind, PyMemberDef *slots, Py_ssize_t n, Py_ssize_t end) {
        PyTypeObject *type = (PyTypeObject *)kind;
        Py_ssize_t i;
        for (i = 0; i < n && end == (Py_ssize_t)(sizeof(PyObject) + n * sizeof(PyObject *)); i++) {
            PyObject *slot = PyDescr_NewMember(type, &slots[i]);
            if (slot == NULL || PyDict_SetItemString(type->tp_dict, slots[i].name, slot) < 0) {
                Py_XDECREF(slot);
                return -1;
            }
            Py_DECREF(slot);
        }
        PyType_Modified(type);
        return 0;
    }
    #define HS_SLOT(name, k) {name, T_OBJECT_EX, sizeof(PyObject) + (k) * sizeof(PyObject *), READONLY, NULL}
    static PyMemberDef hs_reasoning_slots[] = {HS_SLOT("text", 0)};
    static PyMemberDef hs_content_slots[] = {HS_SLOT("text", 0), HS_SLOT("channel", 1)};
    static PyMemberDef hs_call_slots[] = {HS_SLOT("arguments", 0)};
    """
    ctypedef struct PyMemberDef:
        pass
    int make_slots "hs_make_slots"(object kind, PyMemberDef* slots, Py_ssize_t n, Py_ssize_t end) except -1
    PyMemberDef* hs_reasoning_slots
    PyMemberDef* hs_content_slots
    PyMemberDef* hs_call_slots


cdef make_all_slots():
    cdef ReasoningDelta reasoning = ReasoningDelta.__new__(ReasoningDelta)
    cdef ContentDelta content = ContentDelta.__new__(ContentDelta)
    cdef ToolCallDelta call = ToolCallDelta.__new__(ToolCallDelta)
    make_slots(ReasoningDelta, hs_reasoning_slots, 1, <char*>&reasoning.start - <char*><void*>reasoning)
    make_slots(ContentDelta, hs_content_slots, 2, <char*>&content.start - <char*><void*>content)
    make_slots(ToolCallDelta, hs_call_slots, 1, <char*>&call.index - <char*><void*>call)

make_all_slots()
