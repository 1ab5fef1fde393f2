"""The messages of the drop-in: the names, builders and dicts of openai-harmony."""

from __future__ import annotations

import openai_harmony as official
import pytest

from harmonystream.compat import openai_harmony as ours


def test_builders_and_dicts_are_theirs():
    for package in (ours, official):
        message = package.Message.from_role_and_content(package.Role.ASSISTANT, "Hi").adding_content("!")
        message = message.with_channel("final").with_recipient("all").with_content_type("json")
        assert message.to_dict() == {
            "role": "assistant",
            "name": None,
            "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "!"}],
            "channel": "final",
            "recipient": "all",
            "content_type": "json",
        }
        assert package.Message.from_dict(message.to_dict()) == message
        assert package.Message.from_dict({"role": "user", "content": "Hi"}).content[0].text == "Hi"


def test_a_schema_keeps_what_is_none():
    tool = ours.ToolDescription.new("f", "d", {"default": None})
    assert ours.DeveloperContent.new().with_function_tools([tool]).to_dict() == {
        "tools": {"functions": {"name": "functions", "tools": [tool.__dict__]}},
        "type": "developer_content",
    }


def test_messages_are_checked():
    with pytest.raises(ValueError, match="bogus"):
        ours.Author("bogus")
    with pytest.raises(ValueError, match="unknown content"):
        ours.Message.from_dict({"role": "user", "content": [{"type": "image"}]})
    for package in (ours, official):  # pydantic's ValidationError is a ValueError
        with pytest.raises(ValueError, match="SystemContent"):
            package.Conversation.from_messages([package.SystemContent.new()])


def test_every_public_name_of_openai_harmony_is_here():
    assert set(official.__all__) <= set(ours.__all__)
    for name in official.__all__:
        theirs_, mine = getattr(official, name), getattr(ours, name)
        public = {key for key in vars(theirs_) if not key.startswith("_") and not key.startswith("model_")}
        fields = set(getattr(theirs_, "model_fields", ()))
        assert public - fields <= set(dir(mine)), name
