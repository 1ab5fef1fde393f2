"""bench/gateway.py runs, and finds the time of each chunk."""

from __future__ import annotations

import asyncio
import re
import sys

import pytest

from bench import gateway
from bench.wire import script


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a clock of another process")
def test_it_measures_the_gateway(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench.gateway", "--tokens=40", "--streams=2", "--markdown"])
    gateway.main()
    printed = capsys.readouterr().out
    time = r"[\d.,]+ µs"
    rows = re.findall(rf"^\| 2 \| (\d+) \| {time} \| {time} \| [\d.]+ \| {time} \| [\d.]+ % \|$", printed, re.M)
    assert rows == ["1", "8"]
    assert re.search(r"^\| 2 \| [\d,]+ \| ([\d.]+ ms \| ){4}-?[\d.]+ ms \| -?[\d.]+ ms \|$", printed, re.M)


def test_each_chunk_has_its_own_delay():
    """Without a server in between, every chunk is read after it was sent; a quarter is not counted."""
    trial = gateway.Trial(40, 3, 0.001)
    delays = asyncio.run(trial.run(False))
    sent = len(script(40))
    assert [len(times) for times in trial.sent.values()] == [sent] * 3
    assert len(delays) == 3 * (sent - sent // 4)
    assert min(delays) > 0


def test_no_text_is_read_before_it_was_sent():
    """The first chunks are markers, and so may the last one be: the gateway says nothing for them."""
    assert min(asyncio.run(gateway.Trial(40, 2, 0.005).run(True))) > 0


@pytest.mark.parametrize(
    ("frame", "counts"),
    [
        (b'data: {"delta":{"role":"assistant","content":""}}', False),
        (b'data: {"delta":{"reasoning":" a"}}', True),
        (b'data: {"delta":{"content":" a"}}', True),
        (b'data: {"delta":{},"finish_reason":"stop"}', False),
        (b"data: [DONE]", False),
        (b'data: {"choices": [{"token_ids": [1]}]}', True),
    ],
)
def test_frames_with_text_count(frame, counts):
    assert gateway.has_text(frame) is counts
