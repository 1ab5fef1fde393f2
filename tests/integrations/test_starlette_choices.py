"""harmonystream.integrations.starlette: several choices, logprobs, stop strings, with the official clients."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from wire_server import ASKED, PATHS, SHORT, clients_of, of, routed, stream_of

import harmonystream as hs
from harmonystream.integrations.starlette import EventStreamResponse, Finished, Sampled, whole_response

USAGE = {"prompt_tokens": 7}


def several(n: int = 2) -> list[hs.ChatStream]:
    parsers = [hs.Parser(tools=["get_forecast"]) for _ in range(n)]
    return hs.ChatStream.several(parsers, id="chatcmpl-1", model="m", created=7, include_usage=True)


INTERLEAVED = [
    (1, [200005, 17196]),
    (0, SHORT[:3]),
    (1, [200008, 13225]),
    (0, SHORT[3]),
    (0, SHORT[4:11]),
    (1, Finished("length")),
    (0, Sampled(SHORT[11:])),
]
"""Choice 0 says SHORT; choice 1 Hello, and is cut."""
FIRST = {"role": "assistant", "content": "Hi!", "reasoning": "Hello", "refusal": None}
SECOND = {"role": "assistant", "content": "Hello", "refusal": None}


def whole(usage: dict[str, Any]) -> dict[str, Any]:
    choices = [
        {"index": 0, "message": FIRST, "logprobs": None, "finish_reason": "stop"},
        {"index": 1, "message": SECOND, "logprobs": None, "finish_reason": "length"},
    ]
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 7, "model": "m", "choices": choices}
    return {**head, "usage": usage}


COUNTED = {
    **{"prompt_tokens": 7, "completion_tokens": 17, "total_tokens": 24},
    "completion_tokens_details": {"reasoning_tokens": 1},
}
ENDS = {
    "by itself": [],
    "with its choice": [(0, Finished("stop", {"prompt_tokens": 7})), (0, 13225)],  # nothing is read after it
    "with all": [Finished("stop", {"prompt_tokens": 7}), (0, 13225)],
}


@pytest.mark.parametrize("end", ENDS)
def test_interleaved_choices(end):
    options = {"reason": "stop", "usage": USAGE}
    app = routed(lambda api, body: (of(*INTERLEAVED, *ENDS[end])(), several()), **options)
    with clients_of(app) as clients:
        assert clients.assembled("chat", "m") == whole(COUNTED)
        chunks = clients.events("chat", "m")
    said = [(choice["index"], choice["delta"]) for chunk in chunks for choice in chunk["choices"]]
    opening = {"role": "assistant", "content": ""}
    assert said == [
        *((0, opening), (1, opening), (1, {"content": "Hello"}), (0, {"reasoning": "Hello"}), (0, {"content": "Hi"})),
        *((1, {}), (0, {"content": "!"}), (0, {})),
    ]
    assert asyncio.run(whole_response(of(*INTERLEAVED, *ENDS[end])(), several(), **options)) == whole(COUNTED)


def test_a_finished_by_itself_ends_all_that_are_open():
    source = of((1, [200005, 17196, 200008, 13225]), (0, SHORT), Finished("length", {"prompt_tokens": 1}))
    made = asyncio.run(whole_response(source(), several(3), reason="stop"))
    assert [choice["finish_reason"] for choice in made["choices"]] == ["length"] * 3
    assert [choice["message"]["content"] for choice in made["choices"]] == ["Hi!", "Hello", ""]
    assert (made["usage"]["prompt_tokens"], made["usage"]["completion_tokens"]) == (1, 17)


def test_the_usage_is_asked_for_once_and_the_reason_of_each_choice():
    asked = []

    def usage() -> dict[str, int]:
        asked.append("usage")
        return USAGE

    def reason() -> str:
        asked.append("reason")
        return "stop"

    made = asyncio.run(whole_response(of((0, SHORT), (1, SHORT))(), several(), reason=reason, usage=usage))
    assert made["usage"]["prompt_tokens"] == 7
    assert asked == ["reason", "reason", "usage"]


def test_a_list_of_one_stream_takes_pairs_in_every_api():
    for api in PATHS:
        made = asyncio.run(whole_response(of((0, SHORT))(), [stream_of(api)]))
        assert made == asyncio.run(whole_response(of(SHORT)(), stream_of(api)))


BREAKS: dict[str, tuple[list[Any], str, int]] = {  # with the choices that have finished before
    "the open one": ([(0, SHORT), (0, Finished("stop")), (1, SHORT[:4]), (1, "text")], "either ids or text", 1),
    "the source": ([(1, SHORT[:4]), (1, Finished("stop")), 5], r"yields \(choice, item\), not int", 1),
    "no pair": ([(0, SHORT[:4]), SHORT[4:6]], r"yields \(choice, item\), not list", 0),
    "no such choice": ([(0, SHORT[:4]), (2, 13225)], "choice 2, and the choices are 0 to 1", 0),
    "a choice from behind": ([(0, SHORT[:4]), (-1, 13225)], "choice -1, and the choices are 0 to 1", 0),
    "one that has ended": ([(0, SHORT), (0, Finished("stop")), (0, SHORT)], "this stream has ended", 1),
    "a usage too early": ([(0, SHORT), (0, Finished("stop", USAGE))], "usage is of the whole request", 0),
}


@pytest.mark.parametrize("case", BREAKS)
def test_one_choice_that_breaks_ends_all(case, caplog):
    items, why, finished = BREAKS[case]
    streams = several()
    sent = asyncio.run(sent_by(of(*items)(), streams, why))
    assert all(stream.ended for stream in streams)
    assert sent.count(b"[DONE]") == 1
    assert sent.endswith(b'"type":"server_error","param":null,"code":null}}\n\ndata: [DONE]\n\n')
    assert sent.count(b'"finish_reason":"stop"') == finished
    app = routed(lambda api, body: (of(*items)(), several()), usage=None)
    with clients_of(app) as clients, pytest.raises(openai.APIError, match="internal error"):
        clients.assembled("chat", "m")
    assert [record.levelno for record in caplog.records].count(logging.ERROR) == 1


def test_what_the_broken_choice_made_before_is_sent():
    def no_id(index: int) -> str:
        raise ValueError("no ids left")

    parsers = [hs.Parser(tools=["f"]) for _ in range(2)]
    streams = hs.ChatStream.several(parsers, id="chatcmpl-1", model="m", created=7, call_id=no_id)
    text = (
        "<|channel|>final<|message|>Before.<|end|><|start|>assistant<|channel|>commentary to=functions.f<|message|>{}"
    )
    source = of((0, "<|channel|>final<|message|>Hi"), (1, text))
    sent = asyncio.run(sent_by(source(), streams, "no ids left"))
    assert sent.index(b'"index":1,"delta":{"content":"Before."}') < sent.index(b'data: {"error":')


async def sent_by(source: AsyncIterator[Any], streams: Any, why: str) -> bytes:
    """What a response sends that fails for this reason."""
    sent: list[bytes] = []
    raised: list[BaseException] = []

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))

    response = EventStreamResponse(source, streams, on_error=raised.append)
    await response({"type": "http"}, asyncio.Event().wait, send)
    [error] = raised
    assert isinstance(error, (TypeError, ValueError))
    assert re.search(why, str(error))
    return b"".join(sent)


def test_streams_that_are_not_all_of_one_request():
    one, other = several(), several()
    for streams in ([], one[:1], one[::-1], [one[0], other[1]], [*one, *other], one[0], [stream_of("chat")] * 2):
        with pytest.raises(ValueError, match=r"all streams of one ChatStream.several\(\), in order"):
            EventStreamResponse(of()(), streams)
    with pytest.raises(ValueError, match="all streams of one"):
        EventStreamResponse(of()(), [stream_of("messages"), stream_of("messages")])


# --- logprobs -----------------------------------------------------------------------------------------------------


def logprob(token: str) -> dict[str, Any]:
    return {"token": token, "logprob": -0.5, "bytes": list(token.encode()), "top_logprobs": []}


def test_logprobs_reach_the_client():
    items = [
        Sampled([200005, 17196, 200008], [logprob("")] * 3),
        Sampled(13225, [logprob("Hello")]),
        Sampled([0, 200002], [logprob("!"), logprob("")]),
    ]
    with clients_of(routed(lambda api, body: (of(*items)(), stream_of("chat")))) as clients:
        asked: Any = {"model": "m", **ASKED["chat"]}
        found = []
        for chunk in clients.openai.chat.completions.create(**asked, stream=True):
            for choice in chunk.choices:
                said = choice.logprobs and choice.logprobs.content
                found.append((choice.delta.content, [(one.token, one.logprob) for one in said or ()]))
        assert found == [("", []), ("Hello", [("Hello", -0.5)]), ("!", [("!", -0.5)]), (None, [])]
        done = clients.openai.chat.completions.create(**asked).choices[0]
        assert done.message.content == "Hello!"
        assert done.logprobs is not None and done.logprobs.content is not None
        assert [one.token for one in done.logprobs.content] == ["Hello", "!"]


def test_messages_has_no_logprobs_and_says_so():
    api = "messages"
    with pytest.raises(TypeError, match=r"feed\(\) takes no logprobs"):
        asyncio.run(whole_response(of(Sampled([13225], [logprob("Hello")]))(), stream_of(api)))
    made = asyncio.run(whole_response(of(Sampled(SHORT))(), stream_of(api)))
    assert made == asyncio.run(whole_response(of(SHORT)(), stream_of(api)))


# --- stop strings -------------------------------------------------------------------------------------------------


def test_the_stop_string_reaches_clients_that_have_a_field_for_it():
    items = [SHORT[:11], Finished(usage={"output_tokens": 11, "completion_tokens": 11}, stop="!")]
    app = routed(lambda api, body: (of(*items)(), stream_of(api)), reason="length")
    with clients_of(app) as clients:
        message = clients.assembled("messages", "m")
        assert (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", "!")
        [choice] = clients.assembled("chat", "m")["choices"]
        assert (choice["message"]["content"], choice["finish_reason"]) == ("Hi", "stop")
        *_, stopped, _ = clients.events("chat", "m")
        assert stopped["choices"][0]["stop_reason"] == "!"
        assert clients.assembled("responses", "m")["status"] == "completed"


def test_a_reason_given_with_a_stop_string_is_kept():
    ended = Finished("length", stop="!")
    made = asyncio.run(whole_response(of(SHORT[:11], ended)(), stream_of("chat"), reason="stop", usage=USAGE))
    assert made["choices"][0]["finish_reason"] == "length"
