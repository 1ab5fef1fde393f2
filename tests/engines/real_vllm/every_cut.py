"""One output of each format in vLLM's server, cut at every token, stopped at many places, and broken by errors.

Prints what is worse with our plug-ins than with vLLM's own parsers: an answer that only vLLM gives, and a text, a call
or a reason that is not the same streamed and whole. tests/support, tests/reference and tests must be on the path.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anthropic
import openai
from host_scenarios import FORMATS, Said, ids_of, played
from vllm_said import chat, chat_stream, messages, responses
from vllm_servers import Server
from wire_scenarios import SCENARIOS

ROUTES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {  # streamed and whole
    "Chat": (lambda host, **more: chat_stream(host, **more)[0], lambda host, **more: chat(host, **more)[0]),
    "Messages": (messages, lambda host, **more: messages(host, streams=False, **more)),
    "Responses": (
        lambda host, **more: responses(host, streams=True, **more),
        lambda host, **more: responses(host, streams=False, **more),
    ),
}
SCENARIO = "preamble and three calls"


class Case(NamedTuple):
    """more: of the request, by route."""

    name: str
    ids: list[int]
    finish: str
    more: dict[str, dict[str, Any]]


def cases(format: str) -> Iterator[Case]:
    play = played(format, SCENARIOS[SCENARIO])
    ids, body = play.ids, {route: {"extra_body": play.more} for route in ROUTES}
    for cut in range(1, len(ids)):
        yield Case(f"cut after {cut} of {len(ids)} tokens", ids[:cut], "length", body)
    plain = play.text
    for at in range(0, len(plain) - 3, 5):
        stop = plain[at : at + 3]
        if stop.strip():
            more = {"Chat": {"stop": [stop]}, "Messages": {"stop_sequences": [stop]}}
            yield Case(f"stop string {stop!r}", ids, "stop", {route: body[route] | more[route] for route in more})
    for size in (0, 1, len(ids) // 2, len(ids)):
        yield Case(f"an error after {size} tokens", ids[:size], "error", body)
    without = {"Chat": {"tools": openai.omit}, "Messages": {"tools": []}, "Responses": {"tools": []}}
    yield Case("no tools", ids, "stop", {route: body[route] | without[route] for route in ROUTES})
    none = {"Chat": {"tool_choice": "none"}, "Messages": {"tool_choice": {"type": "none"}}}
    yield Case("tool_choice none", ids, "stop", {route: body[route] | none[route] for route in none})
    yield Case("log probabilities", ids, "stop", {"Chat": body["Chat"] | {"logprobs": True, "top_logprobs": 1}})
    yield Case("nothing", [], "stop", body)
    yield Case("a marker alone", ids_of(FORMATS[format], "", stops=True), "stop", body)


def said(ask: Callable[..., Any], host: Server, more: dict[str, Any]) -> Said | str:
    """What a client got, or the class of its error."""
    try:
        answer: Said = ask(host, **more)
    except (openai.APIError, anthropic.APIError, ValueError, OSError, AssertionError, RuntimeError) as error:
        return type(error).__name__
    return answer


def asked(format: str, kind: str, every: int) -> dict[tuple[str, str], list[Said | str]]:
    """(case, route) -> streamed and whole. every: only each such case is asked."""
    found = {}
    with tempfile.TemporaryDirectory() as directory:
        host = Server(Path(directory), FORMATS[format], kind)
        for case in list(cases(format))[::every]:
            host.play(case.ids, finish=case.finish)
            for route, more in case.more.items():
                found[case.name, route] = [said(ask, host, more) for ask in ROUTES[route]]
        host.stop()
    return found


def differences(both: list[Said | str], case: str) -> str:
    """What is not the same streamed and whole."""
    streamed, whole = both
    if isinstance(streamed, str) or isinstance(whole, str):
        return ""
    for field in ("reasoning", "content", "calls"):
        one, other = getattr(streamed, field), getattr(whole, field)
        blank = field == "content" and whole.calls and not one.strip()  # vLLM leaves it out of a whole answer
        if one != other and not blank:
            return f"{field}: {one!r} streamed, {other!r} whole"
    return ""


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("formats", nargs="*", default=list(FORMATS))
    options.add_argument("--every", type=int, default=1, help="of the cases of a format, ask each such one")
    given = options.parse_args()
    for format in given.formats:
        stock = asked(format, "stock", given.every)
        ours = {kind: asked(format, kind, given.every) for kind in ("names", "frames")}
        print(f"\n{format}: {len(stock)} cases, each streamed and whole", flush=True)
        for kind, found in ours.items():
            worse = [
                f"  {kind}, {route}, {case}, {how}: {mine}"
                for (case, route), both in found.items()
                for how, mine, theirs in zip(("streamed", "whole"), both, stock[case, route], strict=True)
                if isinstance(mine, str) and not isinstance(theirs, str)
            ]
            differ = [
                f"  {kind}, {route}, {case}: {problem}"
                for (case, route), both in found.items()
                if (problem := differences(both, case))
            ]
            broken = sum(isinstance(each, str) for both in stock.values() for each in both)
            mine = sum(isinstance(each, str) for both in found.values() for each in both)
            print(f"  {kind}: {mine} answers are errors, and {broken} of vLLM's; vLLM's alone answers {len(worse)};")
            print(f"  {kind}: {len(differ)} are not the same streamed and whole")
            print("\n".join(worse + differ), flush=True)


if __name__ == "__main__":
    main()
