"""--engine-key: the key that a command sends to its engines."""

from __future__ import annotations

import argparse
import os

__all__ = ["VARIABLE", "add_engine_key", "engine_key"]

VARIABLE = "HARMONYSTREAM_KEY"
"""The environment variable that has the key, which other users of the machine could read in the list of processes."""


def add_engine_key(command: argparse.ArgumentParser) -> None:
    """Adds --engine-key."""
    command.add_argument(
        "--engine-key", metavar="KEY", help=f"the engine's key, sent as a bearer token; default: {VARIABLE}"
    )


def engine_key(args: argparse.Namespace) -> str | None:
    """The key of the option, or of the environment."""
    given: str | None = args.engine_key
    return os.environ.get(VARIABLE) if given is None else given
