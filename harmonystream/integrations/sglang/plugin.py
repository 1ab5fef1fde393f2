"""What SGLang runs in each of its processes. Unless SGLANG_PLUGINS names it, it does nothing."""

from __future__ import annotations

import logging
import os
from importlib.metadata import version

from ..engine_releases import check_release

__all__ = ["FRAMES", "check_version", "named", "register"]

OLDEST, NEWEST = (0, 5, 23), (0, 5, 23)
"""The first and last release of SGLang with which `make engines-sglang` passes."""

FRAMES = "harmonystream_frames"
"""What SGLANG_PLUGINS also names if it asks for our frames. It is no entry point, so SGLang passes it over."""

_log = logging.getLogger("sglang.harmonystream")


def register() -> None:
    """Makes our parsers known to SGLang, and hooks into its serving classes. Running it again changes nothing.

    SGLang runs the plug-ins of all distributions if SGLANG_PLUGINS is not set. This one wants to be named there,
    because it imports SGLang's parsers.
    """
    if "harmonystream" not in named():
        return
    check_version()
    from .detectors import register_detectors
    from .hooks import register_hooks

    register_detectors()
    register_hooks()


def named() -> set[str]:
    """What SGLANG_PLUGINS names."""
    return {name.strip() for name in os.environ.get("SGLANG_PLUGINS", "").split(",")}


def check_version(found: str | None = None) -> None:
    """Refuses an SGLang that is older than what we have been written for, and warns of a newer one.

    Raises ImportError with what to install.
    """
    check_release("SGLang", found or version("sglang"), OLDEST, NEWEST, _log)
