"""Types of parameters, from schemas of every kind."""

from __future__ import annotations

from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream._schema import MAX_STEPS, TYPES, declared_types


def read(schema):
    """The parameters' types by name, as the Messages API describes a tool; None: untyped."""
    found = declared_types({"name": "f", "input_schema": schema}).parameters
    return {name: [kind for kind in TYPES if mask & TYPES[kind]] or None for name, mask in found.items()}


def types_of(schema, **more):
    return read({"type": "object", "properties": {"p": schema}, **more})["p"]


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        *(({"type": name}, [name]) for name in TYPES),
        ({"type": ["null", "integer"]}, ["integer", "null"]),
        ({"type": ("string", "number")}, ["string", "number"]),
        ({"enum": ["a", "b"]}, ["string"]),
        ({"enum": ["a", 1, 1.0, True, None, {}, []]}, list(TYPES)),
        ({"enum": [1, True]}, ["integer", "boolean"]),
        ({"const": False}, ["boolean"]),
        ({"const": None}, ["null"]),
        ({"type": "string", "enum": ["a", None]}, ["string", "null"]),
        ({"type": "number", "nullable": True}, ["number", "null"]),
        ({"type": "number", "nullable": False}, ["number"]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ["string", "null"]),
        (
            {"oneOf": [{"type": "array"}, {"anyOf": [{"type": "integer"}, {"const": "x"}]}]},
            ["string", "integer", "array"],
        ),
        ({"anyOf": [{"type": "string"}], "oneOf": [{"type": "null"}]}, ["string", "null"]),
        ({"anyOf": [{"type": "string", "nullable": True}]}, ["string", "null"]),
        ({"anyOf": [{"type": "string"}], "nullable": True}, ["string", "null"]),
        ({"allOf": [{"type": "object"}, {"required": ["a"]}]}, ["object"]),
        ({"allOf": [{"$ref": "#/nowhere"}, {"type": "array"}]}, ["array"]),
        ({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, ["object"]),
        ({"anyOf": [{"type": "string"}, {}]}, None),
        ({"anyOf": [{"type": "string"}, True]}, None),
        ({"anyOf": [{"type": "string"}, {"$ref": "#/nowhere"}]}, None),
        ({"anyOf": [{"type": "string"}, {"type": "anything"}]}, None),
        ({"anyOf": [{"type": "string"}, {"allOf": [{"required": []}]}]}, ["string"]),
        ({"allOf": [{"required": []}]}, None),
        ({"type": ["string", "any"]}, None),
        ({"type": "any", "enum": [1]}, None),
        ({"type": []}, None),
        ({"nullable": True}, None),
        ({"enum": []}, None),
        ({"enum": [1, object()]}, None),
        ({}, None),
        (True, None),
        (False, None),
        (None, None),
        ("string", None),
        (["string"], None),
        ({"type": None}, None),
        ({"type": {"a": 1}}, None),
        ({"type": [["string"]]}, None),
        ({"anyOf": {"type": "string"}}, None),
        ({"anyOf": []}, None),
        ({"anyOf": "string"}, None),
        ({"anyOf": [1]}, None),
        ({"$ref": 3}, None),
        (MappingProxyType({"type": "string"}), ["string"]),
    ],
)
def test_types_of_a_parameter(schema, types):
    assert types_of(schema) == types


DEFS = {
    "Name": {"type": "string"},
    "a/b": {"type": "integer"},
    "m~n": {"type": "boolean"},
    "~1": {"type": "array"},
    "": {"type": "null"},
    "Maybe": {"anyOf": [{"$ref": "#/$defs/Name"}, {"type": "null"}]},
    "Self": {"$ref": "#/$defs/Self"},
    "Tree": {"anyOf": [{"$ref": "#/$defs/Forest"}, {"type": "string"}]},
    "Forest": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "array"}]},
}


@pytest.mark.parametrize(
    ("pointer", "types"),
    [
        ("#/$defs/Name", ["string"]),
        ("#/$defs/a~1b", ["integer"]),
        ("#/$defs/m~0n", ["boolean"]),
        ("#/$defs/~01", ["array"]),
        ("#/$defs/", ["null"]),
        ("#/definitions/Old", ["number"]),
        ("#/$defs/Maybe", ["string", "null"]),
        ("#/$defs/Maybe/anyOf/1", ["null"]),
        ("#/properties/q", ["boolean"]),
        ("#", ["object"]),
        ("#/$defs/Tree", ["string", "array"]),
        ("#/$defs/Forest", ["string", "array"]),
        ("#/$defs/Self", None),
        ("#/properties/p", None),
        ("#/$defs/Maybe/anyOf/2", None),
        ("#/$defs/Maybe/anyOf/-1", None),
        ("#/$defs/Maybe/anyOf/x", None),
        ("#/$defs/Name/type", None),
        ("#/$defs/Name/type/x", None),
        ("#Name", None),
        ("Name", None),
        ("", None),
        ("https://example.org/x#/$defs/Name", None),
        ("#" + "/$defs" * 300, None),
    ],
)
def test_references(pointer, types):
    properties = {"p": {"$ref": pointer}, "q": {"type": "boolean"}}
    schema = {"type": "object", "properties": properties, "$defs": DEFS, "definitions": {"Old": {"type": "number"}}}
    assert read(schema) == {"p": types, "q": ["boolean"]}


@pytest.mark.parametrize(
    ("spoken", "kind"),
    [
        *((word, "string") for word in ("str", "text", "STRING", "varchar(20)", "char")),
        *((word, "integer") for word in ("int", "INTEGER", "int32", "uint8", "long", "bigint")),
        *((word, "number") for word in ("float", "float64", "double", "num", "NUMBER", "decimal(10, 2)")),
        *((word, "boolean") for word in ("bool", "Bool", "BOOLEAN")),
        *((word, "null") for word in ("none", "None", "NoneType", "NULL")),
        *((word, "object") for word in ("dict", "dict[str, int]", "map<string, int>", "OBJECT")),
        *((word, "array") for word in ("list", "list[int]", "List<string>", "string[]", "tuple", "ARRAY")),
    ],
)
def test_words_of_other_languages(spoken, kind):
    assert types_of({"type": spoken}) == types_of({"anyOf": [{"type": [spoken]}]}) == [kind]
    assert hs.parse(
        "<tool_call>f<arg_key>p</arg_key><arg_value>3.14</arg_value></tool_call>",
        "glm",
        tools=[{"name": "f", "parameters": {"properties": {"p": {"type": spoken}}}}],
    ).tool_calls[0].arguments == ('{"p": 3.14}' if kind == "number" else '{"p": "3.14"}')


@pytest.mark.parametrize(
    "unknown", ["any", "", "stringy", "int_", "string[int]", "[]", "number<", "list!", "x" * 10_000]
)
def test_words_of_no_language(unknown):
    assert types_of({"type": unknown}) == (["array"] if unknown == "[]" else None)


@pytest.mark.parametrize(
    ("pointer", "types"),
    [
        ("#name", ["string"]),
        ("#deep", ["integer"]),
        ("#twice", ["boolean"]),
        ("#nowhere", None),
        ("#/$defs/a%20b", ["null"]),
        ("#/$defs/100%25", ["array"]),
        ("#/%24defs/Name", ["string"]),
        ("#/$defs/m%7E0n", ["object"]),
        ("#n%61me", ["string"]),
        ("#/$defs/%", None),
        ("#%ff", None),
    ],
)
def test_anchors_and_percent_encoded_references(pointer, types):
    defs = {
        "Name": {"type": "string", "$anchor": "name"},
        "List": {"items": [{"$anchor": "deep", "type": "integer"}]},
        "a b": {"type": "null"},
        "100%": {"type": "array"},
        "m~n": {"type": "object"},
        "first": {"$anchor": "twice", "type": "boolean"},
        "second": {"$anchor": "twice", "type": "number"},
    }
    assert types_of({"$ref": pointer}, **{"$defs": defs}) == types


def test_the_search_for_an_anchor_is_bounded():
    far = {"a": [{} for _ in range(MAX_STEPS)], "z": {"$anchor": "far", "type": "string"}}
    assert read({"properties": {"p": {"$ref": "#far"}}, "$defs": far}) == {"p": None}
    level = {"type": "string", "$anchor": "deep"}
    for _ in range(1000):
        level = {"anyOf": [level, level]}
    assert types_of({"$ref": "#deep"}, **{"$defs": {"level": level}}) == ["string"]


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        ({"additionalProperties": {"type": "integer"}}, ["integer"]),
        ({"additionalProperties": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "number"}}}, ["number"]),
        ({"allOf": [{"additionalProperties": {"type": "object"}}]}, ["object"]),
        ({"additionalProperties": True}, None),
        ({"additionalProperties": False}, None),
        ({"additionalProperties": {}}, None),
        ({}, None),
    ],
)
def test_types_of_undeclared_keys(schema, types):
    schema = {"properties": {"p": {"type": "string"}}, **schema}
    mask = declared_types({"name": "f", "parameters": schema}).others
    assert mask == sum(TYPES[name] for name in types or ())
    value = {None: '"7"', "object": '"7"'}.get(types and types[0], "7")
    pairs = "".join(f"<parameter={key}>\n7\n</parameter>" for key in ("p", "other"))
    output = f"<tool_call><function=f>{pairs}</function></tool_call>"
    call = hs.parse(output, "qwen3_coder", tools=[{"name": "f", "parameters": schema}]).tool_calls[0]
    assert call.arguments == f'{{"p": "7", "other": {value}}}'


def test_properties_may_come_by_reference():
    schema = {
        "$ref": "#/$defs/Arguments",
        "allOf": [{"properties": {"b": {"type": "null"}, "c": {}}}, {"properties": {"c": {"type": "string"}}}],
        "$defs": {"Arguments": {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}},
    }
    assert read(schema) == {"a": ["integer"], "b": ["string", "null"], "c": None}


STRING = {"type": "object", "properties": {"p": {"type": "string"}}}


@pytest.mark.parametrize(
    ("tool", "types"),
    [
        ({"type": "function", "function": {"name": "f", "parameters": STRING}}, {"p": 1}),
        ({"type": "function", "name": "f", "parameters": STRING}, {"p": 1}),
        ({"name": "f", "input_schema": STRING}, {"p": 1}),
        ({"name": "f", "parameters": None, "input_schema": STRING}, {"p": 1}),
        ({"name": "f", "function": 3, "parameters": STRING}, {"p": 1}),
        ({"function": {"name": "f"}, "parameters": STRING}, {}),
        ({"name": "f", "parameters": {"properties": {1: {"type": "string"}, "p": 1}}}, {"p": 0}),
        ({"name": "f", "parameters": {"properties": [STRING]}}, {}),
        ({"name": "f", "parameters": {"properties": {}}}, {}),
        ({"name": "f", "parameters": "none"}, {}),
        ({"name": "f"}, {}),
        ("f", {}),
        (None, {}),
    ],
)
def test_where_the_schema_is(tool, types):
    assert declared_types(tool) == (types, 0)


# --- sizes --------------------------------------------------------------------------------------------------------


def test_depth_costs_no_stack():
    deep = {"type": "string"}
    for _ in range(2000):
        deep = {"anyOf": [deep, {"type": "null"}]}
    assert types_of(deep) == ["string", "null"]


def test_what_is_met_again_is_not_read_again():
    level = {"type": "string"}
    for _ in range(1000):
        level = {"anyOf": [level, level], "oneOf": [level, level]}  # 4 ** 1000 ways down
    assert types_of(level) == ["string"]
    defs = {str(i): {"anyOf": [{"$ref": f"#/$defs/{i + 1}"}, {"$ref": f"#/$defs/{i + 1}"}]} for i in range(1000)}
    assert types_of({"$ref": "#/$defs/0"}, **{"$defs": defs | {"1000": {"type": "null"}}}) == ["null"]


def test_a_cycle_in_the_objects_themselves():
    union = {"anyOf": [{"type": "string"}]}
    union["anyOf"].append(union)
    schema = {"properties": {"p": union}}
    schema["allOf"] = [schema]
    assert read(schema) == {"p": ["string"]}


@pytest.mark.parametrize(
    "costly",
    [
        {"anyOf": [{"const": i} for i in range(MAX_STEPS)]},
        {"enum": list(range(MAX_STEPS + 1))},
        {"type": ["string"] * (MAX_STEPS + 1)},
    ],
)
def test_what_takes_too_long_is_untyped(costly):
    references = {f"p{i}": {"$ref": "#/$defs/costly"} for i in range(1000)}
    schema = {"properties": {"a": {"type": ["string"]}, **references}, "$defs": {"costly": costly}}
    assert read(schema) == {"a": ["string"], **dict.fromkeys(references)}


def test_more_properties_than_anyone_has_are_untyped():
    assert read({"properties": {f"p{i}": {"type": "string"} for i in range(MAX_STEPS + 1)}}) == {}


KEYS = ["type", "enum", "const", "nullable", "anyOf", "oneOf", "allOf", "$ref", "properties", "$defs", "p"]
KEYS += ["additionalProperties", "$anchor"]
WORDS = st.sampled_from(
    [*TYPES, "#", "#/properties/p", "#/$defs/p", "#/anyOf/0", "f", "#f", "#/%70roperties/p", "int32"]
)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.binary(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.integers(), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(ODD)
def test_odd_schemas_never_raise(schema):
    for tool in (schema, {"function": schema}, {"parameters": schema}, {"input_schema": {"properties": {"p": schema}}}):
        types, others = declared_types(tool)
        assert all(type(name) is str and 0 <= mask < 128 for name, mask in types.items())
        assert 0 <= others < 128
