"""The classes that LMDeploy creates for each request. They adjust it as LMDeploy's own do, and read the output's ids.

LMDeploy creates a parser before it renders the prompt, but the prompt determines where the output begins. So the one
method that renders it is wrapped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, ClassVar

import shortuuid
from lmdeploy.serve.core.async_engine import AsyncEngine
from lmdeploy.serve.openai.protocol import (
    DeltaFunctionCall,
    DeltaMessage,
    DeltaToolCall,
    FunctionCall,
    ToolCall,
)
from lmdeploy.serve.parsers._openai_harmony import GptOssResponseParser
from lmdeploy.serve.parsers.reasoning_parser import ReasoningParser, ReasoningParserManager
from lmdeploy.serve.parsers.response_parser import BaseResponseParser, ResponseParserManager
from lmdeploy.serve.parsers.tool_parser import ToolParser, ToolParserManager

from ...completion import CallDelta, Delta
from ...formats import HeaderFormat
from ..counters import count_repairs, count_stream
from ..deltas import Deltas
from ..model import HIDDEN, Model, joined, model_of, parser_for, tool_dicts
from ..parser_names import NAME, names
from ..tags import is_constrained, tag_of

__all__ = ["HarmonyParser", "TagsParser", "register_parsers"]

_WAITING: ContextVar[Any] = ContextVar("harmonystream_waiting", default=None)
"""The parser of this request, until its prompt is known."""


def register_parsers() -> None:
    """Put our classes into LMDeploy's registries."""
    for name in names():
        ToolParserManager.register_module(name, force=True, module=NamedTools)
        ReasoningParserManager.register_module(name, force=True, module=ReasoningParser)
    ResponseParserManager.register_module("default", force=True, module=TagsParser)
    ResponseParserManager.register_module("gpt-oss", force=True, module=HarmonyParser)
    if not hasattr(AsyncEngine.preprocess, "__wrapped__"):
        AsyncEngine.preprocess = _beginning(AsyncEngine.preprocess)


def _beginning(stock: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(stock)
    async def preprocess(*args: Any, **more: Any) -> Any:
        parser = _WAITING.get()
        _WAITING.set(None)
        made = await stock(*args, **more)
        if parser is not None:
            parser.begin(made)
        return made

    return preprocess


class NamedTools(ToolParser):  # type: ignore[misc]
    """Says that the server has calls, but reads no calls."""

    @classmethod
    def get_tool_open_tag(cls) -> str:
        """LMDeploy needs a tag, but nothing looks for it."""
        return NAME

    @classmethod
    def build_required_response_format(cls, tools: list[Any], *, reasoning: bool) -> dict[str, Any]:
        """LMDeploy asks for a grammar here. `Reads` replaces it."""
        return {}


class Reads:
    """The shared part of our classes: which model they read, and how."""

    headers: ClassVar[bool]
    """Is it for a format with headers?"""
    model: ClassVar[Model]
    hides: ClassVar[bool]
    """Are the calls of a request without tools read, and hidden? Otherwise they are text."""
    request: Any
    prompt: Sequence[int] | None = None
    config: Any = None
    """Both are set when the prompt has been rendered. config: where LMDeploy ends the output."""
    reasoning_tokens: int | None
    tool_parser_cls: ClassVar[Any]
    reasoning_parser_cls: ClassVar[Any]
    _deltas: Deltas | None = None
    _tag: Callable[..., Any] | None = None
    """Makes the grammar of the request, for a prompt that leaves the model at `start`. None: it has none of ours."""

    @classmethod
    def set_parsers(
        cls, reasoning_parser_name: str | None = None, tool_parser_name: str | None = None, tokenizer: Any = None
    ) -> None:
        """LMDeploy calls this once per server, with the names from the command line.

        Raises TypeError if the two names differ or one of them is LMDeploy's own, and everything that `model_of`
        raises.
        """
        known, given = names(), {name for name in (tool_parser_name, reasoning_parser_name) if name} or {NAME}
        if len(given) > 1 or not given <= known.keys():
            raise TypeError(
                "harmonystream reads calls and reasoning in one pass, so --tool-call-parser and --reasoning-parser "
                f"must have the same of its names, and they are {' and '.join(sorted(given))}"
            )
        cls.model = model_of(tokenizer, known[given.pop()])
        if isinstance(cls.model.format, HeaderFormat) != cls.headers:
            raise TypeError(f"LMDeploy does not serve this model's architecture with {cls.model.format.name!r}")
        cls.hides = cls.headers or tool_parser_name is not None
        if tool_parser_name and not cls.headers:
            cls.tool_parser_cls = NamedTools
        if reasoning_parser_name and not cls.headers:
            cls.reasoning_parser_cls = ReasoningParser

    def _begin(self, request: Any) -> None:
        """request: the client's. LMDeploy's adjusted request may have fewer tools, but nothing keeps the model from
        calling the others.
        """
        self._tools = () if request.tool_choice == "none" else tool_dicts(request.tools)
        self.reasoning_tokens = self._read = 0
        if self.hides:
            self._constrain(request)
        _WAITING.set(self)

    def _constrain(self, request: Any) -> None:
        """Give LMDeploy the grammar of a request with tools, or with a form of the answer of gpt-oss. LMDeploy itself
        makes one only for required calls and for gpt-oss, refuses headers that gpt-oss writes, and drops a form beside
        tools. It does not know which tools are strict, so all of them are.

        Raises ValueError if a call is required, and there is no tool, or the format has no calls.
        """
        form, answer = request.response_format, None
        if form is not None and form.type == "json_object":
            answer = {"type": "object"}
        elif form is not None and form.type == "json_schema":
            answer = form.json_schema.json_schema
        elif form is not None and form.type != "text" and request.tool_choice in ("auto", "none"):
            return  # a regular expression, which LMDeploy keeps
        choice, parallel = request.tool_choice, request.parallel_tool_calls is not False
        if not self._tools and choice != "required" and (answer is None or not self.headers):
            return
        if not self.headers and not is_constrained(self._tools, choice, parallel=parallel, answer=answer):
            return
        self._tag = partial(tag_of, self.model, self._tools, choice, parallel=parallel, strict=True, answer=answer)
        tag = self._tag()
        if tag is not None:
            self.request = self.request.model_copy(update={"response_format": tag.model_dump(mode="json")})
        elif choice == "required":
            raise ValueError(f"a call is required: name tools, of a model that has calls ({self.model.format.name!r})")

    def begin(self, made: Any) -> None:
        """Take the prompt, which may have opened the reasoning. made: LMDeploy's PreprocessedRequest."""
        self.prompt, self.config = made.inputs["input_ids"], made.gen_config
        if self._tag is not None and self.model.markup.where(self.prompt) == "reasoning":
            tag = self._tag(start="reasoning")
            if tag is not None:
                self.config.response_format = tag.model_dump(mode="json")

    def stream_chunk(self, delta_text: str, delta_token_ids: list[int], **more: Any) -> list[tuple[DeltaMessage, bool]]:
        """The messages of one step of the engine, each with a flag: does it contain calls?"""
        if self._deltas is None and not delta_text and not delta_token_ids:
            return [(DeltaMessage(role="assistant", content=""), False)]
        if self._deltas is None:
            count_stream("names")
        delta = self._delta(delta_token_ids, last=more.get("final", False))
        if not any(delta):
            return []
        calls = [self._call(call) for call in delta.calls]
        message = DeltaMessage(
            role="assistant",
            content=delta.content or None,
            reasoning_content=delta.reasoning or None,
            tool_calls=calls or None,
        )
        return [(message, bool(calls))]

    def parse_complete(
        self, text: str, token_ids: list[int] | None = None, **more: Any
    ) -> tuple[str | None, list[ToolCall] | None, str | None]:
        """The content, the calls and the reasoning of a whole output."""
        self._deltas, self._read = None, 0
        delta = self._delta(token_ids or (), last=True)
        calls: dict[int, ToolCall] = {}
        for call in delta.calls:
            if call.name is None:
                calls[call.index].function.arguments += call.arguments
            else:
                function = FunctionCall(name=call.name, arguments=call.arguments)
                calls[call.index] = ToolCall(id=_id_of(call), function=function)
        return delta.content or None, list(calls.values()) or None, delta.reasoning or None

    def _delta(self, ids: Sequence[int], *, last: bool) -> Delta:
        if self._deltas is None:
            tools = self._tools or (HIDDEN if self.hides else [])
            self._deltas = Deltas(parser_for(self.model, tools, self.prompt), self.model.format)
        self._read += len(ids)
        delta = self._deltas.feed(self._shown(ids) if last else ids)
        if last:
            delta = joined(delta, self._deltas.finish("length" if self._is_cut(ids) else None))
            count_repairs(self._deltas.parser)
        self.reasoning_tokens = self._deltas.parser.usage.reasoning
        return delta if self._tools else delta._replace(calls=())

    def _shown(self, ids: Sequence[int]) -> Sequence[int]:
        """The ids at the end of an output, without the one that ended it, if a stop word did."""
        return ids

    def _is_cut(self, ids: Sequence[int]) -> bool:
        """Has an output that ends in these ids reached the request's limit? LMDeploy does not say why it ends."""
        limit = self.config and self.config.max_new_tokens
        return limit is not None and self._read >= limit and not self._is_stopped(ids)

    def _is_stopped(self, ids: Sequence[int]) -> bool:
        return bool(ids and self.config) and ids[-1] in (self.config.stop_token_ids or ())

    @staticmethod
    def _call(call: CallDelta) -> DeltaToolCall:
        if call.name is None:
            return DeltaToolCall(index=call.index, type=None, function=DeltaFunctionCall(arguments=call.arguments))
        function = DeltaFunctionCall(name=call.name, arguments=call.arguments)
        return DeltaToolCall(id=_id_of(call), index=call.index, function=function)


def _id_of(call: CallDelta) -> str:
    """The id that the model wrote, as Kimi-K2 does, or an id in LMDeploy's form."""
    return call.id or f"chatcmpl-tool-{shortuuid.random()}"


class TagsParser(Reads, BaseResponseParser):  # type: ignore[misc]
    """The parser for all models except gpt-oss."""

    headers = False

    def __init__(self, request: Any) -> None:
        super().__init__(request)
        self._begin(request)


class HarmonyParser(Reads, GptOssResponseParser):  # type: ignore[misc]
    """The parser for gpt-oss. It asks for the token that ends the output, which also ends a call. If a stop word of the
    client ended it, the token is text, and is not shown.
    """

    headers = True

    def __init__(self, request: Any) -> None:
        super().__init__(request)
        self.request = self.request.model_copy(update={"include_stop_str_in_output": True})
        self._shows_stops = bool(request.include_stop_str_in_output)
        self._begin(request)

    def _shown(self, ids: Sequence[int]) -> Sequence[int]:
        hides = not self._shows_stops and self._is_stopped(ids)
        return ids[:-1] if hides and not self.model.vocab.is_control(ids[-1]) else ids
