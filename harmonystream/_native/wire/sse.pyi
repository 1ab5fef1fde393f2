from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

from typing_extensions import Buffer, Self, disjoint_base

from harmonystream._native.core.vocab import Vocab
from harmonystream._native.stream.parser import Parser
from harmonystream._native.wire.json_filter import Arguments
from harmonystream._native.wire.script import Script
from harmonystream.events import Event
from harmonystream.formats import Format

DEBUG: bool

@disjoint_base
class SseWriter:
    """The base of all emitters: feeds a parser, and writes its deltas into frames. A subclass has two methods.
    _on_event(event) gets all events but deltas, and deltas that have no frame. It returns the bytes to send, or a
    Frame: for a delta the one that this delta and those after it go into, for another event one without a hole for
    text. _feed_with(ids, logprobs) returns the bytes for all that is fed with logprobs, or while `_watched` is set.

    `_number` is the next frame's. The text of deltas is kept until _take(). While `_arguments_through` is set, argument
    deltas pass that filter, which keeps their text.

    feed(), feed_text(), start, finish and error raise RuntimeError in a second thread, and in a callback that they
    have called.

    parser: one that has read nothing; or a format's name or row, with `vocab` and `tools` for its parser.
    """

    _watched: bool
    _number: int
    _arguments_through: Arguments | None
    def __new__(
        cls,
        parser: Parser | Format | str = "harmony",
        *args: Any,
        vocab: Vocab | None = None,
        tools: object = None,
        _moved: bool = False,
        **kwargs: Any,
    ) -> Self: ...
    @property
    def parser(self) -> Parser: ...
    @property
    def _tokens_read(self) -> tuple[int, int]:
        """All, and those of reasoning: of the parser's usage, without the object."""
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
    def _is_scripted(self) -> bool:
        """Does the script write what happens? Then Python may not know yet: see _journal()."""
    @property
    def _trims(self) -> bool:
        """Does the parser write a newline between texts around a call?"""
    @property
    def _word_written(self) -> str | None:
        """The API's reason, if the script has written the end of the response, too; else None."""
    @property
    def _calls_written(self) -> int:
        """The calls that the script has shown."""
    @property
    def _items_written(self) -> int:
        """The items that the script has shown."""
    @property
    def _output_written(self) -> str:
        """The items that are done, as the script has them, each after a comma."""
    @property
    def _head_written(self) -> str:
        """The JSON of what the response begins with."""
    def _cut_from_here(self) -> None:
        """From here on a message that no token ends is cut. In the journal this is None."""
    def _leave_script(self) -> None:
        """From here on, Python writes every frame."""
    def _journal(self) -> tuple[list[Event | None], Arguments | None]:
        """The events that Python does not know yet, and the filter of an open call's arguments. It knows them now. The
        text of deltas is one event for each run.
        """
    def _caught_up(self, filter: Arguments | None, /) -> None:
        """Called after _journal(), when Python has seen all of it. What is open continues where it was."""
    def _start(self, dicts: bool, /) -> None:
        """It is new, and from now on bytes, or dicts. Raises ValueError if it is not new."""
    def _check(self, dicts: bool, /) -> None:
        """Raises ValueError unless it has started, and goes on, as bytes, or as dicts."""
    def _enter(self) -> None:
        """For what Python reads from the parser: nobody else may be inside until _leave()."""
    def _leave(self) -> None:
        """After _enter()."""
    def _break(self) -> None:
        """Something was half done when it raised."""
    def _over(self) -> bytes:
        """It has ended, and takes nothing more. The frames that were made before it broke, if it did."""
    def _keep(self, kind: str, text: str) -> str:
        """Keep a delta's text that goes out some other way; what of it may go out."""
    def _keep_none(self, *kinds: str) -> None:
        """Keep no item's text after its end, and no delta's of these kinds when it has been sent."""
    def _take(self, kind: str) -> str:
        """The text of the deltas of this kind since the last _take()."""
    def _begin_script(
        self,
        script: Script,
        constants: tuple[str, str, str, str, str | None],
        asks_ids: bool,
        usage: str,
        opening: bytes | None,
        /,
    ) -> bytes:
        """It is new, and from now on bytes, by this script. The first frames.

        constants: the response's id, when it was created, the stem of ids, the model, and the JSON of what it begins
        with; None: the script has that. asks_ids: `_call_ids` decides the id of each call. usage: as JSON, what is
        known of it at the beginning. opening: the first frames, if they are not the script's.
        """
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
    def _end_plainly(self, reason: str | None, usage: Any, /) -> bytes | None:
        """All last frames, if the script has them for this reason and usage; then the response has ended. None: Python
        must end it.

        _end_after() adds what Python must write after all. Raises what checked_usage() raises.
        """
    @property
    def _usage_at_end(self) -> dict[str, Any] | None:
        """What finish() has been given, of a response that the script has ended."""
    def _end(self, reason: str | None = None) -> bytes:
        """The frames of the last events; the terminal ones of an API are its own."""
    def _no_frames(self) -> None:
        """None for any kind."""
    def _check_movable(self) -> None:
        """Raises ValueError unless it has started and goes on."""
    def _moving(self) -> tuple[bool, int]:
        """Is it dicts, and the next payload's number."""
    def _kept(self) -> list[str]:
        """What is kept of each kind of delta; after _catch_up()."""
    def _move_to(self, parser: Parser, dicts: bool, number: int, /) -> None:
        """It is new, and from now on what such a stream was. The parser need not be fresh."""
