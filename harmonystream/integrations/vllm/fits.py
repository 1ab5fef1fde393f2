"""Whether a feature of ours fits the vLLM that is installed. What does not is vLLM's own, and the log says why."""

from __future__ import annotations

import logging
from functools import cache
from importlib.metadata import version

from ..engine_releases import check_release
from ..host_names import differs
from .table import NAMES

__all__ = ["check_version", "fits", "gives_up", "release"]

OLDEST, NEWEST = (0, 33), (0, 33)
"""The first and last minor release of vLLM with which `make engines-vllm` passes."""

_log = logging.getLogger("vllm.harmonystream")


@cache
def fits(feature: str) -> bool:
    """Are all names of a feature in the table there, as they are needed? If not, the log says so, once.

    Raises ImportError for a release that is too old.
    """
    if feature == "parsers":
        check_version()
    problem = differs(NAMES[feature])
    if problem:
        gives_up(feature, problem)
    return not problem


def gives_up(feature: str, why: object) -> None:
    """Says that a feature is vLLM's own from here on."""
    _log.warning("harmonystream: the %s are vLLM's own, because ours do not fit %s: %s", feature, release(), why)


def release() -> str:
    return f"vLLM {version('vllm')}"


def check_version(found: str | None = None) -> None:
    """Refuses a vLLM that is older than what we have been written for, and warns of a newer one.

    Raises ImportError with what to install.
    """
    check_release("vLLM", found or version("vllm"), OLDEST, NEWEST, _log)
