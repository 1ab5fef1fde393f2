"""Types of parameters, from schemas of every kind."""

from __future__ import annotations

import pytest

from harmonystream._schema import TYPES, parameter_types


def mask(*names):
    return sum(TYPES[name] for name in names)


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        ({"type": "string"}, ["string"]),
        ({"type": ["integer", "null"]}, ["integer", "null"]),
        ({"enum": ["a", 1, 1.5, True, None, {}, []]}, list(TYPES)),
        ({"const": False}, ["boolean"]),
        ({"type": "number", "nullable": True}, ["number", "null"]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ["string", "null"]),
        ({}, []),
        (True, []),
    ],
)
def test_types_of_a_parameter(schema, types):
    assert parameter_types({"name": "f", "input_schema": {"properties": {"p": schema}}}) == {"p": mask(*types)}
