"""What holds for every stream: the native machine equals the reference, however the stream is cut, saved or copied."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_streams import (
    HEADERS,
    MARKUP,
    SHORT_PIECES,
    START_STATES,
    WORDS,
    Options,
    byte_streams,
    id_streams,
    marked_up,
    options,
    seeds,
    small_vocabularies,
)
from reference import Item, Machine, Result, interpret
from streams import (
    STARTS,
    TEXT_FIELD,
    as_tuple,
    chunkings,
    encode_bytewise,
    encode_greedily,
    feed,
    items_of_ids,
    items_of_text,
    merge,
    prefix_items,
    random_chunks,
    run,
    to_ids,
    without_ranges,
)

import harmonystream as hs

thorough = settings(max_examples=4 * settings.default.max_examples)


def usage(result: Result) -> hs.Usage:
    return hs.Usage(**result.usage)


# --- the machine is the one that docs/harmony.md describes ---


@thorough
@given(id_streams, options)
@example([200005, 17196, 200008, 9552, 200013, 253, 200002], Options(None, "auto", None, "{}"))
def test_ids_equal_the_reference(stream: list[int], options: Options):
    expected = options.reference(items_of_ids(stream))
    parser = options.parser()
    assert run(parser, [stream], options.finish) == expected.events
    assert parser.usage == usage(expected)
    assert parser.position == len(stream)


@thorough
@given(byte_streams, options)
def test_text_equals_the_reference(stream: bytes, options: Options):
    expected = options.reference(items_of_text(stream))
    parser = options.parser()
    assert run(parser, [stream], options.finish) == expected.events
    assert parser.usage == usage(expected)
    assert parser.position == len(stream)


@thorough
@given(small_vocabularies(), options)
def test_small_vocabularies_equal_the_reference(drawn: tuple[hs.Vocab, list[int]], options: Options):
    vocab, stream = drawn
    expected = options.reference(items_of_ids(stream, vocab))
    assert run(options.parser(vocab), [stream], options.finish) == expected.events


@pytest.mark.parametrize("tools", [None, ["f", "get_weather"]])
def test_every_short_stream_equals_the_reference(tools: list[str] | None):
    parser = hs.Parser("harmony", tools=tools)
    for pieces in product(SHORT_PIECES, repeat=3):
        stream = [tid for piece in pieces for tid in piece]
        parser.reset()
        expected = interpret(items_of_ids(stream), tools=tools)
        assert run(parser, [stream]) == expected.events, pieces


@given(id_streams, options)
def test_labels_equal_the_reference(stream: list[int], options: Options):
    expected = options.reference(items_of_ids(stream)).regions
    labels = hs.label(stream, "harmony", tools=options.tools, start=options.start)
    assert [hs.Region(label).name.lower() for label in labels] == expected


@given(id_streams, options)
def test_region_equals_the_reference_after_each_token(stream: list[int], options: Options):
    parser, machine = options.parser(), Machine(options.tools, prefix=prefix_items(options.start))
    for item, tid in zip(items_of_ids(stream), stream):
        assert parser.region.name.lower() == machine.region
        parser.feed(tid)
        machine.read(item)
    assert parser.region.name.lower() == machine.region


# --- no cut matters ---


@thorough
@given(id_streams, options, seeds)
def test_cuts_in_ids_do_not_matter(stream: list[int], options: Options, seed: int):
    whole = options.parser()
    log = run(whole, [stream], options.finish)
    for chunks in some_chunkings(stream, seed):
        parser = options.parser()
        assert run(parser, chunks, options.finish) == log
        assert (parser.usage, parser.deviations) == (whole.usage, whole.deviations)
        assert parser.deviation_count == whole.deviation_count


@given(byte_streams, options, seeds)
def test_cuts_in_text_do_not_matter(stream: bytes, options: Options, seed: int):
    whole = options.parser()
    log = run(whole, [stream], options.finish)
    for chunks in some_chunkings(stream, seed):
        parser = options.parser()
        assert run(parser, chunks, options.finish) == log
        assert (parser.usage, parser.deviations) == (whole.usage, whole.deviations)
        assert parser.deviation_count == whole.deviation_count


def some_chunkings(stream: Any, seed: int) -> Iterator[list[Any]]:
    dice = random.Random(seed)
    yield [stream[i : i + 1] for i in range(len(stream))]
    for _ in range(4):
        yield random_chunks(stream, dice)


@given(st.lists(marked_up, max_size=24).map("".join), options)
def test_text_and_ids_say_the_same(text: str, options: Options):
    data = text.encode()
    log = without_ranges(run(options.parser(), [data], options.finish))
    assert without_ranges(run(options.parser(), [text], options.finish)) == log
    for encode in (encode_greedily, encode_bytewise):
        assert without_ranges(run(options.parser(), [to_ids(data, encode)], options.finish)) == log


# --- nothing is lost, nothing is invented ---


@given(id_streams, options)
def test_every_token_is_delivered_or_labelled(stream: list[int], options: Options):
    log = run(options.parser(), [stream], options.finish)
    labels = hs.label(stream, "harmony", tools=options.tools, start=options.start)
    items = items_of_ids(stream)
    deltas = [event for event in log if event[0] in TEXT_FIELD and event[-2] != event[-1]]
    delivered = {position for event in deltas for position in range(event[-2], event[-1])}
    visible = (hs.Region.REASONING, hs.Region.CONTENT, hs.Region.ARGUMENTS)
    for position, (label, item) in enumerate(zip(labels, items)):
        if item.kind in ("text", "unknown"):
            assert (position in delivered) == (label in visible)
        if label == hs.Region.START:
            assert item.data.isspace()
    for event in deltas:
        # The first token may begin in the header.
        assert text_of(items[event[-2] : event[-1]]).endswith(event[TEXT_FIELD[event[0]]])


def text_of(items: Sequence[Item]) -> str:
    runs = [bytearray()]
    for item in items:
        if item.kind == "unknown":
            runs[-1] += "\N{REPLACEMENT CHARACTER}".encode()
        elif item.kind == "text":
            runs[-1] += item.data
        else:
            runs.append(bytearray())
    return "".join(run.decode("utf-8", "replace") for run in runs)


@given(st.lists(marked_up, max_size=24).map("".join), options)
def test_no_markup_comes_out(text: str, options: Options):
    log = run(options.parser(), [to_ids(text.encode())], options.finish)
    assert not [field for event in log for field in event if isinstance(field, str) and "<|" in field]


@given(id_streams, options)
def test_events_nest(stream: list[int], options: Options):
    """MessageStart, ToolCallStart, deltas, ToolCallEnd, MessageEnd; calls are numbered; StreamEnd is last."""
    calls, opened, in_call = 0, None, False
    for event in run(options.parser(), [stream], options.finish)[:-1]:
        match event[0]:
            case "MessageStart":
                assert opened is None
                opened = event[1:5]
            case "ToolCallStart":
                assert opened and not in_call and event[1] == calls
                in_call = True
            case "ToolCallEnd":
                assert in_call and event[1] == calls
                in_call, calls = False, calls + 1
            case "MessageEnd":
                assert not in_call and event[1:5] == opened
                opened = None
            case "ToolCallDelta":
                assert in_call and event[1] == calls
            case _:
                assert opened and not in_call and event[0] in ("ReasoningDelta", "ContentDelta")
    assert opened is None and not in_call


# --- saved, copied and reused ---


@given(id_streams, options)
def test_copies_go_on_the_same_at_every_position(stream: list[int], options: Options):
    log = run(options.parser(), [stream], options.finish)
    parser = options.parser()
    events = []
    for position in range(len(stream) + 1):
        fork = parser.fork()
        restored = hs.Parser.from_bytes(parser.to_bytes(), tools=options.tools)
        for copy in (fork, restored):
            assert merge([*events, *rest(copy, stream[position:], options.finish)]) == log
        if position < len(stream):
            events += feed(parser, stream[position : position + 1])


@given(byte_streams.filter(lambda data: len(data) < 120), options)
def test_copies_go_on_the_same_in_text(stream: bytes, options: Options):
    log = run(options.parser(), [stream], options.finish)
    parser = options.parser()
    events = []
    for position in range(len(stream) + 1):
        fork = parser.fork()
        restored = hs.Parser.from_bytes(parser.to_bytes(), tools=options.tools)
        for copy in (fork, restored):
            assert merge([*events, *rest(copy, stream[position:], options.finish)]) == log
        if position < len(stream):
            events += feed(parser, stream[position : position + 1])


def rest(parser: hs.Parser, stream: Sequence[int] | bytes, reason: str | None) -> list[Any]:
    return [*feed(parser, stream), *(as_tuple(event) for event in parser.finish(reason))]


@given(id_streams, id_streams, options, st.booleans())
def test_a_reset_parser_is_a_new_one(before: list[int], stream: list[int], options: Options, finish: bool):
    parser = options.parser()
    parser.feed(before)
    if finish:
        parser.finish("length")
    parser.reset()
    assert parser.to_bytes() == options.parser().to_bytes()
    assert run(parser, [stream], options.finish) == run(options.parser(), [stream], options.finish)


@given(id_streams, id_streams, options)
def test_a_fork_leaves_its_origin_alone(stream: list[int], other: list[int], options: Options):
    parser, half = options.parser(), len(stream) // 2
    events = feed(parser, stream[:half])
    parser.fork().feed(other)
    assert merge([*events, *rest(parser, stream[half:], options.finish)]) == run(
        options.parser(), [stream], options.finish
    )


@pytest.mark.parametrize("name", STARTS)
def test_named_starts_are_prefixes(name: str):
    stream = to_ids(b"Hi<|end|><|start|>assistant<|channel|>final<|message|>ok<|return|>")
    assert run(hs.Parser(start=name), [stream]) == run(hs.Parser(start=STARTS[name]), [stream])


@given(id_streams, st.sampled_from([start for start in START_STATES if start.startswith("<|start|>")]))
def test_a_prompt_is_read_from_its_last_start(stream: list[int], start: str):
    expected = run(hs.Parser(start=start), [stream])
    prompt = f"<|start|>system<|message|>Be brief.<|end|><|start|>assistant to=f<|message|>{{}}<|call|>{start}"
    assert run(hs.Parser(prompt=prompt), [stream]) == expected
    assert run(hs.Parser(prompt=to_ids(prompt.encode())), [stream]) == expected


def test_threads_with_a_parser_each_share_a_vocabulary():
    dice = random.Random(7)
    pieces = [to_ids(piece.encode()) for piece in (*MARKUP, *HEADERS, *WORDS)]
    streams = [[tid for _ in range(2000) for tid in dice.choice(pieces)] for _ in range(8)]
    vocab = hs.vocab.o200k_harmony()

    def replay(stream: list[int]) -> list[Any]:
        return run(hs.Parser(vocab=vocab), [[tid] for tid in stream])

    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(replay, streams))
    assert together == [replay(stream) for stream in streams]


def test_the_chunkings_cut_at_every_two_places():
    assert {tuple(map(len, chunks)) for chunks in chunkings(b"abcd")} >= {(4,), (1, 1, 1, 1), (1, 3), (2, 2), (1, 1, 2)}
