"""What engines ask: the answers are those that a parser's events give."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import random_streams
import random_tags
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_tags_text import spellings_of
from tag_streams import TAG_FORMATS, tokens

import harmonystream as hs
from harmonystream.formats import control_markers, format_of

HARMONY = hs.inside.Markup()
VOCAB = hs.vocab.o200k_harmony()
HEAD = "<|start|>assistant"
Q = "<|channel|>analysis<|message|>"


def ids_of(text: str) -> list[int]:
    return VOCAB.encode(text, control=True)


# --- markers ---


def test_the_markers_of_harmony():
    assert (HARMONY.reasoning_end, HARMONY.call_end) == ((200007,), (200012,))
    assert (HARMONY.reasoning_start, HARMONY.call_start) == ((), ())
    assert HARMONY.stops == hs.Parser().stop_ids


@pytest.mark.parametrize("name", TAG_FORMATS)
def test_the_markers_of_a_row_are_its_tokens(name):
    vocab = tokens(name, "added").vocab
    markup, row = hs.inside.Markup(name, vocab), format_of(name)
    said = {
        marker: vocab.token_bytes(tid).decode()
        for field in ("reasoning_start", "reasoning_end", "call_start", "call_end", "stops")
        for marker, tid in [(f"{field} {tid}", tid) for tid in getattr(markup, field)]
    }
    known = {spelling for spellings in control_markers(row) for spelling in spellings}
    for field in (row.think, row.section, row.call):
        for marker in field or ():
            known |= {marker} if isinstance(marker, str) else set(marker)
    assert set(said.values()) <= known | set(row.stops)
    kinds = spellings_of(row)
    tokens_of = {kind: [one for one in some if one in vocab.control] for kind, some in kinds.items()}
    outer = "section" if row.section else "call"
    assert bool(tokens_of.get("think_open")) == bool(markup.reasoning_start)
    assert bool(tokens_of.get("think_close")) == bool(markup.reasoning_end)
    assert bool(tokens_of.get(f"{outer}_open")) == bool(markup.call_start)
    assert bool(tokens_of.get(f"{outer}_close")) == bool(markup.call_end)


def test_a_marker_that_is_no_token_has_no_id():
    vocab = hs.Vocab([bytes([byte]) for byte in range(256)], {"<|im_end|>": 256})
    markup = hs.inside.Markup("hermes", vocab)
    assert (markup.reasoning_start, markup.reasoning_end, markup.call_start, markup.call_end) == ((), (), (), ())
    assert markup.stops == (256,)


# --- ordinary tokens ---


@settings(max_examples=60)
@given(st.data())
def test_ordinary_tokens_are_text_in_any_place(data):
    """In the middle of a plain answer, each is one delta of its own text, and nothing else happens."""
    name = data.draw(st.sampled_from(TAG_FORMATS))
    vocab = tokens(name, data.draw(random_tags.vocabularies)).vocab
    markup = hs.inside.Markup(name, vocab)
    tid = data.draw(st.integers(0, len(vocab)))
    parser = hs.Parser(name, vocab, start="answer", check_stops=False, trim="none")
    parser.feed(tid)
    if markup.is_ordinary(tid):
        events = [*parser.feed(tid), *parser.finish()]
        assert {type(event) for event in events} <= {hs.MessageStart, hs.ContentDelta, hs.MessageEnd, hs.StreamEnd}
        assert not [one for one in parser.deviations if one.code not in ("invalid-utf8",)]
    if tid in vocab and (vocab.is_control(tid) or b"<" in vocab.token_bytes(tid)) and name == "hermes":
        assert not markup.is_ordinary(tid)


def test_control_ids_and_unknown_ids_are_not_ordinary():
    assert [HARMONY.is_ordinary(tid) for tid in (*ids_of(Q), 199998, len(VOCAB), 2**40, -1)] == [
        False, *[True] * (len(ids_of(Q)) - 2), False, False, False, False, False,
    ]  # fmt: skip
    with pytest.raises(TypeError):
        HARMONY.is_ordinary("x")


# --- where a prompt leaves the model ---


@pytest.mark.parametrize(
    ("prompt", "where"),
    [
        (HEAD, "content"),
        ("", "content"),
        ("<|start|>user<|message|>Hi<|end|>" + HEAD, "content"),
        (HEAD + "<|channel|>comm", "content"),
        (HEAD + Q + "Well", "reasoning"),
        (HEAD + "<|channel|>final<|message|>", "answer"),
        (HEAD + "<|channel|>commentary<|message|>I will", "content"),
        (HEAD + " to=functions.f<|channel|>commentary<|message|>{", "call"),
    ],
)
def test_where_a_prompt_of_harmony_leaves_off(prompt, where):
    assert HARMONY.where(prompt) == HARMONY.where(ids_of(prompt)) == where


@pytest.mark.parametrize(
    ("prompt", "where"),
    [
        ("<|im_start|>assistant\n", "content"),
        ("<|im_start|>assistant\n<think>\n", "reasoning"),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", "answer"),
        ("<|im_start|>user\nSay <think><|im_end|>\n<|im_start|>assistant\n", "content"),
    ],
)
def test_where_a_prompt_with_tags_leaves_off(prompt, where):
    vocab = tokens("hermes", "added").vocab
    assert hs.inside.Markup("hermes", vocab).where(prompt) == where
    region = hs.Parser("hermes", vocab, prompt=prompt).region
    assert (region is hs.Region.REASONING) == (where == "reasoning")


# --- where reasoning ends ---


def by_events(make: Any, ids: list[int]) -> int | None:
    """The slow way: one id after the other, until the parser is in something else after reasoning, or has said it."""
    parser = make()
    reasoned = parser.region is hs.Region.REASONING
    for at, tid in enumerate(ids):
        events = parser.feed([tid])
        reasoned = reasoned or parser.region is hs.Region.REASONING
        if parser.region in (hs.Region.CONTENT, hs.Region.ARGUMENTS) and (reasoned or parser.format == "harmony"):
            return at + 1
        for event in () if reasoned or parser.format == "harmony" else events:
            said = isinstance(event, hs.ContentDelta) and event.text.strip(" \t\r\n")
            if said or isinstance(event, hs.ToolCallStart):
                return event.start
        if parser.region is hs.Region.DONE:
            return None
    return None


@given(random_streams.id_streams, st.sampled_from(["auto", "reasoning", ""]))
def test_the_end_of_reasoning_in_harmony(ids, start):
    expected = by_events(lambda: hs.Parser(start=start), ids)
    assert HARMONY.find_reasoning_end(ids, start=start) == expected


@pytest.mark.parametrize("start", ["auto", "reasoning"])
@settings(max_examples=60)
@given(data=st.data())
def test_the_end_of_reasoning_with_tags(data, start):
    """Where only a closer ends it: calls in open reasoning are told apart below."""
    name = data.draw(st.sampled_from([one for one in TAG_FORMATS if format_of(one).think]))
    vocabulary = data.draw(random_tags.vocabularies)
    vocab = tokens(name, vocabulary).vocab
    ids = data.draw(random_tags.id_streams(name, vocabulary))
    found = hs.inside.Markup(name, vocab).find_reasoning_end(ids, start=start)
    parser = hs.Parser(name, vocab, start=start, check_stops=False)
    said = [event for tid in ids[:found] for event in parser.feed([tid])]
    content = [one for one in said if isinstance(one, hs.ContentDelta) and one.text.strip(" \t\r\n")]
    if found is None:
        assert not content or any(isinstance(one, hs.ReasoningDelta) for one in said) or start == "reasoning"
    elif found:
        assert parser.region is not hs.Region.REASONING
    assert found is None or 0 <= found <= len(ids)


def row_vocab() -> hs.Vocab:
    control = {"<|im_end|>": 256, "<think>": 257, "</think>": 258, "<tool_call>": 259, "</tool_call>": 260}
    text = {tid: name.encode() for name, tid in control.items() if tid > 256}
    return hs.vocab.from_bytes({**{byte: bytes([byte]) for byte in range(256)}, **text}, {"<|im_end|>": 256})


@pytest.mark.parametrize(
    ("pieces", "start", "found"),
    [
        ((257, "Hm", 258, "\n\nSo"), "auto", 4),
        (("Hm", 258, "\n\nSo"), "reasoning", 3),
        (("</think>!",), "reasoning", len("</think>")),  # spelled in letters
        (("Hm",), "reasoning", None),
        (("\n", 257, "Hm", 258), "auto", 5),
        (("\nYes",), "auto", 0),
        (("Yes", 257), "auto", 0),
        ((259, '{"name": "f", "arguments": {}}', 260), "auto", 0),
        (("Hm", 258, 256), "reasoning", 3),
        (("Hm", 256), "reasoning", None),
        (("x",), "answer", 0),
        ((), "answer", 0),
    ],
)
def test_cases_of_the_end_of_reasoning(pieces, start, found):
    ids = [tid for one in pieces for tid in ([one] if isinstance(one, int) else one.encode())]
    assert hs.inside.Markup("hermes", row_vocab()).find_reasoning_end(ids, start=start) == found


def test_a_prompt_decides_where_the_output_begins():
    markup = hs.inside.Markup("hermes", row_vocab())
    assert markup.find_reasoning_end(list(b"Yes"), prompt="<think>") is None
    assert markup.find_reasoning_end(list(b"Yes"), prompt="<think></think>") == 0
    assert markup.find_reasoning_end(list(b"Yes"), prompt="") == 0


def test_a_long_output_is_read_once():
    ids = [*ids_of(Q), *ids_of(" word") * 50_000, *ids_of("<|end|>" + HEAD + "<|channel|>final<|message|>"), 13]
    assert HARMONY.find_reasoning_end(ids) == len(ids) - 1


# --- its own kind ---


def test_what_it_needs():
    with pytest.raises(ValueError, match="pass the model's, Markup"):
        hs.inside.Markup("hermes")
    with pytest.raises(hs.errors.FormatError):
        hs.inside.Markup("nothing", VOCAB)
    with pytest.raises(TypeError):
        hs.inside.Markup("hermes", {})
    with pytest.raises(TypeError, match="each process makes its own"):
        pickle.dumps(HARMONY)
    assert repr(HARMONY) == f"<Markup of harmony in {VOCAB!r}>"


@pytest.mark.parametrize(("ids", "error"), [("text", TypeError), ([-1], ValueError), ([1.5], TypeError)])
def test_ids_are_checked(ids, error):
    with pytest.raises(error):
        HARMONY.find_reasoning_end(ids)
