"""Completion servers: what is asked of vLLM, SGLang, TensorRT-LLM and text servers, and what their chunks become."""

from __future__ import annotations

import asyncio
from itertools import chain
from typing import Any

import pytest
from prompts import IDS, TEXT
from upstream import DONE, DROP, HANG, Upstream, event, serving

from harmonystream.engines import Completions, EngineError, Finished, Sampling

USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
ANSWER = [200005, 17196, 200008, 12194, 200002]


def vllm(ids: list[int] | None, text: str = "", end: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk as vLLM sends it; the first one has the prompt's ids, too."""
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": end, "stop_reason": None, **more}
    if ids is not None:
        choice |= {"prompt_token_ids": None, "token_ids": ids}
    return {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]}


def sglang(ids: list[int], end: str | None = None, matched: Any = None) -> dict[str, Any]:
    choice = {"index": 0, "text": "", "logprobs": None, "finish_reason": end, "matched_stop": matched, "token_ids": ids}
    return {"id": "1", "object": "text_completion", "created": 1, "model": "m", "choices": [choice], "usage": None}


def usage_chunk() -> dict[str, Any]:
    return {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m", "choices": [], "usage": USAGE}


STREAMS = {
    "vllm": [
        vllm([ANSWER[0]]),
        vllm(ANSWER[1:4]),
        vllm([], end=None),
        vllm(ANSWER[4:], end="stop"),
        usage_chunk(),
        DONE,
    ],
    "sglang": [sglang(ANSWER[:2]), sglang(ANSWER[2:], "stop", 200002), usage_chunk(), DONE],
    "tensorrt_llm": [vllm(ANSWER, end="stop") | {"usage": USAGE}, DONE],
}


async def generated(
    upstream: Upstream, prompt: Any = IDS, sampling: Sampling | None = None, **options: Any
) -> list[Any]:
    options.setdefault("model", "m")
    async with serving(upstream) as url:
        return [item async for item in Completions(url, **options).generate(prompt, sampling or Sampling())]


def run(upstream: Upstream, *args: Any, **options: Any) -> list[Any]:
    return asyncio.run(generated(upstream, *args, **options))


# --- what comes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("server", STREAMS)
def test_ids_come_as_the_server_streams_them_and_end_with_reason_and_usage(server):
    *items, end = run(Upstream(STREAMS[server]), server=server)
    assert list(chain(*items)) == ANSWER
    assert end == Finished("stop", USAGE)


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_pieces_of_the_stream_may_be_cut_anywhere(size):
    whole = b": ping\r\n\r\nevent: message\r\n" + b"".join(
        item if isinstance(item, bytes) else event(item).replace(b"\n", b"\r\n") for item in STREAMS["vllm"]
    )
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    *items, end = run(Upstream(pieces))
    assert list(chain(*items)) == ANSWER
    assert end == Finished("stop", USAGE)


@pytest.mark.parametrize("cut", [b"data: [DONE]", b"\n\ndata", b": ping\n\n", b"\n", b"\r\n\r\n", b'"', b"}"])
def test_events_are_found_however_they_are_parted(cut):
    """Whole lines of whole events are read in another way than anything else, and both read the same."""
    events = [event(vllm([at])) for at in range(4)]
    for place in range(4):
        before, after = b"".join(events[:place]), b"".join(events[place:])
        for at in (len(before), len(before) + 9):
            whole = (before + after)[:at] + cut + (before + after)[at:] + event(vllm([9], end="stop")) + DONE
            outcomes = []
            for pieces in ([events[0] + whole], [events[0], whole], [bytes([byte]) for byte in events[0] + whole]):
                try:
                    *items, end = run(Upstream(pieces))
                    outcomes.append((list(chain(*items)), end))
                except EngineError as error:
                    outcomes.append(error.kind)
            assert outcomes[0] == outcomes[1] == outcomes[2]


def test_a_server_that_does_not_know_ids_gives_text_with_markers():
    script = [vllm(None, "<|channel|>final"), vllm(None, "<|message|>Hi", end="stop"), DONE]
    assert run(Upstream(script)) == ["<|channel|>final", "<|message|>Hi", Finished("stop")]


@pytest.mark.parametrize("key", ["stop_reason", "matched_stop"])
def test_the_stop_string_is_reported(key):
    script = [vllm(None, "Hi", end="stop", **{key: "\n"}), DONE]
    script[0]["choices"][0].pop("stop_reason" if key == "matched_stop" else "", None)
    assert run(Upstream(script), TEXT)[-1] == Finished("stop", None, "\n")


def test_usage_in_the_last_choice_is_taken():
    assert run(Upstream([vllm([1], end="length") | {"usage": USAGE}, DONE]))[-1] == Finished("length", USAGE)


# --- what is asked ------------------------------------------------------------------------------------------------


def test_the_request_has_ids_limits_and_stop_ids():
    upstream = Upstream(STREAMS["vllm"])
    run(upstream)
    path, body = upstream.requests[0]
    assert path == "/v1/completions"
    assert body == {
        "model": "m",
        "prompt": IDS.ids,
        "stream": True,
        "stream_options": {"include_usage": True},
        "stop_token_ids": [200002, 200012],
        "return_token_ids": True,
        "skip_special_tokens": False,
        "spaces_between_special_tokens": False,
        "max_tokens": 4096,
    }


def test_sglang_is_asked_nothing_that_it_does_not_know():
    upstream = Upstream(STREAMS["sglang"])
    run(upstream, server="sglang")
    run(upstream, TEXT, server="sglang")
    ids, text = (body for _, body in upstream.requests)
    common = {"model", "prompt", "stream", "stream_options", "skip_special_tokens", "max_tokens"}
    assert ids.keys() == common | {"stop_token_ids", "return_token_ids"}
    assert text.keys() == common


def test_tensorrt_llm_is_asked_nothing_that_it_refuses():
    upstream = Upstream(STREAMS["tensorrt_llm"])
    run(upstream, server="tensorrt_llm")
    assert upstream.requests[0][1]["detokenize"] is False
    assert "return_token_ids" not in upstream.requests[0][1]


def test_a_text_server_gets_openai_s_fields_alone():
    upstream = Upstream([vllm(None, "Hi", end="stop"), DONE])
    run(upstream, server="text")
    assert upstream.requests[0][1].keys() == {"model", "prompt", "stream", "stream_options", "max_tokens"}
    assert upstream.requests[0][1]["prompt"] == IDS.text


def test_a_text_prompt_is_sent_as_it_is():
    upstream = Upstream([vllm(None, "Hi", end="stop"), DONE])
    run(upstream, TEXT)
    body = upstream.requests[0][1]
    assert (body["prompt"], body["add_special_tokens"], body["skip_special_tokens"]) == (TEXT.text, False, False)


def test_stop_strings_make_it_text_because_ids_would_have_the_stop_string():
    upstream = Upstream([vllm(None, "Hi", end="stop"), DONE])
    run(upstream, IDS, Sampling(stop=("\n\n",)))
    body = upstream.requests[0][1]
    assert "return_token_ids" not in body
    assert (body["prompt"], body["stop"]) == (IDS.ids, ["\n\n"])


def test_sampling_is_passed_on():
    upstream = Upstream(STREAMS["vllm"])
    sampling = Sampling(
        max_tokens=9,
        temperature=0.0,
        top_p=0.9,
        top_k=40,
        min_p=0.1,
        seed=7,
        presence_penalty=0.5,
        frequency_penalty=0.25,
        repetition_penalty=1.1,
        extra={"cache_salt": "x", "max_tokens": 10},
    )
    run(upstream, IDS, sampling)
    sent = {name: upstream.requests[0][1][name] for name in ("temperature", "top_p", "top_k", "min_p", "seed")}
    assert sent == {"temperature": 0.0, "top_p": 0.9, "top_k": 40, "min_p": 0.1, "seed": 7}
    more = {name: upstream.requests[0][1][name] for name in ("presence_penalty", "frequency_penalty")}
    assert more == {"presence_penalty": 0.5, "frequency_penalty": 0.25}
    assert upstream.requests[0][1]["repetition_penalty"] == 1.1
    assert (upstream.requests[0][1]["cache_salt"], upstream.requests[0][1]["max_tokens"]) == ("x", 10)


def test_the_model_is_the_first_that_the_server_lists():
    upstream = Upstream(STREAMS["vllm"])
    run(upstream, model=None)
    assert upstream.requests[0][1]["model"] == "the-model"


def test_the_key_and_headers_are_sent():
    upstream = Upstream(STREAMS["vllm"])
    run(upstream, key="secret", headers={"x-route": "a"})
    assert (upstream.headers[0]["Authorization"], upstream.headers[0]["x-route"]) == ("Bearer secret", "a")


def test_a_url_may_end_with_the_api_s_path():
    async def main(upstream: Upstream) -> list[Any]:
        async with serving(upstream) as url:
            return [item async for item in Completions(url + "/v1/", "m").generate(IDS, Sampling())]

    assert asyncio.run(main(Upstream(STREAMS["vllm"])))[-1] == Finished("stop", USAGE)


# --- what goes wrong ----------------------------------------------------------------------------------------------

FAULTS: dict[str, tuple[Upstream, str, str]] = {
    "status": (Upstream([b'{"error": "too long"}'], status=400), "status", "HTTP 400: .*too long"),
    "error event": (
        Upstream([event({"error": {"message": "out of memory", "code": 500}}), DONE]),
        "engine",
        "out of mem",
    ),
    "error text": (Upstream([event({"error": "busy"}), DONE]), "engine", "busy"),
    "not JSON": (Upstream([b"data: {oops\n\n"]), "protocol", "not JSON"),
    "not an object": (Upstream([b"data: [1]\n\n"]), "protocol", "not an object"),
    "deep JSON": (Upstream([b"data: " + b"[" * 100_000 + b"\n\n"]), "protocol", "not JSON"),
    "no choices": (Upstream([event({"id": "x"})]), "protocol", "without choices"),
    "choice": (Upstream([event({"choices": [1]})]), "protocol", "not an object"),
    "ids": (Upstream([vllm(["a"])]), "protocol", "not ids"),  # type: ignore[list-item]
    "negative id": (Upstream([vllm([-1])]), "protocol", "not ids"),
    "large id": (Upstream([vllm([1 << 32])]), "protocol", "not ids"),
    "large id, later": (Upstream([vllm([1]), vllm([2, 1 << 40])]), "protocol", "not ids"),
    "text": (Upstream([vllm(None, 7)]), "protocol", "not a string"),  # type: ignore[arg-type]
    "mixed": (Upstream([vllm([1]), vllm(None, "x")]), "protocol", "ids, and then text"),
    "drop": (Upstream([vllm([1]), DROP]), "connection", "/v1/completions: ."),
    "early end": (Upstream([vllm([1])]), "connection", "ended before"),
    "done too early": (Upstream([vllm([1]), DONE]), "connection", "ended before"),
    "silence": (Upstream([vllm([1]), HANG]), "timeout", "[Tt]imeout|silent"),
    "no models": (Upstream([], models={"data": []}), "protocol", "lists no model"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_an_engine_error_that_says_what_it_was(name):
    upstream, kind, said = FAULTS[name]
    options = {"silence": 0.2} if name == "silence" else {"model": None} if name == "no models" else {}
    with pytest.raises(EngineError, match=said) as caught:
        run(upstream, **options)
    assert caught.value.kind == kind
    assert caught.value.status == {"status": 400, "error event": 500}.get(name)


@pytest.mark.parametrize("end", [None, "stop"])
def test_what_came_before_the_connection_broke_is_not_lost(end):
    """Its reader is slow: the connection breaks while all but the first chunk are unread."""
    last = [vllm([len(ANSWER)], end=end), usage_chunk(), DONE] if end else []
    upstream = Upstream([vllm([0]), 0.05, *(vllm([at]) for at in range(1, len(ANSWER))), *last, DROP])

    async def main() -> list[Any]:
        made: list[Any] = []
        async with serving(upstream) as url:
            try:
                async for item in Completions(url, "m").generate(IDS, Sampling()):
                    made.append(item)
                    for _ in range(400 if len(made) == 1 else 0):
                        if upstream.gone:
                            break
                        await asyncio.sleep(0.01)
                    await asyncio.sleep(0.05)  # so that the end is there, too
            except EngineError as error:
                assert error.kind == "connection"
                made.append(error)
        return made

    *said, broken = asyncio.run(main())
    if end:
        assert said == [[at] for at in range(len(ANSWER) + 1)]
        assert broken == Finished("stop", USAGE)
    else:
        assert said == [[at] for at in range(len(ANSWER))]
        assert isinstance(broken, EngineError)


def test_a_server_that_is_not_there():
    async def main() -> None:
        async with serving(Upstream([])) as url:
            pass
        async for _ in Completions(url, "m").generate(IDS, Sampling()):
            raise AssertionError

    with pytest.raises(EngineError) as caught:
        asyncio.run(main())
    assert caught.value.kind == "connection"


def test_closing_the_generation_closes_the_connection():
    async def main() -> int:
        upstream = Upstream([vllm([1]), HANG])
        async with serving(upstream) as url:
            items = Completions(url, "m").generate(IDS, Sampling())
            assert await anext(items) == [1]
            await items.aclose()
            for _ in range(200):
                if upstream.gone:
                    break
                await asyncio.sleep(0.01)
        return upstream.gone

    assert asyncio.run(main()) == 1


def test_a_context_keeps_the_connection_for_the_next_generation():
    async def main() -> tuple[int, int]:
        upstream = Upstream(STREAMS["vllm"])
        async with serving(upstream) as url, Completions(url, "m") as engine:
            for _ in range(3):
                items = [item async for item in engine.generate(IDS, Sampling())]
                assert items[-1].reason == "stop"
        return len(upstream.requests), len(upstream.peers)

    assert asyncio.run(main()) == (3, 1)


@pytest.mark.parametrize("made", [lambda: Completions("localhost:8000"), lambda: Completions("http://x", server="y")])
def test_mistakes_are_refused_at_once(made):
    with pytest.raises(ValueError, match=r"http://|known: vllm"):
        made()
