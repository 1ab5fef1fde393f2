"""`harmonystream formats`: which formats there are, and which one a model writes."""

from __future__ import annotations

import argparse

from ..errors import FormatError
from ..formats import format_of, is_file, names
from ..formats.models import format_for, models_of
from .read import InputError

__all__ = ["add_to", "run"]


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand and its options."""
    listing = commands.add_parser(
        "formats",
        help="which formats there are, and which one a model writes",
        description="Lists the formats and the models that write them. "
        "With MODEL, names its format; with a file, checks its row.",
    )
    listing.set_defaults(run=run)
    listing.add_argument(
        "model",
        metavar="MODEL",
        nargs="?",
        help="a model's id, tag or path: Qwen/Qwen3-8B; or a file with a row (.json, .toml)",
    )


def run(args: argparse.Namespace) -> None:
    """Prints the list, or the one format."""
    if args.model is None:
        width = max(map(len, names()))
        for name in names():
            print(f"{name:{width}}  {models_of(name)}".rstrip())
        return
    try:
        print(format_of(args.model).name if is_file(args.model) else format_for(args.model))
    except FormatError as error:
        raise InputError(str(error)) from None
