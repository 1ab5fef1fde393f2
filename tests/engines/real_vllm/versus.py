"""vLLM's parsers beside ours, in its own server: which of the scenarios the official clients are told rightly.

Prints the table of docs/vllm.md. tests/support, tests/reference and tests must be on the path. Right is what the
scenario says, which is written down by hand.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import openai
from host_scenarios import FORMATS, Play, Sides, played, scenarios
from host_scenarios import wrong as wrong_of
from vllm_answers import chat, chat_stream, messages
from vllm_servers import Server
from wire_scenarios import Scenario

ROUTES: dict[str, Callable[..., Any]] = {
    "Chat, streamed": lambda host, **more: chat_stream(host, **more)[0],
    "Chat, whole": lambda host, **more: chat(host, **more)[0],
    "Messages": messages,
}


def wrong(route: str, host: Server, play: Play, format: str, scenario: Scenario) -> str:
    """What is wrong with an answer; "" if it is right."""
    try:
        said = ROUTES[route](host, extra_body=play.more)
    except (openai.APIError, anthropic.APIError, ValueError, OSError) as error:
        return type(error).__name__
    blocks = route == "Messages"
    return wrong_of(said, format, scenario, arguments=not blocks, blocks=blocks)


def compared(format: str, kinds: tuple[str, str]) -> dict[tuple[str, str], tuple[str, ...]]:
    """(scenario, route) -> what is wrong with each kind of server."""
    found: dict[tuple[str, str], list[str]] = {}
    for kind in kinds:
        with tempfile.TemporaryDirectory() as directory:
            host = Server(Path(directory), FORMATS[format], kind)
            for name, scenario in scenarios(format).items():
                play = played(format, scenario)
                host.play(play.ids, finish=play.finish)
                for route in ROUTES:
                    found.setdefault((name, route), []).append(wrong(route, host, play, format, scenario))
            host.stop()
    return {key: tuple(each) for key, each in found.items()}


def main() -> None:
    sides = Sides("vLLM", ROUTES)
    for format in sys.argv[1:] or FORMATS:
        sides.add(format, compared(format, ("stock", "frames")))
    sides.end()


if __name__ == "__main__":
    main()
