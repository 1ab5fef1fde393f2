"""What the reference interpreter of docs/tags.md has to say: events, deviations, regions (section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reference import EventTuple
from reference_tags_text import Text

KINDS = {"content": "ContentDelta", "reasoning": "ReasoningDelta"}


class Log:
    """Collects events. A delta is kept as the symbols that it consists of, until `events()` puts them together."""

    def __init__(self, text: Text):
        self.text = text
        self.entries: list[tuple[str, list[int]] | EventTuple] = []
        self.deviations: list[tuple[str, int]] = []
        self.spoken: set[int] = set()  # control markers that are text where they stand
        self.regions = ["header"] * len(text)
        self.total = text.stops[-1] if len(text) else 0

    def start(self, i: int) -> int:
        return self.text.starts[i] if i < len(self.text) else self.total

    def note(self, code: str, i: int) -> None:
        self.deviations.append((code, self.start(i)))

    def lands(self, start: int, stop: int, region: str) -> None:
        """Inert ids always land in HEADER."""
        for i in range(start, stop):
            if self.text.is_byte(i) or i in self.spoken or region == "done":
                self.regions[i] = region

    # -- text ---------------------------------------------------------------------------------------------------------

    def put(self, kind: str, indices: Iterable[int]) -> None:
        """Bytes of CONTENT or REASONING. -1 - i: a newline that is written at `i`."""
        self.entries.append((kind, list(indices)))

    def has_newline(self, kind: str, start: int) -> bool:
        """Is a newline from `start` on text of this kind?"""
        runs = [entry[1] for entry in self.entries if entry[0] == kind and isinstance(entry[1], list)]
        return any(i >= start and self.text.s[i] == "\n" for run in runs for i in run)

    def ends_in_newline(self, kind: str) -> bool:
        """Is the last text of this kind, with nothing after it?"""
        last = self.entries[-1] if self.entries else ("", [])
        return last[0] == kind and isinstance(last[1], list) and bool(last[1]) and self.text.s[last[1][-1]] == "\n"

    def trim(self, kind: str, stop: int) -> bool:
        """Take the newlines back that stand before `stop`, with nothing but inert ids between. Are there any?"""
        begin = stop
        while self.entries and self.entries[-1][0] == kind:
            indices = self.entries[-1][1]
            assert isinstance(indices, list)
            while indices and indices[-1] == self.text.before(stop) and self.text.s[indices[-1]] == "\n":
                stop = indices.pop()
            if indices:
                break
            self.entries.pop()
        return stop < begin

    def decode(self, indices: Sequence[int]) -> str:
        """Whatever was dropped between two bytes ends an incomplete character."""
        runs = [bytearray()]
        for at, i in enumerate(indices):
            if i < 0:
                runs += [bytearray(b"\n"), bytearray()]
                continue
            if at and indices[at - 1] != i - 1:
                runs.append(bytearray())
            runs[-1] += self.text.spelled(i).encode("latin-1")
        return "".join(run.decode("utf-8", "replace") for run in runs)

    # -- everything else ----------------------------------------------------------------------------------------------

    def put_event(self, *event: str | int | bool | None) -> None:
        self.entries.append(event)

    def arguments(self, call: int, text: str, first: int, last: int | None = None) -> None:
        """Text that stands for the symbols from `first` to `last`, or empty at `first`."""
        stop = self.start(first) if last is None else self.text.stops[last]
        if text:
            self.put_event("ToolCallDelta", call, text, self.start(first), stop)

    def events(self) -> list[EventTuple]:
        """Deltas decoded and joined; a token that two events share belongs to the first."""
        events: list[EventTuple] = []
        kind, pending = "", list[int]()
        for entry in [*self.entries, ("end",)]:
            indices = entry[1] if len(entry) == 2 and isinstance(entry[1], list) else None
            if indices is not None and entry[0] == kind:
                pending += indices
                continue
            if pending:
                channel = (None,) if kind == "content" else ()
                first, last = self.start(max(pending[0], -1 - pending[0])), self.text.stops[pending[-1]]
                events.append((KINDS[kind], self.decode(pending), *channel, first, last))
            kind, pending = (str(entry[0]), [*indices]) if indices is not None else ("", [])
            if indices is None:
                events.append(entry)  # type: ignore[arg-type]
        return joined(events[:-1])


def joined(events: Iterable[EventTuple]) -> list[EventTuple]:
    log: list[EventTuple] = []
    position = 0
    for event in events:
        start = max(int(event[-2] or 0), position)
        stop = max(int(event[-1] or 0), start)
        position = stop
        last = log[-1] if log else ("",)
        if event[0] == last[0] == "ToolCallDelta" and event[1] == last[1]:
            log[-1] = (*event[:2], f"{last[2]}{event[2]}", last[-2], stop)
        else:
            log.append((*event[:-2], start, stop))
    return log
