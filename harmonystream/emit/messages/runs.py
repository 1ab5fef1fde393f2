"""The blocks of calls that the server itself runs."""

from __future__ import annotations

from typing import Any

from ...call_arguments import read_arguments
from ..common.payload import Payload, clean
from ..common.tool_run import ToolRun

__all__ = ["RunBlocks"]


class RunBlocks:
    """The runs of one message. stem: the part of the message's id that the ids of the calls contain."""

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._running: dict[str, str] = {}  # ids of calls by key

    def take(self, run: ToolRun, index: int) -> list[Payload]:
        """The blocks of the run. The first one has this index. A call is sent with its whole input at once."""
        if run.key in self._running and run.output is not None:
            return [_result(run, self._running.pop(run.key))]
        id = f"mcptoolu_{self._stem}_{index}"
        if run.output is not None:
            return [_use(run, id), _result(run, id)]
        self._running[run.key] = id
        return [_use(run, id)]


def _use(run: ToolRun, id: str) -> Payload:
    try:
        given: dict[str, Any] = read_arguments(run.arguments)
    except ValueError:
        given = {"raw": clean(run.arguments)}
    call = {"type": "mcp_tool_use", "id": id, "name": clean(run.name), "server_name": clean(run.server)}
    return {**call, "input": given}


def _result(run: ToolRun, id: str) -> Payload:
    content = [{"type": "text", "text": clean(run.output or ""), "citations": None}]
    return {"type": "mcp_tool_result", "tool_use_id": id, "is_error": run.failed, "content": content}
