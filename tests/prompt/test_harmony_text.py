"""Harmony messages: the same ids as the reference renderers', and text that says the same as the ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harmony_chats import Chat, Chats, ours, theirs
from official import encoding

import harmonystream as hs
from harmonystream.prompt.builtin import BUILTIN
from harmonystream.prompt.harmony_text import Developer, HarmonyMessage, System, render_messages
from harmonystream.prompt.typescript import FunctionType, Namespace
from harmonystream.prompt.writer import JoiningWriter, Writer

RECORDED = json.loads((Path(__file__).parent / "oss_harmony_ids.json").read_text("utf-8"))


def test_the_ids_are_those_of_openai_harmony():
    chats = Chats(seed=12)
    tokens = 0
    for _ in range(500):
        chat = chats.chat()
        writer = ours(chat, "openai")
        assert writer.ids == theirs(encoding(), chat), chat
        tokens += len(writer.ids)
    assert tokens > 50_000


def test_the_typescript_of_random_schemas_is_that_of_openai_harmony():
    chats = Chats(seed=14)
    for _ in range(400):
        functions = (FunctionType("f", chats.text(3), chats.schema(4)), FunctionType("g", "", chats.schema(2)))
        developer = HarmonyMessage("developer", (Developer(None, (Namespace("functions", functions),)),))
        chat = Chat([developer], "plain", drop=False)
        assert "".join(ours(chat, "openai").parts) == encoding().decode(theirs(encoding(), chat)), functions


def test_the_ids_are_those_of_oss_harmony():
    """Recorded by `make check-renderers`, because the two packages cannot be installed side by side."""
    chats = Chats(RECORDED["seed"])
    assert len(RECORDED["ids"]) >= 80
    for ids in RECORDED["ids"]:
        assert ours(chats.chat(), "oss").ids == ids


def test_the_text_says_what_the_ids_say():
    chats = Chats(seed=13)
    for dialect in ("openai", "oss", "vllm", "template"):
        for _ in range(20):
            chat = chats.chat()
            writer = ours(chat, dialect)
            assert encoding().decode(writer.ids) == "".join(writer.parts)


def test_built_in_tools_are_those_of_openai_harmony():
    from openai_harmony import ToolNamespaceConfig

    for name, theirs_ in (("browser", ToolNamespaceConfig.browser()), ("python", ToolNamespaceConfig.python())):
        mine = BUILTIN[name]
        assert (mine.name, mine.description) == (theirs_.name, theirs_.description)
        tools = [
            {"name": tool.name, "description": tool.description, "parameters": json.loads(json.dumps(tool.parameters))}
            for tool in mine.functions
        ]
        for tool, declared in zip(tools, theirs_.model_dump()["tools"]):
            tool["parameters"]["required"] = tool["parameters"].pop("required") or None
            assert {**declared["parameters"], "required": declared["parameters"].get("required")} == tool["parameters"]
            assert (declared["name"], declared["description"]) == (tool["name"], tool["description"])
        assert len(tools) == len(theirs_.tools)


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (HarmonyMessage("tool", ("x",)), "a message of the role tool has no name"),
        (HarmonyMessage("user", (System(),)), "system message is in a message of the role 'user'"),
        (HarmonyMessage("user", (Developer(),)), "developer message is in a message of the role 'user'"),
    ],
)
def test_messages_that_the_format_has_not_are_refused(message, error):
    with pytest.raises(hs.errors.PromptError, match=error):
        render_messages([message], Writer(None))


def test_a_joining_writer_encodes_text_between_markers_at_once():
    vocab = hs.vocab.o200k_harmony()
    writer = JoiningWriter(vocab)
    for text in ("Hel", "lo wor", "ld"):
        writer.text(text)
    writer.marker("<|end|>")
    writer.marker("<no marker>")
    writer.flush()
    assert writer.ids == vocab.encode("Hello world<|end|><no marker>", control=True)
