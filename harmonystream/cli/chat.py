"""`harmonystream chat`: a conversation in the terminal, over any engine, with tools."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import HarmonyStreamError
from ..vocab import from_tokenizers
from .demo import TOKENS_PER_SECOND
from .engine_key import add_engine_key, engine_key
from .paint import add_colour, make_show
from .parse import format_named
from .read import InputError

if TYPE_CHECKING:
    from ..engines import Engine
    from ..tools import Tool, Tools

__all__ = ["add_to", "run"]

_ABOUT = """\
Talks with a model in the terminal: reasoning, answers, tool calls and their
results as they stream. Without --engine a recorded conversation is played,
which needs no model.
"""

_MORE = """\
engines:
  vllm=URL, sglang=URL, tensorrt_llm=URL, completions=URL (any /v1/completions
  that keeps markers in text), llama-server=URL, recorded=FILE. A URL alone is
  vllm=URL. The engine's key is --engine-key, or HARMONYSTREAM_KEY in the
  environment.

keys:
  Enter sends the message. Pasted lines are one message; a line that ends with a
  backslash goes on in the next. Ctrl-C stops the generation and the tools; the
  text so far stays in the conversation. Ctrl-D leaves.
  /help lists the commands: /reset, /undo, /save FILE, /tools.

tools:
  --tools FILE.py runs the file and offers its `tools`, a harmonystream.Tools;
  without one, each public function that the file defines. --mcp URL offers the
  tools of an MCP server. With --ask you are asked before each one runs.

exit status:
  0    the conversation has ended
  1    the last answer failed, as where the engine is down
  2    wrong usage

examples:
    harmonystream chat
    harmonystream chat --engine http://localhost:8000 --tools mytools.py
    harmonystream chat --engine llama-server=http://localhost:8080 \\
      --model Qwen/Qwen3-8B --template ./Qwen3-8B
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand and its options."""
    chat = commands.add_parser(
        "chat",
        help="talk with a model, with tools; without an engine, with a recorded one",
        description=_ABOUT,
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    chat.set_defaults(run=run)
    chat.add_argument("--engine", metavar="KIND=URL", help="where the model is; see below")
    chat.add_argument("--served", metavar="NAME", help="the model's name at the engine; default: the first it lists")
    add_engine_key(chat)
    chat.add_argument("--key", dest="engine_key", help=argparse.SUPPRESS)  # its earlier name
    chat.add_argument("--model", metavar="NAME", help="the model: Qwen/Qwen3-8B; default: gpt-oss")
    chat.add_argument(
        "--format", metavar="NAME", help="what it writes: a name of `harmonystream formats`, or a file with a row"
    )
    chat.add_argument("--tokenizer", metavar="PATH", help="its tokenizer.json, or the folder: then ids are sent")
    chat.add_argument("--template", metavar="PATH", help="its chat template: its folder, or a file")
    chat.add_argument("--tools", metavar="FILE.py", help="the tools that it may call; see below")
    chat.add_argument("--mcp", action="append", default=[], metavar="URL", help="an MCP server with tools")
    chat.add_argument("--ask", action="store_true", help="ask before each tool runs")
    chat.add_argument("--system", metavar="TEXT", help="the system message")
    chat.add_argument("--reasoning", choices=("low", "medium", "high"), help="how much it thinks")
    chat.add_argument("--thinking", action=argparse.BooleanOptionalAction, help="turn reasoning on or off")
    chat.add_argument("--timeout", type=float, default=300.0, metavar="S", help="seconds of silence to wait (300)")
    chat.add_argument("--max-tokens", type=int, default=4096, metavar="N", help="tokens of one generation (4096)")
    chat.add_argument("--temperature", type=float, metavar="T", help="default: the engine's")
    add_colour(chat)


def run(args: argparse.Namespace) -> None:
    """Reads messages and answers them until the input ends. The exit status is 1 if the last answer failed."""
    from .talk import Talk, messages  # which imports what the other commands do not need

    try:
        engine = _engine(args)
        tools, options = _tools(args, engine), _options(args)
        _probe(options)
        talk = Talk(engine, tools, make_show(args.color), options, ask=args.ask)
    except (HarmonyStreamError, ImportError, TypeError, ValueError) as error:
        raise InputError(str(error)) from None
    if args.system is not None:
        talk.begin([{"role": "system", "content": args.system}])
    if args.engine is None:
        talk.show.line("There is no --engine: a recorded conversation is played, whatever you write.", "note")
    for text in messages():
        with suppress(KeyboardInterrupt):  # outside the generation, where there is nothing to stop
            talk.show.gap()
            talk.take(text)
            talk.show.gap()
    if talk.failed:
        sys.exit(1)


def _engine(args: argparse.Namespace) -> Engine:
    from ..engines import Recorded
    from ..engines.named import engine_of, kind_and_url

    if args.engine is None:
        return Recorded(delay=1 / TOKENS_PER_SECOND if sys.stdout.isatty() else 0.0)
    kind, where = kind_and_url(args.engine)
    try:
        return engine_of(kind, where, args.served, engine_key(args), args.timeout)
    except OSError as error:
        raise InputError(f"{where}: {error.strerror}") from None


def _probe(options: dict[str, Any]) -> None:
    """Writes a prompt now, so that a wrong model name or template is reported before the user types."""
    from ..prompt import render

    render("Hello.", **{name: value for name, value in options.items() if name != "sampling"}).parser()


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """Options of `agent_loop`."""
    from ..engines import Sampling

    made: dict[str, Any] = {
        name: getattr(args, name)
        for name in ("model", "template", "reasoning", "thinking")
        if getattr(args, name) is not None
    }
    if args.tokenizer is not None:
        made["vocab"] = from_tokenizers(Path(args.tokenizer))
    if args.format is not None:
        made["format"] = format_named(args.format)
    if not made.keys() & {"model", "format", "template"}:
        made["format"] = "harmony"
    return made | {"sampling": Sampling(max_tokens=args.max_tokens, temperature=args.temperature)}


def _tools(args: argparse.Namespace, engine: Engine) -> Tools:
    from ..engines import Recorded
    from ..tools import Tools
    from ..tools.files import load_tools

    if args.tools is not None and args.mcp:
        raise InputError("--tools takes MCP servers itself, by harmonystream.Tools(mcp=…): leave --mcp out")
    if args.tools is not None:
        return load_tools(args.tools)
    if args.mcp:
        return Tools(mcp=args.mcp)
    results = engine.results if isinstance(engine, Recorded) else {}
    return Tools(*(_recorded_tool(name, text) for name, text in results.items()))


def _recorded_tool(name: str, text: str) -> Tool:
    """A tool of a recorded conversation, which gives the result that it gave then, whatever it is asked."""
    from ..tools import Tool

    async def function(**_: Any) -> str:
        return text

    # Nothing is checked, so that the recording plays without the packages that check arguments.
    return Tool(name, "", {"type": "object"}, function, bind=lambda arguments: ((), arguments))
