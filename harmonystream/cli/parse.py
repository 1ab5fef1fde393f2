"""`harmonystream parse`: shows a stream as it arrives, from a file or a live pipe."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from .. import vocab
from .._native.stream.parser import Parser
from ..errors import FormatError, ParseError, suggestion
from ..events import Event
from ..formats import Format, HeaderFormat, format_of, is_file, names
from ..formats.files import format_of_model
from .each import parse_each
from .paint import add_colour, make_show, paint
from .read import IdReader, InputError, is_ids, pieces
from .show import json_line, repairs

__all__ = ["add_to", "decided", "format_named", "opened", "run", "tools_given"]

_ABOUT = """\
Shows a stream as it arrives: reasoning, content, tool calls with their
arguments; at the end the finish reason, token counts, and what was repaired.
The stream is token ids or text, from a file or from a live pipe.
"""


_MORE = """\
input:
  Token ids are numbers between spaces, commas or line breaks; JSON lists, one
  per line or one for all; or JSON objects with "ids" or "token_ids". Text has
  its markers spelled out: <|channel|>final<|message|>Hi<|return|>
  With --input auto, an input whose first character is a digit, [ or { is ids;
  everything else is text. In other formats than harmony, text may begin like
  that: there, auto means ids with --tokenizer, and text without. Prefer ids:
  in text, a marker looks like one that the model only quotes.

formats:
  --format takes a name that `harmonystream formats` lists, or a model's name
  (Qwen/Qwen3-8B, deepseek-v3.1:671b, a path), or a .json or .toml file that
  describes a format (docs/formats.md). Ids of other models than gpt-oss
  need --tokenizer: the model's tokenizer.json, or the directory that has it.

examples:
  A file of ids, and the same from a pipe:
    harmonystream parse generated.jsonl
    cat generated.jsonl | harmonystream parse

  A server's log as it grows, with the tools of the request:
    tail -f -n +1 ids.log | harmonystream parse --tools get_forecast,search

  Text after a prompt that has already opened the answer:
    echo 'It is 4.<|return|>' | harmonystream parse --start answer

  Another model, whose prompt ends with <think>:
    echo '2+2.</think>It is 4.' |
      harmonystream parse --format Qwen/Qwen3-8B --start reasoning

  Its ids, with the tools of the request, whose schemas type the arguments:
    harmonystream parse --format glm --tokenizer tokenizer.json \\
      --tools request.json ids.jsonl

  Many outputs, one per line, as a batch job writes them:
    harmonystream parse --each outputs.jsonl
    harmonystream parse --each --json outputs.jsonl | jq 'select(.stream == 7)'

  The arguments of all calls, with jq:
    harmonystream parse --json ids.txt |
      jq -j 'select(.type == "ToolCallDelta").arguments'

  Is the output well formed? Stops at the first deviation:
    harmonystream parse --strict ids.txt > /dev/null && echo yes

exit status:
  0    the stream was read to its end
  1    --strict, and the stream deviates from the format
  2    wrong usage; input that cannot be read; output that cannot be written
  130  interrupted
  141  the reader of the output has closed it
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand and its options."""
    parse = commands.add_parser(
        "parse",
        help="show a stream of token ids or text",
        description=_ABOUT,
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.set_defaults(run=run)
    _add_options(parse)
    add_colour(parse)


def _add_options(parse: argparse.ArgumentParser) -> None:
    parse.add_argument(
        "file", metavar="FILE", nargs="?", default="-", help="what to read; - (the default) is standard input"
    )
    parse.add_argument(
        "--format",
        default="harmony",
        help="what the model writes: harmony (the default), another of `harmonystream formats`, a model's "
        "name, or a file with a row (.json, .toml)",
    )
    parse.add_argument(
        "--tokenizer", metavar="FILE", help="the model's tokenizer.json, or its directory; default: that of gpt-oss"
    )
    parse.add_argument("--input", choices=("auto", "ids", "text"), default="auto", help="what FILE holds; see below")
    parse.add_argument(
        "--json", action="store_true", help="one event per line, as JSON; repairs are reported on standard error"
    )
    parse.add_argument(
        "--each",
        action="store_true",
        help="each line is a stream of its own, as JSON: a list of ids, a string, or an object with one of them",
    )
    parse.add_argument(
        "--finish-reason", dest="finish", metavar="REASON", help="why the engine stopped: stop, length, …"
    )
    tools = parse.add_mutually_exclusive_group()
    tools.add_argument(
        "--tools",
        metavar="NAMES",
        help="the request's tools: NAME[,NAME…], or FILE.json: a list of names or tool objects, or the request",
    )
    tools.add_argument("--no-tools", action="store_true", help="the request has no tools: nothing is a call")
    parse.add_argument(
        "--start",
        default="auto",
        help="what the prompt had begun: content (which auto is), reasoning, answer, or a Harmony prefix",
    )
    parse.add_argument(
        "--strict", action="store_true", help="stop at the first deviation from the format, with status 1"
    )


def format_named(name: str) -> str | Format | HeaderFormat:
    """The format of that name, of that file, or of that model. Raises FormatError for what is none of them."""
    if name in names():
        return name
    if is_file(name):
        return format_of(name)
    try:
        return format_of_model(name, Path(name))
    except FormatError as error:
        end = suggestion(name, names())
        raise FormatError(f"unknown format {name!r}; {end}" if end.startswith("did") else str(error)) from None


def run(args: argparse.Namespace) -> None:
    """Reads the input to its end and shows it."""
    try:
        format = format_named(args.format)
        known = None if args.tokenizer is None else vocab.from_tokenizers(Path(args.tokenizer))
        tools = [] if args.no_tools else tools_given(args.tools)
        fresh = partial(Parser, format, known, tools=tools, start=args.start, strict=args.strict)
        parser = fresh()
    except (TypeError, ValueError) as error:
        raise InputError(str(error)) from None
    if args.each:
        takes_ids = known is not None or format == "harmony"
        with opened(args.file) as fd:
            shown = {"as_json": args.json, "color": args.color}
            return parse_each(fd, fresh, takes_ids=takes_ids, reason=args.finish, **shown)
    kind = args.input
    if kind == "auto" and format != "harmony":
        kind = "text" if known is None else "ids"
    with opened(args.file) as fd:
        as_ids, arriving = decided(kind, pieces(fd))
        if as_ids and known is None and format != "harmony":
            raise InputError(f"ids of the format {parser.format!r} need --tokenizer: the model's tokenizer.json")
        events = _events(parser, as_ids, arriving, args.finish)
        if args.json:
            _write_json(parser, events)
        else:
            paint(make_show(args.color), parser, events, "tokens" if as_ids else "bytes")


def tools_given(given: str | None) -> list[Any] | None:
    """The tools of the option --tools: names, or those of a file. Raises `InputError`."""
    if given is None:
        return None
    if not given.endswith(".json"):
        if Path(given).is_file():
            raise InputError(f"--tools {given}: a file of tools is the request's JSON, and its name ends in .json")
        return [name for name in (part.strip() for part in given.split(",")) if name]
    try:
        tools = json.loads(Path(given).read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{given}: not JSON: {error}") from None
    tools = tools.get("tools") if isinstance(tools, dict) else tools
    if not isinstance(tools, list):
        raise InputError(f'{given}: a list of tools, or an object with "tools", is expected')
    return tools


@contextlib.contextmanager
def opened(name: str) -> Iterator[int]:
    """The descriptor of a file, or of standard input for -."""
    if name == "-":
        if os.isatty(0):
            print("harmonystream: reading from the terminal; Ctrl-D ends the input", file=sys.stderr)
        yield 0
    else:
        with open(name, "rb", buffering=0) as file:
            yield file.fileno()


def decided(kind: str, arriving: Iterator[bytes]) -> tuple[bool, Iterator[bytes]]:
    """Are these ids? And the pieces, none lost: `auto` looks at the first ones."""
    if kind != "auto":
        return kind == "ids", arriving
    start = b""
    verdict = None
    for piece in arriving:
        start += piece
        verdict = is_ids(start)
        if verdict is not None:
            break
    return bool(verdict), itertools.chain((start,), arriving)


def _events(parser: Parser, as_ids: bool, arriving: Iterable[bytes], reason: str | None) -> Iterator[Event]:
    """The events of a stream, each as soon as the input allows it; in strict mode also those before the deviation."""
    reader = IdReader()
    try:
        for piece in arriving:
            yield from parser.feed(reader.feed(piece)) if as_ids else parser.feed_text(piece)
        if as_ids:
            yield from parser.feed(reader.finish())
        yield from parser.finish(reason)
    except ParseError as error:
        yield from error.events
        raise


def _write_json(parser: Parser, events: Iterable[Event]) -> None:
    out = sys.stdout.buffer
    for event in events:
        out.write(json_line(event).encode("utf-8", "replace"))
        out.flush()
    for repair in repairs(parser):
        print(f"harmonystream: {repair}", file=sys.stderr)
