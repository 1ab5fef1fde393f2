"""parse(): reads a whole output at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from ._native.core.vocab import Vocab
from ._native.stream.parser import Parser
from ._native.stream.whole import whole
from .completion import Completion
from .formats import Format, HeaderFormat

__all__ = ["parse"]


def parse(
    output: Any,
    format: str | Format | HeaderFormat = "harmony",
    vocab: Vocab | None = None,
    *,
    tools: Iterable[Any] | None = None,
    start: str = "auto",
    prompt: Any = None,
    strict: bool = False,
    trim: Literal["seams", "none"] = "seams",
    empty_args: str = "{}",
    max_hold: int = 1 << 20,
    finish_reason: str | None = None,
) -> Completion:
    """Parse a whole output at once: token ids (anything that `Parser.feed` takes), or text as str or bytes.

    finish_reason: why the engine stopped, such as "stop" or "length", in any engine's words.
    All other options are those of `Parser`. The result equals that of streaming in any pieces.

    Raises what `Parser` raises for its options, TypeError or ValueError for an output that cannot be ids or text, and
    `ParseError` in strict mode only.
    """
    parser = Parser(
        format,
        vocab,
        tools=tools,
        start=start,
        prompt=prompt,
        strict=strict,
        trim=trim,
        empty_args=empty_args,
        max_hold=max_hold,
        check_stops=False,  # the output is complete, so nothing waits for its end
    )
    return whole(parser, output, finish_reason)
