"""Rows in files, as `--format FILE` reads them, and the row that a model's folder describes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from ..errors import FormatError
from .models import format_for
from .spec import Format

LARGEST = 64 * 1024  # bytes of a file
CONFIG = "tokenizer_config.json"  # of a model's folder
LARGEST_CONFIG = 16 * 1024 * 1024  # its limit in bytes; it may list all special tokens
Row = TypeVar("Row", bound="Format | None")


def read_format(path: Path) -> Format:
    """The row in a file: TOML if its name ends in `.toml`, else JSON.

    A `tokenizer_config.json` describes it in `response_template`. Raises `FormatError` that names the file.
    """
    if path.name == CONFIG:
        row = _row_of_config(path)
        if row is None:
            raise FormatError(f"{path} has no response_template")
        return row
    return _read(path, LARGEST, Format.from_dict)


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
    return None if template is None else Format.from_response_template(template)


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
