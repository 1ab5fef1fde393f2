"""Writes the pages that are made from the code: `python docs/site/written_pages.py`. A test compares them.

docs/command-line.md has the help of each command. docs/gateway-settings.md has the keys of the gateway's settings with
their defaults. A key without an explanation here stops the script.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from harmonystream import cli
from harmonystream.engines import Sampling
from harmonystream.gateway import settings
from harmonystream.gateway.limits import Limits

DOCS = Path(__file__).resolve().parents[1]
WIDTH = 100


def commands() -> list[tuple[str, argparse.ArgumentParser]]:
    """Each command and its parser, as the help lists them."""
    top = cli._arguments()
    (action,) = [each for each in top._actions if isinstance(each, argparse._SubParsersAction)]
    return list(action.choices.items())


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def option_row(action: argparse.Action) -> str:
    names = ", ".join(f"`{name}`" for name in action.option_strings) or f"`{action.metavar or action.dest}`"
    if action.option_strings and action.nargs != 0:
        value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
        names += f" `{value}`".replace("|", "\\|")
    return f"| {names} | {cell(action.help or '')} |"


def parts_of(epilog: str) -> list[str]:
    """What stands below the options in the help, as code."""
    return ["", "```text", epilog.strip(), "```"] if epilog.strip() else []


def command_line() -> str:
    lines = ["# Command line", ""]
    lines += [
        "`pip install harmonystream` installs the command `harmonystream`. This page has the text of its `--help`.",
        "",
    ]
    lines += ["| command | what it does |", "|---|---|"]
    for name, parser in commands():
        about = " ".join((parser.description or "").split("\n\n")[0].split())
        lines.append(f"| [`harmonystream {name}`](#{name}) | {cell(about)} |")
    for name, parser in commands():
        lines += ["", f"## {name}", "", *(parser.description or "").strip().splitlines(), ""]
        shown = [action for action in parser._actions if action.dest != "help" and action.help != argparse.SUPPRESS]
        rows = [option_row(action) for action in shown]
        lines += ["| option | what it is |", "|---|---|", *rows] if rows else []
        lines += parts_of(parser.epilog or "")
    lines += ["", "## Exit status", "", "| status | what it means |", "|---|---|"]
    lines += ["| 0 | everything went well |"]
    lines += [
        "| 1 | the output deviates from its format (with `--strict`), a case failed, or the engine failed |",
        "| 2 | wrong usage, or input that cannot be read |",
        "| 130, 141 | interrupted; the reader of the output has gone |",
    ]
    return "\n".join(lines) + "\n"


TOP = {
    "host": ('"127.0.0.1"', "the address to listen at"),
    "port": ("8000", "the port to listen at"),
    "workers": ("1", "processes that serve at the one address"),
    "keys": (
        "none",
        "a file of keys, relative to the settings; `harmonystream serve --keys FILE --new-key NAME` adds one",
    ),
    "hosts": (
        "[]",
        "names by which clients may call the gateway, in the header `Host`; without keys, and beyond those"
        " of this machine",
    ),
    "origins": ("[]", "origins of web pages that may call the gateway"),
    "log_contents": ("false", "log what is asked and answered, too"),
    "unsupported": (
        '"auto"',
        "options that are not supported: pass over those that only add (`auto`), all (`ignore`), or none (`refuse`)",
    ),
    "store": ("none", "the URL of a Valkey or Redis that several gateways share: stored responses, and limits of keys"),
    "limits": ("", "a table, see below"),
    "models": ("", "a table for each model, see below; none: a recorded conversation is served"),
}
MODEL = {
    "engines": ("", "one to 64 tables, see below; all of them serve this model"),
    "aliases": ("[]", "other names of the model"),
    "fallback": ("[]", "models that are asked, in this order, if no engine of this one gives an answer"),
    "sampling": ("{}", "sampling that a request does not set, see below"),
    "tools": ("none", "a Python file, whose tools run in the gateway"),
    "mcp": ("[]", "URLs of MCP servers, whose tools run there"),
    "family": ("the model's name", "the model by which the format is known, such as `Qwen/Qwen3-8B`"),
    "format": ("by the family", "a name of `harmonystream formats`, or a file with a row"),
    "tokenizer": ("none", "the model's folder, with `tokenizer.json` and the chat template"),
    "template": ("the tokenizer's", "another chat template: a folder, or a file"),
    "reasoning_field": ('"reasoning"', "the field of Chat Completions: `reasoning`, `reasoning_content` or `both`"),
    "context": ("the engine's", "tokens of prompt and answer together"),
    "max_tokens": ("what the context leaves", "tokens of an answer, if the request does not set a limit"),
}
ENGINE = {
    "kind": ('"vllm"', "`vllm`, `vllm-tokens`, `sglang`, `tensorrt_llm`, `completions`, `llama-server` or `recorded`"),
    "url": ("", "where the engine is; for `recorded`, the path of a file"),
    "model": ("the first it lists", "the model's name at the engine"),
    "key_env": ("none", "the variable of the environment that has the engine's key"),
    "render": (
        "none",
        "the URL of the server that writes the prompts; only for `vllm`, `vllm-tokens`, `sglang` and `llama-server`",
    ),
}
LIMITS = {
    "body": "bytes of a request's body",
    "body_seconds": "seconds in which a body must arrive",
    "concurrent": "requests that are answered at once",
    "concurrent_per_key": "requests of one key that are answered at once; 0: no limit of its own",
    "queue": "requests that wait for their turn",
    "queue_seconds": "seconds that a request waits at most",
    "tokens_per_minute": "tokens of prompts and answers of one key; 0: no limit",
    "first_token": "seconds in which an engine must give its first token",
    "silence": "seconds in which an engine must give another token",
    "total": "seconds of a whole answer",
    "send": "seconds that a client may read nothing of its answer",
    "status_wait": "seconds that the status of a stream waits for the first token, so that an error has its own status",
    "keep_alive": "seconds of silence after which a stream gets a comment",
    "retries": "further attempts if an engine fails before its first token, or in an answer that is not streamed",
    "drain": "seconds that open answers have when the gateway is stopped",
    "tool_rounds": "generations of one answer in which a model may call tools that run here",
    "stored": "responses that are kept for `previous_response_id`; 0: none",
    "stored_bytes": "bytes of these responses, as JSON",
    "stored_seconds": "seconds that each is kept",
    "stored_per_key": "responses of one key that are kept; 0: no limit of its own",
    "store_wait": "seconds that an answer waits for a shared store, before it goes on without it",
}


def accepted(text: str, where: str) -> list[str]:
    """The keys of a table, as the error for an unknown one lists them. text: settings with an unknown key in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "gateway.toml")
        Path(path).write_text(text, encoding="utf-8")
        try:
            settings.load(path)
        except ValueError as error:
            found = re.search(rf"{re.escape(where)}q is unknown; known: (.*)", str(error))
            if found is not None:
                return found[1].split(", ")
            raise
    raise AssertionError(f"{where}q is known")


def table(head: str, rows: list[tuple[str, str, str]]) -> str:
    lines = [f"| {head} | default | what it is |", "|---|---|---|"]
    for key, given, text in rows:
        literal = re.match(r'["[{\d]|true|false', given) is not None
        lines.append(f"| `{key}` | {f'`{given}`' if literal else given} | {text} |".replace("|  |", "| |"))
    return "\n".join(lines)


def checked(keys: list[str], known: dict[str, Any], what: str) -> None:
    if set(keys) != set(known):
        raise SystemExit(f"{what}: explain {set(keys) ^ set(known)} in docs/site/written_pages.py")


def gateway_settings() -> str:
    engine = '[[models.m.engines]]\nkind = "recorded"\n'
    checked(accepted("q = 1", ""), TOP, "settings")
    checked(accepted(f"[models.m]\nq = 1\n{engine}", "models.m."), MODEL, "a model")
    checked(accepted(f"{engine}q = 1", "models.m.engines[0]."), ENGINE, "an engine")
    limits = {one.name: one.default for one in dataclasses.fields(Limits)}
    checked(list(limits), LIMITS, "limits")
    sampling = [one.name for one in dataclasses.fields(Sampling) if one.name not in ("stop", "extra", "headers")]
    given = [(key, str(limits[key]).removesuffix(".0"), text) for key, text in LIMITS.items()]
    return f"""\
# Settings of the gateway

`harmonystream serve --config gateway.toml` reads a TOML file. A key that is unknown or has a wrong value is an error,
which names the key. Paths are relative to the file. At SIGHUP the file is [read again](gateway.md#operating). [The
gateway](gateway.md) describes how the settings work together.

## The file

{table("key", [(key, *text) for key, text in TOP.items()])}

## `[limits]`

Also on the command line, as `--limit NAME=N`.

{table("key", given)}

## `[models."NAME"]`

{table("key", [(key, *text) for key, text in MODEL.items()])}

## `[[models."NAME".engines]]`

{table("key", [(key, *text) for key, text in ENGINE.items()])}

## `sampling` of a model

Numbers. Any other name than these is passed to the engine as it is:
{textwrap.fill(", ".join(f"`{name}`" for name in sampling), 120)}.
"""


PAGES = {"command-line.md": command_line, "gateway-settings.md": gateway_settings}

if __name__ == "__main__":
    os.environ["COLUMNS"] = str(WIDTH)
    for name, made in PAGES.items():
        (DOCS / name).write_text(made(), encoding="utf-8")
