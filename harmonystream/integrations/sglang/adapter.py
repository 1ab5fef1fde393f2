"""Reads the outputs of a server with our parsers: it takes SGLang's ids, and returns SGLang's objects."""

from __future__ import annotations

from functools import partial
from typing import Any

from sglang.srt.entrypoints.openai.protocol import FunctionResponse, ToolCall
from sglang.srt.function_call.core_types import ToolCallItem

from ...completion import CallDelta
from ..counters import count_stream
from ..model import Model, model_of, tool_dicts
from ..parser_names import names
from .chunks import ChatChunks
from .grammars import Grammars
from .reader import Prompt, Reader

__all__ = ["Adapter", "adapter_for", "remember_prompt"]

_PROMPT = "_harmonystream_prompt"


def adapter_for(serving: Any) -> Adapter | None:
    """The adapter of a serving object. None if it has no parser of ours.

    Raises TypeError if only one of its parsers is ours, or if they have different formats. Raises what `model_of`
    raises.
    """
    known = names()
    given = [name for name in (serving.tool_call_parser, serving.reasoning_parser) if name]
    ours = [name for name in given if name in known]
    if not ours:
        return None
    if len(set(given)) > 1:
        raise TypeError(
            "a parser of harmonystream reads calls and reasoning, so --tool-call-parser and --reasoning-parser must "
            f"have the same name, and they are {given[0]} and {given[1]}"
        )
    return Adapter(serving, model_of(serving.tokenizer_manager.tokenizer, known[ours[0]]))


def remember_prompt(request: Any, processed: Any) -> None:
    """Keep the prompt with the request, because SGLang does not pass it to adapters.

    processed: SGLang's MessageProcessingResult. It has ids, or text for a model that reads pictures.
    """
    if request.__pydantic_private__ is not None:
        request.__pydantic_private__[_PROMPT] = processed.prompt_ids or processed.prompt


class Adapter:
    """SGLang's ChatEncodingOutputAdapter. Each serving object has one."""

    def __init__(self, serving: Any, model: Model) -> None:
        self._serving, self._model = serving, model
        self.grammars = Grammars(serving, model)

    def parse_chat_response(
        self, *, request: Any, output_ids: list[int], finish_reason: dict[str, Any] | None
    ) -> tuple[str | None, str, list[ToolCall] | None, dict[str, Any] | None]:
        """The reasoning, the content and the calls of a whole output, and its finish reason."""
        reader = self.chat_reader(request)
        matched = None if request.no_stop_trim else (finish_reason or {}).get("matched")
        delta = reader.read(reader.before(output_ids, matched), last=True, finish=finish_reason)
        if not delta.calls:
            return delta.reasoning or None, delta.content, None, finish_reason
        made: dict[int, ToolCall] = {}
        for call in delta.calls:
            if call.name is None:
                made[call.index].function.arguments += call.arguments
            else:
                function = FunctionResponse(name=call.name, arguments=call.arguments)
                made[call.index] = ToolCall(id=self.call_id(request, call), index=call.index, function=function)
        if finish_reason is not None and finish_reason["type"] == "stop" and reader.called:
            finish_reason = {**finish_reason, "type": "tool_calls", "matched": None}
        content = delta.content if delta.content.strip() else ""
        return delta.reasoning or None, content, list(made.values()), finish_reason

    def stream_chat_chunks(
        self,
        *,
        content: dict[str, Any],
        index: int,
        request: Any,
        created: int,
        parser_dict: dict[int, Any],
        has_tool_calls: dict[int, bool],
        choice_logprobs: dict[str, Any] | None,
        finish_reason_type: str | None,
        usage: dict[str, Any] | None,
    ) -> list[str]:
        """The chunks of one step of one choice. SGLang itself writes the first chunk, with the role, and the
        last ones.
        """
        chunks: ChatChunks | None = parser_dict.get(index)
        if chunks is None:
            id = content["meta_info"]["id"]
            call_id = partial(self.call_id, request)
            chunks = ChatChunks(self.chat_reader(request), call_id, request, id, created, index)
            parser_dict[index] = chunks
            count_stream("names")
        made = chunks.step(content, finish_reason_type, choice_logprobs, usage)
        has_tool_calls[index] = chunks.called and (finish_reason_type is None or chunks.reader.called)
        return made

    def parse_responses_output(
        self,
        *,
        request: Any,
        require_reasoning: bool,
        output_ids: list[int],
        finish_reason: dict[str, Any] | None,
        separate_reasoning: bool,
        parse_tool_calls: bool,
    ) -> tuple[str, str, list[ToolCallItem]]:
        """The same for Responses. SGLang makes the items."""
        reader = self._responses_reader(request, separate_reasoning, parse_tool_calls)
        matched = (finish_reason or {}).get("matched")
        delta = reader.read(reader.before(output_ids, matched), last=True, finish=finish_reason)
        made: dict[int, ToolCallItem] = {}
        for call in delta.calls:
            if call.name is None:
                made[call.index].parameters += call.arguments
            else:
                made[call.index] = _item(call)
        return delta.reasoning, delta.content, list(made.values())

    def new_responses_stream(
        self, *, request: Any, require_reasoning: bool, separate_reasoning: bool, parse_tool_calls: bool
    ) -> ResponsesStream:
        """The object that SGLang calls for each step of a stream of Responses."""
        count_stream("names")
        return ResponsesStream(self._responses_reader(request, separate_reasoning, parse_tool_calls))

    def call_id(self, request: Any, call: CallDelta) -> str:
        """The id that the model wrote, as Kimi-K2 does, or one of SGLang's own."""
        if call.id is not None:
            return call.id
        item = ToolCallItem(tool_index=call.index, name=call.name, parameters="")
        id: str = self._serving._process_tool_call_id(item, self._serving._get_history_tool_calls_cnt(request))
        return id

    def chat_reader(self, request: Any) -> Reader:
        """The reader for one choice of a request."""
        serving = self._serving
        active = serving._tool_call_parsing_active(request)
        tools = tool_dicts(serving._effective_tools(request)) if active else self._no_tools
        return Reader(self._model, tools, _prompt_of(request), bool(request.separate_reasoning), request)

    def _responses_reader(self, request: Any, separate: bool, parses: bool) -> Reader:
        tools = tool_dicts(self._serving._response_tools_to_chat_tools(request)) if parses else self._no_tools
        return Reader(self._model, tools, _prompt_of(request), separate, request)

    @property
    def _no_tools(self) -> list[dict[str, Any]] | None:
        """The tools of a request without tools: its calls are hidden, unless the server reads none."""
        return None if self._serving.tool_call_parser else []


class ResponsesStream:
    """One output of Responses."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def step(self, chunk: dict[str, Any], finish_reason: dict[str, Any] | None) -> tuple[str, str, list[ToolCallItem]]:
        """The reasoning, the content and the calls that a chunk adds."""
        delta = self._reader.step(chunk, None if finish_reason is None else finish_reason["type"])
        return delta.reasoning, delta.content, [_item(call) for call in delta.calls]


def _item(call: CallDelta) -> ToolCallItem:
    return ToolCallItem(tool_index=call.index, name=call.name, parameters=call.arguments)


def _prompt_of(request: Any) -> Prompt:
    kept: Prompt = (request.__pydantic_private__ or {}).get(_PROMPT)
    return kept or None
