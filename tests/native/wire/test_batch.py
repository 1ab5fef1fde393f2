"""Batch: slots, what a step may be given, and threads. That it says what parsers say is in test_batch_streams.py."""

from __future__ import annotations

import gc
import re
import struct
import sys
from array import array

import pytest
from streams import to_ids
from tag_streams import tokens

import harmonystream as hs
from harmonystream._native.wire.batch import Batch
from harmonystream.emit.chat import ChatStream

TURN = to_ids(
    b"<|channel|>analysis<|message|>Think \xf0\x9f\x98\x80<|end|>"
    b"<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>"
    b'{"a": "x\\n"}<|call|><|start|>assistant<|channel|>final<|message|>Hi "you"\n<|return|>'
)
INSIDE = TURN[:4]  # reasoning is open


def chat(parser):
    return ChatStream(parser, id="c", model="m", created=1)


def started(stream):
    stream.start()
    return stream


# --- slots --------------------------------------------------------------------------------------------------------


def test_slots_are_taken_closed_and_taken_again():
    batch = Batch(capacity=2)
    first, second = batch.open(), batch.open()
    assert (first, second, len(batch), batch.capacity, repr(batch)) == (0, 1, 2, 2, "<Batch harmony: 2 of 2 slots>")
    with pytest.raises(RuntimeError, match="all 2 slots are taken"):
        batch.open()
    batch.feed([0], [TURN[0]])
    old = batch[0]
    assert batch.close(0) is old
    assert len(batch) == 1
    with pytest.raises(ValueError, match="slot 0 is not open"):
        batch.feed([1, 0], [1, 1])
    for call in (batch.close, batch.finish, batch.__getitem__):
        with pytest.raises(ValueError, match="slot 0 is not open"):
            call(0)
    assert batch.open() == 0
    assert (batch[0].position, old.position, batch[1].position) == (0, 1, 0)


@pytest.mark.parametrize("slot", [-1, 2, 2**40])
def test_numbers_that_are_no_slots(slot):
    batch = Batch(capacity=2)
    with pytest.raises(ValueError, match="is not open"):
        batch[slot]
    with pytest.raises(ValueError, match=r"is not open|slots, read like token ids: ids\[0\]|slots, .*the id is"):
        batch.feed([slot], [1])


def test_an_emitter_in_a_slot():
    batch = Batch(capacity=1)
    emitter = chat(hs.Parser())
    emitter.start()
    slot = batch.add(emitter)
    assert batch[slot] is emitter.parser
    twin = chat(hs.Parser())
    twin.start()
    assert [*batch.feed_sse([slot], TURN, [0, len(TURN)])] == [twin.feed(TURN)]
    with pytest.raises(TypeError, match="engine's reason as a str"):
        batch.finish(slot, 5)
    assert len(batch) == 1  # it is still open
    assert batch.finish(slot, "stop", {"prompt_tokens": 1}) == twin.finish("stop", {"prompt_tokens": 1})
    assert emitter.response() == twin.response()
    assert batch.close(batch.add(emitter)) is emitter


def test_a_fork_of_a_slot():
    batch = Batch(capacity=2)
    batch.feed([batch.open()], INSIDE, [0, 4])
    batch.add(batch[0].fork())
    made = list(batch.feed([0, 1], [11, 13]))
    assert made == [(0, hs.ReasoningDelta(",", 4, 5)), (1, hs.ReasoningDelta(".", 4, 5))]


def test_what_cannot_be_added():
    batch = Batch()
    with pytest.raises(TypeError, match="takes a Parser or an emitter, not int"):
        batch.add(5)
    with pytest.raises(ValueError, match="the batch is 'harmony' on"):
        batch.add(hs.Parser("think", tokens("think").vocab))
    with pytest.raises(ValueError, match="lenient"):
        batch.add(hs.Parser(strict=True))
    with pytest.raises(ValueError, match="token ids or logprobs"):
        batch.add(ChatStream(hs.Parser(), id="c", model="m", created=1, token_ids=True))
    assert len(batch) == 0


def test_an_emitter_that_is_not_under_way():
    batch = hs.batch.Batch()
    stream = ChatStream(hs.Parser(), id="c", model="m", created=1)
    slot = batch.add(stream)
    with pytest.raises(ValueError, match=rf"slot {slot}: this stream has not started"):
        batch.feed_sse([slot], [13225])
    stream.start()
    assert [*batch.feed_sse([slot], [200005])] == [b""]
    stream.error("mine")
    with pytest.raises(ValueError, match=rf"slot {slot}: this stream has ended"):
        batch.feed_sse([slot], [17196])
    assert batch.close(slot) is stream


def test_a_format_that_was_compiled_anew_is_the_same():
    """Threads that use a format first, at the same time, compile it twice."""
    vocab = tokens("think").vocab
    batch = Batch("think", vocab, 2)
    for k in range(20):  # more than a vocabulary remembers
        row = hs.Format(name=f"row{k}", think=("<t>", "</t>"))
        hs.Parser(row, vocab, check_stops=False)
    again = hs.Parser("think", vocab)
    batch.feed([batch.add(again)], [5])
    assert (again.position, len(batch.feed([0, batch.open()], [5, 6]))) == (1, 3)
    with pytest.raises(ValueError, match="the batch is 'think' on"):
        batch.add(hs.Parser(hs.Format(name="think", think=("<t>", "</t>")), vocab))


def test_the_options_of_a_batch():
    for capacity in (0, -1, 2**20 + 1):
        with pytest.raises(ValueError, match="capacity is a number of slots"):
            Batch(capacity=capacity)
    with pytest.raises(ValueError, match="trim is"):
        Batch(trim="all")
    with pytest.raises(TypeError, match="strict"):
        Batch(strict=True)
    batch = Batch("think", tokens("think").vocab, capacity=3)
    assert (batch.format, batch.vocab, batch.capacity) == ("think", tokens("think").vocab, 3)
    with pytest.raises(ValueError, match="no vocabulary"):
        (lambda textual: textual.feed([textual.open()], [1]))(Batch("think"))


def test_tools_are_the_slot_s():
    batch = Batch(capacity=2)
    slots = [batch.open(tools=["f"]), batch.open(tools=[])]
    columns = batch.feed(slots, TURN * 2, [0, len(TURN), 2 * len(TURN)])
    assert [slot for slot, event in columns if isinstance(event, hs.ToolCallStart)] == slots[:1]


# --- a step -------------------------------------------------------------------------------------------------------


BAD = {
    "a slot twice": (([0, 1, 0], [1, 2, 3]), ValueError, "slot 0 is given twice"),
    "no such slot": (([0, 9], [1, 2]), ValueError, "slot 9 is not open"),
    "closed": (([0, 3], [1, 2]), ValueError, "slot 3 is not open"),
    "finished": (([0, 2], [1, 2]), ValueError, "(the|this) stream (is finished|has ended)"),
    "fed text": (([0, 4], [1, 2]), ValueError, "either ids or text"),
    "fewer ids": (([0, 1], [1]), ValueError, "2 slots and 1 ids"),
    "more ids": (([0], [1, 2]), ValueError, "1 slots and 2 ids"),
    "no id": (([0, 1], [1, -1]), ValueError, r"ids\[1\] is -1"),
    "text": (([0], "x"), TypeError, "token ids are one int, .*, not str"),
    "bad slots": (("0", [1]), TypeError, "slots, read like token ids: "),
    "bad offsets": (([0], [1], 0.5), TypeError, "offsets, read like token ids: "),
    "few offsets": (([0, 1], [1, 2], [0, 1]), ValueError, "2 slots need 3 offsets, not 2"),
    "offsets go back": (([0, 1], [1, 2], [0, 2, 1]), ValueError, r"offsets\[2\] is 1, less than offsets\[1\], 2"),
    "offsets go too far": (([0, 1], [1, 2], [0, 1, 3]), ValueError, r"offsets\[2\] is 3"),
    "the first offset too far": (([0], [1], [2, 2]), ValueError, r"offsets\[0\] is 2"),
    "too many": ((range(9), range(9)), ValueError, "9 slots in one step; the batch has 8"),
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("verb", ["feed", "feed_sse"])
def test_a_step_that_is_refused_changes_nothing(what, verb):
    arguments, error, message = BAD[what]
    batch = Batch(capacity=8)
    streams = [started(chat(hs.Parser())) if verb == "feed_sse" else hs.Parser() for _ in range(5)]
    for stream in streams:
        batch.add(stream)
    streams[0].feed(INSIDE)
    streams[1].feed(INSIDE)
    streams[2].finish("stop")
    streams[4].feed_text("x")
    batch.close(3)
    before = [batch[slot].to_bytes() for slot in (0, 1, 2, 4)]
    with pytest.raises(error, match=message):
        getattr(batch, verb)(*arguments)
    assert [batch[slot].to_bytes() for slot in (0, 1, 2, 4)] == before
    taken = streams[0].feed(11)
    assert b'"reasoning":","' in taken if verb == "feed_sse" else taken == (hs.ReasoningDelta(",", 4, 5),)
    getattr(batch, verb)([0, 1], [11, 11])
    assert (batch[0].position, batch[1].position) == (6, 5)


def test_frames_need_emitters_and_emitters_frames():
    batch = Batch(capacity=2)
    slots = [batch.add(started(chat(hs.Parser()))), batch.open()]
    with pytest.raises(ValueError, match="slot 1 has no emitter"):
        batch.feed_sse(slots, [1, 2])
    with pytest.raises(ValueError, match=r"slot 0 has an emitter: use feed_sse\(\)"):
        batch.feed(slots, [1, 2])
    assert [batch[slot].position for slot in slots] == [0, 0]
    batch.close(0)
    assert batch.open() == 0
    batch.feed([0], [1])


def test_one_parser_in_two_slots():
    """It is in one at a time, of whatever batch; also when its batch is no more."""
    batch, other = Batch(capacity=3), Batch()
    parser, emitter = hs.Parser(), chat(hs.Parser())
    slot = batch.add(parser)
    batch.add(emitter)
    for again in (batch, other):
        for stream in (parser, emitter, emitter.parser):
            with pytest.raises(ValueError, match="this stream has a slot already, in this batch or another"):
                again.add(stream)
    assert (len(batch), len(other)) == (2, 0)
    assert batch.close(slot) is parser
    assert other.add(parser) == 0
    del batch
    gc.collect()
    assert other.add(emitter) == 1
    assert len(parser.feed(INSIDE)) == 2


@pytest.mark.parametrize("kind", ["list", "tuple", "range", "i", "q", "I", "H", "numpy"])
def test_what_slots_and_ids_may_be(kind):
    def made(values):
        if kind == "numpy":
            return pytest.importorskip("numpy").array(values, dtype="int64")[::1]
        if kind == "range":
            return range(values[0], values[-1] + 1)
        return {"list": list, "tuple": tuple}.get(kind, lambda some: array(kind, some))(values)

    batch = Batch(capacity=3)
    slots = made([batch.open() for _ in range(3)])
    batch.feed(slots, INSIDE * 3, [0, 4, 8, 12])
    assert [event.text for _, event in batch.feed(slots, made([11, 12, 13]))] == [",", "-", "."]
    assert [event.text for _, event in batch.feed(slots, made([11, 12, 13]), made([0, 1, 2, 3]))] == [",", "-", "."]


def test_pieces_of_no_length():
    batch = Batch(capacity=2)
    slots = [batch.open(), batch.open()]
    assert len(batch.feed(slots, [], [0, 0, 0])) == 0
    batch[0].feed_text("")  # nothing has been fed: it may yet be either
    assert len(batch.feed([], [], [0])) == 0
    columns = batch.feed(slots, INSIDE, [0, 0, 4])
    assert {slot for slot, _ in columns} == {1}
    assert [batch[slot].position for slot in slots] == [0, 4]


def test_a_slot_fed_by_itself_and_by_the_batch():
    batch, alone = Batch(capacity=1), hs.Parser()
    slot = batch.open()
    log, expected = [], []
    for at, tid in enumerate(TURN):
        log += batch[slot].feed(tid) if at % 3 else [event for _, event in batch.feed([slot], [tid])]
        expected += alone.feed(tid)
    assert log == expected


def test_long_pieces_and_their_memory_given_back():
    batch, parser = Batch(capacity=1), hs.Parser()
    slot = batch.open()
    before = sys.getsizeof(batch)
    ids = TURN * 2000
    assert [event for _, event in batch.feed([slot], ids, [0, len(ids)])] == list(parser.feed(ids))
    assert sys.getsizeof(batch) == before


def test_a_slot_costs_136_bytes_and_a_parser():
    small, large = Batch(capacity=1000), Batch(capacity=2000)
    assert sys.getsizeof(large) - sys.getsizeof(small) == 136 * 1000


def test_streams_are_freed_with_their_slots():
    batch = Batch(capacity=2)
    emitter = chat(hs.Parser())
    count = sys.getrefcount(emitter)
    slot = batch.add(emitter)
    assert sys.getrefcount(emitter) == count + 1
    batch.close(slot)
    assert sys.getrefcount(emitter) == count
    batch.add(emitter)
    del batch
    gc.collect()
    assert sys.getrefcount(emitter) == count


def test_a_batch_in_a_cycle_leaves_its_streams_free():
    class Knowing(ChatStream):
        batch: Batch

    batch, parser = Batch(), hs.Parser()
    emitter = Knowing(hs.Parser(), id="c", model="m", created=1)
    emitter.batch = batch
    batch.add(emitter)
    batch.add(parser)
    count = sys.getrefcount(parser)
    del emitter, batch
    gc.collect()
    assert sys.getrefcount(parser) == count - 1
    assert Batch().add(parser) == 0


def test_blocks_leave_no_references():
    batch = Batch(capacity=1)
    columns = batch.feed([batch.open()], INSIDE, [0, 4])
    counts = []
    for _ in range(2):
        for _ in range(1000):
            memoryview(columns._block)
        counts.append(sys.getrefcount(None))
    assert counts[1] - counts[0] < 100
    view = memoryview(columns._block)
    assert 34 * len(columns) + 8 + len(columns.text) == 97
    assert (view.readonly, view.format, view.shape, view.strides) == (True, "B", (97,), (1,))
    with pytest.raises(TypeError, match="read-write"):
        struct.pack_into("B", columns._block, 0, 1)


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([1, 3], "offsets[0] is 1: offsets begin at 0, or ids would be lost"),
        ([0, 2], "the last offset is 2, and there are 3 ids: offsets end at the number of ids"),
        ([0, 4], "offsets[1] is 4: there are 3 ids"),
    ],
)
def test_offsets_cover_all_ids(offsets, message):
    """A scheduler that is off by one must hear of it: an id that no slot takes is lost text."""
    batch = hs.batch.Batch()
    slot = batch.open()
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        batch.feed([slot], [200005, 17196, 200008], offsets)
    assert batch[slot].position == 0


def test_ids_without_slots_are_refused():
    with pytest.raises(ValueError, match="the last offset is 0, and there are 1 ids"):
        hs.batch.Batch().feed([], [1], [0])
    assert len(hs.batch.Batch().feed([], [], [0])) == 0
