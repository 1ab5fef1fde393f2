"""JSON that fits a schema, as parts of a structural tag.

xgrammar's own `json_schema` compiles a whole schema at once, and its strings again for each tool if they exclude
something. xgrammar compiles equal parts of a tag only once, so objects are written out here, and all tools share the
white space, the strings and the numbers in them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence, Set
from functools import lru_cache
from itertools import permutations
from typing import Any

from .ebnf import NOT_IN_STRINGS, json_ebnf
from .schemas import NOTES, loads, text_alone, value_text

__all__ = ["excluding", "json_tag", "optional", "regex", "sequence", "string"]

_MOST_ORDERED = 3  # for up to this many members, all orders are written out
_MOST_COPIES = 8  # of a value: an array has two of its items, and an object without required members more
_OF_ARRAYS = frozenset(("type", "items"))
_OF_OBJECTS = frozenset(("type", "properties", "required", "additionalProperties"))
_FOR_PEOPLE = frozenset(("title", "description", "default", "examples", "$comment", "deprecated"))
_WITHOUT_STRINGS = {
    kind: f'{{"type":"json_schema","json_schema":{{"type":"{kind}"}}}}'
    for kind in ("integer", "number", "boolean", "null")
}


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


def _one_of(elements: Sequence[str]) -> str:
    return elements[0] if len(elements) == 1 else f'{{"type":"or","elements":[{",".join(elements)}]}}'


def optional(content: str) -> str:
    return f'{{"type":"optional","content":{content}}}'


def excluding(without: tuple[str, ...]) -> str:
    """The field with strings that are excluded."""
    return f',"excludes":{_listed(without)}' if without else ""


def _listed(strings: Sequence[str]) -> str:
    return f"[{','.join(map(_quoted, strings))}]"


# --- JSON ---

_SPACE = regex("[ \\n\\t]{0,16}")
_COLON = f"{_SPACE},{string(':')},{_SPACE}"
_COMMA = f"{_SPACE},{string(',')},{_SPACE}"


def json_tag(schema: Any, without: tuple[str, ...], any_order: bool) -> str:
    """without: strings that strings in quotes must not contain. any_order: may its members have any order, if they are
    few?
    """
    return _value(schema, schema, without, 1, any_order)


def _value(schema: Any, root: Any, without: tuple[str, ...], copies: int, any_order: bool = False) -> str:
    """copies: how often it is written."""
    made = ""
    if type(schema) is dict:
        kind, keywords = schema.get("type"), schema.keys() - NOTES
        if type(kind) is str:
            if len(keywords) == 1 and kind in _WITHOUT_STRINGS:
                return _WITHOUT_STRINGS[kind]
            if len(keywords) == 1 and kind == "string" and without:
                return _string(without)
            if kind == "array" and keywords == _OF_ARRAYS and schema["items"] not in (True, {}):
                made = _array(_value(schema["items"], root, without, 2 * copies)) if 2 * copies <= _MOST_COPIES else ""
            elif kind == "object":
                made = _object(schema, keywords, root, without, copies, any_order)
        elif keywords == {"anyOf"} and type(schema["anyOf"]) is list and schema["anyOf"]:
            made = _one_of([_value(one, root, without, copies) for one in schema["anyOf"]])
        elif type(kind) is list and kind and keywords.isdisjoint(("enum", "const")):
            made = _one_of([_value({**schema, "type": one}, root, without, copies) for one in kind])
        elif kind is None:
            made = _object(schema, keywords, root, without, copies, any_order)
    return made or _other(text_alone(_bare(schema), root), without, any_order)


def _bare(schema: Any) -> Any:
    """Without what is said to people, so that equal values are equal parts."""
    if type(schema) is dict and not _FOR_PEOPLE.isdisjoint(schema):
        return {keyword: value for keyword, value in schema.items() if keyword not in _FOR_PEOPLE}
    return schema


def _array(item: str) -> str:
    more = f'{{"type":"star","content":{_sequence(f"{_COMMA},{item}")}}}'
    return _sequence(f"{string('[')},{_SPACE},{optional(_sequence(f'{item},{more}'))},{_SPACE},{string(']')}")


def _object(
    schema: dict[str, Any], keywords: Set[str], root: Any, without: tuple[str, ...], copies: int, any_order: bool
) -> str:
    """An object with declared members. "": it is anything else."""
    properties, needed = schema.get("properties"), schema.get("required", ())
    if not keywords <= _OF_OBJECTS or schema.get("additionalProperties") or not properties:
        return ""
    any_order = any_order and len(properties) <= _MOST_ORDERED
    copies *= 6 if any_order else 1 if needed else len(properties)
    if copies > _MOST_COPIES:
        return ""
    members = []
    for name, inner in properties.items():
        members.append((name in needed, f"{string(value_text(name))},{_COLON},{_value(inner, root, without, copies)}"))
    orders = permutations(members) if any_order else [members]
    inside = _one_of([_sequence(_in_order(order)) for order in orders])
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
    return optional(_one_of(rests))


@lru_cache(256)
def _string(without: tuple[str, ...]) -> str:
    """Text in which a backslash begins an escape sequence. `json_schema` takes three times as long with excludes."""
    inside = f'{{"type":"dispatch","rules":[["\\\\",{_ESCAPE}]]{excluding((*NOT_IN_STRINGS, *without))}}}'
    return _sequence(f"{_QUOTE},{inside},{_QUOTE}")


_QUOTE = string('"')
_ESCAPE = regex('["\\\\/bfnrt]|u[0-9a-fA-F]{4}')


@lru_cache(2048)
def _other(schema: str, without: tuple[str, ...], any_order: bool) -> str:
    """A value that is not written out."""
    if without:
        if _has_no_strings(loads(schema)):
            without = ()
        elif (rules := json_ebnf(schema, without, any_order)) is not None:
            return f'{{"type":"grammar","grammar":{_quoted(rules)}}}'
    return f'{{"type":"json_schema","json_schema":{schema},"max_whitespace_cnt":16{excluding(without)}}}'


def _has_no_strings(schema: Any) -> bool:
    kind = schema.get("type") if type(schema) is dict else None
    return type(kind) is str and kind in _WITHOUT_STRINGS
