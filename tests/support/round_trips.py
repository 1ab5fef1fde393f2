"""Conversations that a model's chat template renders, read back in a row: what comes is what was said.

The template shows how its model writes, because it writes the turns of the conversation that the model has seen. A row
that a name leads to is compared with it here, turn by turn: the last one, and one that others follow.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import jinja2
from grammar_walks import accepts
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

import harmonystream as hs
from harmonystream.formats import Format, format_of

SCHEMA = {
    "type": "object",
    "properties": {
        "place": {"type": "string", "description": "The place"},
        "days": {"type": "integer", "description": "How many"},
        "ratio": {"type": "number", "description": "Any"},
        "exact": {"type": "boolean", "description": "Or not"},
        "tags": {"type": "array", "items": {"type": "string"}, "description": "Words"},
        "where": {"type": "object", "properties": {"city": {"type": "string"}}, "description": "A point"},
    },
    "required": ["place"],
}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": "Looks", "parameters": SCHEMA}}
    for name in ("get_weather", "find")
]
ARGUMENTS = (
    {"place": "Zürich", "days": 2},
    {"place": 'a "quoted" part,\nand a second line: it\'s {x: [1]} <b>', "exact": True, "ratio": 1.5},
    {"place": "Bern", "tags": ["a", "b c"], "where": {"city": "Bern"}},
)
THOUGHTS = "First I look.\n\nThen I answer."
TEXT = "The answer: 3 degrees.\n\n- cold\n- wet"
GENERATION = re.compile(r"\{%-?\s*(end)?generation\s*-?%\}")  # marks what is trained on, and says nothing
ASK, NEXT = "Weather in Zürich?", "THE NEXT QUESTION"


class Turn(NamedTuple):
    """What the model says: reasoning, content, and the calls' names with their arguments."""

    reasoning: str
    content: str
    calls: tuple[tuple[str, dict[str, Any]], ...]


CALLS = tuple(zip(("get_weather", "find", "find"), ARGUMENTS))
TURNS = [
    Turn(reasoning, content, CALLS[first : first + n])
    for reasoning in ("", THOUGHTS)
    for content in ("", TEXT)
    for n, first in ((0, 0), (1, 0), (1, 1), (1, 2), (2, 0), (3, 0))
    if content or n
]


class Trip(NamedTuple):
    """A turn that came back as something else. where: "last", or "before" another turn."""

    where: str
    said: Turn
    output: str
    problem: str


def environment() -> ImmutableSandboxedEnvironment:
    """Jinja as transformers has it."""
    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])

    def refuse(message: str) -> None:
        raise jinja2.TemplateError(message)

    def to_json(value: Any, ensure_ascii: bool = False, **options: Any) -> str:
        return json.dumps(value, ensure_ascii=ensure_ascii, **options)

    made.filters["tojson"] = to_json
    made.globals |= {"raise_exception": refuse, "strftime_now": datetime.datetime(2026, 1, 2).strftime}
    return made


def message_of(turn: Turn, as_text: bool) -> dict[str, Any]:
    """The turn as templates take it. as_text: with the arguments as JSON text."""
    calls = [
        {
            "id": f"functions.{name}:{i}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given, ensure_ascii=False) if as_text else given},
        }
        for i, (name, given) in enumerate(turn.calls)
    ]
    said = {"role": "assistant", "content": turn.content}
    said |= {"reasoning_content": turn.reasoning, "thinking": turn.reasoning} if turn.reasoning else {}
    return {**said, "tool_calls": calls} if calls else said


def results_of(turn: Turn) -> list[dict[str, Any]]:
    return [
        {"role": "tool", "tool_call_id": f"functions.{name}:{i}", "name": name, "content": '{"t": 3}'}
        for i, (name, _) in enumerate(turn.calls)
    ]


def outputs(
    template: jinja2.Template, turn: Turn, tokens: dict[str, str]
) -> Iterator[tuple[str, tuple[str, str], str]]:
    """Where the turn stands, what is before it, and the rest: what the model writes, and what follows.

    What is before it is as it stands there, and as the prompt has it, which may open the thoughts.
    """
    ask = [{"role": "user", "content": ASK}]
    for as_text in (False, True):
        said = message_of(turn, as_text)
        after = [*results_of(turn), {"role": "user", "content": NEXT}]
        found = False
        for where, rest in (("last", []), ("before", after)):
            given: dict[str, Any] = {"tools": TOOLS, "enable_thinking": True, "thinking": True, **tokens}
            try:
                prompt = template.render(messages=ask, add_generation_prompt=True, **given)
                bare = template.render(messages=ask, add_generation_prompt=False, **given)
                whole = template.render(messages=[*ask, said, *rest], add_generation_prompt=False, **given)
            except (jinja2.TemplateError, TypeError, ValueError, KeyError, AttributeError):
                continue
            same = next((i for i, (a, b) in enumerate(zip(prompt, whole)) if a != b), min(len(prompt), len(whole)))
            if whole.rfind("<", 0, same) > whole.rfind(">", 0, same):
                same = whole.rfind("<", 0, same)  # two tags begin alike
            if same < len(bare.rstrip()):
                continue  # another turn changes the prompt
            found = True
            yield where, (whole[:same], prompt), whole[same:]
        if found:
            return


def read(row: str | Format, prompt: str, output: str) -> tuple[Turn, list[str]]:
    """What the row reads, and what is wrong with it by itself."""
    parser = hs.Parser(row, prompt=prompt, tools=TOOLS)
    events = [*parser.feed_text(output), *parser.finish("stop")]
    reasoning, content, calls, wrong = "", "", [], []
    for event in events:
        match event:
            case hs.ReasoningDelta(text=text):
                reasoning += text
            case hs.ContentDelta(text=text):
                content += text
            case hs.ToolCallStart(name=name):
                calls.append([name, ""])
            case hs.ToolCallDelta(arguments=text):
                calls[-1][1] += text
            case hs.ToolCallEnd(complete=complete):
                wrong += [] if complete else ["a call is not complete"]
    made = []
    for name, arguments in calls:
        try:
            made.append((name, json.loads(arguments)))
        except ValueError:
            wrong.append(f"arguments {arguments!r}")
    return Turn(reasoning, content, tuple(made)), wrong


def problem_of(row: str | Format, where: str, said: Turn, prompt: str, output: str) -> str:
    """How what is read differs from what was said; empty: it does not. A template may leave thoughts out, and text
    beside calls."""
    got, wrong = read(row, prompt, output)
    told = got.content.strip()
    for stop in getattr(format_of(row), "stops", ()) if where == "before" else ():
        told = told.partition(stop)[0].strip()  # one in the text that more text follows is text
    if where == "before" and told.startswith(said.content) and not any(name in told for name, _ in said.calls):
        told = said.content  # where no stop ends the turn, what follows is read, too
    if wrong:
        return "; ".join(wrong)
    if got.calls != said.calls:
        return f"calls {got.calls!r}"
    if told != said.content and not (said.calls and said.content not in output and not told):
        return f"content {got.content!r}"
    if got.reasoning.strip() != said.reasoning and (got.reasoning.strip() or said.reasoning in output):
        return f"reasoning {got.reasoning!r}"
    return ""


def _output(text: str, stops: tuple[str, ...]) -> str:
    """What the model writes of it: without the stops at its end."""
    while found := [stop for stop in stops if text.rstrip("\n").endswith(stop)]:
        text = text.rstrip("\n").removesuffix(found[0])
    return text


def refused(source: str, row: str | Format, tokens: dict[str, str] | None = None) -> tuple[int, list[Trip]]:
    """How many turns that come back the grammar was asked for, and those that it does not take."""
    stops = tuple(sorted(getattr(format_of(row), "stops", ()))) or ("<|eos|>",)
    template = environment().from_string(GENERATION.sub("", source))
    written = {"bos_token": "", "eos_token": stops[0], **(tokens or {})}
    count, failed = 0, []
    for turn in TURNS:
        for where, prompts, output in outputs(template, turn, written):
            if where != "last" or (turn.calls and not any(name in output for name, _ in turn.calls)):
                continue
            known = [prompt for prompt in prompts if not problem_of(row, where, turn, prompt, output)]
            made = [hs.grammar(row, TOOLS, prompt=hs.prompts.Prompt(one, None, format_of(row))) for one in known]
            count += bool(made)
            if made and not any(accepts(one.lark(), _output(output, stops)) for one in made):
                failed.append(Trip(where, turn, output, "the grammar does not take it"))
    return count, failed


def round_trips(source: str, row: str | Format, tokens: dict[str, str] | None = None) -> tuple[int, list[Trip]]:
    """How many turns the template rendered, and those that came back as something else."""
    stops = getattr(format_of(row), "stops", ()) or ("<|eos|>",)
    template = environment().from_string(GENERATION.sub("", source))
    written = {"bos_token": "", "eos_token": sorted(stops)[0], **(tokens or {})}
    count, failed = 0, []
    for turn in TURNS:
        for where, prompts, output in outputs(template, turn, written):
            if turn.calls and not any(name in output for name, _ in turn.calls):
                continue  # it writes no calls
            count += 1
            problems = [problem_of(row, where, turn, prompt, output) for prompt in prompts]
            if all(problems):
                failed.append(Trip(where, turn, output, problems[0]))
    return count, failed
