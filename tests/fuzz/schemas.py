"""Values and the types that tools declare for them: any text becomes JSON, whatever the schema looks like."""

from __future__ import annotations

import json
from typing import Any

from native_values import fits, may_be_literal, transcode

import harmonystream as hs
from fuzz import rows, tag_oracles
from harmonystream._schema import TYPES

Case = dict[str, Any]
KINDS = {bool: "boolean", int: "integer number", float: "number integer", str: "string", type(None): "null"}
KINDS |= {dict: "object", list: "array"}
LIMIT = 128  # bytes of a value in a call; longer ones hide nothing

# -- values ------------------------------------------------------------------------------------------------------------


def decode_value(options: bytes, payload: bytes) -> Case:
    text = payload if options[1] & 1 else rows.spelled(rows.built_in("glm").read(payload))
    types = [name for name, bit in TYPES.items() if options[0] & bit]
    untyped = ("string", "json")[options[1] >> 1 & 1]
    return {"text": text.decode("utf-8", "surrogateescape"), "types": types, "untyped": untyped}


def check_value(text: str, types: list[str], untyped: str) -> None:
    written = transcode(text, types, untyped=untyped)
    value = tag_oracles.loads(written)
    fitting = fits(text, types)
    if types and fitting:
        assert (value is None and "string" not in types) or set(KINDS[type(value)].split()) & set(types), written
    elif types or untyped == "string":
        assert isinstance(value, str)
    if isinstance(value, str) and '"' not in text[:1]:
        assert value == "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    if text.isprintable() or text.isascii():
        check_prefixes(text, types)
        check_in_call(text, types)


def check_prefixes(text: str, types: list[str]) -> None:
    """What has stopped to be the beginning of a literal never becomes one."""
    verdicts = [may_be_literal(text[:size], types) for size in range(min(len(text), 70) + 1)]
    assert verdicts == sorted(verdicts, reverse=True)


def check_in_call(text: str, types: list[str]) -> None:
    """A value in a call becomes the same, fed whole and in bytes."""
    if "<" in text or len(text) > LIMIT or not text.isascii():
        return
    parameters = {"properties": {"k": {"type": types} if types else {}}}
    stream = f"<tool_call>f<arg_key>k</arg_key><arg_value>{text}</arg_value></tool_call>"
    expected = f'{{"k": {transcode(text, types, untyped="json")}}}'
    for pieces in ([stream], stream):
        parser = hs.Parser("glm", tools=[{"name": "f", "parameters": parameters}])
        events = [event for piece in pieces for event in parser.feed_text(piece)]
        said = "".join(event.arguments for event in events if isinstance(event, hs.ToolCallDelta))
        assert said == expected


# -- schemas -----------------------------------------------------------------------------------------------------------

KEYS = (
    *("type", "properties", "anyOf", "oneOf", "allOf", "$ref", "enum", "const", "nullable", "items", "$defs"),
    *("parameters", "input_schema", "function", "name", "k", "s", "", "a" * 300, "é", "\ud800", 7, None, ("k",)),
)
LEAVES = (
    *("string", "integer", "number", "boolean", "null", "object", "array", "#", "#/$defs/k", "#/properties/k"),
    *("#/a~1b", "#/0/1", "#/anyOf/0", "#/anyOf/-1", "#/anyOf/²", "file", "f", "", None, True, False, 5, 1.5, -0.0),
    *(b"string", (), (1, "string")),
)
MOST_NODES = 200


def decode_schema(options: bytes, payload: bytes) -> Case:
    """A tool, or a list of tools, grown from the payload."""
    reader = iter(payload)
    tools = [grown(reader, [MOST_NODES], 0) for _ in range(1 + options[0] % 3)]
    if options[1] & 1:
        schemas = [{"properties": {"k": tool, "s": tool}, "$defs": {"k": tool}} for tool in tools]
        tools = [{"name": "f", "parameters": schema} for schema in schemas]
    return {"tools": tools, "value": rows.COMMON[options[2] % 40].decode(), "cyclic": bool(options[3] & 1)}


def grown(reader: Any, left: list[int], depth: int) -> Any:
    """A node: a leaf, a list or a dict of nodes."""
    code = next(reader, 0)
    left[0] -= 1
    if code < 110 or left[0] < 0 or depth > 40:
        return LEAVES[code % len(LEAVES)]
    size = code % 4
    if code < 150:
        return [grown(reader, left, depth + 1) for _ in range(size)]
    return {KEYS[next(reader, 0) % len(KEYS)]: grown(reader, left, depth + 1) for _ in range(size + 1)}


def tie(node: Any, root: Any) -> None:
    """Python's own cycles: the first list of the tools is in itself."""
    while isinstance(node, dict) and node:
        child = next(iter(node.values()))
        if isinstance(child, list):
            child.append(root)
            return
        node = child


def check_schema(tools: list[Any], value: str, cyclic: bool) -> None:
    if cyclic:
        tie(tools[0], tools[0])
    try:
        parser = hs.Parser("glm", tools=tools)
    except (TypeError, ValueError) as error:
        assert "tool" in str(error), error
        return
    state = parser.to_bytes()
    assert hs.Parser.from_bytes(state, tools=tools).to_bytes() == state
    parser.feed_text("<tool_call>f")
    events = [*parser.feed_text(f"<arg_key>k</arg_key><arg_value>{value}</arg_value></tool_call>"), *parser.finish()]
    said = "".join(event.arguments for event in events if isinstance(event, hs.ToolCallDelta))
    assert isinstance(json.loads(said or "{}"), dict)
