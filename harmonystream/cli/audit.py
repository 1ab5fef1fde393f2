"""`harmonystream audit`: how many outputs of a data set deviate from their format, and how."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from .. import vocab
from .._native.core.vocab import Vocab
from .._native.stream.parser import Parser
from ..call_arguments import read_arguments
from ..completion import Completion, ToolCall, cut_call
from ..deviations import EXPECTED, Deviation
from ..parsing import parse
from .each import Line, lines, rows
from .parse import format_named, opened, tools_given
from .read import InputError
from .show import visible

__all__ = ["Audit", "Example", "Found", "add_to", "audited", "picture", "run"]

_ABOUT = """\
Reads many outputs, one per line, and counts how many of them break each rule
of the format. This library repairs such outputs. A parser that does not repair
them may lose calls, or show raw markup.
"""

_MORE = """\
input:
  Each line is one output, as JSON: a list of ids, a string, or an object with
  "ids", "token_ids" or "text", and perhaps "finish_reason". A file whose name
  ends in .parquet has columns of these names; pyarrow reads it. A line that
  cannot be read ends the command with status 2.

examples:
  harmonystream audit outputs.jsonl
  harmonystream audit --format Qwen/Qwen3-8B outputs.parquet
  harmonystream audit --json outputs.jsonl | jq .deviations
  harmonystream audit --svg deviations.svg outputs.jsonl
  harmonystream audit --format glm --tokenizer tokenizer.json --tools request.json outputs.jsonl
"""

_BEFORE, _AFTER = 40, 60
"""Characters of an example."""


class Example(NamedTuple):
    """line: of the input, from 1. position: the token or byte at which it was noted. text: what is around it."""

    line: int
    position: int
    text: str


class Found(NamedTuple):
    """What is known of one code. rows: the outputs that have it; times: how often it occurs in all of them."""

    code: str
    rows: int
    times: int
    expected: str | None
    examples: list[Example]


class Audit(NamedTuple):
    """rows: all outputs. clean: those without a deviation. cut_calls: those that the end of an output has cut.
    unreadable_calls: all others that are not complete, or whose arguments are not an object. deviations: the most
    frequent one first.
    """

    rows: int
    clean: int
    calls: int
    cut_calls: int
    unreadable_calls: int
    finish_reasons: dict[str, int]
    deviations: list[Found]

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        deviations = [
            {**each._asdict(), "examples": [example._asdict() for example in each.examples]} for each in self.deviations
        ]
        return {**self._asdict(), "deviations": deviations}


def audited(
    outputs: Iterable[Line],
    read: Callable[[Line], Completion],
    is_cut: Callable[[Line], bool],
    known: Vocab | None,
    examples: int,
) -> Audit:
    """Reads outputs one by one and counts what they contain.

    is_cut: does an output end in a call? known: the vocabulary, which decodes the examples. examples: how many of each
    code.
    """
    rows = clean = calls = cut = unreadable = 0
    in_rows, times, reasons = Counter[str](), Counter[str](), Counter[str]()
    shown: dict[str, list[Example]] = {}
    for line in outputs:
        completion = read(line)
        rows += 1
        clean += not completion.deviations
        calls += len(completion.tool_calls)
        unread = sum(map(_is_unread, completion.tool_calls))
        if not all(call.complete for call in completion.tool_calls) and is_cut(line):
            cut, unread = cut + 1, unread - 1
        unreadable += unread
        reasons[completion.finish_reason or "none"] += 1
        times.update(each.code for each in completion.deviations)
        for code, first in {each.code: each for each in reversed(completion.deviations)}.items():
            in_rows[code] += 1
            own = shown.setdefault(code, [])
            if len(own) < examples:
                own.append(Example(line.number, first.position, _around(line.output, first, known)))
    found = [Found(code, n, times[code], EXPECTED.get(code), shown[code]) for code, n in in_rows.most_common()]
    return Audit(rows, clean, calls, cut, unreadable, dict(reasons.most_common()), found)


def _is_unread(call: ToolCall) -> bool:
    """Was the call cut, or can its arguments not be read? Harmony's calls are complete with any arguments."""
    if not call.complete or call.kind != "function":
        return not call.complete
    try:
        read_arguments(call.arguments)
    except ValueError:
        return True
    return False


def _around(output: list[int] | str, deviation: Deviation, known: Vocab | None) -> str:
    """The text on both sides of a deviation."""
    at = deviation.position
    if isinstance(output, str):
        data = output.encode("utf-8", "replace")
        before, after = data[:at], data[at:]
    elif known is None:
        return ""
    else:
        near = output[max(0, at - _BEFORE) : at], output[at : at + _AFTER]
        before, after = (b"".join(known.token_bytes(tid) for tid in part if tid in known) for part in near)
    return before.decode("utf-8", "replace")[-_BEFORE:] + after.decode("utf-8", "replace")[:_AFTER]


# --- the command --------------------------------------------------------------------------------------------------


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand and its options."""
    audit = commands.add_parser(
        "audit",
        help="count what many streams do wrong",
        description=_ABOUT,
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    audit.set_defaults(run=run)
    audit.add_argument("file", metavar="FILE", nargs="?", default="-", help="what to read; - is standard input")
    audit.add_argument("--format", default="harmony", help="what the model writes, as in `harmonystream parse`")
    audit.add_argument("--tokenizer", metavar="FILE", help="the model's tokenizer.json, or its directory")
    audit.add_argument("--tools", metavar="NAMES", help="the request's tools: NAME[,NAME…], or FILE.json")
    audit.add_argument("--start", default="auto", help="what the prompt had begun, as in `harmonystream parse`")
    audit.add_argument(
        "--finish-reason", dest="finish", metavar="REASON", help="why the engine stopped, for lines that do not say"
    )
    audit.add_argument("--examples", metavar="N", type=int, default=1, help="examples of each deviation; default: 1")
    audit.add_argument("--json", action="store_true", help="write one JSON object in place of the table")
    audit.add_argument("--svg", metavar="FILE", help="write a picture of the counts, too")


def run(args: argparse.Namespace) -> None:
    """Reads all outputs and writes the counts."""
    try:
        format = format_named(args.format)
        known = None if args.tokenizer is None else vocab.from_tokenizers(Path(args.tokenizer))
        tools = tools_given(args.tools)
        options: dict[str, Any] = {"vocab": known, "tools": tools, "start": args.start}
        parse("", format, **options)
    except (TypeError, ValueError) as error:
        raise InputError(str(error)) from None
    if args.examples < 0:
        raise InputError("--examples is 0 or more")
    takes_ids = known is not None or format == "harmony"

    def read(line: Line) -> Completion:
        if not isinstance(line.output, str) and not takes_ids:
            raise InputError(f"line {line.number}: ids of the format {args.format!r} need --tokenizer")
        return parse(line.output, format, finish_reason=line.reason or args.finish, **options)

    def is_cut(line: Line) -> bool:
        parser = Parser(format, **options)
        events = parser.feed_text(line.output) if isinstance(line.output, str) else parser.feed(line.output)
        return cut_call((*events, *parser.finish(line.reason or args.finish))) is not None

    if known is None and format == "harmony":
        known = vocab.o200k_harmony()
    if args.file.endswith(".parquet"):
        audit = audited(rows(args.file), read, is_cut, known, args.examples)
    else:
        with opened(args.file) as fd:
            audit = audited(lines(fd), read, is_cut, known, args.examples)
    if args.svg:
        Path(args.svg).write_text(picture(audit), encoding="utf-8")
    if args.json:
        print(json.dumps(audit.as_dict(), ensure_ascii=False))
    else:
        print(table(audit))


def table(audit: Audit) -> str:
    """The counts as text."""
    lines = [
        f"outputs: {audit.rows}, without a deviation: {audit.clean} ({_share(audit.clean, audit.rows)})",
        f"calls: {audit.calls}, cut: {audit.cut_calls}, unreadable: {audit.unreadable_calls}",
        "finish: " + (", ".join(f"{reason} {n}" for reason, n in audit.finish_reasons.items()) or "none"),
    ]
    if audit.deviations:
        lines += ["", f"{'deviation':<24}{'outputs':>9}{'share':>8}{'times':>8}"]
    for each in audit.deviations:
        lines.append(f"{each.code:<24}{each.rows:>9}{_share(each.rows, audit.rows):>8}{each.times:>8}")
        if each.expected is not None:
            lines.append(f"    expected: {each.expected}")
        for example in each.examples:
            lines.append(f"    line {example.line}, at {example.position}: {visible(example.text)}")
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


_STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #222 } rect { fill: #3b6ea8 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } rect { fill: #7fb0e6 } }"""


def picture(audit: Audit) -> str:
    """The counts as bars, in SVG."""
    most = max((each.rows for each in audit.deviations), default=1)
    title = f"Outputs: {audit.rows}, without a deviation: {audit.clean}"
    parts = [f'<text x="10" y="22">{title}</text>']
    for i, each in enumerate(audit.deviations):
        y, width = 36 + 24 * i, max(1, round(360 * each.rows / most))
        note = f"{each.rows} ({_share(each.rows, audit.rows)})"
        parts.append(f'<text x="190" y="{y + 14}" text-anchor="end">{escape(each.code)}</text>')
        parts.append(f'<rect x="200" y="{y}" width="{width}" height="18"/>')
        parts.append(f'<text x="{206 + width}" y="{y + 14}">{note}</text>')
    height = 50 + 24 * len(audit.deviations)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 {height}" role="img" aria-label="{title}">\n'
        f"<style>{_STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )
