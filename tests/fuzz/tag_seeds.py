"""The fuzzer's first inputs for tag formats: the calls of every row, whole and broken."""

from __future__ import annotations

from collections.abc import Iterator

import harmonystream as hs
from fuzz import rows
from harmonystream.formats import format_of

OBJECT = '{"name": "f", "arguments": {"k": [1, "a\\\\"]}}'
STRING = '{"name": "f", "arguments": "{\\"k\\": \\"\\ud83d\\ude00\\"}"}'
BODIES = ('{"k": [1, "a"], "o": {}}', '\n```json\n{"k": "b"}\n```\n', "5", "", '{"k": "a')
PYTHON = ('f(k=1, s="a")', "f(s='it\\'s', o={'a': [1, (None,)]})", 'f("x", k=g(1), n=1_0.)')
OBJECTS = ("call:f{k:1,s:~a~}", 'f{~k~:~it"s~,o:{a b:[1,{null:~~}]}}', "call:f{x y,k:g(1),n:[~a~b~]}")
VALUES = ("a", "\ntext\n", "5", "null", "{'a': (1, None)}", '{"k": 1}', "true", "")


def first(marker: str | tuple[str, ...]) -> str:
    return marker if isinstance(marker, str) else marker[0]


def calls(row: hs.Format) -> Iterator[str]:
    """Calls of a row, from their openers to their closers."""
    inner: list[str] = []
    if row.call:
        opener, name_end, closer = map(first, row.call)
        name = "functions.f:0" if row.name_as == "id" else "f"
        head = f"{opener}function{name_end}f\n" if row.name_as == "function" else f"{opener}{name}{name_end}"
        if row.pair:
            key, end, value, close = map(first, row.pair)
            for values in (VALUES[:4], VALUES[4:]):
                pairs = [f"{key}{k}{end}{value}{v}{close}" for k, v in zip("ksnou", values)]
                inner.append("\n".join([f"{opener}f{name_end}", *pairs, closer]))
            if row.cdata:
                said = f"\n{first(row.cdata[0])}{inner[0]}{first(row.cdata[1])}\n"
                inner.append(f"{opener}f{name_end}{key}s{end}{value}{said}{close}{closer}")
        else:
            inner += [f"{head}{body}{closer}" for body in BODIES]
        if row.call_id:
            inner.append(f"{opener}f{first(row.call_id)}a1{name_end}{BODIES[0]}{closer}")
    outer = row.section or (row.call and (row.call[0], row.call[2]))
    if outer and row.section:
        yield from (f"{first(outer[0])}\n{call}\n{first(outer[1])}" for call in inner)
        yield f"{first(outer[0])}{''.join(inner)}{first(outer[1])}"
    yield from inner
    if row.section and row.body != "json":
        written = PYTHON if row.body == "python" else [text.replace("~", first(row.quote)) for text in OBJECTS]
        yield from (f"{first(row.section[0])}{text}{first(row.section[1])}" for text in written)
        yield f"{first(row.section[0])}[{', '.join(written)}]{first(row.section[1])}"
    if outer and row.wrapped:
        yield from (f"{first(outer[0])}{text}{first(outer[1])}" for text in (OBJECT, STRING, f"[{OBJECT}, {STRING}]"))


def texts(row: hs.Format) -> Iterator[str]:
    opener, closer = map(first, row.think or ("", ""))
    stop = row.stops[0] if row.stops else ""
    found = list(calls(row))
    for call in found:
        yield f"{opener}\nwhy\n{closer}\n\nLet me look.\n{call}{stop}"
    yield f"{opener}why{''.join(found[:1])}{closer} text {''.join(found)}\n\nmore{stop}"
    yield f"like this:\n```xml\n{''.join(found[:1])}\n```\n{''.join(found[1:2])}{stop}"
    yield f"- {opener} begins, {closer} ends\n```\n{opener}x{closer}\n```\n{opener}why{closer}{stop}"
    for name in ("pair", "call", "section"):
        for marker in map(first, getattr(row, name) or ()):
            for call in found[:2]:
                if marker and marker in call:
                    yield f"a {call.replace(marker, '', 1)} b{stop}"
                    yield f"{call.replace(marker, 2 * marker, 1)}\n\n{stop}"


def seeds(name: str) -> Iterator[tuple[bytes, bytes]]:
    """The text of each seed, and its payload."""
    for text in texts(format_of(name)):
        yield text.encode(), rows.built_in(name).write(text.encode())
