"""openai-harmony at work, as a caller uses it: one `process` and three getters for each token.

Imports no harmonystream: `old_release.py` runs it with another interpreter, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.clock import now


def parser_of(encoding: Any) -> Any:
    from openai_harmony import Role, StreamableParser

    return StreamableParser(encoding, Role.ASSISTANT)


def read(parser: Any, ids: Sequence[int]) -> None:
    for tid in ids:
        parser.process(tid)
        parser.current_channel  # noqa: B018 - a getter's cost is what is measured
        parser.current_recipient  # noqa: B018
        parser.last_content_delta  # noqa: B018


def per_token(encoding: Any, opening: Sequence[int], ids: Sequence[int], whole: bool) -> float:
    """Nanoseconds for each of `ids`; see `streams.Work`."""
    if whole:
        started = now()
        read(parser_of(encoding), ids)
        return (now() - started) / len(ids)
    parser = parser_of(encoding)
    read(parser, opening)
    started = now()
    read(parser, ids)
    return (now() - started) / len(ids)


def new_parsers(encoding: Any, n: int) -> float:
    """Nanoseconds for each of n parsers."""
    started = now()
    for _ in range(n):
        parser_of(encoding)
    return (now() - started) / n
