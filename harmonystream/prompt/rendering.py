"""`render`: converts a conversation and its tools to a model's prompt."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeAlias

from .. import vocab as vocabs
from .._native.core.vocab import Vocab
from .._native.stream.parser import Parser
from ..checks import check_flag, check_text
from ..errors import FormatError, PromptError
from ..formats import Format, HeaderFormat, format_of
from ..formats.files import format_of_model
from ..formats.models import format_for
from .chat_form import Wants, for_template
from .dropping import Looked, dropped
from .dsml import write_dsml
from .families import Family, Turn, family_of
from .harmony import HarmonyOptions, chat_messages, head_messages, instructions
from .harmony_text import render_messages
from .marks import marked_pieces
from .messages import normalize
from .prompt import Look, Prompt
from .template import Template
from .tool_definitions import chat_tools
from .writer import JoiningWriter, MarkupWriter, Piece, Writer, ids_of

__all__ = ["Draft", "PromptWriter", "prompt_writer", "render"]

Day: TypeAlias = datetime.date | str | None


def render(
    messages: Any,
    *,
    tools: Any = None,
    model: str | None = None,
    format: str | Format | HeaderFormat | None = None,
    template: str | os.PathLike[str] | Template | None = None,
    vocab: Any = None,
    reasoning: str | None = None,
    thinking: bool | None = None,
    date: Day = "today",
    dialect: str | None = None,
    training: bool = False,
    continue_final: bool = False,
    **more: Any,
) -> Prompt:
    """The prompt for a conversation: its text, its ids, and a parser for what follows it.

    messages: a str, or messages of Chat Completions, Responses or Anthropic's Messages (see `normalize`).
    tools: a `Tools`, or a list of tool dicts of any of these APIs.
    model: the model's name, which implies the format.
    format: the format in which the model answers. By default it is found by `model`, or by the template's path.
    template: the model's own template, as a `Template`, a folder, a file or its text. These models need none, and are
    known by their names: Harmony (gpt-oss), DSML (DeepSeek-V3.2, V4, V4.1), Qwen3, DeepSeek-V3.1 and its search agent,
    Kimi-K2, GLM-4.5 and Seed-OSS. All other models need one.
    vocab: a `Vocab`, or an argument for `vocab.from_tokenizers`. By default gpt-oss's own, or the `tokenizer.json`
    beside the template. Without one, `ids` is None. Harmony's ids also need the package tiktoken.
    reasoning: the effort, "low", "medium" or "high", if the prompt names one.
    thinking: turns reasoning on or off.
    date: the current date in the prompt. A date, a string for Harmony, "today", or None for no line. A template may
    write the line anyway.
    dialect: which Harmony ("model", "openai", "oss", "vllm", "template"), or which DSML ("v3.2", "v4", "v4.1").
    training: render the whole conversation for training, without the beginning of another turn.
    continue_final: the prompt ends inside the last message, which the model continues.
    more: for Harmony, `identity`, `cutoff` and `builtin`; for Seed-OSS, `thinking_budget`; with a template, the
    variables that it reads.

    Raises `PromptError`, which names the mistake, and `ImportError` with the command that installs a missing package.
    """
    if isinstance(messages, Iterator):
        messages = list(messages)
    writer = prompt_writer(
        model=model,
        format=format,
        template=template,
        vocab=vocab,
        reasoning=reasoning,
        thinking=thinking,
        date=date,
        dialect=dialect,
        training=training,
        continue_final=continue_final,
        **more,
    )
    definitions = chat_tools(tools)

    def text_of(chat: list[dict[str, Any]], definitions: list[dict[str, Any]]) -> str:
        return writer.write(chat, definitions).text

    def look(looked: Looked | None) -> tuple[str, ...]:
        way = repr(writer.request._replace(messages=None, definitions=[]))
        return dropped(normalize(messages, think=None), definitions, tools, text_of, looked, way)

    # The parser types arguments by the schemas. Without a list it accepts any name, and with an empty list none.
    return writer.prompt(writer.write(messages, definitions), None if tools is None else definitions, look)


class Draft(NamedTuple):
    """A prompt whose texts are not encoded yet.

    pieces: as in `Writer`; None without a vocabulary. marked: True if markers in the texts of `pieces` are tokens.
    begins: where messages begin, as in `Writer`, if it is known. turns: where turns of the assistant begin that no
    marker opens, as in `Writer`.
    """

    parts: list[str]
    pieces: list[Piece] | None
    marked: bool = False
    begins: Sequence[tuple[int, int]] = ()
    turns: Sequence[int] = ()

    @property
    def text(self) -> str:
        return "".join(self.parts)


class PromptWriter(NamedTuple):
    """The arguments of `render` that do not depend on the conversation. It writes the prompts of many conversations."""

    row: Format | HeaderFormat | None
    vocab: Vocab | None
    draft: Callable[[_Request], Draft]
    request: _Request

    def write(self, messages: Any, definitions: list[dict[str, Any]]) -> Draft:
        """The prompt of a conversation with these tools, as `chat_tools` returns them."""
        return self.draft(self.request._replace(messages=messages, definitions=definitions))

    def prompt(self, draft: Draft, tools: list[dict[str, Any]] | None, look: Look | None) -> Prompt:
        row, vocab, ids = self.row, self.vocab, None
        if vocab is not None and draft.pieces is not None:
            ids = ids_of(draft.pieces, partial(vocab.encode, control=draft.marked))
        stop_ids = Parser(row, vocab).stop_ids if row is not None and vocab is not None else ()
        stops = () if row is None else tuple(sorted(row.stops))
        return Prompt(draft.text, ids, row, stop_ids, stops, vocab, tools, look=look)


def prompt_writer(
    *,
    model: str | None = None,
    format: str | Format | HeaderFormat | None = None,
    template: str | os.PathLike[str] | Template | None = None,
    vocab: Any = None,
    reasoning: str | None = None,
    thinking: bool | None = None,
    date: Day = "today",
    dialect: str | None = None,
    training: bool = False,
    continue_final: bool = False,
    **more: Any,
) -> PromptWriter:
    """Choose one of the four ways to write a prompt. The arguments and errors are those of `render`."""
    try:
        for name, text in (("model", model), ("reasoning", reasoning), ("dialect", dialect)):
            check_text(name, text)
        check_flag("thinking", thinking, none=True)
        check_flag("training", training)
        check_flag("continue_final", continue_final)
    except TypeError as error:
        raise PromptError(str(error)) from None
    if template is not None and not isinstance(template, Template):
        template = Template(template)
    row = _format(model, format, template)
    request = _Request([], [], reasoning, thinking, _day(date), dialect, training, continue_final, more)
    if template is not None:
        known = _vocab(vocab) or template.vocab
        return PromptWriter(row, known, partial(_with_template, template=template, row=row, vocab=known), request)
    known = _vocab(vocab)
    if isinstance(row, HeaderFormat):
        known = known or _default_vocab()
        return PromptWriter(row, known, _Harmony(request, known), request)
    if row is not None and row.encoding in _ENCODINGS:
        return PromptWriter(row, known, partial(_ENCODINGS[row.encoding], vocab=known, model=model), request)
    if isinstance(row, Format) and (family := family_of(model, row.name)) is not None:
        return PromptWriter(row, known, partial(_of_family, family=family, vocab=known), request)
    if row is None:
        raise PromptError("it is not known which prompt to write: pass model=, format= or template=")
    raise PromptError(
        f"the prompt of {model or 'a model of the format ' + row.name} is written by its own chat template: pass "
        "template=, its folder or file"
    )


class _Request(NamedTuple):
    """The arguments of one prompt."""

    messages: Any
    definitions: list[dict[str, Any]]
    reasoning: str | None
    thinking: bool | None
    date: Day
    dialect: str | None
    training: bool
    continue_final: bool
    more: Mapping[str, Any]

    def only(self, what: str, *known: str) -> None:
        """Refuse keywords that nothing reads."""
        if unknown := sorted(self.more.keys() - set(known)):
            more = ", ".join(known) or "no others"
            raise PromptError(f"no option {', '.join(unknown)}: beside the named options, {what} takes {more}")


def _day(date: Day) -> Day:
    if not isinstance(date, (str, datetime.date, type(None))):
        raise PromptError(f"date is a datetime.date, a string, or None, not {type(date).__name__}")
    return datetime.date.today() if date == "today" else date


def _format(
    model: str | None, format: str | Format | HeaderFormat | None, template: Template | None
) -> Format | HeaderFormat | None:
    if format is not None:
        return format_of(format)
    if model is not None:
        return format_of(format_for(model))
    try:
        folder = None if template is None else template.folder
        return None if folder is None else format_of(format_of_model(str(folder), folder))
    except FormatError:
        return None


def _vocab(given: Any) -> Vocab | None:
    if given is None or isinstance(given, Vocab):
        return given
    if hasattr(given, "decode_single_token_bytes"):
        return vocabs.from_tiktoken(given)
    return vocabs.from_tokenizers(given)


def _default_vocab() -> Vocab | None:
    return vocabs.o200k_harmony() if find_spec("tiktoken") else None


# --- the four ways ------------------------------------------------------------------------------------------------


class _Harmony:
    """Writes Harmony's prompts. The part before the conversation is written only once for each set of instructions."""

    def __init__(self, request: _Request, vocab: Vocab | None) -> None:
        request.only("a Harmony prompt", "identity", "cutoff", "builtin")
        if request.thinking is not None:
            raise PromptError("gpt-oss always reasons: pass reasoning='low', 'medium' or 'high' instead of thinking=")
        date = request.date.strftime("%Y-%m-%d") if isinstance(request.date, datetime.date) else request.date
        self._options = HarmonyOptions(
            dialect="model" if request.dialect is None else request.dialect,
            reasoning="medium" if request.reasoning is None else request.reasoning,
            date=date,
            training=request.training,
            continue_final=request.continue_final,
            **request.more,
        )
        self._options.check()
        self._vocab = vocab
        self._tools: list[dict[str, Any]] | None = None
        self._heads: dict[tuple[str, ...], Writer] = {}

    def __call__(self, request: _Request) -> Draft:
        options = self._options
        chat = normalize(request.messages)
        if options.continue_final and (not chat or chat[-1]["role"] != "assistant"):
            raise PromptError("continue_final: the last message must be the assistant's")
        advice = instructions(chat)
        head = self._head(advice, request.definitions)
        writer = Writer(self._vocab)
        writer.parts, writer.pieces, writer.begins = head.parts.copy(), head.pieces.copy(), head.begins.copy()
        render_messages(
            chat_messages(chat, len(advice), options),
            writer,
            options.dialect,
            next_role=None if options.training or options.continue_final else "assistant",
            training=options.training,
            open_last=options.continue_final,
        )
        return Draft(writer.parts, None if self._vocab is None else writer.pieces, begins=writer.begins)

    def _head(self, advice: tuple[str, ...], tools: list[dict[str, Any]]) -> Writer:
        heads = self._heads
        if tools is not self._tools or len(heads) >= _MOST_HEADS:  # many conversations may share one list of tools
            heads = self._heads = {}
            self._tools = tools
        head = heads.get(advice)
        if head is None:
            head = Writer(self._vocab)
            render_messages(head_messages(advice, tools, self._options), head, self._options.dialect)
            heads[advice] = head
        return head


_MOST_HEADS = 64


def _dsml(request: _Request, *, vocab: Vocab | None, model: str | None) -> Draft:
    request.only("a DSML prompt")
    writer = JoiningWriter(vocab)
    chat = for_template(normalize(request.messages), Wants(objects=False), "keep")
    if request.continue_final and (not chat or chat[-1]["role"] != "assistant"):
        raise PromptError("continue_final: the last message must be the assistant's")
    write_dsml(
        chat,
        request.definitions,
        writer,
        version=_version(model) if request.dialect is None else request.dialect,
        thinking=request.thinking is not False,
        effort=request.reasoning,
        continue_final=request.continue_final,
    )
    writer.flush()
    return Draft(writer.parts, None if vocab is None else writer.pieces, turns=writer.turns)


_ENCODINGS = {"dsml": _dsml}


def _of_family(request: _Request, *, family: Family, vocab: Vocab | None) -> Draft:
    request.only("the prompt of this family", *(family.switches & {"thinking_budget"}))
    if request.dialect is not None:
        raise PromptError("dialect= is for Harmony and DSML: the prompt of this family has one dialect")
    if request.thinking is not None and "thinking" not in family.switches:
        raise PromptError("this model has no switch for thinking: leave thinking= out")
    if request.reasoning is not None:
        raise PromptError("this model knows no efforts of reasoning: leave reasoning= out")
    budget = request.more.get("thinking_budget")
    if budget is not None and (not isinstance(budget, int) or isinstance(budget, bool)):
        raise PromptError(f"thinking_budget is a number of tokens, not {budget!r}")
    writer = MarkupWriter(vocab)
    chat = for_template(normalize(request.messages), Wants(objects=family.objects), family.ids)
    last = chat[-1] if chat else {"role": ""}
    if request.continue_final and (last["role"] != "assistant" or last.get("tool_calls")):
        raise PromptError("continue_final: the last message must be the assistant's, and without calls")
    date = request.date if isinstance(request.date, datetime.date) else None
    ask = not (request.training or request.continue_final)
    turn = Turn(request.thinking, budget, date, ask, request.continue_final)
    family.write(writer, chat, request.definitions, turn)
    writer.flush()
    return Draft(writer.parts, None if vocab is None else writer.pieces, turns=writer.turns)


def _version(model: str | None) -> str:
    """The encoding of a model, found by its name. V3.2 if the name does not have it."""
    import re

    found = re.search(r"v(4[.p]1|4)", (model or "").lower())
    return "v3.2" if found is None else "v4" if found[1] == "4" else "v4.1"


def _with_template(
    request: _Request, *, template: Template, row: Format | HeaderFormat | None, vocab: Vocab | None
) -> Draft:
    if request.dialect is not None:
        raise PromptError("dialect= is for prompts without a template: the template has one dialect, its own")
    think = row.think if isinstance(row, Format) and row.think else ("<think>", "</think>")
    tags = tuple(marker if isinstance(marker, str) else marker[0] for marker in think)
    rendered = template.render_marked(
        request.messages,
        tools=request.definitions,
        thinking=request.thinking,
        reasoning=request.reasoning,
        date=request.date if isinstance(request.date, datetime.date) else None,
        add_generation_prompt=not request.training,
        continue_final=request.continue_final,
        markers=() if vocab is None else tuple(vocab.markers),
        ids="functions" if isinstance(row, Format) and row.name_as == "id" else "keep",
        think=(tags[0], tags[1]),
        **request.more,
    )
    if vocab is None:
        return Draft([rendered.text], None)
    return Draft([rendered.text], *marked_pieces(rendered.marked, rendered.stand_ins, vocab))
