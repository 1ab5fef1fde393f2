"""The items of calls that the server itself runs."""

from __future__ import annotations

from collections.abc import Callable

from ..common.payload import Payload, clean
from ..common.tool_run import ToolRun
from .items import Mcp

__all__ = ["RunItems"]


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
        """The events that end the item. If `fields["run"]` has no output, the response ends before the run does."""
        run: ToolRun = self.fields["run"]
        failed = run.failed or run.output is None
        event = self._event(f"{self.type}.{'failed' if failed else 'completed'}")
        return [event, self._done(clean(run.arguments), run.output is not None)]

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
    """The runs of one response. item_id: as in `ResponsesStream`."""

    def __init__(self, item_id: Callable[[str, int], str]) -> None:
        self._item_id = item_id
        self._running: dict[str, RunItem] = {}

    def begins(self, run: ToolRun) -> bool:
        """Does the run get an item now?"""
        return run.output is None or run.key not in self._running

    def take(self, run: ToolRun, index: int, items: list[Payload]) -> list[Payload]:
        """The events of the run, whose item goes into `items`. index: where a new item goes. No other item is open."""
        begun = self._begin(run._replace(output=None), index, items) if self.begins(run) else []
        if run.output is None:
            return begun
        item = self._running.pop(run.key)
        item.fields["run"] = run
        return [*begun, *_end(item, items)]

    def cut(self, items: list[Payload]) -> list[Payload]:
        """The events that end the runs that are still open."""
        cut = list(self._running.values())
        self._running.clear()
        return [event for item in cut for event in _end(item, items)]

    def _begin(self, run: ToolRun, index: int, items: list[Payload]) -> list[Payload]:
        item = self._running[run.key] = RunItem(self._item_id(RunItem.type, index), index, {"run": run})
        items.append(item.item(clean(run.arguments), "in_progress"))
        return item.begun()


def _end(item: RunItem, items: list[Payload]) -> list[Payload]:
    made = item.ended()
    if item.index < len(items):  # otherwise items are not kept
        items[item.index] = dict(made[-1]["item"])
    return made
