"""The native collector of parse() says what the collector of events says, of any stream."""

from __future__ import annotations

from typing import Any

import pytest
import random_streams
import random_tags
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_completion import collected
from tag_streams import TAG_FORMATS, tokens

import harmonystream as hs
from harmonystream._native.stream.whole import whole


def by_events(parser: hs.Parser, output: Any, reason: str | None) -> hs.Completion:
    """The same by way of events."""
    read = parser.feed_text if isinstance(output, (str, bytes)) else parser.feed
    return collected([*read(output), *parser.finish(reason)], parser)


def both(make: Any, output: Any, reason: str | None) -> None:
    got = whole(make(), output, reason)
    expected = by_events(make(), output, reason)
    assert got == expected
    assert [type(part) for part in (got, got.usage, *got.messages, *got.tool_calls)] == [
        type(part) for part in (expected, expected.usage, *expected.messages, *expected.tool_calls)
    ]


@given(random_streams.options, random_streams.id_streams)
def test_harmony_ids(options, ids):
    both(options.parser, ids, options.finish)


@given(random_streams.options, random_streams.byte_streams)
def test_harmony_text(options, data):
    both(options.parser, data, options.finish)
    both(options.parser, data.decode("utf-8", "replace"), options.finish)


@settings(max_examples=40)
@given(st.data())
def test_tags(data):
    name = data.draw(st.sampled_from(TAG_FORMATS))
    options = data.draw(random_tags.options(name))
    both(options.parser, data.draw(random_tags.texts(name)), options.finish)
    vocabulary = data.draw(random_tags.vocabularies)
    vocab = tokens(name, vocabulary).vocab
    both(lambda: options.parser(vocab), data.draw(random_tags.id_streams(name, vocabulary)), options.finish)


@given(random_streams.options, random_streams.id_streams)
def test_strict_mode_raises_the_same(options, ids):
    errors = []
    for read in (whole, by_events):
        parser = hs.Parser(tools=options.tools, start=options.start, strict=True)
        try:
            read(parser, ids, options.finish)
        except hs.errors.ParseError as error:
            errors.append((error.code, error.position, error.state, error.events))
        else:
            errors.append(None)
    assert errors[0] == errors[1]


def test_more_text_than_fits_the_stack():
    text = "<|channel|>analysis<|message|>" + "Think. " * 5000 + "<|end|><|start|>assistant<|channel|>final<|message|>"
    both(hs.Parser, (text + "日本" * 5000 + "<|end|>") * 20, "stop")


@pytest.mark.parametrize("used", [lambda p: p.feed([200005]), lambda p: p.feed_text("x"), lambda p: p.finish()])
def test_a_parser_that_has_read_is_refused(used):
    parser = hs.Parser()
    used(parser)
    with pytest.raises(ValueError, match="a whole output needs a fresh parser"):
        whole(parser, [200008])


def test_nothing_is_read_of_what_is_no_output():
    parser = hs.Parser()
    with pytest.raises(TypeError, match=r"ids\[1\] is str"):
        whole(parser, [1, "a"])
    with pytest.raises(ValueError, match=r"ids need the model's vocabulary: parse\(ids, 'hermes', vocab=...\)"):
        whole(hs.Parser("hermes"), [1])
    assert whole(parser, []) == hs.parse("")
