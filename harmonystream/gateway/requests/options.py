"""Every option of the three APIs. It is read here, passed to the engine, noted, passed over, or refused. Tables only.

Each row has an option's name and what happens to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from .checks import ANY, BOOLEAN, LIST, OBJECT, STOPS, TEXT, TEXTS, Check, integer, number, one_of

__all__ = ["CHAT", "EFFORTS", "MESSAGES", "RESPONSES", "TABLES", "Option"]


class Option(NamedTuple):
    """What happens to an option.

    does: "read": the gateway uses the option. "engine": the option goes to the engine as the field `to`. "noted": no
    answer depends on the option, so it is ignored. The other two values mean that the option is not supported, and
    `why` has the reason. "passed": the option only adds to a request, and is passed over with a warning. "refused": it
    would change the meaning of the answer. unless: values of an unsupported option that ask for nothing and are
    accepted. parts: the options in an object's fields; None if they are checked elsewhere.
    """

    does: Literal["read", "engine", "noted", "passed", "refused"]
    check: Check = ANY
    to: str = ""
    why: str = ""
    unless: tuple[Any, ...] = ()
    parts: Mapping[str, Option] | None = None


EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

_TOKENS = Option("read", integer(1))
_FLAG = Option("read", BOOLEAN)
_LIST = Option("read", LIST)
_OBJECT = Option("read", OBJECT)
_TEXT = Option("read", TEXT)


def _refused(why: str, *unless: Any) -> Option:
    return Option("refused", why=why, unless=unless)


def _passed(why: str, *unless: Any) -> Option:
    return Option("passed", why=why, unless=unless)


def _noted(check: Check) -> Option:
    return Option("noted", check)


def _parts(**parts: Option) -> Option:
    return Option("read", OBJECT, parts=parts)


def _engine(to: str, check: Check) -> Option:
    return Option("engine", check, to)


_NOT_STORED = "conversations are not stored here; send the whole conversation"
_NO_MODERATION = _refused("the gateway does not moderate")
_TOOLS_HERE = "the gateway's settings decide which tools run here, and how often"

_EFFORT = Option("read", one_of(*EFFORTS))
_SUMMARY = _noted(one_of("auto", "concise", "detailed"))
"""A summary of the reasoning, in whose place there is all of the reasoning."""
_OBFUSCATION = _noted(BOOLEAN)
"""Padding that hides the lengths of pieces; a server's choice."""

_SAMPLING = {
    "temperature": _engine("temperature", number(0, 100)),
    "top_p": _engine("top_p", number(0, 1)),
    "top_k": _engine("top_k", integer(-1)),
    "min_p": _engine("min_p", number(0, 1)),
    "presence_penalty": _engine("presence_penalty", number(-2, 2)),
    "frequency_penalty": _engine("frequency_penalty", number(-2, 2)),
    "repetition_penalty": _engine("repetition_penalty", number(0, 100)),
    "seed": _engine("seed", integer(-(1 << 63), (1 << 63) - 1)),
}
"""Options of the engines. Only some are in the official APIs, but clients send the others to open models, too."""

_FORM = _refused("pass response_format, text.format or output_config.format")
_AS_ENGINE = _refused("this option of an engine would change the answer, and is not passed on")
_ENGINES_OWN = {
    **dict.fromkeys(
        ("guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs", "json_schema"), _FORM
    ),
    **dict.fromkeys(("ebnf", "grammar", "regex"), _FORM),
    **dict.fromkeys(("allowed_token_ids", "bad_words", "stop_token_ids", "logits_processors"), _AS_ENGINE),
    "ignore_eos": _AS_ENGINE._replace(unless=(False,)),
    "echo": _AS_ENGINE._replace(unless=(False,)),
    "min_tokens": _AS_ENGINE._replace(unless=(0,)),
}
"""Options of vLLM, SGLang and llama-server that say what an answer may be. Their clients must not believe that they
hold.
"""

_COMMON = {
    **dict.fromkeys(("user", "service_tier", "safety_identifier"), _noted(TEXT)),
    **dict.fromkeys(("prompt_cache_key", "prompt_cache_retention"), _noted(TEXT)),
    "prompt_cache_options": _noted(OBJECT),
    "metadata": _noted(TEXTS),
}
"""Options of OpenAI's APIs on which no answer depends. They are checked, because Responses says them again."""

_MODELS_OWN = {
    "chat_template_kwargs": _OBJECT,
    "thinking_token_budget": Option("read", integer(0)),
}
"""Options that vLLM has in its APIs."""

CHAT: Mapping[str, Option] = {
    "model": _TEXT,
    "messages": _LIST,
    "stream": _FLAG,
    "stream_options": _parts(
        include_usage=_FLAG,
        include_obfuscation=_OBFUSCATION,
        continuous_usage_stats=_passed("the usage comes at the end", False),
    ),
    "max_tokens": _TOKENS,
    "max_completion_tokens": _TOKENS,
    "n": Option("read", integer(1, 16)),
    "stop": Option("read", STOPS),
    "tools": _LIST,
    "tool_choice": Option("read"),
    "parallel_tool_calls": _FLAG,
    "response_format": _OBJECT,
    "reasoning_effort": _EFFORT,
    "reasoning": _parts(
        effort=_EFFORT, enabled=_FLAG, max_tokens=Option("read", integer(0)), exclude=_FLAG, summary=_SUMMARY
    ),
    "enable_thinking": _FLAG,
    "thinking": _parts(type=Option("read", one_of("enabled", "adaptive", "auto", "disabled"))),
    "include_reasoning": _FLAG,
    "continue_final_message": _FLAG,
    "add_generation_prompt": _FLAG,
    **_MODELS_OWN,
    **_SAMPLING,
    **_ENGINES_OWN,
    "logit_bias": _engine("logit_bias", OBJECT),
    "logprobs": _FLAG,
    "top_logprobs": Option("read", integer(0, 20)),
    "prompt_logprobs": _refused("the engine is asked for the logprobs of its own tokens alone"),
    "modalities": _refused("the models here write text alone", ["text"]),
    "audio": _refused("the models here write text alone"),
    "web_search_options": _refused("the gateway has no web search"),
    "moderation": _NO_MODERATION,
    "functions": _refused("use tools"),
    "function_call": _refused("use tool_choice"),
    "thread": _refused(_NOT_STORED),
    "conversation": _refused(_NOT_STORED),
    "previous_response_id": _refused(_NOT_STORED),
    **_COMMON,
    "store": _noted(BOOLEAN),
    "verbosity": _noted(TEXT),
    "prediction": _noted(OBJECT),
}

RESPONSES: Mapping[str, Option] = {
    "model": _TEXT,
    "input": Option("read"),
    "instructions": _TEXT,
    "stream": _FLAG,
    "stream_options": _noted(OBJECT)._replace(parts={"include_obfuscation": _OBFUSCATION}),
    "max_output_tokens": _TOKENS,
    "tools": _LIST,
    "tool_choice": Option("read"),
    "parallel_tool_calls": _FLAG,
    "reasoning": _parts(
        effort=_EFFORT,
        summary=_SUMMARY,
        generate_summary=_SUMMARY,
        context=_passed("the model's template decides which reasoning it reads", "auto"),
        mode=_passed("there is one mode here", "standard"),
    ),
    "text": _parts(format=_OBJECT, verbosity=_noted(TEXT)),
    "include": _LIST,
    "store": _FLAG,
    "previous_response_id": _TEXT,
    **_MODELS_OWN,
    **_SAMPLING,
    **_ENGINES_OWN,
    "top_logprobs": Option("read", integer(0, 20)),
    "background": _FLAG,
    "background_options": _passed("background responses have no options here"),
    "image": _refused("the models here write text alone"),
    "moderation": _NO_MODERATION,
    "access_programs": _passed("there are no access programs here"),
    "conversation": _refused(_NOT_STORED),
    "thread": _refused(_NOT_STORED),
    "prompt": _refused("there are no stored prompts here; send the input"),
    "context_management": _passed("the gateway does not shorten conversations"),
    "truncation": _passed("the gateway does not shorten conversations", "disabled"),
    "max_tool_calls": _refused(_TOOLS_HERE),
    **_COMMON,
    "client_metadata": _noted(OBJECT),
}

MESSAGES: Mapping[str, Option] = {
    "model": _TEXT,
    "messages": _LIST,
    "system": Option("read"),
    "stream": _FLAG,
    "max_tokens": _TOKENS,
    "stop_sequences": Option("read", STOPS),
    "tools": _LIST,
    "tool_choice": _OBJECT,
    "thinking": _parts(
        type=Option("read", one_of("enabled", "adaptive", "disabled")),
        budget_tokens=_TOKENS,
        display=Option("read", one_of("summarized", "omitted")),
        block_binding=_passed("blocks are bound to nothing here"),
    ),
    "output_config": _parts(
        effort=_EFFORT, format=_OBJECT, task_budget=_passed("a budget holds for one request: max_tokens")
    ),
    "output_format": _OBJECT,
    "chat_template_kwargs": _OBJECT,
    **_SAMPLING,
    **_ENGINES_OWN,
    "thread": _refused(_NOT_STORED),
    "previous_message_id": _refused(_NOT_STORED),
    "container": _refused("the gateway has no containers"),
    "mcp_servers": _refused(_TOOLS_HERE, []),
    "context_management": _passed("the gateway does not shorten conversations"),
    "compaction": _passed("the gateway does not shorten conversations"),
    "fallbacks": _passed("a name stands for one model here"),
    "billing_policy": _passed("nothing is billed here"),
    "fallback_credit_token": _passed("nothing is billed here"),
    "speed": _passed("there is one speed here", "standard"),
    **dict.fromkeys(("service_tier", "inference_geo"), _noted(TEXT)),
    **dict.fromkeys(("metadata", "cache_control", "diagnostics"), _noted(OBJECT)),
}

TABLES: Mapping[str, Mapping[str, Option]] = {"chat": CHAT, "responses": RESPONSES, "messages": MESSAGES}
