"""The formats that are built in, by name."""

from __future__ import annotations

from ..errors import FormatError
from .deepseek import DEEPSEEK, DEEPSEEK_SEARCH, DSML
from .harmony import HARMONY
from .json_calls import HERMES
from .kimi import KIMI_K2
from .spec import Format, HeaderFormat
from .think import THINK
from .xml_calls import GLM, MIMO, QWEN3_CODER, SEED_OSS

__all__ = ["Format", "HeaderFormat", "format_of", "formats"]

_ROWS = (HARMONY, HERMES, QWEN3_CODER, MIMO, DEEPSEEK, DEEPSEEK_SEARCH, DSML, KIMI_K2, GLM, SEED_OSS, THINK)
_BY_NAME: dict[str, Format | HeaderFormat] = {row.name: row for row in _ROWS}


def formats() -> tuple[str, ...]:
    """The names that `Parser` takes."""
    return tuple(_BY_NAME)


def format_of(format: str | Format | HeaderFormat) -> Format | HeaderFormat:
    """The format of that name; a `Format` is returned as it is. Raises `FormatError` for an unknown name."""
    if isinstance(format, (Format, HeaderFormat)):
        return format
    try:
        return _BY_NAME[format]
    except (KeyError, TypeError):
        raise FormatError(f"unknown format {format!r}; known: {', '.join(_BY_NAME)}") from None
