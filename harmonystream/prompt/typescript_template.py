"""Functions as gpt-oss's chat template declares them: TypeScript with other commas and line breaks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import PromptError
from .typescript import MAX_DEPTH, Namespace

__all__ = ["template_tools_text"]

_SIMPLE = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean"}

# The template's own indentation, which its tags leave in the output.
_BREAK, _BLANKS = "\n" + " " * 16, " " * 20


def template_tools_text(namespaces: Sequence[Namespace], exponent: str) -> str:
    """The section `# Tools`. `exponent` is not used, because the template writes numbers as Python does."""
    sections = ["# Tools"]
    for namespace in namespaces:
        functions = []
        for name, description, parameters in namespace.functions:
            given = "" if not parameters or not parameters.get("properties") else _parameters(parameters)
            functions.append(f"// {description}\ntype {name} = ({given}) => any;\n\n")
        body = "".join(functions)
        sections.append(
            f"## {namespace.name}\n\nnamespace {namespace.name} {{\n\n{body}}} // namespace {namespace.name}"
        )
    return "\n\n".join(sections)


def _parameters(schema: Mapping[str, Any]) -> str:
    lines = []
    for name, value in schema["properties"].items():
        fields = value if isinstance(value, Mapping) else {}
        comment = f"// {fields['description']}\n" if fields.get("description") else ""
        optional = "" if name in (schema.get("required") or ()) else "?"
        lines.append(f"{comment}{name}{optional}: {_type(fields, 0)}{_default(fields)},\n")
    return "_: {\n" + "".join(lines) + "}"


def _default(fields: Mapping[str, Any]) -> str:
    if "default" not in fields:
        return ""
    if fields.get("enum"):
        return f", // default: {fields['default']}"
    if fields.get("oneOf"):
        return f"// default: {fields['default']}"
    return ", // default: " + json.dumps(fields["default"], ensure_ascii=False)


def _type(schema: object, depth: int) -> str:
    if depth > MAX_DEPTH:
        raise PromptError(f"a tool's schema nests more than {MAX_DEPTH} deep")
    fields = schema if isinstance(schema, Mapping) else {}
    kind = fields.get("type")
    null = " | null" if fields.get("nullable") else ""
    if kind == "array":
        return _items(fields.get("items"), depth) + "[]" + null
    if isinstance(kind, (list, tuple)) and kind:
        return " | ".join(map(str, kind))
    if fields.get("oneOf"):
        return _union(fields["oneOf"], depth)
    if kind == "string":
        enum = fields.get("enum")
        return '"' + '" | "'.join(map(str, enum)) + '"' if enum else "string" + null
    if kind == "object":
        return _object(fields, depth)
    return _SIMPLE.get(kind, "any") if isinstance(kind, str) else "any"


def _items(items: object, depth: int) -> str:
    if not items:
        return "any"
    kind = items.get("type") if isinstance(items, Mapping) else None
    if isinstance(kind, str) and kind in _SIMPLE:  # whatever other keywords the items have
        return _SIMPLE[kind]
    text = _type(items, depth + 1)
    return "any" if text == "object | object" or len(text) > 50 else text


def _union(variants: Sequence[object], depth: int) -> str:
    parts = []
    for variant in variants:
        fields = variant if isinstance(variant, Mapping) else {}
        comment = f"// {fields['description']}" if fields.get("description") else ""
        default = (
            _BLANKS + "// default: " + json.dumps(fields["default"], ensure_ascii=False) if "default" in fields else ""
        )
        parts.append(_type(variant, depth + 1) + comment + default)
    return " | \n".join(parts)


def _object(fields: Mapping[str, Any], depth: int) -> str:
    properties = fields.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return "object"
    required = fields.get("required") or ()
    members = (
        f"{name}{'' if name in required else '?'}: {_BREAK}{_type(value, depth + 1)}"
        for name, value in properties.items()
    )
    return "{\n" + ", ".join(members) + "}"
