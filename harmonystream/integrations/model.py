"""What there is to know of the model that an engine serves: its format, its vocabulary, and its markers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from .._native.core.vocab import Vocab
from .._native.stream.markup import Markup
from .._native.stream.parser import Parser
from ..completion import Delta
from ..errors import FormatError
from ..formats import Format, HeaderFormat, format_of, names
from ..formats.models import format_for
from ..text_limit import spelled
from ..vocab import from_tokenizers, o200k_harmony

__all__ = ["HIDDEN", "Model", "joined", "model_of", "parser_for", "tool_dicts"]

HIDDEN: list[dict[str, Any]] = [{"type": "function", "function": {"name": "\uffff", "parameters": {}}}]
"""The tools of a request that has none, for a server that hides calls: a call between its markers is a call, which the
server does not show, and JSON that nothing marks is text."""


class Model(NamedTuple):
    """The data of a model. It is made once for each tokenizer of a process."""

    format: Format | HeaderFormat
    vocab: Vocab
    markup: Markup

    def reason(self, last: int) -> str | None:
        """The finish reason of an output that no stop string has cut, found by its last id. Some engines do not pass it
        to parsers.

        None: the format does not know this control token, which may be another stop of the model.
        """
        if last in self.markup.stops:
            return "stop"
        if isinstance(self.format, HeaderFormat) or last not in self.vocab or not self.vocab.is_control(last):
            return "length"
        markers = self.markup.reasoning_start + self.markup.reasoning_end + self.markup.call_start
        return "length" if last in markers else None


@lru_cache(maxsize=8)
def model_of(tokenizer: Any, format: str | None) -> Model:
    """The model that has this tokenizer.

    format: its name. None: found by the tokenizer's `name_or_path`, or else by its `response_template`.

    A short answer is read and written at once, so that a server with a wrong format does not start.

    Raises FormatError for a model with an unknown format, and VocabError for a tokenizer that cannot be read, or that
    lacks tokens of the format.
    """
    row = format_of(_find_format(tokenizer) if format is None else format)
    # gpt-oss has one vocabulary, which is in the package. Reading it from the tokenizer would take a second.
    vocab = o200k_harmony() if isinstance(row, HeaderFormat) else from_tokenizers(tokenizer)
    model = Model(row, vocab, Markup(row, vocab))
    _try(model)
    return model


def _try(model: Model) -> None:
    """Do for one short answer what is done for each request, with the same errors."""
    from ..emit import ChatStream

    word = spelled(model.vocab, b"Hi")
    headers = isinstance(model.format, HeaderFormat)
    before = _FINAL if headers else model.markup.reasoning_end[:1]
    prompt = [] if headers else model.markup.reasoning_start[:1]
    stream = ChatStream(parser_for(model, HIDDEN, prompt), id="1", model="1", created=0, tool_choice="none")
    stream.start()
    stream.feed([*before, *word])
    stream.finish("stop")
    content = stream.response()["choices"][0]["message"]["content"] or ""
    if word and content != "Hi":
        raise FormatError(f"{model.format.name!r} does not read this model: an answer of 'Hi' came out as {content!r}")


_FINAL = (200005, 17196, 200008)
"""`<|channel|>final<|message|>`"""


def _find_format(tokenizer: Any) -> str | Format:
    name = str(getattr(tokenizer, "name_or_path", ""))
    template = getattr(tokenizer, "response_template", None)
    try:
        return format_for(name)
    except FormatError as error:
        if isinstance(template, dict):
            return Format.from_response_template(template)
        known = ", ".join(f"harmonystream_{each}" for each in names())
        message = f"the parser 'harmonystream' chooses the format by the model's name: {error}. Or name one of {known}"
        raise FormatError(message) from None


def parser_for(model: Model, tools: list[dict[str, Any]], prompt: Sequence[int] | str | None) -> Parser:
    """tools: the request's. prompt: its ids, or its text. None if the engine does not pass it."""
    start: dict[str, Any] = {} if prompt is None else {"prompt": prompt}
    return Parser(model.format, model.vocab, tools=tools, **start)


def joined(first: Delta, second: Delta) -> Delta:
    """Two deltas joined into one."""
    return Delta(first.reasoning + second.reasoning, first.content + second.content, first.calls + second.calls)


def tool_dicts(tools: Any) -> list[dict[str, Any]]:
    """The tools of a request as dicts. They may be pydantic objects. [] if there are none."""
    return [tool if isinstance(tool, dict) else tool.model_dump(exclude_none=True) for tool in tools or ()]
