"""JSON that fits a schema, as parts of a structural tag.

xgrammar's own `json_schema` compiles a whole schema at once, and its strings again for each tool if they exclude
something. xgrammar compiles equal parts of a tag only once, so objects are written out here, and all tools share the
white space, the strings and the numbers in them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import permutations
from typing import Any

from .ebnf import NOT_IN_STRINGS, json_ebnf
from .schemas import NOTES, text_alone, value_text

__all__ = ["excluding", "json_tag", "one_of", "optional", "regex", "sequence", "string"]

_MOST_ORDERED = 3  # for up to this many members, all orders are written out
_MOST_OPTIONAL = 16  # if no member is required, what is written grows with the square of their number
_OF_UNIONS = NOTES | {"anyOf"}
_OF_STRINGS = NOTES | {"type"}
_OF_ARRAYS = NOTES | {"type", "items"}
_OF_OBJECTS = NOTES | {"type", "properties", "required", "additionalProperties"}
_WITHOUT_STRINGS = frozenset(("integer", "number", "boolean", "null"))


# --- the parts of a tag ---


_quoted = json.encoder.encode_basestring


def string(text: str) -> str:
    return f'{{"type":"const_string","value":{_quoted(text)}}}'


def regex(pattern: str) -> str:
    return f'{{"type":"regex","pattern":{_quoted(pattern)}}}'


def sequence(elements: Sequence[str]) -> str:
    return elements[0] if len(elements) == 1 else _sequence(",".join(elements) or string(""))


def _sequence(elements: str) -> str:
    """elements: any number of them, with commas between."""
    return f'{{"type":"sequence","elements":[{elements}]}}'


def one_of(elements: Sequence[str]) -> str:
    return elements[0] if len(elements) == 1 else f'{{"type":"or","elements":[{",".join(elements)}]}}'


def optional(content: str) -> str:
    return f'{{"type":"optional","content":{content}}}'


def excluding(without: tuple[str, ...]) -> str:
    """The field with strings that are excluded."""
    return f',"excludes":{json.dumps(without, ensure_ascii=False)}' if without else ""


# --- JSON ---

_SPACE = regex("[ \\n\\t]{0,16}")
_COLON = f"{_SPACE},{string(':')},{_SPACE}"
_COMMA = f"{_SPACE},{string(',')},{_SPACE}"


def json_tag(schema: str, without: tuple[str, ...], any_order: bool) -> str:
    """schema: JSON text. without: strings that strings in quotes must not contain. any_order: may the members of the
    object have any order, if they are few?
    """
    root = json.loads(schema)
    return _value(root, root, without, any_order)


def _value(schema: Any, root: Any, without: tuple[str, ...], any_order: bool = False) -> str:
    made = ""
    if isinstance(schema, Mapping):
        kind, members = schema.get("type"), schema.get("anyOf")
        if isinstance(members, list) and members and schema.keys() <= _OF_UNIONS:
            made = one_of([_value(one, root, without) for one in members])
        elif isinstance(kind, list) and kind and "enum" not in schema and "const" not in schema:
            made = one_of([_value({**schema, "type": one}, root, without) for one in kind])
        elif kind == "string" and without and schema.keys() <= _OF_STRINGS:
            made = _string(without)
        elif kind == "array" and schema.keys() <= _OF_ARRAYS and schema.get("items", True) not in (True, {}):
            made = _array(_value(schema["items"], root, without))
        elif kind in ("object", None):
            made = _object(schema, root, without, any_order)
    return made or _other(text_alone(schema, root), without, any_order)


def _array(item: str) -> str:
    more = f'{{"type":"star","content":{_sequence(f"{_COMMA},{item}")}}}'
    return _sequence(f"{string('[')},{_SPACE},{optional(_sequence(f'{item},{more}'))},{_SPACE},{string(']')}")


def _object(schema: Mapping[str, Any], root: Any, without: tuple[str, ...], any_order: bool) -> str:
    """An object with declared members. "": it is anything else."""
    properties, needed = schema.get("properties"), schema.get("required", ())
    if not schema.keys() <= _OF_OBJECTS or schema.get("additionalProperties") or not properties:
        return ""
    if not needed and len(properties) > _MOST_OPTIONAL:
        return ""
    members = []
    for name, inner in properties.items():
        members.append((name in needed, f"{string(value_text(name))},{_COLON},{_value(inner, root, without)}"))
    orders = permutations(members) if any_order and len(members) <= _MOST_ORDERED else [members]
    inside = one_of([_sequence(_in_order(order)) for order in orders])
    return _sequence(f"{string('{')},{_SPACE},{inside},{_SPACE},{string('}')}")


def _in_order(members: Sequence[tuple[bool, str]]) -> str:
    """Members, with commas between those that are present."""
    first = next((at for at, (needed, _) in enumerate(members) if needed), None)
    if first is not None:
        made = [optional(_sequence(f"{one},{_COMMA}")) for _, one in members[:first]]
        made.append(members[first][1])
        for needed, one in members[first + 1 :]:
            made.append(f"{_COMMA},{one}" if needed else optional(_sequence(f"{_COMMA},{one}")))
        return ",".join(made)
    rests = []
    for at, (_, one) in enumerate(members):
        after = [optional(_sequence(f"{_COMMA},{later}")) for _, later in members[at + 1 :]]
        rests.append(_sequence(",".join([one, *after])))
    return optional(one_of(rests))


@lru_cache(256)
def _string(without: tuple[str, ...]) -> str:
    """Text in which a backslash begins an escape sequence. `json_schema` takes three times as long with excludes."""
    excludes = json.dumps((*NOT_IN_STRINGS, *without), ensure_ascii=False)
    inside = f'{{"type":"dispatch","rules":[["\\\\",{_ESCAPE}]],"excludes":{excludes}}}'
    return _sequence(f"{_QUOTE},{inside},{_QUOTE}")


_QUOTE = string('"')
_ESCAPE = regex('["\\\\/bfnrt]|u[0-9a-fA-F]{4}')


@lru_cache(2048)
def _other(schema: str, without: tuple[str, ...], any_order: bool) -> str:
    """A value that is not written out."""
    if without:
        if _has_no_strings(json.loads(schema)):
            without = ()
        elif (rules := json_ebnf(schema, without, any_order)) is not None:
            return f'{{"type":"grammar","grammar":{_quoted(rules)}}}'
    return f'{{"type":"json_schema","json_schema":{schema},"max_whitespace_cnt":16{excluding(without)}}}'


def _has_no_strings(schema: Any) -> bool:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    return isinstance(kind, str) and kind in _WITHOUT_STRINGS
