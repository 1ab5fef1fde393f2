"""The command `harmonystream`. Each subcommand is one module, which adds its options and runs."""

from __future__ import annotations

import argparse
import os
import re
import sys

from .._version import __version__
from ..errors import ParseError
from . import audit, chat, conformance, demo, formats, grammar, inspect, parse, render, serve
from .read import InputError
from .show import visible

__all__ = ["main"]

OK, DEVIATION, UNUSABLE, INTERRUPTED, READER_GONE = 0, 1, 2, 130, 141

COMMANDS = (parse, demo, inspect, audit, render, grammar, chat, serve, formats, conformance)  # as the help lists them

_ABOUT = """\
Reads what a model generates and shows it as reasoning, content and tool calls.

  harmonystream demo                    play a bundled recording
  harmonystream parse FILE              show a stream of token ids or text
  harmonystream inspect FILE            show a stream in the browser, token by token
  harmonystream audit FILE              count what many streams do wrong
  harmonystream render FILE             write the prompt for a conversation
  harmonystream grammar                 write the grammar of valid calls
  harmonystream chat                    talk with a model, with tools
  harmonystream serve                   serve three APIs over HTTP
  harmonystream formats                 which formats there are
  harmonystream conformance             test a streaming parser with cases
  harmonystream COMMAND --help          all about a command, with examples
"""


def main(argv: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that lacks a character shows its code
            stream.reconfigure(errors="backslashreplace")
    args = argparse.Namespace()
    try:
        _arguments().parse_args(argv, args)
        args.run(args)
        sys.stdout.flush()
        return OK
    except SystemExit as stop:  # argparse: --help, --version, wrong usage
        return int(stop.code or OK)
    except ParseError as error:
        return _fail(str(error), DEVIATION)
    except InputError as error:
        return _fail(_as_options(str(error), args), UNUSABLE)
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


def _as_options(message: str, args: argparse.Namespace) -> str:
    """The error of a function, which names its parameters (`format=`), with the names of this command's options. A file
    of settings has the parameters' names.
    """
    message = message.replace("hs.formats.names()", "`harmonystream formats`")
    if getattr(args, "config", None) is not None:
        return message
    names = "|".join(name for name in vars(args) if name != "run")
    return re.sub(rf"(?<![\w.(])({names})=(?=[ ,:]|$)", lambda found: "--" + found[1].replace("_", "-"), message)


def _drop_output() -> None:
    """Python flushes stdout once more at exit, which must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _arguments() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser("harmonystream", description=_ABOUT, formatter_class=raw)
    top.add_argument("--version", action="version", version=f"harmonystream {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_to(commands)
    return top
