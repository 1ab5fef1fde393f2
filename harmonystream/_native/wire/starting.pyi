from harmonystream._native.wire.script import Script
from harmonystream._native.wire.writer import OpenWriter

DEBUG: bool

class StartingWriter(OpenWriter):
    """A response that starts."""
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
