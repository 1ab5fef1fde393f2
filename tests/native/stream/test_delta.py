"""feed_delta() says what the events say, as the host's thirty lines would join them."""

from __future__ import annotations

import random
from typing import Any

import pytest
import random_streams
import random_tags
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import random_chunks
from tag_streams import TAG_FORMATS, tokens

import harmonystream as hs
from harmonystream.call_arguments import UNREADABLE

NOTHING = hs.inside.Delta("", "", ())


def joined(events: tuple[hs.Event, ...], cut: bool = False) -> hs.inside.Delta:
    """The slow way. cut: has the end of the stream cut the last call?"""
    reasoning, content = "", ""
    calls: dict[int, list[Any]] = {}
    for event in events:
        match event:
            case hs.ReasoningDelta(text=text):
                reasoning += text
            case hs.ContentDelta(text=text):
                content += text
            case hs.ToolCallStart(index=index, name=name, id=id):
                calls[index] = [id, name, ""]
            case hs.ToolCallDelta(index=index, arguments=text):
                calls.setdefault(index, [None, None, ""])[2] += text
            case hs.ToolCallEnd(index=index, complete=False) if not cut:
                calls.setdefault(index, [None, None, ""])[2] += UNREADABLE
    return hs.inside.Delta(
        reasoning, content, tuple(hs.inside.CallDelta(index, *said) for index, said in calls.items())
    )


def check(make: Any, stream: Any, reason: str | None, seed: int) -> None:
    dice = random.Random(seed)
    pieces = random_chunks(stream, dice)
    by_delta, by_events, mixed = make(), make(), make()
    for piece in pieces:
        read = by_events.feed_text if isinstance(piece, (str, bytes)) else by_events.feed
        events = read(piece)
        assert by_delta.feed_delta(piece) == joined(events)
        if dice.random() < 0.5:
            assert mixed.feed_delta(piece) == joined(events)
        else:
            assert (mixed.feed_text if isinstance(piece, (str, bytes)) else mixed.feed)(piece) == events
        assert (by_delta.region, by_delta.channel, by_delta.position) == (
            by_events.region,
            by_events.channel,
            by_events.position,
        )
    assert by_delta.finish_reason is None
    events = by_events.finish(reason)
    assert by_delta.finish_delta(reason) in (joined(events), joined(events, cut=True))
    assert mixed.finish(reason) == events
    assert by_delta.finish_reason == by_events.finish_reason == events[-1].reason
    assert by_delta.finish_delta(reason) == NOTHING
    assert (by_delta.usage, by_delta.deviations) == (by_events.usage, by_events.deviations)


@given(random_streams.options, random_streams.id_streams | random_streams.byte_streams, random_streams.seeds)
def test_harmony(options, stream, seed):
    check(options.parser, stream, options.finish, seed)


@settings(max_examples=60)
@given(st.data(), random_streams.seeds)
def test_tags(data, seed):
    name = data.draw(st.sampled_from(TAG_FORMATS))
    options = data.draw(random_tags.options(name))
    check(options.parser, data.draw(random_tags.texts(name)), options.finish, seed)
    vocabulary = data.draw(random_tags.vocabularies)
    vocab = tokens(name, vocabulary).vocab
    check(lambda: options.parser(vocab), data.draw(random_tags.id_streams(name, vocabulary)), options.finish, seed)


def test_a_call_in_pieces():
    parser = hs.Parser("kimi_k2")
    said = [
        parser.feed_delta(piece)
        for piece in (
            "<think>So",
            "</think>Let me see.<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0",
            '<|tool_call_argument_begin|>{"a": ',
            "1}<|tool_call_end|><|tool_call_begin|>functions.stop:1<|tool_call_argument_begin|>{}<|tool_call_end|>",
        )
    ]
    assert said == [
        hs.inside.Delta("So", "", ()),
        hs.inside.Delta("", "Let me see.", ()),
        hs.inside.Delta("", "", (hs.inside.CallDelta(0, "functions.add:0", "add", '{"a": '),)),
        hs.inside.Delta(
            "",
            "",
            (hs.inside.CallDelta(0, None, None, "1}"), hs.inside.CallDelta(1, "functions.stop:1", "stop", "{}")),
        ),
    ]  # fmt: skip
    assert parser.finish_delta("stop") == NOTHING
    assert parser.finish_reason == "tool_calls"


def test_one_plain_token_takes_the_shortcut():
    vocab = hs.vocab.o200k_harmony()
    parser = hs.Parser()
    parser.feed(vocab.encode("<|channel|>analysis<|message|>", control=True))
    (hello,) = vocab.encode(" hello")
    assert parser.feed_delta(hello) == hs.inside.Delta(" hello", "", ())
    assert type(parser.feed_delta(hello)) is hs.inside.Delta
    parser.feed(vocab.encode("<|end|><|start|>assistant to=functions.f<|channel|>commentary<|message|>", control=True))
    (brace,) = vocab.encode("{")
    assert parser.feed_delta(brace) == hs.inside.Delta("", "", (hs.inside.CallDelta(0, None, None, "{"),))
    assert parser.usage.arguments == 1


def test_strict_mode_raises_with_the_events_before():
    parser = hs.Parser(strict=True)
    with pytest.raises(hs.errors.ParseError) as caught:
        parser.feed_delta("<|channel|>final<|message|>Hi<|end|>stray<|start|>")
    assert [type(event) for event in caught.value.events][:2] == [hs.MessageStart, hs.ContentDelta]


@pytest.mark.parametrize(("output", "error"), [(1.5, TypeError), (-1, ValueError), (bytearray(b"x"), TypeError)])
def test_what_is_no_output_is_refused(output, error):
    parser = hs.Parser()
    with pytest.raises(error):
        parser.feed_delta(output)
    assert parser.position == 0
    parser.finish()
    with pytest.raises(ValueError, match="finished"):
        parser.feed_delta([200005])
