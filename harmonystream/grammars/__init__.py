"""A row, read backwards: the grammar that lets a model write nothing but valid calls of declared tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from .._native.core.vocab import Vocab
from ..errors import GrammarError
from ..formats import Format, HeaderFormat, format_of
from ..tools import Tool
from .arguments import Function
from .calls import Calls, Output
from .gbnf import gbnf
from .harmony import Messages
from .lark import lark
from .nodes import Node, markers
from .structural_tag import structural_tag

__all__ = ["Grammar", "grammar"]

Choice = Literal["auto", "required", "none"]
_MOST_TOOLS = 1024


class Grammar:
    """What a model may write after a prompt. It is immutable; equal grammars have equal texts.

    `structural_tag` gives it in the language of xgrammar.
    """

    __slots__ = ("_key", "_node", "format")

    def __init__(self, format: str, node: Node) -> None:
        self.format, self._node = format, node
        self._key = (format, node)

    def structural_tag(self, vocab: Vocab | None = None) -> str:
        """JSON for xgrammar's `compile_structural_tag`, vLLM's `structural_tag` and SGLang's.

        vocab: markers that are control tokens of it become token ids. None: all markers are text.
        """
        return structural_tag(self._node, {} if vocab is None else vocab.control)

    def lark(self, vocab: Vocab | None = None) -> str:
        """Text in llguidance's Lark. vocab: as in `structural_tag`."""
        return lark(self._node, {} if vocab is None else vocab.control)

    def gbnf(self, *, exact: bool = True) -> str:
        """Text in llama.cpp's GBNF, in which markers are text.

        exact: raises `GrammarError` for a schema that its rules cannot keep. False takes any value of the type there.
        """
        return gbnf(self._node, exact)

    def llama(self, *, exact: bool = True) -> dict[str, Any]:
        """The fields of a request of llama-server: `grammar`, and in `preserved_tokens` the markers that text keeps.

        exact: as in `gbnf`. The grammar holds from the first token, with the text and the reasoning before calls.
        """
        return {"grammar": self.gbnf(exact=exact), "preserved_tokens": sorted(set(markers(self._node)))}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grammar) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"<Grammar of {self.format}>"


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
) -> Grammar:
    """The grammar of an output of this format.

    tools: `Tool`s, names, or definitions in the form of OpenAI's Chat Completions or Responses, or of Anthropic's
    Messages.
    choice: "auto", "required", "none", the name of a tool that must be called, or a list of names of which one must be.
    parallel: False allows one call.
    strict: True keeps the arguments of all tools to their schemas, False takes any object; None: each tool's own.
    reasoning: "allowed"; "prompt": only if the prompt has opened it; "none": never.
    start: where the prompt leaves the model, as `Parser.region` says it.
    answer: the JSON Schema of an answer. Then the output is calls, or that.
    order: of arguments: "declared", as the schema has them; "any": up to three arguments in any order.

    Raises `GrammarError` for tools or schemas that cannot be kept, and `FormatError` for an unknown format.
    """
    row = format_of(format)
    functions = tuple(_functions(tools, strict, order))
    wanted = _wanted(choice, functions)
    if wanted is not None:
        functions = tuple(one for one in functions if one.name in wanted)
    kind = choice if choice in ("auto", "none") else "required"
    if not functions:
        if kind == "required":
            raise GrammarError("a call is required, and there is no tool")
        kind = "none"
    reasons, may_reason = start == "reasoning", reasoning == "allowed"
    if isinstance(row, HeaderFormat):
        node = Messages(row, functions).whole(str(kind), answer, reasons=reasons, may_reason=may_reason)
    else:
        calls = Calls(row, functions, parallel=parallel)
        node = Output(row, calls, reasons=reasons, may_reason=may_reason).whole(str(kind), answer)
    return Grammar(row.name, node)


def _functions(tools: Iterable[Any], strict: bool | None, order: str) -> Iterable[Function]:
    seen = set()
    for number, tool in enumerate(tools):
        if number >= _MOST_TOOLS:
            raise GrammarError(f"there are more than {_MOST_TOOLS} tools")
        name, schema, own = _read(tool)
        if name in seen:
            raise GrammarError(f"there are two tools named {name!r}")
        seen.add(name)
        yield Function(name, schema, own if strict is None else strict, order)


def _read(tool: Any) -> tuple[str, Any, bool]:
    """The name, the schema of the arguments, and whether they have to fit it."""
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
    """The tools of which one must be called; None: any."""
    if choice in ("auto", "required", "none"):
        return None
    names = frozenset([choice] if isinstance(choice, str) else choice)
    missing = names - {one.name for one in functions}
    if missing or not names:
        raise GrammarError(
            f"choice is 'auto', 'required', 'none' or names of tools; there is no tool {sorted(missing)}"
        )
    return names
