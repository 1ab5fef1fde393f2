"""JSON Schema as the TypeScript that gpt-oss reads: `type get_weather = (_: {...}) => any;`.

The form is that of the reference renderers, including comments and indentation, because the model was trained on it. It
supports `oneOf`, `type` (a name or a list), `enum` of strings, `properties`, `required`, `items`, `nullable`, `title`,
`description`, `examples` and `default`. Anything else in a schema is `any`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import PromptError

__all__ = ["FunctionType", "Namespace", "json_text", "namespace_text", "tools_text", "type_text"]

MAX_DEPTH = 64
"""How deep a schema may nest."""


class FunctionType(NamedTuple):
    """One function as a prompt declares it. `parameters` is a JSON Schema. None means that it takes no arguments."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] | None = None


class Namespace(NamedTuple):
    """Functions under one name: `namespace functions {...}`. A namespace without functions has only a description."""

    name: str
    functions: tuple[FunctionType, ...] = ()
    description: str | None = None


def tools_text(namespaces: Sequence[Namespace], exponent: str) -> str:
    """The section `# Tools`, with the namespaces sorted by name."""
    ordered = sorted(namespaces, key=lambda namespace: namespace.name.encode("utf-8", "surrogatepass"))
    return "\n\n".join(("# Tools", *(namespace_text(namespace, exponent) for namespace in ordered)))


def namespace_text(namespace: Namespace, exponent: str) -> str:
    """One namespace with its functions. `exponent`: the spelling of large exponents, "e" or "e+"."""
    lines = [f"## {namespace.name}\n"]
    comment = "// " if namespace.functions else ""
    lines += [comment + line for line in _lines(namespace.description or "")]
    if namespace.functions:
        lines.append(f"namespace {namespace.name} {{\n")
        for function in namespace.functions:
            lines += ["// " + line for line in _lines(function.description)]
            given = "" if function.parameters is None else f"_: {type_text(function.parameters, exponent)}"
            lines.append(f"type {function.name} = ({given}) => any;\n")
        lines.append(f"}} // namespace {namespace.name}")
    return "\n".join(lines)


def type_text(schema: object, exponent: str = "e", indent: str = "") -> str:
    """The type that a schema describes. Raises `PromptError` if it nests more than 64 deep."""
    if len(indent) > 4 * MAX_DEPTH:
        raise PromptError(f"a tool's schema nests more than {MAX_DEPTH} deep")
    if not isinstance(schema, Mapping):
        return "any"
    if isinstance(one_of := schema.get("oneOf"), (list, tuple)):
        inner = [_variant(variant, exponent, indent, _comments(variant, exponent)) for variant in one_of]
        return "".join(f"\n{indent} | {text}" for text in inner)
    kind = schema.get("type")
    if isinstance(kind, (list, tuple)):
        names = ["number" if name == "integer" else name for name in kind if isinstance(name, str)]
        return " | ".join(names) or "any"
    if kind == "object":
        return _object(schema, exponent, indent)
    if kind == "array":
        return _array(schema, exponent, indent)
    if kind == "string":
        return " | ".join(f'"{value}"' for value in _strings(schema.get("enum"))) or "string"
    return _SCALARS.get(kind, "any") if isinstance(kind, str) else "any"


_SCALARS = {"number": "number", "integer": "number", "boolean": "boolean"}


def _array(schema: Mapping[str, Any], exponent: str, indent: str) -> str:
    """An array. An array of arrays is not indented more than one array, so the depth is counted here."""
    depth = 0
    inner: object = schema
    while isinstance(inner, Mapping) and inner.get("type") == "array" and not isinstance(inner.get("oneOf"), list):
        if "items" not in inner:
            return "Array<any>" + "[]" * depth
        inner = inner["items"]
        depth += 1
        if depth > MAX_DEPTH:
            raise PromptError(f"a tool's schema nests more than {MAX_DEPTH} deep")
    return type_text(inner, exponent, indent) + "[]" * depth


def _object(schema: Mapping[str, Any], exponent: str, indent: str) -> str:
    lines = [f"{indent}// {text}" for text in _text(schema.get("description"))]
    lines.append("{")
    properties = schema.get("properties")
    required = set(_strings(schema.get("required")))
    for name, value in properties.items() if isinstance(properties, Mapping) else ():
        lines += _property(str(name), value, name not in required, exponent, indent)
    return "\n".join((*lines, indent + "}"))


def _property(name: str, schema: object, optional: bool, exponent: str, indent: str) -> Iterator[str]:
    """The lines of one property: its comments, then its type."""
    fields: Mapping[str, Any] = schema if isinstance(schema, Mapping) else {}
    for title in _text(fields.get("title")):
        yield f"{indent}// {title}"
        yield f"{indent}//"
    description = _text(fields.get("description"))
    union = "oneOf" in fields
    if not union:
        yield from (f"{indent}// {text}" for text in description)
    examples = fields.get("examples")
    if isinstance(examples, (list, tuple)) and examples:
        yield f"{indent}// Examples:"
        yield from (f'{indent}// - "{text}"' for text in _strings(examples))
    head = f"{indent}{name}{'?' if optional else ''}:"
    if union and isinstance(fields["oneOf"], (list, tuple)):
        yield from _union(head, fields, description, exponent, indent)
        return
    type_ = _nullable(type_text(schema, exponent, indent + "    "), fields)
    default = "" if union else "".join(f" // {text}" for text in _default(fields, exponent))
    yield f"{head} {type_},{default}"


def _union(head: str, fields: Mapping[str, Any], description: list[str], exponent: str, indent: str) -> Iterator[str]:
    """A property with several types: a line for each, followed by its comments."""
    variants = fields["oneOf"]
    first = variants[0].get("description") if variants and isinstance(variants[0], Mapping) else None
    above = bool(description) and (not isinstance(first, str) or first != description[0])
    if above:
        yield f"{indent}// {description[0]}"
    yield from (f"{indent}// {text}" for text in _default(fields, exponent))
    yield head
    for i, variant in enumerate(variants):
        comments = _comments(variant, exponent, known=description, silent=above and i == 0)
        yield f"{indent} | " + _variant(variant, exponent, indent, comments)
    yield indent + ","


def _variant(variant: object, exponent: str, indent: str, comments: list[str]) -> str:
    fields: Mapping[str, Any] = variant if isinstance(variant, Mapping) else {}
    text = _nullable(type_text(variant, exponent, indent + "   "), fields)
    return text + (" // " + " ".join(comments) if comments else "")


def _comments(variant: object, exponent: str, known: Sequence[str] | None = None, silent: bool = False) -> list[str]:
    """The comment after one member of a union: its default, and its description if it is not written elsewhere."""
    if not isinstance(variant, Mapping):
        return []
    description = [] if silent else [text for text in _text(variant.get("description")) if text not in (known or ())]
    return description + _default(variant, exponent, quoted=None if known is not None else True)


def _nullable(text: str, schema: Mapping[str, Any]) -> str:
    return text + " | null" if schema.get("nullable") is True and "null" not in text else text


def _default(schema: Mapping[str, Any], exponent: str, quoted: bool | None = None) -> list[str]:
    """`default: 10`. Text is quoted, except for an enum's."""
    if "default" not in schema:
        return []
    value = schema["default"]
    if not isinstance(value, str):
        return [f"default: {json_text(value, exponent)}"]
    enum = schema.get("enum")
    if isinstance(enum, (list, tuple)) and enum:
        return [f"default: {json_text(value, exponent) if quoted else value}"]
    return [f'default: "{value}"']


def _text(value: object) -> list[str]:
    return [value] if isinstance(value, str) else []


def _strings(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, (list, tuple)) else []


def _lines(text: str) -> list[str]:
    """The lines of a text. Only "\\n" and "\\r\\n" end a line."""
    *whole, last = text.split("\n")
    return [line.removesuffix("\r") for line in whole] + ([last] if last else [])


# --- JSON ---------------------------------------------------------------------------------------------------------


def json_text(value: object, exponent: str = "e", depth: int = 0) -> str:
    """Compact JSON as Rust's serde_json writes it. It differs from Python's in floats and in very large integers."""
    if depth > MAX_DEPTH:
        raise PromptError(f"a default in a tool's schema nests more than {MAX_DEPTH} deep")
    if isinstance(value, Mapping):
        items = (f"{_quoted(str(key))}:{json_text(item, exponent, depth + 1)}" for key, item in value.items())
        return "{" + ",".join(items) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(json_text(item, exponent, depth + 1) for item in value) + "]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int):
        return str(value) if -(1 << 63) <= value < 1 << 64 else _float_text(_as_float(value), exponent)
    if isinstance(value, float):
        return _float_text(value, exponent)
    return _quoted(str(value))


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        raise PromptError("a default in a tool's schema is an integer of more than 308 digits") from None


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _float_text(value: float, exponent: str) -> str:
    """The shortest decimal that reads back as the float: plain from 0.00001 to 10**16, else with an exponent."""
    if value != value or value in (float("inf"), float("-inf")):
        return "null"
    mantissa, _, power = f"{value!r}e0".partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.removeprefix("-").partition(".")
    shift = int(power.removesuffix("e0")) + len(whole)  # the position of the point, counted in all digits
    digits = whole + fraction
    stripped = digits.lstrip("0")
    shift -= len(digits) - len(stripped)
    digits = stripped.rstrip("0")
    if not digits:
        return sign + "0.0"
    if 0 < shift <= 16:
        return f"{sign}{digits[:shift].ljust(shift, '0')}.{digits[shift:] or '0'}"
    if -5 < shift <= 0:
        return f"{sign}0.{'0' * -shift}{digits}"
    mark = exponent if shift > 0 else "e"
    return f"{sign}{digits[0]}{'.' + digits[1:] if digits[1:] else ''}{mark}{shift - 1}"
