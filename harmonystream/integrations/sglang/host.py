"""What this process's SGLang asks for, and which of our features fit it."""

from __future__ import annotations

import logging
import os

from ..host_names import Host
from .table import NAMES

__all__ = ["FRAMES", "HOST", "LOG", "named"]

FRAMES = "harmonystream_frames"
"""What SGLANG_PLUGINS also names if it asks for our frames. It is no entry point, so SGLang passes it over."""

LOG = logging.getLogger("sglang.harmonystream")
HOST = Host("SGLang", "sglang", NAMES, LOG)


def named() -> set[str]:
    """The names in SGLANG_PLUGINS."""
    return {name.strip() for name in os.environ.get("SGLANG_PLUGINS", "").split(",")}
