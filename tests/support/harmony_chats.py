"""Random Harmony conversations: for our renderer, and as the JSON that openai-harmony and oss-harmony read."""

from __future__ import annotations

import json
from random import Random
from typing import Any, NamedTuple

from harmonystream.prompt.builtin import BUILTIN
from harmonystream.prompt.harmony_text import Developer, HarmonyMessage, System, render_messages
from harmonystream.prompt.typescript import FunctionType, Namespace
from harmonystream.prompt.writer import Writer
from harmonystream.vocab import o200k_harmony

WORDS = [
    *(
        "the weather in Paris",
        " and",
        "天气很好",
        "é",
        "😀👩🏽",
        "don't",
        "I'LL",
        "  ",
        "\n",
        "\r\n",
        "\t",
        "1234567",
        "3.14",
    ),
    *(
        "<|start|>",
        "<|end|>",
        "<|return|>",
        "<|channel|>final<|message|>",
        "<|call|>",
        "<|constrain|>",
        "<|reserved_200500|>",
    ),
    *(
        "to=functions.f",
        "assistant",
        "{}",
        '{"a": [1, "b\\n"]}',
        "//",
        "/**/",
        "`x`",
        "<think>",
        "\x00",
        "\x7f",
        "\u2028",
    ),
    *("", "a", "\ufeff", "\ufffd", "ǅ", "ٱ", "ा", "한국어", "NULL", "```python\nprint(1)\n```"),
]
ROLES = ("system", "developer", "user", "assistant", "assistant", "assistant", "tool")
NAMES = ("city", "max results", "é", "$ref", "a.b", "type", "x-1", "0")


class Chat(NamedTuple):
    """A conversation and how to render it. `kind` is completion, plain or training."""

    messages: list[HarmonyMessage]
    kind: str
    drop: bool


class Chats:
    """A stream of random conversations; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def text(self, most: int = 6) -> str:
        return "".join(self.random.choices(WORDS, k=self.random.randint(0, most)))

    def maybe(self, *values: Any) -> Any:
        return self.random.choice((None, *values))

    def value(self, depth: int = 2) -> Any:
        random = self.random
        kind = random.randrange(9 if depth else 7)
        if kind == 0:
            return random.choice((0, -1, 7, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**30, -(10**19)))
        if kind == 1:
            return random.choice((0.0, -0.0, 1.5, 1e15, 1e16, 1e-5, 1e-6, 5e-324, 1.7976931348623157e308))
        if kind == 2:
            # Eight digits: with more, or smaller numbers, openai-harmony misreads the last digit of some.
            return float(f"{random.uniform(-1, 1) * 10.0 ** random.randint(-12, 12):.8g}")
        if kind == 7:
            return [self.value(depth - 1) for _ in range(random.randint(0, 3))]
        if kind == 8:
            return {self.text(2): self.value(depth - 1) for _ in range(random.randint(0, 3))}
        return (self.text(3), True, None, "")[kind - 3]

    def schema(self, depth: int = 3) -> Any:
        random = self.random
        if random.random() < 0.03:
            return random.choice((True, {}, None, 5, "text"))
        schema: dict[str, Any] = {}
        kinds = ("string", "number", "integer", "boolean", "null", "odd", ["integer", "null"], ["string"], [], None, 7)
        nested = ("object", "array", "oneOf", "object", "array") if depth else ()
        kind = random.choice((*kinds[:4], *kinds, *nested))
        if kind == "oneOf":
            schema["oneOf"] = [self.schema(depth - 1) for _ in range(random.randint(0, 3))]
        elif kind is not None:
            schema["type"] = kind
        if kind == "object":
            schema["properties"] = {name: self.schema(depth - 1) for name in random.sample(NAMES, random.randint(0, 4))}
            schema["required"] = random.sample(NAMES, 3)
        if kind == "array" and random.random() < 0.8:
            schema["items"] = self.schema(depth - 1)
        for key, make in (
            ("enum", lambda: random.choice(([self.text(1) for _ in range(2)], [1, "a"], [], "odd"))),
            ("description", lambda: random.choice((self.text(3), "said", 5))),
            ("title", lambda: self.text(2)),
            ("default", self.value),
            ("examples", lambda: random.choice(([self.text(1), 5, "x"], [], "odd"))),
            ("nullable", lambda: random.choice((True, False, "odd"))),
            ("required", lambda: random.choice((["city"], "city", []))),
            ("oneOf", lambda: random.choice(("odd", None, [{"type": "string", "description": "said", "default": 1}]))),
        ):
            if random.random() < (0.02 if key in ("oneOf", "required") else 0.2):
                schema[key] = make()
        return schema

    def namespaces(self) -> tuple[Namespace, ...]:
        random = self.random
        found = []
        for name in random.sample(("functions", "other", "Zed", "é"), random.choice((0, 1, 1, 2, 3))):
            functions = []
            for i in range(random.choice((0, 1, 1, 2, 4))):
                schema = self.schema()
                parameters = schema if isinstance(schema, dict) else None
                functions.append(FunctionType(f"f{i}", self.text(4), parameters))
            found.append(Namespace(name, tuple(functions), self.maybe(self.text(4))))
        return tuple(found)

    def system(self) -> System:
        random = self.random
        builtin = tuple(random.sample(list(BUILTIN.values()), random.choice((0, 0, 1, 2))))
        return System(
            identity=self.maybe("You are ChatGPT.", self.text()),
            cutoff=self.maybe("2024-06"),
            date=self.maybe("2026-11-22", self.text(1)),
            reasoning=self.maybe("low", "medium", "high"),
            tools=random.choice((builtin, self.namespaces())),
            channels=random.choice(((), ("analysis", "commentary", "final"), ("final",))),
            channel_required=random.random() < 0.5,
        )

    def message(self) -> HarmonyMessage:
        random = self.random
        role = random.choice(ROLES)
        contents: list[Any] = [self.text(8) for _ in range(random.choice((0, 1, 1, 1, 1, 2)))]
        if role == "system" and random.random() < 0.7:
            contents = [self.system()]
        if role == "developer" and random.random() < 0.7:
            contents = [Developer(self.maybe(self.text(8)), self.namespaces())]
        return HarmonyMessage(
            role,
            tuple(contents),
            name=random.choice(("functions.f", "python", "é"))
            if role == "tool"
            else self.maybe(None, None, "bob", "é"),
            channel=self.maybe("analysis", "final", "commentary", "comment"),
            recipient=self.maybe(None, "all", "functions.f", "assistant", "browser.search", self.text(1)),
            content_type=self.maybe(None, "json", "<|constrain|>json", "code", "<|constrain|>"),
        )

    def chat(self) -> Chat:
        random = self.random
        messages = [self.message() for _ in range(random.choice((0, 1, 2, 3, 5, 8)))]
        return Chat(messages, random.choice(("completion", "completion", "plain", "training")), random.random() < 0.5)


# --- as JSON ------------------------------------------------------------------------------------------------------


def as_json(messages: list[HarmonyMessage]) -> str:
    return json.dumps({"messages": [_message(message) for message in messages]})


def _message(message: HarmonyMessage) -> dict[str, Any]:
    given = {
        "role": message.role,
        "name": message.name,
        "content": [_content(content) for content in message.contents],
        "channel": message.channel,
        "recipient": message.recipient,
        "content_type": message.content_type,
    }
    return {key: value for key, value in given.items() if value is not None}


def _content(content: Any) -> dict[str, Any]:
    if isinstance(content, str):
        return {"type": "text", "text": content}
    if isinstance(content, Developer):
        given = {"instructions": content.instructions, "tools": _tools(content.tools), "type": "developer_content"}
    else:
        given = {
            "type": "system_content",
            "model_identity": content.identity,
            "reasoning_effort": content.reasoning and content.reasoning.title(),
            "conversation_start_date": content.date,
            "knowledge_cutoff": content.cutoff,
            "channel_config": {
                "valid_channels": list(content.channels),
                "channel_required": content.channel_required,
            },
            "tools": _tools(content.tools),
        }
    return {key: value for key, value in given.items() if value is not None}


def _tools(namespaces: tuple[Namespace, ...]) -> dict[str, Any]:
    return {
        space.name: {
            "name": space.name,
            "description": space.description,
            "tools": [
                {"name": name, "description": description, "parameters": parameters}
                for name, description, parameters in space.functions
            ],
        }
        for space in namespaces
    }


# --- rendered -----------------------------------------------------------------------------------------------------


def theirs(encoding: Any, chat: Chat) -> list[int]:
    """The ids that a `HarmonyEncoding`, of either package, renders a conversation to."""
    inner, text, config = encoding._inner, as_json(chat.messages), {"auto_drop_analysis": chat.drop}
    if chat.kind == "completion":
        ids = inner.render_conversation_for_completion(
            conversation_json=text, next_turn_role="assistant", config=config
        )
    elif chat.kind == "training":
        ids = inner.render_conversation_for_training(conversation_json=text, config=config)
    else:
        ids = inner.render_conversation(conversation_json=text, config=config)
    return list(ids)


def ours(chat: Chat, dialect: str) -> Writer:
    """The same, as we render it."""
    writer = Writer(o200k_harmony())
    render_messages(
        chat.messages,
        writer,
        dialect,
        next_role="assistant" if chat.kind == "completion" else None,
        training=chat.kind == "training",
        auto_drop_analysis=chat.drop,
    )
    return writer
