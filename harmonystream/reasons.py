"""Finish reasons: the engines' words for the end of a generation, and their meanings."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

__all__ = ["ENGINES", "matched", "normal"]

ENGINES: dict[str, dict[str, str]] = {
    "OpenAI": {"stop": "stop", "length": "length", "content_filter": "content_filter"},
    "vLLM": {"stop": "stop", "length": "length", "abort": "abort", "error": "error"},
    "SGLang": {"stop": "stop", "length": "length", "abort": "abort"},  # as a dict: {"type": "stop", "matched": 2}
    "llama.cpp": {"eos": "stop", "word": "stop", "limit": "length", "none": ""},
    "Ollama": {"stop": "stop", "length": "length"},
    "TGI": {"eos_token": "stop", "stop_sequence": "stop", "length": "length"},
    "TensorRT-LLM": {
        **{"end_id": "stop", "stop_words": "stop", "length": "length", "not_finished": ""},
        **{"timed_out": "abort", "timeout": "abort", "cancelled": "abort"},
    },
    "transformers": {"eos_token": "stop", "max_length": "length", "max_new_tokens": "length"},
    "Anthropic": {"end_turn": "stop", "stop_sequence": "stop", "tool_use": "stop", "max_tokens": "length"},
    "Gemini": {"stop": "stop", "max_tokens": "length", "safety": "content_filter", "recitation": "content_filter"},
    "Bedrock": {
        **{"end_turn": "stop", "stop_sequence": "stop", "tool_use": "stop", "max_tokens": "length"},
        **{"guardrail_intervened": "content_filter", "content_filtered": "content_filter"},
    },
    "Cohere": {"complete": "stop", "stop_sequence": "stop", "tool_call": "stop", "max_tokens": "length"},
    "Mistral": {"stop": "stop", "length": "length", "model_length": "length", "error": "error"},
    "Responses": {"max_output_tokens": "length"},
}
"""Engine -> its word in lower case -> the meaning: "stop", "length", "content_filter", "abort" or "error".

"" means that the word has no meaning. A word that is missing here is kept. There is no reason for calls, because the
parser sees them.
"""

MEANINGS: dict[str, str] = {word: meaning for words in ENGINES.values() for word, meaning in words.items()}


def normal(reason: Any) -> str | None:
    """The normal form of a reason: a str in any case, an Enum, SGLang's dict, or None. Raises TypeError for anything
    else.
    """
    if type(reason) is str:  # the usual case; the others take longer to recognise
        return MEANINGS.get(reason.lower(), reason) or None
    if isinstance(reason, Mapping):
        reason = reason.get("type")
    if isinstance(reason, Enum):
        reason = reason.value if isinstance(reason.value, str) else reason.name
    if reason is None:
        return None
    if not isinstance(reason, str):
        raise TypeError(f"finish() takes the engine's reason as a str, or None; not {type(reason).__name__}")
    return MEANINGS.get(reason.lower(), reason) or None


def matched(reason: Any) -> str | None:
    """The stop string in a reason, as in SGLang's dicts. A token id is not a stop string."""
    if type(reason) is str:
        return None
    found = reason.get("matched") if isinstance(reason, Mapping) else None
    return found if isinstance(found, str) and found else None
