"""The drop-in's classes where openai-harmony has models of pydantic."""

from __future__ import annotations

import sys
import tracemalloc
from typing import Any

import openai_harmony as official
import pydantic
import pytest

import harmonystream as hs
from harmonystream.compat import openai_harmony as ours


def messages(package: Any) -> list[Any]:
    author = package.Author.new(package.Role.TOOL, "functions.f")
    tool = package.ToolDescription.new("f", "d", {"type": "object"})
    return [
        package.Message.from_role_and_content(package.Role.ASSISTANT, "Hi").with_channel("final"),
        package.Message.from_author_and_content(author, "4"),
        package.Message.from_role_and_content(package.Role.SYSTEM, package.SystemContent.new().with_browser_tool()),
        package.Message.from_role_and_content(
            package.Role.DEVELOPER, package.DeveloperContent.new().with_function_tools([tool])
        ),
    ]


@pytest.mark.parametrize("mode", ["python", "json"])
def test_a_dump_is_theirs_and_can_be_read_again(mode):
    for mine, theirs in zip(messages(ours), messages(official)):
        for part, other in zip(mine.content, theirs.content):
            assert part.model_dump(mode=mode) == other.model_dump(mode=mode)
            assert part.model_dump(exclude_none=True) == other.model_dump(exclude_none=True)
            assert type(part).model_validate(part.model_dump(mode=mode)) == part
        header = {"exclude": {"content"}}
        assert mine.model_dump(mode=mode, **header) == theirs.model_dump(mode=mode, **header)
        assert ours.Message.model_validate(mine.model_dump(mode=mode)) == mine
        assert ours.Message.model_validate_json(mine.model_dump_json()) == mine
        assert mine.author.model_dump_json() == theirs.author.model_dump_json()
    conversation = ours.Conversation.from_messages(messages(ours))
    assert ours.Conversation.model_validate(conversation.model_dump()) == conversation


def test_a_copy_has_other_values():
    for package in (ours, official):
        message = messages(package)[0]
        made = message.model_copy(update={"channel": "analysis"})
        assert (made.channel, message.channel, made.content is message.content) == ("analysis", "final", True)
        assert message.model_copy(deep=True).content[0] is not message.content[0]


def test_a_field_of_a_model_can_hold_one():
    class Turn(pydantic.BaseModel):
        message: ours.Message
        others: list[ours.Message] = []

    message, *others = messages(ours)
    turn = Turn(message=message, others=others)
    assert turn.message is message
    assert Turn.model_validate(turn.model_dump()) == turn
    assert Turn.model_validate_json(turn.model_dump_json()) == turn
    with pytest.raises(pydantic.ValidationError, match="made of a dict"):
        Turn(message="Hi")
    with pytest.raises(ValueError, match="not a Message"):
        ours.Message.model_validate({"content": []})


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="sizes of CPython")
def test_a_stream_of_1000_tokens_takes_little_memory():
    ids = [200005, 17196, 200008, *hs.vocab.o200k_harmony().encode("word " * 2000)[:997]]
    encoding = ours.load_harmony_encoding(ours.HarmonyEncodingName.HARMONY_GPT_OSS)

    def fed() -> Any:
        parser = ours.StreamableParser(encoding, ours.Role.ASSISTANT)
        for token in ids:
            parser.process(token)
        return parser

    fed()
    tracemalloc.start()
    parser = fed()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert parser.tokens == ids and len(parser.current_content.split()) > 900
    assert size + 8 * len(ids) < 16 * 1024  # the ids lie in memory that is not traced
