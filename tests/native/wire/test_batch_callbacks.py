"""Emitters whose callbacks raise, or call the batch that feeds them."""

from __future__ import annotations

import pytest
from test_batch import INSIDE, TURN, chat, started

import harmonystream as hs
from harmonystream._native.wire.batch import Batch
from harmonystream.emit.chat import ChatStream


class Nosy(ChatStream):
    """Calls the batch that calls it, for each record after ask()."""

    asked = None

    def ask(self, asked):
        self.asked, self._watched = asked, True

    def _answer_tokens(self, start, stop, last):
        self.asked(start)
        return "null", ""

    def _tokens_written(self, delta, used):
        pass


def test_an_emitter_that_calls_the_batch_which_feeds_it():
    batch = Batch(capacity=2)
    emitter = Nosy(hs.Parser(), id="c", model="m", created=1)
    emitter.start()
    slot = batch.add(emitter)
    calls = [lambda: batch.feed([slot], [1]), lambda: batch.close(slot), batch.open, lambda: batch.finish(slot)]
    calls += [emitter.parser.fork, lambda: emitter.parser.reset()]
    refused = []

    def asked(start):
        for call in calls:
            with pytest.raises(RuntimeError, match="in use"):
                call()
            refused.append(start)

    emitter.ask(asked)
    batch.feed_sse([slot], TURN, [0, len(TURN)])
    assert len(refused) >= 6 * len(calls)


def test_emitters_that_raise_do_not_stop_the_others():
    batch, twin = Batch(capacity=4), chat(hs.Parser())
    emitters = [Nosy(hs.Parser(), id="c", model="m", created=1) for _ in range(4)]
    slots = [batch.add(emitter) for emitter in emitters]
    assert {emitter.start() for emitter in emitters} == {twin.start()}
    for number, emitter in enumerate(emitters):
        emitter.ask((lambda start: None) if number % 2 else (lambda start: {}[start]))
    with pytest.raises(
        hs.errors.EmitterError, match=r"the emitter in slot 2 has raised KeyError\(0\), and 1 more"
    ) as raised:
        batch.feed_sse(slots[::-1], TURN * 4, [len(TURN) * k for k in range(5)])
    frames = twin.feed(TURN)
    assert raised.value.frames == [frames, None, frames, None]
    assert {slot: type(error) for slot, error in raised.value.errors.items()} == {2: KeyError, 0: KeyError}
    assert raised.value.__cause__ is raised.value.errors[2]
    for slot in (0, 2):
        batch.close(slot)
    end = twin.finish("stop")
    assert [batch.finish(slot, "stop") for slot in (1, 3)] == [end, end]


def test_an_emitter_that_raises_leaves_its_parser_where_it_is():
    batch = Batch(capacity=1)
    emitter = Nosy(hs.Parser(), id="c", model="m", created=1)
    emitter.start()
    slot = batch.add(emitter)
    emitter.ask(lambda start: 1 / 0)
    with pytest.raises(hs.errors.EmitterError, match=r"slot 0 has raised ZeroDivisionError\('division by zero'\)$"):
        batch.feed_sse([slot], INSIDE, [0, 4])
    assert batch[0].region is hs.Region.REASONING
    with pytest.raises(ValueError, match="slot 0: this stream raised an error"):
        batch.feed_sse([slot], [11])
    assert batch.close(slot) is emitter
    assert emitter.error("mine").startswith(b'data: {"error"')


def test_an_error_that_cannot_be_shown_stops_nobody():
    class ShyError(Exception):
        def __repr__(self):
            raise ValueError("not me")

    def asked(event):
        raise ShyError

    batch = Batch(capacity=2)
    emitter, other = started(Nosy(hs.Parser(), id="c", model="m", created=1)), started(chat(hs.Parser()))
    slots = [batch.add(emitter), batch.add(other)]
    emitter.ask(asked)
    with pytest.raises(hs.errors.EmitterError, match=r"the emitter in slot 0 has raised ShyError$") as raised:
        batch.feed_sse(slots, INSIDE * 2, [0, 4, 8])
    assert raised.value.frames == [None, started(chat(hs.Parser())).feed(INSIDE)]
    assert other.feed(11)


def test_ctrl_c_in_a_callback_ends_the_step_s_streams():
    """What the step has made is lost, so nobody goes on as if nothing had happened."""
    batch = Batch(capacity=2)
    emitter, other = started(Nosy(hs.Parser(), id="c", model="m", created=1)), started(chat(hs.Parser()))
    slots = [batch.add(emitter), batch.add(other)]

    def asked(event):
        raise KeyboardInterrupt

    emitter.ask(asked)
    with pytest.raises(KeyboardInterrupt):
        batch.feed_sse(slots, INSIDE * 2, [0, 4, 8])
    for call in (lambda: batch.feed_sse([slots[1]], [11]), lambda: batch.finish(slots[1], "stop")):
        with pytest.raises(ValueError, match="this stream raised an error halfway"):
            call()
    assert batch.close(slots[1]).error("mine").startswith(b'data: {"error"')


def test_a_step_refuses_an_emitter_that_broke_or_ended_since_the_last_one():
    """The plan of a step looks at an emitter only if somebody has used it since the last step."""
    batch = Batch(capacity=3)
    broken, ended, used = (
        started(Nosy(hs.Parser(), id="c", model="m", created=1)),
        *(started(chat(hs.Parser())) for _ in range(2)),
    )
    slots = [batch.add(stream) for stream in (broken, ended, used)]
    batch.feed_sse(slots, INSIDE[:3] * 3, [0, 3, 6, 9])

    broken.ask(lambda start: 1 / 0)
    with pytest.raises(hs.errors.EmitterError):
        batch.feed_sse(slots, [200007] * 3)  # the end of the message
    for _ in range(2):
        with pytest.raises(ValueError, match="slot 0: this stream raised an error halfway"):
            batch.feed_sse(slots, [11, 11, 11])
    assert ended.error("mine")
    for _ in range(2):
        with pytest.raises(ValueError, match="slot 1: this stream has ended"):
            batch.feed_sse(slots[1:], [11, 11])
    assert used.feed(11)
    assert batch.feed_sse(slots[2:], [11])[0]
    used.finish("stop")
    with pytest.raises(ValueError, match="slot 2: this stream has ended"):
        batch.feed_sse(slots[2:], [11])
