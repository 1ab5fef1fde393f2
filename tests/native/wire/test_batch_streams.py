"""Whatever goes through a batch is what each stream alone would have said: random streams, in random steps."""

from __future__ import annotations

import random
from array import array

import pytest
import random_streams
import random_tags
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import as_tuple, merge, to_ids
from tag_streams import SHAPES, tokens

import harmonystream as hs
from harmonystream._native.wire.batch import Batch
from harmonystream.emit.chat import ChatStream
from harmonystream.emit.messages import MessagesStream
from harmonystream.emit.responses import ResponsesStream

EMITTERS = {
    "chat": lambda parser: ChatStream(parser, id="c", model="m", created=1, reasoning_field="both"),
    "hidden": lambda parser: ChatStream(parser, id="c", model="m", created=1, reasoning_field=None),
    "responses": lambda parser: ResponsesStream(parser, id="r", model="m", created=1),
    "messages": lambda parser: MessagesStream(parser, id="m", model="m"),
}


def step(batch, streams, positions, dice, by_offsets, feed):
    """Some of the streams take some ids more: (slots, pieces, what `feed` returned)."""
    chosen = dice.sample(sorted(streams), dice.randrange(len(streams) + 1))
    if not by_offsets:
        chosen = [slot for slot in chosen if positions[slot] < len(streams[slot])]
    pieces = []
    for slot in chosen:
        stop = positions[slot] + (dice.randrange(4) if by_offsets else 1)
        pieces.append(streams[slot][positions[slot] : stop])
        positions[slot] = min(stop, len(streams[slot]))
    ids = [tid for piece in pieces for tid in piece]
    if not by_offsets:
        return chosen, pieces, feed(chosen, ids)
    offsets = [0]
    for piece in pieces:
        offsets.append(offsets[-1] + len(piece))
    return chosen, pieces, feed(array("i", chosen), array("q", ids), offsets)


def schedule(batch, streams, dice, feed):
    """Steps until all ids have been read; each gives the slots, their pieces, and what `feed` returned."""
    positions = dict.fromkeys(streams, 0)
    while any(positions[slot] < len(ids) for slot, ids in streams.items()):
        yield step(batch, streams, positions, dice, dice.random() < 0.5, feed)


def by_columns(batch, streams, dice, finish):
    logs = {slot: [] for slot in streams}
    for _, _, columns in schedule(batch, streams, dice, batch.feed):
        for slot, event in columns:
            logs[slot].append(as_tuple(event))
    ends = {}
    for slot in streams:
        parser = batch[slot]
        logs[slot] += map(as_tuple, batch.finish(slot, finish))
        ends[slot] = (
            merge(logs[slot]),
            parser.usage,
            parser.deviations,
            parser.deviation_count,
            parser.calls,
            parser.position,
        )
    return ends


def alone(parser, ids, finish):
    log = [as_tuple(event) for tid in ids for event in parser.feed(tid)]
    log += map(as_tuple, parser.finish(finish))
    return merge(log), parser.usage, parser.deviations, parser.deviation_count, parser.calls, parser.position


def without_other_channels(end):
    """A channel of another name is not in the columns."""
    log = [
        (*event[:2], None, *event[3:]) if event[0] == "ContentDelta" and event[2] not in NAMED else event
        for event in end[0]
    ]
    return merge(log), *end[1:]


NAMED = (None, "analysis", "commentary", "final")


@settings(max_examples=60, deadline=None)
@given(st.lists(random_streams.id_streams, min_size=1, max_size=5), random_streams.options, random_streams.seeds)
def test_random_harmony_streams_say_what_they_say_alone(texts, options, seed):
    batch = Batch(capacity=5, empty_args=options.empty_args)
    streams = {batch.open(tools=options.tools, start=options.start): ids for ids in texts}
    told = by_columns(batch, streams, random.Random(seed), options.finish)
    for slot, ids in streams.items():
        assert without_other_channels(told[slot]) == without_other_channels(
            alone(options.parser(), ids, options.finish)
        )
    assert len(batch) == 0


@settings(max_examples=100, deadline=None)
@given(st.data(), random_streams.seeds)
def test_random_tag_streams_say_what_they_say_alone(data, seed):
    options = data.draw(random_tags.options())
    vocabulary = data.draw(random_tags.vocabularies)
    texts = data.draw(st.lists(random_tags.id_streams(options.format, vocabulary), min_size=1, max_size=4))
    vocab = tokens(options.format, vocabulary).vocab
    batch = Batch(
        options.format,
        vocab,
        4,
        trim=options.trim,
        empty_args=options.empty_args,
        max_hold=options.max_hold,
        check_stops=False,
    )
    streams = {batch.open(tools=options.declared, start=options.start): ids for ids in texts}
    told = by_columns(batch, streams, random.Random(seed), options.finish)
    for slot, ids in streams.items():
        parser = hs.Parser(
            options.format, vocab, tools=options.declared, start=options.start, trim=options.trim,
            empty_args=options.empty_args, max_hold=options.max_hold, check_stops=False,
        )  # fmt: skip
        assert told[slot] == alone(parser, ids, options.finish)


@pytest.mark.parametrize("api", EMITTERS)
@settings(max_examples=25, deadline=None)
@given(st.lists(random_streams.id_streams, min_size=1, max_size=4), random_streams.options, random_streams.seeds)
def test_frames_are_those_that_the_emitter_makes_of_the_same_pieces(api, texts, options, seed):
    batch = Batch(capacity=4)
    twins, streams, first, second = {}, {}, {}, {}
    for ids in texts:
        emitter, twin = EMITTERS[api](options.parser()), EMITTERS[api](options.parser())
        slot = batch.add(emitter)
        first[slot], second[slot] = [emitter.start()], [twin.start()]
        twins[slot], streams[slot] = twin, ids
    for slots, pieces, frames in schedule(batch, streams, random.Random(seed), batch.feed_sse):
        for slot, piece, made in zip(slots, pieces, frames):
            first[slot].append(made)
            second[slot].append(twins[slot].feed(piece))
    for slot, twin in twins.items():
        usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3} if api == "chat" else None
        first[slot].append(batch.finish(slot, options.finish, usage))
        second[slot].append(twin.finish(options.finish, usage))
        assert first[slot] == second[slot]


@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=10, deadline=None)
@given(st.data(), random_streams.seeds)
def test_frames_of_tag_formats(name, data, seed):
    texts = data.draw(st.lists(random_tags.id_streams(name, "added"), min_size=1, max_size=3))
    vocab = tokens(name).vocab
    batch = Batch(name, vocab, 3)
    twins, streams = {}, {}
    for ids in texts:
        emitter, twin = (EMITTERS["chat"](hs.Parser(name, vocab, check_stops=False)) for _ in range(2))
        assert emitter.start() == twin.start()
        slot = batch.add(emitter)
        twins[slot], streams[slot] = twin, ids
    for slots, pieces, frames in schedule(batch, streams, random.Random(seed), batch.feed_sse):
        assert [*frames] == [twins[slot].feed(piece) for slot, piece in zip(slots, pieces)]
    for slot, twin in twins.items():
        assert batch.finish(slot) == twin.finish()


LOOKS = {
    "the parser": lambda batch, slot: batch[slot],
    "a fork": lambda batch, slot: batch[slot].fork(),
    "its state": lambda batch, slot: hs.Parser.from_bytes(batch[slot].to_bytes(), batch.vocab),
    "after close()": lambda batch, slot: batch[batch.add(batch.close(slot))],
    "the one that was closed": lambda batch, slot: closed(batch, slot),
}


def closed(batch, slot):
    """Another parser takes its slot, and goes on."""
    parser = batch.close(slot)
    assert batch.add(parser.fork()) == slot
    return parser


@pytest.mark.parametrize("name", ["harmony", *SHAPES])
@settings(max_examples=20, deadline=None)
@given(st.data(), random_streams.seeds)
def test_a_parser_knows_of_the_tokens_that_a_step_has_taken_for_it(name, data, seed):
    """A step counts plain tokens outside of the parser. Whatever is asked between two steps includes them."""
    harmony = name == "harmony"
    drawn = random_streams.id_streams if harmony else random_tags.id_streams(name, "added")
    texts, vocab = data.draw(st.lists(drawn, min_size=1, max_size=3)), None if harmony else tokens(name).vocab
    batch, dice = Batch(name, vocab, 3), random.Random(seed)
    streams = {batch.open(): ids for ids in texts}
    twins = {slot: hs.Parser(name, vocab, check_stops=False) for slot in streams}
    for slots, pieces, _ in schedule(batch, streams, dice, batch.feed):
        for slot, piece in zip(slots, pieces):
            twins[slot].feed(piece)
        slot, look = dice.choice([*streams]), dice.choice([*LOOKS])
        counts, seen, twin = batch.counts([slot]).tolist()[0], LOOKS[look](batch, slot), twins[slot]
        assert (counts, seen.usage) == ([*twin.usage, twin.deviation_count], twin.usage), look
        assert (seen.position, seen.region, seen.calls) == (twin.position, twin.region, twin.calls), look


def test_an_emitter_refuses_a_parser_whose_tokens_a_batch_has_taken():
    batch = Batch()
    slot = batch.open(start="<|channel|>final<|message|>")
    batch.feed([slot], to_ids(b"Hi"))
    with pytest.raises(ValueError, match="has read up to 1"):
        EMITTERS["chat"](batch[slot])
