"""Prompts of families without a template's file. `make check-templates` compares them with the families' templates."""

from __future__ import annotations

import datetime
import re

import pytest
from family_chats import TOOLS, WORDS, random_chat

import harmonystream as hs

MODELS = {
    "Qwen/Qwen3-8B": "hermes",
    "Qwen/Qwen3-4B-Thinking-2507": "hermes",
    "Qwen/Qwen3-30B-A3B-Instruct-2507-FP8": "hermes",
    "deepseek-ai/DeepSeek-V3.1": "deepseek",
    "moonshotai/Kimi-K2-Instruct-0905": "kimi_k2",
    "moonshotai/Kimi-K2-Thinking": "kimi_k2",
    "zai-org/GLM-4.5-Air": "glm",
    "ByteDance-Seed/Seed-OSS-36B-Instruct": "seed_oss",
}
MARKERS = re.findall(
    r"\S+",
    """<|im_start|> <|im_end|> <|endoftext|> <think> </think> <tool_call> </tool_call> <tool_response>
</tool_response> <｜begin▁of▁sentence｜> <｜end▁of▁sentence｜> <｜User｜> <｜Assistant｜> <｜tool▁calls▁begin｜>
<｜tool▁calls▁end｜> <｜tool▁call▁begin｜> <｜tool▁call▁end｜> <｜tool▁sep｜> <｜tool▁output▁begin｜>
<｜tool▁output▁end｜> <｜search▁begin｜> <｜search▁end｜> <|im_user|> <|im_assistant|> <|im_system|> <|im_middle|>
<|tool_calls_section_begin|> <|tool_calls_section_end|> <|tool_call_begin|> <|tool_call_end|>
<|tool_call_argument_begin|> [gMASK] <sop> <|user|> <|assistant|> <|system|> <|observation|> <arg_key> </arg_key>
<arg_value> </arg_value> <seed:bos> <seed:eos> <seed:think> </seed:think> <seed:tool_call> </seed:tool_call>
<seed:cot_budget_reflect> </seed:cot_budget_reflect> [EOS] /nothink""",
)
VOCAB = hs.vocab.from_bytes(
    [bytes([byte]) for byte in range(256)],
    {marker: 256 + i for i, marker in enumerate(MARKERS)},
    encode=lambda text: list(text.encode()),
)


def rendered(model: str, chat, **options) -> hs.prompts.Prompt:
    named = {"format": model} if model == "deepseek_search" else {"model": model}
    return hs.render(chat, vocab=VOCAB, **named, **options)


ASK = {"role": "user", "content": "Rain?"}
CALL = {"id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": '{"city": "Rome", "n": 2}'}}
CHAT = [
    {"role": "system", "content": "Be brief."},
    ASK,
    {"role": "assistant", "content": "", "reasoning_content": "Ask.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "functions.f:0", "content": "dry"},
]
WRITTEN = {
    "Qwen/Qwen3-8B": "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nRain?<|im_end|>\n"
    "<|im_start|>assistant\n<think>\nAsk.\n</think>\n\n<tool_call>\n"
    '{"name": "f", "arguments": {"city": "Rome", "n": 2}}\n</tool_call><|im_end|>'
    "\n<|im_start|>user\n<tool_response>\ndry\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
    "deepseek-ai/DeepSeek-V3.1": "<｜begin▁of▁sentence｜>Be brief.<｜User｜>Rain?<｜Assistant｜></think>"
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{"city": "Rome", "n": 2}<｜tool▁call▁end｜>'
    "<｜tool▁calls▁end｜><｜end▁of▁sentence｜><｜tool▁output▁begin｜>dry<｜tool▁output▁end｜>",
    "moonshotai/Kimi-K2-Instruct": "<|im_system|>system<|im_middle|>Be brief.<|im_end|><|im_user|>user<|im_middle|>"
    "Rain?<|im_end|><|im_assistant|>assistant<|im_middle|><|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
    '<|tool_call_argument_begin|>{"city": "Rome", "n": 2}<|tool_call_end|><|tool_calls_section_end|><|im_end|>'
    "<|im_system|>f<|im_middle|>## Return of functions.f:0\ndry<|im_end|><|im_assistant|>assistant<|im_middle|>",
    "zai-org/GLM-4.5": "[gMASK]<sop><|system|>\nBe brief.<|user|>\nRain?<|assistant|>\n<think>Ask.</think>\n"
    "<tool_call>f\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n<arg_key>n</arg_key>\n<arg_value>2</arg_value>\n"
    "</tool_call><|observation|>\n<tool_response>\ndry\n</tool_response><|assistant|>",
    "ByteDance-Seed/Seed-OSS-36B-Instruct": "<seed:bos>system\nBe brief.<seed:eos><seed:bos>user\nRain?<seed:eos>"
    "<seed:bos>assistant\n<seed:think>Ask.</seed:think>\n<seed:tool_call>\n<function=f>\n<parameter=city>Rome</parameter>\n"
    "<parameter=n>2</parameter>\n</function>\n</seed:tool_call><seed:eos><seed:bos>tool\ndry<seed:eos>"
    "<seed:bos>assistant\n",
}


@pytest.mark.parametrize("model", WRITTEN)
def test_the_text_is_the_family_s(model):
    assert hs.render(CHAT, model=model).text == WRITTEN[model]


@pytest.mark.parametrize("model", WRITTEN)
def test_the_parser_reads_a_call_after_the_prompt(model):
    prompt = rendered(model, CHAT[:2], tools=["f"] and [{"name": "f", "parameters": {"type": "object"}}])
    opening = prompt.text
    whole = rendered(model, CHAT[:3], training=True, tools=[{"name": "f", "parameters": {"type": "object"}}]).text
    said = prompt.parser(check_stops=False)
    said.feed(VOCAB.encode(whole[len(opening) :], control=True))
    said.finish("stop")
    assert said.calls == 1 and whole.startswith(opening)


@pytest.mark.parametrize("model", [*MODELS, "deepseek_search"])
def test_no_text_of_a_user_or_a_tool_becomes_a_control_token(model):
    def controls(words: tuple[str, ...], seed: int) -> list[int]:
        ids = rendered(model, random_chat(seed, words), tools=TOOLS).ids
        return [tid for tid in ids if tid >= 256]

    for seed in range(60):
        # the same draws, once with markers and once with harmless words
        spelled = tuple(f"x{MARKERS[(seed * 7 + i) % len(MARKERS)]}y" for i in range(len(WORDS)))
        harmless = tuple(f"x{'-' * len(word)}y" for word in spelled)
        assert controls(spelled, seed) == controls(harmless, seed)


@pytest.mark.parametrize("model", [*MODELS, "deepseek_search"])
def test_the_ids_are_the_text(model):
    for seed in range(60):
        prompt = rendered(model, random_chat(seed), tools=TOOLS)
        assert b"".join(map(VOCAB.token_bytes, prompt.ids)).decode() == prompt.text
        assert prompt.ids == VOCAB.encode(prompt.text, control=True)


def test_the_switches_of_thinking():
    end = {True: "assistant\n", None: "assistant\n", False: "assistant\n<think>\n\n</think>\n\n"}
    assert all(hs.render("Hi", model="qwen3:8b", thinking=on).text.endswith(end[on]) for on in end)
    for on, closed in ((True, "<think>"), (False, "</think>"), (None, "</think>")):
        assert hs.render("Hi", model="DeepSeek-V3.1", thinking=on).text.endswith(f"<｜Assistant｜>{closed}")
    assert hs.render("Hi", model="GLM-4.5", thinking=False).text.endswith("Hi/nothink<|assistant|>\n<think></think>")
    assert hs.render("Hi", model="Qwen3-4B-Thinking-2507").text.endswith("<|im_start|>assistant\n<think>\n")
    budget = hs.render("Hi", model="Seed-OSS-36B-Instruct", thinking_budget=512).text
    assert "which is 512." in budget and "every 128 tokens" in budget
    assert hs.render("Hi", model="Seed-OSS-36B-Instruct", thinking=False).text.endswith("</seed:think>")


def test_thoughts_of_earlier_turns_are_dropped():
    chat = [ASK, {"role": "assistant", "content": "No.", "reasoning_content": "Dry there."}, ASK]
    for model in MODELS:
        assert "Dry there." not in hs.render(chat, model=model).text or "Seed" in model, model


def test_the_search_agent():
    chat = [ASK, {**CHAT[2], "content": "Look."}, CHAT[3]]
    prompt = hs.render(chat, format="deepseek_search", tools=[{"name": "f"}], date=datetime.date(2025, 8, 16))
    assert prompt.text.startswith(
        "<｜begin▁of▁sentence｜><｜User｜>The current date is 2025-08-16, Saturday. Your primary"
    )
    assert "### f\nDescription: " in prompt.text
    assert prompt.text.endswith(
        "# The user's message is: Rain?<｜Assistant｜></think><｜search▁begin｜>\n\nAsk.Look.<｜tool▁calls▁begin｜>"
        '<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"city": "Rome", "n": 2}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
        "<｜end▁of▁sentence｜><｜tool▁output▁begin｜>dry<｜tool▁output▁end｜>"
    )
    assert prompt.format.name == "deepseek_search"


def test_the_last_message_can_be_continued():
    said = {"role": "assistant", "content": "It is", "reasoning_content": "Hm."}
    for model in MODELS:
        assert hs.render([ASK, said], model=model, continue_final=True).text.endswith("It is"), model
    thought = {"role": "assistant", "content": "", "reasoning_content": "Hm"}
    for model in ("Qwen3-8B", "GLM-4.5", "Seed-OSS-36B-Instruct", "Kimi-K2-Thinking"):
        assert hs.render([ASK, thought], model=model, continue_final=True).text.endswith("Hm"), model


def test_thoughts_that_are_newlines_alone_are_a_block():
    chat = [ASK, {"role": "assistant", "content": "Hm.", "reasoning": "\n"}, {"role": "assistant", "content": "Dry."}]
    prompt = hs.render(chat, model="Qwen/Qwen3-8B").text
    assert "<|im_start|>assistant\n<think>\n\n</think>\n\nHm.<|im_end|>" in prompt


def test_kimi_k2_thinking_has_a_system_in_an_empty_chat():
    prompt = hs.render([], model="Kimi-K2-Thinking").text
    assert (
        prompt.startswith("<|im_system|>system<|im_middle|>You are Kimi")
        and "You are" not in hs.render([], model="Kimi-K2-Instruct").text
    )


@pytest.mark.parametrize("model", [*MODELS, "deepseek_search"])
def test_a_tool_may_be_little_more_than_a_name(model):
    for more in ({}, {"description": None, "parameters": None}, {"parameters": {"type": "object"}}):
        assert "nop" in rendered(model, [ASK], tools=[{"type": "function", "function": {"name": "nop", **more}}]).text


def test_a_template_wins():
    assert hs.render("Hi", model="Qwen/Qwen3-8B", template="{{ messages[0].content }}!").text == "Hi!"


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        ("Qwen/Qwen3-8B", {"reasoning": "low"}, "no efforts of reasoning"),
        ("Qwen/Qwen3-8B", {"enable_thinking": False}, "no option enable_thinking: beside the named options"),
        ("Qwen/Qwen3-8B", {"dialect": "v3"}, "dialect= is for Harmony and DSML"),
        ("Qwen/Qwen3-4B-Instruct-2507", {"thinking": False}, "has no switch for thinking"),
        ("Seed-OSS-36B-Instruct", {"thinking_budget": "much"}, "thinking_budget is a number of tokens, not 'much'"),
        ("Qwen/Qwen3-8B", {"continue_final": True}, "the last message must be the assistant's"),
    ],
)
def test_mistakes_are_named(model, options, said):
    with pytest.raises(hs.errors.PromptError, match=said):
        hs.render("Hi", model=model, **options)
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    with pytest.raises(
        hs.errors.PromptError, match=r"message 0: content has a part of the type 'image_url'.*template="
    ):
        hs.render([{"role": "user", "content": [image]}], model="Qwen/Qwen3-8B")


@pytest.mark.parametrize(
    "model", ["Qwen/Qwen2.5-7B-Instruct", "me/Qwen3-8B-Poet", "Qwen/QwQ-32B", "Kimi-K2.5", "zai-org/GLM-4.7"]
)
def test_a_model_with_another_template_asks_for_it(model):
    with pytest.raises(
        hs.errors.PromptError, match=f"the prompt of {model} is written by its own chat template: pass template="
    ):
        hs.render("Hi", model=model)
