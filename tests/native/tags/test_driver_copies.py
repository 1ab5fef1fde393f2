"""Parsers of tag formats that are saved, copied and used again, at every position of a stream."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tags import id_streams, options, texts
from streams import as_tuple, feed, merge
from tag_streams import SHAPES, VOCABULARIES, Options, deviations, outcome, tokens

import harmonystream as hs

every_shape = pytest.mark.parametrize("name", SHAPES)
LONGEST = 160  # bytes, or ids: each position is a run of its own
few = settings(max_examples=max(10, settings.default.max_examples // 20))


def rest(parser: hs.Parser, stream: Any, reason: str | None) -> list[Any]:
    return [*feed(parser, stream), *(as_tuple(event) for event in parser.finish(reason))]


def check_copies(chosen: Options, stream: Any, vocab: hs.Vocab | None) -> None:
    log, noted, usage = outcome(chosen.parser(vocab), [stream], chosen.finish)
    parser = chosen.parser(vocab)
    events: list[Any] = []
    for position in range(len(stream) + 1):
        saved = parser.to_bytes()
        fork, restored = parser.fork(), hs.Parser.from_bytes(saved, vocab, tools=chosen.declared)
        assert fork.to_bytes() == restored.to_bytes() == saved
        for copy in (fork, restored):
            assert merge([*events, *rest(copy, stream[position:], chosen.finish)]) == log, position
            assert (deviations(copy), copy.usage) == (noted, usage), position
        if position < len(stream):
            events += feed(parser, stream[position : position + 1])


@every_shape
@few
@given(data=st.data())
def test_copies_go_on_the_same_in_text(name: str, data: st.DataObject):
    stream = data.draw(texts(name).map(lambda text: text[-LONGEST:]))
    check_copies(data.draw(options(name)), stream, None)


@every_shape
@few
@given(data=st.data())
def test_copies_go_on_the_same_in_ids(name: str, data: st.DataObject):
    vocabulary = data.draw(st.sampled_from(VOCABULARIES))
    stream = data.draw(id_streams(name, vocabulary).map(lambda ids: ids[-LONGEST:]))
    check_copies(data.draw(options(name)), stream, tokens(name, vocabulary).vocab)


@every_shape
@few
@given(data=st.data(), finish=st.booleans())
def test_a_reset_parser_is_a_new_one(name: str, data: st.DataObject, finish: bool):
    chosen, before, stream = data.draw(options(name)), data.draw(texts(name)), data.draw(texts(name))
    parser = chosen.parser()
    parser.feed_text(before)
    if finish:
        parser.finish("length")
    parser.reset()
    assert parser.to_bytes() == chosen.parser().to_bytes()
    assert outcome(parser, [stream], chosen.finish) == outcome(chosen.parser(), [stream], chosen.finish)


@every_shape
@few
@given(data=st.data())
def test_a_fork_leaves_its_origin_alone(name: str, data: st.DataObject):
    chosen, stream, other = data.draw(options(name)), data.draw(texts(name)), data.draw(texts(name))
    half = len(stream) // 2
    parser = chosen.parser()
    events = feed(parser, stream[:half])
    parser.fork().feed_text(other)
    log = merge([*events, *rest(parser, stream[half:], chosen.finish)])
    assert log == outcome(chosen.parser(), [stream], chosen.finish)[0]
