"""What vLLM runs in each of its processes: it registers the names of our parsers, and imports none of them."""

from __future__ import annotations

import logging
import re
from importlib.metadata import version

from ..parser_names import names

__all__ = ["check_version", "register_parsers"]

OLDEST, NEWEST = (0, 33), (0, 33)
"""The first and last minor release of vLLM with which `make engines` passes."""

_log = logging.getLogger("vllm.harmonystream")


def register_parsers() -> None:
    """Makes our names known to `--tool-call-parser` and `--reasoning-parser`. Running it again changes nothing."""
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    module = f"{__package__}.parsers"
    for name in names():
        ToolParserManager.register_lazy_module(name, module, f"{name}_tools")
        ReasoningParserManager.register_lazy_module(name, module, f"{name}_reasoning")


def check_version(found: str | None = None) -> None:
    """Refuses a vLLM that is older than what we have been written for, and warns of a newer one.

    Raises ImportError with what to install.
    """
    found = version("vllm") if found is None else found
    match = re.match(r"(\d+)\.(\d+)", found)
    if match is None:  # built from source without a version
        _log.warning("vLLM calls itself %s; harmonystream is tested with %s", found, _tested())
        return
    release = int(match[1]), int(match[2])
    if release < OLDEST:
        raise ImportError(f"harmonystream's parsers need vLLM {_text(OLDEST)} or newer, and this is {found}")
    if release > NEWEST:
        _log.warning("this is vLLM %s; harmonystream is tested with %s", found, _tested())


def _tested() -> str:
    return _text(OLDEST) if OLDEST == NEWEST else f"{_text(OLDEST)} to {_text(NEWEST)}"


def _text(release: tuple[int, int]) -> str:
    return f"{release[0]}.{release[1]}"
