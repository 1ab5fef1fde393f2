"""Arguments that are elements, tags named after them: sections 5 and 6 of docs/tags.md."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from reference_tags_attributes import WORD, element_tag
from reference_tags_bodies import NORMAL_STOPS
from reference_tags_header import Header
from reference_tags_pairs import Pairs
from reference_tags_text import CALL, ELEMENT, SECTION, Marker, More
from reference_tags_values import WS as SPACE
from reference_tags_values import fits, quote, transcode

OTHERS = (*SECTION, *CALL, "stop")
ENDS = {"object": "}", "array": "]"}
DEEPEST = 31
ROOM = 256  # bytes of the names of open elements, with one more for each


class Name(NamedTuple):
    """That of a tag, what is after the tag, the key that one of its attributes says, and the type."""

    tag: str
    stop: int
    said: str = ""
    type: str = ""
    foreign: bool = False  # an attribute means nothing

    @property
    def key(self) -> str:
        return self.said or self.tag

    @property
    def room(self) -> int:
        return len(self.tag) + len(self.said) + bool(self.said) + 1


class Elements(Pairs):
    """`path` has the names of the open elements, `open` the kinds of those with elements in them, and `items` how many
    these have, the call's own first."""

    levels: Mapping[str, Mapping[tuple[str, ...], frozenset[str]]] = {}

    def elements(self, i: int, header: Header) -> int:
        self.path: list[Name] = []
        self.open: list[str] = []
        self.items = [0]
        over = False
        while not over:
            i, over = self.element(self.text.skip(i, self.size), header)
        return i

    # -- markers -------------------------------------------------------------------------------------------------------

    def tag(self, i: int, limit: int) -> Marker | None:
        """The tags of elements begin as others do, so these come first, but for the closer of an open element."""
        other = self.text.at(i, limit, *OTHERS)
        if other:
            return self.own_closer(other) or other
        return self.text.at(i, limit, "element_close") or self.text.at(i, limit, "element_open")

    def own_closer(self, other: Marker) -> Marker | None:
        """The closer of the call, or the section, as that of an open element with the same name."""
        if other.kind not in ("call_close", "section_close"):
            return None
        try:
            mark = self.text.at(other.start, other.stop, "element_close")
            named = self.name(mark, other.stop) if mark else None
        except More:
            return None
        return mark if named and self.is_open(named.tag) else None

    def is_open(self, tag: str) -> bool:
        return any(one.tag == tag for one in self.path)

    def name(self, mark: Marker, limit: int) -> Name | None:
        """The name in a tag."""
        text, first = self.text, mark.stop
        while first < limit and text.s[first] == " ":
            first += 1
        j = first
        while not (end := text.at(j, limit, "element_end")):
            if text.is_byte(j) and text.s[j] in "='\"":
                return self.tag_name(first, limit)
            if not text.is_byte(j) or text.s[j] < " " or text.s[j] in "<>\x7f" or j - first >= ROOM - 1:
                return None
            j += 1
        name = text.s[first:j].rstrip(" ")
        return Name(name, end.stop) if name else None

    def tag_name(self, first: int, limit: int) -> Name | None:
        """A name with attributes."""
        found = WORD.match(self.text.s, first, limit)
        tag = element_tag(self.text, found.end(), limit) if found and found[0] else None
        if not found or tag is None or tag.empty or any(one < " " or one == "\x7f" for one in tag.name):
            return None
        return Name(found[0], tag.stop, tag.name, tag.says, tag.foreign)

    def name_near(self, mark: Marker, origin: int) -> Name | None:
        limit = self.text.limit(origin)
        try:
            return self.name(mark, limit)
        except More:
            if limit == self.size:
                raise
            return None

    def has_room(self, name: Name) -> bool:
        return sum(one.room for one in [*self.path, name]) <= ROOM

    # -- between elements ----------------------------------------------------------------------------------------------

    def element(self, i: int, header: Header) -> tuple[int, bool]:
        """What is at `i`; then the place after it, and whether the call is over."""
        text = self.text
        try:
            mark = self.tag(i, self.size)
            named = self.name_near(mark, i) if mark and mark.kind in ELEMENT else None
        except More:
            return self.cut_elements(i), True
        if mark and named and mark.kind == "element_open" and self.has_room(named):
            if named.foreign:
                self.log.note("ignored-text", i)
            self.path.append(named)
            return self.element_value(named.stop, header)
        if mark and named and mark.kind == "element_close":
            return self.close_to(i, named), False
        if mark and mark.kind not in ELEMENT and (mark.kind != "stop" or text.stop_counts(mark)):
            if mark.kind != "call_close" or self.open:
                self.log.note("missing-closer", i)
            self.end_elements(i, mark.kind != "stop" or not self.open)
            return mark.stop if mark.kind == "call_close" else i, True
        if not mark and not text.is_byte(i):
            self.drop_control(i)
            return i + 1, False
        if not mark and text.s[i] == "{" and not self.items[-1] and not self.open:
            self.log.note("other-body", i)
            return self.raw(i), True
        self.unread = self.unread or bool(mark and mark.kind == "element_open")  # a tag that is not read
        stop = self.noise_between(i)
        if stop is None:
            self.log.note("missing-closer", i)
            self.end_elements(i, True)
            return i, True
        closer = None if named else self.closer_without_opener(i, stop)  # a tag without room is not the text of a value
        if closer and self.may_be_inside(closer, header):
            self.log.note("missing-opener", i)
            self.path.append(closer)
            return self.element_text(self.after_broken_tag(i, stop, closer), *self.types_of(header))
        self.log.note("ignored-text", i)
        self.unread = True
        return stop, False

    def closer_without_opener(self, i: int, stop: int) -> Name | None:
        """The name in the closer at `stop`, if it is that of an element that is not open."""
        limit = self.text.limit(i)
        try:
            mark = self.tag(stop, limit)
            named = self.name(mark, limit) if mark and mark.kind == "element_close" else None
        except More:
            return None
        return named if named and not self.is_open(named.tag) and self.has_room(named) else None

    def may_be_inside(self, name: Name, header: Header) -> bool:
        """Where the schema names some elements of the innermost open one, it must be one of these."""
        *path, last = self.steps([*self.path, name], header)
        some = {steps[-1] for steps in self.known(header) if steps[:-1] == tuple(path)} - {"*"}
        return not some or last in some

    def after_broken_tag(self, i: int, stop: int, name: Name) -> int:
        """Behind what is left of the opener: the name and the end of the tag, perhaps with `<` or a part of the marker.
        After such a part the tag may be any: then it is not read."""
        text = self.text
        openers = [form[:n] for form in text.kinds["element_open"] for n in range(2, len(form) + 1)]
        part = max([len(one) for one in openers if text.s.startswith(one, i, stop)], default=0)
        start = i + (part or text.s[i] == "<")
        named = None
        with suppress(More):
            named = self.name(Marker("element_open", i, start), stop)
        if named and named.tag == name.tag:
            return named.stop
        if not part:
            return i
        self.unread = True
        ends = [text.s.find(one, start, stop) + len(one) for one in text.kinds["element_end"]]
        return min([end for end in ends if end > start], default=start)

    def close_to(self, i: int, name: Name) -> int:
        """A closer of an object or array; what is open inside of it closes before."""
        if not self.is_open(name.tag):
            self.log.note("stray-closer", i)
            return name.stop
        while self.path[-1].tag != name.tag:
            self.log.note("missing-closer", i)
            self.close_container(i)
        self.close_container(i)
        return name.stop

    def close_container(self, i: int) -> None:
        self.write(ENDS[self.open.pop()], i)
        self.items.pop()
        self.path.pop()

    def noise_between(self, i: int) -> int | None:
        limit = self.text.limit(i)
        try:
            for j in range(i + 1, limit):
                if mark := self.tag(j, limit):
                    return j if mark.kind in (*ELEMENT, "call_close", "section_close") else None
        except More:
            pass
        return None

    def end_elements(self, i: int, complete: bool) -> None:
        while complete and self.open:
            self.close_container(i)
        if complete and self.items[0]:
            self.write("}", i)
        self.end_call(i, complete)

    def cut_elements(self, i: int) -> int:
        """The stream ended between two elements, or in a tag, at `i`."""
        whole = not self.unread and not self.open and self.is_half_closer(i)
        self.end_elements(self.size, self.finish in NORMAL_STOPS and whole)
        return self.size

    # -- values --------------------------------------------------------------------------------------------------------

    def element_value(self, v: int, header: Header) -> tuple[int, bool]:
        """Behind the tag that opens the last element of the path."""
        types, untyped = self.types_of(header)
        containers = types & {"object", "array"}
        if "string" not in types or containers:
            try:
                child = self.child(v)
            except More:
                self.end_elements(self.size, False)
                return self.size, True
            if child and len(self.open) < DEEPEST and self.has_room(child[0]):
                is_item = child[0].tag == self.row.item
                kind = next(iter(containers)) if len(containers) == 1 else "array" if is_item else "object"
                if types and not containers:
                    self.log.note("value-type", child[1])
                self.begin_element(child[1])
                self.write("{" if kind == "object" else "[", child[1])
                self.open.append(kind)
                self.items.append(0)
                return child[1], False
        return self.element_text(v, types, untyped)

    def child(self, v: int) -> tuple[Name, int] | None:
        """The name of the element that is the first thing at `v`, and where its tag begins."""
        limit = self.text.limit(v)
        x = self.text.skip(v, limit)
        try:
            mark = self.tag(x, limit)
            named = self.name(mark, limit) if mark and mark.kind == "element_open" else None
            return (named, x) if named else None
        except More:
            if limit == self.size:
                raise
            return None

    def types_of(self, header: Header) -> tuple[frozenset[str], str]:
        types, says = self.known(header).get(self.steps(self.path, header), frozenset()), self.path[-1].type
        return self.typed_by(types, says)

    def known(self, header: Header) -> dict[tuple[str, ...], frozenset[str]]:
        types = self.types.get(header.name, {})
        return {(name,): some for name, some in types.items()} | {**self.levels.get(header.name, {})}

    def steps(self, names: list[Name], header: Header) -> tuple[str, ...]:
        known = self.known(header)
        path: tuple[str, ...] = ()
        for name in names:
            step = (*path, name.key.encode("latin-1").decode("utf-8", "replace"))
            path = step if step in known else (*path, "*")
        return path

    def begin_element(self, i: int) -> None:
        inside, more = self.open[-1] if self.open else "call", bool(self.items[-1])
        self.items[-1] += 1
        if inside == "array":
            self.write(", " if more else "", i)
            return
        name = self.path[-1].key.encode("latin-1").decode("utf-8", "replace")
        self.write(f"{', ' if more else '{' if inside == 'call' else ''}{quote(name)}: ", i)

    def element_text(self, v: int, types: frozenset[str], untyped: str) -> tuple[int, bool]:
        j, mark, own = self.text_end(v)
        over = j if mark else self.size
        indices = [k for k in self.kept(v, over) if k < j]
        self.log.lands(v, j, "arguments")
        how = self.how(types, untyped, indices)
        if mark is None or mark.kind == "stop":
            if self.how_cut(how, types, indices) == "string" and indices:
                self.begin_element(indices[0])
                self.write('"', indices[0])
                self.write_string(indices)
            self.end_elements(over, False)
            return over, True
        if not own or mark.misspelt:
            self.log.note("misspelt-closer" if own else "missing-closer", j)
        plain, first, last = self.log.decode(indices), indices[0] if indices else j, indices[-1] if indices else None
        self.begin_element(first)
        if how == "string":
            self.write('"', first)
            self.write_string(indices)
            self.write('"', j)
        elif not plain.strip(SPACE) and types & {"object", "array"} and "string" not in types:
            self.write("{}" if "object" in types else "[]", first, last)
        else:
            if not fits(plain, types):
                self.log.note("value-type", j)
            self.write(transcode(plain, types, untyped), first, last)
        self.path.pop()
        return own or j, False

    def text_end(self, v: int) -> tuple[int, Marker | None, int]:
        """Where the value ends, the marker that ends it, and what is after that if it is the value's own closer."""
        for j in range(v, self.size):
            try:
                if (found := self.text_end_at(j)) is not None:
                    return j, *found
            except More:
                return j, None, 0
        return self.size, None, 0

    def text_end_at(self, j: int) -> tuple[Marker, int] | None:
        text, limit = self.text, self.text.limit(j)
        try:
            mark = self.tag(j, limit)
            named = self.name(mark, limit) if mark and mark.kind in ELEMENT else None
        except More:
            if limit == self.size:
                raise
            return None
        if mark is None:
            return self.bare_closer(j, limit)
        if mark.kind in ELEMENT and named is None:
            return None
        if mark.kind == "stop":
            return (mark, 0) if text.stop_counts(mark) else None
        if named and mark.kind == "element_close" and named.tag == self.path[-1].tag:
            return mark, named.stop
        return None if self.is_part(j) else (mark, 0)

    def bare_closer(self, j: int, limit: int) -> tuple[Marker, int] | None:
        """The open element's closer without what comes before `</`, if after ws comes a marker or the end, and no
        closer of its own."""
        text = self.text
        forms = [form for form in text.kinds["element_close"] if len(form) > 2 and form.endswith("</")]
        if not forms or not text.s.startswith("</", j, limit):
            return None
        with suppress(More):
            named = self.name(Marker("element_close", j, j + 2), limit)
            if not named or named.said or named.tag != self.path[-1].tag:
                return None
            try:
                after = self.tag(text.skip(named.stop, limit), limit)
                follows = after is not None and (after.kind != "stop" or text.stop_counts(after))
            except More:
                follows = limit == self.size
            if follows and not self.is_part(named.stop):
                return Marker("element_close", j, named.stop, misspelt=True), named.stop
        return None

    def is_part(self, i: int) -> bool:
        """Does the value go on, because its own closer comes?"""
        limit, depth = self.text.limit(i), 0
        try:
            while i < limit:
                mark = self.tag(i, limit)
                if mark and mark.kind == "stop":
                    return False
                named = self.name(mark, limit) if mark and mark.kind in ELEMENT else None
                if mark and named and named.tag == self.path[-1].tag:
                    if mark.kind == "element_close" and not depth:
                        return True
                    depth += 1 if mark.kind == "element_open" else -1
                i = mark.stop if mark else i + 1
        except More:
            pass
        return False
