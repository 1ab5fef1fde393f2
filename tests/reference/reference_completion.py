"""A completion by way of its events, which parse() does without."""

from __future__ import annotations

from collections.abc import Iterable

import harmonystream as hs
from harmonystream.completion import Collector


def collected(events: Iterable[hs.Event], parser: hs.Parser) -> hs.Completion:
    """The events of a whole output. parser: that which has read it, and ended."""
    collector = Collector()
    collector.add(events)
    return hs.Completion(
        messages=tuple(collector.messages),
        reasoning="".join(collector.reasoning),
        content="".join(collector.content),
        tool_calls=tuple(collector.calls),
        finish_reason=collector.finish_reason,
        usage=parser.usage,
        deviations=parser.deviations,
    )
