"""Calls that the server itself has run: what each API says of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..call_arguments import read_arguments
from .items import Item, Mcp
from .payload import Payload, clean

__all__ = ["Ran", "ToolRun", "run_blocks"]


class ToolRun(NamedTuple):
    """A call that was run on the server's side, for `tell()`.

    server: a name for what ran it. name, arguments: of the call. output: what the model reads. failed: does the output
    say that the tool failed?
    """

    server: str
    name: str
    arguments: str
    output: str
    failed: bool = False


class Ran(Mcp):
    """A run as an item of Responses. fields["run"]: the `ToolRun`."""

    def delta(self, text: str) -> Payload:
        return self._event(f"{self.streamed}.delta", delta=text)

    def done(self, text: str, complete: bool) -> list[Payload]:
        failed = self.fields["run"].failed
        said = self._event(f"{self.streamed}.done", arguments=text)
        return [said, self._event(f"{self.type}.{'failed' if failed else 'completed'}"), *Item.done(self, text, True)]

    def item(self, text: str, status: str) -> Payload:
        run: ToolRun = self.fields["run"]
        made: Payload = {"type": self.type, "id": self.id, "server_label": clean(run.server), "name": clean(run.name)}
        made |= {"arguments": text, "output": None, "error": None, "approval_request_id": None, "status": status}
        if status != "in_progress":
            made["output"] = clean(run.output)
            if run.failed:
                content = [{"type": "text", "text": made["output"]}]
                made |= {"status": "failed", "error": {"type": "mcp_tool_execution_error", "content": content}}
        return made


def run_blocks(run: ToolRun, id: str) -> tuple[Payload, Payload]:
    """A run as blocks of Messages: the call, and its result. The call has its input from the beginning."""
    try:
        given: dict[str, Any] = read_arguments(run.arguments)
    except ValueError:
        given = {"raw": clean(run.arguments)}
    call = {"type": "mcp_tool_use", "id": id, "name": clean(run.name), "server_name": clean(run.server)}
    content = [{"type": "text", "text": clean(run.output), "citations": None}]
    result = {"type": "mcp_tool_result", "tool_use_id": id, "is_error": run.failed, "content": content}
    return {**call, "input": given}, result
