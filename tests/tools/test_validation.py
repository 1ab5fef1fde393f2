"""Arguments against JSON Schemas: what fits is unchanged, what can be mended fits afterwards."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonystream.tools.validation import SchemaBinder


def objects(properties):
    required = sorted(properties)[:1]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


names = st.sampled_from("abc")
scalars = st.sampled_from(
    [
        {"type": "integer"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "null"},
        {"type": "string"},
        {"enum": [1, "x"]},
    ]
)
schemas = st.recursive(
    scalars,
    lambda inner: (
        inner.map(lambda one: {"type": "array", "items": one})
        | inner.map(lambda one: {"anyOf": [one, {"type": "null"}]})
        | st.dictionaries(names, inner, max_size=3).map(objects)
    ),
    max_leaves=5,
)
roots = st.dictionaries(names, schemas, max_size=3).map(objects)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(-9, 9)
    | st.sampled_from(["", "x", "5", "1.5", "true", "[1]"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=100)
@given(roots, st.dictionaries(names, values, max_size=3))
def test_what_is_bound_fits_and_what_fits_is_bound_unchanged(schema, arguments):
    given_json = json.dumps(arguments)
    validator = jsonschema_rs.validator_for(schema)
    try:
        args, bound = SchemaBinder(schema)(arguments)
    except ValueError as error:
        assert str(error)
        assert not validator.is_valid(arguments)
    else:
        assert args == ()
        assert validator.is_valid(bound)
        if validator.is_valid(json.loads(given_json)):
            assert bound == arguments
    assert json.dumps(arguments) == given_json  # the caller's object is not touched


def fitting(schema: dict) -> st.SearchStrategy:
    """Values that fit a schema of those above."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of(*map(fitting, schema["anyOf"]))
    if schema["type"] == "array":
        return st.lists(fitting(schema["items"]), max_size=2)
    if schema["type"] == "object":
        parts = {name: fitting(part) for name, part in schema["properties"].items()}
        needed = {name: parts.pop(name) for name in schema["required"]}
        return st.fixed_dictionaries(needed, optional=parts)
    return {
        "integer": st.integers(-9, 9),
        "number": st.floats(-9, 9),
        "boolean": st.booleans(),
        "null": st.none(),
        "string": st.sampled_from(["", "x", "5", "true"]),
    }[schema["type"]]


@settings(max_examples=100)
@given(roots.flatmap(lambda schema: st.tuples(st.just(schema), fitting(schema))))
def test_values_written_as_strings_are_mended(schema_and_arguments):
    """Each value of arguments that fit, written as a string where no string may be, is understood."""
    schema, arguments = schema_and_arguments
    validator = jsonschema_rs.validator_for(schema)
    texts = {name: json.dumps(value) for name, value in arguments.items()}
    fits = {name: validator.is_valid({**arguments, name: text}) for name, text in texts.items()}
    quoted = {name: value if fits[name] else texts[name] for name, value in arguments.items()}
    assert SchemaBinder(schema)(quoted) == ((), arguments)


def bound(schema: dict, arguments: dict) -> dict:
    return SchemaBinder({"type": "object", "properties": schema})(arguments)[1]


@pytest.mark.parametrize(
    ("schema", "given_value", "expected"),
    [
        ({"type": "integer"}, "5", 5),
        ({"type": "boolean"}, "True", True),
        ({"type": ["integer", "null"]}, "None", None),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5", 5),
        ({"type": "array", "items": {"type": "number"}}, '["1.5", 2]', [1.5, 2]),
        ({"type": "object", "properties": {"n": {"type": "integer"}}}, '{"n": "5"}', {"n": 5}),
        ({"type": "string"}, "5", "5"),
    ],
)
def test_strings_are_read_as_the_type_that_is_wanted(schema, given_value, expected):
    assert bound({"a": schema}, {"a": given_value}) == {"a": expected}


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "integer"}, "five", 'a: "five" is not of type "integer"'),
        ({"type": "integer"}, "1.5", 'a: "1.5" is not of type "integer"'),
        ({"type": "integer"}, "NaN", 'a: "NaN" is not of type "integer"'),
        ({"type": "string", "minLength": 3}, "5", 'a: "5" is shorter than 3 characters'),
        ({"type": "object", "required": ["n"]}, "{}", 'a: "n" is a required property'),
    ],
)
def test_what_cannot_be_mended_is_named(schema, value, message):
    with pytest.raises(ValueError) as raised:
        bound({"a": schema}, {"a": value})
    assert message in str(raised.value)


def test_a_root_misfit_is_named():
    with pytest.raises(ValueError, match='arguments: "n" is a required property'):
        SchemaBinder({"type": "object", "required": ["n"]})({})


def test_of_many_misfits_the_first_are_named():
    with pytest.raises(ValueError, match=r"; and more$"):
        SchemaBinder({"additionalProperties": {"type": "integer"}})({str(n): "x" for n in range(1000)})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nothing"},
        {"type": "object", "properties": []},
        {"$ref": "http://example.invalid/schema.json"},
        {"$ref": "file:///etc/hostname"},
        {"$ref": "#/$defs/missing"},
        {"properties": {"a": {"pattern": "("}}},
    ],
)
def test_a_schema_that_is_none_or_refers_elsewhere_is_refused(schema):
    with pytest.raises(ValueError, match="not a usable JSON Schema"):
        SchemaBinder(schema)


def test_a_pattern_cannot_take_for_ever():
    with pytest.raises(ValueError):
        bound({"a": {"pattern": r"^(?=(a+)+$)(a|aa)+\1b$"}}, {"a": "a" * 5000 + "c"})


def test_deep_arguments_do_not_overflow():
    deep: dict = {}
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(ValueError, match=r"nested too deeply|Recursion limit"):
        SchemaBinder({"required": ["b"]})({"a": deep})


def test_keys_that_are_numbers_are_keys():
    binder = SchemaBinder({"additionalProperties": {"type": "integer"}})
    assert binder({"0": "1", "10": "2", "a": "3"}) == ((), {"0": 1, "10": 2, "a": 3})
    with pytest.raises(ValueError, match='1: "2" is not of type "integer"'):
        binder({"01": "2"})  # the validator names this key 1
