"""OpenStream, the part of a Parser that is no verb: its lock, what it refuses, and its properties between two calls."""

from __future__ import annotations

import threading

import pytest
from streams import to_ids

import harmonystream as hs
from harmonystream import Region, Usage

CALL = b'<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":1}'
CONTENT = b"<|channel|>final<|message|>ok"
REPEATED = b"<|channel|>final<|channel|>final<|message|>ok"  # one deviation
NOTHING = Usage(*[0] * len(Usage._fields))
PARTS = ("role", "channel", "recipient", "content_type")


def parts(parser: hs.Parser) -> tuple[object, ...]:
    return tuple(getattr(parser, name) for name in PARTS)


def test_the_properties_of_a_new_stream():
    parser = hs.Parser()
    assert (parser.region, parser.position, parser.calls, parser.usage) == (Region.HEADER, 0, 0, NOTHING)
    assert (parser.deviations, parser.deviation_count, parser.strict, parser.finished) == ((), 0, False, False)
    assert parts(parser) == (None, None, None, None)
    assert (parser.format, parser.vocab) == ("harmony", hs.vocab.o200k_harmony())


def test_the_properties_inside_a_call_and_after_it():
    parser = hs.Parser()
    ids = to_ids(CALL)
    parser.feed(ids)
    assert (parser.region, parser.position, parser.calls) == (Region.ARGUMENTS, len(ids), 1)
    assert parts(parser) == ("assistant", "commentary", "functions.f", "json")
    usage = parser.usage
    assert sum(usage) == len(ids)
    assert usage.arguments == len(to_ids(b'{"a":1}'))
    parser.feed(to_ids(b"<|call|>"))
    assert (parser.calls, parts(parser)) == (1, (None, None, None, None))
    parser.finish()
    assert parser.finished is True
    assert parser.usage.arguments == usage.arguments


def test_text_is_counted_in_bytes_and_a_possible_marker_not_yet():
    parser = hs.Parser()
    parser.feed_text(CONTENT + b"\xc3\xa4")
    assert parser.position == len(CONTENT) + 2
    parser.feed_text("<|e")
    assert parser.position == len(CONTENT) + 2
    parser.feed_text("h")
    assert (parser.position, parser.usage.content) == (len(CONTENT) + 6, len(b"ok") + 6)


def test_sixteen_deviations_are_kept_and_all_are_counted():
    parser = hs.Parser()
    for _ in range(20):
        parser.feed_text(REPEATED + b"<|end|><|start|>assistant")
    assert parser.deviation_count == 20
    assert [kept.code for kept in parser.deviations] == ["repeated-channel"] * 16
    places = [kept.position for kept in parser.deviations]
    assert places == sorted(set(places))


def test_the_parts_of_a_message_survive_a_snapshot():
    parser = hs.Parser()
    parser.feed(to_ids(CALL))
    again = hs.Parser.from_bytes(parser.to_bytes())
    assert (again.region, again.position, again.calls, again.usage) == (
        parser.region,
        parser.position,
        parser.calls,
        parser.usage,
    )
    assert parts(again) == parts(parser)


def test_a_stream_takes_either_ids_or_text():
    ids, text = hs.Parser(), hs.Parser()
    ids.feed(to_ids(CONTENT))
    text.feed_text(CONTENT)
    with pytest.raises(ValueError, match=r"either ids or text: this one began with feed\(\)"):
        ids.feed_text("more")
    with pytest.raises(ValueError, match=r"either ids or text: this one began with feed_text\(\)"):
        text.feed(to_ids(b" more"))
    assert (ids.feed(to_ids(b" more"))[0].text, text.feed_text(" more")[0].text) == (" more", " more")


def test_empty_input_does_not_choose_between_ids_and_text():
    parser = hs.Parser()
    assert (parser.feed([]), parser.feed_text("")) == ((), ())
    parser.feed_text(CONTENT)
    assert parser.position == len(CONTENT)


def test_a_finished_stream_refuses_both_until_it_is_reset():
    parser = hs.Parser()
    parser.finish()
    for feed, given in ((parser.feed, [1]), (parser.feed_text, "a")):
        with pytest.raises(ValueError, match=r"the stream is finished: call reset\(\)"):
            feed(given)
    parser.reset()
    parser.feed(to_ids(CONTENT))
    assert (parser.finished, parser.region) == (False, Region.CONTENT)


def test_a_failed_strict_stream_raises_the_same_error_again():
    parser = hs.Parser(strict=True)
    with pytest.raises(hs.errors.ParseError) as first:
        parser.feed(to_ids(REPEATED))
    with pytest.raises(hs.errors.ParseError) as again:
        parser.feed(to_ids(b"more"))
    assert (again.value.code, again.value.position) == (first.value.code, first.value.position)
    assert again.value.events == ()


def test_without_a_vocabulary_ids_are_refused_and_text_is_read():
    parser = hs.Parser("hermes")
    with pytest.raises(ValueError, match=r"this parser has no vocabulary for ids: .* or feed text to feed_text"):
        parser.feed([1])
    assert parser.feed_text("ok")[-1].text == "ok"


def test_a_call_inside_a_call_is_refused_and_harms_nothing():
    """The ids' own __index__ runs while the parser reads them."""
    parser = hs.Parser()
    parser.feed(to_ids(CONTENT))
    refused: list[RuntimeError] = []

    class Sly:
        def __index__(self) -> int:
            try:
                parser.feed_text("inside")
            except (RuntimeError, ValueError) as error:
                refused.append(error)
            return to_ids(b" a")[0]

    events = parser.feed([Sly(), *to_ids(b" b")])
    assert "".join(event.text for event in events) == " a b"
    assert len(refused) == 1


def test_threads_that_share_a_stream_get_an_error_or_their_events():
    parser = hs.Parser()
    parser.feed(to_ids(CONTENT))
    ids = to_ids(b" word") * 4000
    taken, refused = [0] * 4, [0] * 4
    gate = threading.Barrier(4)

    def run(number: int) -> None:
        gate.wait()
        for _ in range(20):
            try:
                taken[number] += len(parser.feed(ids)[0].text)
            except RuntimeError as error:
                assert "in use by another thread" in str(error)
                refused[number] += 1

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = len(" word") * 4000
    assert [count % whole for count in taken] == [0] * 4
    assert sum(taken) // whole + sum(refused) == 80
    assert parser.usage.content == 1 + (sum(taken) // whole) * 4000
