"""`harmonystream conformance`: holds a streaming parser against the cases of this package."""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from threading import Timer
from typing import Any

from ..conformance import CASES, Case, Result, answer, cases, joined, run_cases
from .read import InputError

__all__ = ["Program", "add_to", "run"]

_ABOUT = """\
Tests a streaming parser with cases: an output, cut in several ways, and the
events that it must give. Without --against, tests this library's own parser.
"""

_MORE = """\
line protocol (docs/conformance.md):
  The program reads a request from each line of standard input, and writes its
  answer as one line, at once. Both are JSON.

examples:
  harmonystream conformance
  harmonystream conformance --against 'python my_parser.py' --format harmony
  harmonystream conformance --answer        be such a program

exit status:
  0  all cases passed, or were skipped
  1  a case failed
  2  wrong usage; the program could not be run, or ended
"""

FAILED = 1


class Program:
    """A program that speaks the line protocol."""

    def __init__(self, command: str, seconds: float) -> None:
        self._command, self._seconds = command, seconds
        try:
            self._process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except (OSError, ValueError, IndexError) as error:
            raise InputError(f"--against {command!r} cannot be run: {error}") from None

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Its answer. Raises `InputError` if there is none in time, or none that is a JSON object."""
        given, taken = self._process.stdin, self._process.stdout
        assert given is not None and taken is not None
        watch = Timer(self._seconds, self._process.kill)
        watch.start()
        try:
            given.write(json.dumps(request).encode() + b"\n")
            given.flush()
            line = taken.readline()
        except OSError:
            line = b""
        finally:
            watch.cancel()
        if not line:
            raise InputError(f"--against {self._command!r}: no answer to the case {request['case']}; has it ended?")
        try:
            answered = json.loads(line)
        except ValueError:
            answered = None
        if not isinstance(answered, dict):
            raise InputError(f"--against {self._command!r}: the answer to the case {request['case']} is not an object")
        return answered

    def close(self) -> None:
        """Ends the program."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        with contextlib.suppress(OSError):  # what was not written yet
            self._process.stdin.close()


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand and its options."""
    conformance = commands.add_parser(
        "conformance",
        help="test a streaming parser with cases",
        description=_ABOUT,
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    conformance.set_defaults(run=run)
    way = conformance.add_mutually_exclusive_group()
    way.add_argument("--against", metavar="CMD", help="the program to test")
    way.add_argument("--answer", action="store_true", help="answer requests on standard input with this library")
    way.add_argument("--list", action="store_true", help="write the cases, one per line, as JSON")
    conformance.add_argument(
        "--cases",
        metavar="FILE",
        default=CASES,
        help="the cases, as --list writes them; default: those of this package",
    )
    conformance.add_argument("--format", action="append", metavar="NAME", help="only cases of this format; repeatable")
    conformance.add_argument("--well-formed", action="store_true", help="only cases that keep to their format")
    conformance.add_argument("--case", action="append", metavar="NAME", help="only this case; repeatable")
    conformance.add_argument("--timeout", metavar="SECONDS", type=float, default=10.0, help="for one answer")
    conformance.add_argument("--show", metavar="N", type=int, default=3, help="failures to show; default: 3")
    conformance.add_argument("--json", action="store_true", help="write the verdict of each case as JSON, one per line")


def run(args: argparse.Namespace) -> None:
    """Runs the cases and writes what became of them."""
    if args.answer:
        for line in sys.stdin:
            print(json.dumps(answer(json.loads(line))), flush=True)
        return
    try:
        known = cases(args.cases)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{args.cases}: {error}") from None
    wanted = [case for case in known if _is_wanted(case, args)]
    if args.list:
        for case in wanted:
            print(json.dumps(case._asdict(), ensure_ascii=False))
        return
    if not wanted:
        formats = ", ".join(dict.fromkeys(case.format for case in known)) or "none"
        raise InputError(f"no case has this name and this format; the formats of the cases are {formats}")
    if args.against is None:
        results = list(run_cases(wanted, _own))
    else:
        program = Program(args.against, args.timeout)
        try:
            results = list(run_cases(wanted, program.ask))
        finally:
            program.close()
    if args.json:
        for result in results:
            row = {"case": result.case.name, "verdict": result.verdict, "request": result.request}
            print(json.dumps({**row, "answer": result.found}, ensure_ascii=False))
    else:
        _write(results, args.show)
    if any(result.verdict == "failed" for result in results):
        raise SystemExit(FAILED)


def _own(request: dict[str, Any]) -> dict[str, Any]:
    try:
        return answer(request)
    except (TypeError, ValueError) as error:  # the format, the tools or the start
        raise InputError(f"the case {request['case']}: {error}") from None


def _is_wanted(case: Case, args: argparse.Namespace) -> bool:
    return (
        (not args.format or case.format in args.format)
        and (not args.case or case.name in args.case)
        and (case.well_formed or not args.well_formed)
    )


def _write(results: list[Result], shown: int) -> None:
    print(f"{'':<32}{'passed':>8}{'failed':>8}{'skipped':>8}")
    for name, own in _groups(results).items():
        verdicts = Counter(result.verdict for result in own)
        print(f"{name:<32}" + "".join(f"{verdicts[verdict]:>8}" for verdict in ("passed", "failed", "skipped")))
    for result in [each for each in results if each.verdict == "failed"][:shown]:
        assert result.request is not None
        print(f"\n{result.case.name} ({result.case.format}), {result.request['input']} in these pieces:")
        print(f"  {json.dumps(result.request['pieces'], ensure_ascii=False)}")
        print(f"  expected: {json.dumps(result.case.events, ensure_ascii=False)}")
        print(f"  found:    {json.dumps(_joined(result.found), ensure_ascii=False)}")


def _joined(found: Any) -> Any:
    try:
        return joined(found["events"])
    except (KeyError, TypeError, IndexError):
        return found


def _groups(results: Iterable[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in results:
        kind = "well formed" if result.case.well_formed else "deviating"
        found.setdefault(f"{result.case.format}, {kind}", []).append(result)
    return found
