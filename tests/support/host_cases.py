"""Outputs that end anywhere, for any host: cut at each token, stopped at each place, and broken by errors.

What a part of an output says is a beginning of what the whole output says, which is written down by hand. So answers
can be judged where nobody has written down what they are.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import openai
from host_scenarios import FORMATS as SPOKEN
from host_scenarios import TOOLS, Contents, ids_of, in_the_fields, played
from wire_scenarios import SCENARIOS, Call, Spelling, message, write

import harmonystream as hs

CALLING, AFTER = "preamble and three calls", "a call and then an answer"
FORMATS = SPOKEN | {"llama3": "llama3", "mistral": "mistral", "pythonic": "llama4"}
"""Format -> family. The last three are played these cases only."""
MORE = {
    "llama3": Spelling(
        lambda text: "",
        lambda name, arguments, at: f'{{"name": "{name}", "parameters": {arguments}}}',
        *(("<|python_tag|>", ""), "; ", ("", "", "")),
    ),
    "mistral": Spelling(
        lambda text: "",
        lambda name, arguments, at: f'{{"name": "{name}", "arguments": {arguments}}}',
        *(("[TOOL_CALLS][", "]"), ", ", ("", "", "")),
    ),
    "pythonic": Spelling(
        lambda text: "",
        lambda name, arguments, at: f"{name}({', '.join(f'{key}={value!r}' for key, value in _items(arguments))})",
        *(("<|python_start|>[", "]<|python_end|>"), ", ", ("", "", "")),
    ),
}
"""How the formats without thoughts write calls."""
CLOSED = {"hermes": {"enable_thinking": False}, "glm": {"enable_thinking": False}}
"""What asks a template for a prompt after which the model does not think; deepseek's is so unless it is asked."""


class Written(NamedTuple):
    """What a model writes. said: in whole. more: of the request's body, for a prompt after which it is written so."""

    format: str
    name: str
    text: str
    ids: list[int]
    said: Contents
    more: dict[str, Any]


class Case(NamedTuple):
    """written: of which `ids` are played. finish: why the engine ends them: "stop", "length" or "error".

    tools: "given", "absent", or by the tool choice "none", "required", or "named": the first call's.
    stop: a stop string of the request.
    """

    name: str
    written: Written
    ids: list[int]
    finish: str
    tools: str = "given"
    stop: str = ""
    logprobs: bool = False
    n: int = 1


def _items(arguments: str) -> Iterable[tuple[str, Any]]:
    return json.loads(arguments).items()


def outputs(format: str) -> Iterator[Written]:
    """All kinds of markup; text after a call; and what follows a prompt that has closed the thoughts."""
    family = FORMATS[format]
    if format in MORE:
        yield from _outputs_without_thoughts(format)
        return
    play = played(format, SCENARIOS[CALLING])
    yield Written(format, CALLING, play.text, play.ids, in_the_fields(format, SCENARIOS[CALLING]), play.more)
    before = SCENARIOS["preamble and a call"]
    said = in_the_fields(format, before)
    text, more = write(format, before), {}
    if format in CLOSED:
        more = {"chat_template_kwargs": CLOSED[format]}
    if format == "harmony":
        text, content = text + message("<|channel|>final", "Done."), f"{said.content}\n\nDone."
    else:
        text, content = text + "\nDone.", f"{said.content}\nDone."
    yield Written(format, AFTER, text, ids_of(family, text, stops=True), said._replace(content=content), more)


def _outputs_without_thoughts(format: str) -> Iterator[Written]:
    spelling, (opener, closer) = MORE[format], MORE[format].section
    _, before, *rest = SCENARIOS[CALLING].said
    calls = [item for item in rest if isinstance(item, Call)]
    if format == "pythonic":  # the other name is not Python
        calls = [call._replace(name="f") for call in calls]
    for name, content, some in ((CALLING, before.text, calls), ("a call alone", "", calls[-1:])):
        written = spelling.between.join(spelling.call(call.name, call.written, 0) for call in some)
        text = content + opener + written + closer
        said = Contents("", content, tuple((call.name, call.written) for call in some), "tool_calls")
        yield Written(format, name, text, ids_of(FORMATS[format], text, stops=True), said, {})


def cases(format: str, *, cuts: int = 1, stops: int = 1) -> Iterator[Case]:
    """cuts, stops: of all tokens and of all places in the text, each such one."""
    for written in outputs(format):
        ids, name = written.ids, written.name
        for cut in range(1, len(ids), cuts):
            yield Case(f"{name}, cut after {cut} of {len(ids)} tokens", written, ids[:cut], "length")
        for at in range(0, len(written.text) - 2, stops):
            stop = written.text[at : at + 3]
            if stop.strip():
                yield Case(f"{name}, stop string {stop!r}", written, ids, "stop", stop=stop)
        for size in sorted({0, *ends_of_kinds(format, ids), len(ids)}):
            yield Case(f"{name}, an error after {size} tokens", written, ids[:size], "error")
        for tools in ("given", "absent", "none", "required", "named"):
            yield Case(f"{name}, tools {tools}", written, ids, "stop", tools)
            yield Case(f"{name}, tools {tools}, log probabilities", written, ids, "stop", tools, logprobs=True)
        yield Case(f"{name}, two choices", written, ids, "stop", n=2)
    yield Case("nothing", written, [], "stop")
    yield Case("the end alone", written, ids_of(FORMATS[format], "", stops=True), "stop")


def ends_of_kinds(format: str, ids: list[int]) -> list[int]:
    """After how many tokens the parser has returned each kind of event for the first time."""
    parser = hs.Parser(format, vocab_of(format), tools=TOOLS)
    first: dict[str, int] = {}
    for size, tid in enumerate(ids, 1):
        for event in parser.feed([tid]):
            first.setdefault(type(event).__name__, size)
    return list(first.values())


def vocab_of(format: str) -> hs.Vocab:
    from families import SERVED, tokenizer

    if format == "harmony":
        return hs.vocab.o200k_harmony()
    row = SERVED[FORMATS[format]]
    return hs.vocab.from_tokenizers(tokenizer(row.special, row.plain))


# --- answers ---

Answer = Contents | str
"""What a client got, or the class of its error."""
Answers = dict[tuple[str, str], tuple[Case, list[Answer]]]
"""(case, route) -> streamed and whole."""


def request(case: Case, route: str) -> dict[str, Any] | None:
    """What a client asks for; None if the API of a route ("Chat", "Messages" or "Responses") cannot."""
    if (route != "Chat" and (case.logprobs or case.n > 1)) or (route == "Responses" and case.stop):
        return None
    more: dict[str, Any] = {"extra_body": dict(case.written.more)}
    if case.stop:
        more["stop_sequences" if route == "Messages" else "stop"] = [case.stop]
    if case.tools == "absent":
        more["tools"] = openai.omit if route == "Chat" else []
    elif case.tools != "given":
        more["tool_choice"] = _choice(case, route)
    if case.logprobs:
        more |= {"logprobs": True, "top_logprobs": 1}
    if case.n > 1:
        more["n"] = case.n
    return more


def _choice(case: Case, route: str) -> Any:
    name = case.written.said.calls[0][0]
    words = {"none": "none", "required": "required", "named": {"type": "function", "name": name}}
    if route == "Messages":
        words = {"none": {"type": "none"}, "required": {"type": "any"}, "named": {"type": "tool", "name": name}}
    elif route == "Chat":
        words["named"] = {"type": "function", "function": {"name": name}}
    return words[case.tools]


def answers(host: Any, routes: Mapping[str, Sequence[Callable[..., Contents]]], asked: Iterable[Case]) -> Answers:
    """host: a server. routes: by name, what asks it streamed and whole."""
    found: Answers = {}
    for case in asked:
        host.play(case.ids, finish=case.finish)
        for route, asks in routes.items():
            if (more := request(case, route)) is not None:
                found[case.name, route] = case, [_answer(ask, host, more) for ask in asks]
    return found


def _answer(ask: Callable[..., Contents], host: Any, more: dict[str, Any]) -> Answer:
    try:
        return ask(host, **more)
    except Exception as error:  # whatever a client or an application in this process raises
        return type(error).__name__


def untrue(said: Contents, case: Case, *, arguments: bool = True, stock: bool = False, blocks: bool = False) -> str:
    """Which field of an answer is not a beginning of what the whole output says; "" if all are.

    The end of ours may show what would have been a marker, had the output gone on, or half a character.
    arguments: are those of calls as the model wrote them? stock: it is by the host's own parsers, whose spaces around
    texts do not count. blocks: the same as in `differs`.
    """
    whole = case.written.said
    if case.stop and any(
        case.stop in text for text in (said.reasoning, said.content, *(each for _, each in said.calls))
    ):
        return "stop string"
    shown = "" if stock or (case.finish == "stop" and not case.stop) else case.written.text
    for field in ("reasoning", "content"):
        mine, full = getattr(said, field), getattr(whole, field)
        if case.stop:
            full = full.partition(case.stop)[0]
        if blocks and said.calls:
            mine, full, shown = (text.replace("\n", "") for text in (mine, full, shown))
        if not _begins(mine.strip() if stock else mine, full, shown):
            return field
    if case.tools in ("absent", "none"):
        return "calls" if said.calls else ""
    for number, (name, written) in enumerate(said.calls):
        if number >= len(whole.calls) or name.removeprefix("functions.") != whole.calls[number][0]:
            return "calls"
        if arguments and not _begins(written, whole.calls[number][1], shown if case.stop else ""):
            return "arguments"
    return ""


def _begins(text: str, whole: str, written: str) -> bool:
    """Is a text a beginning of the whole one, and at most of some more that was written?"""
    same = next((at for at, (one, other) in enumerate(zip(text, whole)) if one != other), min(len(text), len(whole)))
    rest = text[same:].rstrip("\ufffd").lstrip("\n")
    return not rest or rest in written


def _before(said: Contents, stop: str) -> Contents:
    """An answer without what its texts end with, if a stop string begins so."""

    def cut(text: str) -> str:
        size = next((size for size in range(len(stop) - 1, 0, -1) if text.endswith(stop[:size])), 0)
        return text[: len(text) - size]

    *before, last = said.calls or [("", "")]
    calls = (*before, (last[0], cut(last[1]))) if said.calls else ()
    return said._replace(reasoning=cut(said.reasoning), content=cut(said.content), calls=calls)


def closes(host: str) -> tuple[str, str]:
    """What explains that a host's own parsers say more of a call that is cut."""
    mine, theirs = r"'([^']*)'\),?\), reason='\w+', ", r"'\1[^']*}'\),?\), reason='\w+', "
    return (
        f"(?:cut after|stop string) .*: less: .*, {mine}.* and not .*, {theirs}",
        f"a call is cut, and {host} closes its arguments, so that it looks as if the model had ended it",
    )


_BEFORE_A_VALUE = re.compile(r'[{,]\s*("(?:[^"\\]|\\.)*"?\s*:?\s*"?)?$')


def size_of(said: Contents, *, arguments: bool) -> int:
    """How much an answer says, white space of texts aside, and what stands before a value that has not come."""
    calls = "".join(name + _BEFORE_A_VALUE.sub("", written) * arguments for name, written in said.calls)
    return len("".join((said.reasoning + said.content).split()) + calls)


def differs(both: list[Answer], *, blocks: bool = False) -> str:
    """What is not the same streamed and whole, to the last space.

    blocks: a stream has a text on either side of a call in blocks of its own, without what parts them in one.
    """
    streamed, whole = both
    failed = [isinstance(each, str) or each.reason == "failed" for each in both]
    if isinstance(streamed, str) or isinstance(whole, str):
        return "" if all(failed) else f"{streamed} streamed, {whole} whole"
    for field in Contents._fields:
        one, other = getattr(streamed, field), getattr(whole, field)
        if blocks and field in ("reasoning", "content"):
            one, other = one.replace("\n", ""), other.replace("\n", "")
        blank = field == "content" and whole.calls and not one.strip()  # hosts leave it out of a whole answer
        if one != other and not blank:
            return f"{field}: {one!r} streamed, {other!r} whole"
    return ""


def worse(mine: Answer, theirs: Answer, case: Case, *, arguments: bool = True, blocks: bool = False) -> str:
    """What only the host's own parsers have right; "" if nothing. Their spaces around texts do not count, nor does a
    beginning of the stop string, which some hosts send before they know that it is one. blocks: the same as in
    `differs`.
    """
    if isinstance(theirs, str):
        return ""
    theirs = _before(theirs, case.stop)
    if isinstance(mine, str):
        return mine
    if untrue(theirs, case, arguments=arguments, stock=True):
        return ""
    if field := untrue(mine, case, arguments=arguments, blocks=blocks):
        return f"{field}: {mine}"
    if len(mine.tokens) < len(theirs.tokens):
        return f"log probabilities: {mine.tokens}, and not {theirs.tokens}"
    less = size_of(mine, arguments=arguments) < size_of(theirs, arguments=arguments)
    return f"less: {mine}, and not {theirs}" if less else ""


Explained = Sequence[tuple[str, str]]
"""Regular expressions of lines of a report, each with why what it says is meant."""


def report(format: str, stock: Answers, ours: Mapping[str, Answers], explained: Explained) -> int:
    """Prints what is worse with ours than with the host's own parsers, and returns how much of it nothing explains.

    ours: by the kind of server.
    """
    print(f"\n{format}: {len(stock)} cases by route, each streamed and whole", flush=True)
    left = 0
    for kind, found in ours.items():
        errors = [
            Counter(
                f"{route} {each}" for (_, route), (_, both) in one.items() for each in both if isinstance(each, str)
            )
            for one in (found, stock)
        ]
        lines: list[str] = []
        for (_, route), (case, both) in found.items():
            arguments = route != "Messages"
            for how, mine, theirs in zip(("streamed", "whole"), both, stock[case.name, route][1], strict=True):
                blocks = route != "Chat" and how == "streamed"
                if problem := worse(mine, theirs, case, arguments=arguments, blocks=blocks):
                    lines.append(f"{format}, {kind}, {route}, {how}, {case.name}: stock alone is right: {problem}")
            if problem := differs(both, blocks=route != "Chat"):
                lines.append(f"{format}, {kind}, {route}, {case.name}: streamed is not whole: {problem}")
        reasons = [next((why for found, why in explained if re.search(found, line)), "") for line in lines]
        open_lines = [line for line, why in zip(lines, reasons) if not why]
        print(
            f"  {kind}: {len(open_lines)} are worse; errors: {dict(errors[0])}, and of the host's own {dict(errors[1])}"
        )
        for why in sorted({*reasons} - {""}):
            print(f"  {kind}: {reasons.count(why)} are explained: {why}")
        print("".join(f"    {line}\n" for line in open_lines), flush=True)
        left += len(open_lines)
    return left


def given(formats: Iterable[str]) -> argparse.Namespace:
    """The command line of a program that reports: the formats, and how many of the cases are asked."""
    options = argparse.ArgumentParser()
    options.add_argument("formats", nargs="*", default=list(formats))
    options.add_argument("--every", type=int, default=1, help="of the cases of a format, ask each such one")
    options.add_argument("--stops", type=int, default=5, help="a stop string at each such place")
    return options.parse_args()
