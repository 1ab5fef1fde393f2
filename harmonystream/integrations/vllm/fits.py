"""Checks whether our features fit the installed vLLM. Otherwise vLLM's own code is used, and the reason is logged."""

from __future__ import annotations

import logging
from importlib.metadata import version

from ..engine_releases import check_release
from ..host_names import Host
from .table import NAMES

__all__ = ["HOST", "check_version", "fits"]

OLDEST, NEWEST = (0, 32), (0, 33)
"""The first minor release of vLLM with all names of the parsers, and the last that passes `make engines-vllm`."""

_log = logging.getLogger("vllm.harmonystream")
HOST = Host("vLLM", "vllm", NAMES, _log)
fits = HOST.fits


def check_version(found: str | None = None) -> None:
    """Warn about a vLLM that is not one of the tested releases."""
    check_release("vLLM", found or version("vllm"), OLDEST, NEWEST, _log)
