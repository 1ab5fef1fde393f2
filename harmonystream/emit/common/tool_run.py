"""A call that the server itself runs."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ToolRun"]


class ToolRun(NamedTuple):
    """A call that runs on the server's side, for `tell()`.

    server: a name for what runs it. name, arguments: of the call. output: what the model reads; None: the call begins
    to run, and comes again, with the same `key`, when it has run. failed: does the output say that the tool failed?
    key: pairs the two, and is unique among the runs of a response; a run that is told once needs none.
    """

    server: str
    name: str
    arguments: str
    output: str | None
    failed: bool = False
    key: str = ""
