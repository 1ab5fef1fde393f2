"""`harmonystream render`: a conversation as the prompt that a model reads."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from ..errors import HarmonyStreamError
from .paint import add_colour
from .parse import format_named
from .read import InputError
from .show import painter, visible

__all__ = ["add_to", "run"]

_ABOUT = """\
Writes the prompt that a model reads for a conversation: its text, with the
control tokens coloured, or its token ids. Nothing is downloaded.
"""

_MORE = """\
input:
  JSON: a list of messages, or a request of Chat Completions, of Responses or of
  Anthropic's Messages, with its messages and tools. "model" in the request
  counts where --model, --format and --template are missing. Of the other
  fields, "reasoning_effort", "chat_template_kwargs" and
  "add_generation_prompt": false count; the rest is for engines.

examples:
  The prompt of gpt-oss, then its ids:
    echo '[{"role": "user", "content": "Hi"}]' |
      harmonystream render --model gpt-oss-20b --date 2026-11-22
    harmonystream render --model gpt-oss-20b --ids request.json

  Another model, by its own chat template, without reasoning:
    harmonystream render --template Qwen3-8B/ --no-thinking request.json

  A template that reads a variable of its own:
    harmonystream render --template t.jinja --set documents='[]' request.json
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand and its options."""
    command = commands.add_parser(
        "render",
        help="write the prompt that a model reads",
        description=_ABOUT,
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    add = command.add_argument
    add("file", metavar="FILE", nargs="?", default="-", help="the request; - (the default) is standard input")
    add("--model", help="the model's name, such as gpt-oss-20b: which prompt to write")
    add("--format", help="a format of `harmonystream formats`, or a file with a row, in place of the model's name")
    add("--template", metavar="PATH", help="the model's chat template: its folder, a file (.jinja, .json, .gguf)")
    add("--tokenizer", metavar="FILE", help="the tokenizer.json, or its folder; default: that of the template's folder")
    add("--reasoning", metavar="EFFORT", help="how much the model reasons: low, medium, high")
    add("--thinking", action=argparse.BooleanOptionalAction, help="turn reasoning on or off, where a model can")
    add("--date", default="today", help="the date in the prompt: YYYY-MM-DD, today (the default), or none")
    add("--dialect", help="of Harmony: model, openai, oss, vllm, template; of DSML: v3.2, v4, v4.1")
    add("--set", metavar="NAME=JSON", action="append", default=[], help="a variable of the template")
    add("--training", action="store_true", help="the whole conversation, without the beginning of a next turn")
    add("--continue-final", action="store_true", help="end inside the last message, for the model to continue it")
    add("--ids", action="store_true", help="write token ids, as a JSON list")
    add("--json", action="store_true", help='write {"text", "ids", "format", "stop_ids"} as JSON')
    add_colour(command)


def run(args: argparse.Namespace) -> None:
    """Reads the request and writes its prompt."""
    from ..prompt import read_request, render

    try:
        messages, tools, rest = read_request(_request(args.file))
        prompt = render(messages, tools=tools, **_options(args, rest))
    except (HarmonyStreamError, TypeError, ImportError) as error:
        raise InputError(str(error)) from None
    if args.json:
        format = None if prompt.format is None else prompt.format.name
        whole = {"text": prompt.text, "ids": prompt.ids, "format": format, "stop_ids": prompt.stop_ids}
        sys.stdout.write(json.dumps(whole, ensure_ascii=False) + "\n")
    elif args.ids:
        if prompt.ids is None:
            raise InputError("ids need --tokenizer: the model's tokenizer.json (gpt-oss needs the package tiktoken)")
        sys.stdout.write(json.dumps(prompt.ids) + "\n")
    else:
        _paint(prompt.text, args.color)


def _request(name: str) -> Any:
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{'standard input' if name == '-' else name}: not JSON: {error}") from None


def _options(args: argparse.Namespace, rest: dict[str, Any]) -> dict[str, Any]:
    """The keywords of `render`: the command's options, and after them what the request says."""
    options: dict[str, Any] = dict(rest.get("chat_template_kwargs") or {})
    for pair in args.set:
        name, found, value = pair.partition("=")
        if not found:
            raise InputError(f"--set {pair}: expected NAME=JSON")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    model = args.model
    if model is None and args.format is None and args.template is None:
        model = rest.get("model")
    given = {
        "model": model,
        "format": None if args.format is None else format_named(args.format),
        "template": args.template,
        "vocab": None if args.tokenizer is None else Path(args.tokenizer),
        "reasoning": args.reasoning or rest.get("reasoning_effort"),
        "thinking": args.thinking,
        "dialect": args.dialect,
        "training": args.training or rest.get("add_generation_prompt") is False,
        "continue_final": args.continue_final,
    }
    options |= {name: value for name, value in given.items() if value is not None}
    return options | {"date": _date(args.date)}


def _date(text: str) -> datetime.date | str | None:
    if text in ("today", "none"):
        return "today" if text == "today" else None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise InputError(f"--date {text}: expected YYYY-MM-DD, today or none") from None


_MARKER = re.compile(r"(<[|｜][^<>|｜\s]{1,40}[|｜]>|</?(?:think|tool_call|tool_response|seed:\w+|[\w:]+)>)")


def _paint(text: str, choice: str) -> None:
    """The text as it is into a pipe; in colour, with its markers bright and control characters shown."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    colour = choice == "always" or (choice == "auto" and sys.stdout.isatty() and not plain)
    try:
        write = painter(sys.stdout, colour)
    except ImportError:
        print("harmonystream: for colours, pip install 'harmonystream[cli]'", file=sys.stderr)
        write, colour = painter(sys.stdout, False), False
    if not colour:
        return write(visible(text) if sys.stdout.isatty() else text, "")
    for i, piece in enumerate(_MARKER.split(text)):
        write(visible(piece), "call" if i % 2 else "content")
    return write("\n", "")
