"""Generated schemas in their plainest form mean what they meant."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Optional, Union

import jsonschema_rs
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, create_model

from harmonystream.tools.schema import simplified


class Leaf(BaseModel):
    n: int
    title: str = "Leaf"


class Pair(BaseModel):
    left: Leaf
    right: Leaf | None = None


class Tree(BaseModel):
    value: Pair
    children: list[Tree] = []


types = st.recursive(
    st.sampled_from(
        [int, str, bool, float, None, Leaf, Pair, Tree, Literal["a", 1], Annotated[int, Field(title="T", ge=0)]]
    ),
    lambda inner: (
        inner.map(lambda one: list[one])
        | inner.map(lambda one: dict[str, one])
        | inner.map(lambda one: Optional[one])  # noqa: UP045
        | st.tuples(inner, inner).map(lambda two: Union[two])  # noqa: UP007
    ),
    max_leaves=4,
)
leaves = st.fixed_dictionaries({"n": st.integers() | st.text(max_size=1)}, optional={"title": st.text(max_size=2)})
pairs = st.fixed_dictionaries({"left": leaves}, optional={"right": st.none() | leaves})
scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-1, 1) | st.sampled_from(["", "a", "b"])
trees = st.recursive(
    st.fixed_dictionaries({"value": pairs}),
    lambda inner: st.fixed_dictionaries({"value": pairs}, optional={"children": st.lists(inner, max_size=2)}),
    max_leaves=3,
)
values = st.recursive(
    scalars | leaves | pairs | trees,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=3,
)


@settings(max_examples=150)
@given(st.lists(types, min_size=1, max_size=3), st.lists(values, min_size=3, max_size=3))
def test_the_same_values_fit(annotations, candidates):
    fields: dict[str, Any] = {f"f{n}": (annotation, ...) for n, annotation in enumerate(annotations)}
    schema = TypeAdapter(create_model("Made", **fields)).json_schema()
    plain = simplified(schema)
    before, after = jsonschema_rs.validator_for(schema), jsonschema_rs.validator_for(plain)
    value = dict(zip(fields, candidates))
    assert after.is_valid(value) == before.is_valid(value)
    for name, candidate in zip(fields, candidates):  # each field by itself, since all together seldom fit
        one = {**schema, "required": [name]}, {**plain, "required": [name]}
        fits = [jsonschema_rs.is_valid(either, {name: candidate}) for either in one]
        assert fits[0] == fits[1]
    assert set(plain.get("$defs", {})) <= {"Tree"}


def test_only_what_names_a_definition_is_dropped():
    schema = TypeAdapter(Pair).json_schema()
    assert simplified(schema)["properties"]["left"] == {
        "type": "object",
        "properties": {
            "n": {"title": "N", "type": "integer"},
            "title": {"title": "Title", "type": "string", "default": "Leaf"},
        },
        "required": ["n"],
    }


def test_data_is_left_alone():
    reference = {"$ref": "#/$defs/A"}
    schema = {
        "$defs": {"A": {"type": "integer"}},
        "properties": {
            "$ref": {"type": "string"},
            "a": {"default": reference, "enum": [reference], "const": reference},
        },
    }
    assert simplified(schema) == {"properties": schema["properties"]}


def test_unions_of_more_than_a_type_are_kept():
    union = {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 3}]}
    assert simplified(union) == union
    assert simplified({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}) == {
        "type": ["integer", "null"],
        "default": None,
    }
