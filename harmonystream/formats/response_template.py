"""Converts a tokenizer's `response_template`, transformers' description of a model's output, to the fields of a row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import FormatError
from .fields import Marker
from .patterns import Group, Layout, Piece, Pieces, read_ahead, read_literal, read_pattern

__all__ = ["fields_of_template"]

_TOP = {"version", "defaults", "fields", "start_anchor", "start_anchor_pattern"}
_THINKING = ("thinking", "reasoning_content", "reasoning")
_FIELDS = (*_THINKING, "content", "tool_calls")
_FIELD_KEYS = {
    *("open", "open_pattern", "close", "close_pattern", "content", "content_args", "repeats", "join", "optional"),
    *("transform", "transform_each"),
}
_MOST_LITERALS = 32
_IN_HEADERS = ("<|channel|>", "<|message|>")  # Harmony's markers
_TAG = re.compile(r"(<\w[\w.:-]*)")
_FIRST_TAG = re.compile(r"<[^<>]*>|\[[^][]*\]")
_PLACEHOLDER = re.compile(r"\{(\w+(?:\.\w+)*)\}")
# The beginning of a JSON object up to its arguments, with the name as "\0", and without whitespace.
_OBJECT = re.compile(r'\{"(\w+)":"\0","(\w+)":')


def fields_of_template(template: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the row that reads what the template describes, without its name.

    Errors are those of `Format.from_response_template`.
    """
    fields = _checked(template)
    turns = _spellings(_anchor(template, "start_anchor", "response_template"), "start_anchor")
    content = fields.get("content", {})
    outer, stops = _content(content)
    parts = _calls(fields["tool_calls"], stops) if "tool_calls" in fields else {}
    stops += [stop for stop in parts.pop("stops", ()) if stop not in stops]
    thinking = next((fields[role] for role in _THINKING if role in fields), None)
    return {
        "think": None if thinking is None else _think(thinking, turns),
        "stops": tuple(stops),
        "turns": tuple(dict.fromkeys(_turn(turn) for turn in turns)),
        "drop": outer,
        **parts,
    }


def _checked(template: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The fields. Raises FormatError if the template is not valid, or describes more than a Format can express."""
    if not isinstance(template, Mapping):
        raise FormatError(f"a response template is an object, not {type(template).__name__}")
    if "x-regex" in template or "properties" in template:
        raise FormatError("that is a response_schema, which transformers has replaced by response_template")
    if unknown := sorted(set(map(str, template)) - _TOP):
        raise FormatError(f"unknown key {unknown[0]!r} of a response template; known: {', '.join(sorted(_TOP))}")
    if template.get("version", 1) != 1:
        raise FormatError(f"version {template['version']!r:.20} of response templates is not known, only 1")
    if template.get("defaults", {}) not in ({}, {"role": "assistant"}):
        raise FormatError("defaults other than the role 'assistant' have no place in a Format")
    fields = template.get("fields")
    if not isinstance(fields, Mapping) or not fields:
        raise FormatError("a response template needs 'fields', an object with at least one field")
    for role, field in fields.items():
        _check_field(role, field)
    if len([role for role in fields if role in _THINKING]) > 1:
        raise FormatError(f"a Format has one kind of reasoning, not {', '.join(fields)}")
    return dict(fields)


def _check_field(role: Any, field: Any) -> None:
    if role not in _FIELDS:
        raise FormatError(f"the field {role!r:.80} has no place in a Format, which has {', '.join(_FIELDS)}")
    if not isinstance(field, Mapping):
        raise FormatError(f"{role} is an object, not {field!r:.80}")
    if unknown := sorted(set(map(str, field)) - _FIELD_KEYS):
        raise FormatError(f"{role}: unknown key {unknown[0]!r:.80}")
    if not isinstance(field.get("content_args", {}), Mapping):
        raise FormatError(f"{role}: content_args is an object, not {field['content_args']!r:.80}")
    if role != "tool_calls" and (field.get("content", "text") != "text" or "transform" in field):
        raise FormatError(f"{role}: a Format passes text on as it is, without 'content' of another kind or 'transform'")


def _anchor(field: Mapping[str, Any], key: str, what: str) -> list[Pieces]:
    """The texts of a literal, of a list of literals, or of a pattern. Empty if the template has none of these."""
    given, pattern = field.get(key), field.get(f"{key}_pattern")
    if given is not None and pattern is not None:
        raise FormatError(f"{what} has both {key} and {key}_pattern")
    if pattern is not None:
        if not isinstance(pattern, str):
            raise FormatError(f"{what}: {key}_pattern is a string, not {pattern!r:.80}")
        texts = read_pattern(pattern, f"{what}.{key}_pattern")
    else:
        literals = [] if given is None else given if isinstance(given, list) else [given]
        if len(literals) > _MOST_LITERALS or not all(isinstance(text, str) and text.strip() for text in literals):
            most = f"{key} is a string or a list of at most {_MOST_LITERALS} strings"
            raise FormatError(f"{what}: {most}, not {given!r:.80}")
        texts = [read_literal(text, f"{what}.{key}") for text in literals]
    _refuse_headers(texts, what)
    return texts


def _refuse_headers(texts: list[Pieces], what: str) -> None:
    parts = [part for text in texts for part in text if isinstance(part, str)]
    if any(marker in part for part in parts for marker in _IN_HEADERS):
        raise FormatError(f"{what} is in a header such as Harmony's, which no Format has; gpt-oss has a row: 'harmony'")


def _spellings(texts: list[Pieces], what: str) -> list[str]:
    """Texts that are one marker each. The end of the output is not a marker."""
    spelt = []
    for text in texts:
        match [part for part in text if part is not Layout.SPACE]:
            case [str() as marker]:
                spelt.append(marker)
            case [] | [Layout.END]:
                pass
            case _:
                raise FormatError(f"{what}: {_shown(text)} is not a marker: it has more than whitespace at its ends")
    return spelt


def _shown(text: Pieces) -> str:
    return "".join(part if isinstance(part, str) else f"({part.name})" for part in text)[:80]


def _marker(spellings: list[str]) -> Marker:
    return spellings[0] if len(spellings) == 1 else tuple(spellings)


def _turn(anchor: str) -> str:
    """The marker that begins a turn: the anchor's first tag, which is a token, or the whole anchor."""
    tag = _FIRST_TAG.match(anchor)
    return anchor if tag is None else tag[0]


def _think(field: Mapping[str, Any], anchors: list[str]) -> tuple[Marker, Marker]:
    closers = _spellings(_anchor(field, "close", "thinking"), "thinking.close")
    if not closers:
        raise FormatError("thinking has no close, so no answer could follow it")
    pattern = field.get("open_pattern")
    awaited = read_ahead(pattern, "thinking.open_pattern") if isinstance(pattern, str) else None
    if awaited is None:
        openers = _spellings(_anchor(field, "open", "thinking"), "thinking.open")
    else:
        # The prompt opens the thoughts: the tag is in the anchor.
        openers = [closer.replace("/", "", 1) for closer in closers if "/" in closer]
        openers = [opener for opener in openers if any(opener in anchor for anchor in anchors)]
        if _spellings(awaited, "thinking.open") != closers:
            openers = []
    if not openers:
        raise FormatError("thinking has no open, and the start anchor has none either")
    return _marker(openers), _marker(closers)


def _content(field: Mapping[str, Any]) -> tuple[tuple[str, ...], list[str]]:
    """The markers around the answer, or else the stops that end it."""
    openers = _spellings(_anchor(field, "open", "content"), "content.open")
    closers = _spellings(_anchor(field, "close", "content"), "content.close")
    return (tuple(dict.fromkeys([*openers, *closers])), []) if openers else ((), closers)


class _Shape(NamedTuple):
    """What the transform of the calls makes of the matched text."""

    name: str  # the name's placeholder; "": the content has the name and the arguments
    arguments: str
    id: str


def _shape(field: Mapping[str, Any]) -> _Shape:
    transform = field.get("transform")
    if not isinstance(transform, Mapping) or transform.get("type", "function") != "function":
        raise FormatError("tool_calls needs a transform into {'type': 'function', 'function': …}")
    function, number = transform.get("function"), transform.get("id", "")
    if function == "{content}":
        names = {"name": "", "arguments": ""}
    elif isinstance(function, Mapping) and function.keys() == {"name", "arguments"}:
        names = {key: _placeholder(value) for key, value in function.items()}
    else:
        raise FormatError(f"tool_calls: 'function' is '{{content}}', or name and arguments, not {function!r:.80}")
    if unknown := transform.keys() - {"type", "function", "id"}:
        raise FormatError(f"tool_calls: the transform's {min(map(str, unknown))!r:.80} has no place in a Format")
    return _Shape(names["name"], names["arguments"], _placeholder(number) if number else "")


def _placeholder(value: Any) -> str:
    found = _PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise FormatError(f"tool_calls: {value!r:.80} is not a placeholder such as '{{name}}'")
    return found[1]


def _calls(field: Mapping[str, Any], stops: list[str]) -> dict[str, Any]:
    """The parts of the row that read calls, and more stops."""
    shape, kind, args = _shape(field), field.get("content", "text"), field.get("content_args", {})
    openers = _anchor(field, "open", "tool_calls")
    closers = [_unspaced(text) for text in _anchor(field, "close", "tool_calls")]
    if not openers:
        raise FormatError("tool_calls has no open, so no Format can distinguish a call from the answer")
    if kind not in ("json", "xml-inline"):
        raise FormatError(f"tool_calls: no Format reads the content {kind!r:.80} as arguments")
    groups = {part.name for text in openers for part in text if isinstance(part, Group)}
    if kind == "json" and not groups:
        if dialect := {"unquoted_keys", "string_delims"} & {key for key in args if args[key]}:
            raise FormatError(f"tool_calls: no Format has {min(dialect)} in objects with the name in them")
        return _wrapped(field, shape, openers, [closer for closer in closers if closer])
    if groups != {shape.name} | ({shape.id} if shape.id else set()) or shape.arguments != "content":
        raise FormatError(
            "tool_calls: of an opener, only the groups of name and id can be read, and {content} is the arguments"
        )
    if kind == "json" and (args.get("unquoted_keys") or args.get("string_delims")):
        return _objects(shape, openers, closers, args)
    beginning = _object_opener(openers)
    if kind == "json" and beginning is not None:
        return _unmarked(beginning, closers)
    if any(
        [part.name for part in text if isinstance(part, Group)] != [*filter(None, (shape.name, shape.id))]
        for text in openers
    ):
        raise FormatError(
            "tool_calls: of an opener, only the groups of name and id can be read, in this order, and each once"
        )
    row = _framed(openers, closers, stops)
    return row | (_pairs(args) if kind == "xml-inline" else {})


def _unspaced(text: Pieces) -> list[Piece]:
    return [part for part in text if part is not Layout.SPACE and part is not Layout.END]


def _wrapped(
    field: Mapping[str, Any], shape: _Shape, openers: list[Pieces], closers: list[list[Piece]]
) -> dict[str, Any]:
    """Objects with the name in them, between an opener and a closer."""
    row: dict[str, Any] = {"wrapped": True}
    if shape.name:
        prefix = "" if field.get("transform_each") else "content."
        members = {shape.name: "name", shape.arguments: "arguments"} | ({shape.id: "id"} if shape.id else {})
        if not all(key.startswith(prefix) and "." not in key.removeprefix(prefix) for key in members):
            raise FormatError(f"tool_calls: {', '.join(members)} are not members of one object")
        row["members"] = {key.removeprefix(prefix): use for key, use in members.items()}
    begin = dict.fromkeys(text for opener in openers for text in _as_one(_unspaced(opener)))
    end = dict.fromkeys(text for closer in closers for text in _as_one(closer))
    row["section"] = (_marker(list(begin)), _marker(list(end) or [""]))
    return row


def _objects(
    shape: _Shape, openers: list[Pieces], closers: list[list[Piece]], args: Mapping[str, Any]
) -> dict[str, Any]:
    """Calls as the name and an object with bare keys, or with strings in quotes of their own."""
    delims = args.get("string_delims") or []
    pairs = isinstance(delims, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in delims)
    if not pairs or not all(isinstance(mark, str) and mark and pair[0] == mark for pair in delims for mark in pair):
        raise FormatError(
            "tool_calls: string_delims are pairs of two equal texts, because a Format has one mark for "
            f"both ends of a string, not {delims!r:.80}"
        )
    begin = []
    for opener in openers:
        match _unspaced(opener):
            case [str() as marker, Group(name)] if name == shape.name and not shape.id:
                begin.append(marker)
            case _:
                shown = _shown(opener)
                raise FormatError(f"tool_calls: {shown!r} is not a marker and the name, which the object follows")
    bare = [marker.removesuffix("call:") for marker in begin]
    named = all(bare) and bare != begin
    end = dict.fromkeys(text for closer in closers if closer for text in _as_one(closer))
    return {
        "section": (_marker(list(dict.fromkeys(bare if named else begin))), _marker(list(end) or [""])),
        "body": "object",
        "name_as": "call" if named else "plain",
        "quote": _marker([pair[0] for pair in delims] or [""]),
    }


def _as_one(parts: list[Piece]) -> Iterator[str]:
    """Markers with whitespace between them as one marker, in the spellings that models write."""
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) != len(parts) or not texts:
        raise FormatError(f"tool_calls: {_shown(tuple(parts))!r} is not a marker")
    yield from dict.fromkeys(space.join(texts) for space in ("", "\n"))


def _object_opener(openers: list[Pieces]) -> tuple[str, str] | None:
    """The members for name and arguments, if the opener is the beginning of a JSON object."""
    if len(openers) != 1:
        return None
    text = "".join("\0" if isinstance(part, Group) else str(part) for part in _unspaced(openers[0]))
    found = _OBJECT.fullmatch(re.sub(r"\s", "", text))
    return None if found is None else (found[1], found[2])


def _unmarked(members: tuple[str, str], closers: list[list[Piece]]) -> dict[str, Any]:
    """Objects without a marker; what follows their last brace ends the turn."""
    ends = ["".join(map(str, closer)) for closer in closers]
    if not all(end.startswith("}") for end in ends):
        raise FormatError("tool_calls: the opener begins an object, so the closer begins with its brace")
    return {
        "wrapped": True,
        "section": ("", ""),
        "members": {members[0]: "name", members[1]: "arguments"},
        "stops": [end[1:].lstrip() for end in ends if end[1:].strip()],
    }


def _framed(openers: list[Pieces], closers: list[list[Piece]], stops: list[str]) -> dict[str, Any]:
    """Calls with their name outside of their arguments, perhaps in a section."""
    before, after, between = [], [], []
    for opener in openers:
        parts = _unspaced(opener)
        at = [number for number, part in enumerate(parts) if isinstance(part, Group)]
        before.append([part for part in parts[: at[0]] if isinstance(part, str)])
        between += ["".join(map(str, parts[at[0] + 1 : at[-1]]))] if len(at) > 1 else []
        after.append("".join(part for part in parts[at[-1] + 1 :] if isinstance(part, str)))
    if between and not all(between):
        raise FormatError("tool_calls: between name and id is not a marker")
    ids = {"call_id": _marker(list(dict.fromkeys(between)))} if between else {}
    depths = {len(texts) for texts in before}
    if depths not in ({1}, {2}):
        raise FormatError("tool_calls: before the name come one marker or two, in all choices as many")
    ends = list(dict.fromkeys(after))
    openings = list(dict.fromkeys(texts[-1] for texts in before))
    if depths == {1}:
        spelt = [text for closer in closers if closer for text in _as_one(closer)]
        return {"call": (_marker(openings), _marker(ends), _marker(list(dict.fromkeys(spelt)) or [""]))} | ids
    inner, outer = _closers(openings, closers)
    sections = list(dict.fromkeys(texts[0] for texts in before))
    row = {"section": (_marker(sections), _marker(outer)), "call": (_marker(openings), _marker(ends), _marker(inner))}
    return row | ids | {"bare": "declared"}


def _closers(openings: list[str], closers: list[list[Piece]]) -> tuple[list[str], list[str]]:
    """The closers of calls, and of the section around them. A template may leave the former out: a tag has its own."""
    inner, outer = [], []
    for closer in closers:
        if texts := [part for part in closer if isinstance(part, str)]:
            inner += texts[:-1]
            outer.append(texts[-1])
    if not outer:
        raise FormatError("tool_calls has two markers before the name and no close")
    if not inner:
        tags = [_TAG.match(opening) for opening in openings]
        inner = [f"</{tag[1][1:]}>" for tag in tags if tag is not None]
    if not inner or len(set(map(len, closers))) > 1:
        raise FormatError(f"tool_calls: the template does not say what closes {openings[0]!r}")
    return list(dict.fromkeys(inner)), list(dict.fromkeys(outer))


def _pairs(args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as keys and values between tags."""
    pattern = args.get("tag_pattern")
    if not isinstance(pattern, str):
        raise FormatError("tool_calls: xml-inline needs a tag_pattern")
    if args.get("merge_duplicates"):
        raise FormatError("tool_calls: merge_duplicates has no place in a Format, which passes each key on")
    texts = read_pattern(pattern, "tool_calls.tag_pattern")
    shapes = [[part.name if isinstance(part, Group) else "" for part in _unspaced(text)] for text in texts]
    match shapes:
        case [["", "key", "", "value", ""]]:
            opener, _, between, _, closer = (part for part in _unspaced(texts[0]))
            joint = re.sub(r"><", ">\0<", str(between), count=1).partition("\0")
            marks = (str(opener), joint[0], joint[2], str(closer))
        case [["", "key", "", "", "value", ""]]:
            opener, _, end, begin, _, closer = (part for part in _unspaced(texts[0]))
            marks = (str(opener), str(end), str(begin), str(closer))
        case _:
            raise FormatError("tool_calls: a Format's pair is opener, key, end, perhaps opener, value and closer")
    value = texts[0].index(Group("value"))
    strips = Layout.SPACE in (texts[0][value - 1], texts[0][value + 1])
    return {"pair": marks, "newlines": "strip" if strips else "keep", "untyped": _untyped(args.get("value_parser"))}


def _untyped(parser: Any) -> str:
    """What a value without a type becomes."""
    if parser is None or parser == {"name": "text"}:
        return "string"
    if isinstance(parser, Mapping) and parser.get("name") == "json":
        args = parser.get("args", {})
        if parser.keys() <= {"name", "args"} and isinstance(args, Mapping) and args.keys() <= {"allow_non_json"}:
            return "json"
    raise FormatError(f"tool_calls: a Format reads values as text or JSON, not by {parser!r:.80}")
