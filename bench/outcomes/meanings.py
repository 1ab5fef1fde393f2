"""What a model may want to say: reasoning, content, and calls of tools whose schemas are random, too.

A seed gives the same meanings on every machine. Only the standard library: the rivals' processes read this, too.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any, NamedTuple

TEXT = """the weather in Bergen is fine today so we look it up first and then answer a b c I think that rain umbrella
Straße naïve 天气 很好 😀 42 3.5 "quoted" it's (maybe) x < y a & b 100% C:\\dir ... yes, no; Done."""
WORDS = TEXT.split()
NAMES = ("get_weather", "search", "write_file", "run_code", "send_mail", "lookup2", "set_alarm")
KEYS = ("city", "query", "path", "text", "count", "ratio", "exact", "options", "items", "unit", "limit", "note")
STRINGS = (
    *("Bergen", "New York", "two\nlines", 'say "hi"', "it's", "C:\\new\\table", "a < b && c > d", "<b>bold</b>"),
    *("日本 😀", '{"a": 1}', "[1, 2]", "", " padded ", "line\n", "def f(x):\n    return x + 1"),
    *("# Title\n\n- one\n- two", "a, b; c", "</div>", "50 %", "&amp;", "\ttab", "e=mc2"),
    *("https://example.org/?q=a&b=c#d", "key: value", "x = [1, (2)]"),
)
NUMBERS = (0, 1, -7, 42, 2**40)
FLOATS = (0.5, -1.25, 3.0, 1e21)
OBJECTS: tuple[Any, ...] = ({}, {"a": 1}, {"deep": {"list": [1, None, True], "s": 'it\'s "so"'}}, {"ключ": "<x>"})
LISTS: tuple[Any, ...] = ([], [1, 2], ["a", "b, c"], [{"k": [False]}, None])

Json = dict[str, Any]


class Meaning(NamedTuple):
    """`before`, `after`: content before and after the calls. Each call is a name and arguments."""

    reasoning: str
    before: str
    calls: list[tuple[str, Json]]
    after: str

    @property
    def content(self) -> str:
        return self.before + self.after


KINDS: dict[str, tuple[Json, tuple[Any, ...]]] = {
    "string": ({"type": "string"}, STRINGS),
    "integer": ({"type": "integer"}, NUMBERS),
    "number": ({"type": "number"}, FLOATS),
    "boolean": ({"type": "boolean"}, (True, False)),
    "object": ({"type": "object"}, OBJECTS),
    "array": ({"type": "array"}, LISTS),
    "enum": ({"enum": ["metric", "imperial"]}, ("metric", "imperial")),
    "nullable": ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, (None, 5)),
    "several": ({"type": ["string", "null"]}, ("some text", "Oslo, Norway")),
    "untyped": ({"description": "Anything."}, ("plain words", "A note.")),
}


def tools(random: Random) -> list[Json]:
    """The tools of a request: names, and parameters of all kinds."""
    found = []
    for name in random.sample(NAMES, random.randint(1, 4)):
        keys = random.sample(KEYS, random.randint(0, 5))
        properties = {key: dict(KINDS[random.choice(list(KINDS))][0]) for key in keys}
        parameters = {"type": "object", "properties": properties, "required": keys[:1]}
        found.append({"type": "function", "function": {"name": name, "parameters": parameters}})
    return found


def values_of(schema: Json) -> tuple[Any, ...]:
    return next(values for known, values in KINDS.values() if known == schema)


def words(random: Random, most: int) -> str:
    parts = [random.choice(WORDS) for _ in range(random.randint(1, most))]
    return "".join(part + random.choice((" ", " ", " ", "\n", ". ")) for part in parts[:-1]) + parts[-1]


def meaning(random: Random, declared: list[Json], thinks: float, before: bool, most: int) -> Meaning:
    """`thinks`: how often the model thinks. before: there can be content before calls. most: calls."""
    calls = []
    for _ in range(min(most, random.choice((0, 1, 1, 1, 2, 3, 4)))):
        function = random.choice(declared)["function"]
        properties = function["parameters"]["properties"]
        keys = random.sample(list(properties), random.randint(0, len(properties)))
        calls.append((function["name"], {key: random.choice(values_of(properties[key])) for key in keys}))
    thought = words(random, 12) if random.random() < thinks else ""
    first = words(random, 8) if not calls or (before and random.random() < 0.5) else ""
    return Meaning(thought, first, calls, "")


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
