"""openai-harmony's older release, in a process of its own: two releases cannot be imported into one.

The parent sends streams and asks for rounds as JSON lines; the child (this file, run by the other interpreter) answers
with nanoseconds per token. Asking round by round lets both releases and harmonystream take turns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

VERSION = "0.0.4"
ROOT = Path(__file__).parent.parent
VENV = ROOT / ".venv-bench-004"


def interpreter(given: str | None = None) -> str | None:
    """The Python that has the old release: as told, or where `make bench` puts it; None if there is none."""
    if given:
        return given
    places = (VENV / "bin" / "python", VENV / "Scripts" / "python.exe")
    return next((str(place) for place in places if place.is_file()), None)


class OldRelease:
    """The child, as the parent sees it. Raises `RuntimeError` if it cannot run."""

    def __init__(self, python: str) -> None:
        command = [python, "-m", "bench.old_release"]
        self._child = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._known: set[str] = set()
        self.version = str(self._ask({}))

    def round(
        self, name: str, opening: list[int], ids: list[int], whole: bool = False, *, framed: bool = False
    ) -> Callable[[], float]:
        """framed: its frames are made, by hand."""
        if name not in self._known:
            self._known.add(name)
            stream = [opening, ids] if framed else [opening, ids, whole]
            self._ask({"name": name, "stream": stream, "framed": framed})
        return lambda: float(self._ask({"name": name}))

    def close(self) -> None:
        self._child.communicate()

    def _ask(self, question: dict[str, Any]) -> Any:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.write(json.dumps(question) + "\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            pass  # it died; the empty answer says so
        answer = self._child.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process with openai-harmony {VERSION} ended with status {self._child.wait()}")
        return json.loads(answer)


def serve() -> None:
    """The child's life: answer the parent until it closes the pipe."""
    from importlib.metadata import version

    from openai_harmony import HarmonyEncodingName, load_harmony_encoding

    from bench import by_hand, official

    os.environ.setdefault("TIKTOKEN_ENCODINGS_BASE", str(ROOT / "harmonystream" / "data"))
    encoding = load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)
    streams: dict[str, Any] = {}
    for line in sys.stdin:
        question = json.loads(line)
        name = question.get("name")
        if name is None:
            answer: Any = version("openai-harmony")
        elif "stream" in question:
            streams[name] = by_hand.per_token if question["framed"] else official.per_token, question["stream"]
            answer = None
        else:
            per_token, stream = streams[name]
            answer = per_token(encoding, *stream)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
