"""Random streams under every API: bytes are dicts, rules are kept, and no chunking changes what is said."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import random_streams as harmony
import random_tags as tags
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import random_chunks
from tag_streams import SHAPES, tokens
from wire_frames import as_bytes, as_dicts, described, events_of, outline, payloads_of
from wire_responses import PHASE_OF_CHANNEL, outline_of
from wire_server import APIS, USAGE

import harmonystream as hs
from harmonystream.emit.messages.arguments import Arguments, assembled

Items = list[tuple[Any, ...]]
Response = dict[str, Any]
HIDDEN = ({}, {}, {"calls": 0}, {"calls": 1}, {"reasoning": False})
OPTIONS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "chat": lambda hidden: {
        **({"reasoning_field": None} if "reasoning" in hidden else {}),
        "tool_choice": "none" if hidden.get("calls") == 0 else "auto",
        "parallel_tool_calls": hidden.get("calls") != 1,
        "include_usage": True,
    },
    "responses": lambda hidden: {
        "reasoning": hidden.get("reasoning", True),
        "request": {
            "tool_choice": "none" if hidden.get("calls") == 0 else "auto",
            "parallel_tool_calls": hidden.get("calls") != 1,
        },
    },
    "messages": lambda hidden: {
        "thinking": hidden.get("reasoning", True),
        "tool_choice": {
            "type": "none" if hidden.get("calls") == 0 else "auto",
            "disable_parallel_tool_use": hidden.get("calls") == 1,
        },
    },
}


def check(
    make: Callable[[], hs.Parser], stream: Any, reason: str | None, seed: int, hidden: Any, trim: str = "seams"
) -> None:
    """One stream as bytes and as dicts, in one piece and cut at random, under every API."""
    pieces = random_chunks(stream, random.Random(seed))
    items = outline(shown(events_of(make(), [stream], reason), hidden))
    is_one_text = make().format == "harmony" or trim == "none"  # nothing parts the texts of a message
    for api, module in APIS.items():
        usage, options = USAGE[api], OPTIONS[api](hidden)
        reason = "length" if reason == "abort" and api == "chat" else reason  # a word that its client does not know
        emitters = [module.stream_of(make(), **options) for _ in range(3)]
        frames = as_bytes(emitters[0], pieces, reason, usage)
        assert frames == as_bytes(described(module.stream_of(make(), **options)), pieces, reason, usage)
        payloads = payloads_of(b"".join(frames))
        dicts = as_dicts(emitters[1], pieces, reason, usage)
        assert payloads == ([*dicts, "[DONE]"] if api == "chat" else dicts)
        module.read_by_client(dicts)  # validates each of them
        response = module.assembled(payloads)
        assert module.assembled(as_dicts(emitters[2], [stream], reason, usage)) == response
        assert [emitter.response() for emitter in emitters] == [response] * 3
        own_items = (
            items if api == "chat" or is_one_text else own(items if api != "messages" else without_blanks(items))
        )
        said, wanted = SAYS[api](response, own_items, make().format)
        assert said == wanted


def shown(events: list[hs.Event], hidden: dict[str, Any]) -> list[hs.Event]:
    left = hidden.get("calls", len(events))
    found = []
    for event in events:
        left -= isinstance(event, hs.ToolCallStart)
        if left < 0 and isinstance(event, (hs.ToolCallStart, hs.ToolCallDelta, hs.ToolCallEnd)):
            continue
        if "reasoning" in hidden and isinstance(event, hs.ReasoningDelta):
            continue
        found.append(event)
    return found


def without_blanks(items: Items) -> Items:
    """Messages drops white space that nothing follows before a call or thoughts: it parts nothing."""
    return [item for item in items if item[0] != "message" or not item[-1].isspace()]


def own(items: Items) -> Items:
    """Texts as items of their own: the newlines that part a text from one before it in the message are not its own."""
    found: Items = []
    for item in items:
        if item[0] != "call" and any(earlier[0] != "call" for earlier in found):
            item = (*item[:-1], item[-1].lstrip("\n"))
        if item[0] == "call" or item[-1]:
            found.append(item)
    return found


# --- what a response says, and what it should ---


def chat_says(response: Response, items: Items, format: str) -> tuple[Items, Items]:
    """In Harmony a blank line parts the messages of one field."""
    parting = "\n\n" if format == "harmony" else ""
    (choice,) = response["choices"]
    message = choice["message"]
    texts = [("reasoning", message.get("reasoning", "")), ("message", message["content"])]
    calls = [(one["function"]["name"], one["function"]["arguments"]) for one in message.get("tool_calls", ())]
    wanted = [(kind, parting.join(item[-1] for item in items if item[0] == kind)) for kind, _ in texts]
    return [*texts, *calls], [*wanted, *(item[1:3] for item in items if item[0] == "call")]


def responses_say(response: Response, items: Items, format: str) -> tuple[Items, Items]:
    """A web search has no name and no arguments, but an action, which test_responses_tools.py tests."""
    searches = ("browser", "browser.search", "browser.open", "browser.find")

    def plain(item: tuple[Any, ...]) -> tuple[Any, ...]:
        return ("call", "browser", None, *item[3:]) if item[0] == "call" and item[1] in searches else item

    wanted = [(item[0], PHASE_OF_CHANNEL.get(item[1]), item[2]) if item[0] == "message" else item for item in items]
    return list(map(plain, outline_of(response))), list(map(plain, wanted))


def messages_say(response: Response, items: Items, format: str) -> tuple[Items, Items]:
    wanted: list[tuple[Any, ...]] = []
    for kind, *about in items:
        if kind == "call":
            name, text, complete = about
            arguments = Arguments()
            wanted.append(("tool_use", name, assembled(arguments.feed(text) + arguments.end(complete))))
        elif kind == "reasoning" or not about[-1].isspace():
            wanted.append(("thinking" if kind == "reasoning" else "text", about[-1]))
    names = {"thinking": ["thinking"], "text": ["text"], "tool_use": ["name", "input"]}
    found = [(block["type"], *(block[name] for name in names[block["type"]])) for block in response["content"]]
    return found, wanted


SAYS = {"chat": chat_says, "responses": responses_say, "messages": messages_say}


# --- the streams ---


@settings(max_examples=settings.default.max_examples // 2)
@given(harmony.id_streams | harmony.byte_streams, harmony.options, harmony.seeds, st.sampled_from(HIDDEN))
def test_harmony_at_every_chunking(stream: Any, options: Any, seed: int, hidden: Any) -> None:
    check(options.parser, stream, options.finish, seed, hidden)


@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=settings.default.max_examples // 6)
@given(data=st.data(), vocabulary=tags.vocabularies, seed=harmony.seeds, hidden=st.sampled_from(HIDDEN))
def test_tags_at_every_chunking(name: str, data: st.DataObject, vocabulary: str, seed: int, hidden: Any) -> None:
    options = data.draw(tags.options(name))
    vocab = tokens(name, vocabulary).vocab
    stream: Any = data.draw(tags.texts(name) | tags.id_streams(name, vocabulary))
    check(lambda: options.parser(vocab), stream, options.finish, seed, hidden, options.trim)


def test_white_space_that_messages_drops_parts_no_texts() -> None:
    """The newline after the call is the second text's own there: no other text came before it."""
    text = ' \n <tool_call>{"name": "f", "arguments": {}}</tool_call>\nfoo'
    check(lambda: hs.Parser("hermes", tools=["f"]), text, None, 5510, {})
