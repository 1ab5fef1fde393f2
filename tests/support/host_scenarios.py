"""What the servers of engines are given of the scenarios, and what clients should get for it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from families import SERVED, tokenizer
from families import TOOLS as FAMILY_TOOLS
from model_dirs import STOPS
from streams import encode_greedily, to_ids
from wire_scenarios import LONG, SCENARIOS, Call, Scenario, Text, expected_items, write

import harmonystream as hs
from harmonystream.formats import format_of

TOOLS = [{**tool, "function": {**tool["function"], "description": "A tool."}} for tool in FAMILY_TOOLS]
FLAT = [{"type": "function", "strict": False, **tool["function"]} for tool in TOOLS]
"""The same, as Responses has them."""
INPUTS = [
    {
        "name": tool["function"]["name"],
        "description": "A tool.",
        "input_schema": {"type": "object", **tool["function"]["parameters"]},
    }
    for tool in TOOLS
]
"""The same, as Messages have them."""
MESSAGES = [{"role": "user", "content": "Go!"}]
FORMATS = {
    "hermes": "qwen3",
    "qwen3_coder": "qwen3_coder",
    "kimi_k2": "kimi_k2",
    "glm": "glm45",
    "deepseek": "deepseek_v31",
    "seed_oss": "seed_oss",
    "harmony": "gpt_oss",
}
"""A family whose tokenizer and template a server gets, for each format."""
_THINKS = {"deepseek": ({"thinking": True}, "<think>")}
"""Where the prompt says whether the model thinks: what asks the template for it, and the opener at the prompt's end.
Without it the prompt of DeepSeek-V3.1 ends in the closer, and the model writes no marker of thoughts."""


class Contents(NamedTuple):
    """tokens: those that have log probabilities, if the request asks for them."""

    reasoning: str
    content: str
    calls: tuple[tuple[str, str], ...]
    reason: str | None
    tokens: tuple[str, ...] = ()


class Play(NamedTuple):
    """text, ids: what the model writes after the prompt. finish: why it ends. more: of the request's body."""

    text: str
    ids: list[int]
    finish: str
    more: dict[str, Any]


def scenarios(format: str) -> dict[str, Scenario]:
    """Those of a format, but the long one."""
    return {
        name: scenario
        for name, scenario in SCENARIOS.items()
        if format in scenario.where and LONG not in write(format, scenario)
    }


def played(format: str, scenario: Scenario) -> Play:
    """A scenario as the format's model is made to write it by the request. An engine has no reason but two."""
    finish = "length" if scenario.reason == "length" else "stop"
    text, more = write(format, scenario), {}
    if format in _THINKS and any(isinstance(item, Text) and item.kind == "reasoning" for item in scenario.said):
        asks, opener = _THINKS[format]
        text, more = text.removeprefix(opener), {"chat_template_kwargs": asks}
    return Play(text, ids_of(FORMATS[format], text, stops=finish == "stop" and scenario.cut == ""), finish, more)


def ids_of(family: str, text: str, *, stops: bool) -> list[int]:
    """The ids of a text with its markers. stops: it ends as the model ends its turn."""
    if family == "gpt_oss":
        ids = to_ids(text.encode(), encode_greedily)
        if stops and ids and ids[-1] == 200007:
            ids[-1] = 200002
        return ids
    row = SERVED[family]
    made = tokenizer(row.special, row.plain)
    ids = list(made.encode(text, add_special_tokens=False).ids)
    return ids + [made.token_to_id(STOPS.get(family, row.special[1]))] * stops


def parsed(
    format: str, vocab: Any, prompt: Any, ids: list[int], *, reason: str = "stop", tools: Any = TOOLS
) -> Contents:
    """What our parser says of the ids after a prompt, with a blank line between the texts of two messages."""
    stream = hs.ChatStream(hs.Parser(format, vocab, tools=tools, prompt=prompt), id="1", model="1", created=0)
    stream.start()
    stream.feed(ids)
    stream.finish(reason)
    message = stream.response()["choices"][0]["message"]
    said = tuple((each["function"]["name"], each["function"]["arguments"]) for each in message.get("tool_calls", ()))
    texts = message.get("reasoning") or "", message["content"] or ""
    return Contents(*texts, said, "tool_calls" if said and reason == "stop" else reason)


def of_choice(choice: Any, reasoning: str) -> Contents:
    """Of a choice of Chat Completions. reasoning: the name of its field."""
    message = choice.message
    calls = tuple((call.function.name or "", call.function.arguments or "") for call in message.tool_calls or ())
    logprobs = getattr(choice, "logprobs", None)
    tokens = tuple(entry.token for entry in logprobs.content or ()) if logprobs else ()
    return Contents(getattr(message, reasoning, None) or "", message.content or "", calls, choice.finish_reason, tokens)


def of_choices(choices: Any, reasoning: str) -> Contents:
    """Of all choices of a completion, which have to say the same."""
    first, *others = [of_choice(choice, reasoning) for choice in choices]
    if any(other != first for other in others):
        raise AssertionError("the choices do not say the same")
    return first


def of_message(message: Any) -> Contents:
    """Of a message of Messages."""
    texts = {"thinking": "", "text": ""}
    calls = []
    for block in message.content:
        if block.type == "tool_use":
            calls.append((block.name, json.dumps(block.input, ensure_ascii=False)))
        else:
            texts[block.type] += getattr(block, block.type)
    return Contents(texts["thinking"], texts["text"], tuple(calls), message.stop_reason)


def of_response(response: Any) -> Contents:
    """Of a response of Responses."""
    texts = {"reasoning": "", "message": ""}
    calls = []
    for item in response.output:
        if item.type == "function_call":
            calls.append((item.name, item.arguments))
        else:
            texts[item.type] += "".join(part.text for part in item.content or ())
    return Contents(texts["reasoning"], texts["message"], tuple(calls), response.status)


def in_the_fields(format: str, scenario: Scenario, *, between: str = "\n\n") -> Contents:
    """What is written down of a scenario, in the fields of an answer. between: the texts of two messages of Harmony."""
    # The tokenizers have openers of calls as plain added tokens, as Qwen3's has: text, but in rows with control=True.
    items = expected_items(format, scenario, "ids" if getattr(format_of(format), "control", False) else "text")
    texts: dict[str, list[str]] = {"reasoning": [], "content": []}
    for item in items:
        if not isinstance(item, Call):
            texts["reasoning" if item.kind == "reasoning" else "content"].append(item.text)
    calls = tuple((item.name, item.arguments or "") for item in items if isinstance(item, Call))
    between = between if format == "harmony" else ""
    reason = "tool_calls" if calls and scenario.reason == "stop" else scenario.reason
    return Contents(between.join(texts["reasoning"]), between.join(texts["content"]), calls, reason)


SPACES = "white space of the "


def wrong(said: Contents, format: str, scenario: Scenario, *, arguments: bool = True, blocks: bool = False) -> str:
    """What is wrong with an answer, by what is written down of the scenario; "" if it is right. If only white space is,
    this begins with SPACES.

    arguments: are those of calls as the model wrote them? blocks: the texts of two messages may be in blocks of their
    own, without the blank line between them.
    """
    right = in_the_fields(format, scenario)
    apart = in_the_fields(format, scenario, between="") if blocks else right
    if [name.removeprefix("functions.") for name, _ in said.calls] != [name for name, _ in right.calls]:
        return "calls"
    if arguments and [written for _, written in said.calls] != [written for _, written in right.calls]:
        return "arguments"
    given = [field for field in ("reasoning", "content") if getattr(said, field) != getattr(apart, field)]
    fields = [field for field in given if getattr(said, field) != getattr(right, field)]
    for field in fields:
        if "".join(getattr(said, field).split()) != "".join(getattr(right, field).split()):
            return field
    return SPACES + fields[0] if fields else ""


class Sides:
    """Answers with an engine's own parsers and with ours. White space alone makes an answer of ours wrong, and is
    counted of the engine's."""

    def __init__(self, engine: str, routes: Collection[str]) -> None:
        self._engine, self._routes = engine, routes
        self._better: list[tuple[str, str, str, str]] = []
        self._worse: list[tuple[str, str, str, str]] = []
        print(f"| format | answers | right with {engine}'s parsers | but for white space | right with ours |")
        print("|---|---|---|---|---|")

    def add(self, format: str, found: Mapping[tuple[str, str], Sequence[str]]) -> None:
        """Prints a row. found: (scenario, route) -> what is wrong with the engine's answer, and with ours."""
        spaced = sum(theirs.startswith(SPACES) for theirs, _ in found.values())
        right = [sum(not each[at] for each in found.values()) for at in (0, 1)]
        print(f"| `{format}` | {len(found)} | {right[0]} | {right[0] + spaced} | {right[1]} |", flush=True)
        for key, (theirs, mine) in found.items():
            theirs = "" if theirs.startswith(SPACES) else theirs
            if theirs and not mine:
                self._better.append((format, *key, theirs))
            if mine and not theirs:
                self._worse.append((format, *key, mine))

    def end(self) -> None:
        """Prints what is right with one side alone."""
        print_differences("Ours alone are right", self._better, self._routes)
        print_differences(f"{self._engine}'s alone are right", self._worse, self._routes)


def print_differences(title: str, rows: Iterable[tuple[str, str, str, str]], routes: Collection[str]) -> None:
    """rows: (format, scenario, route, what is wrong) of answers that one side alone has right. routes: all of them."""
    asked: dict[tuple[str, str, str], list[str]] = {}
    for format, scenario, route, problem in rows:
        asked.setdefault((scenario, problem, format), []).append(route)
    formats: dict[tuple[str, str, str], list[str]] = {}
    for (scenario, problem, format), by in asked.items():
        key = scenario, "all" if len(by) == len(routes) else ", ".join(by), problem
        formats.setdefault(key, []).append(f"`{format}`")
    print(f"\n{title}:{'' if formats else ' none.'}\n")
    if formats:
        print("| scenario | asked by | what is wrong | formats |\n|---|---|---|---|")
    for (scenario, by, problem), names in sorted(formats.items()):
        print(f"| {scenario} | {by} | {problem} | {', '.join(names)} |")
