"""label(): a region for every token."""

from __future__ import annotations

import array
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from streams import to_ids

import harmonystream as hs
from harmonystream import Region

IDS = to_ids(b"<|channel|>analysis<|message|>a b<|end|><|start|>assistant<|channel|>final<|message|>ok<|return|>")


def names(labels):
    return " ".join(Region(label).name[0] for label in labels)


def test_labels():
    assert names(hs.label(IDS)) == "H H H R R H H H H H H C H"
    assert hs.label(IDS, start="answer")[:1] == bytes([Region.HEADER])
    assert names(hs.label([12194, 12194], start="reasoning")) == "R R"
    assert names(hs.label([12194], prompt=[200006, 173781, 200005, 35644, 200008])) == "R"


def test_text_without_markup_is_content_from_its_first_token_on():
    assert names(hs.label(to_ids(b"to=functions.f json more<|call|>"))).startswith("H")
    assert names(hs.label([12194, 11, 2375])) == "C C C"


def test_calls_need_tools():
    ids = to_ids(b"<|channel|>commentary to=functions.f<|message|>{}<|call|>")
    assert names(hs.label(ids))[-3] == "A"
    assert names(hs.label(ids, tools=[]))[-3] == "C"


def test_foreign_messages_and_the_end():
    """Somebody else's message is suppressed from <|start|> to terminator: a loss mask must not learn it."""
    ids = to_ids(b"<|channel|>final<|message|>a<|end|>\n<|start|>user<|message|>b<|endoftext|>c<|end|>")
    assert names(hs.label(ids)) == "H H H C H S S S S S S D D"


@pytest.mark.release
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32])
def test_long_buffers_from_many_threads(kind):
    ids = np.tile(np.array([*IDS, 200006, 173781], kind), 2000)
    expected = hs.label(ids.tolist())
    assert len(expected) == len(ids)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(hs.label, [ids] * 8)) == {expected}


def test_wrong_input():
    assert hs.label([]) == b""
    assert hs.label(array.array("i")) == b""
    with pytest.raises(TypeError, match="not str"):
        hs.label("text")
    with pytest.raises(ValueError, match="is -1"):
        hs.label([-1])
