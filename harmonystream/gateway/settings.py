"""The gateway's settings: a TOML file of models, keys and limits, checked field by field.

Why not msgspec or pydantic: neither says which key a misspelt one may mean, and msgspec does not list the values that
are allowed, so the errors of either would have to be written again. Most of this module makes keys, tools and engines
of what is read, which would stay, and the extra `gateway` would have one more dependency.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ..engines import Engine, Sampling
from ..engines.named import engine_of
from ..errors import HarmonyStreamError, suggestion
from ..formats import is_file
from ..tools import Tools
from ..tools.files import load_tools
from .generating.model import Model
from .limits import Limits
from .operating.keys import Keys
from .requests.unsupported import Rule, rule_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Settings", "in_settings", "load", "server_tools"]

MOST_BYTES = 1 << 20
MOST_MODELS, MOST_ENGINES, MOST_WORKERS = 256, 64, 256


@dataclass
class Settings:
    """What a file says. models: [] serves a recorded conversation."""

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    keys: Keys | None = None
    origins: list[str] = field(default_factory=list)
    log_contents: bool = False
    unsupported: Rule = "auto"
    hosts: list[str] = field(default_factory=list)
    store: str | None = None
    limits: Limits = field(default_factory=Limits)
    models: list[Model] = field(default_factory=list)
    tables: dict[str, Any] = field(default_factory=dict)
    """What the file says of each model."""


def load(path: str | os.PathLike[str], before: Settings | None = None) -> Settings:
    """The settings of a file. Paths in it are relative to its folder. Raises ValueError, which names the key.

    before: earlier settings of this file. A model whose table has not changed is taken from them.
    """
    file = Path(path)
    try:
        if file.stat().st_size > MOST_BYTES:
            raise ValueError(f"{path} has more than {MOST_BYTES} bytes")
        given = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from None
    try:
        return _settings(_Table("", given), file.parent, before or Settings())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def in_settings(message: str) -> str:
    """The error of a function, which names its parameters (`format=`), as a file of settings has them."""
    return _PARAMETER.sub(r'\1 = "…"', message)


_PARAMETER = re.compile(r"(?<![\w.(])(family|format|template|tokenizer)=(?=[ ,:]|$)")


class _Table:
    """A table of the file. Each key is taken once; `end` refuses what is left."""

    def __init__(self, where: str, given: Mapping[str, Any]) -> None:
        self.where, self._left = where, dict(given)

    def take(self, name: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        if name not in self._left:
            return default
        value = self._left.pop(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            words = " or ".join(_WORDS[one] for one in kinds)
            raise ValueError(f"{self.where}{name} must be {words}")
        return value

    def texts(self, name: str) -> list[str]:
        value: list[str] = self.take(name, list, [])
        if not all(isinstance(one, str) for one in value):
            raise ValueError(f"{self.where}{name} must be a list of strings")
        return value

    def table(self, name: str) -> _Table:
        return _Table(f"{self.where}{name}.", self.take(name, dict, {}))

    def rest(self) -> dict[str, Any]:
        left, self._left = self._left, {}
        return left

    def end(self, known: str) -> None:
        if self._left:
            name = next(iter(self._left))
            raise ValueError(f"{self.where}{name} is unknown; {suggestion(name, known.split(', '))}")


_WORDS = {str: "a string", int: "an integer", float: "a number", list: "a list", dict: "a table", bool: "true or false"}


def _settings(table: _Table, folder: Path, before: Settings) -> Settings:
    made = Settings(table.take("host", str, "127.0.0.1"), table.take("port", int, 8000), table.take("workers", int, 1))
    if not 0 <= made.port <= 65535:
        raise ValueError("port must be 0 to 65535")
    if not 1 <= made.workers <= MOST_WORKERS:
        raise ValueError(f"workers must be 1 to {MOST_WORKERS}")
    made.origins, made.hosts = table.texts("origins"), table.texts("hosts")
    made.store = table.take("store", str)
    made.log_contents = table.take("log_contents", bool, False)
    try:
        made.unsupported = rule_of(table.take("unsupported", str, "auto"))
    except ValueError as error:
        raise ValueError(f"unsupported {error}") from None
    if (keys := table.take("keys", str)) is not None:
        try:
            made.keys = Keys.load(folder / keys)
        except OSError as error:
            raise ValueError(f"keys: {folder / keys}: {error.strerror}") from None
    made.limits = _limits(table.table("limits"))
    models = table.table("models").rest()
    if len(models) > MOST_MODELS:
        raise ValueError(f"models has more than {MOST_MODELS} tables")
    for name, given in models.items():
        if not isinstance(given, dict):
            raise ValueError(f"models.{name} must be a table")
        same = before.tables.get(name) == given
        kept = next((one for one in before.models if same and one.name == name), None)
        made.models.append(kept or _model(name, _Table(f"models.{name}.", given), folder))
    made.tables = models
    table.end("host, port, workers, keys, hosts, origins, store, log_contents, unsupported, limits, models")
    return made


def _limits(table: _Table) -> Limits:
    given = table.rest()
    known = [one.name for one in fields(Limits)]
    for name in given:
        if name not in known:
            raise ValueError(f"limits.{name} is unknown; {suggestion(name, known)}")
    try:
        return Limits(**given)
    except ValueError as error:
        raise ValueError(f"limits.{error}") from None


def _model(name: str, table: _Table, folder: Path) -> Model:
    given = {key: table.take(key, str) for key in ("family", "format", "tokenizer", "template", "reasoning_field")}
    given |= {key: table.take(key, int) for key in ("context", "max_tokens")}
    for key in ("context", "max_tokens"):
        if given[key] is not None and given[key] < 1:
            raise ValueError(f"{table.where}{key} must be 1 or more")
    if given["reasoning_field"] not in (None, "reasoning", "reasoning_content", "both"):
        raise ValueError(f"{table.where}reasoning_field must be reasoning, reasoning_content or both")
    for key in ("tokenizer", "template", *(["format"] if is_file(given["format"]) else [])):
        if given[key] is not None:
            given[key] = str(folder / given[key])
    options = {key: value for key, value in given.items() if value is not None}
    options["aliases"], options["fallback"] = table.texts("aliases"), table.texts("fallback")
    options["sampling"] = _sampling(table.table("sampling"))
    engines = table.take("engines", list, [])
    if not 1 <= len(engines) <= MOST_ENGINES:
        raise ValueError(f"{table.where}engines must have 1 to {MOST_ENGINES} tables")
    made = [_engine(f"{table.where}engines[{at}].", one, folder) for at, one in enumerate(engines)]
    try:
        file = table.take("tools", str)
        options["server_tools"] = server_tools(None if file is None else folder / file, table.texts("mcp"))
    except (ImportError, ValueError) as error:
        raise ValueError(f"{table.where}tools: {error}") from error
    table.end(f"engines, aliases, fallback, sampling, tools, mcp, {', '.join(given)}")
    return Model(name, made, **options)


def server_tools(file: str | os.PathLike[str] | None, mcp: list[str]) -> Tools | None:
    """The tools that run here: of a Python file, or of MCP servers. Raises ValueError or ImportError."""
    if file is not None and mcp:
        raise ValueError("a file of tools takes MCP servers itself: harmonystream.Tools(mcp=…)")
    if file is not None:
        return load_tools(file)
    return Tools(mcp=mcp) if mcp else None


def _sampling(table: _Table) -> dict[str, Any]:
    """How to sample. The names that the package does not know are the engine's own."""
    given = table.rest()
    known = [one.name for one in fields(Sampling)]
    for name, value in given.items():
        if name not in known and (end := suggestion(name, known)).startswith("did"):
            raise ValueError(f"{table.where}{name} is unknown; {end}")
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise ValueError(f"{table.where}{name} must be a number")
    return given


def _engine(where: str, given: Any, folder: Path) -> Engine:
    if not isinstance(given, dict):
        raise ValueError(f"{where.rstrip('.')} must be a table")
    table = _Table(where, given)
    kind, url = table.take("kind", str, "vllm"), table.take("url", str, "")
    model, variable = table.take("model", str), table.take("key_env", str)
    render = table.take("render", str)
    table.end("kind, url, model, key_env, render")
    key = None
    if variable is not None and not (key := os.environ.get(variable)):
        raise ValueError(f"{where}key_env: the environment has no {variable}")
    if kind == "recorded" and url:
        url = str(folder / url)
    try:
        return engine_of(
            kind, url, model, key, None, render
        )  # the gateway's limits hold, and set no timer for each chunk
    except (HarmonyStreamError, ValueError, OSError) as error:
        raise ValueError(f"{where.rstrip('.')}: {error}") from None
