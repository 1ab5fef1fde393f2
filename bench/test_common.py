"""The common cases for pytest-benchmark, to compare one commit with another: `python -m pytest bench`."""

from __future__ import annotations

from array import array

import pytest

import harmonystream as hs
from bench import streams

TOKENS = 2048


@pytest.fixture(scope="module")
def vocab():
    return hs.vocab.o200k_harmony()


def opened(work):
    parser = hs.Parser()
    parser.feed(work.opening)
    return parser


def feed_all(feed, pieces):
    for piece in pieces:
        feed(piece)


@pytest.mark.parametrize("make", [streams.prose, streams.code_in_arguments, streams.chinese])
def test_one_id_per_call(benchmark, vocab, make):
    work = make(TOKENS)
    parser = opened(work)
    benchmark(feed_all, parser.feed, work.ids)
    assert parser.region in (hs.Region.REASONING, hs.Region.ARGUMENTS, hs.Region.CONTENT)


def test_64_ids_per_call(benchmark, vocab):
    work = streams.prose(TOKENS)
    parser = opened(work)
    benchmark(feed_all, parser.feed, [work.ids[at : at + 64] for at in range(0, TOKENS, 64)])
    assert parser.region is hs.Region.REASONING


def test_labels(benchmark, vocab):
    ids = array("i", streams.prose(TOKENS).ids)
    assert len(benchmark(hs.label, ids)) == TOKENS


def test_a_short_answer(benchmark, vocab):
    completion = benchmark(hs.parse, streams.short_answer().ids)
    assert [call.name for call in completion.tool_calls] == ["get_weather"]


def test_a_new_parser(benchmark, vocab):
    assert benchmark(hs.Parser).position == 0


def test_text_in_chunks_of_four(benchmark, vocab):
    text = streams.code_text()[: 4 * TOKENS]
    parser = hs.Parser(start="answer")
    benchmark(feed_all, parser.feed_text, [text[at : at + 4] for at in range(0, len(text), 4)])
    assert parser.region is hs.Region.CONTENT
