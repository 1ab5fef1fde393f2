"""Calls that the server itself runs: what each API says of them while they run, and when they have run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..call_arguments import read_arguments
from .items import Item, Mcp
from .kept import Kept
from .payload import Payload, clean

__all__ = ["RunBlocks", "RunItems", "ToolRun"]


class ToolRun(NamedTuple):
    """A call that runs on the server's side, for `tell()`.

    server: a name for what runs it. name, arguments: of the call. output: what the model reads; None: the call begins
    to run, and is told again, with the same `key`, when it has run. failed: does the output say that the tool failed?
    key: pairs the two, and is unique among the runs of a response; a run that is told once needs none.
    """

    server: str
    name: str
    arguments: str
    output: str | None
    failed: bool = False
    key: str = ""


class RunItem(Mcp):
    """A run as an item of Responses. fields["run"]: the `ToolRun`."""

    def begun(self) -> list[Payload]:
        arguments = clean(self.fields["run"].arguments)
        return [
            *self.added(),
            self._event(f"{self.streamed}.delta", delta=arguments),
            self._event(f"{self.streamed}.done", arguments=arguments),
        ]

    def ended(self) -> list[Payload]:
        """After `fields["run"]` has its output; without one, the response ends before the run does."""
        run: ToolRun = self.fields["run"]
        failed = run.failed or run.output is None
        event = self._event(f"{self.type}.{'failed' if failed else 'completed'}")
        return [event, *Item.done(self, clean(run.arguments), run.output is not None)]

    def item(self, text: str, status: str) -> Payload:
        run: ToolRun = self.fields["run"]
        made: Payload = {"type": self.type, "id": self.id, "server_label": clean(run.server), "name": clean(run.name)}
        made |= {"arguments": text, "output": None, "error": None, "approval_request_id": None, "status": status}
        if run.output is not None:
            made["output"] = clean(run.output)
            if run.failed:
                content = [{"type": "text", "text": made["output"]}]
                made |= {"status": "failed", "error": {"type": "mcp_tool_execution_error", "content": content}}
        return made


class RunItems:
    """The runs of one response. What they say goes into its output, in the order in which they began.

    item_id: as `ResponsesStream` has it.
    """

    def __init__(self, output: Kept, item_id: Callable[[str, int], str]) -> None:
        self._output, self._item_id = output, item_id
        self._running: dict[str, RunItem] = {}

    def begins(self, run: ToolRun) -> bool:
        """Does it get an item now?"""
        return run.output is None or run.key not in self._running

    def take(self, run: ToolRun) -> list[Payload]:
        """The events that say it. No other item may be open if it begins."""
        begun = self._begin(run._replace(output=None)) if self.begins(run) else []
        if run.output is None:
            return begun
        item = self._running.pop(run.key)
        item.fields["run"] = run
        return [*begun, *self._end(item)]

    def cut(self) -> list[Payload]:
        """The events that end the runs that have not ended."""
        items = list(self._running.values())
        self._running.clear()
        return [event for item in items for event in self._end(item)]

    def _begin(self, run: ToolRun) -> list[Payload]:
        index = len(self._output)
        item = self._running[run.key] = RunItem(self._item_id(RunItem.type, index), index, {"run": run})
        self._output.append(item.item(clean(run.arguments), "in_progress"))
        return item.begun()

    def _end(self, item: RunItem) -> list[Payload]:
        made = item.ended()
        if isinstance(self._output, list):
            self._output[item.index] = dict(made[-1]["item"])
        return made


class RunBlocks:
    """The runs of one message. stem: of the ids of their calls."""

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._running: dict[str, str] = {}  # ids of calls by key

    def take(self, run: ToolRun, index: int) -> list[Payload]:
        """The blocks that say it; the first has this index. A call has its input from the beginning."""
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
