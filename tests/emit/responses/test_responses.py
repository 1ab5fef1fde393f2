"""ResponsesStream: which events say what, options, ids, ends and errors."""

from __future__ import annotations

import json

import openai
import pytest
from openai.types.responses import Response
from streams import to_ids
from wire_frames import payloads_of
from wire_responses import assembled, outline_of, output, read, read_by_client, stream_of, to, validate
from wire_server import bytes_app, clients_of

import harmonystream as hs
from harmonystream.emit.responses.options import ECHOED

USAGE = {"input_tokens": 7, "output_tokens": 30}
ANALYSIS = "<|channel|>analysis<|message|>Look it up.<|end|>"
PREAMBLE = "<|start|>assistant<|channel|>commentary<|message|>One moment.<|end|>"
CALL = '<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":1}<|call|>'
FINAL = "<|start|>assistant<|channel|>final<|message|>雨 is it.<|return|>"


# --- the events ---


OUTPUT = [
    {
        "type": "reasoning",
        "id": "rs_1_0",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "Look it up."}],
        "status": "completed",
    },
    {
        "type": "message",
        "id": "msg_1_1",
        "role": "assistant",
        "status": "completed",
        "phase": "commentary",
        "content": [{"type": "output_text", "text": "One moment.", "annotations": [], "logprobs": []}],
    },
    {
        "type": "function_call",
        "id": "fc_1_2",
        "call_id": "call_1_0",
        "name": "f",
        "arguments": '{"a":1}',
        "status": "completed",
    },
    {
        "type": "message",
        "id": "msg_1_3",
        "role": "assistant",
        "status": "completed",
        "phase": "final_answer",
        "content": [{"type": "output_text", "text": "雨 is it.", "annotations": [], "logprobs": []}],
    },
]


def test_every_event_of_a_turn_in_order():
    emitter = stream_of(hs.Parser())
    found = [emitter.start()]
    found += [emitter.feed(token) for token in to_ids((ANALYSIS + PREAMBLE + CALL + FINAL).encode())]
    found.append(emitter.finish("stop", {"input_tokens": 7, "output_tokens": 35}))
    payloads = payloads_of(b"".join(found))
    types = [payload["type"].removeprefix("response.") for payload in payloads]
    once = [type for at, type in enumerate(types) if type != types[at - 1]]
    message = ("output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done")
    assert once == [
        *("created", "in_progress"),
        *("output_item.added", "content_part.added", "reasoning_text.delta", "reasoning_text.done"),
        *("content_part.done", "output_item.done"),
        *(*message, "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"),
        *(*message, "output_item.done"),
        "completed",
    ]
    assert payloads[-1]["response"] == {
        "id": "resp_1",
        "object": "response",
        "created_at": 7,
        "model": "m",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "output": OUTPUT,
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": {
            "input_tokens": 7,
            "output_tokens": 35,
            "total_tokens": 42,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": emitter.parser.usage.reasoning},
        },
    }
    assert emitter.parser.usage.reasoning == 4
    assert emitter.response() == payloads[-1]["response"]


def test_a_delta_is_one_frame():
    emitter = stream_of(hs.Parser())
    emitter.start()
    emitter.feed_text("<|channel|>final<|message|>a")
    assert (
        emitter.feed_text('"\n雨')
        == (
            'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","item_id":"msg_1_0",'
            '"output_index":0,"content_index":0,"delta":"\\"\\n雨","logprobs":[],"sequence_number":5}\n\n'
        ).encode()
    )


def test_messages_without_text_make_no_item():
    empty = "<|channel|>analysis<|message|><|end|><|start|>assistant<|channel|>commentary<|message|><|end|>"
    foreign = "<|start|>user<|channel|>final<|message|>not ours<|end|>"
    assert [item["id"] for item in output(empty + foreign + FINAL)] == ["msg_1_0"]
    assert read("")[2]["type"] == "response.completed"


def test_each_message_is_its_own_item():
    two = ANALYSIS + "<|start|>assistant" + ANALYSIS
    assert outline_of({"output": output(two)}) == [("reasoning", "Look it up.")] * 2


@pytest.mark.parametrize(
    ("header", "phase"),
    [
        ("<|channel|>final", {"phase": "final_answer"}),
        ("<|channel|>commentary", {"phase": "commentary"}),
        ("<|channel|>review", {}),
        ("", {}),
    ],
)
def test_the_phase_is_the_channel(header, phase):
    (item,) = output(f"{header}<|message|>Hi<|end|>")
    assert {name: item[name] for name in item if name == "phase"} == phase


def test_other_formats_have_no_phase():
    (item,) = output("Hi", parser=hs.Parser("hermes"))
    assert "phase" not in item


def test_text_around_a_call_is_two_messages():
    text = 'Wait.\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\nSo.'
    assert outline_of({"output": output(text, parser=hs.Parser("hermes"))}) == [
        ("message", None, "Wait."),
        ("call", "f", "{}", True),
        ("message", None, "So."),
    ]


@pytest.mark.parametrize(("empty_args", "deltas"), [("{}", ["{}"]), ("", [])])
def test_calls_without_arguments(empty_args, deltas):
    payloads = read(to("functions.f", ""), parser=hs.Parser(empty_args=empty_args))
    assert [one["delta"] for one in payloads if one["type"] == "response.function_call_arguments.delta"] == deltas
    assert [one["arguments"] for one in payloads if "arguments" in one] == [empty_args]
    assert payloads[-1]["response"]["output"][0]["arguments"] == empty_args


# --- ids ---


def test_ids_can_be_given():
    items = output(ANALYSIS + CALL, item_id=lambda type, index: f"{type}-{index}", call_id=lambda index: f"c{index}")
    assert [item["id"] for item in items] == ["reasoning-0", "function_call-1"]
    assert items[1]["call_id"] == "c0"


def test_the_models_own_call_ids_are_kept_but_not_twice():
    one = "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
    text = f"<|tool_calls_section_begin|>{one}{one}{one.replace(':0', ':1')}<|tool_calls_section_end|>"
    items = output(text, parser=hs.Parser("kimi_k2"))
    assert [item["call_id"] for item in items] == ["functions.f:0", "call_1_1", "functions.f:1"]


# --- options ---


def test_the_requests_fields_are_repeated():
    tool = {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}
    repeated = {"instructions": "Be brief.", "tools": [tool], "metadata": {"a": "b"}, "temperature": 0.5, "top_p": 0.9}
    body = {**repeated, "input": "Hi", "stream": True, "model": "other", "tool_choice": None, "max_output_tokens": 9}
    payloads = read(FINAL, request=body)
    for payload in (payloads[0], payloads[1], payloads[-1]):
        response = payload["response"]
        assert {name: response[name] for name in repeated} == repeated
        assert (response["model"], response["tool_choice"], response["max_output_tokens"]) == ("m", "auto", 9)
        assert not {"input", "stream"} & set(response)
    assert set(ECHOED) <= set(Response.model_fields)


def test_other_fields_of_the_response_are_the_servers_own_and_never_the_apis():
    taken = {"id": "x", "status": "odd", "error": {}, "output": [1], "usage": 5, "incomplete_details": 1}
    extra = {**taken, "kv": {"odd": '"response":{\ud800雨'}}
    emitter, told = (stream_of(hs.Parser(), request={"metadata": {"a": '"response":{'}}, extra=extra) for _ in range(2))
    payloads = payloads_of(emitter.start() + emitter.feed_text(ANALYSIS) + emitter.finish())
    assert payloads == told.events() + told.events(ANALYSIS) + told.events(finish=True)
    for payload in (payloads[0], payloads[1], payloads[-1]):
        response = payload["response"]
        assert (response["kv"], response["metadata"]) == ({"odd": '"response":{\ufffd雨'}, {"a": '"response":{'})
        assert (response["id"], response["error"], response["usage"]) == ("resp_1", None, None)
    assert [payloads[at]["response"]["status"] for at in (0, -1)] == ["in_progress", "completed"]
    assert payloads[-1]["response"] == emitter.response() == told.response()


def test_reasoning_can_be_hidden():
    payloads = read(ANALYSIS + FINAL, reasoning=False)
    assert outline_of(payloads[-1]["response"]) == [("message", "final_answer", "雨 is it.")]
    assert [one["item"]["id"] for one in payloads if "item" in one] == ["msg_1_0"] * 2


def test_tool_choice_none_hides_calls():
    assert outline_of({"output": output(PREAMBLE + CALL + FINAL, request={"tool_choice": "none"})}) == [
        ("message", "commentary", "One moment."),
        ("message", "final_answer", "雨 is it."),
    ]


def test_without_parallel_tool_calls_there_is_one():
    text = to("functions.f", "1") + to("functions.g", "2") + FINAL
    assert outline_of({"output": output(text, request={"parallel_tool_calls": False})}) == [
        ("call", "f", "1", True),
        ("message", "final_answer", "雨 is it."),
    ]


def test_usage_is_completed():
    usage = {**USAGE, "input_tokens_details": {"cached_tokens": 4}, "output_tokens_details": {"reasoning_tokens": 9}}
    emitter = stream_of(hs.Parser())
    emitter.start()
    emitter.feed_text(ANALYSIS)
    (*_, last) = payloads_of(emitter.finish("stop", usage))
    assert last["response"]["usage"] == {
        **{"input_tokens": 7, "output_tokens": 30, "total_tokens": 37},
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 9},
    }


def test_tokens_are_counted_if_there_are_tokens():
    emitter, in_text = stream_of(hs.Parser()), stream_of(hs.Parser())
    emitter.start()
    in_text.start()
    emitter.feed(ids := to_ids(ANALYSIS.encode()))
    in_text.feed_text(ANALYSIS)
    emitter.finish("stop", {"input_tokens": 1})
    in_text.finish("stop", {"input_tokens": 1, "output_tokens": 3})
    assert emitter.response()["usage"]["output_tokens"] == len(ids)
    assert emitter.response()["usage"]["output_tokens_details"] == {"reasoning_tokens": 4}
    assert in_text.response()["usage"]["output_tokens"] == 3
    assert in_text.response()["usage"]["output_tokens_details"] == {"reasoning_tokens": 0}


# --- ends ---


@pytest.mark.parametrize(
    ("reason", "status", "details", "item_status"),
    [
        ("stop", "completed", None, "completed"),
        (None, "completed", None, "completed"),
        ("length", "incomplete", {"reason": "max_output_tokens"}, "incomplete"),
        ("content_filter", "incomplete", {"reason": "content_filter"}, "incomplete"),
        ("abort", "incomplete", None, "incomplete"),
    ],
)
def test_statuses(reason, status, details, item_status):
    for text, item in ((FINAL.removesuffix("<|return|>"), item_status), (FINAL, "completed")):
        payloads = read(text, reason)
        response = payloads[-1]["response"]
        assert payloads[-1]["type"] == f"response.{status}"
        assert (response["status"], response["incomplete_details"]) == (status, details)
        assert response["output"][0]["status"] == item


def test_an_answer_that_has_its_stop_is_complete_whatever_the_engine_says():
    for text, status in (("Hi<|im_end|>", "completed"), ("Hi", "incomplete")):
        assert output(text, "length", parser=hs.Parser("hermes"))[0]["status"] == status


def test_the_client_gets_the_error_that_ends_a_response():
    emitter = stream_of(hs.Parser())
    pieces = [
        emitter.start(),
        emitter.feed_text("<|channel|>final<|message|>Hel"),
        emitter.error("The engine is gone."),
    ]
    *_, done, error, last = payloads_of(b"".join(pieces))
    assert (done["type"], done["item"]["content"][0]["text"]) == ("response.output_item.done", "Hel")
    assert (last["type"], last["response"]["error"]["code"]) == ("response.failed", "server_error")
    told = {"code": "server_error", "message": "The engine is gone.", "param": None}
    assert {name: error[name] for name in told} == told  # npm's openai and LangChain's raise what is here
    with clients_of(bytes_app(pieces)) as clients:  # Python's what is in the object `error`
        seen = []
        with pytest.raises(openai.APIError, match=r"The engine is gone\.") as raised:
            for event in clients.openai.responses.create(model="m", input="?", stream=True):
                seen.append(event.type)
        with (
            pytest.raises(openai.APIError, match=r"The engine is gone\."),
            clients.openai.responses.stream(model="m", input="?") as helped,
        ):
            helped.get_final_response()
    assert (raised.value.code, raised.value.type) == ("server_error", "server_error")
    assert seen[-1] == "response.output_item.done"


@pytest.mark.parametrize("begun", ["", "<|channel|>analysis<|message|>Loo", to("functions.f", '{"a', end="")])
def test_errors_end_the_stream(begun):
    emitter, twin = stream_of(hs.Parser()), stream_of(hs.Parser())
    data = emitter.start() + emitter.feed_text(begun.removeprefix("<|start|>assistant"))
    payloads = payloads_of(data + emitter.error("Out of memory."))
    for payload in payloads:
        validate(payload)
    response = assembled(payloads)
    assert response == emitter.response()
    assert (response["status"], response["error"]) == ("failed", {"code": "server_error", "message": "Out of memory."})
    assert [item["status"] for item in response["output"]] == ["incomplete"] * bool(begun)
    read_by_client([payload for payload in payloads if payload["type"] != "error"])
    if begun:
        made = [*twin.events(), *twin.events(begun.removeprefix("<|start|>assistant"))]
        assert [*made, *twin.error_events("Out of memory.")] == payloads
    else:
        assert payloads_of(twin.error("Out of memory.")) == payloads  # an error before the start says what it is about


def test_payloads_may_be_changed_by_who_gets_them():
    emitter = stream_of(hs.Parser())
    made = emitter.events() + emitter.events(ANALYSIS)
    made[-1]["item"]["content"][0]["text"] = "changed"
    made[0]["response"]["output"].append("changed")
    made[1]["response"]["metadata"]["a"] = "changed"
    (last,) = emitter.events(finish=True)
    assert (outline_of(last["response"]), last["response"]["metadata"]) == ([("reasoning", "Look it up.")], {})
    emitter.response()["output"][0]["content"].clear()
    assert outline_of(emitter.response()) == [("reasoning", "Look it up.")]


def test_ten_thousand_tokens_of_arguments_cost_what_they_are():
    text = "雨 " * 5_000
    emitter = stream_of(hs.Parser())
    sent = len(emitter.start() + emitter.feed_text(to("functions.f", "").split("assistant", 1)[1].split("<|call|>")[0]))
    sizes = [len(emitter.feed_text(character)) for character in text]
    assert max(sizes) - min(sizes) <= len(str(len(sizes)).encode()) + 2  # more digits, and bytes of a character
    end = payloads_of(emitter.feed_text("<|call|>") + emitter.finish("stop"))
    assert [one.get("arguments", one.get("item", {}).get("arguments")) for one in end[:2]] == [text, text]
    assert sent + len(json.dumps(end, ensure_ascii=False)) < 4 * len(text) + 4_000
