"""Our parsers in LMDeploy's server. docs/lmdeploy.md explains how to use them.

LMDeploy has no entry points, so `register` must run before its server is made.
"""

from __future__ import annotations

import logging
from importlib.metadata import version

from ..engine_releases import check_release
from ..host_names import Host
from .table import NAMES

__all__ = ["HOST", "check_version", "register"]

OLDEST, NEWEST = (0, 18), (0, 18)
"""The first and last minor release of LMDeploy with which `make engines-lmdeploy` passes."""

_log = logging.getLogger("lmdeploy.harmonystream")
HOST = Host("LMDeploy", "lmdeploy", NAMES, _log)


def register() -> None:
    """Replace LMDeploy's response parsers by ours in this process. Calling it again changes nothing.

    `--tool-call-parser` and `--reasoning-parser` then accept the names `harmonystream`, `harmonystream_hermes` and so
    on, one for each format, and no others. If our parsers do not fit this LMDeploy, the difference is logged, and these
    names lead to LMDeploy's own parsers of the same formats.

    Raises ImportError if LMDeploy is missing.
    """
    check_version()
    if HOST.fits("parsers"):
        try:
            from .parsers import register_parsers
        except Exception as error:  # a name that no table has
            HOST.gives_up("parsers", repr(error))
        else:
            register_parsers()
            return
    _register_stock()


_STOCK = {
    **{"hermes": "qwen3", "qwen3_coder": "qwen3coder", "kimi_k2": "kimi_k2", "glm": "glm47", "llama3": "llama3"},
    **{"harmony": "qwen3"},  # LMDeploy takes its parser of gpt-oss, whatever the name
}
"""LMDeploy's parser of a format's calls, for an LMDeploy that ours do not fit."""


def _register_stock() -> None:
    """Map our names to LMDeploy's own parsers. LMDeploy then refuses the names of other formats at its start."""
    try:
        from lmdeploy.serve.parsers.reasoning_parser import ReasoningParserManager
        from lmdeploy.serve.parsers.tool_parser import ToolParserManager

        for format, calls in _STOCK.items():
            for known, theirs in ((ToolParserManager, calls), (ReasoningParserManager, "default")):
                parser = known.get(theirs)
                if parser is not None:
                    known.register_module(f"harmonystream_{format}", force=True, module=parser)
    except (ImportError, AttributeError, TypeError) as error:
        _log.warning("harmonystream: LMDeploy does not know our names: %r", error)


def check_version(found: str | None = None) -> None:
    """Warn about an LMDeploy that is not one of the tested releases."""
    check_release("LMDeploy", found or version("lmdeploy"), OLDEST, NEWEST, _log)
