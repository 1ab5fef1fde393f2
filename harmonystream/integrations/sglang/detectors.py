"""The classes behind the names on the command line. SGLang uses them for markers, and passes them text where it has no
ids: in its routes `/parse_function_call` and `/separate_reasoning`.
"""

from __future__ import annotations

from typing import Any

from sglang.srt.function_call.base_format_detector import BaseFormatDetector
from sglang.srt.function_call.core_types import StreamingParseResult as ToolResult
from sglang.srt.function_call.core_types import ToolCallItem
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import BaseReasoningFormatDetector, ReasoningParser
from sglang.srt.parser.reasoning_parser import StreamingParseResult as ReasoningResult

from ..._native.stream.parser import Parser
from ...completion import Delta
from ...errors import FormatError
from ...formats import HeaderFormat, format_of
from ..deltas import Deltas
from ..model import model_of, tool_dicts
from ..parser_names import names

__all__ = ["NamedReasoningDetector", "NamedToolDetector", "register_detectors"]


def register_detectors() -> None:
    """Register our names. Calling it again changes nothing."""
    for name, format in names().items():
        if name not in FunctionCallParser.ToolCallParserEnum:
            fields = {"format": format, "__module__": __name__}
            FunctionCallParser.ToolCallParserEnum[name] = type(f"{name}_tools", (NamedToolDetector,), fields)
            ReasoningParser.DetectorMap[name] = type(f"{name}_reasoning", (NamedReasoningDetector,), fields)


def _row(format: str | None, tokenizer: Any) -> Any:
    if format is None and tokenizer is None:
        raise FormatError(
            "the parser 'harmonystream' chooses the format by the model's name: without a model, name the format"
        )
    return format_of(format) if format is not None else model_of(tokenizer, None).format


class NamedToolDetector(BaseFormatDetector):  # type: ignore[misc]
    """Reads calls in text from which reasoning was removed."""

    format: str | None = None

    def __init__(self, tokenizer: Any = None) -> None:
        super().__init__()
        self._row = _row(self.format, tokenizer)
        self._reader: Deltas | None = None

    def supports_structural_tag(self) -> bool:
        """The grammar of a request is made when its prompt is known: see `Grammars`."""
        return False

    def parses_required_natively(self) -> bool:
        """A required or named call is read in the model's own format, because nothing turns it into a JSON list."""
        return True

    def structure_info(self) -> Any:
        raise NotImplementedError("a parser of harmonystream has no structural tags of the older kind")

    def has_tool_call(self, text: str) -> bool:
        return bool(self._whole(text, None).calls)

    def detect_and_parse(self, text: str, tools: list[Any]) -> Any:
        return _result(_whole_calls(self._whole(text, tools)))

    def parse_streaming_increment(self, new_text: str, tools: list[Any]) -> Any:
        if self._reader is None:
            self._reader = Deltas(self._parser(tools), self._row)
        return _result(self._reader.feed(new_text))

    def finish(self, tools: list[Any]) -> Any:
        return ToolResult() if self._reader is None else _result(self._reader.finish())

    def _whole(self, text: str, tools: list[Any] | None) -> Delta:
        parser = self._parser(tools)
        return Deltas(parser, self._row).whole(text)

    def _parser(self, tools: list[Any] | None) -> Parser:
        start = "auto" if isinstance(self._row, HeaderFormat) else "answer"
        return Parser(self._row, tools=None if tools is None else tool_dicts(tools), start=start)


def _whole_calls(delta: Delta) -> Delta:
    calls: dict[int, Any] = {}
    for call in delta.calls:
        before = calls.get(call.index)
        calls[call.index] = call if before is None else before._replace(arguments=before.arguments + call.arguments)
    return Delta(delta.reasoning, delta.content, tuple(calls.values()))


def _result(delta: Delta) -> Any:
    items = [ToolCallItem(tool_index=call.index, name=call.name, parameters=call.arguments) for call in delta.calls]
    return ToolResult(normal_text=delta.reasoning + delta.content, calls=items)


class NamedReasoningDetector(BaseReasoningFormatDetector):  # type: ignore[misc]
    """Finds the end of reasoning, for grammars, and reads reasoning in text. Markers of calls are passed on."""

    format: str | None = None

    def __init__(
        self, stream_reasoning: bool = True, force_reasoning: bool = False, tokenizer: Any = None, **_: Any
    ) -> None:
        self._row = _row(self.format, tokenizer)
        self._ends = () if tokenizer is None else model_of(tokenizer, self.format).markup.reasoning_end
        start, end = self._markers()
        super().__init__(
            start, end, force_reasoning=force_reasoning, stream_reasoning=stream_reasoning, reasoning_default="always"
        )
        self._reader: Deltas | None = None

    def _markers(self) -> tuple[str, str]:
        if isinstance(self._row, HeaderFormat):
            return "<|channel|>analysis<|message|>", "<|end|>"
        start, end = self._row.think or ("", "")
        return (start if isinstance(start, str) else start[0]), (end if isinstance(end, str) else end[0])

    def get_think_end_token_ids(self, tokenizer: Any) -> list[int]:
        return list(self._ends[:1])

    def detect_and_parse(self, text: str) -> Any:
        delta = Deltas(self._parser(text), self._row).whole(text)
        return ReasoningResult(normal_text=delta.content, reasoning_text=delta.reasoning)

    def parse_streaming_increment(self, new_text: str) -> Any:
        if self._reader is None:
            self._reader = Deltas(self._parser(new_text), self._row)
        delta = self._reader.feed(new_text)
        return ReasoningResult(normal_text=delta.content, reasoning_text=delta.reasoning)

    def finish(self) -> Any:
        delta = Delta("", "", ()) if self._reader is None else self._reader.finish()
        return ReasoningResult(normal_text=delta.content, reasoning_text=delta.reasoning)

    def _parser(self, first: str) -> Parser:
        """first: the beginning of the text. It may open reasoning that the prompt has already opened."""
        opens = first.lstrip()
        marked = self.think_start_token.startswith(opens) or opens.startswith(self.think_start_token)
        start = "reasoning" if self.force_reasoning and not marked else "auto"
        return Parser(self._row, tools=[], start=start)
