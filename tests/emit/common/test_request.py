"""What a request says of its response: tool choices, ids of calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import harmonystream as hs
from harmonystream.emit.common.request import CallIds, call_ids_of, called, shown_calls


@pytest.mark.parametrize(
    ("choice", "parallel", "shown"),
    [
        *((choice, True, None) for choice in (None, "auto", "required", "any", {"type": "function"})),
        *((choice, True, 0) for choice in ("none", {"type": "none"}, SimpleNamespace(type="none"))),
        *(("auto", parallel, shown) for parallel, shown in ((None, None), (False, 1), (0, 1))),
        ("none", False, 0),
    ],
)
def test_how_many_calls_a_request_wants_to_see(choice: Any, parallel: bool | None, shown: int | None) -> None:
    assert shown_calls(choice, parallel) == shown


def test_each_id_is_given_once() -> None:
    ids = CallIds(lambda index: f"own_{index}")
    assert [ids.decide(own, index) for index, own in enumerate((None, "f:0", "f:0", ""))] == [
        "own_0",
        "f:0",
        "own_2",
        "own_3",
    ]


@pytest.mark.parametrize("made", ["same", None, 5, ""])
def test_a_function_that_repeats_itself_is_refused(made: Any) -> None:
    ids = CallIds(lambda index: made)
    with pytest.raises(ValueError, match=r"call_id\(\d\) gave"):
        for index in range(2):
            ids.decide(None, index)


def test_an_id_that_the_model_has_used_already_gets_a_suffix() -> None:
    ids = CallIds(lambda index: f"call_{index}")
    assert [
        ids.decide(own, index) for index, own in enumerate(("call_1", "call_1", "call_1_2", "call_3", "call_3"))
    ] == [
        *("call_1", "call_1_2", "call_2", "call_3", "call_4"),
    ]


KIMI = "<|tool_call_begin|>{}<|tool_call_argument_begin|>{{}}<|tool_call_end|>"


@pytest.mark.parametrize("api", [hs.ChatStream, hs.ResponsesStream, hs.MessagesStream])
def test_no_id_that_a_model_writes_ends_the_response(api: Any) -> None:
    """A model of Kimi's family that writes ids like the server's: the second call_1 is no fault of the callback's."""
    seconds = {hs.ChatStream: {"created": 7}, hs.ResponsesStream: {"created": 7}}.get(api, {})
    stream = api("kimi_k2", id="1", model="m", call_id=lambda index: f"call_{index}", **seconds)
    stream.start()
    stream.feed_text("<|tool_calls_section_begin|>" + KIMI.format("call_1") * 3 + "<|tool_calls_section_end|>")
    stream.finish("stop")
    found = sorted(call_ids_of([stream.response().get("output") or answer_of(stream.response())]))
    assert found == ["call_1", "call_1_2", "call_2"]


def answer_of(response: dict[str, Any]) -> Any:
    return response["choices"][0]["message"] if "choices" in response else response


CONVERSATION = {
    "chat": [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "functions.f:0", "type": "function"}]},
        {"role": "tool", "tool_call_id": "functions.f:0", "content": "x"},
    ],
    "responses": [
        {"type": "function_call", "id": "fc_1", "call_id": "functions.f:0", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "functions.f:0", "output": "x"},
        {"type": "item_reference", "id": "msg_1"},
    ],
    "messages": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "functions.f:0", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "functions.f:0", "content": "x"}]},
    ],
}


@pytest.mark.parametrize("api", CONVERSATION)
def test_ids_that_the_conversation_has_are_not_given_again(api: str) -> None:
    """Kimi counts from 0 in each turn; openai-agents aborts at a call id that has its result already."""
    taken = call_ids_of(CONVERSATION[api])
    assert taken == {"functions.f:0"}
    text = "<|tool_calls_section_begin|>" + KIMI.format("functions.f:0") + KIMI.format("functions.g:1")
    ids = []
    for made in (
        hs.ChatStream("kimi_k2", id="chatcmpl-2", model="m", created=7, taken=taken),
        hs.ResponsesStream("kimi_k2", id="resp_2", model="m", created=7, taken=taken),
        hs.MessagesStream("kimi_k2", id="msg_2", model="m", taken=taken),
    ):
        stream: Any = made
        stream.start()
        stream.feed_text(text + "<|tool_calls_section_end|>")
        stream.finish("stop")
        ids.append(sorted(call_ids_of([stream.response().get("output") or answer_of(stream.response())])))
    assert ids == [["call_2_0", "functions.g:1"]] * 2 + [["functions.g:1", "toolu_2_0"]]


def test_a_conversation_of_any_shape_is_looked_through() -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = [deep]
    for odd in (None, 5, "text", {}, [None, 5, "x", {"tool_calls": 5}], {"content": {"content": []}}, deep):
        assert call_ids_of(odd) == set()
    assert call_ids_of([{"tool_calls": [{"type": "function", "id": 5}, {"type": "function", "id": "a"}]}]) == {"a"}
    with pytest.raises(TypeError, match="taken is a list of ids, not 'call_1'"):
        CallIds(str, "call_1")


# --- mistakes of a caller are told when the stream is made ---


def stream_of(api: str, **options: Any) -> Any:
    if api == "chat":
        return hs.ChatStream(**{"id": "1", "model": "m", "created": 7, **options})
    if api == "responses":
        return hs.ResponsesStream(**{"id": "1", "model": "m", "created": 7, **options})
    return hs.MessagesStream(**{"id": "1", "model": "m", **options})


@pytest.mark.parametrize(
    ("api", "options", "error", "says"),
    [
        (
            "chat",
            {"created": 1.5},
            TypeError,
            r"created is whole seconds since 1970, an int such as int\(time.time\(\)\)",
        ),
        ("chat", {"created": "now"}, TypeError, "created is whole seconds since 1970"),
        ("responses", {"created": "now"}, TypeError, "created is seconds since 1970, a number"),
        ("responses", {"created": float("nan")}, TypeError, "created is seconds since 1970"),
        ("chat", {"tool_choice": "auot"}, ValueError, "tool_choice is one of auto, none, required, any, or an object"),
        ("messages", {"tool_choice": "auot"}, ValueError, "not 'auot'"),
        ("responses", {"request": {"tool_choice": "auot"}}, ValueError, "not 'auot'"),
        (
            "chat",
            {"tool_choice": {"name": "f"}},
            ValueError,
            "tool_choice is an object with a type, such as 'function', not {'name': 'f'}",
        ),
        ("chat", {"tool_choice": 5}, TypeError, "tool_choice is a str, or an object with a type, not int"),
        ("chat", {"call_id": "call_1"}, TypeError, "call_id is a function, not str"),
        ("responses", {"item_id": "x"}, TypeError, "item_id is a function, not str"),
        ("responses", {"item_type": "function_call"}, TypeError, "item_type is a function, not str"),
        ("responses", {"encrypt": True}, TypeError, "encrypt is a function, not bool"),
        ("responses", {"reasoning": "sumary"}, ValueError, "reasoning is True, False, 'text' or 'summary'"),
        ("responses", {"request": {"temperature": float("nan")}}, ValueError, "not JSON compliant"),
        ("responses", {"request": {"metadata": {"a": 1e400}}}, ValueError, "not JSON compliant"),
        ("responses", {"extra": {"x": float("inf")}}, ValueError, "not JSON compliant"),
        ("messages", {"signature": "sig"}, TypeError, "signature is a function, not str"),
    ],
)
def test_a_wrong_option_is_refused_at_once(
    api: str, options: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        stream_of(api, **options)
    assert called("x", None) is None
