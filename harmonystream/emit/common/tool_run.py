"""A call that the server itself runs."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ToolRun"]


class ToolRun(NamedTuple):
    """A call that runs on the server's side, for `feed_events()`.

    server: a name for the server that runs it. name, arguments: the call's. output: what the model reads. None means
    that the call begins to run; a second `ToolRun` with the same `key` follows when it has run. failed: does the output
    report that the tool failed? key: connects the two, and is unique within a response. A run that is passed only once
    needs no key.
    """

    server: str
    name: str
    arguments: str
    output: str | None
    failed: bool = False
    key: str = ""
