"""Finds chat templates: in folders, files, GGUF metadata, or in a text itself."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import PromptError
from .gguf import metadata

__all__ = ["Source", "find"]

_TEMPLATE = "tokenizer.chat_template"
_TOKEN_NAMES = ("bos_token", "eos_token", "pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
_MAX_FILE = 64_000_000


class Source(NamedTuple):
    """Templates by name (`default` has no name of its own), their special tokens, and the folder, if any."""

    templates: dict[str, str]
    tokens: dict[str, str]
    folder: Path | None
    label: str


def find(source: str | os.PathLike[str]) -> Source:
    """Templates from a folder, a file, or the text of a template. Raises `PromptError` if there are none."""
    text = os.fspath(source)
    if "{%" in text or "{{" in text or "\n" in text:
        return Source({"default": text}, {}, None, "(given as text)")
    path = Path(text)
    if path.is_dir():
        found = _folder(path)
    elif not path.is_file():
        raise PromptError(
            f"there is no template at {text}: it is neither a folder nor a file, nor the text of a template"
        )
    elif path.suffix == ".gguf":
        found = _gguf(path)
    elif path.suffix == ".json":
        settings = _json(path)
        found = Source(_templates(settings, path), _tokens(settings), None, path.name)
    else:
        found = Source({"default": _read(path)}, {}, None, path.name)
    if not found.templates:
        raise PromptError(f"{text} has no chat template: pass the model's own with template=")
    return found


def _folder(path: Path) -> Source:
    """In order of precedence: template files, the tokenizer's settings, the processor's settings."""
    settings = _json(path / "tokenizer_config.json")
    more = _json(path / "special_tokens_map.json")
    templates: dict[str, str] = {}
    if (path / "chat_template.jinja").is_file():
        templates["default"] = _read(path / "chat_template.jinja")
    named = path / "additional_chat_templates"
    templates |= {file.stem: _read(file) for file in sorted(named.glob("*.jinja"))} if named.is_dir() else {}
    if not templates:
        templates = _templates(settings, path / "tokenizer_config.json")
    if not templates:
        templates = _templates(_json(path / "chat_template.json"), path / "chat_template.json")
    return Source(templates, _tokens(more) | _tokens(settings), path, path.name)


def _templates(settings: dict[str, Any], path: Path) -> dict[str, str]:
    """`chat_template` in a settings file: one template, or a list of named ones."""
    given = settings.get("chat_template")
    if given is None:
        return {}
    if isinstance(given, str):
        return {"default": given}
    try:
        named = {entry["name"]: entry["template"] for entry in given}
    except (TypeError, KeyError):
        named = {"": None}
    if not all(isinstance(name, str) and isinstance(template, str) for name, template in named.items()):
        raise PromptError(f"{path}: chat_template is neither a string nor a list of names and templates")
    return named


def _tokens(settings: dict[str, Any]) -> dict[str, str]:
    """The special tokens by name. Each is a string, or an object with its `content`."""
    found = {}
    for name in _TOKEN_NAMES:
        value = settings.get(name)
        value = value.get("content") if isinstance(value, dict) else value
        if isinstance(value, str):
            found[name] = value
    return found


def _gguf(path: Path) -> Source:
    entries = metadata(path, lambda key: key.startswith("tokenizer."))
    names = entries.get("tokenizer.ggml.tokens") or []
    tokens = {}
    for name in ("bos", "eos"):
        tid = entries.get(f"tokenizer.ggml.{name}_token_id")
        if isinstance(tid, int) and 0 <= tid < len(names):
            tokens[f"{name}_token"] = names[tid]
    templates = {
        key.removeprefix(_TEMPLATE).removeprefix(".") or "default": value
        for key, value in entries.items()
        if key.startswith(_TEMPLATE) and isinstance(value, str) and not key.endswith(".chat_templates")
    }
    return Source(templates, tokens, None, path.name)


def _read(path: Path) -> str:
    if path.stat().st_size > _MAX_FILE:
        raise PromptError(f"{path} has more than {_MAX_FILE} bytes")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PromptError(f"{path} is not UTF-8: {error}") from error


def _json(path: Path) -> dict[str, Any]:
    """A settings file as a dict; {} if the file does not exist."""
    if not path.is_file():
        return {}
    try:
        settings = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise PromptError(f"{path} is not JSON: {error}") from error
    if not isinstance(settings, dict):
        raise PromptError(f"{path} is not a JSON object")
    return settings
