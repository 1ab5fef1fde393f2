"""The pairs of parsers that the command line names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import vllm.envs as envs
from vllm.reasoning.abs_reasoning_parsers import ReasoningParser
from vllm.tool_parsers.abstract_tool_parser import ToolParser
from vllm.tool_parsers.structural_tag_registry import get_structural_tag_tools, resolve_tool_strictness
from vllm.tool_parsers.tool_strict_level import ToolStrictLevel

from ...formats import HeaderFormat
from ..model import Model, model_of
from ..parser_names import NAME
from ..tags import tag_of
from . import messages
from .fits import fits
from .unified import Named

__all__ = ["NamedReasoningParser", "NamedToolParser", "class_of"]

if fits("harmony"):
    from . import harmony

    harmony.install()
if fits("messages"):
    messages.install()


class NamedToolParser(ToolParser, metaclass=Named):  # type: ignore[misc]
    """Tells vLLM that calls are read, and provides their grammar. `HarmonystreamParser` reads them."""

    format: str | None = None
    engine_based_streaming = True  # it needs no text

    def __init__(self, tokenizer: Any, tools: Any = None) -> None:
        super().__init__(tokenizer, tools)
        self.model = model_of(tokenizer, self.format)
        self.structural_tag_model = NAME  # vLLM only asks parsers with this name for a tag
        # A required or named call is read in the model's own format, like any other, because nothing turns it into a
        # JSON list.
        self.supports_required_and_named = False

    def get_structural_tag(
        self, request: Any, *, reasoning: bool = False, strict_level: ToolStrictLevel = ToolStrictLevel.AUTO
    ) -> Any:
        """The row's grammar. It includes reasoning, because vLLM may run without a reasoning parser."""
        tools = self._strict_tools(request, strict_level)
        if not tools:
            return None
        parallel = request.parallel_tool_calls is not False
        return tag_of(self.model, tools, request.tool_choice, parallel=parallel)

    def tools_of(self, request: Any, strict_level: ToolStrictLevel | None) -> Any:
        """The tools for the grammar of calls or an answer. None if vLLM's settings turn grammars of tools off.

        strict_level: the server's. None: the parser's own.
        """
        level = self.default_tool_strict_level if strict_level is None else strict_level
        return self._strict_tools(request, max(level, ToolStrictLevel.FUNCTION))

    @staticmethod
    def _strict_tools(request: Any, strict_level: ToolStrictLevel) -> Any:
        """The functions that may be called, each with its strictness. None if the calls have no grammar."""
        if not envs.VLLM_ENFORCE_STRICT_TOOL_CALLING or not request.tools or request.tool_choice == "none":
            return None
        tools = get_structural_tag_tools(NAME, request.tools, request.tool_choice)
        return resolve_tool_strictness(tools, request.tool_choice, strict_level) if tools else None


class NamedReasoningParser(ReasoningParser, metaclass=Named):  # type: ignore[misc]
    """Finds the end of reasoning, for grammars and budgets. `HarmonystreamParser` reads it."""

    format: str | None = None
    engine_based_streaming = True

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, **kwargs)
        self.model: Model = model_of(tokenizer, self.format)
        markup = self.model.markup
        self._ends = frozenset(markup.reasoning_end + markup.call_start)
        # Harmony's structural tag includes reasoning, so the grammar begins with the first token.
        self._in_grammar = isinstance(self.model.format, HeaderFormat)

    @property
    def reasoning_start_str(self) -> str | None:
        return self._spelled(self.model.markup.reasoning_start)

    @property
    def reasoning_end_str(self) -> str | None:
        return self._spelled(self.model.markup.reasoning_end)

    def _spelled(self, ids: tuple[int, ...]) -> str | None:
        return self.model.vocab.token_bytes(ids[0]).decode() if ids else None

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Does the model's reasoning end in this prompt?"""
        return self._in_grammar or self.model.markup.where(input_ids) == "answer"

    def is_reasoning_end_streaming(self, input_ids: Sequence[int], delta_ids: Iterable[int]) -> bool:
        """Do these new ids end the reasoning?"""
        if self._in_grammar:
            return True
        if self._ends:
            return not self._ends.isdisjoint(delta_ids)
        return self.model.markup.find_reasoning_end(input_ids) is not None

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        end = self.model.markup.find_reasoning_end(input_ids)
        return [] if end is None else input_ids[end:]

    def extract_reasoning(self, model_output: str, request: Any) -> Any:
        raise NotImplementedError(_READ)

    def extract_reasoning_streaming(self, *args: Any) -> Any:
        raise NotImplementedError(_READ)


_READ = "harmonystream reads reasoning and calls in one pass: use the Parser that vLLM composes of it"


@cache
def class_of(name: str, kind: str, format: str | None) -> type:
    """kind: "tools" or "reasoning". format: None: found by the model's name."""
    base: type = NamedToolParser if kind == "tools" else NamedReasoningParser
    return Named(f"{name}_{kind}", (base,), {"format": format, "__module__": __name__})
