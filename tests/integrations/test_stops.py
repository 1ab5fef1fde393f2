"""Stop strings, in ids and in text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_server import of, stream_of, stream_over

import harmonystream as hs
from harmonystream.integrations.starlette import Finished, Framed, Sampled, stopping, whole_response

VOCAB = hs.vocab.o200k_harmony()
FINAL = [200005, 17196, 200008]  # <|channel|>final<|message|>
SINGLE = {text: tid for tid in range(100) if len(text := VOCAB.token_bytes(tid)) == 1}
TWO_NEWLINES = 279  # one token


def ids_of(text: str) -> list[int]:
    """A token for each byte."""
    known = {VOCAB.token_bytes(tid): tid for tid in range(256)}
    return [known[bytes([byte])] for byte in text.encode()]


def answered(items: list[Any], stops: Any, api: str = "chat", **options: Any) -> Any:
    stream = stream_of(api)
    return asyncio.run(whole_response(stopping(of(*items)(), stops, stream, **options), stream))


def content(items: list[Any], stops: Any, **options: Any) -> tuple[str, Any]:
    choice = answered(items, stops, **options)["choices"][0]
    return choice["message"]["content"], choice.get("stop_reason")


def test_ids_end_where_the_stop_string_begins():
    items = [*FINAL, *ids_of("One, two.\n\nThree.")]
    assert content(items, "\n\n") == ("One, two.", "\n\n")
    assert content([FINAL, ids_of("One, two.\n"), ids_of("\nThree.")], ["x", "\n\n"]) == ("One, two.", "\n\n")
    whole = answered(items, "\n\n")
    assert whole["choices"][0]["finish_reason"] == "stop"
    assert whole["usage"]["completion_tokens"] == 3 + len("One, two.\n\n")  # the engine has made those of the stop, too


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
def test_each_api_gets_the_stop_string(api):
    made = answered([*FINAL, *ids_of("Hi END x")], " END", api)
    if api == "messages":
        assert (made["stop_reason"], made["stop_sequence"], made["content"][0]["text"]) == (
            "stop_sequence",
            " END",
            "Hi",
        )
    elif api == "chat":
        assert (made["choices"][0]["stop_reason"], made["choices"][0]["message"]["content"]) == (" END", "Hi")
    else:
        assert (made["status"], made["output"][0]["content"][0]["text"]) == ("completed", "Hi")


def test_a_token_that_says_something_before_it_is_cut():
    token = next(
        tid for tid in range(200_000) if VOCAB.token_bytes(tid) == " 雨".encode() or VOCAB.token_bytes(tid) == b" the"
    )
    said = VOCAB.token_bytes(token).decode()
    assert content([*FINAL, *ids_of("Hi"), token, *ids_of("x")], said[2:]) == ("Hi" + said[:2], said[2:])


def test_what_is_only_the_beginning_of_a_stop_string_is_sent():
    assert content([*FINAL, *ids_of("a\nb\n"), 200002], "\n\n") == ("a\nb\n", None)
    assert content([*FINAL, *ids_of("a\nb\n")], "\n\n") == ("a\nb\n", None)
    assert content([*FINAL, *ids_of("a\n"), Finished("length")], "\n\n") == ("a\n", None)


def test_stop_strings_count_where_they_should():
    """Not in reasoning, in headers or in arguments, unless it is said: `final` is a word of every header."""
    thoughts = [200005, 35644, 200008, *ids_of("a\n\nb"), 200007, 200006, 173781]
    items = [*thoughts, *FINAL, *ids_of("c\n\nd")]
    found = answered(items, ["\n\n", "final"])["choices"][0]["message"]
    assert (found["reasoning"], found["content"]) == ("a\n\nb", "c")
    found = answered(items, ["\n\n"], regions=[hs.Region.REASONING])["choices"][0]["message"]
    assert (found["reasoning"], found["content"]) == ("a", "")


def test_a_marker_is_no_part_of_a_stop_string():
    items = [*FINAL, *ids_of("a\n"), 200007, 200006, 173781, *FINAL, *ids_of("\nb"), 200002]
    assert content(items, "\n\n") == ("a\n\n\n\nb", None)  # the two in the middle part the messages


def test_text_ends_there_too():
    for pieces in (
        ["<|channel|>final<|message|>One, t", "wo.\n", "\nThree."],
        [b"<|channel|>final<|message|>One, two.\n\nT"],
    ):
        assert content(pieces, ["\n\n"]) == ("One, two.", "\n\n")
    assert "usage" not in answered(["<|channel|>final<|message|>a\n\n"], "\n\n")  # nobody has counted


def test_no_stop_strings_are_the_source_itself():
    for stops in (None, [], ()):
        assert content([*FINAL, *ids_of("a"), 200002], stops) == ("a", None)


def test_several_choices_end_one_by_one():
    async def source() -> AsyncIterator[Any]:
        for choice in (0, 1):
            yield choice, FINAL
        for byte in ids_of("a\n\nb"):
            yield 0, byte
        for byte in ids_of("c\n"):
            yield 1, byte
        yield 0, ids_of("more")
        yield 1, Finished("length")

    streams = hs.ChatStream.several([hs.Parser(), hs.Parser()], id="1", model="m", created=0)
    made = asyncio.run(whole_response(stopping(source(), "\n\n", streams), streams))
    assert [(one["message"]["content"], one["finish_reason"]) for one in made["choices"]] == [
        ("a", "stop"),
        ("c\n", "length"),
    ]


def test_logprobs_stay_with_their_tokens():
    ids = [*FINAL, *ids_of("a\nb\n\nc")]
    entries = [{"token": str(tid), "logprob": -tid / 1000, "bytes": None, "top_logprobs": []} for tid in ids]
    for items in ([Sampled(ids, entries)], [Sampled([tid], [entry]) for tid, entry in zip(ids, entries)]):
        choice = answered(items, "\n\n")["choices"][0]
        assert choice["logprobs"]["content"] == entries[3:6]
        assert choice["message"]["content"] == "a\nb"
    for stop in ("cd", "c"):  # an id waits at the end of the output; the last one has the stop string
        choice = answered([Sampled([tid], [entry]) for tid, entry in zip(ids, entries)], stop)["choices"][0]
        assert choice["logprobs"]["content"] == (entries[3:] if stop == "cd" else entries[3:-1])
    with pytest.raises(ValueError, match="1 logprobs for 9 tokens"):
        answered([Sampled(ids, entries[:1])], "\n\n")


def test_the_source_is_closed_where_the_string_is_found_and_when_the_client_goes():
    closed: list[str] = []

    async def source() -> AsyncIterator[Any]:
        try:
            for byte in [*FINAL, *ids_of("a\n\nb" * 3)]:
                yield byte
        finally:
            closed.append("closed")

    async def run() -> None:
        stream = stream_of("chat")
        await whole_response(stopping(source(), "\n\n", stream), stream)
        assert closed == ["closed"]
        stream = stream_of("chat")
        stream.start()
        cut: Any = stopping(source(), "x", stream)
        await anext(cut)
        await cut.aclose()
        assert closed == ["closed"] * 2

    asyncio.run(run())


@pytest.mark.parametrize(
    ("stops", "error", "says"),
    [
        ([""], ValueError, "at least one character"),
        ([5], TypeError, r"stop is a string, a list of strings, or null, not \[5\]"),
        (b"x", TypeError, "not b'x'"),
        (5, TypeError, "not 5"),
        (0, TypeError, "not 0"),
        ({"END": 1}, TypeError, "not {'END': 1}"),
    ],
)
def test_what_is_no_stop_string_is_refused_before_the_response_begins(stops, error, says):
    with pytest.raises(error, match=says):
        stopping(of()(), stops, stream_of("chat"))


def test_frames_have_no_stop_strings():
    with pytest.raises(TypeError, match="not Framed, whose frames have been made"):
        answered([Framed(b"")], "x")


@settings(max_examples=150, deadline=None)
@given(
    text=st.text("ab\n雨", max_size=30),
    stops=st.lists(st.text("ab\n雨", min_size=1, max_size=4), min_size=1, max_size=3),
    cuts=st.lists(st.integers(1, 5), max_size=30),
)
def test_ids_text_and_any_cuts_end_at_the_string_that_is_complete_first(text, stops, cuts):
    ends = [
        (text.encode().find(stop.encode()) + len(stop.encode()), -len(stop.encode())) for stop in stops if stop in text
    ]
    end, length = min(ends, default=(len(text.encode()), 0))
    wanted = text.encode()[: end + length].decode()
    ids, pieces = [], []
    rest, said = ids_of(text), text
    for size in [*cuts, 99]:
        ids, rest = [*ids, rest[:size]], rest[size:]
        pieces, said = [*pieces, said[:size]], said[size:]
    for items in (ids, pieces):
        stream = stream_over(hs.Parser(start="answer"), "chat")
        given = of(*[item for item in items if item])()
        choice = asyncio.run(whole_response(stopping(given, stops, stream), stream))["choices"][0]
        assert choice["message"]["content"] == wanted
        assert ("stop_reason" in choice) == bool(ends)


@settings(max_examples=60)
@given(st.text("abN\n<é", max_size=40), st.lists(st.text("abN\n<é", min_size=1, max_size=4), min_size=1, max_size=3))
def test_a_decode_loop_reads_what_a_response_reads(text: str, stops: list[str]) -> None:
    """The ids of `StopChecker`, one step at a time in a batch, and those of `stopping`."""
    ids = [*FINAL, *VOCAB.encode(text)]
    made = answered([*ids], stops)["choices"][0]
    batch = hs.batch.Batch("harmony", capacity=1)
    stream = stream_of("chat")
    stream.start()
    slot = batch.add(stream)
    checker = hs.inside.StopChecker(stops, stream.parser)
    for tid in ids:
        taken = checker.take(tid)
        batch.feed_sse([slot], taken, [0, len(taken)])
    rest = checker.rest()
    batch.feed_sse([slot], rest, [0, len(rest)])
    if checker.found is not None:
        assert checker.take(13225) == []  # nothing follows it
    batch.finish(slot, "stop" if checker.found is None else {"type": "stop", "matched": checker.found})
    choice = stream.response()["choices"][0]
    assert choice["message"]["content"] == made["message"]["content"]
    assert choice.get("stop_reason") == made.get("stop_reason") == checker.found


@settings(max_examples=150)
@given(
    st.lists(
        st.sampled_from(["<think>", "</think>", "<tool_call>", "</tool_call>", "a", "b\n", "\n\n", "é", '{"name":'])
    ),
    st.lists(st.text("ab\n<é{", min_size=1, max_size=3), min_size=1, max_size=3),
    st.integers(0, 5),
)
def test_ids_in_which_no_stop_string_begins_change_nothing(parts: list[str], stops: list[str], control: int) -> None:
    """They are passed on before the checker's parser reads them."""
    ids = [tid for part in parts for tid in (VOCAB.encode(part) if control % 2 else ids_of(part))]

    def read(slow: bool) -> tuple[list[int], str | None]:
        checker = hs.inside.StopChecker(stops, hs.Parser("hermes", VOCAB, tools=["f"], check_stops=False))
        if slow:
            checker._texts.is_free = lambda tid: False  # type: ignore[method-assign]
        taken = [one for tid in ids for one in checker.take(tid)] + checker.rest()
        return taken, checker.found

    with patch("harmonystream.stop_strings._MOST_BEHIND", 1 + control):
        assert read(False) == read(True)


CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'


@pytest.mark.parametrize(
    ("output", "stop", "content", "calls", "found"),
    [
        ("<think>\nA.\n\nB.\n</think>\n\nOne.\n\nTwo.", "\n\n", "One.", 0, "\n\n"),
        (CALL, "\n", "", 1, None),
        (f"Look.\n{CALL}", "name", "Look.", 1, None),
        (f"Look.\n \n{CALL}", "\n", "Look.", 0, "\n"),
        (f"Look. STOP{CALL}", "STOP", "Look. ", 0, "STOP"),
        ("A <tool_call> is text, and so on", "is text", "A <tool_call> ", 0, "is text"),
        (f"{CALL}\nDone.\nNext", "\nN", "Done.", 1, "\nN"),
    ],
)
def test_tags_headers_and_what_a_tag_drops_have_no_stop_string(
    output: str, stop: str, content: str, calls: int, found: str | None
) -> None:
    """It is known only after these tokens that they are not text."""
    for ids in (VOCAB.encode(output), ids_of(output)):
        parser = hs.Parser("hermes", VOCAB, tools=["f"], check_stops=False)
        checker = hs.inside.StopChecker(stop, parser)
        events: list[Any] = []
        for tid in ids:
            events += parser.feed(checker.take(tid))
        events += parser.feed(checker.rest())
        events += parser.finish("stop" if checker.found is None else None)
        assert checker.found == found
        assert "".join(event.text for event in events if isinstance(event, hs.ContentDelta)) == content
        assert sum(isinstance(event, hs.ToolCallEnd) and event.complete for event in events) == calls

        stream = hs.ChatStream(hs.Parser("hermes", VOCAB, tools=["f"], check_stops=False), id="1", model="m", created=0)
        made = asyncio.run(whole_response(stopping(of(*ids)(), stop, stream), stream))["choices"][0]
        assert (made["message"]["content"], made.get("stop_reason")) == (content, found)
        assert len(made["message"].get("tool_calls", ())) == calls


@pytest.mark.parametrize("read", range(len(FINAL) + 3))
def test_a_stop_checker_may_be_made_at_any_time(read: int) -> None:
    """It searches what comes after that."""
    ids = [*FINAL, *VOCAB.encode("One two END three")]
    parser = hs.Parser()
    events = [*parser.feed(ids[:read])]
    checker = hs.inside.StopChecker(["END"], parser)
    for tid in ids[read:]:
        events += parser.feed(checker.take(tid))
    assert checker.found == "END"
    assert "".join(event.text for event in events if isinstance(event, hs.ContentDelta)) == "One two "


def test_a_stop_checker_at_its_end() -> None:
    checker = hs.inside.StopChecker("END", hs.Parser())
    assert (checker.rest(), checker.rest(), checker.found) == ([], [], None)
    strict = hs.Parser(strict=True)
    checker = hs.inside.StopChecker("END", strict)
    wrong = VOCAB.encode("<|channel|>final<|message|>Hi<|message|>", control=True)
    passed = [one for tid in wrong for one in checker.take(tid)]
    with pytest.raises(hs.errors.ParseError):
        strict.feed(passed)
    for _ in range(2):  # as a parser that has raised does
        with pytest.raises(hs.errors.ParseError):
            checker.rest()


def test_a_stop_checker_takes_what_a_request_may_have() -> None:
    assert hs.inside.StopChecker(None, hs.Parser(start="answer")).take(13225) == [13225]
    with pytest.raises(TypeError, match="stop is a string, a list of strings, or null, not 5"):
        hs.inside.StopChecker(5, hs.Parser())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one character"):
        hs.inside.StopChecker([""], hs.Parser())
    with pytest.raises(ValueError, match="regions are some of CONTENT, REASONING"):
        hs.inside.StopChecker("a", hs.Parser(), regions=[hs.Region.HEADER])
