"""A response that is moved after every piece says, byte for byte, what one says that was not moved."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import random_streams as harmony
import random_tags as tags
from command import ENV
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import random_chunks
from tag_streams import SHAPES, tokens
from wire_frames import as_bytes, as_dicts, described, fed
from wire_server import APIS, USAGE

import harmonystream as hs
from harmonystream.emit.common.envelope import pack, unpack

VOCAB = hs.vocab.o200k_harmony()
KEY = b"nobody knows"
TEXT = (
    "<|channel|>analysis<|message|>Look it up.<|end|>"
    "<|start|>assistant<|channel|>commentary<|message|>I will look.<|end|>"
    "<|start|>assistant<|channel|>commentary to=functions.search <|constrain|>json<|message|>"
    '{"q":"日本", "n": 12<|call|>'
    "<|start|>assistant<|channel|>commentary to=functions.f<|message|>no JSON at all<|call|>"
    "<|start|>assistant<|channel|>final<|message|>Done 🫠.<|return|>"
)
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "chat": [
        {},
        {"include_usage": True, "reasoning_field": "both", "parallel_tool_calls": False},
        {"reasoning_field": None, "preamble_field": "reasoning", "extra": {"system_fingerprint": "fp"}},
        {"preamble_field": None, "tool_choice": "none", "taken": ["call_1_0"]},
    ],
    "responses": [
        {},
        {"request": {"reasoning": {"summary": "auto"}, "temperature": 0.5, "tools": [{"type": "custom", "name": "f"}]}},
        {"reasoning": False, "request": {"parallel_tool_calls": False}, "extra": {"more": [1.5, None]}},
        {"taken": ["call_1_0"], "container_id": "c1"},
    ],
    "messages": [
        {},
        {"usage": {"input_tokens": 7}, "signature": "", "extra": {"more": {"a": 1}}},
        {"thinking": False, "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        {"taken": ["toolu_1_0"], "text_key": "text"},
    ],
}


def check(make: Callable[[], hs.Parser], tools: Any, pieces: list[Any], reason: str | None, seed: int) -> None:
    dice = random.Random(seed)
    for api, module in APIS.items():
        options = dice.choice(OPTIONS[api])
        reason = "length" if reason == "abort" and api == "chat" else reason
        stays, moves = module.stream_of(make(), **options), module.stream_of(make(), **options)
        expected = [stays.start()]
        assert moves.start() == expected[0]
        for piece in pieces:
            if dice.random() < 0.6:
                moves = again(moves, tools, KEY if dice.random() < 0.5 else None)
            expected.append(fed(stays, piece))
            assert fed(moves, piece) == expected[-1]
            if dice.random() < 0.1:
                assert moves.response() == stays.response()
        moves = again(moves, tools, None)
        assert moves.finish(reason, USAGE[api]) == stays.finish(reason, USAGE[api])
        assert moves.response() == stays.response()
        by_python = as_bytes(described(module.stream_of(make(), **options)), pieces, reason, USAGE[api])
        assert by_python[:-1] == expected


def again(stream: Any, tools: Any, key: bytes | None, **callbacks: Any) -> Any:
    """The stream, moved. What the first one does afterwards is nobody's."""
    vocab = None if stream.parser.vocab.name == "none" else stream.parser.vocab
    format = None if stream.parser.format in hs.formats.names() else stream.parser.format
    data = stream.to_bytes(key=key)
    return type(stream).from_bytes(data, vocab, format=format, tools=tools, key=key, **callbacks)


@settings(max_examples=settings.default.max_examples // 5)
@given(harmony.id_streams | harmony.byte_streams, harmony.options, harmony.seeds)
def test_harmony(stream: Any, options: Any, seed: int) -> None:
    pieces = random_chunks(stream, random.Random(seed))
    check(options.parser, options.tools, pieces, options.finish, seed)


@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=settings.default.max_examples // 12)
@given(data=st.data(), vocabulary=tags.vocabularies, seed=harmony.seeds)
def test_tags(name: str, data: st.DataObject, vocabulary: str, seed: int) -> None:
    options = data.draw(tags.options(name))
    vocab = tokens(name, vocabulary).vocab
    stream: Any = data.draw(tags.texts(name) | tags.id_streams(name, vocabulary))
    pieces = random_chunks(stream, random.Random(seed))
    check(lambda: options.parser(vocab), options.declared, pieces, options.finish, seed)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("number", range(4))
def test_after_every_token(api, number):
    ids = VOCAB.encode(TEXT, control=True)
    make = lambda: APIS[api].stream_of(hs.Parser(), **OPTIONS[api][number])  # noqa: E731
    stream = make()
    frames = [stream.start()]
    for tid in ids:
        stream = again(stream, None, KEY)
        frames.append(stream.feed(tid))
    frames.append(again(stream, None, None).finish("stop"))
    assert frames == as_bytes(make(), ids, "stop")


@pytest.mark.parametrize("api", APIS)
def test_a_stream_of_dicts_moves_too(api):
    ids = VOCAB.encode(TEXT, control=True)
    stream = APIS[api].stream_of(hs.Parser())
    payloads = stream.events()
    for tid in ids:
        stream = again(stream, None, None)
        payloads += stream.events(tid)
    payloads += again(stream, None, None).events(finish=True, reason="stop")
    assert payloads == as_dicts(APIS[api].stream_of(hs.Parser()), ids, "stop")


@pytest.mark.parametrize("api", APIS)
def test_a_stream_goes_on_after_its_state_was_taken(api):
    ids = VOCAB.encode(TEXT, control=True)
    stream = APIS[api].stream_of(hs.Parser())
    frames = [stream.start()]
    for tid in ids:
        assert stream.to_bytes() == stream.to_bytes()
        frames.append(stream.feed(tid))
    frames.append(stream.finish("stop"))
    assert frames == as_bytes(APIS[api].stream_of(hs.Parser()), ids, "stop")


def test_the_models_own_ids_of_calls_move():
    text = "<|tool_calls_section_begin|>" + "".join(
        f'<|tool_call_begin|>{name}<|tool_call_argument_begin|>{{"a": 1}}<|tool_call_end|>'
        for name in ("functions.f:0", "functions.f:0", "functions.g:1")
    )
    for api, module in APIS.items():
        stream = module.stream_of(hs.Parser("kimi_k2"))
        frames = [stream.start()]
        for letter in text:
            stream = again(stream, None, None)
            frames.append(stream.feed_text(letter))
        frames.append(stream.finish("stop"))
        assert frames == as_bytes(module.stream_of(hs.Parser("kimi_k2")), list(text), "stop"), api


CALLBACKS: dict[str, dict[str, Any]] = {
    "chat": {"call_id": lambda index: f"mine-{index}"},
    "responses": {
        "item_id": lambda type, index: f"{type}!{index}",
        "call_id": lambda index: f"mine-{index}",
        "item_type": lambda call: "custom_tool_call",
    },
    "messages": {"call_id": lambda index: f"mine-{index}", "signature": lambda text: text[::-1]},
}


@pytest.mark.parametrize("api", APIS)
def test_callbacks_are_passed_again(api):
    ids = VOCAB.encode(TEXT, control=True)
    make = lambda: APIS[api].stream_of(hs.Parser(), **CALLBACKS[api])  # noqa: E731
    stream = make()
    frames = [stream.start()]
    for tid in ids:
        with pytest.raises(ValueError, match="pass them again"):
            again(stream, None, None)
        stream = again(stream, None, None, **CALLBACKS[api])
        frames.append(stream.feed(tid))
    frames.append(stream.finish("stop"))
    assert frames == as_bytes(make(), ids, "stop")


def test_encrypted_reasoning_moves():
    request = {"include": ["reasoning.encrypted_content"]}
    ids = VOCAB.encode(TEXT, control=True)
    make = lambda: APIS["responses"].stream_of(hs.Parser(), request=request, encrypt=str.upper)  # noqa: E731
    stream = make()
    frames = [stream.start()]
    for tid in ids:
        stream = again(stream, None, None, encrypt=str.upper)
        frames.append(stream.feed(tid))
    frames.append(stream.finish("stop"))
    assert frames == as_bytes(make(), ids, "stop")


PROCESS = """
import sys
import harmonystream as hs
kind, key = getattr(hs, sys.argv[1]), b"nobody knows"
for line in sys.stdin:
    blob, tid = line.split()
    stream = kind.from_bytes(bytes.fromhex(blob), key=key)
    frames = stream.feed(int(tid))
    print(stream.to_bytes(key=key).hex(), frames.hex() or "-", flush=True)
"""


@pytest.mark.parametrize("api", APIS)
def test_two_processes_take_turns(api):
    ids = VOCAB.encode(TEXT, control=True)
    stream = APIS[api].stream_of(hs.Parser())
    kind, frames = type(stream), [stream.start()]
    command = [sys.executable, "-c", PROCESS, kind.__name__]
    with subprocess.Popen(command, env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin and other.stdout
        for at, tid in enumerate(ids):
            if at % 2:
                frames.append(stream.feed(tid))
                continue
            other.stdin.write(f"{stream.to_bytes(key=KEY).hex()} {tid}\n")
            other.stdin.flush()
            blob, said = other.stdout.readline().split()
            frames.append(b"" if said == "-" else bytes.fromhex(said))
            stream = kind.from_bytes(bytes.fromhex(blob), key=KEY)
        other.stdin.close()
    frames.append(stream.finish("stop"))
    assert frames == as_bytes(APIS[api].stream_of(hs.Parser()), ids, "stop")


@pytest.mark.parametrize("api", APIS)
def test_a_state_is_small(api):
    """Beside the text, which each API repeats at its end."""
    ids = VOCAB.encode(TEXT, control=True)
    stream = APIS[api].stream_of(hs.Parser())
    stream.start()
    for tid in ids:
        stream.feed(tid)
        said = len(str(stream.response().get("output") or stream.response().get("content") or TEXT).encode())
        assert len(stream.to_bytes(key=KEY)) <= 1024 + said


def test_what_cannot_be_moved():
    chat = APIS["chat"]
    new = chat.stream_of(hs.Parser())
    with pytest.raises(ValueError, match="has not started"):
        new.to_bytes()
    new.start()
    new.finish("stop")
    with pytest.raises(ValueError, match="has ended"):
        new.to_bytes()
    several = choices(2)
    several[0].start()
    with pytest.raises(ValueError, match="has not started"):
        several[1].to_bytes()
    several[1].start()
    for stream in several:
        stream.finish("stop")
    with pytest.raises(ValueError, match="has ended"):
        several[0].to_bytes()


def test_it_belongs_to_its_api_vocabulary_and_tools():
    stream = APIS["chat"].stream_of(hs.Parser(tools=["f"]))
    stream.start()
    data = stream.to_bytes()
    with pytest.raises(ValueError, match="not that of a ResponsesStream"):
        hs.ResponsesStream.from_bytes(data, tools=["f"])
    with pytest.raises(ValueError, match="other tools"):
        hs.ChatStream.from_bytes(data)
    one, other = (tokens("hermes", vocabulary).vocab for vocabulary in ("added", "plain"))
    stream = APIS["chat"].stream_of(hs.Parser("hermes", one))
    stream.start()
    with pytest.raises(ValueError, match="another vocabulary"):
        hs.ChatStream.from_bytes(stream.to_bytes(), other)


# --- several choices ---


def choices(n: int, **options: Any) -> list[hs.ChatStream]:
    return hs.ChatStream.several([hs.Parser() for _ in range(n)], id="x", model="m", created=1, **options)


@pytest.mark.parametrize("number", range(5))
def test_several_choices_move_together(number):
    options = [*OPTIONS["chat"], {"keep_text": False}][number]
    ids = VOCAB.encode(TEXT, control=True)
    stay, move = choices(3, **options), choices(3, **options)
    assert [stream.start() for stream in move] == [stream.start() for stream in stay]
    lengths = (len(ids), len(ids) // 2, 7)
    for at, tid in enumerate(ids):
        move = hs.ChatStream.several_from_bytes([stream.to_bytes(key=KEY) for stream in move], key=KEY)
        for which, n in enumerate(lengths):
            if at < n:
                assert move[which].feed(tid) == stay[which].feed(tid)
            elif at == n:  # it ends before the others do
                said = move[which].finish("length", stop_reason="x"), stay[which].finish("length", stop_reason="x")
                assert said[0] == said[1]
    move = hs.ChatStream.several_from_bytes([stream.to_bytes() for stream in move])
    assert [stream.ended for stream in move] == [False, True, True]
    last = move[0].finish("stop", USAGE["chat"])
    assert last == stay[0].finish("stop", USAGE["chat"])
    assert last.endswith(b"data: [DONE]\n\n")
    if options.get("keep_text", True):
        assert move[1].response() == stay[1].response()


def test_the_states_of_all_choices_are_needed_in_order():
    streams, others = choices(2), hs.ChatStream.several([hs.Parser(), hs.Parser()], id="y", model="m", created=1)
    for stream in (*streams, *others):
        stream.start()
    one, other = (stream.to_bytes() for stream in streams)
    load = hs.ChatStream.several_from_bytes
    with pytest.raises(ValueError, match=r"of one of 2 choices: ChatStream.several_from_bytes\(\) takes all"):
        hs.ChatStream.from_bytes(one)
    for states in ([other, one], [one], [one, one], [one, other, other]):
        with pytest.raises(ValueError, match="not those of all choices of a response, in order"):
            load(states)
    with pytest.raises(ValueError, match="not those of one response"):
        load([one, others[1].to_bytes()])
    with pytest.raises(ValueError, match="no choice goes on"):
        load([])
    with pytest.raises(TypeError, match="takes a list of states"):
        load(one)  # type: ignore[arg-type]
    alone = APIS["chat"].stream_of(hs.Parser())
    alone.start()
    assert load([alone.to_bytes()])[0].feed(200005) == alone.feed(200005)


CHOICE: list[tuple[str, Any]] = [
    *(("choice", one) for one in ([2, 2], [-1, 2], [0], "0", [0, True], [0, 1 << 31])),
    *(("ended", True), ("ended", 1), ("finish", "stop"), ("finish", 7)),
    *(("stopped", one) for one in ({"more": 1}, {"stop_reason": 1.5}, {"stop_reason": True}, 7)),
]


@pytest.mark.parametrize(("field", "value"), CHOICE)
def test_the_fields_of_a_choice_are_checked(field, value):
    streams = choices(2)
    for stream in streams:
        stream.start()
    saved = unpack(streams[0].to_bytes())
    state = json.dumps({**json.loads(saved.state), field: value}).encode()
    data = pack(saved._replace(state=state))
    with pytest.raises(ValueError, match=r"not a usable emitter state|not those of all choices"):
        hs.ChatStream.several_from_bytes([data, streams[1].to_bytes()])


def test_a_strict_parser_moves():
    stream = APIS["chat"].stream_of(hs.Parser(strict=True))
    stream.start()
    assert hs.ChatStream.from_bytes(stream.to_bytes()).parser.strict


def test_a_state_does_not_grow_with_what_is_repeated():
    stream = APIS["chat"].stream_of(hs.Parser())
    stream.start()
    stream.feed_text("<|channel|>analysis<|message|>")
    small = len(stream.to_bytes())
    for _ in range(100):
        stream.feed_text("x" * 100)
    assert len(stream.to_bytes()) <= small + 10_000 + 100
