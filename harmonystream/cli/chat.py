"""`harmonystream chat`: a conversation in the terminal, over any engine, with tools."""

from __future__ import annotations

import argparse
import runpy
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import HarmonyStreamError
from .demo import TOKENS_PER_SECOND
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
  vllm=URL, sglang=URL, tensorrt_llm=URL, text=URL (any other /v1/completions),
  llama=URL (llama-server), recorded=FILE. A URL alone is vllm=URL.

keys:
  Enter sends the line. Ctrl-C stops the generation and the tools; what was said
  until then stays in the conversation. Ctrl-D leaves.

tools:
  --tools FILE.py runs the file and offers its `tools`, a harmonystream.Tools;
  without one, each public function that the file defines.

examples:
    harmonystream chat
    harmonystream chat --engine http://localhost:8000 --tools mytools.py
    harmonystream chat --engine llama=http://localhost:8080 \\
      --model Qwen/Qwen3-8B --template ./Qwen3-8B
"""

_SERVERS = ("vllm", "sglang", "tensorrt_llm", "text")


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
    chat.add_argument("--key", help="the engine's key, sent as a bearer token")
    chat.add_argument("--model", metavar="NAME", help="the model: Qwen/Qwen3-8B; default: gpt-oss")
    chat.add_argument("--format", metavar="NAME", help="what it writes, of `harmonystream formats`")
    chat.add_argument("--template", metavar="PATH", help="its chat template: its folder, or a file")
    chat.add_argument("--tools", metavar="FILE.py", help="the tools that it may call; see below")
    chat.add_argument("--system", metavar="TEXT", help="the system message")
    chat.add_argument("--reasoning", choices=("low", "medium", "high"), help="how much it thinks")
    chat.add_argument("--max-tokens", type=int, default=4096, metavar="N", help="tokens of one generation (4096)")
    chat.add_argument("--temperature", type=float, metavar="T", help="default: the engine's")
    add_colour(chat)


def run(args: argparse.Namespace) -> None:
    """Reads lines and answers them until the input ends."""
    from .talk import Talk, lines  # which imports what the other commands do not need

    try:
        engine = _engine(args)
        talk = Talk(engine, _tools(args.tools, engine), make_show(args.color), _options(args))
    except (HarmonyStreamError, TypeError, ValueError) as error:
        raise InputError(str(error)) from None
    if args.system is not None:
        talk.messages.append({"role": "system", "content": args.system})
    if args.engine is None:
        talk.show.line("There is no --engine: a recorded conversation is played, whatever you write.", "note")
    for line in lines():
        with suppress(KeyboardInterrupt):  # outside the generation, where there is nothing to stop
            talk.show.gap()
            talk.answer(line)
            talk.show.gap()


def _engine(args: argparse.Namespace) -> Engine:
    from ..engines import Recorded

    if args.engine is None:
        return Recorded(delay=1 / TOKENS_PER_SECOND if sys.stdout.isatty() else 0.0)
    kind, equals, where = args.engine.partition("=")
    if not equals or "://" in kind:
        kind, where = "vllm", args.engine
    if kind == "recorded":
        try:
            return Recorded(where)
        except OSError as error:
            raise InputError(f"{where}: {error.strerror}") from None
    try:
        from ..engines import Completions, LlamaServer
    except ImportError:
        raise InputError("engines over HTTP need aiohttp: pip install 'harmonystream[engines]'") from None
    if kind == "llama":
        return LlamaServer(where, key=args.key)
    if kind not in _SERVERS:
        raise InputError(f"unknown engine {kind!r}; known: {', '.join(_SERVERS)}, llama, recorded")
    return Completions(where, args.served, server=kind, key=args.key)


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """Options of `agent_loop`."""
    from ..engines import Sampling

    made: dict[str, Any] = {
        name: getattr(args, name)
        for name in ("model", "format", "template", "reasoning")
        if getattr(args, name) is not None
    }
    if not made.keys() & {"model", "format", "template"}:
        made["format"] = "harmony"
    if args.format is not None:
        made["format"] = format_named(args.format)
    return made | {"sampling": Sampling(max_tokens=args.max_tokens, temperature=args.temperature)}


def _tools(path: str | None, engine: Engine) -> Tools:
    from ..engines import Recorded
    from ..tools import Tools

    if path is None:
        results = engine.results if isinstance(engine, Recorded) else {}
        return Tools(*(_recorded_tool(name, text) for name, text in results.items()))
    try:
        module = runpy.run_path(path, run_name="harmonystream_tools")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except Exception as error:
        raise InputError(f"{path}: {type(error).__name__}: {error}") from None
    if isinstance(tools := module.get("tools"), Tools):
        return tools
    own = [
        value
        for name, value in module.items()
        if not name.startswith("_") and getattr(value, "__module__", None) == "harmonystream_tools" and callable(value)
    ]
    if not own:
        raise InputError(f"{path} has neither `tools`, a harmonystream.Tools, nor a public function")
    try:
        return Tools(*own)
    except (ImportError, TypeError, ValueError) as error:
        raise InputError(f"{path}: {error}") from None


def _recorded_tool(name: str, text: str) -> Tool:
    """A tool of a recorded conversation, which gives the result that it gave then, whatever it is asked."""
    from ..tools import Tool

    async def function(**_: Any) -> str:
        return text

    # Nothing is checked, so that the recording plays without the packages that check arguments.
    return Tool(name, "", {"type": "object"}, function, bind=lambda arguments: ((), arguments))
