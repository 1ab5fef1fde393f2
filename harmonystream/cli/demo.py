"""`harmonystream demo`: plays a bundled recording, token by token."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from .._native.stream.parser import Parser
from ..events import Event
from .paint import add_colour, make_show, paint

__all__ = ["DEMO", "add_to", "run"]

TOKENS_PER_SECOND = 20.0

RECORDING = Path(__file__).parent.parent / "data" / "demo.jsonl"

DEMO = """\
import json
from importlib.resources import files

import harmonystream as hs

for line in (files(hs) / "data" / "demo.jsonl").read_text("utf-8").splitlines():
    parser = hs.Parser("harmony")                 # one for each generation
    for token in json.loads(line).get("ids", []):
        for event in parser.feed(token):
            match event:
                case hs.ReasoningDelta(text=text) | hs.ContentDelta(text=text):
                    print(text, end="", flush=True)
                case hs.ToolCallStart(name=name):
                    print(f"{name}: ", end="")
                case hs.ToolCallDelta(arguments=text):
                    print(text, end="", flush=True)
                case hs.MessageEnd():
                    print()
    parser.finish("stop")
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand and its options."""
    demo = commands.add_parser("demo", help="play a bundled recording", description="Plays a bundled recording.")
    demo.set_defaults(run=run)
    demo.add_argument(
        "--speed", type=_speed, help="times as fast as readable; 0: at once, which is the default unless in a terminal"
    )
    add_colour(demo)


def _speed(text: str) -> float:
    speed = float(text)
    if not 0 <= speed < float("inf"):
        raise argparse.ArgumentTypeError("a speed is 0 or more")
    return speed


def run(args: argparse.Namespace) -> None:
    """Plays the recording, then prints the program that does the same."""
    speed = args.speed if args.speed is not None else float(sys.stdout.isatty())
    pause = 1 / (TOKENS_PER_SECOND * speed) if speed else 0.0
    show = make_show(args.color)
    for line in RECORDING.read_text("utf-8").splitlines():
        turn = json.loads(line)
        if "user" in turn:
            show.quote("user", turn["user"])
        elif "tool" in turn:
            show.quote(f"result of {turn['tool']}", turn["result"])
        else:
            parser = Parser()
            paint(show, parser, _played(parser, turn["ids"], pause), "tokens")
        show.gap()
    show.line("The same in Python:", "heading")
    sys.stdout.write("\n" + DEMO)


def _played(parser: Parser, ids: Iterable[int], pause: float) -> Iterator[Event]:
    """The events of one generation, token by token as an engine would hand them over."""
    for token in ids:
        yield from parser.feed(token)
        time.sleep(pause)
    yield from parser.finish("stop")
