"""The command `harmonystream`: look at what a model generated, live or from a file."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from . import vocab
from ._parser import Parser
from ._read import IdReader, InputError, is_ids, pieces
from ._show import Show, json_line, painter, repairs, visible
from ._version import __version__
from .errors import FormatError, ParseError
from .events import Event
from .formats import formats
from .formats.models import format_for, models_of

__all__ = ["main"]

OK, DEVIATION, UNUSABLE, INTERRUPTED, READER_GONE = 0, 1, 2, 130, 141

TOKENS_PER_SECOND = 20.0

_RECORDING = Path(__file__).parent / "data" / "demo.jsonl"

_ABOUT = """\
Reads what a model generates and shows it as reasoning, content and tool calls.

  harmonystream demo                    play a bundled recording
  harmonystream parse FILE              show a stream of token ids or text
  harmonystream formats                 which formats there are
  harmonystream COMMAND --help          all about a command, with examples
"""

_PARSE_ABOUT = """\
Shows a stream as it arrives: reasoning, content, tool calls with their
arguments; at the end the finish reason, token counts, and what was repaired.
The stream is token ids or text, from a file or from a live pipe.
"""

_PARSE_MORE = """\
input:
  Token ids are numbers between spaces, commas or line breaks; JSON lists, one
  per line or one for all; or JSON objects with "ids" or "token_ids". Text has
  its markers spelled out: <|channel|>final<|message|>Hi<|return|>
  With --input auto, an input whose first character is a digit, [ or { is ids;
  everything else is text. In other formats than harmony, text may begin like
  that: there, auto means ids with --tokenizer, and text without. Prefer ids:
  in text, nobody can tell a marker from one that the model only quotes.

formats:
  --format takes a name that `harmonystream formats` lists, or a model's name
  (Qwen/Qwen3-8B, deepseek-v3.1:671b, a path). Ids of other models than gpt-oss
  need --tokenizer: the model's tokenizer.json, or the directory that has it.

examples:
  A file of ids, and the same from a pipe:
    harmonystream parse generated.jsonl
    cat generated.jsonl | harmonystream parse

  A server's log as it grows, with the tools of the request:
    tail -f -n +1 ids.log | harmonystream parse --tools get_forecast,search

  Text, for which the prompt had already opened the answer:
    echo 'It is 4.<|return|>' | harmonystream parse --start answer

  Another model, whose prompt ends with <think>:
    echo '2+2.</think>It is 4.' |
      harmonystream parse --format Qwen/Qwen3-8B --start reasoning

  Its ids, with the tools of the request, whose schemas type the arguments:
    harmonystream parse --format glm --tokenizer tokenizer.json \\
      --tools request.json ids.jsonl

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
  141  nobody reads the output any more
"""


def main(argv: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that lacks a character shows its code
            stream.reconfigure(errors="backslashreplace")
    try:
        args = _arguments().parse_args(argv)
        args.run(args)
        sys.stdout.flush()
        return OK
    except SystemExit as stop:  # argparse: --help, --version, wrong usage
        return int(stop.code or OK)
    except ParseError as error:
        return _fail(str(error), DEVIATION)
    except InputError as error:
        return _fail(str(error), UNUSABLE)
    except BrokenPipeError:
        _drop_output()
        return READER_GONE
    except OSError as error:
        if error.filename is None:  # what is read names itself
            _drop_output()
        return _fail(f"{error.filename or 'cannot write the output'}: {error.strerror}", UNUSABLE)
    except KeyboardInterrupt:
        return INTERRUPTED


def _fail(message: str, status: int) -> int:
    print(f"harmonystream: {visible(message)}", file=sys.stderr)
    return status


def _drop_output() -> None:
    """Python flushes stdout once more at exit, which must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _arguments() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser("harmonystream", description=_ABOUT, formatter_class=raw)
    top.add_argument("--version", action="version", version=f"harmonystream {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    parse = commands.add_parser(
        "parse",
        help="show a stream of token ids or text",
        description=_PARSE_ABOUT,
        epilog=_PARSE_MORE,
        formatter_class=raw,
    )
    parse.set_defaults(run=_parse)
    _add_parse(parse)
    _add_colour(parse)

    demo = commands.add_parser("demo", help="play a bundled recording", description="Plays a bundled recording.")
    demo.set_defaults(run=_demo)
    demo.add_argument(
        "--speed", type=_speed, help="times as fast as readable; 0: at once, which is the default unless in a terminal"
    )
    _add_colour(demo)

    listing = commands.add_parser(
        "formats",
        help="which formats there are, and which one a model writes",
        description="Lists the formats and the models that write them; with MODEL, names the format that it writes.",
    )
    listing.set_defaults(run=_formats)
    listing.add_argument("model", metavar="MODEL", nargs="?", help="a model's id, tag or path: Qwen/Qwen3-8B")
    return top


def _add_parse(parse: argparse.ArgumentParser) -> None:
    parse.add_argument(
        "file", metavar="FILE", nargs="?", default="-", help="what to read; - (the default) is standard input"
    )
    parse.add_argument(
        "--format",
        default="harmony",
        help="what the model writes: harmony (the default), another of `harmonystream formats`, or a model's name",
    )
    parse.add_argument(
        "--tokenizer", metavar="FILE", help="the model's tokenizer.json, or its directory; default: that of gpt-oss"
    )
    parse.add_argument("--input", choices=("auto", "ids", "text"), default="auto", help="what FILE holds; see below")
    parse.add_argument(
        "--json", action="store_true", help="one event per line, as JSON; repairs are told on standard error"
    )
    parse.add_argument("--finish", metavar="REASON", help="why the engine stopped: stop, length, …")
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


def _add_colour(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="auto: in a terminal, unless NO_COLOR is set",
    )


def _speed(text: str) -> float:
    speed = float(text)
    if not 0 <= speed < float("inf"):
        raise argparse.ArgumentTypeError("a speed is 0 or more")
    return speed


# --- parse --------------------------------------------------------------------------------------------------------


def _parse(args: argparse.Namespace) -> None:
    try:
        format = args.format if args.format in formats() else format_for(args.format)
        known = None if args.tokenizer is None else vocab.from_tokenizers(Path(args.tokenizer))
        tools = [] if args.no_tools else _tools(args.tools)
        parser = Parser(format, known, tools=tools, start=args.start, strict=args.strict)
    except (TypeError, ValueError) as error:
        raise InputError(str(error)) from None
    kind = args.input
    if kind == "auto" and format != "harmony":
        kind = "text" if known is None else "ids"
    with _opened(args.file) as fd:
        as_ids, arriving = _decided(kind, pieces(fd))
        if as_ids and known is None and format != "harmony":
            raise InputError(f"ids of the format {format!r} need --tokenizer: the model's tokenizer.json")
        events = _events(parser, as_ids, arriving, args.finish)
        if args.json:
            _write_json(parser, events)
        else:
            _paint(_show(args.color), parser, events, "tokens" if as_ids else "bytes")


def _tools(given: str | None) -> list[Any] | None:
    if given is None:
        return None
    if not given.endswith(".json"):
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
def _opened(name: str) -> Iterator[int]:
    if name == "-":
        if os.isatty(0):
            print("harmonystream: reading from the terminal; Ctrl-D ends the input", file=sys.stderr)
        yield 0
    else:
        with open(name, "rb", buffering=0) as file:
            yield file.fileno()


def _decided(kind: str, arriving: Iterator[bytes]) -> tuple[bool, Iterator[bytes]]:
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


def _paint(show: Show, parser: Parser, events: Iterable[Event], unit: str) -> None:
    try:
        for event in events:
            show.add(event)
    except (InputError, ParseError, KeyboardInterrupt):
        show.line()
        raise
    show.summary(parser, unit)


def _show(choice: str) -> Show:
    terminal = sys.stdout.isatty()
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    colour = choice == "always" or (choice == "auto" and terminal and not plain)
    width = shutil.get_terminal_size().columns if terminal else None
    try:
        return Show(painter(sys.stdout, colour), width)
    except ImportError:
        print("harmonystream: for colours, pip install 'harmonystream[cli]'", file=sys.stderr)
        return Show(painter(sys.stdout, False), width)


# --- formats ------------------------------------------------------------------------------------------------------


def _formats(args: argparse.Namespace) -> None:
    if args.model is None:
        width = max(map(len, formats()))
        for name in formats():
            print(f"{name:{width}}  {models_of(name)}".rstrip())
        return
    try:
        print(format_for(args.model))
    except FormatError as error:
        raise InputError(str(error)) from None


# --- demo ---------------------------------------------------------------------------------------------------------

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


def _demo(args: argparse.Namespace) -> None:
    speed = args.speed if args.speed is not None else float(sys.stdout.isatty())
    pause = 1 / (TOKENS_PER_SECOND * speed) if speed else 0.0
    show = _show(args.color)
    for line in _RECORDING.read_text("utf-8").splitlines():
        turn = json.loads(line)
        if "user" in turn:
            show.quote("user", turn["user"])
        elif "tool" in turn:
            show.quote(f"result of {turn['tool']}", turn["result"])
        else:
            parser = Parser()
            _paint(show, parser, _played(parser, turn["ids"], pause), "tokens")
        show.gap()
    show.line("The same in Python:", "heading")
    sys.stdout.write("\n" + DEMO)


def _played(parser: Parser, ids: Iterable[int], pause: float) -> Iterator[Event]:
    """The events of one generation, token by token as an engine would hand them over."""
    for token in ids:
        yield from parser.feed(token)
        time.sleep(pause)
    yield from parser.finish("stop")
