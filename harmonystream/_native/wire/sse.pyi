from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

from typing_extensions import Buffer, Self, disjoint_base

from harmonystream._native.core.vocab import Vocab
from harmonystream._native.stream.parser import Parser
from harmonystream._native.wire.json_filter import Arguments
from harmonystream._native.wire.template import Templates
from harmonystream.events import Event, ToolCallEnd
from harmonystream.formats import Format

DEBUG: bool

_Constants = tuple[str, str, str, str, str | None]

@disjoint_base
class SseWriter:
    """The base of all emitters: feeds a parser, and writes its records by the templates of an API.

    A subclass defines these methods:

    _answer_call(event, index, item): returns the variant of a call's item, its name, its id, more fields as JSON, the
    id of its item, and what its arguments pass through, or None.
    _answer_item(kind, item): returns the id of an item of text.
    _answer_end(kind, text, name): returns the seal of the item that ends, and the logprobs of its text as JSON, for
    the event and for the item.
    _answer_tokens(start, stop, last): returns the logprobs and the ids of these tokens as JSON.
    _tokens_written(delta, used): learns whether these were sent.
    _answer_reason(reason, calls): returns the API's word for the reason, and the fields beside it.
    _feed_with(ids, logprobs): returns the bytes for ids with logprobs, and for all ids while `_watched` is set.

    feed(), feed_text(), start, finish and error raise RuntimeError in a second thread, and in a callback that they
    have called.

    parser: one that has read nothing; or a format's name or row, with `vocab` and `tools` for its parser.
    """

    _watched: bool
    _number: int
    _in_events: bool
    _cut: bool
    _inside: bool
    _word: str | None
    def __new__(
        cls,
        parser: Parser | Format | str = "harmony",
        *args: Any,
        vocab: Vocab | None = None,
        tools: object = None,
        **kwargs: Any,
    ) -> Self: ...
    @property
    def parser(self) -> Parser: ...
    @property
    def in_text(self) -> bool:
        """Is it fed text? Then the parser counts bytes, not tokens."""
    @property
    def is_new(self) -> bool:
        """True until it has started."""
    @property
    def ended(self) -> bool:
        """True after its end: it takes nothing more."""
    @property
    def _trims(self) -> bool:
        """Does the parser write a newline between texts around a call?"""
    @property
    def _end_reason(self) -> str | None:
        """The parser's reason, after its end."""
    @property
    def _plain_usage(self) -> Any:
        """What finish() has been given, of a response whose last frames the templates have; () of any other."""
    @property
    def _calls_so_far(self) -> int:
        """The calls that were shown."""
    @property
    def _items_so_far(self) -> int:
        """The items that have begun."""
    @property
    def _head_json(self) -> str:
        """The JSON of the head."""
    def _check(self, dicts: bool, /) -> None:
        """Raises ValueError unless it has started, and goes on, as bytes, or as dicts."""
    def _over(self) -> bytes:
        """Ends it: it takes nothing more. Returns the frames from before an error, if an error broke it."""
    def _begin(
        self,
        dicts: bool,
        templates: Templates,
        constants: _Constants,
        questions: int,
        usage: str,
        fresh: bool = True,
        /,
    ) -> bytes:
        """It is new, and from now on bytes, or dicts. The first frames.

        constants: the response's id, when it was created, the stem of ids, the model, and the JSON that is the head;
        None: the templates have that. questions: what is always asked, see `_question_bits()`. usage: as JSON, what is
        known of it at the beginning. fresh: refuse a parser that is not.
        """
    @staticmethod
    def _question_bits(calls: bool, types: bool, items: bool) -> int:
        """For _begin(): who decides? calls: of the ids of calls; types: of more than that; items: of items' ids."""
    def _change_templates(self, templates: Templates, /) -> None:
        """From now on these: the logprobs and ids of tokens are sent, too."""
    def feed(
        self,
        ids: SupportsIndex | Iterable[SupportsIndex] | Buffer,
        /,
        logprobs: Sequence[dict[str, Any]] | None = None,
    ) -> bytes:
        """The frames that these token ids make: none, one or several. Raises what Parser.feed() raises.

        logprobs: the API's object for each of them, in Chat Completions; ValueError if it is another number of them.
        """
    def feed_text(self, text: str | bytes, /) -> bytes:
        """The frames that this text makes. Raises what Parser.feed_text() raises."""
    def _read(self, ids: SupportsIndex | Iterable[SupportsIndex] | Buffer) -> bytes:
        """The frames that these token ids make, as feed() makes them of what is not watched."""
    @staticmethod
    def _listed(given: SupportsIndex | Iterable[SupportsIndex] | Buffer) -> list[int]:
        """Token ids as a list, from whatever Parser.feed() takes, by its rules."""
    def _end(self, reason: str | None = None) -> bytes:
        """The frames of the last events; the terminal ones of an API are its own."""
    def _end_plainly(self, reason: str | None, usage: Any, /) -> bytes | None:
        """All last frames, if the templates have them for this reason and usage; then the response has ended. None:
        Python must end it.

        Raises what checked_usage() raises.
        """
    def _items(self, with_open: bool = False, /) -> str:
        """The items that are done, and the open one, as JSON."""
    def _put_items(self, items: str, begun: int, /) -> None:
        """These items, as JSON, take the place of those that are done. begun: more that have begun."""
    def _keep_none(self, *kinds: str) -> None:
        """Keep nothing of an item after its end, and no delta's text of these kinds when it has been sent."""
    def _end_open(self, complete: bool, /) -> bytes:
        """The frames that end the open item."""
    def _close_with(self, usage: str, /) -> bytes:
        """The last frames, with this usage as JSON."""
    def _write_events(self, events: list[Event], reason: str | None, cut: ToolCallEnd | None = None, /) -> bytes:
        """The frames of events that another parser has made. reason: of their end. cut: the end of a call that was cut."""
    def _check_movable(self) -> None:
        """Raises ValueError unless it has started and goes on."""
    def _moving(self) -> tuple[bool, int]:
        """Is it dicts, and the next payload's number."""
    def _writing(self) -> dict[str, Any]:
        """Where it is in the response: the open item, and what has begun."""
    def _write_on(
        self,
        parser: Parser,
        dicts: bool,
        number: int,
        templates: Templates,
        constants: _Constants,
        questions: int,
        given: dict[str, Any],
        filter: Arguments | None,
        /,
    ) -> None:
        """It is new, and from now on what such a stream was. The parser need not be fresh. given: what _writing() gave,
        each field of the right type. Raises ValueError if it could not have given that.
        """
