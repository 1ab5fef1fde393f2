"""Checks which releases of an engine a plug-in is tested with."""

from __future__ import annotations

import logging
import re

__all__ = ["check_release"]


def check_release(
    engine: str, found: str, oldest: tuple[int, ...], newest: tuple[int, ...], log: logging.Logger
) -> None:
    """Warn about a release that is not one of those from `oldest` to `newest`. The table of the engine's names decides
    what works with it.

    found: the engine's version. oldest, newest: as many numbers of a version as are compared.
    """
    tested = _text(oldest) if oldest == newest else f"{_text(oldest)} to {_text(newest)}"
    match = re.match(r"(\d+)" + r"\.(\d+)" * (len(oldest) - 1), found)
    if match is None:  # it was built from source without a version
        log.warning("%s calls itself %s; harmonystream is tested with %s", engine, found, tested)
        return
    if not oldest <= tuple(map(int, match.groups())) <= newest:
        log.warning("this is %s %s; harmonystream is tested with %s", engine, found, tested)


def _text(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release))
