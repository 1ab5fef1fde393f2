"""What SGLang runs in each of its processes. Unless SGLANG_PLUGINS names it, it does nothing."""

from __future__ import annotations

import logging
import os
import re
from importlib.metadata import version

__all__ = ["check_version", "register"]

OLDEST, NEWEST = (0, 5, 23), (0, 5, 23)
"""The first and last release of SGLang with which `make engines-sglang` passes."""

_log = logging.getLogger("sglang.harmonystream")


def register() -> None:
    """Makes our parsers known to SGLang, and hooks into its serving classes. Running it again changes nothing.

    SGLang runs the plug-ins of all distributions if SGLANG_PLUGINS is not set. This one wants to be named there,
    because it imports SGLang's parsers.
    """
    if "harmonystream" not in (name.strip() for name in os.environ.get("SGLANG_PLUGINS", "").split(",")):
        return
    check_version()
    from .detectors import register_detectors
    from .hooks import register_hooks

    register_detectors()
    register_hooks()


def check_version(found: str | None = None) -> None:
    """Refuses an SGLang that is older than what we have been written for, and warns of a newer one.

    Raises ImportError with what to install.
    """
    found = version("sglang") if found is None else found
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", found)
    if match is None:  # built from source without a version
        _log.warning("SGLang calls itself %s; harmonystream is tested with %s", found, _text(NEWEST))
        return
    release = int(match[1]), int(match[2]), int(match[3])
    if release < OLDEST:
        raise ImportError(f"harmonystream's parsers need SGLang {_text(OLDEST)} or newer, and this is {found}")
    if release > NEWEST:
        _log.warning("this is SGLang %s; harmonystream is tested with %s", found, _text(NEWEST))


def _text(release: tuple[int, int, int]) -> str:
    return ".".join(map(str, release))
