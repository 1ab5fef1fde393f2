"""Makes a grammar from a format's row, which lets a model write only valid calls of declared tools."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Protocol

from .._native.core.vocab import Vocab
from .._native.stream.markup import where_of
from .._native.stream.parser import Parser
from ..checks import check_flag, check_mapping, check_vocab, shown
from ..errors import GrammarError
from ..formats import Format, HeaderFormat, format_of
from ..tools import Tool, Tools
from .arguments import Function, endings, forget_functions, function_of
from .begun import after
from .calls import Calls, Output
from .gbnf import gbnf
from .harmony import Messages
from .kept import fitted
from .lark import lark
from .matching import Matcher
from .nodes import Node, markers
from .rows import markup_of
from .schemas import canonical, check_size
from .structural_tag import structural_tag

__all__ = ["Grammar", "Matcher", "grammar"]

Choice = Literal["auto", "required", "none"]
_MOST_TOOLS = 1024
_TURN = "<|start|>assistant"
_MOST_KEPT = 256
_kept: dict[tuple[object, ...], Grammar] = {}

try:
    import orjson

    def _dumps(content: Any) -> bytes:
        return orjson.dumps(content, option=orjson.OPT_PASSTHROUGH_DATACLASS)
except ImportError:  # it is only faster
    import marshal

    def _dumps(content: Any) -> bytes:
        return marshal.dumps(content, 2)  # this version writes equal objects equally


class Prompt(Protocol):
    """The part of a rendered prompt that a grammar reads. `harmonystream.prompts.Prompt` has it."""

    @property
    def text(self) -> str: ...
    @property
    def ids(self) -> Sequence[int] | None: ...
    @property
    def begun(self) -> int: ...
    @property
    def vocab(self) -> Vocab | None: ...
    def parser(self, **options: Any) -> Parser: ...


class Grammar:
    """What a model may write after a prompt. It is immutable. Equal grammars have equal texts.

    `structural_tag` returns it in xgrammar's language. Each text is made only once.

    format, row: the name of the format, and its row. exact: is a schema that cannot be kept an error? Otherwise the
    grammar allows more there. notes: where it does, in every language.
    """

    __slots__ = ("_functions", "_lost", "_markup", "_node", "_options", "_texts", "exact", "format", "notes", "row")
    format: str
    row: Format | HeaderFormat
    exact: bool
    notes: tuple[str, ...]

    def __init__(
        self,
        row: Format | HeaderFormat,
        node: Node,
        functions: Sequence[Function] = (),
        options: tuple[object, ...] = (),
        exact: bool = True,
        notes: tuple[str, ...] = (),
    ) -> None:
        """functions, options: what the node is made of."""
        self.format, self.row, self._node = row.name, row, node
        self._functions, self._options = functions, options
        self.exact, self.notes = exact, notes
        self._markup = markup_of(row)
        self._texts: dict[tuple[object, ...], tuple[str, tuple[str, ...]]] = {}
        self._lost: list[str] | None = None

    def structural_tag(self, vocab: Vocab | None = None) -> str:
        """JSON for xgrammar's `compile_structural_tag`, vLLM's `structural_tag` and SGLang's.

        vocab: markers that are its control tokens become token ids. None: all markers are text.
        """
        return self._structural_tag(vocab)[0]

    def _structural_tag(self, vocab: Vocab | None) -> tuple[str, tuple[str, ...]]:
        check_vocab(vocab)
        controls = self._markup.controls(vocab)
        return self._made((structural_tag, controls), self.exact, partial(structural_tag, self._node, controls))

    def lark(self, vocab: Vocab | None = None) -> str:
        """Text in llguidance's Lark. vocab: as in `structural_tag`."""
        return self._lark(vocab)[0]

    def _lark(self, vocab: Vocab | None) -> tuple[str, tuple[str, ...]]:
        check_vocab(vocab)
        control = {} if vocab is None else vocab.control
        spelled = isinstance(self.row, Format) and not self.row.control
        key = (lark, None if vocab is None else vocab.fingerprint)
        return self._made(key, self.exact, partial(lark, self._node, control, spelled=spelled))

    def gbnf(self, *, exact: bool | None = None) -> str:
        """Text in llama.cpp's GBNF, where markers are text.

        exact: as in `hs.grammar`. None: as the grammar was made.
        """
        exact = self.exact if exact is None else exact
        return self._made((gbnf, exact), exact, partial(gbnf, self._node))[0]

    def wider(self, language: Literal["structural_tag", "lark", "gbnf"], vocab: Vocab | None = None) -> tuple[str, ...]:
        """What this text of a grammar with `exact=False` does not keep, each with its tool, place and keyword."""
        if language not in ("structural_tag", "lark", "gbnf"):
            raise GrammarError(f"language is structural_tag, lark or gbnf, not {shown(language)}")
        if language == "gbnf":
            found = self._made((gbnf, self.exact), self.exact, partial(gbnf, self._node))
        else:
            found = self._lark(vocab) if language == "lark" else self._structural_tag(vocab)
        return (*self.notes, *found[1])

    def _made(self, key: tuple[object, ...], exact: bool, make: Callable[..., str]) -> tuple[str, tuple[str, ...]]:
        made = self._texts.get(key)
        if made is None:
            lost: list[str] = []
            try:
                text = make(lose=_refuse if exact else lost.append)
            except RecursionError as error:
                raise GrammarError("the grammar has too many parts after one another for this language") from error
            made = self._texts[key] = text, tuple(dict.fromkeys(lost))
        if self._lost is not None:
            self._lost += made[1]
        return made

    def llama(self, *, exact: bool | None = None) -> dict[str, Any]:
        """The fields of a request of llama-server: `grammar`, and `preserved_tokens` with the markers to keep in the
        text.

        exact: as in `gbnf`. The grammar holds from the first token, including text and reasoning before calls.
        """
        return {"grammar": self.gbnf(exact=exact), "preserved_tokens": sorted(set(markers(self._node)))}

    def matcher(self, vocab: Vocab, stop_ids: Sequence[int] | None = None) -> Matcher:
        """A `Matcher`, which knows in a decode loop which tokens may come next. Arguments and errors as in
        `Matcher`.
        """
        return Matcher(self, vocab, stop_ids)

    @property
    def _key(self) -> tuple[object, ...]:
        return tuple((one.name, one.text) for one in self._functions), self._options, self.exact

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grammar) and self._key == other._key and self.row == other.row

    def __hash__(self) -> int:
        return hash((self.format, self._key))

    def __repr__(self) -> str:
        return f"<Grammar of {self.format}>"


def noting(grammar: Grammar, lost: list[str]) -> Grammar:
    """The same grammar, for an engine that takes its text in a language that only the engine knows.

    lost: gets what the text does not keep, as `Grammar.wider` returns it.
    """
    view = copy.copy(grammar)  # with the same texts
    view._lost = lost
    lost += grammar.notes
    return view


def _refuse(what: str) -> None:
    raise GrammarError(f"{what}. exact=False allows more there")


def grammar(
    format: str | Format | HeaderFormat,
    tools: Iterable[Any] = (),
    *,
    choice: str | Sequence[str] = "auto",
    parallel: bool = True,
    strict: bool | None = None,
    reasoning: Literal["prompt", "allowed", "none"] = "allowed",
    start: Literal["content", "reasoning"] = "content",
    answer: Mapping[str, Any] | None = None,
    order: Literal["any", "declared"] = "declared",
    prompt: Prompt | None = None,
    exact: bool = True,
) -> Grammar:
    """The grammar of an output of this format: what a constrained decoder may let the model write.

    format: a format, its name, or a model's name.
    tools: `Tools`, or a list of `Tool`s, names, or definitions in the form of OpenAI's Chat Completions or Responses,
    or of Anthropic's Messages.
    choice: "auto", "required", "none", the name of a tool that must be called, or a list of names. One tool of a list
    must be called.
    parallel: False allows one call.
    strict: True makes the arguments of all tools fit their schemas, False allows any object. None: each tool's own
    setting.
    reasoning: "allowed"; "prompt": only if the prompt has opened it; "none": never.
    start: where in the output the model begins, as in `Parser.region`.
    answer: the JSON Schema of an answer. Then the output is either calls or this answer.
    order: of arguments: "declared", as the schema has them; "any": up to three arguments in any order, and up to six in
    JSON for llguidance and llama.cpp.
    prompt: a `Prompt`, used instead of `start`. It may have opened reasoning, or end with what the model has written so
    far (`Prompt.continue_with`). If it has closed reasoning, the model cannot reason.
    exact: False: where a schema cannot be kept, the grammar allows more. If a format cannot write a tool's schema at
    all, this tool takes any object. `Grammar.wider` returns what is not kept. True: this is an error.

    The last 256 grammars are cached by their arguments.

    Raises `GrammarError` for tools or schemas that cannot be expressed, and for a prompt that ends inside of arguments
    or begins something that is not allowed. Raises `FormatError` for an unknown format.
    """
    row = format_of(format)
    check_flag("parallel", parallel)
    check_flag("strict", strict, none=True)
    check_flag("exact", exact)
    check_mapping("answer", answer)
    begun = ""
    if isinstance(prompt, (str, list, tuple)):
        raise TypeError("prompt must be a Prompt, as render() returns it: Prompt.continue_with() adds an output to it")
    if prompt is not None:
        start, begun, over = _place(row, prompt)
        reasoning = "none" if over else reasoning
    try:
        names = choice if isinstance(choice, str) else tuple(choice)
        content: object = tools.state if isinstance(tools, Tools) else _dumps(tools)
        asked = None if answer is None else _dumps(answer)
        key: tuple[object, ...] | None = (
            id(row),
            content,
            names,
            parallel,
            strict,
            reasoning,
            start,
            begun,
            asked,
            order,
            exact,
        )
        found = _kept.get(key)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # not JSON, or of a type that JSON does not have, such as `Tool`
        key = found = None
    if found is None:
        _check(tools, choice, reasoning, start, order, answer)
        found = _made(row, tools, names, parallel, strict, reasoning, start, begun, answer, order, exact)
        if key is not None:
            while len(_kept) >= _MOST_KEPT:
                _kept.pop(next(iter(_kept)), None)
            _kept[key] = found  # it keeps the row alive, so that no other row gets its id
    return found


def _check(tools: Any, choice: Any, reasoning: Any, start: Any, order: Any, answer: Any) -> None:
    """Raises GrammarError for an argument of `grammar` that it does not take."""
    if answer is not None:
        check_size(answer, "the answer")
    for name, value, known in (
        ("reasoning", reasoning, ("prompt", "allowed", "none")),
        ("start", start, ("content", "reasoning")),
        ("order", order, ("any", "declared")),
    ):
        if value not in known:
            raise GrammarError(f"{name} is one of {', '.join(known)}, not {shown(value)}")
    if isinstance(tools, (str, bytes, Mapping)) or not isinstance(tools, Iterable):
        raise GrammarError(f"tools is Tools, or a list of tools, not {shown(tools)}")
    if isinstance(choice, Mapping) or not isinstance(choice, Iterable):
        raise GrammarError(
            f"choice is 'auto', 'required', 'none', the name of a tool, or a list of names, not {shown(choice)}"
        )


def forget() -> None:
    """Forget all grammars, and the parts of tools."""
    _kept.clear()
    forget_functions()
    fitted.cache_clear()


def _made(
    row: Format | HeaderFormat,
    tools: Iterable[Any],
    choice: str | tuple[str, ...],
    parallel: bool,
    strict: bool | None,
    reasoning: str,
    start: str,
    begun: str,
    answer: Mapping[str, Any] | None,
    order: str,
    exact: bool,
) -> Grammar:
    notes: list[str] = []
    functions = tuple(_functions(tools, strict, order, None if exact else notes))
    wanted = _wanted(choice, functions)
    if wanted is not None:
        functions = tuple(one for one in functions if one.name in wanted)
    kind = str(choice) if choice in ("auto", "none") else "required"
    if not functions:
        if kind == "required":
            raise GrammarError("a call is required, and there is no tool")
        kind = "none"
    if not exact and isinstance(row, Format) and functions:
        functions = tuple(_writable(row, one, notes) for one in functions)
    reasons, may_reason = start == "reasoning", reasoning == "allowed"
    if isinstance(row, HeaderFormat):
        node = Messages(row, functions).whole(kind, answer, reasons=reasons, may_reason=may_reason)
    else:
        calls = Calls(row, functions, parallel=parallel)
        node = Output(row, calls, reasons=reasons, may_reason=may_reason).whole(kind, answer)
    asked = None if answer is None else canonical(answer)
    options = (kind, parallel, reasons, may_reason, begun, asked, order)
    return Grammar(row, after(node, begun), functions, options, exact, tuple(notes))


def _writable(row: Format, function: Function, notes: list[str]) -> Function:
    """The tool as this format can write it: with its schema, or else with any object."""
    if not function.strict or function.can_be_written(endings(row)):
        return function
    try:
        Calls(row, (function,), parallel=False).block()
    except GrammarError as error:
        notes.append(f"{function.what} takes any object: {error}")
        return function.any_object()
    return function


def _place(row: Format | HeaderFormat, prompt: Prompt) -> tuple[Literal["content", "reasoning"], str, bool]:
    """Where in the output a prompt ends: `start`, the beginning of the answer after it, and whether reasoning is over.

    After closed reasoning a parser reads think tags as text of the answer, so a grammar must not allow them.
    """
    if isinstance(row, HeaderFormat):
        _, found, begun = prompt.text.rpartition(_TURN)
        return "content", begun if found else "", False
    begun, bare = "", prompt.text if prompt.ids is None else prompt.ids
    if prompt.begun:
        begin, bare = bare[-prompt.begun :], bare[: -prompt.begun]
        if isinstance(begin, str):
            begun = begin
        elif prompt.vocab is not None:
            begun = prompt.vocab.decode(begin)
    where = where_of(prompt.parser(prompt=bare))
    return "reasoning" if where == "reasoning" else "content", begun, where == "answer"


def _functions(tools: Iterable[Any], strict: bool | None, order: str, notes: list[str] | None) -> Iterable[Function]:
    """notes: takes what is wrong with a schema. The tool then takes any object. None: this is an error."""
    seen = set()
    for number, tool in enumerate(tools):
        if number >= _MOST_TOOLS:
            raise GrammarError(f"there are more than {_MOST_TOOLS} tools")
        name, schema, own = _read(tool)
        if name in seen:
            raise GrammarError(f"there are two tools named {name!r}")
        seen.add(name)
        try:
            yield function_of(name, schema, own if strict is None else strict, order)
        except GrammarError as error:
            if notes is None:
                raise
            notes.append(f"tool {name!r} takes any object: {error}")
            yield function_of(name, {}, False, order)


def _read(tool: Any) -> tuple[str, Any, bool]:
    """The name, the schema of the arguments, and whether they must fit it."""
    if isinstance(tool, str):
        return tool, None, False
    if isinstance(tool, Tool):
        return tool.name, tool.parameters, tool.strict is True
    fields = tool
    if isinstance(fields, Mapping) and isinstance(fields.get("function"), Mapping):
        fields = fields["function"]
    name = fields.get("name") if isinstance(fields, Mapping) else None
    if not isinstance(name, str) or not name:
        raise GrammarError(f"a tool is a name, or a definition with a name, not {type(tool).__name__}")
    schema = fields.get("parameters", fields.get("input_schema"))
    return name, schema if isinstance(schema, (Mapping, bool)) else {}, fields.get("strict") is True


def _wanted(choice: str | Sequence[str], functions: Sequence[Function]) -> frozenset[str] | None:
    """One of these tools must be called. None: any tool, or none."""
    if choice in ("auto", "required", "none"):
        return None
    names = frozenset([choice] if isinstance(choice, str) else choice)
    missing = names - {one.name for one in functions}
    if missing or not names:
        known = ", ".join(one.name for one in functions) or "none"
        raise GrammarError(
            f"choice is 'auto', 'required', 'none' or names of tools, not {shown(choice)}; the tools are {known}"
        )
    return names


def __dir__() -> list[str]:
    return sorted(__all__)
