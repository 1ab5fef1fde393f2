"""Harmony messages: the same ids as the reference renderers', and text that says the same as the ids."""

from __future__ import annotations

from harmony_chats import Chat, Chats, theirs
from official import encoding

from harmonystream.prompt.harmony_text import Writer, render_messages
from harmonystream.vocab import o200k_harmony


def ours(chat: Chat, dialect: str) -> Writer:
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


def test_the_ids_are_those_of_openai_harmony():
    chats = Chats(seed=12)
    tokens = 0
    for _ in range(500):
        chat = chats.chat()
        writer = ours(chat, "openai")
        assert writer.ids == theirs(encoding(), chat), chat
        tokens += len(writer.ids)
    assert tokens > 50_000
