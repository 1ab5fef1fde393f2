"""The request's tools: which names are calls, and which types their parameters have."""

from __future__ import annotations

from types import MappingProxyType

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream._native.core.tools import Tools, compiled_tools, tool_name
from harmonystream._schema import TYPES

CALL = "<|channel|>commentary to={}<|message|>{{}}<|call|>"


def calls(recipient, tools):
    return [(call.name, call.kind) for call in hs.parse(CALL.format(recipient), tools=tools).tool_calls]


class ModelDump:
    def model_dump(self):
        return CHAT


CHAT = {"type": "function", "function": {"name": "f", "parameters": {}}}
RESPONSES = {"type": "function", "name": "f", "parameters": {}}
MESSAGES = {"name": "f", "input_schema": {}}


@pytest.mark.parametrize("tool", ["f", CHAT, RESPONSES, MESSAGES, MappingProxyType(CHAT)])
def test_tools_as_the_apis_have_them(tool):
    assert tool_name(tool) == "f"
    assert calls("f", [tool]) == calls("functions.f", [tool]) == [("f", "function")]


def test_tools_may_be_models_of_pydantic():
    """As the official clients and FastAPI's requests have them."""
    assert calls("f", [ModelDump()]) == [("f", "function")]


@pytest.mark.parametrize(
    ("recipient", "tools", "expected"),
    [
        ("functions.g", ["f"], [("g", "function")]),
        ("g", ["f"], [("g", "other")]),
        ("g", None, [("g", "function")]),
        ("g", [], []),
        ("functions.g", [], []),
        ("python", ["python"], [("python", "function")]),
        ("python", None, [("python", "builtin")]),
        ("browser.search", ["f"], [("browser.search", "builtin")]),
        ("assistant", ["f"], []),
        ("functions.a.b-c", None, [("a.b-c", "function")]),
        ("functions.fjson", ["f"], [("f", "function")]),
        ("functions.fjson", ["f", "fjson"], [("fjson", "function")]),
        ("functions.fjson", None, [("fjson", "function")]),
        ("functions.Answer Tool", ["Answer Tool", "Answer"], [("Answer Tool", "function")]),
        ("functions.Answer", ["Answer Tool", "Answer"], [("Answer", "function")]),
        ("Ünïcode", ["Ünïcode"], [("Ünïcode", "function")]),
        ("mcp", [{"type": "web_search"}], [("mcp", "other")]),
    ],
)
def test_which_recipients_are_calls(recipient, tools, expected):
    assert calls(recipient, tools) == expected


def test_many_tools_are_all_found():
    names = [f"tool_{i}" for i in range(500)]
    for name in (names[0], names[1], names[250], names[498], names[499]):
        assert calls(name, names) == [(name, "function")]
    assert calls("tool_500", names) == [("tool_500", "other")]
    assert calls("tool_", names) == [("tool_", "other")]


@pytest.mark.parametrize(
    ("tools", "error", "match"),
    [
        ("f", TypeError, "list of names"),
        ([{}], ValueError, "this tool has neither a name nor a type: {}"),
        ([{"function": {}}], ValueError, "this tool is a function without a name"),
        (CHAT, TypeError, "list of names"),
        ([1], TypeError, "not int"),
        ([""], ValueError, "non-empty string"),
        ([{"function": {"name": 3}}], ValueError, "not 3"),
        (3, TypeError, "tools is a list of names or tool dicts, or a Tools, not int"),
    ],
)
def test_wrong_tools(tools, error, match):
    with pytest.raises(error, match=match):
        Tools(tools)


class Weather(pydantic.BaseModel):
    """The weather of a city."""

    city: str


def look(city: str) -> str:
    """The weather of a city."""
    return city


@pytest.mark.parametrize("tool", [Weather, look])
@pytest.mark.parametrize("listed", [True, False])
def test_a_class_or_a_function_is_refused_with_a_hint_at_tools(tool, listed):
    with pytest.raises(TypeError, match=rf"a parser does not read: pass tools=hs\.Tools\({tool.__name__}\)"):
        hs.Parser(tools=[tool] if listed else tool)
    assert tool_name(hs.Tools(tool).schemas("chat")[0]) == tool.__name__
    hs.Parser(tools=hs.Tools(tool))


def described(name, **types):
    return {"name": name, "input_schema": {"properties": {key: {"type": kind} for key, kind in types.items()}}}


# --- compiled once ---------------------------------------------------------------------------------------------------


def fresh(count=3, kind="string"):
    return [described(f"f{i}", a=kind) for i in range(count)]


def test_equal_lists_are_compiled_once():
    assert compiled_tools(fresh()) is compiled_tools(tuple(fresh()))
    assert compiled_tools(["f", "g"]) is compiled_tools(["f", "g"])
    assert compiled_tools([ModelDump()]) is compiled_tools([CHAT])
    assert compiled_tools(fresh()) is not compiled_tools(fresh(kind="integer"))
    assert compiled_tools(["f", "g"]) is not compiled_tools(["g", "f"])
    assert compiled_tools(made := Tools(["f"])) is made
    assert compiled_tools(None) is compiled_tools(None)
    assert compiled_tools([]) is compiled_tools(())


@given(
    st.lists(
        st.sampled_from([*fresh(), *fresh(kind=["integer", "null"]), "f0", "g", CHAT, {"type": "web"}]), max_size=4
    )
)
def test_a_compiled_list_says_what_one_made_anew_says(tools):
    ready, anew = compiled_tools(tools), Tools(tools)
    for name in ("f0", "f1", "f2", "f", "g", "web"):
        assert ready.index(name) == anew.index(name)
        assert ready.types(name, "a") == anew.types(name, "a")
    blob = hs.Parser(tools=tools).to_bytes()
    assert hs.Parser.from_bytes(blob, tools=anew).to_bytes() == blob


def test_a_list_that_is_altered_is_another():
    tools = fresh()
    before = compiled_tools(tools)
    tools[0]["input_schema"]["properties"]["a"]["type"] = "integer"
    assert (before.types("f0", "a"), compiled_tools(tools).types("f0", "a")) == (1, 2)


def test_what_is_not_plain_or_too_large_is_compiled_each_time():
    endless = described("f", a="string")
    endless["input_schema"]["properties"]["more"] = endless
    for tools in ([MappingProxyType(CHAT)], [endless], [CHAT | {"description": "x" * (1 << 16)}]):
        one, other = compiled_tools(tools), compiled_tools(tools)
        assert one is not other
        assert one.index("f") == other.index("f") == 0


def test_many_lists_are_not_all_kept():
    first = compiled_tools(["first", "g"])
    kept = [compiled_tools([f"t{i}"]) for i in range(200)]
    assert all(tools.index(f"t{i}") == 0 for i, tools in enumerate(kept))
    assert compiled_tools(["first", "g"]) is not first


def test_wrong_lists_are_refused_each_time():
    for _ in range(2):
        with pytest.raises(ValueError, match="non-empty string"):
            compiled_tools([""])


# --- parameters ---------------------------------------------------------------------------------------------------


def test_types_of_parameters_are_found_by_tool_and_name():
    tools = Tools(["e", described("f", a="string", **{"Ü": "integer", "": "null", "ab": "array"}), "g"])
    assert [tools.index(name) for name in ("e", "f", "g", "", "h", "ee")] == [0, 1, 2, -1, -1, -1]
    assert [tools.types("f", name) for name in ("a", "Ü", "", "ab", "b", "aa", "abc")] == [1, 2, 16, 64, 0, 0, 0]
    assert [tools.types(tool, "a") for tool in ("e", "g", "h")] == [0, 0, 0]


def test_all_parameters_of_many_tools_are_found():
    kinds = list(TYPES)
    tools = Tools([described(f"f{i}", **{f"p{j}": kinds[(i + j) % 7] for j in range(i)}) for i in range(60)])
    for i in range(60):
        expected = [TYPES[kinds[(i + j) % 7]] if j < i else 0 for j in range(60)]
        assert [tools.types(f"f{i}", f"p{j}") for j in range(60)] == expected


def test_the_later_of_two_tools_with_one_name_counts():
    tools = Tools([described("f", a="string", b="null"), "g", described("f", a="integer")])
    assert [tools.index("f"), tools.index("g")] == [0, 1]
    assert [tools.types("f", "a"), tools.types("f", "b")] == [2, 0]


def test_without_tools_nothing_is_found():
    for tools in (Tools(None), Tools([]), Tools([{"type": "web_search"}])):
        assert tools.index("f") == -1
        assert tools.types("f", "a") == 0


def test_names_that_utf8_cannot_say():
    assert Tools([described("f\ud800", **{"p\ud800": "string"})]).types("f?", "p?") == 1


DIFFERENT = [
    None,
    [],
    ["f"],
    ["fa"],
    [described("f", a="string")],
    [described("f", a="integer")],
    [described("f", b="string")],
    [described("f", a="string", b="string")],
    [described("f", ab="string")],
    [described("f", a="string"), "g"],
    ["f", described("g", a="string")],
]


@pytest.mark.parametrize("other", range(len(DIFFERENT)))
def test_a_state_belongs_to_tools_of_the_same_names_and_types(other):
    state = hs.Parser(tools=DIFFERENT[4]).to_bytes()
    if other == 4:
        properties = {"properties": {"a": {"anyOf": [{"type": "string"}]}}}
        hs.Parser.from_bytes(state, tools=[{"function": {"name": "f", "parameters": properties}}])
    else:
        with pytest.raises(ValueError, match="other tools"):
            hs.Parser.from_bytes(state, tools=DIFFERENT[other])


def test_a_class_is_refused_with_one_error():
    class Model: ...

    with pytest.raises(TypeError, match=r"pass tools=hs.Tools\(Model\)") as caught:
        hs.Parser(tools=[Model])
    assert caught.value.__context__ is None
