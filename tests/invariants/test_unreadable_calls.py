"""Each call that a row reads gets an answer: bodies that are broken at random, in every row, cut at random, as text and
as ids, through the emitters, deltas and agent_loop. docs/outcomes.md has the rule."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from loops import end_of, of_kind, run
from scripted import Scripted
from tag_streams import TAG_FORMATS, tokens
from test_bodies_read import bodies, row_of

import harmonystream as hs
from harmonystream.agent import ToolRunEnd
from harmonystream.call_arguments import UNREADABLE, read_arguments
from harmonystream.completion import cut_call
from harmonystream.engines import Finished
from harmonystream.tools import Tool, Tools

BODIES = 14  # of each form of a call in a row
LOOPS = 4  # of them, through agent_loop
PIECES = ("'", '"', ",", ":", "{", "}", "[", "]", "\\", "\n", " ", "1", "True", "x", "<", ">", "=", "so: ", '"x": 1, ')
FORMS = [(name, form) for name in TAG_FORMATS for form in bodies(row_of(name))]
PARAMETERS = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "object"}}}
TOOL = {"name": "f", "parameters": PARAMETERS}


def broken(choose: random.Random, name: str) -> str:
    """One or two calls. Each piece of them may be lost, doubled or changed."""
    text = ""
    for _ in range(choose.choice((1, 1, 2))):
        form = choose.choice([form for row, form in FORMS if row == name])
        pieces = list(form.pieces)
        for _ in range(choose.randrange(4)):
            at = choose.randrange(len(pieces) + 1)
            pieces[at : at + choose.randrange(3)] = [choose.choice(("", choose.choice(PIECES)))]
        text += form.before + "".join(pieces) + choose.choice((form.after, form.after, form.after, ""))
    return text


def cut(choose: random.Random, stream: Any) -> list[Any]:
    pieces, at = [], 0
    while at < len(stream):
        size = choose.randrange(1, 9)
        pieces.append(stream[at : at + size])
        at += size
    return pieces


def read(parser: hs.Parser, pieces: list[Any], reason: str | None) -> tuple[list[list[Any]], list[hs.Event]]:
    """The calls, as name, arguments and what became of them; and the last events."""
    calls: list[list[Any]] = []
    said: tuple[hs.Event, ...] = ()
    for piece in [*pieces, None]:
        if piece is None:
            said = parser.finish(reason)
        else:
            said = parser.feed_text(piece) if isinstance(piece, str) else parser.feed(piece)
        cuts = cut_call(said)
        for event in said:
            if isinstance(event, hs.ToolCallStart):
                calls.append([event.name, "", ""])
            elif isinstance(event, hs.ToolCallDelta):
                calls[-1][1] += event.arguments
            elif isinstance(event, hs.ToolCallEnd):
                calls[-1][2] = "complete" if event.complete else "cut" if event is cuts else "unreadable"
    return calls, list(said)


def sent(stream: Any, pieces: list[Any], reason: str | None) -> Any:
    stream.start()
    for piece in pieces:
        stream.feed_text(piece) if isinstance(piece, str) else stream.feed(piece)
    stream.finish(reason)
    return stream.response()


def deltas(parser: hs.Parser, pieces: list[Any], reason: str | None) -> list[str]:
    made: dict[int, str] = {}
    for piece in pieces:
        for one in parser.feed_delta(piece).calls:
            made[one.index] = made.get(one.index, "") + one.arguments
    for one in parser.finish_delta(reason).calls:
        made[one.index] = made.get(one.index, "") + one.arguments
    return [made[index] for index in sorted(made)]


@pytest.mark.parametrize("name", sorted({name for name, _ in FORMS}))
def test_no_turn_with_a_closed_call_ends_without_one(name):
    choose = random.Random(name)
    some = tokens(name, "plain")
    for number in range(BODIES):
        text = broken(choose, name)
        reason = choose.choice(("stop", "stop", "length", None))
        for stream, vocab in ((text, None), (some.encode(text.encode()), some.vocab)):

            def parser(vocab: Any = vocab) -> hs.Parser:
                return hs.Parser(name, vocab, check_stops=False, tools=[TOOL])

            calls, last = read(parser(), [stream], reason)
            pieces = cut(choose, stream)
            assert read(parser(), pieces, reason)[0] == calls, text
            said = [call[1] + (UNREADABLE if call[2] == "unreadable" else "") for call in calls]
            assert all(call[2] != "cut" for call in calls[:-1])
            is_cut = bool(calls) and calls[-1][2] == "cut"
            assert not (is_cut and reason == "stop")
            over = last[-1]
            assert isinstance(over, hs.StreamEnd)
            called = bool(calls) and not is_cut
            assert over.reason == ("length" if reason == "length" else "tool_calls" if called else reason), text
            assert deltas(parser(), pieces, reason) == said, text

            chat = sent(hs.ChatStream(parser(), id="1", model="m", created=0), pieces, reason)["choices"][0]
            assert chat["finish_reason"] == (over.reason or "stop"), text
            assert [one["function"]["arguments"] for one in chat["message"].get("tool_calls", ())] == said, text
            message = sent(hs.MessagesStream(parser(), id="1", model="m"), pieces, reason)
            words = {"tool_calls": "tool_use", "length": "max_tokens"}
            assert message["stop_reason"] == words.get(over.reason or "", "end_turn"), text
            inputs = [block["input"] for block in message["content"] if block["type"] == "tool_use"]
            whole = sent(hs.ResponsesStream(parser(), id="1", model="m", created=0), pieces, reason)
            items = [item for item in whole["output"] if item["type"] == "function_call"]
            assert whole["status"] == ("incomplete" if reason == "length" else "completed")
            assert [item["arguments"] for item in items] == said, text
            assert [item["status"] == "incomplete" for item in items] == [call[2] == "cut" for call in calls]
            for call, arguments, given in zip(calls, said, inputs, strict=True):
                if call[2] == "unreadable":
                    assert "INVALID_JSON" in json.dumps(given)
                    with pytest.raises(ValueError, match=r"line \d+ column"):
                        json.loads(arguments, strict=False)
                    with pytest.raises(ValueError, match="read"):
                        read_arguments(arguments)
        if number < LOOPS:
            check_loop(name, text, calls_of(name, text))


def calls_of(name: str, text: str) -> list[list[Any]]:
    return read(hs.Parser(name, tools=[TOOL]), [text], "stop")[0]


def check_loop(name: str, text: str, calls: list[list[Any]]) -> None:
    """Each call is run or answered with an error; no unreadable one is run."""
    ran: list[dict[str, Any]] = []
    tools = Tools(Tool("f", "f", {"type": "object"}, lambda **given: ran.append(given)))
    events = run(Scripted([text, Finished("stop")], ["Done.", Finished("stop")]), tools, format=name)
    end = end_of(events)
    answers = [one.result.error for one in sorted(of_kind(events, ToolRunEnd), key=lambda one: one.call.index)]
    assert len(answers) == len(calls) or end.rounds > 2, text
    for call, error in zip(calls, answers):
        if call[2] == "unreadable":
            assert error == "incomplete_call", text
    assert len(ran) <= sum(call[2] == "complete" for call in calls), text
    results = [one for one in end.messages if one["role"] == "tool"]
    assert len(results) == len(answers)
    assert end.rounds == 1 + bool(calls), text
