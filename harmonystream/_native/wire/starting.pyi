from typing_extensions import disjoint_base

from harmonystream._native.wire.script import Script
from harmonystream._native.wire.writer import OpenWriter

DEBUG: bool

@disjoint_base
class StartingWriter(OpenWriter):
    """A response that starts."""
    def _begin_script(
        self, script: Script, id: str, created: str, stem: str, head: str | None, opening: bytes | None, /
    ) -> bytes:
        """It is new, and from now on bytes, by this script. The first frames.

        head: the JSON of what a response begins with; None: the script has it. opening: the first frames, if they are
        not the script's.
        """
