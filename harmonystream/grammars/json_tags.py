"""JSON that fits a schema, as parts of a structural tag.

xgrammar's own `json_schema` compiles a whole schema at once, and its strings again for each tool if they exclude
something. xgrammar compiles equal parts of a tag only once, so objects are written out here, and all tools share the
white space, the strings and the numbers in them.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import lru_cache
from itertools import permutations
from typing import Any

from .ebnf import NOT_IN_STRINGS, json_ebnf
from .schemas import NOTES, loads, quoted, text_alone

__all__ = ["excluding", "json_tag", "optional", "regex", "sequence", "string"]

_MOST_ORDERED = 3  # for up to this many members, all orders are written out
_MOST_COPIES = 8  # of a value: an array has two of its items, and an object without required members more
_OF_ARRAYS = frozenset(("type", "items"))
_OF_ENUMS = frozenset(("type", "enum"))
_OF_OBJECTS = frozenset(("type", "properties", "required", "additionalProperties"))
_FOR_PEOPLE = frozenset(("title", "description", "default", "examples", "$comment", "deprecated"))
_WITHOUT_STRINGS = {
    kind: f'{{"type":"json_schema","json_schema":{{"type":"{kind}"}}}}'
    for kind in ("integer", "number", "boolean", "null")
}


# --- the parts of a tag ---


def string(text: str) -> str:
    return f'{{"type":"const_string","value":{quoted(text)}}}'


def regex(pattern: str) -> str:
    return f'{{"type":"regex","pattern":{quoted(pattern)}}}'


def sequence(elements: Sequence[str]) -> str:
    if len(elements) == 1:
        return elements[0]
    return f'{{"type":"sequence","elements":[{",".join(elements) or string("")}]}}'


def optional(content: str) -> str:
    return f'{{"type":"optional","content":{content}}}'


def excluding(without: tuple[str, ...]) -> str:
    """The field with strings that are excluded."""
    return f',"excludes":{_listed(without)}' if without else ""


def _listed(strings: Sequence[str]) -> str:
    return f"[{','.join(map(quoted, strings))}]"


# --- JSON ---

_SPACE = regex("[ \\n\\t]{0,16}")
_COLON = f"{_SPACE},{string(':')},{_SPACE}"
_COMMA = f"{_SPACE},{string(',')},{_SPACE}"
_SEQUENCE = '{"type":"sequence","elements":['
_OPTIONAL = f'{{"type":"optional","content":{_SEQUENCE}'
_ARRAY = f"{_SEQUENCE}{string('[')},{_SPACE},{_OPTIONAL}"
_MORE = f',{{"type":"star","content":{_SEQUENCE}{_COMMA},'
_END_OF_ARRAY = f"]}}}}]}}}},{_SPACE},{string(']')}]}}"
_OBJECT = f"{_SEQUENCE}{string('{')},{_SPACE},"
_END_OF_OBJECT = f",{_SPACE},{string('}')}]}}"


def json_tag(schema: Any, without: tuple[str, ...], any_order: bool) -> list[str]:
    """The pieces of the text.

    without: strings that strings in quotes must not contain. any_order: may its members have any order, if they are
    few?
    """
    return _value(schema, schema, without, 1, any_order)


def _value(schema: Any, root: Any, without: tuple[str, ...], copies: int, any_order: bool = False) -> list[str]:
    """copies: how often it is written."""
    made: list[str] = []
    if type(schema) is dict:
        kind, keywords = schema.get("type"), schema.keys() - NOTES
        if type(kind) is str:
            if len(keywords) == 1 and (only := _only_types(without).get(kind)):
                return only
            if kind == "array" and keywords == _OF_ARRAYS and schema["items"] not in (True, {}):
                if 2 * copies <= _MOST_COPIES:
                    item = _value(schema["items"], root, without, 2 * copies)
                    made = [_ARRAY, *item, _MORE, *item, _END_OF_ARRAY]
            elif kind == "string" and keywords == _OF_ENUMS:
                made = _words(schema["enum"], without)
            elif kind == "object":
                made = _object(schema, keywords, root, without, copies, any_order)
        elif keywords == {"anyOf"} and type(schema["anyOf"]) is list and schema["anyOf"]:
            made = _one_of([_value(one, root, without, copies) for one in schema["anyOf"]])
        elif type(kind) is list and kind and keywords.isdisjoint(("enum", "const")):
            made = _one_of([_value({**schema, "type": one}, root, without, copies) for one in kind])
        elif keywords == {"enum"}:
            made = _words(schema["enum"], without)
        elif kind is None:
            made = _object(schema, keywords, root, without, copies, any_order)
    return made or [_other(text_alone(_bare(schema), root), without, any_order)]


def _bare(schema: Any) -> Any:
    """The schema without titles, descriptions and so on, so that equal schemas share a part."""
    if type(schema) is dict and not _FOR_PEOPLE.isdisjoint(schema):
        return {keyword: value for keyword, value in schema.items() if keyword not in _FOR_PEOPLE}
    return schema


def _object(
    schema: dict[str, Any], keywords: Set[str], root: Any, without: tuple[str, ...], copies: int, any_order: bool
) -> list[str]:
    """An object with declared members. Empty: it is anything else."""
    properties, needed = schema.get("properties"), schema.get("required", ())
    if not keywords <= _OF_OBJECTS or schema.get("additionalProperties") or not properties:
        return []
    any_order = any_order and len(properties) <= _MOST_ORDERED
    copies *= 6 if any_order else 1 if needed else len(properties)
    if copies > _MOST_COPIES:
        return []
    members = []
    for name, inner in properties.items():
        value = _value(inner, root, without, copies)
        members.append((name in needed, [f"{_word(name)},{_COLON},", *value]))
    orders = permutations(members) if any_order else [members]
    return [_OBJECT, *_one_of([_in_order(order) for order in orders]), _END_OF_OBJECT]


def _in_order(members: Sequence[tuple[bool, list[str]]]) -> list[str]:
    """Members, with commas between those that are present."""
    first = next((at for at, (needed, _) in enumerate(members) if needed), None)
    if first is not None:
        made = [_SEQUENCE]
        for _, one in members[:first]:
            made += [_OPTIONAL, *one, f",{_COMMA}]}}}},"]
        made += members[first][1]
        _add_more(made, members[first + 1 :])
        return made
    rests = []
    for at, (_, one) in enumerate(members):
        made = [_SEQUENCE, *one]
        _add_more(made, members[at + 1 :])
        rests.append(made)
    return ['{"type":"optional","content":', *_one_of(rests), "}"]


def _add_more(made: list[str], members: Sequence[tuple[bool, list[str]]]) -> None:
    """Adds members after another one, and the end of the sequence."""
    for needed, one in members:
        made += [f",{_COMMA},", *one] if needed else [f",{_OPTIONAL}{_COMMA},", *one, "]}}"]
    made.append("]}")


def _one_of(ways: Sequence[list[str]]) -> list[str]:
    if len(ways) == 1:
        return ways[0]
    made = ['{"type":"or","elements":[']
    for way in ways:
        made += way
        made.append(",")
    made[-1] = "]}"
    return made


def _words(values: Any, without: tuple[str, ...]) -> list[str]:
    """One of these strings. Empty: there are other values."""
    if not values or not all(type(one) is str for one in values):
        return []
    texts = list(map(_word, values))
    if without:  # values that contain a marker stay only where all values do
        texts = [text for text, one in zip(texts, values) if not any(end in quoted(one) for end in without)] or texts
    return _one_of([[text] for text in texts])


def _word(text: str) -> str:
    """A string in quotes, with these characters."""
    return string(quoted(text))


@lru_cache(256)
def _only_types(without: tuple[str, ...]) -> dict[str, list[str]]:
    """The values of each type that can be written without their schema."""
    made = {kind: [text] for kind, text in _WITHOUT_STRINGS.items()}
    if without:
        # Text in which a backslash begins an escape sequence. `json_schema` takes three times as long with excludes.
        inside = f'{{"type":"dispatch","rules":[["\\\\",{_ESCAPE}]]{excluding((*NOT_IN_STRINGS, *without))}}}'
        made["string"] = [sequence([_QUOTE, inside, _QUOTE])]
    return made


_QUOTE = string('"')
_ESCAPE = regex('["\\\\/bfnrt]|u[0-9a-fA-F]{4}')


@lru_cache(2048)
def _other(schema: str, without: tuple[str, ...], any_order: bool) -> str:
    """A value that is not written out."""
    if without:
        if _has_no_strings(loads(schema)):
            without = ()
        elif (rules := json_ebnf(schema, without, any_order)) is not None:
            return f'{{"type":"grammar","grammar":{quoted(rules)}}}'
    return f'{{"type":"json_schema","json_schema":{schema},"max_whitespace_cnt":16{excluding(without)}}}'


def _has_no_strings(schema: Any) -> bool:
    kind = schema.get("type") if type(schema) is dict else None
    return type(kind) is str and kind in _WITHOUT_STRINGS
