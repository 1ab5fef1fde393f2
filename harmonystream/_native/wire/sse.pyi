from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

from typing_extensions import Buffer, Self, disjoint_base

from harmonystream._native.core.vocab import Vocab
from harmonystream._native.stream.parser import Parser
from harmonystream._native.wire.json_filter import Arguments
from harmonystream.formats import Format

DEBUG: bool

@disjoint_base
class SseWriter:
    """The base of all emitters: feeds a parser, and writes its deltas into frames. A subclass has two methods.
    _on_event(event) gets every
    event that is no delta, and deltas that have no frame: it returns the bytes to send, or, for a delta, the Frame that
    this delta and those after it go into. _feed_with(ids, logprobs) returns the bytes for all that is fed with
    logprobs, or while `_watched` is set.

    `_number` is the next frame's. The text of deltas is kept until _take(). While `_arguments_through` is set, argument
    deltas pass that filter, which keeps their text.

    feed(), feed_text(), start, finish and error refuse, with RuntimeError, a second thread and what they have called
    themselves.

    parser: one that has read nothing; or a format's name or row, with `vocab` and `tools` for its parser.
    """

    _number: int
    _watched: bool
    _arguments_through: Arguments | None
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
        """Has it not started?"""
    @property
    def ended(self) -> bool:
        """Has it? Then it takes nothing more."""
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
    def _end(self, reason: str | None = None) -> bytes:
        """The frames of the last events; the terminal ones of an API are its own."""
    def _no_frames(self) -> None:
        """None for any kind."""
    def _keep(self, kind: str, text: str) -> str:
        """Keep a delta's text that goes out some other way; what of it may go out."""
    def _take(self, kind: str) -> str:
        """What the deltas of this kind have said since the last _take()."""
