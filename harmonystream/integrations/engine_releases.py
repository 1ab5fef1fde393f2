"""Checks which releases of an engine a plug-in supports."""

from __future__ import annotations

import logging
import re

__all__ = ["check_release"]


def check_release(
    engine: str, found: str, oldest: tuple[int, ...], newest: tuple[int, ...], log: logging.Logger
) -> None:
    """Refuse a release that is older than `oldest`, and warn about one that is newer than `newest`.

    found: the engine's version. oldest, newest: as many numbers of a version as are compared.

    Raises ImportError, which names the release to install.
    """
    tested = _text(oldest) if oldest == newest else f"{_text(oldest)} to {_text(newest)}"
    match = re.match(r"(\d+)" + r"\.(\d+)" * (len(oldest) - 1), found)
    if match is None:  # it was built from source without a version
        log.warning("%s calls itself %s; harmonystream is tested with %s", engine, found, tested)
        return
    release = tuple(map(int, match.groups()))
    if release < oldest:
        raise ImportError(f"harmonystream's parsers need {engine} {_text(oldest)} or newer, and this is {found}")
    if release > newest:
        log.warning("this is %s %s; harmonystream is tested with %s", engine, found, tested)


def _text(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release))
