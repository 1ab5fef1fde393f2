"""The names of our parsers on the command lines of engines."""

from __future__ import annotations

import os

from harmonystream_plugins import FORMATS_FILES, NAME

from ..errors import FormatError
from ..formats import format_of, is_file
from ..formats import names as formats

__all__ = ["FORMATS_FILES", "NAME", "names"]


def names() -> dict[str, str | None]:
    """The names of parsers, each with its format, or a format's file. None: the format is found by the model's name.

    Raises FormatError for an unusable file in the environment variable `HARMONYSTREAM_FORMATS`.
    """
    known: dict[str, str | None] = {NAME: None} | {f"{NAME}_{format}": format for format in formats()}
    for file in filter(None, os.environ.get(FORMATS_FILES, "").split(os.pathsep)):
        if not is_file(file):
            raise FormatError(f"{FORMATS_FILES} names {file!r}, which is not a .toml or .json file of a format")
        try:
            name = f"{NAME}_{format_of(file).name}"
        except FormatError as error:
            raise FormatError(f"{FORMATS_FILES}: {error}") from None
        if known.setdefault(name, file) != file:
            raise FormatError(
                f"{FORMATS_FILES}: {file} has the name of another format, {name.removeprefix(NAME + '_')!r}"
            )
    return known
