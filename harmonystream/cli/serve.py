"""`harmonystream serve`: the gateway, in front of one engine, or with a recorded model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .read import InputError

if TYPE_CHECKING:
    from ..engines import Engine
    from ..gateway import Model

__all__ = ["add_to", "run"]

_ABOUT = """\
Serves Chat Completions, Responses and Messages over HTTP, in front of an engine
that gives raw tokens. Without --engine a recorded conversation is served, which
needs no model.
"""

_MORE = """\
engines:
  vllm=URL, sglang=URL, tensorrt_llm=URL, completions=URL (any /v1/completions
  that keeps markers in text), llama-server=URL. A URL alone is vllm=URL.

examples:
    harmonystream serve
    harmonystream serve --engine http://localhost:8001 \\
      --model openai/gpt-oss-20b --tokenizer ./gpt-oss-20b
"""

_SERVERS = {"vllm": "vllm", "sglang": "sglang", "tensorrt_llm": "tensorrt_llm", "completions": "text", "text": "text"}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand and its options."""
    serve = commands.add_parser(
        "serve",
        help="serve three APIs over HTTP in front of an engine; without one, a recorded model",
        description=_ABOUT,
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    serve.set_defaults(run=run)
    serve.add_argument("--engine", action="append", default=[], metavar="KIND=URL", help="see below; may be repeated")
    serve.add_argument("--served", metavar="NAME", help="the model's name at the engine; default: the first it lists")
    serve.add_argument("--engine-key", metavar="KEY", help="the engine's key, sent as a bearer token")
    serve.add_argument("--model", metavar="NAME", help="the model, by which its format is known: Qwen/Qwen3-8B")
    serve.add_argument("--format", metavar="NAME", help="what it writes, of `harmonystream formats`")
    serve.add_argument("--tokenizer", metavar="DIR", help="its folder, with tokenizer.json and the chat template")
    serve.add_argument("--template", metavar="PATH", help="another chat template: a folder, or a file")
    serve.add_argument("--context", type=int, metavar="N", help="tokens of prompt and answer together")
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen at (127.0.0.1)")
    serve.add_argument("--port", type=int, default=8000, metavar="N", help="the port to listen at (8000)")


def run(args: argparse.Namespace) -> None:
    """Serves until it is stopped."""
    try:
        import uvicorn

        from ..gateway import app
    except ImportError as error:
        missing = f"the gateway needs {error.name}: pip install 'harmonystream[gateway]'"
        raise InputError(missing) from None
    try:
        made = app(_models(args))
    except (ImportError, ValueError) as error:
        raise InputError(str(error)) from None
    uvicorn.run(made, host=args.host, port=args.port, access_log=False, ws="none")


def _models(args: argparse.Namespace) -> list[Model] | None:
    from ..gateway import Model

    if not args.engine:
        if args.model:
            raise InputError("--model is for an engine: pass --engine KIND=URL, too")
        return None
    if not args.model:
        raise InputError("--engine needs --model NAME, by which the model's format is known")
    engines = [_engine(given, args) for given in args.engine]
    options: dict[str, Any] = {name: getattr(args, name) for name in ("format", "tokenizer", "template", "context")}
    return [Model(args.model, engines, **options)]


def _engine(given: str, args: argparse.Namespace) -> Engine:
    from ..engines import Completions, LlamaServer

    kind, equals, url = given.partition("=")
    if not equals or "://" in kind:
        kind, url = "vllm", given
    if kind in ("llama-server", "llama"):
        return LlamaServer(url, key=args.engine_key)
    if kind not in _SERVERS:
        raise InputError(f"unknown engine {kind!r}; known: {', '.join(_SERVERS)}, llama-server")
    return Completions(url, args.served, server=_SERVERS[kind], key=args.engine_key)
