"""Cases that can be read. `python -m fuzz.replay FILE…` runs findings and cases, and prints each as a case.

A case is a Python literal: a dict with the name of its target, and the keywords of its check. A stream of ids is a list
of control names, bytes of ordinary tokens, other ids, and (token, count) for a repeated one.
"""

from __future__ import annotations

import ast
import sys
from itertools import groupby
from pathlib import Path
from pprint import pformat
from typing import Any

from fuzz import targets, tokens

CASES = Path(__file__).parent / "cases"
STREAMS = ("ids", "prompt", "then")


def read(text: str) -> tuple[str, dict[str, Any]]:
    case = ast.literal_eval(text)
    for key in STREAMS:
        if key in case:
            case[key] = [tid for token in case[key] for tid in ids_of(token)]
    return case.pop("target"), case


def ids_of(token: Any) -> list[int]:
    if isinstance(token, tuple):
        return ids_of(token[0]) * token[1]
    if isinstance(token, str):
        return [tokens.CONTROL[token]]
    if token == b"":
        return [tokens.EMPTY]
    if isinstance(token, bytes):
        return [token[0] if len(token) == 1 else tokens.FIRST_WORD + tokens.WORDS.index(token)]
    return [token]


def token_of(tid: int) -> str | bytes | int:
    vocab = tokens.vocab()
    if tid not in vocab:
        return tid
    data = vocab.token_bytes(tid)
    return data.decode() if vocab.is_control(tid) else data


def explain(data: bytes) -> str:
    """The case of a fuzzer's input, as `read` takes it."""
    name, case = targets.decode(data)
    for key in STREAMS:
        if key in case:
            runs = [(token_of(tid), len(list(run))) for tid, run in groupby(case[key])]
            case[key] = [token if count == 1 else (token, count) for token, count in runs]
    return pformat({"target": name, **case}, width=110, compact=True, sort_dicts=False)


def case_of(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.suffix == ".case" else explain(path.read_bytes())


if __name__ == "__main__":
    for argument in map(Path, sys.argv[1:]):
        text = case_of(argument)
        print(f"{argument}\n{text}", flush=True)
        targets.check(*read(text))
