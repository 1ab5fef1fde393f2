# The script of an API, made once by Python for all responses of one shape.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.core.types cimport N_DELTAS, R_ARGUMENTS, R_CONTENT, R_REASONING
from harmonystream._native.wire.frame cimport FramePiece, Pieces

DEBUG = bool(DEBUG_BUILD)

cdef dict MOMENTS = {"begin": BEGIN, "delta": DELTA, "end": END, "cut": CUT, "item": ITEM, "cut item": CUT_ITEM,
                     "part": PART}
cdef dict KINDS = {"reasoning": R_REASONING, "content": R_CONTENT, "arguments": R_ARGUMENTS}
cdef bytes HOLES = b"acdghiklmnopqrstuwxy"


@cython.final
cdef class Script:
    """Script(frames, opening, head, finish, *, fields=None, shown=None, filtered=False, signed=False, no_blank=False,
    functions=False, call_id=None, closing=None, closing_usage=None, reasons=None)
--

    What an API sends at each moment of a response, as frames with holes.

    frames: (moment, kind, channel) -> (parts, holes). The moments of an item are "begin", "delta", "end", "cut",
    "item", "cut item" and "part"; the kinds are those of deltas; channel is the number of a channel of Harmony.
    Holes: "t" a delta's text, "n" the running number, "i" the item's index, "k" the call's index, "w" the item's whole
    text, "m" the call's name, "d" the call's id, "a" the response's id, "c" when it was created, "l" the model, "s" the
    stem of ids, "h" the head, "g" a signature, "r" the reason, "o" the items that are done, "u" the usage as JSON; and
    of tokens "x" those of the prompt, "p" those of the response, "q" those of its reasoning, "y" all. All texts are
    JSON-escaped.
    opening, head, finish: frames of the whole response. fields: (kind, channel) -> the bit of the text's field.
    shown: how many calls are shown; None: all.
    call_id: the id of a call, unless somebody decides it. closing, closing_usage: the last frames, with counts or with
    a usage as JSON.
    reasons: each reason of a parser for which the response ends with one of these frames, and nothing that Python must
    say -> the API's words for it, (if no call was shown, if one was).
    Raises KeyError, TypeError or ValueError for anything else.
    """

    def __cinit__(self, dict frames not None, opening, head, finish, *, dict fields=None, shown=None,
                  bint filtered=False, bint signed=False, bint no_blank=False, bint functions=False, call_id=None,
                  closing=None, closing_usage=None, dict reasons=None):
        cdef int moment, code, variant
        self.parts = []
        for (what, kind, channel), given in frames.items():
            moment, code, variant = MOMENTS[what], KINDS[kind], channel
            if not 0 <= variant < VARIANTS:
                raise ValueError(f"a channel is a number from 0 to {VARIANTS - 1}, not {channel}")
            self.set_pieces(&self.table.frames[moment][code][variant], given)
        self.set_pieces(&self.table.opening, opening)
        self.set_pieces(&self.table.head, head)
        self.set_pieces(&self.table.finish, finish)
        if call_id is not None:
            self.set_pieces(&self.table.call_id, call_id)
        if closing is not None:
            self.set_pieces(&self.table.closing, closing)
            self.table.counted = "p" in closing[1]
        if closing_usage is not None:
            self.set_pieces(&self.table.closing_usage, closing_usage)
        self.reasons = {} if reasons is None else {reason: (str(one), str(other))
                                                   for reason, (one, other) in reasons.items()}
        for (kind, channel), bit in (fields or {}).items():
            code, variant = KINDS[kind], channel
            if not 0 <= variant < VARIANTS:
                raise ValueError(f"a channel is a number from 0 to {VARIANTS - 1}, not {channel}")
            self.table.field[code][variant] = bit
        self.table.shown = -1 if shown is None else shown
        self.table.filtered, self.table.signed = filtered, signed
        self.table.no_blank, self.table.functions = no_blank, functions

    cdef int set_pieces(self, Pieces* pieces, object given) except -1:
        cdef Py_ssize_t i, n
        cdef bytes part, holes
        cdef tuple parts
        cdef FramePiece* items
        parts, text = tuple(given[0]), given[1]
        holes = text.encode()
        n = len(parts)
        if any(type(one) is not bytes for one in parts):
            raise TypeError("the parts of a frame are bytes")
        if n != len(holes) + 1 or holes.strip(HOLES):
            raise ValueError(f"a frame has a hole, one of {HOLES.decode()}, between any two parts, not {text!r}")
        free(pieces.items)                                                   # NULL, or an earlier one's
        pieces.items = NULL
        items = <FramePiece*>malloc(n * sizeof(FramePiece))
        if items == NULL:
            raise MemoryError()
        self.parts.append(parts)
        pieces.items, pieces.n, pieces.size = items, n, 0
        for i in range(n):
            part = <bytes>parts[i]
            items[i].p, items[i].n = <const uint8_t*>PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part)
            items[i].hole = <uint8_t>PyBytes_AS_STRING(holes)[i] if i < n - 1 else 0
            pieces.size += items[i].n
        pieces.texts, pieces.numbers = holes.count(b"t"), holes.count(b"n")
        pieces.silent = pieces.size == 0 and n == 1
        return 0

    def __dealloc__(self):
        cdef int moment, kind, variant
        for moment in range(N_MOMENTS):
            for kind in range(N_DELTAS):
                for variant in range(VARIANTS):
                    free(self.table.frames[moment][kind][variant].items)
        free(self.table.opening.items)
        free(self.table.head.items)
        free(self.table.finish.items)
        free(self.table.call_id.items)
        free(self.table.closing.items)
        free(self.table.closing_usage.items)

    def __reduce__(self):
        raise TypeError("a Script is not pickled: each process makes its own")


name_errors(Script)
