"""What a script has told, as bytes from outside: refused, or told by a stream that works."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from wire_server import APIS

import harmonystream as hs
from harmonystream._native.wire.envelope import Saved, pack, unpack

REASONING, CONTENT, ARGUMENTS = 2, 3, 4  # kinds of entries: runs of deltas, and what the script tells of once
MESSAGE_START, MESSAGE_END, CALL_START, CALL_END = 8, 9, 10, 11
KINDS = {"chat": hs.ChatStream, "responses": hs.ResponsesStream, "messages": hs.MessagesStream}
PIECES = (
    "<|channel|>analysis<|message|>Look\n\x01",
    ' "it" up 日本.<|end|><|start|>assistant to=functions.f<|channel|>commentary<|message|>',
    '{"a": [1, "x',
    '"]}<|call|><|start|>assistant<|channel|>final<|message|>So',
    "<|end|><|start|>assistant to=functions.g<|channel|>commentary<|message|>no JSON",
)


def states(api: str) -> list[Saved]:
    stream = APIS[api].stream_of(hs.Parser())
    stream.start()
    found = []
    for piece in PIECES:
        stream.feed_text(piece)
        found.append(unpack(stream.to_bytes()))
    assert all(saved.told for saved in found)
    return found


SAVED = {api: states(api) for api in APIS}


def with_state(saved: Saved, state: bytes) -> bytes:
    fields = (saved.number, saved.parser, saved.options, saved.id, saved.created)
    return pack(Saved(saved.api, saved.dicts, saved.told, *fields, state))


def run(kind: int, n: int) -> bytes:
    return bytes([kind]) + n.to_bytes(4, "little")


def message(channel: int = 1, n: tuple[int, int, int, int] = (0, 0, 0, 0), text: bytes = b"") -> bytes:
    head = b"".join(size.to_bytes(2, "little") for size in n)
    return bytes([MESSAGE_START, channel]) + (8 + len(text)).to_bytes(2, "little") + head + text


def call(name: bytes = b"f", kind: int = 1) -> bytes:
    return bytes([CALL_START, kind]) + len(name).to_bytes(2, "little") + name


def told(*entries: bytes, reasoning: bytes = b"", content: bytes = b"", arguments: bytes = b"") -> bytes:
    texts = (reasoning, content, arguments)
    return b"".join((*(len(text).to_bytes(4, "little") for text in texts), *texts, *entries))


def restored(state: bytes, api: str = "chat", **options: Any) -> Any:
    stream = APIS[api].stream_of(hs.Parser(), **options)
    stream.start()
    return KINDS[api].from_bytes(with_state(unpack(stream.to_bytes()), state))


END = bytes([MESSAGE_END])


def test_it_is_written_as_these_tests_write_it():
    stream = APIS["chat"].stream_of(hs.Parser())
    stream.start()
    assert unpack(stream.to_bytes()).said == told()
    stream.feed_text("<|channel|>analysis<|message|>\n<|end|><|start|>assistant<|channel|>final<|message|>A")
    state = unpack(stream.to_bytes()).said
    head = message(1, (0, 8, 0, 0), b"analysis"), message(3, (0, 5, 0, 0), b"final")
    runs = run(REASONING, 2), run(CONTENT, 1)
    assert state == told(head[0], runs[0], END, head[1], runs[1], reasoning=b"\\n", content=b"A")
    assert restored(state).response() == stream.response()


def test_a_call_is_told_again():
    stream = restored(told(message(2), call(), run(ARGUMENTS, 2), arguments=b"{}"))
    (made,) = stream.response()["choices"][0]["message"]["tool_calls"]
    assert made["function"] == {"name": "f", "arguments": "{}"}


@pytest.mark.parametrize(
    "state",
    [
        b"",
        told()[:-1],
        told(b"\0"),
        told(b"\1\0\0\0\0"),
        told(bytes([CALL_END, 8])),
        told(bytes([12])),
        told(content=b"left"),
        told(message(), run(CONTENT, 1)),
        told(message(), run(CONTENT, 1), content=b'"'),
        told(message(), run(CONTENT, 1), content=b"\n"),
        told(message(), run(CONTENT, 1), content=b"\\"),
        told(message(), run(CONTENT, 2), content=b"\\x"),
        told(message(), run(CONTENT, 6), content=b"\\ud800"),
        told(message(), run(CONTENT, 6), content=b"\\u00gg"),
        told(message(), run(CONTENT, 2), content=b"\xc3("),
        told(message(), run(CONTENT, 1), run(CONTENT, 1), content="é".encode()),
        told(message(), run(CONTENT, 1), run(CONTENT, 1), content=b"\\n"),
        told(message(), run(ARGUMENTS, 1), arguments=b"1"),
        told(message(5)),
        told(message(1, (0, 9, 0, 0), b"analysis")),
        told(message()[:-1]),
        told(bytes([MESSAGE_START, 1, 0, 0])),
        told(call(b"")),
        told(call(b"f", 0)),
        told(call(b"f", 4)),
        told(call(b"\xff")),
        told(call()[:-1]),
    ],
)
def test_what_no_script_tells(state):
    with pytest.raises(ValueError, match="not a usable emitter state"):
        restored(state)


def test_hidden_text_was_not_kept():
    assert restored(told(message(), run(REASONING, 0)), reasoning_field=None)
    with pytest.raises(ValueError, match="does not tell this"):
        restored(told(message(), run(REASONING, 1), reasoning=b"x"), reasoning_field=None)


def test_an_open_call_of_messages_has_a_filter():
    open_call = told(message(2), call(), run(ARGUMENTS, 0))
    filter = b"\1" + (1).to_bytes(4, "little") + b"{"
    stream = restored(filter + open_call, "messages")
    assert stream.response()["content"][0]["input"] == {}
    for state in (
        b"\0" + open_call,
        filter + told(),
        filter + told(message(2), call(), run(ARGUMENTS, 2), arguments=b"{}"),
        b"",
        b"\3" + filter[1:] + open_call,
        b"\1" + (99).to_bytes(4, "little") + b"{",
        b"\1" + (1).to_bytes(4, "little") + b"\xff" + open_call,
        b"\2" + (1).to_bytes(4, "little") + b"]" + open_call,
        b"\2" + (9).to_bytes(4, "little") + b'{"a": "\\u' + open_call,  # it would be no JSON when it ends
    ):
        with pytest.raises(ValueError, match="not a usable emitter state"):
            restored(state, "messages")


def test_another_state_than_the_scripts():
    saved = SAVED["chat"][0]
    fields = (saved.number, saved.parser, saved.options, saved.id, saved.created, saved.said)
    with pytest.raises(ValueError, match="no script that could have told it"):
        hs.ChatStream.from_bytes(pack(Saved(saved.api, True, True, *fields)))
    with pytest.raises(ValueError, match="pass them again"):
        hs.ChatStream.from_bytes(pack(saved), call_id=str)

    class Mine(hs.ChatStream):
        pass

    with pytest.raises(ValueError, match="which a subclass cannot go on with"):
        Mine.from_bytes(pack(saved))


def revive(api: str, data: bytes) -> bool:
    """Is it a stream? Then it reads and ends like any other."""
    try:
        stream: Any = KINDS[api].from_bytes(data)
    except ValueError:
        return False
    before = json.dumps(stream.response())
    assert before
    stream = KINDS[api].from_bytes(data)
    text = "<|end|><|start|>assistant to=functions.g<|channel|>commentary<|message|>{}<|call|>" + PIECES[0]
    try:
        stream.feed_text(text)
    except ValueError:  # its parser has failed in strict mode, has finished, or reads ids
        return True
    frames = stream.finish("stop", None)
    for frame in frames.decode().split("\n\n"):
        found = frame.partition("data: ")[2]
        assert not found or found == "[DONE]" or json.loads(found)
    json.dumps(stream.response())
    assert stream.ended
    return True


@pytest.mark.parametrize("api", APIS)
def test_its_own_states_revive(api):
    assert all(revive(api, pack(saved)) for saved in SAVED[api])


@pytest.mark.parametrize("api", APIS)
def test_changed_bytes_do_no_harm(api):
    dice = random.Random(7)
    for _ in range(800):
        data = bytearray(pack(dice.choice(SAVED[api])))
        for _ in range(dice.randrange(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        revive(api, bytes(data))


@pytest.mark.parametrize("api", APIS)
def test_random_entries_do_no_harm(api):
    dice = random.Random(5)
    filters = [b"\0", b"\1" + bytes(4)] if api == "messages" else [b""]
    alive = 0
    for _ in range(800):
        entries, texts = [], dict.fromkeys(("reasoning", "content", "arguments"), b"")
        for _ in range(dice.randrange(8)):
            kind = dice.choice(list(texts))
            text = dice.choice([b"", b"a", b"\\n", "é".encode()])
            number = {"reasoning": REASONING, "content": CONTENT, "arguments": ARGUMENTS}[kind]
            others = (message(dice.randrange(6)), END, call(), call(kind=2), bytes([CALL_END, dice.randrange(9)]))
            if dice.random() < 0.5:
                texts[kind] += text
                entries.append(run(number, len(text)))
            else:
                entries.append(dice.choice(others))
        state = dice.choice(filters) + told(*entries, **texts)
        alive += revive(api, with_state(dice.choice(SAVED[api]), state))
    assert alive > 100
