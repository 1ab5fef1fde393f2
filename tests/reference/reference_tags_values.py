"""What the text of a value becomes in JSON, by the types that its schema allows: docs/tags.md, the end of section 6."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from itertools import pairwise

WS = " \t\n\v\f\r"
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.0+)?")
DIGITS = r"[0-9](?:_?[0-9])*"
SHORT = re.compile(r"[+-]?(?!0[0-9])[0-9.eE+-]+")  # with zeros in front it is a code
PYTHON_NUMBER = re.compile(rf"([+-]?)([0-9](?:_?[0-9])*)?(?:(\.)({DIGITS})?)?(?:[eE]([+-]?{DIGITS}))?")
BASED = re.compile(r"([+-]?)(0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+)")
HALF_NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.(?:[0-9]+(?:[eE][+-]?[0-9]*)?)?|[eE][+-]?[0-9]*)?)?")
HALF_INTEGER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.0*)?)?")


def python_number(text: str) -> str:
    """The JSON number that Python reads in a text; empty: it reads none."""
    if found := BASED.fullmatch(text):
        value = int(found[2].replace("_", ""), 0)
        return f"{found[1].strip('+')}{value}" if value < 1 << 64 else ""
    found = PYTHON_NUMBER.fullmatch(text)
    if not found or (found[2] is None and found[4] is None):
        return ""
    whole = found[1].strip("+") + ((found[2] or "").replace("_", "").lstrip("0") or "0")
    fraction = "." + (found[4] or "0").replace("_", "") if found[3] else ""
    return whole + fraction + ("e" + found[5].replace("_", "") if found[5] else "")


def quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def is_json(text: str) -> bool:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return False
    return True


def transcode(text: str, types: frozenset[str], untyped: str) -> str:
    """`types` empty: the schema does not say. The first rule that fits."""
    bare = text.strip(WS)
    if not types:
        return bare if untyped == "json" and may_be_json(text) and is_json(bare) else quote(text)
    if types == {"string"}:
        return quote(text)
    if bare.lower() == "null" and ("null" in types or "string" not in types):
        return "null"
    if bare == "None" and "string" not in types:
        return "null"
    if ("number" in types and NUMBER.fullmatch(bare)) or ("integer" in types and INTEGER.fullmatch(bare)):
        return bare
    is_short = "string" not in types and SHORT.fullmatch(bare) and len(bare) <= 256
    found = python_number(bare) if is_short else ""
    if found and ("number" in types or ("integer" in types and INTEGER.fullmatch(found))):
        return found
    if "boolean" in types and bare.lower() in ("true", "false"):
        return bare.lower()
    if types <= {"boolean", "null"} and bare in ("0", "1"):
        return "true" if bare == "1" else "false"
    return container(bare, types) or quote(text)


def fits(text: str, types: frozenset[str]) -> bool:
    """Has the value one of its declared types?"""
    return not types or "string" in types or not transcode(text, types, "string").startswith('"')


def container(text: str, types: frozenset[str]) -> str | None:
    """An object or array, as it is or from Python's spelling."""
    if is_json(text):
        value = json.loads(text)
        kind = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else ""
        return text if kind in types else None
    try:
        tree = literal(text)
        kind = "object" if isinstance(tree, ast.Dict) else "array" if isinstance(tree, (ast.List, ast.Tuple)) else ""
        return convert(tree, text) if kind in types else None
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return unescaped(text, types)


def unescaped(text: str, types: frozenset[str]) -> str | None:
    """JSON that was escaped once more, as for a string."""
    if text[:1] not in ("{", "[") or "\\" not in text:
        return None
    escapes = {'"': '"', "\\": "\\", "/": "/", "n": "\n", "r": "\r", "t": "\t"}
    inner = re.sub(r"\\(.)", lambda found: escapes.get(found[1], found[0]), text, flags=re.S).strip(WS)
    kind = "object" if text[0] == "{" else "array"
    return inner if kind in types and is_json(inner) else None


def literal(text: str) -> ast.expr:
    """Python's tree of it. Raises ValueError for two strings in a row, and for brackets that make no tuple."""
    tree = ast.parse(text, mode="eval").body
    found = [one for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.type != tokenize.NL]
    tuples = sum(isinstance(node, ast.Tuple) for node in ast.walk(tree))
    in_row = any(a.type == b.type == tokenize.STRING for a, b in pairwise(found))
    if in_row or sum(one.string == "(" and one.type == tokenize.OP for one in found) != tuples:
        raise ValueError(text)
    return tree


def literal_json(text: str) -> str | None:
    """A literal of Python as JSON."""
    try:
        return convert(literal(text), text)
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return None


def convert(node: ast.expr, source: str) -> str:
    """A Python literal in JSON; numbers stay as they are spelled. Raises ValueError for anything else."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return "[" + ", ".join(convert(one, source) for one in node.elts) + "]"
    if isinstance(node, ast.Dict):
        keys = [key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
        if len(keys) == len(node.keys):
            return "{" + ", ".join(f"{quote(k)}: {convert(v, source)}" for k, v in zip(keys, node.values)) + "}"
    segment = ast.get_source_segment(source, node) or ""
    if NUMBER.fullmatch(segment):
        return segment
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return quote(node.value)
    if isinstance(node, ast.Constant) and node.value in (None, True, False) and segment in ("None", "True", "False"):
        return {"None": "null", "True": "true", "False": "false"}[segment]
    raise ValueError(segment)


def may_be_literal(text: str, types: frozenset[str]) -> bool:
    """Is this the beginning of a null, boolean or number that the types allow, with ws around it?"""
    front = text.lstrip(WS)
    bare = front.rstrip(WS)
    words = [word for name, word in (("null", "null"), ("boolean", "true"), ("boolean", "false")) if name in types]
    half = [HALF_NUMBER] * ("number" in types) + [HALF_INTEGER] * ("integer" in types)
    if front == bare:
        return any(word.startswith(bare.lower()) for word in words) or any(shape.fullmatch(bare) for shape in half)
    whole = [NUMBER] * ("number" in types) + [INTEGER] * ("integer" in types)
    return bare.lower() in words or any(shape.fullmatch(bare) for shape in whole)


def may_be_json(text: str) -> bool:
    """Is this the beginning of JSON of any kind? A word, and ws before anything else, have at most 64 bytes."""
    front = text.lstrip(WS)
    if len(text) - len(front) <= 64 and (not front or front[0] in '"[{-0123456789'):
        return True
    return len(text.encode()) <= 64 and may_be_literal(text, frozenset(["null", "boolean"]))
