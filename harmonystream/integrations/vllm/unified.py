"""The class that reads a request's output: reasoning, content and calls in one pass over the ids.

vLLM composes a class of its own from the two parsers on the command line. If one of them is ours, that class gets
`HarmonystreamParser` as its base, so that vLLM's serving code calls ours. Nothing in vLLM is replaced for this.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from vllm.entrypoints.generate.base.protocol import DeltaFunctionCall, DeltaMessage, DeltaToolCall, FunctionCall
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.parser.abstract_parser import DelegatingParser
from vllm.parser.metrics import record_tool_parser_invocation
from vllm.renderers.chat_utils import make_tool_call_id
from vllm.sampling_params import StructuredOutputsParams

from ...completion import CallDelta, Delta
from ...formats import HeaderFormat
from ..counters import count_repairs, count_stream
from ..model import HIDDEN, Model, parser_for, tool_dicts
from ..tags import tag_of
from .fits import fits
from .output import Output

__all__ = ["HarmonystreamParser", "Named"]


class Named(type):
    """The class of our named parsers. It learns which class vLLM composes from them."""

    def __set_name__(cls, owner: type, name: str) -> None:
        if not issubclass(owner, HarmonystreamParser):
            owner.__bases__ = (HarmonystreamParser,)


class HarmonystreamParser(DelegatingParser):
    """vLLM's `Parser` over ids. Each choice of a request has one."""

    model: Model
    output: Output | None = None
    """What has been read. None before the first token."""
    prompt: Sequence[int] | None = None
    """The prompt's ids. None until vLLM passes them."""

    def __init__(self, tokenizer: Any, tools: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, tools, *args, **kwargs)
        self.model = self._one_model()
        self._tools = tools

    def _one_model(self) -> Model:
        named = [parser for parser in (self._tool_parser, self._reasoning_parser) if parser is not None]
        for parser in named:
            if not isinstance(parser.__class__, Named):
                foreign = parser.__class__.__name__
                raise TypeError(
                    f"a parser of harmonystream reads calls and reasoning, so it cannot be used with {foreign}"
                )
        models: list[Model] = [parser.model for parser in named]
        if any(model.format.name != models[0].format.name for model in models):
            both = " and ".join(model.format.name for model in models)
            raise TypeError(f"--tool-call-parser and --reasoning-parser name two formats of harmonystream: {both}")
        return models[0]

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The request's tools. Without tools, calls are read and hidden. Without a tool parser, nothing is a call."""
        return [] if self._tool_parser is None else tool_dicts(self._tools) or HIDDEN

    def _shows_calls(self, request: Any) -> bool:
        return bool(self._tools) and request.tool_choice != "none"

    # --- grammars ---

    def adjust_request(self, request: Any) -> Any:
        """Put the grammar of a request into it.

        vLLM does this with the structural tag of the tool parser, but not for a form of the answer beside tools: it
        then drops the calls unless a tool is strict. Its grammar of a form refuses headers that gpt-oss writes. And it
        has none for a choice of allowed tools.
        """
        tag = self._own_tag(request) if fits("forms of the answer") else None
        if tag is None:
            return super().adjust_request(request)
        made = StructuredOutputsParams(structural_tag=json.dumps(tag.model_dump()))
        if isinstance(request, ResponsesRequest):
            request._parser_structured_outputs = made
        else:
            request.structured_outputs, request.response_format = made, None
        return request

    def _own_tag(self, request: Any) -> Any:
        """The grammar of a request, if vLLM has no right one. Else None."""
        choice = request.tool_choice if request.tools else "none"
        answer = _schema_of(request.extract_structured_outputs())
        has_allowed = getattr(choice, "type", None) == "allowed_tools"
        if not has_allowed and (answer is None or choice not in ("auto", "none")):
            return None
        calls = choice != "none" and self._tool_parser is not None
        tools = self._tool_parser.tools_of(request, self.tool_strict_level) if calls else None
        if not tools and (answer is None or not isinstance(self.model.format, HeaderFormat)):
            return None
        parallel = request.parallel_tool_calls is not False
        return tag_of(self.model, tools or (), choice if tools else "none", parallel=parallel, answer=answer)

    # --- methods for a whole output ---

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        self.prompt = prompt_token_ids

    def parse(
        self,
        model_output: str,
        request: Any,
        enable_auto_tools: bool = False,
        model_output_token_ids: Sequence[int] = (),
    ) -> tuple[str | None, str | None, list[FunctionCall] | None]:
        """The reasoning, the content and the calls of a whole output."""
        self._initialize_history_tool_call_cnt(request)
        output = self.output = self._new_output(request)
        delta = output.add(list(model_output_token_ids), model_output, last=True)
        count_repairs(output.parser)
        calls = self._whole_calls(delta.calls) if self._shows_calls(request) else []
        self._count_invocation(request, bool(calls), streams=False)
        content = delta.content if not calls or delta.content.strip() else ""
        return delta.reasoning or None, content or None, calls or None

    def _whole_calls(self, deltas: Sequence[CallDelta]) -> list[FunctionCall]:
        calls: dict[int, FunctionCall] = {}
        for delta in deltas:
            if delta.name is None:
                calls[delta.index].arguments += delta.arguments
            else:
                id = self._make_tool_call_id(delta.name)
                calls[delta.index] = FunctionCall(id=id, name=delta.name, arguments=delta.arguments)
        return list(calls.values())

    # --- methods for a stream ---

    def parse_delta(
        self,
        delta_text: str,
        delta_token_ids: list[int],
        request: Any,
        prompt_token_ids: list[int] | None = None,
        *,
        finished: bool,
    ) -> DeltaMessage | None:
        """The delta of new ids. None if nothing of it is shown."""
        if self.output is None:
            self._initialize_history_tool_call_cnt(request)
            if prompt_token_ids is not None:
                self.prompt = prompt_token_ids
            self.output = self._new_output(request)
            count_stream("names")
        delta = self.output.add(delta_token_ids, delta_text, last=finished)
        if finished:
            count_repairs(self.output.parser)
        return self._message(delta, request)

    def _message(self, delta: Delta, request: Any) -> DeltaMessage | None:
        fields: dict[str, Any] = {}
        if delta.reasoning and request.include_reasoning:
            fields["reasoning"] = delta.reasoning
        if delta.content:
            fields["content"] = delta.content
        if delta.calls and self._shows_calls(request):
            fields["tool_calls"] = [self._call(call) for call in delta.calls]
        if self._tool_parser is not None:
            self._count_invocation(request, "tool_calls" in fields, streams=True)
        return DeltaMessage(**fields) if fields else None

    def _call(self, call: CallDelta) -> DeltaToolCall:
        if call.name is None:
            return DeltaToolCall(index=call.index, function=DeltaFunctionCall(arguments=call.arguments))
        function = DeltaFunctionCall(name=call.name, arguments=call.arguments)
        return DeltaToolCall(index=call.index, id=self.call_id(call), type="function", function=function)

    def call_id(self, call: CallDelta) -> str:
        """A random id, except for Kimi-K2, whose ids continue those of the request's messages."""
        id: str = self._make_tool_call_id(call.name) or make_tool_call_id()
        return id

    def _new_output(self, request: Any) -> Output:
        return Output(self.model, parser_for(self.model, self.tools, self.prompt), request)

    @staticmethod
    def _count_invocation(request: Any, called: bool, *, streams: bool) -> None:
        record_tool_parser_invocation(is_tool_called=called, is_streaming=streams, request=request)

    # --- tokens ---

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        output = self.output
        if output is None or output.parser.usage.total != len(token_ids):
            output = self._new_output(None)
            output.add(list(token_ids), "", last=True)
        return output.parser.usage.reasoning


def _schema_of(form: Any) -> dict[str, Any] | None:
    """The JSON Schema of an answer. None if its form has none. form: vLLM's StructuredOutputsParams."""
    if form is None or (form.json is None and not form.json_object):
        return None
    schema = {"type": "object"} if form.json is None else form.json
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except (ValueError, RecursionError):  # vLLM refuses it
            return None
    return schema if isinstance(schema, dict) else None
