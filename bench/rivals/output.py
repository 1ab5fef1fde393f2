"""The output of a parser, pieced together, and whether it is right."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable
from typing import Any

from bench.worker import interpreter


class Output:
    """Keeps pieces of text alone: kept objects would make the garbage collector expensive for the parser."""

    def __init__(self) -> None:
        self._reasoning: list[str] = []
        self._content: list[str] = []
        self._names: dict[int, str] = {}
        self._arguments: dict[int, list[str]] = {}

    def text(self, reasoning: str | None, content: str | None) -> None:
        self._reasoning.append(reasoning or "")
        self._content.append(content or "")

    def call(self, index: int, name: str | None, arguments: str | None) -> None:
        """A piece of a call: its name, part of its arguments, or both."""
        self._names[index] = self._names.get(index, "") + (name or "")
        self._arguments.setdefault(index, []).append(arguments or "")

    def parts(self) -> tuple[str, str, list[tuple[str, str]]]:
        """Reasoning, content, and the name and arguments of each call."""
        calls = [(self._names[index], "".join(self._arguments[index])) for index in sorted(self._names)]
        return "".join(self._reasoning), "".join(self._content), calls

    def wrong(self, expected: dict[str, Any]) -> str:
        """What differs; nothing if all is right.

        Newlines around a text do not count, since parsers differ in what they take for layout, and arguments are
        compared as JSON.
        """
        *texts, calls = self.parts()
        faults = [name for name, text in zip(("reasoning", "content"), texts) if text.strip("\n") != expected[name]]
        if [name for name, _ in calls] != [name for name, _ in expected["calls"]]:
            faults.append("calls")
        elif [parsed(arguments) for _, arguments in calls] != [given for _, given in expected["calls"]]:
            faults.append("arguments")
        return ", ".join(faults)


def output_of(frames: Iterable[bytes]) -> Output:
    """What the chunks of a chat completion say. Raises `ValueError` if they are not whole: [DONE] is the last."""
    output = Output()
    *chunks, done, rest = b"".join(frames).decode().split("\n\n")
    if (done, rest) != ("data: [DONE]", ""):
        raise ValueError(f"the response ends with {done!r}")
    for chunk in chunks:
        for choice in json.loads(chunk.removeprefix("data: "))["choices"]:
            delta = choice["delta"]
            output.text(delta.get("reasoning"), delta.get("content"))
            for call in delta.get("tool_calls") or ():
                output.call(call["index"], call["function"].get("name"), call["function"].get("arguments"))
    return output


def parsed(text: str) -> Any:
    """The JSON value, or the text if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def served(name: str, version: str, reader_of: Callable[[dict[str, Any]], Any]) -> tuple[Callable[..., Any], ...]:
    """The functions of a side that the parent calls: about, load and again.

    A reader has `read()`, which gives nanoseconds per token, and `check()`, which also gives the output or None.
    """
    readers: dict[str, Any] = {}

    def about() -> list[str]:
        return [name, version, interpreter()]

    def load(stream: dict[str, Any]) -> dict[str, Any]:
        reader = readers[stream["name"]] = reader_of(stream)
        gc.collect()
        gc.freeze()  # as a server does after its start: the collector no longer looks at what is loaded
        output, took = reader.check()
        return {"took": took, "wrong": "" if output is None else output.wrong(stream["expected"])}

    def again(stream_name: str) -> float:
        took: float = readers[stream_name].read()
        return took

    return about, load, again
