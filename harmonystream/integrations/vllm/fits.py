"""Whether a feature of ours fits the vLLM that is installed. What does not is vLLM's own, and the log says why."""

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
    """Refuses a vLLM that is older than what we have been written for, and warns of a newer one.

    Raises ImportError with what to install.
    """
    check_release("vLLM", found or version("vllm"), OLDEST, NEWEST, _log)
