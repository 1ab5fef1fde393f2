"""What holds for every stream of every tag format: the native machine equals the reference, however the stream is cut,
and nothing is lost or invented."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tags import id_streams, markers, options, texts
from reference_tags import MAX_HOLD
from reference_tags_text import may_lack, spellings_of
from streams import as_tuple, random_chunks
from tag_streams import SHAPES, VOCABULARIES, Options, expected, outcome, schema, tokens

import harmonystream as hs
from harmonystream.formats import Format, format_of

every_shape = pytest.mark.parametrize("name", SHAPES)
every_pair_format = pytest.mark.parametrize("name", ["qwen3_coder", "hermes", "dsml", "glm", "seed_oss"])


def compare(options: Options, stream: Any, vocab: hs.Vocab | None, pieces: list[Any]) -> None:
    events, noted, usage = expected(options.reference(stream, vocab))
    got = outcome(options.parser(vocab), pieces, options.finish)
    assert (got[0], got[2]) == (events, usage), pieces
    assert got[1] is None or got[1] == noted, pieces


few = settings(max_examples=max(20, settings.default.max_examples // 8))


def pieces_of(stream: Any, seed: int) -> list[list[Any]]:
    dice = random.Random(seed)
    return [[stream], [stream[i : i + 1] for i in range(len(stream))], *(random_chunks(stream, dice) for _ in range(3))]


# --- the machine is the one that docs/tags.md describes, and no cut matters ---


@every_shape
@few
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_text_equals_the_reference_at_every_cut(name: str, data: st.DataObject, seed: int):
    chosen, stream = data.draw(options(name)), data.draw(texts(name))
    for pieces in pieces_of(stream, seed):
        compare(chosen, stream, None, pieces)


@every_shape
@few
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_ids_equal_the_reference_at_every_cut(name: str, data: st.DataObject, seed: int):
    vocabulary = data.draw(st.sampled_from(VOCABULARIES))
    chosen, stream = data.draw(options(name)), data.draw(id_streams(name, vocabulary))
    for pieces in pieces_of(stream, seed):
        compare(chosen, stream, tokens(name, vocabulary).vocab, pieces)


@every_shape
@few
@given(data=st.data())
def test_labels_equal_the_reference(name: str, data: st.DataObject):
    vocabulary = data.draw(st.sampled_from(VOCABULARIES))
    chosen = replace(data.draw(options(name)), finish=None, trim="seams", max_hold=MAX_HOLD)
    stream, vocab = data.draw(id_streams(name, vocabulary)), tokens(name, vocabulary).vocab
    regions = chosen.reference(stream, vocab).regions
    labels = hs.label(stream, name, vocab=vocab, tools=chosen.declared, start=chosen.start)
    assert [hs.Region(label).name.lower() for label in labels] == regions


# --- nothing is lost, nothing is invented ---


@every_shape
@few
@given(data=st.data())
def test_events_nest(name: str, data: st.DataObject):
    """One message; calls are numbered, and nothing but their own deltas comes while one is open."""
    chosen, stream = data.draw(options(name)), data.draw(texts(name))
    log = outcome(chosen.parser(), [stream], chosen.finish)[0]
    kinds = [event[0] for event in log]
    assert kinds[-1] == "StreamEnd"
    assert kinds[:-1][:1] + kinds[:-1][-1:] == (["MessageStart", "MessageEnd"] if stream else [])
    started, is_open = -1, False
    for event in log:
        match event[0]:
            case "ToolCallStart":
                assert not is_open and event[1] == started + 1
                started, is_open = started + 1, True
            case "ToolCallDelta":
                assert is_open and event[1] == started
            case "ToolCallEnd":
                assert is_open and event[1] == started
                is_open = False
            case "ReasoningDelta" | "ContentDelta":
                assert not is_open
    assert not is_open


@every_pair_format
@few
@given(data=st.data())
def test_arguments_of_a_complete_call_in_pairs_are_json(name: str, data: st.DataObject):
    chosen, stream = data.draw(options(name)), data.draw(texts(name))
    log, noted, _ = outcome(chosen.parser(), [stream], chosen.finish)
    if noted is None or any(code == "other-body" for code, _ in noted) or b'"' in stream:
        return  # a body of JSON is passed on as it is
    arguments: dict[Any, str] = {}
    for event in log:
        if event[0] == "ToolCallDelta":
            arguments[event[1]] = arguments.get(event[1], "") + str(event[2])
        if event[0] == "ToolCallEnd" and event[2] and (chosen.empty_args or event[1] in arguments):
            assert isinstance(json.loads(arguments[event[1]]), dict)


@every_shape
@few
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_text_of_nothing_but_mentions_comes_out_as_it_is(name: str, data: st.DataObject, seed: int):
    """Markers in prose, each followed by words that no call begins with."""
    row = format_of(name)
    assert isinstance(row, Format)
    kinds = spellings_of(row)
    acted_on = {one for kind in ("think_open", "think_close", "drop", "answer") for one in kinds.get(kind, ())}
    kinds_of_closers = ("section_close", "call_close", *["name_end"] * row.control)
    closers = {one for kind in kinds_of_closers for one in kinds.get(kind, ())}
    prose = [mark for mark in markers(name) if mark not in acted_on | closers]
    words = st.sampled_from([" means that a call follows, ", "` is a marker. ", " (see below)\n", "? No. "])
    parts = data.draw(st.lists(st.tuples(st.sampled_from(prose), words), max_size=6))
    before = "The " if row.section and may_lack(row.section[0]) else ""  # such an opener that begins a line is dropped
    text = "".join(before + mark + after for mark, after in parts)
    log, _, _ = outcome(hs.Parser(name, tools=["f"]), random_chunks(text.encode(), random.Random(seed)), None)
    assert [event[1] for event in log if event[0] == "ContentDelta"] == [text] * bool(text)
    assert not [event for event in log if event[0] == "ToolCallStart"]


@every_shape
@few
@given(data=st.data())
def test_bytes_are_delivered_or_landed_elsewhere(name: str, data: st.DataObject):
    """With every newline kept, what lands in CONTENT and REASONING comes out, byte for byte."""
    row = format_of(name)
    assert isinstance(row, Format)
    chosen = Options(name, data.draw(st.sampled_from([None, (), ("f", "g")])), trim="none")
    stream = data.draw(texts(name))
    result = chosen.reference(stream)
    log, _, usage = outcome(chosen.parser(), [stream], None)
    for kind, region, size in (
        ("ContentDelta", "content", usage.content),
        ("ReasoningDelta", "reasoning", usage.reasoning),
    ):
        said = "".join(str(event[1]) for event in log if event[0] == kind)
        landed = bytes(byte for byte, where in zip(stream, result.regions) if where == region)
        assert len(landed) == size
        if landed.isascii():
            assert said.encode() == landed


# --- values ---


@st.composite
def typed_values(draw: st.DrawFn) -> tuple[str, str, Any]:
    """A key, a value's text, and what it is in JSON."""
    text = st.text(st.characters(codec="utf-8", exclude_characters="<\n\r\t ｜"), max_size=12)
    scalar = st.none() | st.booleans() | st.integers() | text
    inner = st.lists(scalar, max_size=3) | st.dictionaries(text, scalar, max_size=3)
    key, value = draw(
        st.one_of(
            st.tuples(st.just("s"), text),
            st.tuples(st.just("i"), st.integers()),
            st.tuples(st.just("n"), st.floats(allow_nan=False, allow_infinity=False)),
            st.tuples(st.just("b"), st.booleans()),
            st.tuples(st.just("o"), inner.filter(lambda value: isinstance(value, dict))),
            st.tuples(st.just("l"), inner.filter(lambda value: isinstance(value, list))),
            st.tuples(st.just("u"), st.none() | st.integers()),
        )
    )
    return key, value if key == "s" else json.dumps(value, ensure_ascii=draw(st.booleans())), value


def render(row: Format, pairs: list[tuple[str, str, Any]]) -> str:
    """A well-formed call, as the model's template writes it."""
    assert row.pair and row.call
    opener, end, value, closer = (one if isinstance(one, str) else one[0] for one in row.pair)
    start, name_end, stop = (one if isinstance(one, str) else one[0] for one in row.call)
    newline = "\n" if row.newlines == "strip" else ""
    body = "".join(f"{opener}{key}{end}{value}{newline}{text}{newline}{closer}\n" for key, text, _ in pairs)
    call = f"{start}f{name_end}\n{body}{stop}"
    if not row.section:
        return call
    first, last = (one if isinstance(one, str) else one[0] for one in row.section)
    return f"{first}\n{call}\n{last}"


@every_pair_format
@few
@given(pairs=st.lists(typed_values(), max_size=4, unique_by=lambda pair: pair[0]), seed=st.integers(0, 2**32 - 1))
def test_values_arrive_with_their_types(name: str, pairs: list[tuple[str, str, Any]], seed: int):
    row = format_of(name)
    assert isinstance(row, Format)
    stream = render(row, pairs).encode()
    log, noted, _ = outcome(hs.Parser(name, tools=[schema("f")]), random_chunks(stream, random.Random(seed)), None)
    assert [event[0] for event in log if event[0] == "ToolCallStart"] == ["ToolCallStart"]
    arguments = "".join(str(event[2]) for event in log if event[0] == "ToolCallDelta")
    assert json.loads(arguments) == {key: value for key, _, value in pairs}
    assert noted == []


@every_pair_format
@few
@given(text=st.text(st.characters(codec="utf-8", exclude_characters="<\n"), min_size=1, max_size=30))
def test_strings_stream(name: str, text: str):
    """Each character of a string is told with the byte that completes it."""
    row = format_of(name)
    assert isinstance(row, Format)
    before, _, after = render(row, [("s", "@", "@")]).partition("@")
    parser = hs.Parser(name, tools=[schema("f")])
    parser.feed_text(before)
    told = ""
    for char in text:
        for event in parser.feed_text(char):
            assert isinstance(event, hs.ToolCallDelta)
            told += as_tuple(event)[2]
        assert told.endswith(json.dumps(char, ensure_ascii=False)[1:-1])
    log = [as_tuple(event) for event in (*parser.feed_text(after), *parser.finish())]
    told += "".join(event[2] for event in log if event[0] == "ToolCallDelta")
    assert json.loads(told) == {"s": text}


@pytest.mark.parametrize("text", ['[{"f"" {"s": "a:, "i": 3}', '[{"f"":}{"s": 1}]', '[{"f": , "g": {"s": "a"}}]'])
def test_a_broken_object_whose_keys_are_names_equals_the_reference(text: str):
    """A key is the name of a call only when its value begins."""
    stream = f"<|tools_prefix|>{text}<|tools_suffix|>".encode()
    for tools in (None, ("f",), ("get_weather",)):
        for pieces in pieces_of(stream, 1):
            compare(Options("apertus", tools=tools), stream, None, pieces)
