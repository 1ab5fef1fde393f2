from typing import Any

from harmonystream._native.core.vocab import Vocab
from harmonystream._native.stream.parser import Parser
from harmonystream._native.wire.envelope import Saved
from harmonystream._native.wire.json_filter import Arguments
from harmonystream._native.wire.script import Script
from harmonystream._native.wire.starting import StartingWriter
from harmonystream.formats import Format, HeaderFormat

DEBUG: bool

class MovingWriter(StartingWriter):
    """The state of one response, as bytes and back."""
    def _check_movable(self) -> None:
        """Raises ValueError unless it has started and goes on."""
    def _moving(self) -> tuple[bool, int]:
        """Is it dicts, and the next payload's number."""
    def _kept(self) -> list[str]:
        """What is kept of each kind of delta; after _catch_up()."""
    def _move_to(self, parser: Parser, dicts: bool, number: int, /) -> None:
        """It is new, and from now on what such a stream was. The parser need not be fresh."""
    def _told_bytes(self, api: bytes, options: bytes, id: str, created: bytes, key: bytes | None) -> bytes | None:
        """The envelope of its state, signed if there is a key, with what its script has told. None: it has no script,
        or Python has been told a part.
        """

def identity_of(saved: Saved, time: str) -> dict[str, Any] | None:
    """The fields of a response's identity: its id, and when it was created, under this name. "": it has none.

    None: the time is no usual integer. Raises UnicodeDecodeError for an id that is not UTF-8.
    """

def parser_of(saved: Saved, vocab: Vocab | None, format: str | Format | HeaderFormat | None, tools: Any) -> Parser:
    """The parser in a state, for told_again(). Raises what Parser.from_bytes() raises."""

def told_again(
    kind: type[Any],
    parser: Parser,
    fields: dict[str, Any],
    identity: dict[str, Any],
    script: Script,
    told: bytes,
    filter: Arguments | None,
    number: int,
) -> Any:
    """The stream of this class whose script has told this.

    parser: it need not be fresh. fields, identity: the stream's attributes. filter: of an open call's arguments.
    number: of the next payload. Raises ValueError for what no stream could have told.
    """
