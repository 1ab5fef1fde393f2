"""A model's own chat template: finds and selects it, finds out its variables and its form of messages, and
renders it.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from .._native.core.vocab import Vocab
from ..checks import check_mapping, check_text, shown
from ..errors import PromptError
from ..vocabs.encoders import required
from . import bounds, jinja
from .chat_form import Wants, for_template, probe
from .marks import StandIns, mark_strings, spelling
from .messages import normalize
from .sources import Source, find
from .tool_definitions import chat_tools

__all__ = ["Rendered", "Template", "reads_tools"]

_GIVEN = frozenset({"messages", "tools", "add_generation_prompt"})
_REASONING_FIELDS = frozenset({"reasoning_content", "thinking", "reasoning"})
_SENTINEL = "harmonystream continues here"


class Rendered(NamedTuple):
    """The output of a template. `marked` still has the stand-ins that keep users' text apart. `text` has none."""

    text: str
    marked: str
    stand_ins: StandIns


class Template:
    """A chat template in Jinja, as models come with it.

    source: the template's text, a file (`.jinja`, `.json`, `.gguf`), or a model's folder.
    name: which template, if there are several. By default `tool_use` if tools are given, else `default`.
    tokens: the special tokens that it writes, such as `{"bos_token": "<s>"}`. A folder and a GGUF file have them.

    The package jinja2 is needed (the extra `prompt`). A template runs in Jinja's sandbox, for at most 10 s and 64
    million characters. That limits mistakes. But a template from an unknown source is a program: run it in a process
    that you can kill.
    """

    def __init__(
        self, source: str | os.PathLike[str], *, name: str | None = None, tokens: Mapping[str, str] | None = None
    ) -> None:
        if not isinstance(source, (str, os.PathLike)):
            raise PromptError(f"a template is a folder, a file or the text of one, not {shown(source)}")
        try:
            check_text("name", name)
            check_mapping("tokens", tokens)
        except TypeError as error:
            raise PromptError(str(error)) from None
        self._source: Source = find(source)
        if name is not None and name not in self._source.templates:
            names = ", ".join(self._source.templates)
            raise PromptError(f"{self._source.label} has no template named {name!r}; it has {names}")
        self.name = name
        self.tokens: dict[str, str] = {**self._source.tokens, **(tokens or {})}
        self._compiled: dict[str, _Compiled] = {}

    @classmethod
    def load(cls, source: str | os.PathLike[str], *, name: str | None = None) -> Template:
        """The same as `Template(source)`. Other classes have a method of this name, too."""
        return cls(source, name=name)

    def __repr__(self) -> str:
        return f"<Template {self._source.label}: {', '.join(self._source.templates)}>"

    @property
    def folder(self) -> Path | None:
        """The model's folder, if the template is from one."""
        return self._source.folder

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all templates."""
        return tuple(self._source.templates)

    @property
    def variables(self) -> frozenset[str]:
        """The variables that the template reads, beside messages, tools and special tokens. `render` takes them as
        keywords.
        """
        return frozenset(self._chosen(None).variables - _GIVEN - self.tokens.keys())

    @cached_property
    def vocab(self) -> Vocab | None:
        """The vocabulary of the folder's `tokenizer.json`. None if there is no such file."""
        from ..vocab import from_tokenizers

        folder = self._source.folder
        return from_tokenizers(folder) if folder is not None and (folder / "tokenizer.json").is_file() else None

    def render(self, messages: Any, **options: Any) -> str:
        """The prompt as text. See `render_marked` for the options."""
        return self.render_marked(messages, **options).text

    def render_marked(
        self,
        messages: Any,
        *,
        tools: Any = None,
        thinking: bool | None = None,
        reasoning: str | None = None,
        date: datetime.date | None = None,
        add_generation_prompt: bool = True,
        continue_final: bool = False,
        markers: Sequence[str] | None = None,
        ids: str = "keep",
        think: tuple[str, str] = ("<think>", "</think>"),
        **variables: Any,
    ) -> Rendered:
        """Render messages of any API (see `normalize`).

        thinking: sets the switch that the template reads, `enable_thinking` or another.
        reasoning: the value of `reasoning_effort`.
        date: the current date, for templates that write it.
        continue_final: the prompt ends inside the last message, which the model continues.
        variables: other variables that the template reads; see `variables`.
        markers: strings that messages, tools and variables must not turn into tokens, such as `vocab.markers`.
        ids: the form of call ids, "keep" or "functions" (Kimi's).
        think: the tags around reasoning in contents.

        Raises `PromptError` if the template cannot take the messages, tools or variables, and for errors in the
        template.
        """
        definitions = chat_tools(tools)
        chosen = self._chosen(definitions)
        if definitions and "tools" not in chosen.variables:
            raise PromptError(f"the template {chosen.label} does not read tools; use one that does, or pass none")
        wants = chosen.wants(self.tokens)
        chat = normalize(messages, think=think if wants.reasoning else None)
        chat = for_template(chat, wants, ids)
        given = self._variables(chosen, thinking, reasoning, variables)
        own = {name: given.pop(name) for name in self.tokens.keys() & given.keys()}  # these are control tokens
        data = {"messages": chat, "tools": wants.wrapped(definitions) if definitions else None, "given": given}
        marked = mark_strings(data, spelling(markers) if markers else None, think, chosen.source)
        if continue_final:
            _open_last(marked.data["messages"], wants.reasoning)
        given = {**marked.data.pop("given"), **own, **marked.data}
        given["add_generation_prompt"] = add_generation_prompt and not continue_final
        text = jinja.run(chosen.code, chosen.label, {**self.tokens, **given}, today=date, stand_ins=marked.stand_ins)
        if continue_final:
            text = _cut(text, chosen.label)
        return Rendered(marked.stand_ins.undone(text), text, marked.stand_ins)

    def _chosen(self, tools: Any) -> _Compiled:
        templates = self._source.templates
        name = self.name
        if name is None:
            name = "tool_use" if tools and "tool_use" in templates else "default"
        if name not in templates:
            name = next(iter(templates))
        if name not in self._compiled:
            label = self._source.label if len(templates) == 1 else f"{self._source.label} ({name})"
            self._compiled[name] = _Compiled(templates[name], label)
        return self._compiled[name]

    def _variables(
        self, chosen: _Compiled, thinking: bool | None, reasoning: str | None, variables: dict[str, Any]
    ) -> dict[str, Any]:
        given = dict(variables)
        readable = chosen.variables - _GIVEN - self.tokens.keys()
        if thinking is not None:
            given = {**_switch(chosen, thinking), **given}
        if reasoning is not None:
            given.setdefault("reasoning_effort", reasoning)
        if unknown := sorted(given.keys() - chosen.variables - self.tokens.keys()):
            known = ", ".join(sorted(readable)) or "nothing else"
            raise PromptError(f"the template {chosen.label} does not read {', '.join(unknown)}; it reads {known}")
        return given


def reads_tools(template: Template) -> bool:
    """Does the template for conversations with tools read them?"""
    return "tools" in template._chosen([{}]).variables


_SWITCHES = ("enable_thinking", "thinking")


def _switch(chosen: _Compiled, thinking: bool) -> dict[str, Any]:
    """The variable that turns reasoning on or off, under this template's name for it."""
    for name in _SWITCHES:
        if name in chosen.variables:
            return {name: thinking}
    if "thinking_budget" in chosen.variables:
        return {} if thinking else {"thinking_budget": 0}
    raise PromptError(f"the template {chosen.label} has no switch for thinking: leave thinking= out")


class _Compiled:
    """One template: its code, its variables, and, after the first probe, its form of messages."""

    def __init__(self, source: str, label: str) -> None:
        required("jinja2", "prompt")
        from jinja2 import meta, nodes

        self.label, self.source = label, source
        self.code = jinja.compiled(source, label)
        tree = jinja.parsed(source)
        self.variables = frozenset(meta.find_undeclared_variables(tree)) - self.code.environment.globals.keys()
        fields = {node.attr for node in tree.find_all(nodes.Getattr)}
        texts = {node.value for node in tree.find_all(nodes.Const) if isinstance(node.value, str)}
        self._reasoning = bool(_REASONING_FIELDS & (fields | texts))
        self._developer = any("developer" in text for text in texts)
        self._wants: Wants | None = None

    def wants(self, tokens: Mapping[str, str]) -> Wants:
        if self._wants is None:
            with bounds.limited():
                wants = probe(lambda data: self._try(data, tokens), "tools" in self.variables)
            self._wants = wants._replace(reasoning=self._reasoning, developer=self._developer)
        return self._wants

    def _try(self, data: dict[str, Any], tokens: Mapping[str, str]) -> str | None:
        """The template's output for a probe. None if it refuses."""
        try:
            return jinja.run(self.code, self.label, {"tools": None, **tokens, **data}, today=None)
        except PromptError:
            if bounds.is_over():  # the time is over, so the template has not refused it
                raise
            return None


# --- prompts that end inside the last message ---------------------------------------------------------------------


def _open_last(messages: list[dict[str, Any]], reasoning: bool) -> None:
    last = messages[-1] if messages else {}
    if last.get("role") != "assistant" or last.get("tool_calls"):
        raise PromptError("continue_final: the last message must be the assistant's, and without calls")
    field = "content" if last["content"] or not (reasoning and "reasoning_content" in last) else "reasoning_content"
    for name in _REASONING_FIELDS & last.keys() if field == "reasoning_content" else {field}:
        if not isinstance(last[name], str):
            raise PromptError(f"continue_final: the last message's {name} must be text")
        last[name] += _SENTINEL


def _cut(text: str, label: str) -> str:
    place = text.rfind(_SENTINEL)
    if place < 0:
        raise PromptError(f"the template {label} does not write the last message, so it cannot be continued")
    return text[:place]
