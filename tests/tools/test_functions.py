"""Functions and classes as tools: their schemas, and the check of arguments."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field
from tool_calls import call, error_text, run
from typing_extensions import TypedDict

import harmonystream as hs


class Unit(Enum):
    C = "celsius"
    F = "fahrenheit"


class Place(BaseModel):
    city: str
    country: str | None = None


class Node(BaseModel):
    name: str
    children: list[Node] = []


def forecast(place: Place, unit: Unit = Unit.C, *, days: Annotated[int, Field(ge=1)] = 3, hourly: bool | None = None):
    """The forecast of a place.

    Says nothing about the past.

    Args:
        place: where
        days: how many days,
            from today
    """
    return {"city": place.city, "unit": unit, "days": days, "hourly": hourly}


def schema(item: object) -> dict:
    (tool,) = hs.Tools(item)
    return dict(tool.parameters)


def test_signature_and_docstring_give_the_schema():
    (tool,) = hs.Tools(forecast)
    assert tool.name == "forecast"
    assert tool.description == "The forecast of a place.\n\nSays nothing about the past."
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "place": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "country": {"type": ["string", "null"], "default": None}},
                "required": ["city"],
                "description": "where",
            },
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
            "days": {"type": "integer", "minimum": 1, "default": 3, "description": "how many days,\nfrom today"},
            "hourly": {"type": ["boolean", "null"], "default": None},
        },
        "required": ["place"],
        "additionalProperties": False,
    }


def test_arguments_arrive_as_the_types_of_the_signature():
    (result,) = run(
        hs.Tools(forecast), call("forecast", '{"place": {"city": "Bergen"}, "unit": "fahrenheit", "days": "5"}')
    )
    assert result.text == '{"city": "Bergen", "unit": "fahrenheit", "days": 5, "hourly": null}'


def test_every_misfit_is_named():
    (result,) = run(hs.Tools(forecast), call("forecast", '{"place": {}, "days": 0, "hourly": "perhaps", "x": 1}'))
    assert result.error == "invalid_arguments"
    for part in ("place.city: Field required", "days: Input should be", "hourly: Input should be", "x: Unexpected"):
        assert part in error_text(result)


def test_many_misfits_are_counted():
    def f(**numbers: int) -> None: ...

    (result,) = run(hs.Tools(f), call("f", {str(n): "x" for n in range(1000)}))
    assert error_text(result).endswith("; and 990 more")


@pytest.mark.parametrize(
    "docstring",
    [
        "Doubles.\n\nArgs:\n    n: the number",
        "Doubles.\n\nParameters\n----------\nn : int\n    the number",
        "Doubles.\n\n:param n: the number",
    ],
)
def test_docstrings_of_three_styles_are_read(docstring):
    def double(n: int) -> int:
        return 2 * n

    double.__doc__ = docstring
    (tool,) = hs.Tools(double)
    assert (tool.description, tool.parameters["properties"]["n"]["description"]) == ("Doubles.", "the number")


def test_a_description_in_the_annotation_wins():
    def double(n: Annotated[int, Field(description="said here")]) -> int:
        """Doubles.

        Args:
            n: said there
        """
        return 2 * n

    assert schema(double)["properties"]["n"]["description"] == "said here"


class Thing:
    def method(self, a: int) -> int:
        """A method."""
        return a

    def __call__(self, b: str) -> str:
        """Called."""
        return b


def wrapped(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) + 1

    return wrapper


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@pytest.mark.parametrize(
    ("function", "name", "description", "parameters", "arguments", "text"),
    [
        (Thing().method, "method", "A method.", ["a"], {"a": 1}, "1"),
        (Thing(), "Thing", "Called.", ["b"], {"b": "x"}, "x"),
        (functools.partial(add, 1), "add", "Adds.", ["b"], {"b": 2}, "3"),
        (wrapped(add), "add", "Adds.", ["a", "b"], {"a": 1, "b": 2}, "4"),
    ],
)
def test_callables_of_every_kind(function, name, description, parameters, arguments, text):
    tools = hs.Tools(function)
    (tool,) = tools
    assert (tool.name, tool.description, list(tool.parameters["properties"])) == (name, description, parameters)
    assert run(tools, call(name, arguments))[0].text == text


@pytest.mark.parametrize("name", ["<lambda>", "a b", "a<b", "a|b", "", "a\n", "a\u00a0b", "x" * 257])
def test_a_name_that_would_end_itself_is_refused(name):
    with pytest.raises(ValueError, match="a tool's name must be"):
        hs.Tool(name)


def test_a_lambda_needs_a_name():
    with pytest.raises(ValueError, match="pass name="):
        hs.Tools(lambda: 7)
    tools = hs.Tools()
    tools.add(lambda: 7, name="seven")
    assert run(tools, call("seven", {}))[0].text == "7"


def test_a_recursive_class_is_a_tool():
    tools = hs.Tools()
    tools.add(Node, function=lambda node: [child.name for child in node.children])
    parameters = tools["Node"].parameters
    assert (parameters["type"], parameters["properties"]["children"]["items"]) == ("object", {"$ref": "#/$defs/Node"})
    written = {"name": "a", "children": [{"name": "b", "children": '[{"name": "c"}]'}]}
    assert run(tools, call("Node", written))[0].text == '["b"]'


def test_a_text_in_the_annotation_is_the_description():
    def f(city: Annotated[str, "the city"], day: Annotated[int, "the day", Field(description="a number")] = 1) -> str:
        """Looks.

        Args:
            city: said there
        """
        return city

    properties = schema(f)["properties"]
    assert (properties["city"]["description"], properties["day"]["description"]) == ("the city", "a number")


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (list[int], "[1, 2]", [1, 2]),
        (list[int], '["1", 2]', [1, 2]),
        (dict[str, list[int]], '{"a": "[1]"}', {"a": [1]}),
        (Place, '{"city": "Bergen"}', Place(city="Bergen")),
        (list[int] | None, "None", None),
        (int | list[int], "[1]", [1]),
        (list[Place], '[{"city": "Bergen"}]', [Place(city="Bergen")]),
        (str, "[1]", "[1]"),
        (str | list[int], "[1]", "[1]"),
    ],
)
def test_json_as_text_is_read_as_the_annotation_says(annotation, text, value):
    """As for a JSON Schema: one repair serves both."""

    def f(a: annotation) -> object:
        return seen.append(a)

    f.__annotations__["a"] = annotation
    seen: list[object] = []
    (result,) = run(hs.Tools(f), call("f", {"a": text}))
    assert (result.error, seen) == (None, [value])


def test_what_cannot_be_repaired_is_named_as_it_was():
    def f(a: list[int], b: Place) -> None: ...

    (result,) = run(hs.Tools(f), call("f", {"a": "five", "b": "{}"}))
    assert "a: Input should be a valid" in error_text(result)
    assert "b.city: Field required" in error_text(result)


def test_what_json_schema_cannot_say_is_left_out():
    class Cat(BaseModel):
        kind: Literal["cat"]

    class Dog(BaseModel):
        kind: Literal["dog"]

    def f(pet: Annotated[Cat | Dog, Field(discriminator="kind")], most: float = math.inf) -> str:
        return f"{type(pet).__name__} {most}"

    f.__annotations__["pet"] = Annotated[Cat | Dog, Field(discriminator="kind")]
    parameters = schema(f)
    assert "Infinity" not in json.dumps(parameters) and "$defs" not in json.dumps(parameters)
    assert run(hs.Tools(f), call("f", {"pet": {"kind": "dog"}}))[0].text == "Dog inf"


def test_a_partials_keyword_may_be_changed_by_the_model():
    (result,) = run(hs.Tools(functools.partial(add, b=2)), call("add", {"a": 1, "b": 5}))
    assert result.text == "6"


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (max, "its signature cannot be read"),
    ],
)
def test_a_function_that_no_object_can_call_is_refused(function, reason):
    with pytest.raises(TypeError, match=reason):
        hs.Tools().add(function, name="f")


def placed(a: int, b: int = 2, /, c: int = 3, *rest: int, d: int = 4, **more: int):
    return [a, b, c, [*rest], d, more]


@pytest.mark.parametrize(
    ("arguments", "gave"),
    [
        ({"a": 1}, [1, 2, 3, [], 4, {}]),
        ({"a": 1, "rest": [7, "8"]}, [1, 2, 3, [7, 8], 4, {}]),
        ({"a": 1, "b": 5, "c": 6, "rest": [], "d": 9, "e": 10}, [1, 5, 6, [], 9, {"e": 10}]),
    ],
)
def test_parameters_without_names_are_given_by_name_and_the_rest_as_a_list(arguments, gave):
    assert schema(placed)["properties"]["rest"] == {"type": "array", "items": {"type": "integer"}, "default": []}
    (result,) = run(hs.Tools(placed), call("placed", arguments))
    assert json.loads(result.text) == gave


def test_a_parameter_may_have_any_name():
    def named(self: int, function: str, args: int, kwargs: int, value: int, cls: int):
        return [self, function, args, kwargs, value, cls]

    given = {"self": 1, "function": "f", "args": 2, "kwargs": 3, "value": 4, "cls": 5}
    for tool in (named, hs.Tool("named", "", {"type": "object"}, named)):
        (result,) = run(hs.Tools(tool), call("named", given))
        assert json.loads(result.text) == [1, "f", 2, 3, 4, 5]


def test_what_a_generator_gives_is_its_text_or_a_list():
    def words(count: int):
        for n in range(count):
            yield f"w{n} "

    def numbers(count: int):
        yield from range(count)

    async def later(count: int):
        for n in range(count):
            yield n

    def broken(count: int):
        yield count
        raise RuntimeError("gone")

    def endless():
        while True:
            yield "x"

    tools = hs.Tools(words, numbers, later, broken, endless, max_result=100)
    asked = [call(name, {"count": 2}) for name in ("words", "numbers", "later", "broken")]
    texts = [result.text for result in run(tools, *asked, call("endless", {}))]
    assert texts[:3] == ["w0 w1 ", "[0, 1]", "[0, 1]"]
    assert "RuntimeError: gone" in texts[3] and texts[4] == "x" * 100


def test_annotations_that_pydantic_does_not_know_are_refused():
    def odd(a: Thing) -> None: ...

    def unknown(a: Nowhere) -> None: ...  # noqa: F821

    for function in (odd, unknown):
        with pytest.raises(TypeError, match=f"{function.__name__}.. cannot be a tool"):
            hs.Tools(function)


def test_dates_literals_and_recursive_models():
    def book(day: date, seat: Literal["window", "aisle"], tree: Node) -> dict:
        assert isinstance(tree.children[0], Node)
        return {"day": day, "seat": seat}

    parameters = schema(book)
    assert parameters["properties"]["day"] == {"type": "string", "format": "date"}
    assert parameters["properties"]["tree"] == {"$ref": "#/$defs/Node"}
    assert list(parameters["$defs"]) == ["Node"]
    arguments = {"day": "2026-11-22", "seat": "aisle", "tree": {"name": "a", "children": [{"name": "b"}]}}
    assert run(hs.Tools(book), call("book", arguments))[0].text == '{"day": "2026-11-22", "seat": "aisle"}'


class Search(BaseModel):
    """Searches the web."""

    query: str = Field(description="what for")
    limit: int = 5


@dataclass
class Pair:
    a: int
    b: int = 2


class Options(TypedDict):
    a: int


def test_classes_declare_tools():
    tools = hs.Tools(Search, Pair, Options)
    assert [tool.name for tool in tools] == ["Search", "Pair", "Options"]
    assert tools["Search"].description == "Searches the web."
    assert tools["Search"].parameters == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "what for"},
            "limit": {"type": "integer", "default": 5},
        },
        "required": ["query"],
    }
    assert list(tools["Pair"].parameters["properties"]) == ["a", "b"]
    assert error_text(run(tools, call("Search", {"query": "x"}))[0]) == "the tool 'Search' cannot be run here"


def test_a_classs_function_is_given_an_object():
    tools = hs.Tools()
    tools.add(Search, function=lambda search: search.query * search.limit)
    assert run(tools, call("Search", '{"query": "ab", "limit": "2"}'))[0].text == "abab"


def test_a_class_that_is_no_object_in_json_is_refused():
    with pytest.raises(TypeError, match="int cannot be a tool"):
        hs.Tools(int)
    with pytest.raises(TypeError, match="Thing cannot be a tool"):
        hs.Tools(Thing)
