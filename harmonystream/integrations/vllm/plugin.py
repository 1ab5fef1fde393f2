"""What vLLM runs in each of its processes: it registers the names of our parsers, and imports none of them."""

from __future__ import annotations

import logging
from importlib.metadata import version

from ..engine_releases import check_release
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
    check_release("vLLM", found or version("vllm"), OLDEST, NEWEST, _log)
