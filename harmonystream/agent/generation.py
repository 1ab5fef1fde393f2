"""One generation: from the engine's items to the parser's events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from .._parser import Parser
from ..completion import Collector
from ..engines import Finished, Output
from ..engines.base import chat_usage
from ..events import Event
from .deadline import Deadline

__all__ = ["Generation"]

_END: Any = object()


class Generation:
    """Reads an engine to its end, and keeps what the model has said.

    failure: what the engine raised, or what it sent that the parser refuses. timed_out: the deadline has passed.
    """

    def __init__(self, items: AsyncIterator[Output], parser: Parser, prompt_tokens: int) -> None:
        self._items = items
        self._parser = parser
        self._prompt_tokens = prompt_tokens
        self._collector = Collector()
        self._texts = 0  # items that were text
        self._finished: Finished | None = None
        self.failure: Exception | None = None
        self.timed_out = False

    async def next_item(self, deadline: Deadline) -> Output:
        """The next item; a `Finished` at the end, also where there is a failure."""
        try:
            with deadline:
                item = await anext(self._items, _END)
        except TimeoutError as error:
            self.timed_out = deadline.expired
            self.failure = None if deadline.expired else error
            return Finished()
        except Exception as error:
            self.failure = error
            return Finished()
        return Finished() if item is _END else item

    def take(self, item: Output) -> tuple[Event, ...]:
        """The events that an item makes."""
        parser = self._parser
        try:
            if isinstance(item, str):
                self._texts += 1
                events = parser.feed_text(item)
            else:
                events = parser.feed(item)  # type: ignore[arg-type]  # the parser refuses what is not ids
        except Exception as error:  # an engine that yields neither ids nor text, or both
            self.failure = error
            return ()
        self._collector.add(events)
        return events

    def finish(self, end: Finished) -> tuple[Event, ...]:
        """The last events."""
        self._finished = end
        reason = "error" if self.failure is not None else "timeout" if self.timed_out else end.reason
        events = self._parser.finish(reason)
        self._collector.add(events)
        return events

    async def close(self) -> None:
        """Stops the engine. Closing one that has ended does nothing."""
        close = getattr(self._items, "aclose", None)
        if close is not None:
            try:
                await close()
            except Exception as error:
                self.failure = self.failure or error

    @property
    def reason(self) -> str | None:
        """As in `StreamEnd`."""
        return self._collector.finish_reason

    @property
    def content(self) -> str:
        return "".join(self._collector.content)

    @property
    def reasoning(self) -> str:
        return "".join(self._collector.reasoning)

    @property
    def calls(self) -> list[Any]:
        """All calls that have ended so far."""
        return self._collector.calls

    @property
    def usage(self) -> dict[str, Any]:
        """The engine's usage object. If it gave none, ids are counted; of text, the items, which are a lower bound."""
        if self._finished is not None and self._finished.usage:
            return dict(self._finished.usage)
        return chat_usage(self._prompt_tokens, self._texts or self._parser.usage.total)
