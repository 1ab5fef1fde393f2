from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

from typing_extensions import Buffer, disjoint_base

from harmonystream._native.wire.moving import MovingWriter

DEBUG: bool

@disjoint_base
class SseWriter(MovingWriter):
    """The base of all emitters: feeds a parser, and writes its deltas into frames. A subclass has two methods.
    _on_event(event) gets every event that is no delta, and deltas that have no frame. It returns the bytes to send, or
    a Frame: for a delta the one that this delta and those after it go into, for another event one without a hole for
    text. _feed_with(ids, logprobs) returns the bytes for all that is fed with logprobs, or while `_watched` is set.

    `_number` is the next frame's. The text of deltas is kept until _take(). While `_arguments_through` is set, argument
    deltas pass that filter, which keeps their text.

    feed(), feed_text(), start, finish and error raise RuntimeError in a second thread, and in a callback that they
    have called.

    parser: one that has read nothing; or a format's name or row, with `vocab` and `tools` for its parser.
    """

    _watched: bool
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

        What Python must say after all, _end_after() adds. Raises what checked_usage() raises.
        """
    @property
    def _usage_at_end(self) -> dict[str, Any] | None:
        """What finish() has been given, of a response that the script has ended."""
    def _end(self, reason: str | None = None) -> bytes:
        """The frames of the last events; the terminal ones of an API are its own."""
    def _no_frames(self) -> None:
        """None for any kind."""
