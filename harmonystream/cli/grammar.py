"""`harmonystream grammar`: what a model may write, in the language of a constrained decoder."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from ..errors import HarmonyStreamError
from .read import InputError

__all__ = ["add_to", "run"]

_ABOUT = """\
Writes the grammar that lets a model write only valid calls of the tools:
xgrammar's structural tag, llguidance's Lark, or llama.cpp's GBNF.
"""

_MORE = """\
input:
  JSON: a list of tools, or a request with its tools, in the form of OpenAI's
  Chat Completions or Responses, or of Anthropic's Messages.

examples:
  harmonystream grammar --format hermes --tools tools.json --choice required
  harmonystream grammar --format gpt-oss --tools request.json --write lark
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand and its options."""
    command = commands.add_parser(
        "grammar",
        help="write the grammar of valid calls",
        description=_ABOUT,
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    add = command.add_argument
    add("--format", required=True, help="a format of `harmonystream formats`, a model's name, or a file with a row")
    add("--tools", metavar="FILE", default="-", help="the tools; - (the default) is standard input")
    add("--choice", default="auto", help="auto (the default), required, none, or the name of a tool")
    add("--strict", action=argparse.BooleanOptionalAction, help="keep all arguments to their schemas, or none")
    add("--one", action="store_true", help="allow one call, not several")
    add("--start", choices=("content", "reasoning"), default="content", help="where the prompt leaves the model")
    add("--write", choices=("structural-tag", "lark", "gbnf"), default="structural-tag", help="the language")
    add("--wider", action="store_true", help="allow more where a schema cannot be kept, and write to stderr what")


def run(args: argparse.Namespace) -> None:
    """Reads the tools and writes the grammar."""
    from ..grammars import grammar

    try:
        made = grammar(
            args.format,
            _tools(args.tools),
            choice=args.choice,
            strict=args.strict,
            parallel=not args.one,
            start=args.start,
            exact=not args.wider,
        )
        language = args.write.replace("-", "_")
        text = getattr(made, language)()
        for note in made.wider(language):
            sys.stderr.write(f"{note}\n")
    except HarmonyStreamError as error:
        raise InputError(str(error)) from None
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def _tools(name: str) -> list[Any]:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not JSON: {error}") from None
    tools = given.get("tools") if isinstance(given, dict) else given
    if not isinstance(tools, list):
        raise InputError(f"{name}: a list of tools, or a request with tools")
    return tools
