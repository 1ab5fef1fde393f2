"""Parser: where a stream begins, how it ends, and what it tells on the way."""

from __future__ import annotations

import array
import contextlib
import gc
import sys
import threading
import tracemalloc

import pytest
from streams import to_ids

import harmonystream as hs
from harmonystream import Region

CALL = to_ids(b'<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":1}<|call|>')
ANSWER = to_ids(b"<|channel|>final<|message|>ok<|return|>")


def kinds(events):
    return [type(event).__name__ for event in events]


# -- the beginning -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["auto", "content", "<|start|>assistant"])
def test_a_stream_begins_in_the_assistants_header(start):
    parser = hs.Parser(start=start)
    assert (parser.region, parser.role, parser.position) == (Region.HEADER, None, 0)
    assert parser.feed(ANSWER) == hs.Parser().feed(ANSWER)


@pytest.mark.parametrize(
    ("start", "channel", "region", "kind"),
    [
        ("reasoning", "analysis", Region.REASONING, hs.ReasoningDelta),
        ("answer", "final", Region.CONTENT, hs.ContentDelta),
    ],
)
def test_a_stream_may_begin_inside_a_message(start, channel, region, kind):
    parser = hs.Parser(start=start)
    assert (parser.region, parser.role, parser.channel) == (region, "assistant", channel)
    opened, delta = parser.feed(12194)
    assert opened == hs.MessageStart("assistant", channel, None, None, 0, 0)
    assert (type(delta), delta.text, delta.start, delta.stop) == (kind, "Hi", 0, 1)


def test_a_forced_call_is_announced_with_its_name():
    parser = hs.Parser(start='<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"city":')
    assert (parser.region, parser.recipient, parser.content_type) == (Region.ARGUMENTS, "functions.f", "json")
    events = parser.feed(to_ids(b'"SF"}<|call|>')) + parser.finish()
    assert kinds(events) == ["MessageStart", "ToolCallStart", "ToolCallDelta", "ToolCallEnd", "MessageEnd", "StreamEnd"]
    assert (events[1].name, events[2].arguments, events[3].balanced) == ("f", '"SF"}', True)


def test_finish_announces_what_the_prompt_opened():
    events = hs.Parser(start="answer").finish("length")
    assert kinds(events) == ["MessageStart", "MessageEnd", "StreamEnd"]


def test_nothing_written_yet():
    parser = hs.Parser(start="")
    assert parser.region is Region.START
    events = parser.feed(to_ids(b"<|start|>user<|message|>hi<|end|><|start|>assistant") + ANSWER)
    assert [event.role for event in events if type(event) is hs.MessageStart] == ["user", "assistant"]


@pytest.mark.parametrize("start", ["final", "Reasoning", None, 3, b"answer", "assistant"])
def test_an_unknown_start_is_refused(start):
    with pytest.raises(ValueError, match="start is 'auto', 'content'"):
        hs.Parser(start=start)


def test_a_start_that_ends_inside_a_marker_is_refused():
    with pytest.raises(ValueError, match=r"inside a marker: '<\|mess'"):
        hs.Parser(start="<|channel|>final<|mess")


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"format": "nonsense"}, hs.errors.FormatError, "unknown format 'nonsense'; known: harmony"),
        ({"format": "nonsense.tml"}, hs.errors.FormatError, "; the name of a file with a row ends in .toml or .json"),
        ({"format": 3}, hs.errors.FormatError, "a format is a name of"),
        ({"vocab": "o200k"}, TypeError, "vocab is a Vocab, not str"),
        ({"vocab": hs.vocab.from_bytes([b"a"], {})}, hs.errors.VocabError, r"lacks control ids.*<\|start\|>"),
        ({"trim": "all"}, ValueError, "'seams' or 'none', not 'all'"),
        ({"empty_args": None}, TypeError, "empty_args"),
        ({"empty_args": "x" * 300}, ValueError, "at most 256"),
        ({"start": "answer", "prompt": "x"}, ValueError, "not both"),
        ({"prompt": 1.5}, TypeError, "not 1.5"),
        ({"tools": "f"}, TypeError, "list of names"),
        ({"tools": [3]}, TypeError, "a name, a dict"),
        ({"nonsense": 1}, TypeError, "nonsense"),
    ],
)
def test_options_that_cannot_be_used(options, error, match):
    with pytest.raises(error, match=match):
        hs.Parser(**options)


# -- the end -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "reason", "expected"),
    [
        (ANSWER, None, "stop"),
        (ANSWER[:-1], None, None),
        (ANSWER[:-1], "stop", "stop"),
        (ANSWER[:-1], "length", "length"),
        (ANSWER, "length", "length"),
        (CALL, None, "tool_calls"),
        (CALL, "stop", "tool_calls"),
        (CALL, "tool_calls", "tool_calls"),
        (CALL, "length", "length"),
        (CALL[:-1], None, "tool_calls"),
        (CALL[:-2], None, None),
        (CALL[:-2], "stop", "tool_calls"),
        (CALL[:-2], "abort", "abort"),
        ([], None, None),
        ([], "tool_calls", "stop"),
    ],
)
def test_the_finish_reason(ids, reason, expected):
    parser = hs.Parser()
    parser.feed(ids)
    assert parser.finish(reason)[-1] == hs.StreamEnd(expected, len(ids), len(ids))


def test_after_the_end():
    parser = hs.Parser()
    parser.feed(ANSWER)
    assert kinds(parser.finish()) == ["StreamEnd"]
    assert parser.finished
    assert parser.finish() == parser.finish("length") == ()
    for verb, argument in [(parser.feed, 1), (parser.feed, []), (parser.feed_text, "x")]:
        with pytest.raises(ValueError, match=r"finished: call reset\(\)"):
            verb(argument)
    parser.reset()
    assert parser.feed(ANSWER) == hs.Parser().feed(ANSWER)


@pytest.mark.parametrize("reason", [1, b"stop", True])
def test_a_reason_is_text(reason):
    parser = hs.Parser()
    with pytest.raises(TypeError, match="reason as a str"):
        parser.finish(reason)
    assert not parser.finished


# -- on the way --------------------------------------------------------------------------------------------------------


def test_region_channel_and_calls_follow_the_stream():
    parser = hs.Parser()
    seen = []
    for tid in to_ids(b"<|channel|>analysis<|message|>a<|end|><|start|>assistant") + CALL:
        parser.feed(tid)
        seen.append((parser.region.name, parser.channel, parser.calls))
    steps = [step for i, step in enumerate(seen) if i == 0 or step != seen[i - 1]]
    assert steps == [
        ("HEADER", None, 0),
        ("REASONING", "analysis", 0),
        ("START", None, 0),
        ("HEADER", None, 0),
        ("ARGUMENTS", "commentary", 1),
        ("START", None, 1),
    ]


def test_usage_counts_every_token_once():
    parser = hs.Parser()
    parser.feed(to_ids(b"<|channel|>analysis<|message|>hm hm<|end|>\n<|start|>assistant") + CALL)
    assert parser.usage == hs.Usage(start=1, header=18, reasoning=2, content=0, arguments=5, suppressed=0, done=0)
    assert parser.usage.total == parser.position


def test_ids_and_text_do_not_mix():
    parser = hs.Parser()
    parser.feed(ANSWER[:1])
    with pytest.raises(ValueError, match=r"this one began with feed\(\)"):
        parser.feed_text("x")
    parser.reset()
    parser.feed_text("x")
    with pytest.raises(ValueError, match=r"this one began with feed_text\(\)"):
        parser.feed(1)


@pytest.mark.parametrize("text", [1, None, [65], bytearray(b"x"), 1.5])
def test_text_is_str_or_bytes(text):
    with pytest.raises(TypeError, match="str or bytes"):
        hs.Parser().feed_text(text)


def test_lone_surrogates_are_replaced():
    parser = hs.Parser(start="answer")
    assert parser.feed_text("a\ud83db")[1].text == "a�b"
    assert parser.feed_text("\ude00")[0].text == "�"


def test_a_plain_piece_of_text_is_handed_back_as_it_is():
    parser = hs.Parser(start="answer")
    parser.feed_text("x")
    piece = "some text, é too"
    assert parser.feed_text(piece)[0].text is piece


def test_empty_args():
    ids = [*CALL[: CALL.index(200008) + 1], 200012]
    for empty, expected in [("{}", ["{}"]), ("null", ["null"]), ("", [])]:
        parser = hs.Parser(empty_args=empty)
        events = parser.feed(ids)
        assert [event.arguments for event in events if type(event) is hs.ToolCallDelta] == expected
        assert next(event.balanced for event in events if type(event) is hs.ToolCallEnd) is bool(expected)


def test_what_it_says_of_itself():
    parser = hs.Parser(strict=True)
    assert (parser.format, parser.strict, parser.vocab) == ("harmony", True, hs.vocab.o200k_harmony())
    assert repr(parser) == "<Parser harmony: HEADER at 0>"
    for name in ("region", "usage", "channel", "position"):
        with pytest.raises(AttributeError):
            setattr(parser, name, None)
    with pytest.raises(TypeError):
        type("Sub", (hs.Parser,), {})


# -- forks, memory, threads --------------------------------------------------------------------------------------------


def test_a_fork_goes_its_own_way():
    parser = hs.Parser(tools=["f"])
    parser.feed(CALL[:-3])
    twin = parser.fork()
    rest = twin.feed(CALL[-3:]) + twin.finish()
    assert parser.region is Region.ARGUMENTS
    assert parser.feed(CALL[-3:]) + parser.finish() == rest
    with pytest.raises(ValueError, match="finished"):
        twin.fork().feed(1)


@pytest.mark.release
def test_a_parser_is_small_and_does_not_grow():
    parser = hs.Parser()
    assert sys.getsizeof(parser) <= 1024
    parser.feed(to_ids(b"<|channel|>analysis<|message|>"))
    ids = [12194] * 100_000
    parser.feed(ids)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(10):
            parser.feed(ids)
            for tid in ids[:1000]:
                parser.feed(tid)
        assert tracemalloc.get_traced_memory()[0] - before < 1024  # the last event, which the parser keeps for reuse
    finally:
        tracemalloc.stop()
    assert sys.getsizeof(parser) <= 1024


@pytest.mark.release
def test_one_parser_is_for_one_thread():
    """A second thread that calls while the first is inside is told so; it never corrupts the stream."""
    parser = hs.Parser(start="answer")
    ids = [12194] * 2_000_000
    refused = []

    def feed():
        try:
            parser.feed(ids)
        except RuntimeError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=feed) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert parser.position == len(ids) * (8 - len(refused))
    assert all("in use by another thread" in message for message in refused)


@pytest.mark.release
def test_the_shortcut_is_closed_while_another_thread_is_inside():
    parser = hs.Parser(start="answer")
    parser.feed(12194)
    ids = array.array("i", [12194]) * 5_000_000
    taken = 1

    def all_of_them():
        while parser.position < len(ids):  # the other one may be inside
            with contextlib.suppress(RuntimeError):
                parser.feed(ids)

    inside = threading.Thread(target=all_of_them)
    inside.start()
    while inside.is_alive():
        try:
            taken += len(parser.feed(12194))
        except RuntimeError:
            continue
    assert parser.position == parser.usage.content == len(ids) + taken


def test_nothing_fed_decides_nothing():
    parser = hs.Parser()
    assert parser.feed([]) == parser.feed_text("") == ()
    assert parser.feed(ANSWER) == hs.Parser().feed(ANSWER)


def test_subclasses_of_str_are_text():
    class Text(str):
        pass

    parser = hs.Parser(start="answer")
    assert parser.feed_text(Text("a"))[1] == hs.ContentDelta("a", "final", 0, 1)
    (delta,) = parser.feed_text(Text("b"))
    assert (type(delta.text), delta.text) == (str, "b")


def test_surrogates_are_replaced_one_by_one():
    whole, cut = hs.Parser(start="answer"), hs.Parser(start="answer")
    text = "".join(
        event.text for piece in ("\ud83d", "\ude00") for event in cut.feed_text(piece) if type(event) is hs.ContentDelta
    )
    assert whole.feed_text("\ud83d\ude00")[1].text == text == "��"


def test_a_stored_completion_may_begin_with_its_start():
    parser = hs.Parser(strict=True)
    events = parser.feed(to_ids(b"<|start|>assistant") + ANSWER)
    assert events[0] == hs.MessageStart("assistant", "final", None, None, 0, 5)
    assert parser.deviations == ()


def test_code_that_runs_while_ids_are_read_may_use_the_parser():
    """Arguments are read before the parser is entered."""
    parser = hs.Parser(start="answer")

    class Reenters:
        def __index__(self):
            parser.feed(11)
            return 12194

    assert parser.feed([Reenters()]) == (hs.ContentDelta("Hi", "final", 1, 2),)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the collector no longer runs inside of an allocation")
def test_nobody_takes_the_shortcut_while_the_stream_ends():
    """A finalizer that the collector runs then is refused, as everywhere else."""
    parser = hs.Parser(start="answer")
    parser.feed([12194, 13225])

    def finalize(phase: str, info: dict[str, int]) -> None:
        with contextlib.suppress(RuntimeError, ValueError):  # it is in use, or has ended
            parser.feed(13225)

    held = [(number, number) for number in range(5000)]  # none is left to be used again
    threshold = gc.get_threshold()
    gc.callbacks.append(finalize)
    gc.set_threshold(1)
    try:
        events = parser.finish("stop")
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(finalize)
    assert len(held) == 5000
    assert [(type(event).__name__, event.start) for event in events] == [
        ("MessageEnd", parser.position),  # nothing was read after the message had ended
        ("StreamEnd", parser.position),
    ]
