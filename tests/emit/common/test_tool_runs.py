"""Events that other parsers have made: they are told as those of the stream's own parser are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from wire_scenarios import parser_of, pieces_of, streams
from wire_server import APIS, stream_over

import harmonystream as hs
from harmonystream.emit import ChatStream, MessagesStream, ResponsesStream, ToolRun
from harmonystream.events import StreamEnd

USAGE = {"prompt_tokens": 7, "completion_tokens": 11, "completion_tokens_details": {"reasoning_tokens": 3}}
RUN = ToolRun("here", "look", '{"city": "成都"}', "11 °C")


FORMATS = ("harmony", "hermes", "qwen3_coder")
"""Of calls with headers, as JSON and as tags: the events are the same ones in all formats."""


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", [name for name in streams() if name.startswith(FORMATS)])
def test_events_of_another_parser_make_the_same_frames(api, name):
    reason = streams()[name][2].reason
    own, told = (stream_over(parser_of(name), api) for _ in range(2))
    other = parser_of(name)
    frames, same = [own.start()], [told.start()]
    for piece in pieces_of(name):
        text = isinstance(piece, (str, bytes))
        frames.append(own.feed_text(piece) if text else own.feed(piece))
        same.append(told.feed_events(other.feed_text(piece) if text else other.feed(piece)))
    last = other.finish(reason)
    same.append(told.feed_events(last))
    end = next(event for event in last if isinstance(event, StreamEnd))
    frames.append(own.finish(reason, USAGE))
    same.append(told.finish(end.reason, USAGE))
    assert b"".join(same) == b"".join(frames)
    assert told.response() == own.response()


def payloads(frames: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in frames.decode().split("\n") if line.startswith("data: {")]


def test_chat_says_nothing_of_a_run():
    stream = ChatStream(id="chatcmpl-1", model="m", created=1)
    stream.start()
    assert stream.feed_events([RUN, BEGINS]) == b""
    stream.finish("stop", USAGE)
    assert stream.response()["choices"][0]["message"] == {"role": "assistant", "content": "", "refusal": None}


def test_responses_say_a_run_as_an_item():
    stream = ResponsesStream(id="resp_1", model="m", created=1)
    stream.start()
    made = payloads(stream.feed_events([RUN]))
    assert [one["type"].removeprefix("response.") for one in made] == [
        "output_item.added",
        "mcp_call.in_progress",
        "mcp_call_arguments.delta",
        "mcp_call_arguments.done",
        "mcp_call.completed",
        "output_item.done",
    ]
    assert made[0]["item"]["output"] is None and made[-1]["item"]["output"] == "11 °C"
    assert made[-1]["item"]["server_label"] == "here"
    failed = payloads(stream.feed_events([RUN._replace(failed=True, output="no \ud800")]))
    assert failed[4]["type"] == "response.mcp_call.failed"
    assert (failed[5]["item"]["status"], failed[5]["item"]["output"]) == ("failed", "no \ufffd")
    assert [one["output_index"] for one in failed] == [1] * 6
    stream.finish("stop", USAGE)
    assert [item["status"] for item in stream.response()["output"]] == ["completed", "failed"]


BEGINS = RUN._replace(output=None, key="1")
OTHER = BEGINS._replace(name="listen", key="2")


@pytest.mark.parametrize("failed", [False, True])
def test_a_run_may_be_reported_when_it_begins_and_when_it_ends(failed):
    """Together the same is said as of a run that is told once."""
    end = RUN._replace(failed=failed)
    told = []
    for runs in ([[end]], [[BEGINS], [end._replace(key="1")]]):
        stream = ResponsesStream(id="resp_1", model="m", created=1)
        frames = stream.start() + b"".join(map(stream.feed_events, runs)) + stream.finish("stop", USAGE)
        told.append((frames, stream.response()))
    assert told[0] == told[1]
    assert told[0][1]["output"][0]["status"] == ("failed" if failed else "completed")


def test_items_of_responses_keep_their_places_while_runs_go_on():
    stream = ResponsesStream(id="resp_1", model="m", created=1)
    stream.start()
    said = hs.ContentDelta("Hi", "final")
    more = hs.ContentDelta(" there", "final")
    runs = [BEGINS, OTHER, said, OTHER._replace(output="2"), more, RUN._replace(output="1", key="1")]
    made = payloads(stream.feed_events(runs) + stream.finish("stop", USAGE))
    added = [(one["output_index"], one["item"]["type"]) for one in made if one["type"].endswith("item.added")]
    assert added == [(0, "mcp_call"), (1, "mcp_call"), (2, "message")]
    done = [one["output_index"] for one in made if one["type"].endswith("item.done")]
    assert done == [1, 0, 2]
    output = stream.response()["output"]
    assert [item.get("output") for item in output[:2]] == ["1", "2"]
    assert output[2]["content"][0]["text"] == "Hi there"
    assert made[-1]["response"]["output"] == output


@pytest.mark.parametrize("end", ["finish", "error"])
def test_a_run_that_has_not_ended_is_incomplete_in_the_end(end):
    stream = ResponsesStream(id="resp_1", model="m", created=1)
    stream.start()
    frames = stream.feed_events([BEGINS, OTHER])
    frames += stream.finish("stop", USAGE) if end == "finish" else stream.error("no")
    made = payloads(frames)
    assert [one["item"]["status"] for one in made if one["type"].endswith("item.done")] == ["incomplete"] * 2
    assert [item["status"] for item in made[-1]["response"]["output"]] == ["incomplete"] * 2


def test_messages_say_a_run_that_begins_and_later_its_result():
    stream = MessagesStream(id="msg_1", model="m")
    stream.start()
    said = hs.ContentDelta("Hi", "final")
    made = payloads(stream.feed_events([BEGINS, OTHER, said, OTHER._replace(output="2"), BEGINS._replace(output="1")]))
    blocks = [one["content_block"] for one in made if one["type"] == "content_block_start"]
    first, second, text, *results = blocks
    assert [first["name"], second["name"], text["type"]] == ["look", "listen", "text"]
    assert [one["tool_use_id"] for one in results] == [second["id"], first["id"]]
    assert [one["content"][0]["text"] for one in results] == ["2", "1"]
    stream.finish("stop", USAGE)
    assert [block["type"] for block in stream.response()["content"]] == [block["type"] for block in blocks]


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ("nope", {"raw": "nope"}),
        ('{"a": ', {"raw": '{"a": '}),
        ("[1]", {"raw": "[1]"}),
    ],
)
def test_messages_say_a_run_as_two_blocks(arguments, given):
    stream = MessagesStream(id="msg_1", model="m")
    stream.start()
    made = payloads(stream.feed_events([RUN._replace(arguments=arguments), RUN]))
    assert [one["type"] for one in made] == ["content_block_start", "content_block_stop"] * 4
    assert [one["index"] for one in made] == [0, 0, 1, 1, 2, 2, 3, 3]
    use, result, second, _ = (one["content_block"] for one in made[::2])
    assert (use["type"], use["input"], result["tool_use_id"]) == ("mcp_tool_use", given, use["id"])
    assert second["id"] != use["id"]
    stream.finish("stop", USAGE)
    assert stream.response()["stop_reason"] == "end_turn"


def test_a_run_closes_what_is_open():
    stream = ResponsesStream(id="resp_1", model="m", created=1)
    stream.start()
    made = payloads(stream.feed_events([hs.ContentDelta("Hi", "final", 0, 1), RUN]))
    done = [one["item"]["type"] for one in made if one["type"] == "response.output_item.done"]
    assert done == ["message", "mcp_call"]


def test_a_report_before_the_start_or_after_the_end_is_refused():
    stream = ChatStream(id="chatcmpl-1", model="m", created=1)
    with pytest.raises(ValueError, match=r"start|end"):
        stream.feed_events([RUN])
    stream.start()
    stream.finish()
    with pytest.raises(ValueError, match=r"start|end"):
        stream.feed_events([RUN])


@pytest.mark.parametrize("api", APIS)
def test_a_stream_with_reported_runs_ends_once(api):
    stream = stream_over(hs.Parser(), api)
    stream.start()
    stream.feed_events([hs.ContentDelta("Hi", "final")])
    stream.finish("stop")
    with pytest.raises(ValueError, match="ended"):
        stream.finish("stop")


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("more", ["", "<|channel|>final<|message|> the"], ids=["told", "and tokens"])
def test_what_was_left_open_is_in_the_response(api, more):
    stream = stream_over(hs.Parser(), api)
    frames = stream.start() + stream.feed_events([hs.ContentDelta("Hi", "final")])
    frames += stream.feed_text(more + "<|re" if more else "") + stream.finish("length")
    said = "Hi the<|re" if more else "Hi"
    whole = json.dumps(stream.response(), ensure_ascii=False)
    assert f'"{said}"' in whole
    assert api != "responses" or b"response.output_item.done" in frames


def test_what_is_no_event_is_refused():
    stream = ChatStream(id="chatcmpl-1", model="m", created=1)
    stream.start()
    with pytest.raises(TypeError, match=r"^feed_events\(\) takes events and ToolRuns, not int$"):
        stream.feed_events([hs.ContentDelta("Hi", "final"), 42])
    assert stream.finish("stop").count(b"Hi") == 0
