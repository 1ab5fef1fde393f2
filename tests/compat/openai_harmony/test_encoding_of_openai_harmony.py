"""The encoding of the drop-in, beside openai-harmony's: prompts, text and ids."""

from __future__ import annotations

import json
from typing import Any

import openai_harmony as official
import pytest
from harmony_chats import WORDS, Chats, as_json
from official import encoding

from harmonystream.compat import openai_harmony as ours

ENCODING = ours.load_harmony_encoding(ours.HarmonyEncodingName.HARMONY_GPT_OSS)


def rendered(package: Any, given: Any, chat: Any) -> list[int]:
    conversation = package.Conversation.from_json(as_json(chat.messages))
    config = package.RenderConversationConfig(auto_drop_analysis=chat.drop)
    if chat.kind == "completion":
        return given.render_conversation_for_completion(conversation, package.Role.ASSISTANT, config)
    if chat.kind == "training":
        return given.render_conversation_for_training(conversation, config)
    return given.render_conversation(conversation, config)


def test_prompts_are_those_of_openai_harmony():
    chats = Chats(seed=42)
    for _ in range(150):
        chat = chats.chat()
        assert rendered(ours, ENCODING, chat) == rendered(official, encoding(), chat), chat


def test_a_message_is_rendered_by_itself():
    chats = Chats(seed=43)
    for i in range(100):
        data = json.loads(as_json([chats.message()]))["messages"][0]
        mine = ENCODING.render(ours.Message.from_dict(data), ours.RenderOptions(bool(i % 2)))
        options = official.RenderOptions(conversation_has_function_tools=bool(i % 2))
        assert mine == encoding().render(official.Message.from_dict(data), options), data


def test_a_prompt_of_the_builders_is_theirs():
    def made(package: Any) -> Any:
        tool = package.ToolDescription.new("f", "Does it.", {"type": "object", "properties": {"a": {"type": "string"}}})
        system = (
            package.SystemContent.new()
            .with_model_identity("I.")
            .with_reasoning_effort(package.ReasoningEffort.HIGH)
            .with_conversation_start_date("2026-11-22")
            .with_knowledge_cutoff("2024-06")
            .with_required_channels(["analysis", "final"])
            .with_browser_tool()
            .with_python_tool()
        )
        developer = package.DeveloperContent.new().with_instructions("Be brief.").with_function_tools([tool])
        role = package.Role
        return package.Conversation.from_messages(
            [
                package.Message.from_role_and_content(role.SYSTEM, system),
                package.Message.from_role_and_contents(role.DEVELOPER, [developer]),
                package.Message.from_role_and_content(role.USER, "Hi").adding_content(" there"),
                package.Message.from_role_and_content(role.ASSISTANT, "{}")
                .with_channel("commentary")
                .with_recipient("functions.f")
                .with_content_type("<|constrain|>json"),
                package.Message.from_author_and_content(package.Author.new(role.TOOL, "functions.f"), "1"),
            ]
        )

    mine, other = made(ours), made(official)
    assert json.loads(mine.to_json()) == json.loads(other.to_json())
    assert ours.Conversation.from_json(other.to_json()) == mine
    assert [message.author.role for message in mine] == [message.author.role for message in other]
    assert ENCODING.render_conversation_for_completion(
        mine, ours.Role.ASSISTANT
    ) == encoding().render_conversation_for_completion(other, official.Role.ASSISTANT)


@pytest.mark.parametrize(
    "options",
    [
        {"disallowed_special": ()},
        {"allowed_special": "all"},
        {"allowed_special": {"<|end|>"}, "disallowed_special": ()},
    ],
)
def test_the_ids_of_a_text_are_theirs(options):
    for text in (*WORDS, "".join(WORDS), "a<|end|><|start|>b<|end|>"):
        ids = ENCODING.encode(text, **options)
        assert ids == encoding().encode(text, **options)
        assert ENCODING.decode(ids) == ENCODING.decode_utf8(ids) == text


def test_a_special_token_is_not_encoded_by_accident():
    with pytest.raises(ours.HarmonyError, match=r"<\|end\|>"):
        ENCODING.encode("a<|end|>")
    with pytest.raises(ours.HarmonyError):
        ENCODING.encode("a<|end|>", allowed_special={"<|start|>"})
    assert len(ENCODING.encode("a<|end|>", disallowed_special={"<|start|>"})) > 2


def test_ids_that_are_no_text():
    assert ENCODING.decode([161, 225]) == "\ufffd"
    with pytest.raises(ours.HarmonyError):
        ENCODING.decode_utf8([161, 225])
    for decode in (ENCODING.decode, ENCODING.decode_utf8):
        with pytest.raises(ours.HarmonyError):
            decode([300_000])


def test_special_tokens_are_theirs():
    assert ENCODING.name == encoding().name
    assert ENCODING.special_tokens_set == encoding().special_tokens_set
    assert sorted(ENCODING.stop_tokens()) == sorted(encoding().stop_tokens())
    mine = ENCODING.stop_tokens_for_assistant_actions()  # theirs are in any order
    assert sorted(mine) == sorted(encoding().stop_tokens_for_assistant_actions())
    for tid in (0, 199_998, 200_008, 201_088, 300_000):
        assert ENCODING.is_special_token(tid) == encoding().is_special_token(tid)


def test_there_is_one_encoding():
    with pytest.raises(ours.HarmonyError, match="HarmonyGptOss"):
        ours.load_harmony_encoding("HarmonyGpt5")
