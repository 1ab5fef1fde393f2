"""One tool: what its fields may be."""

from __future__ import annotations

import dataclasses

import pytest

import harmonystream as hs


@pytest.mark.parametrize("name", ["", "a\nb", "a\x00", "n" * 257, "\ud800", "<\x1b[0m"])
def test_a_name_is_printable_and_not_too_long(name):
    with pytest.raises(ValueError, match="a tool's name must be 1 to 256 printable characters"):
        hs.Tool(name)


@pytest.mark.parametrize("name", ["get_weather", "天气", "a.b/c-d", "two_words", "n" * 256])
def test_names_of_any_script_are_names(name):
    assert hs.Tool(name).name == name


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", 3), ("description", None), ("parameters", []), ("function", 3), ("when", True), ("approve", True)],
)
def test_a_field_of_another_type_is_refused(field, value):
    with pytest.raises(TypeError, match=field):
        hs.Tool(**{"name": "f", field: value})


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_is_positive(timeout):
    with pytest.raises(ValueError, match="timeout"):
        hs.Tool("f", timeout=timeout)


def test_a_function_gives_the_parameters():
    tool = hs.Tool("other", "Said here.", function=lambda a, b=2: (a, b))
    assert (tool.name, tool.description) == ("other", "Said here.")
    assert (tool.parameters["required"], list(tool.parameters["properties"])) == (["a"], ["a", "b"])


def test_a_tool_can_be_changed_by_replacing_it():
    tool = hs.Tool("f", function=lambda a: a)
    changed = dataclasses.replace(tool, name="g", timeout=3.0)
    assert (changed.name, changed.timeout, changed.parameters) == ("g", 3.0, tool.parameters)
    with pytest.raises(dataclasses.FrozenInstanceError):
        tool.name = "g"


def test_a_tool_may_have_a_message_for_the_user():
    assert hs.Tool("f").message_for({}) is None
    assert hs.Tool("f", message="Looking it up").message_for({}) == "Looking it up"
    assert (
        hs.Tool("f", message=lambda arguments: f"Looking up {arguments['q']}").message_for({"q": "tea"})
        == "Looking up tea"
    )


@pytest.mark.parametrize("kind", ["object", "OBJECT", "dict", ["object", "null"]])
def test_the_schema_of_an_object_in_other_spellings(kind):
    """As Gemini's API and Python name it; the parser reads these names, too."""
    assert hs.tools.Tool("f", parameters={"type": kind, "properties": {}}).parameters["type"] == kind


@pytest.mark.parametrize("kind", ["string", "array", "ARRAY", "thing"])
def test_a_schema_of_something_else_is_refused(kind):
    with pytest.raises(ValueError, match="whose type is 'object', not"):
        hs.tools.Tool("f", parameters={"type": kind})
