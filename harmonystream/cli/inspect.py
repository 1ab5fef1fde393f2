"""`harmonystream inspect`: a recorded stream as a page that shows each token."""

from __future__ import annotations

import argparse
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

from .. import vocab
from .parse import decided, format_named, opened, tools_given
from .read import IdReader, InputError, pieces

__all__ = ["add_to", "run"]

_ABOUT = """\
Shows a recorded stream in the browser: tokens coloured by region, events, the
frames of each API, and what was repaired. The page is one file, which needs no
server and loads nothing.
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand and its options."""
    inspect = commands.add_parser(
        "inspect",
        help="show a stream of token ids or text in the browser, token by token",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inspect.set_defaults(run=run)
    inspect.add_argument("file", metavar="FILE", nargs="?", default="-", help="as `harmonystream parse` reads it")
    inspect.add_argument("--format", default="harmony", help="what the model writes, as for `harmonystream parse`")
    inspect.add_argument("--tokenizer", metavar="FILE", help="the model's tokenizer.json, or its directory")
    inspect.add_argument("--tools", metavar="NAMES", help="the request's tools, as for `harmonystream parse`")
    inspect.add_argument(
        "--finish-reason", dest="finish", metavar="REASON", help="why the engine stopped: stop, length, …"
    )
    inspect.add_argument("--output", metavar="PAGE", help="write the page there, and open nothing")


def run(args: argparse.Namespace) -> None:
    """Writes the page, and opens it."""
    try:
        from ..gateway.operating.inspection import inspected, page_with

        known = None if args.tokenizer is None else vocab.from_tokenizers(Path(args.tokenizer))
        format = format_named(args.format)
        tokens = _read(args.file, format == "harmony" or known is not None)
        options: dict[str, Any] = {"tools": tools_given(args.tools), "finish": args.finish}
        page = page_with(inspected(tokens, format, known, **options))
    except (TypeError, ValueError) as error:
        raise InputError(str(error)) from None
    if args.output is not None:
        Path(args.output).write_text(page, "utf-8")
        return
    with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8", delete=False) as file:
        file.write(page)
    print(file.name)
    webbrowser.open(Path(file.name).as_uri())


def _read(name: str, may_be_ids: bool) -> list[int] | str:
    with opened(name) as fd:
        as_ids, arriving = decided("auto" if may_be_ids else "text", pieces(fd))
        whole = b"".join(arriving)
    if not as_ids:
        return whole.decode("utf-8", "replace")
    reader = IdReader()
    return reader.feed(whole) + reader.finish()
