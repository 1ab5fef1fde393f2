"""A step, as it is planned and run without the GIL: all of it is done, or nothing. See also test_batch.py."""

from __future__ import annotations

import random

import pytest
from streams import to_ids

import harmonystream as hs
from harmonystream.emit.chat import ChatStream
from harmonystream.emit.messages import MessagesStream

TURN = to_ids(
    b"<|channel|>analysis<|message|>Think<|end|>"
    b"<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json"
    b'<|message|>{"a": "x\\n", "b": [1, 2]}<|call|><|start|>assistant<|channel|>final<|message|>Hi "you"<|return|>'
)


SAID = {
    "closed": "slot . is not open",
    "beyond": "slot 8 is not open",
    "twice": "slot . is given twice in one step",
    "kind": "has an emitter|has no emitter",
    "finished": "the stream is finished|slot .: this stream has ended",
    "text": "either ids or text",
    "descending": "offsets ascend|offsets, read like token ids: ",
    "too far": "is 30: there are 28 ids",
}


def state(stream):
    parser = getattr(stream, "parser", stream)
    return parser.to_bytes(), parser.usage, None if parser is stream else stream.response()


@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("place", ["first", "middle", "last"])
@pytest.mark.parametrize("fault", SAID)
def test_whatever_is_wrong_with_one_slot_leaves_all_as_they_were(framed, place, fault):
    batch = hs.batch.Batch(capacity=8)
    made = [ChatStream(hs.Parser(), id="c", model="m", created=1) if framed else hs.Parser() for _ in range(7)]
    for stream in made:
        if framed:
            stream.start()
        stream.feed(TURN[:9])
    slots, offsets = [batch.add(stream) for stream in made], [4 * k for k in range(8)]
    bad = {"first": 0, "middle": 3, "last": 6}[place]
    if fault == "closed":
        batch.close(slots[bad])
    elif fault == "beyond":
        slots[bad] = 8
    elif fault == "twice":
        slots[bad] = slots[bad - 1]
    elif fault == "kind":
        slots[bad] = batch.open() if framed else batch.add(ChatStream(hs.Parser(), id="c", model="m", created=1))
    elif fault == "finished":
        made[bad].finish("stop")
    elif fault == "text":
        made[bad].parser.reset() if framed else made[bad].reset()
        made[bad].feed_text("Hi")
    elif fault == "descending":
        offsets[bad + 1] = offsets[bad] - 1
    else:
        offsets[bad + 1 :] = [30] * (7 - bad)
    before = [state(stream) for stream in made]
    ids = TURN[9:37]
    for _ in range(2):
        with pytest.raises(ValueError, match=SAID[fault]):
            (batch.feed_sse if framed else batch.feed)(slots, ids, offsets)
    assert [state(stream) for stream in made] == before
    for k, stream in enumerate(made):
        if k != bad or fault in ("twice", "beyond", "kind", "descending", "too far", "closed"):
            stream.feed(TURN[9:])


@pytest.mark.parametrize("api", [ChatStream, MessagesStream])
@pytest.mark.parametrize("seed", range(20))
def test_plain_frames_and_those_that_need_python_in_one_step(api, seed):
    """Each stream stands somewhere else, so that a step has frames of both kinds, in any order."""
    rng = random.Random(seed)
    batch = hs.batch.Batch(capacity=16)
    more = {"created": 1} if api is ChatStream else {}
    pairs = [[api(hs.Parser(), id="c", model="m", **more) for _ in range(2)] for _ in range(16)]
    at = []
    for mine, twin in pairs:
        assert mine.start() == twin.start()
        at.append(rng.randrange(len(TURN)))
        assert mine.feed(TURN[: at[-1]]) == twin.feed(TURN[: at[-1]])
        batch.add(mine)
    while any(place < len(TURN) for place in at):
        slots = rng.sample(range(16), rng.randint(1, 16))
        pieces, offsets = [], [0]
        for slot in slots:
            pieces.append(TURN[at[slot] : at[slot] + rng.choice((0, 1, 1, 1, 2, 5))])
            at[slot] += len(pieces[-1])
            offsets.append(offsets[-1] + len(pieces[-1]))
        frames = batch.feed_sse(slots, [tid for piece in pieces for tid in piece], offsets)
        assert [*frames] == [pairs[slot][1].feed(piece) for slot, piece in zip(slots, pieces)]
    for slot, (mine, twin) in enumerate(pairs):
        assert batch.finish(slot, "stop") == twin.finish("stop")
        assert mine.response() == twin.response()


class Meddling(ChatStream):
    """Its callback changes another emitter of the step, which the step has passed, or will come to."""

    other = None
    seen = None

    def _answer_tokens(self, start, stop, last):
        if self.other is not None:
            self.other, other = None, self.other
            other._change_templates(other._templates())
            other._watched = False
            self.seen = other.response()["choices"][0]["message"]["content"]
        return "null", ""

    def _tokens_written(self, delta, used):
        pass


@pytest.mark.parametrize("order", [1, -1])
def test_a_callback_may_change_another_emitter_of_the_step(order):
    batch = hs.batch.Batch()
    kinds = (Meddling, ChatStream, ChatStream)
    meddler, other, twin = (kind(hs.Parser(), id="c", model="m", created=1) for kind in kinds)
    head = to_ids(b"<|channel|>final<|message|>Hi you")
    for stream in (meddler, other, twin):
        stream.start()
        stream.feed(head[:-1])  # its frame is made with the first delta
    meddler.other = other
    slots = [batch.add(meddler), batch.add(other)][::order]
    meddler._watched = True
    ids = {0: [200007], 1: head[-1:]}
    frames = batch.feed_sse(slots, [*ids[slots[0]], *ids[slots[1]]], [0, 1, 2])
    assert frames[slots.index(1)] == twin.feed(head[-1])
    assert meddler.seen == ("Hi" if order == 1 else "Hi you")  # the other one is before it, or after it
    assert other.feed(13225) == twin.feed(13225)
    assert other.response() == twin.response()


def no_calls(index: int) -> str:
    raise RuntimeError("no calls today")


def test_frames_that_came_before_a_failure_in_the_same_step_are_kept_for_the_end():
    batch = hs.batch.Batch()
    mine, twin = (ChatStream(hs.Parser(), id="c", model="m", created=1, call_id=no_calls) for _ in range(2))
    for stream in (mine, twin):
        stream.start()
        stream.feed(TURN[:4])  # the frame of the text that goes on is made
    rest = [*to_ids(b" again"), *TURN[4:]]
    with pytest.raises(RuntimeError):
        twin.feed(rest)
    slot = batch.add(mine)
    with pytest.raises(hs.errors.EmitterError) as raised:
        batch.feed_sse([slot], rest, [0, len(rest)])
    assert list(raised.value.errors) == [slot]
    ends = twin.error("It failed.")
    assert mine.error("It failed.") == ends
    assert ends.count(b"data: ") >= 3


@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("fault", ["finished", "text"])
def test_a_step_sees_what_happened_to_its_streams_since_the_last(framed, fault):
    """A batch remembers which streams can take ids. Whoever uses one by itself makes it look again."""
    batch = hs.batch.Batch(capacity=4)
    made = [ChatStream(hs.Parser(), id="c", model="m", created=1) if framed else hs.Parser() for _ in range(4)]
    for stream in made if framed else ():
        stream.start()
    slots = [batch.add(stream) for stream in made]
    feed = batch.feed_sse if framed else batch.feed
    for tid in TURN[:4]:
        feed(slots, [tid] * 4)
    parser = batch[slots[2]]
    parser.reset()  # an emitter's parser is not fed beside it
    if fault == "finished":
        parser.finish("stop")
    else:
        parser.feed_text("Hi")
    before = [batch[slot].position for slot in slots]
    with pytest.raises(ValueError, match=SAID[fault]):
        feed(slots, [TURN[4]] * 4)
    assert [batch[slot].position for slot in slots] == before
    parser.reset()
    feed(slots, [TURN[4]] * 4)
    assert [batch[slot].position for slot in slots] == [before[0] + 1, before[1] + 1, 1, before[3] + 1]


def test_a_slot_that_is_taken_again_is_looked_at_again():
    batch = hs.batch.Batch(capacity=2)
    slots = [batch.open(), batch.open()]
    batch.feed(slots, TURN[:2])
    first = batch.close(slots[0])
    parser = hs.Parser()
    parser.feed_text("Hi")
    assert batch.add(parser) == slots[0]
    first.feed(TURN[1:2])  # this stream has no slot any more
    with pytest.raises(ValueError, match="either ids or text"):
        batch.feed(slots, TURN[2:4])
    assert batch[slots[1]].position == 1
