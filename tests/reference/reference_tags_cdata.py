"""Text in a value that is taken as it is: section 6 of docs/tags.md."""

from __future__ import annotations

from reference_tags_bodies import OPENERS, Bodies
from reference_tags_text import CALL, SECTION, Marker, More

AFTER = ("value_close", "cdata_open", "key_open", CALL[1], SECTION[1], *OPENERS, "stop")
End = tuple[int, Marker | None]


class Cdata(Bodies):
    """Finds such text, and where it ends."""

    def taken(self, v: int) -> tuple[int, set[int], End | None]:
        """Of a value that begins at `v`: where what is read as usual begins; the markup before that; and the value's
        end, if it comes before that."""
        markup: set[int] = set()
        while opener := self.cdata_opener(v):
            markup |= set(range(v, opener.stop))
            j, mark = self.cdata_end(opener.stop)
            if mark is None or mark.kind != "cdata_close":
                return j, markup, (j, mark)
            markup |= set(range(j, mark.stop))
            v = mark.stop
        return v, markup, None

    def kept_but(self, start: int, stop: int, markup: set[int]) -> list[int]:
        """What is text in a value."""
        found: list[int] = []
        while start < stop:
            gap = next((i for i in range(start, stop) if i in markup), stop)
            found += self.kept(start, gap)
            start = next((i for i in range(gap, stop) if i not in markup), stop)
        return found

    def cdata_opener(self, v: int) -> Marker | None:
        try:
            return self.text.follows(v, self.text.limit(v), "cdata_open")
        except More:
            return None

    def cdata_end(self, i: int) -> End:
        for j in range(i, self.size):
            try:
                if mark := self.cdata_end_at(j):
                    return j, mark
            except More:
                return j, None
        return self.size, None

    def cdata_end_at(self, j: int) -> Marker | None:
        text = self.text
        mark = text.at(j, self.size, "cdata_close", "value_close", "stop")
        if mark is None or mark.kind == "value_close":
            return mark if mark and self.turn_is_over(mark) else None
        if mark.kind == "stop":
            return mark if text.stop_counts(mark) else None
        limit = text.limit(j)
        try:
            counts = text.follows(mark.stop, limit, *AFTER) is not None
        except More:
            counts = limit == self.size
        if counts:
            return Marker("cdata_close", j, text.skip(mark.stop, limit))
        return mark if text.is_control(mark) else None

    def turn_is_over(self, closer: Marker) -> bool:
        """Do only closers of the call and section come after the value's, and then a stop, a turn or the end?"""
        text, limit, i = self.text, self.text.limit(closer.start), closer.stop
        try:
            while after := text.follows(i, limit, CALL[1], SECTION[1], "stop", "turn"):
                if after.kind in ("stop", "turn"):
                    return True
                i = after.stop
        except More:
            return limit == self.size
        return False
