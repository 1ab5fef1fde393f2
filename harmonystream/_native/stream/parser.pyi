from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Literal, SupportsIndex, TypeAlias, final

from typing_extensions import Buffer, Self

from harmonystream._native.core.tools import _Tools
from harmonystream._native.core.vocab import Vocab
from harmonystream._native.stream.open_stream import OpenStream
from harmonystream._native.stream.watch import Watch, _Paths
from harmonystream.completion import Delta
from harmonystream.events import Event
from harmonystream.formats.spec import Format, HeaderFormat

DEBUG: bool
END_OF_TEXT: str
__pyx_capi__: dict[str, object]
STREAM_SIZE: int

_Ids: TypeAlias = SupportsIndex | Iterable[SupportsIndex] | Buffer

@final
class Parser(OpenStream):
    """Reads one stream of generated tokens, or of text, and returns events. One thread may use it at a time.

    format: a name from `formats.names()`, or a `Format`.
    vocab: the model's `Vocab`. None: Harmony uses the embedded o200k_harmony; other formats have no vocabulary, so
    that only feed_text() can be used.
    tools: `Tools`, names, or tool dicts of an API. None: the tools are unknown. []: the request has no tools, so
    nothing is a call.
    start: where the prompt ends. "auto" and "content": nothing is open. "reasoning": inside reasoning. "answer": after
    reasoning, where think tags are text. For Harmony also the text that the prompt ends with ("": no message has
    begun).
    prompt: the prompt itself, as ids or text. It replaces `start`.
    strict: raise ParseError at the first deviation, instead of repairing it.
    trim: "seams" drops the newlines next to a tag, "none" drops nothing. Harmony has no seams.
    max_hold: how many bytes of a value, or of a call before its name, may wait for their end.
    empty_args: the arguments of a complete call that has none; "" for none.
    check_stops: refuse a vocabulary that has none of the tokens at which the format stops. `vocab.missing(format)`
    returns these tokens.
    watch: strings in the arguments of calls that come decoded, too, as ValueStart, ValueDelta and ValueEnd. A list of
    paths, each a tool's name, then keys and positions, ... for any: [("write", "text"), ("edit", "edits", ..., "new")].

    Raises FormatError, VocabError, TypeError or ValueError for options that cannot be used.
    """
    def __new__(
        cls,
        format: str | Format | HeaderFormat = "harmony",
        vocab: Vocab | None = None,
        *,
        tools: _Tools | None = None,
        start: str = "auto",
        prompt: str | bytes | _Ids | None = None,
        strict: bool = False,
        trim: Literal["seams", "none"] = "seams",
        empty_args: str = "{}",
        max_hold: SupportsIndex = 1048576,
        check_stops: bool = True,
        watch: Watch | _Paths | None = (),
    ) -> Self: ...
    def feed(self, ids: _Ids, /) -> tuple[Event, ...]:
        """The events of these token ids, as a tuple: one delta for each run of the same kind.

        ids: one int, a list, tuple, range or other iterable of ints, or an integer buffer (array, numpy, torch) with
        one long dimension. Raises TypeError or ValueError, before anything is read, for an id that is not 0 to
        2**32 - 1; ValueError after finish() or feed_text(); in strict mode ParseError, which carries the events parsed
        before it and the ends of what was open. Unknown ids become U+FFFD.
        """
    def feed_text(self, text: str | bytes, /) -> tuple[Event, ...]:
        """The events of this piece of text: str or bytes, cut anywhere. For servers that have no ids.

        Raises TypeError for anything else, ValueError after finish() or feed(), ParseError in strict mode.
        """
    def feed_delta(self, output: _Ids | str | bytes, /) -> Delta:
        """What these token ids, or this text, add to the reasoning, the content and the calls, as one `Delta`.

        For hosts that need no events. Takes and raises what feed() and feed_text() do; in strict mode the
        error has the events before it. Calls of feed() may come between.
        """
    def finish_delta(self, reason: str | Mapping[str, Any] | Enum | None = None) -> Delta:
        """finish() as one `Delta`: what was held. A second call returns an empty one. Then `finish_reason` is known."""
    def finish(self, reason: str | Mapping[str, Any] | Enum | None = None) -> tuple[Event, ...]:
        """The last events: what was held, the ends of what is open, and `StreamEnd`. A second call returns ().

        reason: why the engine stopped, in its own word ("stop", "eos_token", "max_tokens", ...; harmonystream.reasons
        has them all), or None if it does not say. Decides whether an open call is complete.
        """
    def reset(self) -> None:
        """Back to the beginning, with the same options; ready for another stream."""
    def fork(self) -> Parser:
        """An independent copy of the stream in its present state, with what is held: for speculative decoding, or n
        choices of one prompt.
        """
    def to_bytes(self) -> bytes:
        """The whole state, for from_bytes() in this process or another: small and versioned. Vocabulary and tools are
        not in it.
        """
    @staticmethod
    def from_bytes(
        data: bytes | bytearray | memoryview,
        vocab: Vocab | None = None,
        *,
        format: str | Format | HeaderFormat | None = None,
        tools: _Tools | None = None,
        watch: Watch | _Paths | None = (),
    ) -> Parser:
        """The parser that to_bytes() described, given the same vocabulary, tools and watch list; and format, if it was
        not a built-in one.

        The blob is validated field by field: ValueError for one that is truncated, altered, of another version,
        vocabulary, tools or watch list.
        """
