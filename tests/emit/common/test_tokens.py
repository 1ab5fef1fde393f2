"""Logprobs and token ids of chunks."""

from __future__ import annotations

import math
from array import array
from collections import deque
from typing import Any

import numpy as np
import pytest
from streams import chunkings
from wire_chat import stream_of
from wire_frames import payloads_of

import harmonystream as hs

# <|channel|>analysis<|message|>雨伞<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>; 伞 is two ids
IDS = [200005, 35644, 200008, 53307, 2809, 252, 200007, 200006, 173781, 200005, 17196, 200008, 13225, 200002]
TEXTS = [[53307], [2809, 252], [13225]]


def started(parser: hs.Parser | None = None, **options: Any) -> hs.ChatStream:
    stream = stream_of(parser or hs.Parser(), **options)
    stream.start()
    return stream


def entries(ids: list[int]) -> list[dict[str, Any]]:
    return [{"token": str(one), "logprob": -one / 10, "bytes": None, "top_logprobs": []} for one in ids]


def test_a_chunk_has_its_own_logprobs_and_the_ids_since_the_last_however_they_come():
    for pieces in chunkings(IDS):
        stream = stream_of(hs.Parser(), token_ids=True)
        sent = stream.start() + b"".join(stream.feed(piece, entries(piece)) for piece in pieces)
        choices = [one["choices"][0] for one in payloads_of(sent + stream.finish("stop"))[1:-1]]
        assert [one["logprobs"] for one in choices[:-1]] == [
            {"content": entries(ids), "refusal": None} for ids in TEXTS
        ]
        assert choices[-1]["logprobs"] is None
        assert [one["token_ids"] for one in choices] == [IDS[:4], IDS[4:6], IDS[6:13], IDS[13:]]
        whole = stream.response()["choices"][0]
        assert whole["logprobs"] == {"content": entries([one for ids in TEXTS for one in ids]), "refusal": None}
        assert whole["token_ids"] == IDS


def test_dicts_have_the_same():
    fed, told = stream_of(hs.Parser(), token_ids=True), stream_of(hs.Parser(), token_ids=True)
    data = fed.start() + fed.feed(IDS, logprobs=entries(IDS)) + fed.finish("stop", {"prompt_tokens": 1})
    chunks = told.events() + told.events(IDS, logprobs=entries(IDS))
    chunks += told.events(finish=True, reason="stop", usage={"prompt_tokens": 1})
    assert payloads_of(data) == [*chunks, "[DONE]"]
    assert fed.response() == told.response()


def test_hidden_text_hides_its_tokens():
    stream = started(token_ids=True, reasoning_field=None)
    stream.feed(IDS, entries(IDS))
    stream.finish()
    whole = stream.response()["choices"][0]
    assert whole["logprobs"]["content"] == entries([13225])
    assert whole["token_ids"] == IDS[:3] + IDS[6:]


def test_logprobs_alone():
    stream = started(hs.Parser(start="answer"))
    assert payloads_of(stream.feed(13225))[0]["choices"][0]["logprobs"] is None
    (chunk,) = payloads_of(stream.feed(13225, entries([13225])))
    assert chunk["choices"][0]["logprobs"]["content"] == entries([13225])
    assert "token_ids" not in chunk["choices"][0]


@pytest.mark.parametrize("given", [IDS, tuple(IDS), array("q", IDS), np.array(IDS), np.array([IDS]), iter(IDS)])
def test_ids_of_any_kind(given):
    stream = started(token_ids=True)
    stream.feed(given)
    stream.finish()
    assert stream.response()["choices"][0]["token_ids"] == IDS


def test_one_id_of_any_kind():
    stream = started(token_ids=True)
    for one in (IDS[0], np.int64(IDS[1]), np.array(IDS[2])):
        stream.feed(one)
    stream.finish()
    assert stream.response()["choices"][0]["token_ids"] == IDS[:3]


def test_as_many_logprobs_as_tokens():
    with pytest.raises(ValueError, match="1 logprobs for 2 tokens"):
        started().feed([1, 2], entries([1]))


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ([13225, -1], ValueError),
        ([13225, True], TypeError),
        (np.array([[1, 2], [3, 4]]), ValueError),
        ("ab", TypeError),
    ],
)
def test_ids_are_refused_as_the_parser_refuses_them_and_leave_nothing(wrong, error):
    stream = started(hs.Parser(start="answer"), token_ids=True)
    with pytest.raises(error):
        stream.feed(wrong)
    assert stream.parser.position == 0
    (chunk,) = payloads_of(stream.feed(13225))
    assert chunk["choices"][0]["token_ids"] == [13225]


def test_a_logprob_is_a_number_that_json_has():
    never = {"token": "x", "logprob": -math.inf, "top_logprobs": [{"token": "y", "logprob": -math.inf}]}
    (chunk,) = payloads_of(started(hs.Parser(start="answer")).feed(13225, [never]))
    (entry,) = chunk["choices"][0]["logprobs"]["content"]
    assert (entry["logprob"], entry["top_logprobs"][0]["logprob"]) == (-9999.0, -9999.0)
    assert never["logprob"] == -math.inf


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_logprob_that_is_no_number_does_not_end_the_response(number):
    (chunk,) = payloads_of(started(hs.Parser(start="answer")).feed(13225, [{"token": "x", "logprob": number}]))
    assert chunk["choices"][0]["logprobs"]["content"][0]["logprob"] == -9999.0


class Counted(deque[Any]):
    """A deque that counts what is done with it."""

    done = 0

    def popleft(self) -> Any:
        Counted.done += 1
        return super().popleft()

    def extendleft(self, many: Any) -> None:
        many = list(many)
        Counted.done += len(many)
        super().extendleft(many)


def work_of(messages: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """What is moved while a model writes so many hidden messages of one token."""
    Counted.done = 0
    monkeypatch.setattr("harmonystream.emit.common.tokens.deque", Counted)
    stream = started(token_ids=True, reasoning_field=None)
    ids = ([200005, 35644, 200008, 13225, 200007, 200006, 173781] * messages)[:-2]
    stream.feed(ids)
    stream.finish()
    assert len(stream.response()["choices"][0]["token_ids"]) == len(ids) - messages
    return Counted.done


def test_hidden_messages_cost_what_they_are(monkeypatch):
    """The ids of their headers wait for a chunk; to take them out and to put them back for each event is quadratic."""
    small, large = work_of(50, monkeypatch), work_of(500, monkeypatch)
    assert 0 < large <= 11 * small


@pytest.mark.parametrize("size", [1, 2, 5])
def test_tokens_that_the_parser_holds_back_keep_their_places(size):
    """A marker that is written as text is several tokens, and the parser's position counts them when it is whole."""
    vocab = hs.vocab.o200k_harmony()
    call = '<tool_call>\n{"name": "f", "arguments": {"i": 1}}\n</tool_call>'
    ids = vocab.encode(f"<think>\nHm.\n</think>\n\nOne. {call}\n{call}\nTwo.")

    def choices(size: int) -> list[dict[str, Any]]:
        stream = stream_of(hs.Parser("hermes", vocab, check_stops=False), token_ids=True)
        pieces = [ids[at : at + size] for at in range(0, len(ids), size)]
        sent = stream.start() + b"".join(stream.feed(piece, entries(piece)) for piece in pieces) + stream.finish("stop")
        return [one["choices"][0] for one in payloads_of(sent)[:-1]]

    made = choices(size)
    assert made == choices(len(ids))
    assert [tid for one in made for tid in one.get("token_ids") or ()] == ids
    said = {one["delta"]["content"]: one["logprobs"] for one in made if one["delta"].get("content")}
    assert said["One"]["content"] == entries(vocab.encode("One"))
