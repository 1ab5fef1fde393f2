"""What keeps others out of a batch's streams while a step runs without the GIL: see also test_batch_threads.py."""

from __future__ import annotations

import gc
import re
import sys
import threading

import pytest

import harmonystream as hs
from harmonystream.emit.chat import ChatStream

FINAL = [200005, 17196, 200008]  # <|channel|>final<|message|>


class Waiting(ChatStream):
    """Stays in its callback until it is told to go on."""

    inside: threading.Event
    go_on: threading.Event

    def _answer_tokens(self, start, stop, last):
        self.inside.set()
        assert self.go_on.wait(30)
        return "null", ""

    def _tokens_written(self, delta, used):
        pass

    def _feed_with(self, ids, logprobs):
        return self._read(ids)


def waiting():
    stream = Waiting(hs.Parser(), id="c", model="m", created=1)
    stream.inside, stream.go_on = threading.Event(), threading.Event()
    stream.start()
    return stream


def plain():
    stream = ChatStream(hs.Parser(), id="c", model="m", created=1)
    stream.start()
    return stream


def meanwhile(stream, call, refused):
    """What is refused while `call`, in another thread, is in the stream's callback."""
    thread = threading.Thread(target=call)
    thread.start()
    try:
        assert stream.inside.wait(30)
        for other in refused:
            with pytest.raises(RuntimeError, match="in use"):
                other()
    finally:
        stream.go_on.set()
        thread.join()


@pytest.mark.parametrize("fed", ["before", "not yet"])
def test_all_streams_of_a_step_are_its_own(fed):
    """Also those that its callback has nothing to do with."""
    batch, stream, other, parser = hs.batch.Batch(), waiting(), plain(), hs.Parser()
    slots = [batch.add(stream), batch.add(other)]
    batch.add(parser)
    stream._watched = True
    if fed == "before":
        other.feed(FINAL)
    calls = [
        *(lambda s=s: s.feed(13225) for s in (stream, other)),
        *(lambda s=s: s.response() for s in (stream, other)),
        *(lambda s=s: s.finish("stop") for s in (stream, other)),
        *(lambda s=s: s.parser.reset() for s in (stream, other)),
        *(lambda s=s: s.error("mine") for s in (stream, other)),
        lambda: setattr(other, "_number", 5),
        lambda: setattr(other, "_watched", True),
        lambda: other._items(),
        lambda: other._change_templates(other._templates()),
        lambda: other.parser.fork(),
        lambda: batch.feed([0], [1]),
        lambda: batch.close(slots[1]),
        lambda: batch.finish(slots[1]),
    ]
    made = []
    ids = [*FINAL, 12194, 200007, *FINAL, 12194]
    meanwhile(stream, lambda: made.append([*batch.feed_sse(slots, ids * 2, [0, 9, 18])]), calls)
    twin = plain()
    if fed == "before":
        twin.feed(FINAL)
    assert made[0][1] == twin.feed(ids)
    assert made[0][0] == plain().feed(ids)
    assert other.feed(13225) == twin.feed(13225)
    assert len(parser.feed(FINAL)) == 1


def test_a_stream_that_is_in_use_is_not_taken():
    """Its callback is still at work: the step is refused, and no stream of it has changed."""
    batch, stream, other = hs.batch.Batch(), waiting(), plain()
    slots = [batch.add(other), batch.add(stream)]
    stream._watched = True
    step = lambda: batch.feed_sse(slots, FINAL * 2, [0, 3, 6])  # noqa: E731
    meanwhile(stream, lambda: stream.feed([*FINAL, 12194, 200007, *FINAL, 12194]), [step])
    assert (other.parser.position, stream.parser.position) == (0, 9)
    batch.feed_sse(slots, [*FINAL, 13225], [0, 3, 4])
    assert other.parser.position == 3


def test_a_stream_is_free_when_its_step_is_over():
    """Whether it went well or not."""
    batch, stream = hs.batch.Batch(), plain()
    slot = batch.add(stream)
    for bad in ([slot, slot], [slot, 5]):
        with pytest.raises(ValueError, match=r"given twice|is not open"):
            batch.feed_sse(bad, [1, 2])
    assert stream.feed(FINAL) == plain().feed(FINAL)
    batch.feed_sse([slot], [12194])
    assert stream.parser.region is hs.Region.CONTENT
    assert stream.response()["choices"][0]["message"]["content"] == "Hi"


def test_a_stream_outlives_its_batch():
    batch, parser, stream = hs.batch.Batch(), hs.Parser(), plain()
    batch.add(parser)
    batch.feed_sse([batch.add(stream)], FINAL, [0, 3])
    count = sys.getrefcount(parser)
    del batch
    gc.collect()
    assert sys.getrefcount(parser) == count - 1
    assert parser.feed([*FINAL, 12194])[-1] == hs.ContentDelta("Hi", "final", 3, 4)
    assert b'"content":"Hi"' in stream.feed(12194)


THOUGHTS = "<think>" + "a b " * 40 + "</think>" + "c d " * 40


def rushed(work, others):
    """What each of two threads has done, which changes hands as often as Python can: the errors of both."""
    interval, raised = sys.getswitchinterval(), []

    def run(task):
        try:
            task()
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in (work, others)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    return raised


@pytest.mark.parametrize("made", ["emitter", "parser"])
@pytest.mark.parametrize("format", ["hermes", "harmony"])
def test_the_lock_holds_during_a_long_call(made, format):
    """Another thread is refused while a long call is in the machine, whatever is open there. Nothing is lost."""
    texts = THOUGHTS if format == "hermes" else "<|channel|>analysis<|message|>a b<|end|><|start|>assistant"
    words = sorted({*re.findall(r"<[^>]*>| ?\w+| ", texts), "x"})
    names = [word for word in words if word.startswith("<|")]
    stops = ["<|return|>", "<|call|>", "<|constrain|>", "<|endoftext|>", "<|im_end|>", *names]
    words += [name for name in stops if name not in words]
    vocab = hs.vocab.from_bytes({i: word.encode() for i, word in enumerate(words)}, {n: words.index(n) for n in stops})
    ids = [words.index(word) for word in re.findall(r"<[^>]*>| ?\w+| ", texts)] * 3_000
    parser, done, taken = hs.Parser(format, vocab), threading.Event(), []
    stream = hs.ChatStream(parser, id="c", model="m", created=1) if made == "emitter" else parser
    if isinstance(stream, hs.ChatStream):
        stream.start()
    unit = words.index("x")

    def feed_all():
        for _ in range(2):
            while True:
                try:
                    taken.append(len(stream.feed(ids)) > 0)
                    break
                except RuntimeError:  # the other one is inside
                    pass
        done.set()

    def disturb():
        while not done.is_set():
            for call in (lambda: stream.feed(unit), lambda: stream.feed([unit])):
                try:
                    call()
                    taken.append(None)
                except RuntimeError:
                    pass
            assert parser.region in hs.Region

    assert rushed(feed_all, disturb) == []
    assert parser.position == parser.usage.total == 2 * len(ids) + taken.count(None)
