"""The built-in formats, by name."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import FormatError, suggestion
from .aliases import ALIASES, UNREAD
from .deepseek import DEEPSEEK, DEEPSEEK_SEARCH, DSML, GIGACHAT35
from .harmony import HARMONY
from .json_calls import (
    APRIEL,
    ERNIE45,
    EXAONE4,
    GRANITE4,
    HERMES,
    HUNYUAN_A13B,
    INTERNLM,
    JAMBA,
    LING2,
    LONGCAT,
    MINIMAX_M1,
    NEMOTRON_V2,
    REKA,
)
from .key_tags import GLM, HY_V3, HY_V4, IQUEST_Q1, K2_HORIZON, POOLSIDE_V1
from .kimi import KIMI_K2, KIMI_K3
from .models import format_for
from .object_calls import FUNCTIONGEMMA, GEMMA4
from .open_calls import (
    APERTUS,
    COHERE,
    GIGACHAT3,
    GRANITE3,
    GRANITE_20B,
    LLAMA3,
    MISTRAL,
    PHI4_MINI,
    XLAM,
)
from .plamo import PLAMO3
from .python_calls import LFM2, OLMO3, PYTHONIC
from .spec import Format, HeaderFormat
from .think import KIMI_VL, THINK
from .xml_calls import DOTS, FUNCTIONARY, MIMO, MINICPM5, MINIMAX_M2, MINIMAX_M3, QWEN3_CODER, SEED_OSS, STEP3

__all__ = ["ALIASES", "Format", "HeaderFormat", "control_markers", "format_of", "is_file", "names"]

_ROWS = (
    *(HARMONY, HERMES, QWEN3_CODER, MIMO, DEEPSEEK, DEEPSEEK_SEARCH, DSML),
    *(KIMI_K2, KIMI_K3, GLM, SEED_OSS, MINIMAX_M2, MINIMAX_M3),
    *(GRANITE4, EXAONE4, LING2, REKA, ERNIE45, LONGCAT, JAMBA, MINIMAX_M1, HUNYUAN_A13B, APRIEL, NEMOTRON_V2, INTERNLM),
    *(HY_V3, HY_V4, POOLSIDE_V1, IQUEST_Q1, K2_HORIZON, DOTS, MINICPM5, FUNCTIONARY, GIGACHAT35, GIGACHAT3),
    *(STEP3, PLAMO3, MISTRAL, LLAMA3, XLAM, PHI4_MINI, GRANITE3, GRANITE_20B, COHERE, APERTUS, PYTHONIC, OLMO3, LFM2),
    *(GEMMA4, FUNCTIONGEMMA, KIMI_VL, THINK),
)
_BY_NAME: dict[str, Format | HeaderFormat] = {row.name: row for row in _ROWS}


def names() -> tuple[str, ...]:
    """The names that `Parser` accepts."""
    return tuple(_BY_NAME)


def is_file(format: object) -> bool:
    """Is this the name of a file with a row, and not of a format?"""
    return isinstance(format, str) and format.endswith((".json", ".toml"))


def format_of(format: str | os.PathLike[str] | Format | HeaderFormat) -> Format | HeaderFormat:
    """The format with this name, or the row in this file. A `Format` is returned unchanged.

    format: the name of a row, of a parser of vLLM, SGLang or Ollama, or of a model, as in `format_for`. A path, or a
    str that ends in `.toml` or `.json`, is a file.

    Raises `FormatError` for an unknown name, for the name of a parser without an equivalent row, and for a file that
    cannot be read. The error has the reason.
    """
    if isinstance(format, (Format, HeaderFormat)):
        return format
    if isinstance(format, os.PathLike) or is_file(format):
        from .files import row_in

        return row_in(Path(format))
    if not isinstance(format, str):
        what = "a format is a name of hs.formats.names(), a row (hs.Format), or a file with one"
        raise FormatError(f"{what}, not {type(format).__name__}")
    if (name := ALIASES.get(format, format)) in _BY_NAME:
        return _BY_NAME[name]
    if format in UNREAD:
        raise FormatError(f"no row reads what the parser {format!r} reads: {UNREAD[format]}")
    try:
        return _BY_NAME[format_for(format)]
    except FormatError as error:
        if "/" in format:
            raise
        end = suggestion(format, [*_BY_NAME, *ALIASES])
        if not end.startswith("did"):  # the aliases would make the list twice as long
            end = f"known: {', '.join(_BY_NAME)}; the name of a file with a row ends in .toml or .json"
        raise FormatError(f"unknown format {format!r}; {end}") from error


def control_markers(format: str | Format | HeaderFormat) -> list[tuple[str, ...]]:
    """The spellings of each marker that a vocabulary should have as a control token."""
    row = format_of(format)
    if isinstance(row, HeaderFormat):
        return [(spelling,) for role, spelling in row.markers.items() if role in row.required]
    wanted: list[tuple[str, ...]] = [(stop,) for stop in row.stops]
    if row.control:
        fields = (
            row.think,
            row.section,
            row.call,
            row.pair,
            row.value_type,
            row.cdata,
            (row.quote, row.call_id, row.attribute),
        )
        markers = [marker for field in fields for marker in field or () if marker]
        wanted += [tuple(filter(None, marker)) if isinstance(marker, tuple) else (marker,) for marker in markers]
    return wanted


def __dir__() -> list[str]:
    return sorted(__all__)
