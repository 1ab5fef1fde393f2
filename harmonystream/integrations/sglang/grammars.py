"""The grammars of requests. They are made when the prompt is known, and take the place of SGLang's own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.sampling.sampling_params import set_request_reasoning_in_grammar

from ...formats import HeaderFormat
from ..model import Model, tool_dicts
from ..tags import Start, is_constrained, tag_of

__all__ = ["Grammars"]


class Grammars:
    """Those of one SGLang serving object.

    A detector cannot make them, because SGLang passes it neither the prompt nor a form of the answer. And SGLang
    applies its grammar after the first `<|end|>` of gpt-oss, where the header of the next message begins.
    """

    def __init__(self, serving: Any, model: Model) -> None:
        self._serving, self._model = serving, model
        self._headers = isinstance(model.format, HeaderFormat)

    def constrain_chat(self, request: Any, processed: Any) -> None:
        """Give a request of Chat Completions its grammar, if it asks for one. processed: MessageProcessingResult."""
        tools = self._serving._effective_tools(request) if self._serving._tool_call_parsing_active(request) else []
        form, answer = request.response_format, None
        if form is not None and form.type == "json_object":
            answer = {"type": "object"}
        elif form is not None and form.type == "json_schema":
            answer = form.json_schema.schema_
        if not self._constrain(processed, tools, request.tool_choice, request.parallel_tool_calls, answer):
            return
        if answer is not None:
            request.response_format = None
        if self._headers:
            fields = {"custom_params": request.custom_params}
            set_request_reasoning_in_grammar(fields, True)
            request.custom_params = fields["custom_params"]

    def constrain_responses(self, request: Any, processed: Any) -> None:
        """The same for Responses with a form of the answer. SGLang has made a Chat request without it."""
        form = request._json_schema_from_text_format(request.text)
        tools, choice = self._serving._response_tools_to_chat_tools(request), request.effective_tool_choice()
        if form is None or not tools or choice == "none":
            return
        if self._constrain(processed, tools, choice, request.parallel_tool_calls, json.loads(form)):
            request.text = None

    def _constrain(self, processed: Any, tools: Sequence[Any], choice: Any, several: Any, answer: Any) -> bool:
        """several: may there be more than one call? None: yes. False: the request keeps what SGLang has."""
        given, level = self._given(tools)
        parallel = several is not False
        if given and not level and not is_constrained(given, choice, parallel=parallel, answer=answer):
            return False
        if not given and (answer is None or not self._headers):
            return False  # SGLang keeps a form by itself, but without headers
        # SGLang applies a grammar after the reasoning, if it knows where that ends. A grammar of headers includes it.
        waits = processed.require_reasoning and self._serving.reasoning_parser and not self._headers
        reasons = not waits and self._model.markup.where(processed.prompt_ids or processed.prompt) == "reasoning"
        start: Start = "reasoning" if reasons else "content"
        tag = tag_of(self._model, given, choice, parallel=parallel, start=start, answer=answer)
        if tag is not None:
            processed.tool_call_constraint = "structural_tag", tag
        return tag is not None

    def _given(self, tools: Sequence[Any]) -> tuple[list[dict[str, Any]], int]:
        """The tools, as strict as the server wants them, and its level of strictness. 0: it leaves that to requests."""
        if not tools:
            return [], 0
        name, tokenizer = self._serving.tool_call_parser, self._serving.tokenizer_manager.tokenizer
        parser = FunctionCallParser(list(tools), name, tokenizer=tokenizer)
        return tool_dicts(parser.structural_tag_tools()), parser.tool_strict_level
