"""The names by which the command lines of engines ask for our parsers, and the grammars of their calls."""

from __future__ import annotations

import os

from harmonystream_plugins import FORMATS_FILES, NAME

from ..errors import FormatError
from ..formats import format_of, formats, is_file

__all__ = ["FORMATS_FILES", "NAME", "STRUCTURAL_TAGS", "XGRAMMAR_TAGS", "names"]

STRUCTURAL_TAGS = {
    "harmony": "harmony",
    "hermes": "hermes",
    "qwen3_coder": "qwen_3_coder",
    "mimo": "mimo",
    "deepseek": "deepseek_v3_1",
    "dsml": "deepseek_v3_2",
    "kimi_k2": "kimi",
    "glm": "glm_4_7",
}
"""Which structural tag of vLLM's writes the calls of a format. No grammar constrains those of other formats."""

XGRAMMAR_TAGS = STRUCTURAL_TAGS | {"hermes": "qwen_3"}
"""The same of xgrammar's, which SGLang and LMDeploy ask."""


def names() -> dict[str, str | None]:
    """The names of parsers, each with its format, or the file of one; None: it goes by the model's name.

    Raises FormatError for a file of the environment variable `HARMONYSTREAM_FORMATS` that cannot be used.
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
