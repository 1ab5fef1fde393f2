"""`harmonystream serve`: the gateway, in front of engines, or with a recorded model."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..engines.named import engine_of, kind_and_url
from ..errors import HarmonyStreamError, missing_extra, suggestion
from .engine_key import add_engine_key, engine_key
from .parse import format_named
from .read import InputError

if TYPE_CHECKING:
    from ..gateway.settings import Settings

__all__ = ["add_to", "run"]

_ABOUT = """\
Serves Chat Completions, Responses and Messages over HTTP, in front of an engine
that only generates tokens. Without --engine a recorded conversation is served,
which needs no model.
"""

_MORE = """\
engines:
  vllm=URL, sglang=URL, tensorrt_llm=URL, completions=URL (any /v1/completions
  that keeps markers in text), llama-server=URL. A URL alone is vllm=URL.
  vllm-tokens=URL is vLLM with --tokens-only or --enable-scale-out. With
  --render URL (vllm launch render, or the engine) prompts are written there,
  by the model's own template, and may have pictures; vllm, sglang and
  llama-server have this, too.
  Several engines serve the same model. Their key is --engine-key, or
  HARMONYSTREAM_KEY in the environment. Engines of --config have `key_env`.

keys:
  --new-key NAME adds a key to the file of --keys, prints it once, and ends. The
  file has only hashes. With --keys each request needs one of them.

store:
  redis://, valkey://, with TLS rediss:// or valkeys://. In the environment,
  HARMONYSTREAM_STORE_PASSWORD is its password, and HARMONYSTREAM_STORE_SEAL the
  key by which stored responses are sealed: openssl rand -hex 32

examples:
    harmonystream serve
    harmonystream serve --engine http://localhost:8001 --model openai/gpt-oss-20b
    harmonystream serve --engine llama-server=http://localhost:8080 \\
      --model Qwen/Qwen3-8B --tokenizer ./Qwen3-8B --keys keys.txt
    harmonystream serve --config gateway.toml
"""


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
    serve.add_argument("--config", metavar="FILE", help="a TOML file with models, keys and limits")
    serve.add_argument("--engine", action="append", default=[], metavar="KIND=URL", help="see below; may be repeated")
    serve.add_argument("--render", metavar="URL", help="where the engines' prompts are written: see below")
    serve.add_argument("--served", metavar="NAME", help="the model's name at the engine; default: the first it lists")
    add_engine_key(serve)
    serve.add_argument("--model", metavar="NAME", help="the model, by which its format is known: Qwen/Qwen3-8B")
    serve.add_argument(
        "--format", metavar="NAME", help="what it writes: a name of `harmonystream formats`, or a file with a row"
    )
    serve.add_argument("--tokenizer", metavar="DIR", help="its folder, with tokenizer.json and the chat template")
    serve.add_argument("--template", metavar="PATH", help="another chat template: a folder, or a file")
    serve.add_argument("--context", type=int, metavar="N", help="tokens of prompt and answer; default: the engine's")
    serve.add_argument("--max-tokens", type=int, metavar="N", help="of an answer; default: what the context leaves")
    serve.add_argument(
        "--tools", metavar="FILE.py", help="tools that run in the gateway: the file's `tools`, or its functions"
    )
    serve.add_argument("--mcp", action="append", default=[], metavar="URL", help="an MCP server, whose tools run there")
    serve.add_argument("--keys", metavar="FILE", help="the keys of clients; see below")
    serve.add_argument("--new-key", metavar="NAME", help="add a key for NAME to the file of --keys, and end")
    serve.add_argument(
        "--store", metavar="URL", help="the Valkey or Redis that several gateways share: redis://HOST; see below"
    )
    serve.add_argument("--limit", action="append", default=[], metavar="NAME=N", help="a limit: concurrent=64")
    serve.add_argument("--inspect", action="store_true", help="show the last streams at /inspect, only to this machine")
    serve.add_argument("--trace", action="store_true", help="make a span of OpenTelemetry for each request")
    serve.add_argument("--log-contents", action="store_true", help="log what is asked and answered, too")
    serve.add_argument(
        "--unsupported",
        choices=("auto", "ignore", "refuse"),
        help="options that are not supported: pass over those that only add (auto), all (ignore), or none (refuse)",
    )
    serve.add_argument("--workers", type=int, metavar="N", help="processes that serve at the one address (1)")
    serve.add_argument("--host", help="the address to listen at (127.0.0.1)")
    serve.add_argument("--port", type=int, metavar="N", help="the port to listen at (8000)")


def run(args: argparse.Namespace) -> None:
    """Serves until it is stopped."""
    try:
        from ..gateway.operating.server import serve
    except ImportError as error:
        raise InputError(str(missing_extra("gateway", error))) from None
    if args.new_key is not None:
        _add_key(args)
        return
    try:
        settings = _settings(args)
        made = _application(args, settings)
    except ModuleNotFoundError as error:
        if args.trace and (error.name or "").startswith("opentelemetry"):
            raise InputError("--trace needs OpenTelemetry: pip install 'harmonystream[otel]'") from None
        raise InputError(str(error)) from None
    except (HarmonyStreamError, ImportError, ValueError) as error:
        raise InputError(str(error) if args.config is None else _in_settings(str(error))) from None
    for name, model in made.state.gateway.models.items():
        if name == model.name:
            print(f"harmonystream: serves {model.about()}", file=sys.stderr)
    if settings.workers == 1:
        serve(made, settings.host, settings.port)
        return
    from ..gateway.operating.workers import serve_in_workers

    make, drain = partial(_shared_application, args), settings.limits.drain
    if status := serve_in_workers(make, settings.host, settings.port, settings.workers, drain):
        sys.exit(status)


def _in_settings(message: str) -> str:
    from ..gateway.settings import in_settings

    return in_settings(message)


def _application(args: argparse.Namespace, settings: Settings, shared: str | None = None) -> Any:
    from ..gateway import app
    from ..gateway.reloading import Reloading

    workers = settings.workers

    def of_each(settings: Settings) -> Settings:
        """Settings for one of the workers, whose number stays."""
        return settings if shared is None else replace(settings, limits=settings.limits.of_each(workers))

    settings = of_each(settings)
    made = app(
        settings.models or None,
        keys=settings.keys,
        limits=settings.limits,
        hosts=settings.hosts,
        origins=settings.origins,
        inspect=args.inspect,
        trace=args.trace,
        shared=shared,
        store=settings.store,
        log_contents=settings.log_contents,
        unsupported=settings.unsupported,
    )
    if args.config is not None:
        gateway = made.state.gateway
        gateway.reload = Reloading(gateway, settings, lambda before: of_each(_settings(args, before))).begin
    return made


def _shared_application(args: argparse.Namespace, shared: str) -> Any:
    """What each of several workers makes for itself."""
    return _application(args, _settings(args), shared)


def _add_key(args: argparse.Namespace) -> None:
    from ..gateway.operating.keys import add_line, line_of, new_key

    if args.keys is None:
        raise InputError(
            "--new-key needs --keys FILE, to which it adds the key's hash: the file of `keys` in the settings"
        )
    key = new_key()
    try:
        add_line(args.keys, line_of(args.new_key, key))
    except ValueError as error:
        raise InputError(str(error)) from None
    print(key)
    print(f"harmonystream: the key of {args.new_key}; it is not shown again", file=sys.stderr)


def _settings(args: argparse.Namespace, before: Settings | None = None) -> Settings:
    """The file's, and what the flags say instead. before: the settings until now."""
    from ..gateway.operating.keys import Keys
    from ..gateway.settings import MOST_WORKERS, Settings, load

    made = Settings() if args.config is None else load(args.config, before)
    made.host, made.port = args.host or made.host, made.port if args.port is None else args.port
    if args.keys is not None:
        made.keys = Keys.load(args.keys)
    made.store = args.store or made.store
    made.log_contents = args.log_contents or made.log_contents
    made.unsupported = args.unsupported or made.unsupported
    if not 0 <= made.port <= 65535:
        raise InputError(f"--port is 0 to 65535, not {made.port}")
    made.workers = made.workers if args.workers is None else args.workers
    if not 1 <= made.workers <= MOST_WORKERS:
        raise InputError(f"--workers is 1 to {MOST_WORKERS}, not {made.workers}")
    if made.workers > 1 and args.inspect:
        raise InputError("--inspect shows the streams of one process: leave --workers out")
    if made.workers > 1 and os.name != "posix":
        raise InputError("--workers needs the signals of POSIX: run several gateways, with a balancer before them")
    made.limits = replace(made.limits, **dict(_limit(given) for given in args.limit))
    if args.engine:
        made.models = [*made.models, _model(args) if before is None else before.models[-1]]
        return made
    for name in (
        "model",
        "render",
        "served",
        "engine_key",
        "format",
        "tokenizer",
        "template",
        "context",
        "tools",
        "mcp",
    ):
        if getattr(args, name) not in (None, []):
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option} is for the model of an engine: pass --engine KIND=URL, too")
    return made


def _limit(given: str) -> tuple[str, Any]:
    from dataclasses import fields

    from ..gateway.limits import Limits

    name, _, value = given.partition("=")
    known = [one.name for one in fields(Limits)]
    if name not in known:
        raise InputError(f"--limit {given}: unknown limit {name!r}; {suggestion(name, known)}")
    try:
        return name, float(value) if "." in value else int(value)
    except ValueError:
        raise InputError(f"--limit {given}: {value!r} is not a number") from None


def _model(args: argparse.Namespace) -> Any:
    from ..gateway import Model
    from ..gateway.settings import server_tools

    if not args.model:
        raise InputError("--engine needs --model NAME, by which the model's format is known")
    if args.context is not None and args.context < 1:
        raise InputError(f"--context is 1 or more, not {args.context}")
    key = engine_key(args)
    engines = [engine_of(*kind_and_url(given), args.served, key, None, args.render) for given in args.engine]
    options: dict[str, Any] = {name: getattr(args, name) for name in ("tokenizer", "template", "context", "max_tokens")}
    options["format"] = None if args.format is None else format_named(args.format)
    return Model(args.model, engines, server_tools=server_tools(args.tools, args.mcp), **options)
