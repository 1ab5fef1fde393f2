"""Parser(watch=…): strings of a call's arguments, decoded while they are generated."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from json_texts import DOCUMENTS, SCRAPS
from streams import encode_bytewise, encode_greedily, to_ids
from tag_streams import schema

import harmonystream as hs
from harmonystream._native.stream.watch import Watch

DEEP: list[tuple[Any, ...]] = [("f", "s"), ("f", "l", ..., "t"), ("f", "o", "a", "b"), ("f", "l", 1), ("f", "s")]
KEYS = st.sampled_from(["s", "l", "o", "a", "b", "t", "", "é", "s\\"])
TEXTS = st.text(st.sampled_from('ab"\\/\n\t\u0000\u007fé雨😀\ud83d\ude00{}[],:'), max_size=8)
VALUES = st.recursive(
    TEXTS | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(KEYS, VALUES, max_size=5)


def harmony(name: str, arguments: str) -> str:
    return f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}<|call|>"


def hermes(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


def kimi(name: str, arguments: str) -> str:
    return (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>{arguments}"
        "<|tool_call_end|><|tool_calls_section_end|>"
    )


def pairs_of(name: str, values: dict[str, str], opening: str, pair: str, closing: str) -> str:
    return opening.format(name) + "".join(pair.format(key, value) for key, value in values.items()) + closing


JSON_FORMATS = {"harmony": harmony, "hermes": hermes, "kimi_k2": kimi}
TAG_FORMATS = {
    "qwen3_coder": ("<tool_call>\n<function={}>\n", "<parameter={}>\n{}\n</parameter>\n", "</function>\n</tool_call>"),
    "glm": (
        "<tool_call>{}\n",
        "<arg_key>{}</arg_key>\n<arg_value>{}</arg_value>\n",
        "</tool_call>",
    ),
    "seed_oss": (
        "<seed:tool_call>\n<function={}>\n",
        "<parameter={}>{}</parameter>\n",
        "</function>\n</seed:tool_call>",
    ),
    "dsml": (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="{}">\n',
        '<｜DSML｜parameter name="{}" string="true">{}</｜DSML｜parameter>\n',
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    ),
}


def values(events: Iterable[hs.Event]) -> list[tuple[int, tuple[str | int, ...], str, bool]]:
    """Call, path, text and completeness of each watched value; a grammar of start, deltas and end is checked."""
    done: list[tuple[int, tuple[str | int, ...], str, bool]] = []
    opened: tuple[int, tuple[str | int, ...]] | None = None
    text = ""
    for event in events:
        match event:
            case hs.ValueStart(index=index, path=path):
                assert opened is None
                opened, text = (index, path), ""
            case hs.ValueDelta(index=index, path=path, text=more):
                assert opened == (index, path) and more
                text += more
            case hs.ValueEnd(index=index, path=path, complete=complete):
                assert opened == (index, path)
                done.append((index, path, text, complete))
                opened = None
            case hs.ToolCallEnd() | hs.ToolCallStart() | hs.StreamEnd():
                assert opened is None
    assert opened is None
    return done


def plain(events: Iterable[hs.Event]) -> list[hs.Event]:
    """What a parser without watch= says."""
    return [event for event in events if not isinstance(event, (hs.ValueStart, hs.ValueDelta, hs.ValueEnd))]


def expected(arguments: Any, path: tuple[Any, ...], at: tuple[str | int, ...] = ()) -> dict[tuple[str | int, ...], str]:
    """The strings at this path of the arguments, by concrete path, as json.loads has them."""
    if not path:
        return {at: arguments} if isinstance(arguments, str) else {}
    if isinstance(arguments, dict) and isinstance(path[0], str):
        keys: Iterable[Any] = [path[0]] if path[0] in arguments else []
    elif isinstance(arguments, list) and not isinstance(path[0], str):
        keys = range(len(arguments)) if path[0] is ... else [path[0]] if path[0] < len(arguments) else []
    else:
        return {}
    found: dict[tuple[str | int, ...], str] = {}
    for key in keys:
        found |= expected(arguments[key], path[1:], (*at, key))
    return found


def cut(stream: Any, cuts: Iterable[int]) -> list[Any]:
    places = sorted({0, *(at % (len(stream) + 1) for at in cuts), len(stream)})
    return [stream[a:b] for a, b in pairwise(places)]


def read(parser: hs.Parser, pieces: Iterable[Any], reason: str | None = "stop") -> list[hs.Event]:
    events: list[hs.Event] = []
    for piece in pieces:
        events += parser.feed_text(piece) if isinstance(piece, (str, bytes)) else parser.feed(piece)
    return [*events, *parser.finish(reason)]


def replaced(text: str) -> str:
    """Surrogates become U+FFFD, as everywhere."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@settings(max_examples=120)
@given(ARGUMENTS, st.booleans(), st.sampled_from(sorted(JSON_FORMATS)), st.lists(st.integers(0, 500), max_size=12))
@example({"l": [{"t": "x"}, "y", {"t": ""}], "s": "\ud83d", "o": {"a": {"b": "c"}}}, True, "hermes", [])
def test_watched_text_is_what_json_says(arguments, ascii_only, format, cuts):
    dumped = json.dumps(arguments, ensure_ascii=ascii_only).encode(errors="replace").decode()
    arguments = json.loads(dumped)
    stream = JSON_FORMATS[format]("f", dumped)
    wanted = {}
    for path in DEEP:
        wanted |= expected(arguments, path[1:])
    events = read(hs.Parser(format, watch=DEEP), cut(stream, cuts))
    assert {path: text for _, path, text, _ in values(events)} == {path: replaced(t) for path, t in wanted.items()}
    assert all(complete for *_, complete in values(events))
    assert plain(events) == read(hs.Parser(format), cut(stream, cuts))


@settings(max_examples=60)
@given(ARGUMENTS, st.booleans(), st.lists(st.integers(0, 500), max_size=12))
def test_ids_say_what_text_says(arguments, ascii_only, cuts):
    """Also token by token, which takes the shortcuts."""
    stream = harmony("f", json.dumps(arguments, ensure_ascii=ascii_only).encode(errors="replace").decode())
    whole = values(read(hs.Parser(watch=DEEP), [stream]))
    for encode in (encode_greedily, encode_bytewise):
        ids = to_ids(stream.encode(), encode)
        assert values(read(hs.Parser(watch=DEEP), cut(ids, cuts))) == whole
        events = read(hs.Parser(watch=DEEP), ids)
        assert values(events) == whole
        assert plain(events) == read(hs.Parser(), ids)


@settings(max_examples=80)
@given(st.one_of(SCRAPS, DOCUMENTS.map(json.dumps)), st.lists(st.integers(0, 300), max_size=8))
@example('{"s": "\\ud83d\\ude00 \\ud83d \\q \\u12', [9])
@example('{"s": "a", "s": "b"}}}{"s": "c"', [])
@example('{"s" "t": "x", ]]"s": "\\u00zz"}', [3])
def test_broken_json_is_followed_alike_in_all_cuts(text, cuts):
    """Nothing raises, the arguments' own deltas are untouched, and no cut matters."""
    stream = harmony("f", '{"s": ' + text)
    whole = read(hs.Parser(watch=DEEP), [stream], None)
    pieces = read(hs.Parser(watch=DEEP), cut(stream, cuts), None)
    assert values(pieces) == values(whole)
    assert plain(pieces) == read(hs.Parser(), cut(stream, cuts), None)
    data = stream.encode(errors="replace")
    assert values(read(hs.Parser(watch=DEEP), [data[i : i + 1] for i in range(len(data))], None)) == values(whole)


@settings(max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from(["s", "su", "any"]), st.text('ab"\\\né雨😀 {}', min_size=1, max_size=10), min_size=1
    ),
    st.sampled_from(sorted(TAG_FORMATS)),
    st.lists(st.integers(0, 400), max_size=10),
)
def test_tags_give_the_value_as_it_is_in_the_json(arguments, format, cuts):
    stream = pairs_of("f", arguments, *TAG_FORMATS[format])
    watch = [("f", key) for key in ("s", "su", "any")]
    pieces = cut(stream, cuts)
    parser = hs.Parser(format, tools=[schema("f")], watch=watch)
    events = read(parser, pieces)
    made = json.loads("".join(event.arguments for event in events if isinstance(event, hs.ToolCallDelta)))
    assert {path[0]: text for _, path, text, _ in values(events)} == {
        k: v for k, v in made.items() if isinstance(v, str)
    }
    assert plain(events) == read(hs.Parser(format, tools=[schema("f")]), pieces)


def test_only_the_named_tool_is_watched():
    stream = hermes("g", '{"s": "no"}') + "\n" + hermes("f", '{"s": "yes"}')
    assert values(read(hs.Parser("hermes", watch=[("f", "s")]), stream)) == [(1, ("s",), "yes", True)]


def test_events_come_after_the_delta_that_they_are_read_from():
    parser = hs.Parser("hermes", watch=[("f", "s")])
    parser.feed_text('<tool_call>{"name": "f", "arguments": {"s": ')
    (delta, start, value) = parser.feed_text('"a\\n')
    assert (delta.arguments, start.path, value) == (
        '"a\\n',
        ("s",),
        hs.ValueDelta(0, ("s",), "a\n", delta.stop, delta.stop),
    )
    assert parser.feed_text("\\ud83d")[1:] == ()
    assert parser.feed_text("\\ude00")[1].text == "😀"
    *_, end = parser.feed_text('"}')
    assert end == hs.ValueEnd(0, ("s",), True, end.start, end.start)


def test_a_value_that_is_cut_ends_incomplete():
    parser = hs.Parser("hermes", watch=[("f", "s")])
    parser.feed_text('<tool_call>{"name": "f", "arguments": {"s": "half \\ud83d')
    events = parser.finish("length")
    assert [type(event).__name__ for event in events] == [
        "ValueDelta",
        "ValueEnd",
        "ToolCallEnd",
        "MessageEnd",
        "StreamEnd",
    ]
    assert (events[0].text, events[1].complete) == ("\ufffd", False)


def test_a_key_that_is_written_twice_begins_anew():
    stream = hermes("f", '{"s": "first", "s": "last"}')
    assert [text for _, _, text, _ in values(read(hs.Parser("hermes", watch=[("f", "s")]), [stream]))] == [
        "first",
        "last",
    ]


def test_what_is_no_string_says_nothing():
    stream = hermes("f", '{"s": [1, "x", {"s": "y"}], "t": 5, "u": {"v": null}}')
    assert values(read(hs.Parser("hermes", watch=[("f", "s"), ("f", "t"), ("f", "u", "v")]), [stream])) == []


def test_memory_does_not_grow_with_the_arguments():
    parser = hs.Parser("hermes", watch=[("f", "s")])
    parser.feed_text('<tool_call>{"name": "f", "arguments": {')
    blob = len(parser.to_bytes())
    for _ in range(50):
        parser.feed_text(
            '"' + "k" * 100_000 + '": [[[{"s": "x"}, ' + '"\\u00e9' * 1000 + '"]]], "s": "' + "v" * 50_000 + '", '
        )
    assert len(parser.to_bytes()) < blob + 600


@pytest.mark.parametrize("encode", [encode_greedily, encode_bytewise])
def test_copies_go_on_where_the_stream_was(encode):
    arguments = {"l": [{"t": 'a"\n'}, "é😀"], "o": {"a": {"b": "\\"}}, "s": "end\u0001"}
    ids = to_ids(harmony("f", json.dumps(arguments)).encode(), encode)
    whole = read(hs.Parser(watch=DEEP), ids)
    parser, before = hs.Parser(watch=DEEP), []
    for position, tid in enumerate(ids):
        blob = parser.to_bytes()
        twin = hs.Parser.from_bytes(blob, watch=DEEP)
        assert twin.to_bytes() == blob
        for copy in (twin, parser.fork()):
            assert before + read(copy, ids[position:]) == whole
        before += parser.feed(tid)
    parser.reset()
    assert read(parser, ids) == whole


def test_a_state_belongs_to_its_watch_list():
    watched, other = hs.Parser(watch=[("f", "s")]), hs.Parser()
    for blob, watch in (
        (watched.to_bytes(), ()),
        (watched.to_bytes(), [("f", "t")]),
        (other.to_bytes(), [("f", "s")]),
    ):
        with pytest.raises(ValueError, match="another watch list"):
            hs.Parser.from_bytes(blob, watch=watch)
    assert hs.Parser.from_bytes(other.to_bytes(), watch=None).to_bytes() == other.to_bytes()


def test_damaged_states_are_refused_or_read_on():
    """The bytes of a Watcher, altered at random: a ValueError, or a parser that never raises."""
    dice = random.Random(5)
    parser = hs.Parser("hermes", watch=DEEP)
    size = len(parser.to_bytes())
    head, refused = '<tool_call>{"name": "f", "arguments": ', 0
    for text in ('{"l": [1, {"t": "x\\ud8', '{"o": {"a": {"b', '{"l": [[{"s": "\\u12', '{"s": "\\ud83d'):
        parser = hs.Parser("hermes", watch=DEEP)
        parser.feed_text(head + text)
        blob = parser.to_bytes()
        for _ in range(500):
            data = bytearray(blob)
            for _ in range(dice.randint(1, 3)):
                data[dice.randrange(len(blob) - 150, len(blob))] = dice.choice([0, 1, 2, 255, dice.randrange(256)])
            try:
                twin = hs.Parser.from_bytes(bytes(data), watch=DEEP)
            except ValueError:
                refused += 1
                continue
            twin.feed_text('00"\\q, "s": "x"}, "t": [' + "]}" * 30 + '{"s": "y"')
            twin.finish()
    assert size < len(blob) and refused > 200


@pytest.mark.parametrize(
    ("watch", "error", "match"),
    [
        ("f", TypeError, "watch is a list of paths"),
        (5, TypeError, "watch is a list of paths"),
        (["f"], TypeError, "a watched path is a tuple"),
        ([("f",)], ValueError, "1 to 16 keys"),
        ([("f", *"x" * 17)], ValueError, "1 to 16 keys"),
        ([(..., "s")], TypeError, "begins with a tool's name"),
        ([("f", -1)], ValueError, "counts from 0"),
        ([("f", True)], TypeError, "a step of a watched path"),
        ([("f", 1.0)], TypeError, "a step of a watched path"),
        ([("f", None)], TypeError, "a step of a watched path"),
        ([("f", "k" * 257)], ValueError, "at most 256 bytes"),
        ([("f", str(i)) for i in range(65)], ValueError, "at most 64"),
    ],
)
def test_what_is_no_watch_list_is_refused(watch, error, match):
    with pytest.raises(error, match=match):
        hs.Parser(watch=watch)


def test_a_compiled_watch_is_shared():
    watch = Watch(DEEP)
    assert watch.paths == tuple(DEEP)
    assert watch.fingerprint == Watch([list(path) for path in DEEP]).fingerprint != Watch(DEEP[:1]).fingerprint
    assert values(read(hs.Parser(watch=watch), [harmony("f", '{"s": "x"}')])) == [(0, ("s",), "x", True)]


def test_who_has_no_place_for_values_refuses_it():
    with pytest.raises(ValueError, match="without watch="):
        hs.ChatStream(hs.Parser(watch=[("f", "s")]), model="m")
    with pytest.raises(ValueError, match="no watched values"):
        hs.batch.Batch().add(hs.Parser(watch=[("f", "s")]))
    with pytest.raises(ValueError, match="no watched values"):
        hs.Parser(watch=[("f", "s")]).feed_delta("<|channel|>")


def test_events_and_dicts():
    events = list(hs.iter_events([hermes("f", '{"s": "x"}')], "hermes", watch=[("f", "s")]))
    found = [hs.events.asdict(event) for event in events if isinstance(event, hs.ValueDelta)]
    assert [(each["type"], each["path"], each["text"]) for each in found] == [("ValueDelta", ["s"], "x")]


def test_strict_mode_gives_them_with_the_error():
    parser = hs.Parser(strict=True, watch=[("f", "s")])
    with pytest.raises(hs.errors.ParseError) as caught:
        parser.feed_text(harmony("f", '{"s": "x"}') + "<|start|>assistant<|message|>x<|start|>")
    assert values(caught.value.events) == [(0, ("s",), "x", True)]


def watching(blob: bytes, alive: int, ahead: int) -> bytes:
    """The state of a parser in no container, with other masks in its last part: the paths of the open call, and those
    that lead to its next value.
    """
    at = len(blob) - struct.calcsize("<QQqii4B6sIq")
    return blob[: at + 8] + struct.pack("<Q", alive) + blob[at + 16 : -8] + struct.pack("<Q", ahead)


@pytest.mark.parametrize("format", ["hermes", "harmony"])
def test_no_value_is_followed_without_its_call(format):
    """A state that watches a call which is not open, or another one, is refused."""
    text = {"hermes": "<think>a", "harmony": "<|channel|>final<|message|>a"}[format]
    for fed in ("", text):
        parser = hs.Parser(format, watch=DEEP)
        parser.feed_text(fed)
        blob = parser.to_bytes()
        assert hs.Parser.from_bytes(watching(blob, 0, 0), watch=DEEP).to_bytes() == blob
        for alive in (1, 0b11111, 1 << 40):
            with pytest.raises(ValueError, match="another call than the one that is open"):
                hs.Parser.from_bytes(watching(blob, alive, 0), watch=DEEP)


@pytest.mark.parametrize("tools", [None, ["f", "g"]])
@pytest.mark.parametrize("format", ["hermes", "harmony"])
def test_another_tool_is_not_watched_as_this_one(format, tools):
    watch = [("f", "a"), ("g", "b")]
    call = {"hermes": hermes, "harmony": harmony}[format]("f", "{")
    parser = hs.Parser(format, watch=watch, tools=tools)
    parser.feed_text(call[: call.index("{", call.index("arguments") if format == "hermes" else 0)])
    blob = parser.to_bytes()
    known = format == "harmony" or tools
    for alive, refused in ((1, False), (0, known), (2, known), (3, True), (4, True)):
        other = watching(blob, alive, alive)
        if refused:
            with pytest.raises(ValueError, match=r"not a usable parser state: it (watches another|does not watch)"):
                hs.Parser.from_bytes(other, watch=watch, tools=tools)
