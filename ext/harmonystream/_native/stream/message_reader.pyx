# The messages of a Harmony conversation, of any author, as openai-harmony's StreamableParser reads them. The headers
# that it takes are not those that Parser takes: words have their place, and a marker inside a body is text.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t
cimport cython
from harmonystream._native.core.buffer cimport buffer_free, buffer_put
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.cpython cimport PyLong_CheckExact, small_int
from harmonystream._native.core.types cimport Buffer
from harmonystream._native.core.utf8 cimport decoded, utf8_length, utf8_subpart
from harmonystream._native.core.vocab cimport V_CONTROL, V_MISSING, V_VALID, Vocab

import re
from operator import index

DEBUG = bool(DEBUG_BUILD)

cdef enum ReaderState:
    EXPECT_START
    HEADER
    CONTENT

cdef tuple STATES = ("ExpectStart", "Header", "Content")
# Unicode's White_Space. str.isspace() takes U+001C to U+001F as well.
cdef str SPACES = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f"
    "\u205f\u3000"
)
cdef object WORD = re.compile("[^ \t\n\x0c\r]+")
cdef object CHANNEL = re.compile(f"[^<{SPACES}]*")


cdef enum:
    BLOCK = 64


cdef list placed(list words):
    """Of words that do not all have a place: the last recipient, and the last word if it can be the content type."""
    cdef list recipients = [word for word in words if word.startswith("to=")]
    cdef str last = words[len(words) - 1]
    return recipients[len(recipients) - 1 :] + ([] if last.startswith("to=") else [last])


@cython.final
cdef class Header:
    """A message's author, channel and recipient."""

    cdef readonly object role
    cdef readonly object name           # of a tool
    cdef readonly object channel
    cdef readonly object recipient
    cdef readonly object content_type


cdef class MessageReader:
    """MessageReader(vocab, role, strict, recover, roles, make_message, error)
--

    Reads the messages of a Harmony conversation token by token, as openai-harmony's StreamableParser does.

    role: the author of the first message, whose header has begun; None: a `<|start|>` is expected. roles: name -> what
    `current_role` returns. make_message: called with a Header and a text when a message has ended. error: the class of
    what is raised for tokens that are not Harmony; recover: nothing is raised.
    """

    cdef Vocab vocab
    cdef dict roles
    cdef object make_message
    cdef object error
    cdef object hinted                  # the role that was given, until the first header has been read
    cdef bint strict
    cdef bint recover
    cdef int expects                    # ReaderState
    cdef uint32_t start
    cdef uint32_t message
    cdef uint32_t end
    cdef uint32_t call
    cdef uint32_t returned
    cdef Buffer fed                     # all ids, as uint32
    cdef list header_ids
    cdef Header header                  # of the open message; None where there is none
    cdef list blocks                    # the open message's text: many pieces are joined, because each takes 50 bytes
    cdef list pieces                    # what comes after the blocks
    cdef bytes undecoded                # bytes after them that are not decoded yet; None: there are none
    cdef list ended
    cdef readonly object last_content_delta

    def __init__(self, Vocab vocab not None, role, strict, recover, dict roles not None, make_message, error):
        cdef dict markers = vocab.control
        self.vocab = vocab
        self.start, self.message = markers["<|start|>"], markers["<|message|>"]
        self.end, self.call, self.returned = markers["<|end|>"], markers["<|call|>"], markers["<|return|>"]
        self.roles = roles
        self.make_message = make_message
        self.error = error
        self.hinted = role
        self.strict = strict
        self.recover = recover
        self.expects = EXPECT_START if role is None else HEADER
        self.header_ids, self.blocks, self.pieces, self.ended = [], [], [], []
        self.fed.n = 0

    def __dealloc__(self):
        buffer_free(&self.fed)

    def process(self, token, /):
        """Reads one token id, and returns the reader. Raises HarmonyError if the token is invalid here."""
        with cython.critical_section(self):
            self.step(token)
        return self

    def process_eos(self):
        """The stream has ended: so has the open message. Raises HarmonyError inside a header."""
        with cython.critical_section(self):
            if self.expects == CONTENT:
                self.end_message()
            elif self.expects == HEADER and self.recover:
                self.end_in_header()
            elif self.expects == HEADER:
                raise self.error("Unexpected EOS while waiting for message header to complete")
        return self

    cdef int step(self, object token) except -1:
        cdef Py_ssize_t tid = small_int(token) if PyLong_CheckExact(token) else -1
        cdef uint32_t given
        if tid < 0:
            tid = index(token)
            if not 0 <= tid < 1 << 32:
                raise OverflowError("out of range integral type conversion attempted")
        given = <uint32_t>tid
        if not buffer_put(&self.fed, <const uint8_t*>&given, sizeof(uint32_t)):
            raise MemoryError()
        if self.expects == CONTENT:
            if self.is_stop(tid):
                return self.end_message()
            return self.add(tid)
        if self.expects == HEADER:
            return self.step_header(tid)
        if tid == self.start:
            self.expects = HEADER
        elif not self.recover:
            raise self.error(f"Unexpected token {tid} while expecting start token {self.start}")
        elif not self.is_stop(tid):
            return self.begin_without_start(tid)
        return 0

    cdef int step_header(self, Py_ssize_t tid) except -1:
        cdef list ids
        if tid == self.message:
            ids, self.header_ids = self.header_ids, []
            self.expects = EXPECT_START  # if the header cannot be read
            self.header = self.read_header(self.header_text(ids, "could not decode header"))
            self.hinted = None
            self.expects = CONTENT
        elif not self.strict and self.is_stop(tid):
            self.end_in_header()
        else:
            self.header_ids.append(tid)
        return 0

    cdef bint is_stop(self, Py_ssize_t tid) noexcept:
        return tid == self.end or tid == self.call or tid == self.returned

    cdef int begin_without_start(self, Py_ssize_t tid) except -1:
        """A message that begins without `<|start|>` is the assistant's: text is its content, a marker its header."""
        self.hinted = self.roles["assistant"]
        self.expects = HEADER
        if tid < self.vocab.n and self.vocab.flags[tid] & V_CONTROL:
            return self.step_header(tid)
        self.header = self.read_header("")
        self.hinted = None
        self.expects = CONTENT
        return self.add(tid)

    # --- text ---

    cdef int add(self, Py_ssize_t tid) except -1:
        cdef const uint8_t* p
        cdef Py_ssize_t n
        cdef str delta
        if tid < self.vocab.n and not self.vocab.flags[tid] & V_MISSING:
            p = self.vocab.text + self.vocab.offset[tid]
            n = self.vocab.offset[tid + 1] - self.vocab.offset[tid]
            if self.undecoded is None and self.vocab.flags[tid] & V_VALID:
                delta = PyUnicode_DecodeUTF8(<const char*>p, n, NULL)
            else:
                delta = self.decode(PyBytes_FromStringAndSize(<const char*>p, n))
        else:
            delta = self.decode(b"\xff")  # an id that does not exist
        self.last_content_delta = delta
        if delta is not None:
            self.pieces.append(delta)
            if len(self.pieces) == BLOCK:
                self.blocks.append("".join(self.pieces))
                self.pieces = []
        return 0

    cdef str decode(self, bytes data):
        """What can be decoded now, up to the first ill-formed part, which is U+FFFD, or all of it to recover."""
        cdef const uint8_t* p
        cdef Py_ssize_t n, i = 0
        cdef int size, need
        if self.undecoded is not None:
            data = self.undecoded + data
        p, n = <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data)
        while i < n:
            need, size = utf8_length(p[i]), utf8_subpart(p + i, n - i)
            if need > size and i + size == n:
                break  # the beginning of a character
            i += size
            if need != size and not self.recover:
                break
        self.undecoded = data[i:] if i < n else None
        return decoded(p, i) if i else None

    cdef int end_message(self) except -1:
        cdef str text = self.content()
        if self.undecoded is not None:
            text += decoded(<const uint8_t*>PyBytes_AS_STRING(self.undecoded), PyBytes_GET_SIZE(self.undecoded))
        self.finish_message(self.header, text)
        return 0

    cdef int finish_message(self, Header header, str text) except -1:
        self.expects = EXPECT_START
        self.header, self.blocks, self.pieces = None, [], []
        self.undecoded = self.last_content_delta = None
        self.ended.append(self.make_message(header, text))
        return 0

    cdef str content(self):
        """The open message's text. It is joined once, so that asking after each token costs no more than the answer."""
        if self.pieces or len(self.blocks) > 1:
            self.blocks, self.pieces = ["".join(self.blocks + self.pieces)], []
        return self.blocks[0] if self.blocks else ""

    # --- headers ---

    cdef str header_text(self, list ids, str message):
        cdef bytes data = b"".join([self.id_bytes(tid) for tid in ids])
        try:
            return data.decode("utf-8", "replace" if self.recover else "strict")
        except UnicodeDecodeError:
            raise self.error(message) from None

    cdef bytes id_bytes(self, Py_ssize_t tid):
        if tid < self.vocab.n and not self.vocab.flags[tid] & V_MISSING:
            return PyBytes_FromStringAndSize(
                <const char*>self.vocab.text + self.vocab.offset[tid],
                self.vocab.offset[tid + 1] - self.vocab.offset[tid],
            )
        return b"\xff"

    cdef list take_channel(self, Header header, str text):
        """Reads the channel, and returns the other words."""
        cdef str before, marker, after, channel
        before, marker, after = text.partition("<|channel|>")
        if marker:
            channel = CHANNEL.match(after)[0]
            if not channel and not self.recover:
                raise self.error("channel marker present but no channel value found in header")
            header.channel = channel or None
            text = before + after[len(channel):]
        return WORD.findall(text.strip(SPACES).replace("<|constrain|>", " <|constrain|>"))

    cdef Header read_header(self, str text):
        cdef Header header = Header.__new__(Header)
        cdef list words = self.take_channel(header, text)
        self.take_role(header, words)
        if self.recover and len(words) > 2:
            words = placed(words)
        if len(words) > 1 and not words[len(words) - 1].startswith("to="):
            header.content_type = words.pop()
        if words:
            header.recipient = words.pop().removeprefix("to=")
        if words and not self.recover:
            left = " ".join(words)
            raise self.error(f'unexpected tokens remaining in message header: Some("{left}")')
        return header

    cdef int take_role(self, Header header, list words) except -1:
        """A word that is not a role names a tool if another word follows it, or if it is itself a recipient."""
        cdef str word = None
        header.role = self.hinted
        if header.role is None and words:
            word = words[0]
            header.role = self.roles.get(word)
            if header.role is None and (len(words) > 1 or word.startswith("to=")):
                header.role = self.roles["tool"]
                del words[0]
            elif header.role is None and not self.recover:
                raise self.error(f"Unknown role: {word}")
        if header.role is None:
            if not self.recover:
                raise self.error("message header did not contain a role")
            header.role = self.roles["assistant"]
        if header.role is self.roles["tool"]:
            header.name = word
        if words and self.roles.get(words[0]) is header.role:
            del words[0]
        return 0

    cdef int end_in_header(self) except -1:
        """A message that ends in its header: what is not its channel is its text, if its author is known."""
        cdef Header header = Header.__new__(Header)
        cdef list words
        if self.header_ids and (self.hinted is not None or self.recover):
            header.role = self.hinted if self.hinted is not None else self.roles["assistant"]
            words = self.take_channel(header, self.header_text(self.header_ids, "Could not decode tokens"))
            if words and self.roles.get(words[0]) is header.role:
                del words[0]
            self.finish_message(header, " ".join(words))
        self.header_ids, self.hinted = [], None
        self.expects = EXPECT_START
        return 0

    # --- questions ---

    @property
    def current_content(self):
        """The text of the open message so far."""
        with cython.critical_section(self):
            return self.content()

    @property
    def current_role(self):
        """The open message's author; in a header the role that was given; else None."""
        with cython.critical_section(self):
            return self.hinted if self.header is None else self.header.role

    @property
    def current_channel(self):
        """The open message's channel, or None."""
        with cython.critical_section(self):
            return None if self.header is None else self.header.channel

    @property
    def current_recipient(self):
        """The open message's recipient, or None."""
        with cython.critical_section(self):
            return None if self.header is None else self.header.recipient

    @property
    def current_content_type(self):
        """The open message's content type as it is written, such as `<|constrain|>json`, or None."""
        with cython.critical_section(self):
            return None if self.header is None else self.header.content_type

    @property
    def messages(self):
        """The messages that have ended, in a list of the caller's own."""
        with cython.critical_section(self):
            return list(self.ended)

    @property
    def tokens(self):
        """All ids that were fed."""
        with cython.critical_section(self):
            return self.all_ids()

    cdef list all_ids(self):
        cdef const uint32_t* kept = <const uint32_t*>self.fed.p
        cdef Py_ssize_t i
        return [kept[i] for i in range(self.fed.n // <Py_ssize_t>sizeof(uint32_t))]

    @property
    def reading(self):
        """(state, open Header or None, ids of the header so far)."""
        with cython.critical_section(self):
            return STATES[self.expects], self.header, list(self.header_ids)
