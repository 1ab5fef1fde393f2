"""Shared by the commands that show a stream: the option --color, and the events of one stream on standard output."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterable

from .._native.stream.parser import Parser
from ..errors import ParseError
from ..events import Event
from .read import InputError
from .show import Show, painter

__all__ = ["add_colour", "make_show", "paint"]


def add_colour(command: argparse.ArgumentParser) -> None:
    """Adds --color."""
    command.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="auto: in a terminal, unless NO_COLOR is set",
    )


def paint(show: Show, parser: Parser, events: Iterable[Event], unit: str) -> None:
    """Shows the events as they come, and at the end what was counted and repaired, in `unit`s."""
    try:
        for event in events:
            show.add(event)
    except (InputError, ParseError, KeyboardInterrupt):
        show.line()
        raise
    show.summary(parser, unit)


def make_show(choice: str) -> Show:
    """The Show that prints events on standard output, in colour if `choice` (auto, always, never) says so."""
    terminal = sys.stdout.isatty()
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    colour = choice == "always" or (choice == "auto" and terminal and not plain)
    width = shutil.get_terminal_size().columns if terminal else None
    try:
        return Show(painter(sys.stdout, colour), width)
    except ImportError:
        print("harmonystream: for colours, pip install 'harmonystream[cli]'", file=sys.stderr)
        return Show(painter(sys.stdout, False), width)
