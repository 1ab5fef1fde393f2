"""Generations from a conversation with pictures, at the servers that have no route for rendered pictures.

vLLM gets the conversation in its chat endpoint and sends ids, as `return_token_ids` says. SGLang gets the prompt's ids
and the pictures in `POST /generate`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import EngineError
from .base import Prompt, Sampling, chat_usage, count_of, request_fields
from .generated import Generated, chat_logprobs

__all__ = ["CHAT", "GENERATE", "ChatGenerated", "SglangGenerated", "chat_request", "sglang_request"]

CHAT, GENERATE = "/v1/chat/completions", "/generate"
_IN_CHAT = {
    "stream": True,
    "stream_options": {"include_usage": True},
    "return_token_ids": True,
    "skip_special_tokens": False,
    "spaces_between_special_tokens": False,
}
_NAMES = {"max_tokens": "max_new_tokens", "seed": "sampling_seed"}
"""SGLang's own names of fields."""


def chat_request(model: str | None, asked: Mapping[str, Any], prompt: Prompt, sampling: Sampling) -> dict[str, Any]:
    """The body for vLLM's chat endpoint. asked: the conversation. Raises EngineError if an answer has begun, because
    the endpoint cannot continue ids.
    """
    if getattr(prompt, "begun", 0):
        raise EngineError("this engine cannot continue an answer with pictures", "protocol")
    made = {"model": model, **asked, **_IN_CHAT}
    if made.get("tools"):
        made["tool_choice"] = "none"  # the template still gets them, and the server's parser of calls is not used
    if prompt.stop_ids:
        made["stop_token_ids"] = list(prompt.stop_ids)
    if sampling.logprobs is not None:
        made |= {"logprobs": True, "top_logprobs": sampling.logprobs, "return_tokens_as_token_ids": True}
    return made | request_fields(sampling, {})


class ChatGenerated(Generated):
    """The chunks of vLLM's chat endpoint. Only their ids are read, because its text may be parsed already."""

    def logprobs(self, choice: Mapping[str, Any]) -> Any:
        return chat_logprobs(choice, lambda top: str(top.get("token")))

    def _output(self, choice: Mapping[str, Any]) -> Any:
        delta = choice.get("delta")
        if choice.get("token_ids") is None and isinstance(delta, dict) and delta.get("content"):
            raise EngineError(f"{self.url}: the server does not support return_token_ids", "protocol")
        return super()._output(choice)


def sglang_request(pictures: Sequence[str], prompt: Prompt, sampling: Sampling) -> dict[str, Any]:
    """The body for SGLang's own endpoint. pictures: base64 or URLs, in their order."""
    wanted = request_fields(sampling, _NAMES)
    form = wanted.pop("response_format", None)
    if isinstance(form, Mapping):  # this endpoint takes what its OpenAI routes make of it
        kind = form.get("type")
        if kind == "structural_tag":
            wanted["structural_tag"] = json.dumps(form)
        else:
            schema = form["json_schema"]["schema"] if kind == "json_schema" else {"type": "object"}
            wanted["json_schema"] = json.dumps(schema)
    wanted |= {"skip_special_tokens": False, "spaces_between_special_tokens": False}
    if prompt.stop_ids:
        wanted["stop_token_ids"] = list(prompt.stop_ids)
    made: dict[str, Any] = {"input_ids": list(prompt.ids or ()), "image_data": list(pictures), "stream": True}
    if sampling.logprobs is not None:
        made |= {"return_logprob": True, "top_logprobs_num": sampling.logprobs}
    return made | {"sampling_params": wanted}


class SglangGenerated(Generated):
    """The chunks of SGLang's own endpoint, in the form of the other chunks.

    Its ids are all ids so far, or only the new ones with `--incremental-streaming-output`. The count of all shows which
    are new.
    """

    _has_other_form = True
    _seen = 0

    def _formed(self, answer: dict[str, Any]) -> dict[str, Any]:
        about, ids = answer.get("meta_info"), answer.get("output_ids")
        if not isinstance(about, dict) or not isinstance(ids, list):
            raise EngineError(f"{self.url}: the server sent no output_ids: {str(answer)[:200]}", "protocol")
        total, read = count_of(about, "completion_tokens", 0), count_of(about, "prompt_tokens", 0)
        new, self._seen = total - self._seen, total
        if not 0 <= new <= len(ids):
            raise EngineError(f"{self.url}: the server counts {total} tokens beside {len(ids)} ids", "protocol")
        choice: dict[str, Any] = {"token_ids": ids[len(ids) - new :]}
        end = about.get("finish_reason")
        if isinstance(end, dict):
            if end.get("type") == "abort":
                raise EngineError(f"{self.url}: {str(end.get('message'))[:200]}", "engine")
            choice |= {"finish_reason": end.get("type"), "matched_stop": end.get("matched")}
        if self._vocab is not None:
            whole = about.get("output_token_logprobs_length")
            tops = _newest(about.get("output_top_logprobs"), whole, new)
            choice["logprobs"] = {
                "token_logprobs": [one[0] for one in _newest(about.get("output_token_logprobs"), whole, new)],
                "top_logprobs": [{f"token_id:{one[1]}": one[0] for one in likely if _has_id(one)} for likely in tops],
            }
        return {"choices": [choice], "usage": chat_usage(read, total)}


def _has_id(entry: Any) -> bool:
    return isinstance(entry, list) and len(entry) > 1


def _newest(given: Any, whole: Any, new: int) -> list[Any]:
    """The entries of the newest tokens, in a list of all tokens or of these alone. Empty if they are not all lists."""
    found = given if isinstance(given, list) else []
    if type(whole) is int and len(found) > whole:  # the list has grown since the server took the count
        found = found[:whole]
    found = found[len(found) - new :] if new <= len(found) else []
    return found if all(isinstance(one, list) and one for one in found) else []
