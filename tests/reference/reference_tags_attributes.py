"""Tags that say a name or a key among their attributes: sections 4 and 6 of docs/tags.md."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reference_tags_text import CALL, LONGEST, SECTION, WS, Marker, More, Text, aliases, latin, opener_parts

from harmonystream._schema import TYPES, declared_types

ELEMENTS = ("element_open", "element_close")
KNOWN = ("", "name", "string", "type", "id", "index")
WORD = re.compile(r"[0-9A-Za-z_.\-\x80-\xff]*")
BARE = re.compile(r"[^\x00-\x20\x7f<>{}\[\]()\"'`=,;\u0100-\uffff]*")


@dataclass
class Tag:
    name: str = ""
    says: str = ""  # the type
    empty: bool = False  # a slash comes before its end
    foreign: bool = False  # it has an attribute that means nothing
    stop: int = 0


def type_of_word(word: str) -> str:
    """The JSON type that a word such as `int32` or `list[str]` means, or nothing."""
    known = declared_types({"name": "f", "parameters": {"properties": {"k": {"type": word}}}}).parameters["k"]
    return next((kind for kind, bit in TYPES.items() if bit == known), "")


def tag_at(text: Text, opener: Marker, limit: int) -> Tag | None:
    """The tag that this opener begins, with its attributes and its end; None: it is none, or has no name."""
    parts = opener_parts(text.row, opener.kind, text.s[opener.start : opener.stop])
    if parts is None:
        return None
    stem, own, end = parts
    tag = attributes(text, opener.start + len(stem), limit, own, end, opener.kind == "call_open")
    return tag if tag and tag.name else None


def element_tag(text: Text, i: int, limit: int) -> Tag | None:
    """The attributes of an element from `i` on, behind the tag's own name. It needs none that says a name."""
    assert text.row.element
    return attributes(text, i, limit, "", latin(aliases(text.row.element[1])[0]), False)


def attributes(text: Text, start: int, limit: int, own: str, end: str, call: bool) -> Tag | None:
    tag, i = Tag(), start
    while True:
        q = text.skip(i, limit)
        slash = text.s[q : min(q + 1, limit)] == "/"
        seen = text.s[q + slash : limit]
        if seen.startswith(end):
            tag.empty, tag.stop = slash, q + slash + len(end)
            return tag
        if end.startswith(seen):
            raise More(limit)
        word = ""
        if i > start or text.s[q] != "=":
            found = WORD.match(text.s, q, limit)
            word = found[0] if found else ""
            if not word or q == i:
                return None
        equals = text.skip(q + len(word), limit)
        if equals == limit:
            raise More(limit)
        if text.s[equals] != "=":
            return None
        value = attribute_value(text, text.skip(equals + 1, limit), limit)
        if value is None:
            return None
        if word not in KNOWN and word != own:
            if call or word == "value":
                return None  # it may be an argument
            tag.foreign = True
        take(tag, word, own, value[0].strip(WS))
        i = value[1]


def attribute_value(text: Text, i: int, limit: int) -> tuple[str, int] | None:
    """Between quotes or without, and where it ends."""
    if i == limit:
        raise More(limit)
    quote = text.s[i]
    if quote not in "\"'":
        found = BARE.match(text.s, i, limit)
        bare = found[0] if found else ""
        if len(bare) > LONGEST:
            return None
        if i + len(bare) == limit:
            raise More(limit)
        return (bare, i + len(bare)) if bare else None
    for j in range(i + 1, limit):
        if not text.is_byte(j) or j - i - 1 > LONGEST:
            return None
        if text.s[j] == quote:
            return text.s[i + 1 : j], j + 1
        if text.at(j, limit, "key_open", "value_close", *ELEMENTS, *SECTION, *CALL, "stop") or text.s[j] == "\n":
            return None
    raise More(limit)


def take(tag: Tag, word: str, own: str, value: str) -> None:
    if word in ("", "name", own):
        tag.name = tag.name or value
    elif word == "string":
        tag.says = tag.says or {"t": "string", "f": "json"}.get(value[:1].lower(), "")
    elif word == "type":
        tag.says = tag.says or type_of_word(value)
