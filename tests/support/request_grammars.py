"""The grammar of a request in the servers of engines: what it has to accept of what a model may write."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from host_scenarios import FORMATS, ids_of
from openai import omit
from wire_scenarios import Call, Scenario, Text, write


class Ask(NamedTuple):
    """choice: `tool_choice`. None: the request has no tools. strict: of the tool f. form: has the answer a form?"""

    choice: Any
    strict: bool
    parallel: bool
    form: bool

    @property
    def mode(self) -> Any:
        """`tool_choice`, without the names of tools."""
        return self.choice["mode"] if isinstance(self.choice, dict) and "mode" in self.choice else self.choice

    @property
    def constrained(self) -> bool:
        return self.form or (self.choice is not None and (self.choice != "auto" or self.strict or not self.parallel))


NAMED = {"type": "function", "function": {"name": "f"}}
_F_ALONE = [
    {"type": "allowed_tools", "mode": mode, "tools": [{"type": "function", "name": "f"}]}
    for mode in ("auto", "required")
]
ALLOWED = [Ask(choice, False, True, form) for choice in _F_ALONE for form in (False, True)]
_CALLS = [Ask(*each) for each in product(("auto", "required", NAMED), (False, True), (True, False), (False, True))]
_FORMS = [Ask("none", False, True, True), Ask(None, False, True, True)]
OUTPUTS: dict[str, tuple[Text | Call, ...]] = {
    "an answer": (Text("content", "Hello there."),),
    "the form": (Text("content", '{"n": 1}'),),
    "the form after reasoning": (Text("reasoning", "Hm."), Text("content", '{"n": 1}')),
    "another form": (Text("content", '{"n": "x"}'),),
    "a call": (Call("f", '{"i": 1}', {}),),
    "a call after text": (Text("preamble", "One moment."), Call("f", '{"i": 1}', {})),
    "a call after reasoning": (Text("reasoning", "Hm."), Call("f", '{"i": 1}', {})),
    "a call of no tool after reasoning": (Text("reasoning", "Hm."), Call("h", '{"i": 1}', {})),
    "a call that does not fit": (Call("f", '{"i": "x"}', {}),),
    "a call of another tool": (Call("g", '{"s": "x"}', {}),),
    "a call of no tool": (Call("h", '{"i": 1}', {}),),
    "two calls": (Call("f", '{"i": 1}', {}), Call("g", '{"s": "x"}', {})),
}


def asks_of(format: str) -> list[Ask]:
    """The requests whose grammar is ours. A form without calls is the engine's own, except in headers."""
    return _CALLS + _FORMS * (format == "harmony")


def _is_allowed(ask: Ask, name: str, format: str) -> bool:
    """May a model write this output to the request, if a grammar holds?"""
    called = [item.name for item in OUTPUTS[name] if isinstance(item, Call)]
    if not called:
        return ask.mode in ("auto", "none", None) and (not ask.form or name.startswith("the form"))
    if ask.choice in ("none", None):
        return False
    if name == "a call after text" and format != "harmony":
        return ask.mode == "auto" and not ask.form
    if len(called) > 1 and (not ask.parallel or format == "harmony"):
        return False
    if isinstance(ask.choice, dict) and set(called) != {"f"}:
        return False
    return set(called) <= {"f", "g"} and not (ask.strict and name == "a call that does not fit")


def body(ask: Ask) -> dict[str, Any]:
    """The fields of a Chat request."""
    more = {"response_format": {"type": "json_schema", "json_schema": {"name": "form", "schema": _FORM}}}
    if ask.choice is None:
        return {"tools": omit, **more}
    given = ask.choice
    if ask in ALLOWED:
        given = {"type": "allowed_tools", "allowed_tools": {"mode": ask.mode, "tools": [NAMED]}}
    choice = {"tool_choice": given, "parallel_tool_calls": ask.parallel}
    return {"tools": _tools(ask), **choice, **(more if ask.form else {})}


def responses_body(ask: Ask) -> dict[str, Any]:
    """The fields of a request of Responses."""
    more = {"text": {"format": {"type": "json_schema", "name": "form", "schema": _FORM}}}
    if ask.choice is None:
        return {"tools": [], **more}
    named = {"type": "function", "name": "f"}
    choice = {"tool_choice": named if ask.choice == NAMED else ask.choice, "parallel_tool_calls": ask.parallel}
    flat = [{"type": "function", "strict": False, **tool["function"]} for tool in _tools(ask)]
    return {"tools": flat, **choice, **(more if ask.form else {})}


def _tools(ask: Ask) -> list[dict[str, Any]]:
    made = []
    for name, key, kind, strict in (("f", "i", "integer", ask.strict), ("g", "s", "string", False)):
        schema = {"type": "object", "properties": {key: {"type": kind}}, "required": [key]}
        function = {"name": name, "description": "A tool.", "parameters": {**schema, "additionalProperties": False}}
        made.append({"type": "function", "function": {**function, **({"strict": True} if strict else {})}})
    return made


_FORM = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


def wrong(ask: Ask, format: str, tag: str | None, tokenizer: Any, stops: list[int]) -> list[str]:
    """The outputs that the grammar of a request does not take as it should.

    tag: the structural tag that the engine was given. tokenizer: the served model's. stops: the ids that end an output.
    """
    if tag is None:
        return ["there is no grammar"] * ask.constrained
    found = []
    compiled = _compiler(tokenizer, tuple(stops)).compile_structural_tag(tag)
    for name, said in OUTPUTS.items():
        ids = ids_of(FORMATS[format], write(format, Scenario(said)), stops=True)
        if _accepts(compiled, ids, stops) != _is_allowed(ask, name, format):
            found.append(name)
    return found


def _accepts(compiled: Any, ids: list[int], stops: list[int]) -> bool:
    from xgrammar import GrammarMatcher

    matcher = GrammarMatcher(compiled)
    for tid in ids:
        if matcher.is_terminated() or not matcher.accept_token(tid):
            return False
    return matcher.is_terminated() or any(matcher.fork().accept_token(tid) for tid in stops)


@lru_cache(2)
def _compiler(tokenizer: Any, stops: tuple[int, ...]) -> Any:
    """As the engines make it."""
    from xgrammar import GrammarCompiler, TokenizerInfo

    return GrammarCompiler(TokenizerInfo.from_huggingface(tokenizer, stop_token_ids=list(stops)))
