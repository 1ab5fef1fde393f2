"""How the model of each family writes reasoning and calls, as its chat template does.

⟨name⟩, ⟨arguments⟩, ⟨number⟩, ⟨key⟩, ⟨value⟩ and ⟨kind⟩ are replaced. Only the standard library: the rivals' processes
read this, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .meanings import Json, Meaning, as_json

HOLE = re.compile("⟨(\\w+)⟩")


class Form(NamedTuple):
    """A family: our row, the rivals' parsers, and what its model writes.

    vllm, sglang: the names of the parser of calls and of the one of reasoning, "-" for none; "": the family is unknown
    there. prompts: the end of the prompt after which the model thinks, and of the one after which it answers.
    think: what the model writes around its thoughts. always: it always thinks. content: around content, before calls.
    section: before all calls, between two, and after all. call: one call. most: calls of one output. first: the number
    of the first. pair: one argument, if arguments have tags; else `write` gives them all. says: what of some arguments
    can be written.
    before, after: whether there can be content before calls, and after them.
    """

    format: str
    vllm: str
    sglang: str
    call: str
    section: tuple[str, str, str] = ("", "", "")
    pair: str = ""
    write: Callable[[Any], str] = as_json
    says: Callable[[Json], Json] = dict
    think: tuple[str, str] = ("", "</think>")
    prompts: tuple[str, str] = ("<think>", "<think></think>")
    content: tuple[str, str] = ("", "")
    first: int = 0
    before: bool = True
    after: bool = True
    most: int = 4
    always: bool = False

    @property
    def parsers(self) -> dict[str, list[str | None]]:
        """By rival, the names of its two parsers."""
        given = {"vLLM": self.vllm, "SGLang": self.sglang}
        return {
            rival: [None if name == "-" else name for name in names.split()] for rival, names in given.items() if names
        }

    @property
    def is_text(self) -> bool:
        """Are arguments texts between tags, whose types only the schema says?"""
        return bool(self.pair) or self.says is not dict

    @property
    def thinks(self) -> bool:
        """Can all of the rivals that know the family separate its reasoning?"""
        return all(reasoning for _, reasoning in self.parsers.values())


def filled(text: str, /, **holes: str) -> str:
    return HOLE.sub(lambda hole: holes[hole[1]], text)


def kind_of(value: Any) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object", list: "array"}
    return kinds.get(type(value), "null")


def pair_of(form: Form, key: str, value: Any) -> str:
    text = value if isinstance(value, str) else form.write(value)
    return filled(form.pair, key=key, value=text, kind=kind_of(value), text=str(isinstance(value, str)).lower())


def call_of(form: Form, name: str, arguments: Json, number: int) -> str:
    body = "".join(pair_of(form, *item) for item in arguments.items()) if form.pair else form.write(arguments)
    return filled(form.call, name=name, arguments=body, number=str(number + form.first))


def calls_of(form: Form, calls: list[tuple[str, Json]]) -> str:
    if not calls:
        return ""
    opener, between, closer = form.section
    return opener + between.join(call_of(form, *call, at) for at, call in enumerate(calls)) + closer


def rendered(form: Form, meaning: Meaning) -> str:
    """What the model writes after `form.prompts[not meaning.reasoning]`."""
    opener, closer = form.think if meaning.reasoning else ("", "")
    before = form.content[0] + meaning.before + form.content[1] if meaning.before else ""
    return opener + meaning.reasoning + closer + before + calls_of(form, meaning.calls) + meaning.after
