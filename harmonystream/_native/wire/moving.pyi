from harmonystream._native.stream.parser import Parser
from harmonystream._native.wire.json_filter import Arguments
from harmonystream._native.wire.script import Script
from harmonystream._native.wire.writer import OpenWriter

DEBUG: bool

class MovingWriter(OpenWriter):
    """The state of one response, as bytes and back."""
    def _check_movable(self) -> None:
        """Raises ValueError unless it has started and goes on."""
    def _moving(self) -> tuple[bool, int]:
        """Is it dicts, and the next payload's number."""
    def _kept(self) -> list[str]:
        """What is kept of each kind of delta; after _catch_up()."""
    def _move_to(self, parser: Parser, dicts: bool, number: int, /) -> None:
        """It is new, and from now on what such a stream was. The parser need not be fresh."""
    def _told_state(self) -> bytes | None:
        """What its script has told, for _tell_again(). None: it has none, or Python has been told a part."""
    def _tell_again(
        self,
        script: Script,
        id: str,
        created: str,
        stem: str,
        head: str | None,
        told: bytes,
        filter: Arguments | None,
        number: int,
        /,
    ) -> None:
        """It is new, with a parser that need not be fresh, and from now on what such a stream was.

        filter: of an open call's arguments. Raises ValueError for what _told_state() could not have given.
        """
