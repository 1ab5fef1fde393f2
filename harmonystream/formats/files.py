"""Rows in files, as `Format.to_dict`, `Format.from_dict` and `--format FILE` read and write them, and the row that a
model's folder describes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from ..errors import FormatError, suggestion
from .models import format_for
from .response_template import row_of_template
from .spec import Format

LARGEST = 64 * 1024  # bytes of a file
CONFIG = "tokenizer_config.json"  # of a model's folder
LARGEST_CONFIG = 16 * 1024 * 1024  # its limit in bytes; it may list all special tokens
Row = TypeVar("Row", bound="Format | None")
# fields with several markers, and their number
_PARTS = {"think": 2, "section": 2, "call": 3, "pair": 4, "element": 3, "value_type": 2, "cdata": 2}
_LISTS = ("stops", "turns", "drop", "answer", "keep")
_SWITCHES = ("wrapped", "control")


def fields_of(row: Format) -> dict[str, Any]:
    """The fields that differ from their defaults, in the form of JSON and TOML: tuples are lists."""
    defaults = Format._field_defaults
    given = row._asdict().items()
    return {name: _as_lists(value) for name, value in given if name == "name" or value != defaults[name]}


def row_of_fields(fields: Mapping[str, Any]) -> Format:
    """The row with these fields. Errors are those of `Format.from_dict`."""
    if not isinstance(fields, Mapping):
        raise FormatError(f"a format is an object with fields, not {type(fields).__name__}")
    if unknown := sorted(set(map(str, fields)) - set(Format._fields)):
        raise FormatError(f"unknown field {unknown[0]!r} of a format; {suggestion(unknown[0], Format._fields)}")
    if "name" not in fields:
        raise FormatError("a format needs the field 'name'")
    return Format(**{name: _field(name, value) for name, value in fields.items()})


def read_format(path: Path) -> Format:
    """The row in a file: TOML if its name ends in `.toml`, else JSON.

    A `tokenizer_config.json` describes it in `response_template`. Raises `FormatError` that names the file.
    """
    if path.name == CONFIG:
        row = _row_of_config(path)
        if row is None:
            raise FormatError(f"{path} has no response_template")
        return row
    return _read(path, LARGEST, row_of_fields)


def row_in(path: Path) -> Format:
    """The row of `read_format`. The same file gives the same object, so that it is compiled only once."""
    try:
        about = path.stat()
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}") from None
    return _row_in(path.absolute(), about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=64)
def _row_in(path: Path, changed: int, size: int) -> Format:
    return read_format(path)


def format_in(folder: Path) -> Format | None:
    """The row that the `response_template` of a model's folder describes. None if there is none.

    Raises `FormatError` if it is not valid, or describes more than a row can express.
    """
    path = folder / CONFIG
    return _row_of_config(path) if path.is_file() else None


def format_of_model(name: str, folder: Path | None = None) -> str | Format:
    """The format of a model, found by its name as in `format_for`, or else by its folder's `response_template`.

    Raises `FormatError` if neither gives a format.
    """
    try:
        return format_for(name)
    except FormatError as error:
        unknown = error
    try:
        row = None if folder is None else format_in(folder)
    except FormatError as error:
        raise FormatError(f"{unknown}. Its response_template is of no help: {error}") from None
    if row is None:
        raise unknown
    return row


def _row_of_config(path: Path) -> Format | None:
    return _read(path, LARGEST_CONFIG, _row_of_template_in)


def _row_of_template_in(config: Any) -> Format | None:
    template = config.get("response_template") if isinstance(config, Mapping) else None
    return None if template is None else row_of_template(template, "template")


def _read(path: Path, largest: int, row_of: Callable[[Any], Row]) -> Row:
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}") from None
    if len(data) > largest:
        raise FormatError(f"{path}: larger than a format can be ({largest:,} bytes)")
    try:
        return row_of(_parsed(data, path.suffix == ".toml"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: {error}") from None


def _parsed(data: bytes, toml: bool) -> Any:
    if not toml:
        return json.loads(data)
    for reader in ("tomllib", "tomli"):
        with suppress(ImportError):
            return import_module(reader).loads(data.decode())
    raise FormatError("a format in TOML needs Python 3.11 or newer, or the package tomli; or write it as JSON")


def _field(name: str, value: Any) -> Any:
    if name in _PARTS:
        if value is None:
            return None
        if not isinstance(value, (list, tuple)) or len(value) != _PARTS[name]:
            raise FormatError(f"{name} is a list of {_PARTS[name]} markers, not {value!r:.80}")
        return tuple(_marker(name, part) for part in value)
    if name in ("quote", "call_id", "attribute"):
        return _marker(name, value)
    if name in _LISTS:
        if not isinstance(value, (list, tuple)):
            raise FormatError(f"{name} is a list of strings, not {value!r:.80}")
        return tuple(_string(name, part) for part in value)
    if name in _SWITCHES:
        if not isinstance(value, bool) and not (name == "wrapped" and value == "read"):
            raise FormatError(f"{name} is true or false, not {value!r:.80}")
        return value
    if name in ("typed", "members"):
        if not isinstance(value, Mapping):
            raise FormatError(f"{name} is an object, not {value!r:.80}")
        return {_string(name, key): _string(name, kind) for key, kind in value.items()}
    return _string(name, value)


def _marker(name: str, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_string(name, spelling) for spelling in value)
    return _string(name, value)


def _string(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise FormatError(f"{name} holds strings, not {value!r:.80}")
    return value


def _as_lists(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_as_lists(part) for part in value]
    return dict(value) if isinstance(value, Mapping) else value
