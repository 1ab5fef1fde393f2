"""Log probabilities that wait for their ids. vLLM's and SGLang's own objects are in tests/engines."""

from __future__ import annotations

from typing import Any

import pytest

from harmonystream.integrations.held_logprobs import HeldLogprobs


class Logprob:
    def __init__(self, tid: int) -> None:
        self._tid = tid

    def model_dump(self) -> dict[str, Any]:
        return {"token": str(self._tid)}


class Fed:
    """A stream that notes what it is fed."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[int], list[str] | None]] = []

    def feed(self, ids: list[int], logprobs: list[dict[str, Any]] | None = None) -> bytes:
        self.calls.append((list(ids), None if logprobs is None else [one["token"] for one in logprobs]))
        return b"".join(b"%d;" % tid for tid in ids)


def added(*ids: int) -> HeldLogprobs:
    made = HeldLogprobs()
    made.add(ids, [Logprob(tid) for tid in ids])
    return made


def test_ids_that_are_read_later_keep_their_logprobs():
    waiting, stream = added(1, 2), Fed()
    assert waiting.feed(stream, []) == b""
    assert waiting.feed(stream, [1]) == b"1;"
    waiting.add([3], [Logprob(3)])
    assert waiting.feed(stream, [2, 3]) == b"2;3;"
    assert stream.calls == [([1], ["1"]), ([2, 3], ["2", "3"])]


def test_the_first_byte_of_a_cut_token_has_the_logprobs_of_the_token():
    """The ids 7 and 8 are the bytes of a part of 2. Of 3, the text has nothing."""
    waiting, stream = added(1, 2, 3), Fed()
    assert waiting.feed(stream, [1, 7, 8]) == b"1;7;8;"
    assert stream.calls == [([1, 7], ["1", "2"]), ([8], None)]


def test_each_id_has_one():
    with pytest.raises(ValueError, match="zip"):
        HeldLogprobs().add([1, 2], [Logprob(1)])
