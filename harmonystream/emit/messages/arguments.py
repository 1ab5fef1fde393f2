"""The value that a client assembles from arguments that come in pieces."""

from __future__ import annotations

import json
import re
from typing import Any

from ..._native.wire.json_filter import BROKEN_KEY, TEXT_KEY, Arguments

__all__ = ["BROKEN_KEY", "TEXT_KEY", "Arguments", "assembled"]

_CLOSER = {"{": "}", "[": "]"}
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:"]|[^\s{}\[\],:"]+', re.DOTALL)


def assembled(text: str) -> Any:
    """The value of a beginning of the JSON that `Arguments` sends. It has complete values, and the part of objects and
    arrays that has come.
    """
    stack: list[str] = []
    end, last = 0, ""
    for token in _TOKEN.finditer(text):
        last, before = token[0], last
        if last == '"':
            break  # it is not closed
        if last in _CLOSER:
            stack.append(_CLOSER[last])
        elif last in "}]":
            stack.pop()
        elif last in ",:" or (stack[-1] == "}" and before != ":"):
            continue
        elif last[0] != '"' and not _SCALAR.fullmatch(last):
            break
        end = token.end()
    return json.loads(text[:end] + "".join(reversed(stack))) if end else {}
