from typing_extensions import disjoint_base

from harmonystream._native.core.vocab import Vocab
from harmonystream._native.stream.records import EventMaker
from harmonystream.deviations import Deviation
from harmonystream.regions import GrammarAt, Region, Usage

DEBUG: bool
MEANINGS: dict[str, str]
__pyx_capi__: dict[str, object]

@disjoint_base
class OpenStream(EventMaker):
    """The state of one stream, and its lock. Parser adds the verbs."""
    @property
    def region(self) -> Region:
        """Where the next token would land, as a `Region`. O(1), and reads nothing."""
    def grammar_at(self) -> GrammarAt:
        """Which grammar applies to the next token, as a `GrammarAt` with `region` and `tool`: the same object while
        nothing changes. O(1).
        """
    @property
    def position(self) -> int:
        """Tokens fed so far (text mode: bytes; a possible beginning of a marker is not yet counted)."""
    @property
    def calls(self) -> int:
        """Tool calls begun so far."""
    @property
    def usage(self) -> Usage:
        """Tokens (text mode: bytes) per region so far, as `Usage`."""
    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """What was repaired, oldest first; the first 16."""
    @property
    def deviation_count(self) -> int:
        """How much was repaired in all."""
    @property
    def role(self) -> str | None:
        """The open message's author; None between messages."""
    @property
    def channel(self) -> str | None:
        """The open message's channel; None without one, or between messages."""
    @property
    def recipient(self) -> str | None:
        """The open message's recipient, as written."""
    @property
    def content_type(self) -> str | None:
        """The open message's content type."""
    @property
    def format(self) -> str:
        """The format's name."""
    @property
    def vocab(self) -> Vocab:
        """The vocabulary."""
    @property
    def strict(self) -> bool:
        """True if a deviation raises ParseError."""
    @property
    def finish_reason(self) -> str | None:
        """The reason that `StreamEnd` gave. None before the end, and in a parser that from_bytes() made."""
    @property
    def finished(self) -> bool:
        """Has finish() been called?"""
    @property
    def stop_ids(self) -> tuple[int, ...]:
        """The control ids at which the engine should stop generating, ascending."""
