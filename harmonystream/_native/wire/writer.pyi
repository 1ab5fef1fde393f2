from typing import Any

from typing_extensions import Self, disjoint_base

from harmonystream._native.core.vocab import Vocab
from harmonystream._native.stream.parser import Parser
from harmonystream._native.wire.json_filter import Arguments
from harmonystream.events import Event
from harmonystream.formats import Format

DEBUG: bool
__pyx_capi__: dict[str, object]

@disjoint_base
class OpenWriter:
    """The state of one response, and its lock. SseWriter adds the verbs."""

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
    def _scripted(self) -> bool:
        """Does the script tell what happens? Then Python may not know yet: see _journal()."""
    @property
    def _word_told(self) -> str | None:
        """The API's reason, if the script has told the end of the response, too; else None."""
    @property
    def _calls_told(self) -> int:
        """The calls that the script has shown."""
    @property
    def _items_told(self) -> int:
        """The items that the script has shown."""
    @property
    def _output_told(self) -> str:
        """The items that are done, as the script says them, each after a comma."""
    @property
    def _head_told(self) -> str:
        """The JSON of what the response begins with."""
    def _cut_from_here(self) -> None:
        """From here on a message that no token ends is cut. In the journal this is None."""
    def _leave_script(self) -> None:
        """From here on, Python writes every frame."""
    def _journal(self) -> tuple[list[Event | None], Arguments | None]:
        """The events that Python has not been told, and the filter of an open call's arguments: it is told now. The
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
        """What the deltas of this kind have said since the last _take()."""
