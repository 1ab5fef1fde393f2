"""The keys of written calls: section 5 of docs/tags.md."""

from __future__ import annotations

import re

from reference_tags_text import CALL, LONGEST, SECTION, More, Text

from harmonystream.formats import Format

PYTHON_KEY = re.compile(r"[0-9A-Za-z_.\-\x80-\xff]+")
OBJECT_KEY = re.compile(r"[^\x00-\x1f\x7f<>{}\[\]()\"'`=,;:\u0100-\uffff]+")


def written(row: Format) -> tuple[str, str, str]:
    """What opens and closes a written call, and what follows a key in it."""
    return ("{", "}", ":") if row.body == "object" else ("(", ")", "=")


def key_at(text: Text, i: int, limit: int) -> tuple[str, int] | None:
    """The key of a written call's argument at `i`, and where what follows it ends. `More`: `limit` is too near."""
    s, object_like = text.s, text.row.body == "object"
    found = quoted_key(text, i, limit) if object_like else None
    if found is None:
        shape = OBJECT_KEY if object_like else PYTHON_KEY
        match = shape.match(s, i, limit)
        key = match[0].rstrip(" ") if match else ""
        if not 0 < len(key) <= LONGEST:
            return None
        found = key, i + len(key)
    after = text.skip(found[1], limit)
    if after == limit:
        raise More(limit)
    if s[after] != written(text.row)[2]:
        return None
    if not object_like:
        if after + 1 == limit < len(text):
            return None
        if s.startswith("=", after + 1, limit):
            return None
    return found[0], after + 1


def quoted_key(text: Text, i: int, limit: int) -> tuple[str, int] | None:
    """Of `key_at`: a key between quotes, and where these end."""
    s, mark = text.s, text.at(i, limit, "quote")
    if not mark and s[i] not in "\"'":
        return None
    start = x = mark.stop if mark else i + 1
    ends = "".join({form[0] for kind in (*SECTION, *CALL, "stop") for form in text.kinds.get(kind, ())})
    while x < limit and x - start <= LONGEST:
        found = text.at(x, limit, "quote")
        if found or (not mark and s[x] == s[i]):
            good = x - start > 0 and bool(found) == bool(mark)
            return (s[start:x], found.stop if found else x + 1) if good else None
        is_bad = not " " <= s[x] < "\u0100" or s[x] == "\x7f" or s[x] in ends or (not mark and s[x] == "\\")
        if x - start == LONGEST or is_bad:
            return None
        x += 1
    raise More(limit)
