"""What all emitters share: frames from payloads, and the defaults."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import harmonystream as hs
from harmonystream import _batch, columns, emit
from harmonystream.emit.stream import EventStream, to_json


class Told(EventStream):
    """The least that an API can be."""

    numbered = "number"

    def delta(self, kind, text):
        return {"type": kind, "number": 0, "text": text} if kind == "content" else None

    def describe(self, event):
        return [{"type": type(event).__name__}]


def test_numbers_count_every_payload_in_bytes_and_in_dicts():
    ids = [200005, 17196, 200008, 13225, 2809, 252, 200002]
    fed, told = Told(hs.Parser()), Told(hs.Parser())
    data = fed.start() + b"".join(map(fed.feed, ids)) + fed.finish()
    chunks = told.events() + [one for token in ids for one in told.events(token)] + told.events(finish=True)
    frames = data.decode().split("\n\n")[:-1]
    assert [json.loads(frame.split("\ndata: ")[1]) for frame in frames] == chunks
    assert [chunk["number"] for chunk in chunks] == [0, 1, 2, 3, 4]
    assert [frame.split("\n")[0] for frame in frames] == [f"event: {chunk['type']}" for chunk in chunks]


def test_text_is_told_apart_from_tokens():
    stream = Told(hs.Parser())
    stream.start()
    assert stream.in_text is False
    stream.feed_text("x")
    assert stream.in_text is True


@pytest.mark.parametrize(
    ("payload", "text"),
    [({"a": "é\u2028", "b": [1, None]}, '{"a":"é\u2028","b":[1,null]}'), ("\ud800", '"\ufffd"')],
)
def test_json_is_compact_and_can_be_sent(payload, text):
    assert to_json(payload) == text
    text.encode()


def test_what_describes_nothing_is_no_api():
    stream = EventStream(hs.Parser())
    stream.start()
    with pytest.raises(NotImplementedError):
        stream.feed([200005, 17196, 200008])


def test_emitters_are_loaded_when_they_are_asked_for():
    code = (
        "import sys, harmonystream as hs; before = 'harmonystream.emit' in sys.modules; hs.ChatStream\n"
        "print(before, 'harmonystream.emit' in sys.modules, 'harmonystream._batch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False True False\n"


def test_the_names_of_the_package():
    for name in emit.__all__:
        assert getattr(hs, name) is getattr(emit, name)
    assert (hs.Batch, hs.Columns) == (_batch.Batch, columns.Columns)
    assert set(hs.__all__) <= set(dir(hs))
    with pytest.raises(AttributeError, match="has no attribute 'NoStream'"):
        _ = hs.NoStream
