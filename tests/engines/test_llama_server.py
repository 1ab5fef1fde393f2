"""llama-server: its chunks, the ids that it leaves out, and what it is asked."""

from __future__ import annotations

import asyncio
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompts import IDS, TEXT, HandMade
from upstream import HANG, Upstream, serving

import harmonystream as hs
from harmonystream.engines import EngineError, Finished, LlamaServer, Sampling
from harmonystream.engines.llama_server import Filler, byte_ids, markers_of

VOCAB = hs.vocab.o200k_harmony()
BYTES = byte_ids(VOCAB)


def chunk(content: str, tokens: list[int], predicted: int, **more: Any) -> dict[str, Any]:
    common = {"index": 0, "content": content, "tokens": tokens, "stop": False, "id_slot": -1}
    return common | {"tokens_predicted": predicted, "tokens_evaluated": 7} | more


def last(predicted: int, kind: str = "eos", word: str = "", **more: Any) -> dict[str, Any]:
    return chunk("", [], predicted, stop=True, stop_type=kind, stopping_word=word, timings={}) | more


async def generated(script: list[Any], prompt: Any = IDS, sampling: Sampling | None = None, **options: Any) -> Any:
    upstream = Upstream(script)
    async with serving(upstream) as url:
        items = [item async for item in LlamaServer(url, **options).generate(prompt, sampling or Sampling())]
    return items, upstream


def run(*args: Any, **options: Any) -> Any:
    return asyncio.run(generated(*args, **options))


def text_of(ids: list[int]) -> bytes:
    return b"".join(VOCAB.token_bytes(token) for token in ids)


def served(ids: list[int]) -> list[dict[str, Any]]:
    """What the server sends for a generation: no chunk for a token that ends inside a character."""
    chunks, pending = [], b""
    for count, token in enumerate(ids, 1):
        if VOCAB.is_control(token):
            chunks.append(chunk(pending.decode("utf-8", "replace"), [token], count))
            pending = b""
            continue
        pending += VOCAB.token_bytes(token)
        try:
            text = pending.decode()
        except UnicodeDecodeError:
            continue
        chunks.append(chunk(text, [token], count))
        pending = b""
    return [*chunks, last(len(ids))]


def test_ids_come_through():
    (*items, end), _ = run([chunk("", [200005], 1), chunk("final", [17196], 2), chunk("", [200008], 3), last(3)])
    assert items == [[200005], [17196], [200008]]
    assert end == Finished("stop", {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10})


def test_a_gap_is_filled_with_the_bytes_of_the_text():
    """The server sends one id for an emoji of several tokens; its text is whole."""
    (*items, _), _ = run([chunk("Hi", [12194], 1), chunk("\U0001fad6", [244], 5), last(5)])
    ids = list(chain(*items))
    assert text_of(ids) == "Hi\U0001fad6".encode()
    assert ids == [12194, *(BYTES[byte] for byte in "\U0001fad6".encode())]


@pytest.mark.parametrize("shown", ["", "<|end|>"])
def test_a_control_token_after_a_gap_is_one_id(shown):
    """Some servers send a control token's text, some do not."""
    (*items, _), _ = run([chunk("Hi", [12194], 1), chunk("\ufffd" + shown, [200007], 3), last(3)])
    ids = list(chain(*items))
    assert ids[-1] == 200007
    assert text_of(ids) == "Hi\ufffd<|end|>".encode()


@given(st.text(min_size=1, max_size=12))
def test_whatever_is_left_out_the_text_is_whole(text):
    """Tokens of one byte each: the server leaves out all but the last of each character."""
    source = [200005, 17196, 200008, *(BYTES[byte] for byte in text.encode("utf-8", "ignore")), 200002]
    filler = Filler(VOCAB, BYTES, frozenset(IDS.stop_ids))
    ids = [token for one in served(source) for token in filler.ids(one, one["tokens_predicted"])]
    assert text_of(ids) == text_of(source)
    assert [token for token in ids if VOCAB.is_control(token)] == [200005, 200008, 200002]
    assert hs.parse(ids).content == hs.parse(source).content


def test_the_generation_ends_at_a_stop_id_though_the_server_goes_on():
    (*items, end), _ = run([chunk("", [200005], 1), chunk("", [200012], 2), chunk("more", [12194], 3), HANG])
    assert items == [[200005], [200012]]
    assert (end.reason, end.usage["completion_tokens"]) == ("stop", 2)


@pytest.mark.parametrize(
    ("kind", "word", "end"), [("eos", "", ("stop", None)), ("limit", "", ("length", None)), ("none", "", (None, None))]
)
def test_reasons_are_the_api_s(kind, word, end):
    (*_, finished), _ = run([chunk("Hi", [12194], 1), last(1, kind, word)])
    assert (finished.reason, finished.stop) == end


def test_stop_strings_make_it_text():
    (*items, end), upstream = run([chunk("Hi", [], 1), last(1, "word", "\n")], IDS, Sampling(stop=("\n",)))
    assert items == ["Hi"]
    assert (end.reason, end.stop) == ("stop", "\n")
    body = upstream.requests[0][1]
    assert (body["prompt"], body["stop"], "return_tokens" in body) == (IDS.ids, ["\n"], False)


def test_text_asks_for_the_format_s_markers():
    (*items, _), upstream = run([chunk("<|channel|>", [], 1), chunk("final", [], 2), last(2)], TEXT)
    assert items == ["<|channel|>", "final"]
    path, body = upstream.requests[0]
    assert path == "/completion"
    assert body == {
        "prompt": TEXT.text,
        "stream": True,
        "cache_prompt": True,
        "preserved_tokens": markers_of("harmony"),
        "n_predict": 4096,
    }


def test_a_vocabulary_without_bytes_gets_text():
    words = hs.vocab.from_bytes([b"a", b"b"], {"<|im_end|>": 2})
    prompt = HandMade("x", [0], "hermes", (2,), words)
    items, upstream = run([chunk("Hi", [], 1), last(1)], prompt)
    assert items[0] == "Hi"
    assert "preserved_tokens" in upstream.requests[0][1]


@pytest.mark.parametrize("name", hs.formats.names())
def test_the_markers_of_every_format_are_listed_once(name):
    markers = markers_of(name)
    assert markers == sorted(set(markers))
    assert all(markers)
    assert any("think" in marker or "<" in marker for marker in markers)


FAULTS = {
    "no tokens": ([{"content": "x", "stop": False}], "not ids"),
    "count": ([chunk("x", [1], 1) | {"tokens_predicted": "many"}], "not a count"),
    "error": ([{"error": {"code": 503, "message": "Loading model"}}], "Loading model"),
    "end": ([chunk("x", [1], 1)], "ended before"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_an_engine_error(name):
    script, said = FAULTS[name]
    with pytest.raises(EngineError, match=said):
        run(script)


def test_text_must_be_text():
    with pytest.raises(EngineError, match="not a string"):
        run([{"content": 7}], TEXT)
