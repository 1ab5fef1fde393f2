# The templates of an API, made once by Python for all responses of one shape.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.core.types cimport R_ARGUMENTS, R_CONTENT, R_REASONING

DEBUG = bool(DEBUG_BUILD)

cdef dict MOMENTS = {"begin": BEGIN, "delta": DELTA, "sealed": SEALED, "end": END, "cut": CUT, "item": ITEM,
                     "cut item": CUT_ITEM}
cdef dict KINDS = {"reasoning": R_REASONING, "content": R_CONTENT, "arguments": R_ARGUMENTS}
cdef dict SEALS = {"": NO_SEAL, "hash": HASH, "asked": ASKED}

HOLES = (
    *("delta", "number", "item index", "call index", "text", "output"),
    *("response id", "created", "id stem", "model", "head"),
    *("prompt tokens", "response tokens", "total tokens", "reasoning tokens"),
    *("call name", "call id", "item id", "call fields", "seal", "reason", "beside", "usage"),
    *("logprobs", "token ids", "all logprobs", "all bytes"),
)
assert len(HOLES) == N_HOLES - 1

cdef dict HOLE_NUMBERS = {name: number for number, name in enumerate(HOLES, 1)}


@cython.final
cdef class Templates:
    """Templates(items, opening, finish, *, head=None, parts=None, fields=None, seals=None, shown=None, filtered=False,
    no_blank=False, functions=False, call_id=None, closing=None, closing_usage=None, reasons=None)
--

    What an API sends at each moment of a response, and what is kept of it: bytes with holes.

    items: (moment, kind, variant) -> (parts, holes). The moments of an item are "begin", "delta", "sealed", "end",
    "cut", "item" and "cut item", the last two for what is kept of it. The kinds are those of deltas. The variant is the
    number of the message's channel, or of the call's type. A "delta" of one empty part is hidden; without a "delta",
    the text is kept, but not sent.
    holes: names, each of `HOLES`. The item has its index, id, whole text, fields of a call, seal, and the logprobs of
    all its tokens, for its end and with their bytes. "delta" is a delta's text, "number" the running number, "id stem"
    what made ids begin with, "beside" what is written beside the reason of the end, and "output" the items that are
    kept. "head", "output", "call fields", "seal", "beside", "usage", and logprobs and ids of tokens are JSON. All
    others are texts, JSON-escaped, and numbers.
    opening, finish: frames of the whole response. head: JSON that is in several of them.
    parts: a set of fields, as bits -> the frame between the texts of two messages in them, and what is kept of it.
    fields: (kind, variant) -> the fields of the text, as bits. seals: (kind, variant) -> "hash" or "asked".
    shown: how many calls are shown; None: all.
    call_id: the id of a call if neither the model nor the caller gives one. closing, closing_usage: the last frames,
    with counts or with a usage as JSON.
    reasons: reasons of a parser -> the API's words for it, ("r" and "b" if no call was shown, the same if one was).
    Raises KeyError, TypeError or ValueError for anything else.
    """

    def __cinit__(self, dict items not None, opening, finish, *, head=None, dict parts=None, dict fields=None,
                  dict seals=None, shown=None, bint filtered=False, bint no_blank=False, bint functions=False,
                  call_id=None, closing=None, closing_usage=None, dict reasons=None):
        cdef ResponseTemplates* table = &self.table
        self.parts = []
        for (moment, kind, variant), given in items.items():
            self.set_template(&table.of_items[<int>MOMENTS[moment]][<int>KINDS[kind]][checked(variant, VARIANTS)],
                              given)
        self.set_template(&table.opening, opening)
        self.set_template(&table.finish, finish)
        for template, given in ((0, head), (1, call_id), (2, closing), (3, closing_usage)):
            if given is not None:
                self.set_template(&table.head if template == 0 else &table.call_id if template == 1 else
                                  &table.closing if template == 2 else &table.closing_usage, given)
        table.counted = closing is not None and "response tokens" in closing[1]
        for bits, (frame, kept) in (parts or {}).items():
            self.set_template(&table.part[checked(bits, FIELDS)], frame)
            self.set_template(&table.part_item[checked(bits, FIELDS)], kept)
        for (kind, variant), bits in (fields or {}).items():
            table.fields[<int>KINDS[kind]][checked(variant, VARIANTS)] = checked(bits, FIELDS)
        for (kind, variant), seal in (seals or {}).items():
            table.seals[<int>KINDS[kind]][checked(variant, VARIANTS)] = <uint8_t>SEALS[seal]
        self.reasons = dict(reasons or {})
        table.shown = -1 if shown is None else shown
        table.filtered, table.no_blank, table.functions = filtered, no_blank, functions

    cdef int set_template(self, Template* template, object given) except -1:
        cdef Py_ssize_t i, n
        cdef bytes part
        cdef tuple parts, names
        cdef TemplatePiece* pieces
        parts, names = tuple(given[0]), tuple(given[1])
        n = len(parts)
        if any(type(one) is not bytes for one in parts):
            raise TypeError("the parts of a template are bytes")
        if n != len(names) + 1 or not HOLE_NUMBERS.keys() >= set(names):
            raise ValueError(f"a template has a hole, one of {', '.join(HOLES)}, between any two parts, not {names!r}")
        free(template.pieces)                                                # NULL, or an earlier one's
        template.pieces = NULL
        pieces = <TemplatePiece*>malloc(n * sizeof(TemplatePiece))
        if pieces == NULL:
            raise MemoryError()
        self.parts.append(parts)
        template.pieces, template.n, template.size = pieces, n, 0
        for i in range(n):
            part = <bytes>parts[i]
            pieces[i].p, pieces[i].n = <const uint8_t*>PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part)
            pieces[i].hole = <uint8_t>HOLE_NUMBERS[names[i]] if i < n - 1 else <uint8_t>NO_HOLE
            template.size += pieces[i].n
        template.texts, template.numbers = names.count("delta"), names.count("number")
        template.hidden = template.size == 0 and n == 1
        return 0

    def __dealloc__(self):
        cdef int moment, kind, variant
        for moment in range(N_MOMENTS):
            for kind in range(N_DELTAS):
                for variant in range(VARIANTS):
                    free(self.table.of_items[moment][kind][variant].pieces)
        for variant in range(FIELDS):
            free(self.table.part[variant].pieces)
            free(self.table.part_item[variant].pieces)
        free(self.table.opening.pieces)
        free(self.table.head.pieces)
        free(self.table.finish.pieces)
        free(self.table.call_id.pieces)
        free(self.table.closing.pieces)
        free(self.table.closing_usage.pieces)

    def __reduce__(self):
        raise TypeError("Templates are not pickled: each process makes its own")


cdef int checked(object number, int end) except -1:
    if not 0 <= number < end:
        raise ValueError(f"a number from 0 to {end - 1}, not {number}")
    return number


name_errors(Templates)
