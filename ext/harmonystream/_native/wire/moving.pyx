# A writer of frames that can be moved to another process: what it has told, as bytes or as text, and back.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset
cimport cython
from harmonystream._native.core.buffer cimport buffer_free, buffer_put
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.cpython cimport PyUnicode_AsUTF8AndSize
from harmonystream._native.core.fields cimport Fields, field
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.core.types cimport *
from harmonystream._native.stream.parser cimport Parser, parser_in
from harmonystream._native.wire.envelope cimport *
from harmonystream._native.wire.json_filter cimport Arguments
from harmonystream._native.wire.script cimport Script
from harmonystream._native.wire.tell cimport *
from harmonystream._native.wire.told_state cimport *
from harmonystream._native.wire.starting cimport StartingWriter

DEBUG = bool(DEBUG_BUILD)


@cython.auto_pickle(False)
cdef class MovingWriter(StartingWriter):
    """The state of one response, as bytes and back."""

    def _check_movable(self):
        """Raises ValueError unless it has started and goes on."""
        if self.w.stage != DICTS:
            self.check(BYTES)

    def _moving(self):
        """Is it dicts, and the next payload's number."""
        return self.w.stage == DICTS, self.w.number

    def _kept(self):
        """What is kept of each kind of delta; after _catch_up()."""
        cdef int kind
        self.claim_alone()
        try:
            return [self.text_of(kind, 0, self.w.kept[kind].n) for kind in range(R_REASONING, R_ARGUMENTS + 1)]
        finally:
            self.leave()

    def _move_to(self, Parser parser not None, bint dicts, int64_t number, /):
        """It is new, and from now on what such a stream was. The parser need not be fresh."""
        self.claim_alone()
        try:
            self.check(NEW)
            self.parser, self.w.number, self.w.stage = parser, number, DICTS if dicts else BYTES
        finally:
            self.leave()

    def _told_bytes(self, bytes api not None, bytes options not None, str id not None, bytes created not None, key):
        """The envelope of its state, signed if there is a key, with what its script has told. None: it has no script,
        or Python has been told a part.
        """
        cdef Sealing e
        cdef Py_ssize_t n
        cdef const uint8_t* p
        cdef bint is_messages = api == b"m"
        self.claim_alone()
        memset(&e, 0, sizeof(Sealing))
        try:
            self._check_movable()
            if self.w.told.script == NULL or self.w.told.caught_up or self.w.told.cut or self.w.told.had_blank or (
                    self.w.told.asks_ids):
                return None
            begin_envelope(&e, <uint8_t>PyBytes_AS_STRING(api)[0], False, True, self.w.number, key)
            self.parser.put_state(&e.made)
            end_part(&e, PARSER)
            put_part(&e, OPTIONS, <const uint8_t*>PyBytes_AS_STRING(options), PyBytes_GET_SIZE(options))
            if is_messages:
                put_filter(&e.made, self.open_filter())
            if not told_pack(&self.w, &e.made):
                raise MemoryError()
            end_part(&e, SAID)
            p = <const uint8_t*>PyUnicode_AsUTF8AndSize(id, &n)
            put_part(&e, ID, p, n)
            put_part(&e, CREATED, <const uint8_t*>PyBytes_AS_STRING(created), PyBytes_GET_SIZE(created))
            return sealed(&e, key)
        finally:
            buffer_free(&e.made)
            self.leave()

    cdef int tell_again(self, Script script, tuple constants, bytes told, Arguments filter, int64_t number) except -1:
        """It is new, with a parser that need not be fresh, and from now on what such a stream was.

        constants: of its script. filter: of an open call's arguments. Raises ValueError for what _told_bytes() could
        not have given.
        """
        cdef Fields f
        cdef Fault fault
        f.p, f.n, f.at, f.writing, f.truncated = (<uint8_t*>PyBytes_AS_STRING(told), PyBytes_GET_SIZE(told), 0, False,
                                                  False)
        self.claim_alone()
        try:
            self.check(NEW)
            self.set_script(script, constants, False)
            fault = told_unpack(&self.w, &f, &self.out)
            if fault == LACKS_MEMORY:
                raise MemoryError()
            filtered = self.w.told.open == R_ARGUMENTS and script.table.filtered
            if fault == REFUSED or filtered != (filter is not None):
                raise ValueError("not a usable emitter state: its script does not tell this")
            if filtered and self.w.kept[<int>R_ARGUMENTS].n != self.w.told.item_at:
                raise ValueError("not a usable emitter state: the filter has the open call's arguments")
            self.set_filter(filter)
            self.w.number, self.w.stage = number, BYTES
        finally:
            self.leave()
        return 0


cdef int put_filter(Buffer* to, Arguments filter) except -1:
    """Append the filter of an open call's arguments: whether there is one and is in text, and then what it has read."""
    cdef uint8_t[5] head
    cdef bytes data = b""
    cdef Fields f
    head[0] = 0
    f.p, f.n, f.at, f.writing, f.truncated = head, 5, 1, True, False
    if filter is not None:
        in_text, text = filter.state
        data = text.encode()
        head[0] = 2 if in_text else 1
        field(&f, len(data), 4)
    if not (buffer_put(to, head, f.at) and buffer_put(to, <const uint8_t*>PyBytes_AS_STRING(data), len(data))):
        raise MemoryError()
    return 0


def identity_of(Saved saved not None, str time not None):
    """The fields of a response's identity: its id, and when it was created, under this name. "": it has none.

    None: the time is no usual integer. Raises UnicodeDecodeError for an id that is not UTF-8.
    """
    cdef const uint8_t* p = saved.start(ID)
    cdef const uint8_t* digits = saved.start(CREATED)
    cdef int64_t number = 0
    cdef uint32_t i
    id = (<const char*>p)[:saved.head.n[<int>ID]].decode()
    if not time:
        return {"id": id}
    if not 0 < saved.head.n[<int>CREATED] <= 18:
        return None
    for i in range(saved.head.n[<int>CREATED]):
        if not c'0' <= digits[i] <= c'9':
            return None
        number = 10 * number + digits[i] - c'0'
    return {"id": id, time: number}


def parser_of(Saved saved not None, vocab, format, tools):
    """The parser in a state, for told_again(). Raises what Parser.from_bytes() raises."""
    return parser_in(saved.start(PARSER), saved.head.n[<int>PARSER], vocab, format, tools, ())


def told_again(kind, Parser parser not None, dict fields not None, dict identity not None, Script script not None,
               bytes told not None, Arguments filter, int64_t number):
    """The stream of this class whose script has told this.

    parser: it need not be fresh. fields, identity: the stream's attributes. filter: of an open call's arguments.
    number: of the next payload. Raises ValueError for what no stream could have told.
    """
    cdef MovingWriter made = kind.__new__(kind, parser, _moved=True)
    cdef dict own = fields.copy()
    own.update(identity)
    made.__dict__ = own
    if not own.get("_keeps_text", True):
        made._forget_texts()
    made.tell_again(script, made._constants(), told, filter, number)
    return made


name_errors(MovingWriter)
