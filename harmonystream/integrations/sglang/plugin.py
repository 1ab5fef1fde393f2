"""What SGLang runs in each of its processes. Unless SGLANG_PLUGINS names it, it does nothing."""

from __future__ import annotations

from importlib.metadata import version

from ..engine_releases import check_release
from .host import FRAMES, HOST, LOG, named

__all__ = ["check_version", "register"]

OLDEST, NEWEST = (0, 5, 23), (0, 5, 23)
"""The first and last release of SGLang with which `make engines-sglang` passes."""


def register() -> None:
    """Makes our parsers known to SGLang, and hooks into its serving classes. Running it again changes nothing.

    SGLang runs the plug-ins of all distributions if SGLANG_PLUGINS is not set. This one wants to be named there,
    because it imports SGLang's parsers.
    """
    if "harmonystream" not in named():
        return
    check_version()
    if not HOST.fits("parsers"):
        _register_stock()
        return
    from .detectors import register_detectors
    from .hooks import register_hooks

    register_detectors()
    register_hooks(frames=FRAMES in named() and HOST.fits("frames"))


_STOCK = {
    **{"harmony": ("gpt-oss", "gpt-oss"), "hermes": ("qwen25", "qwen3"), "qwen3_coder": ("qwen3_coder", "qwen3")},
    **{"mimo": ("mimo", "mimo"), "deepseek": ("deepseekv31", "deepseek-v3"), "dsml": ("deepseekv32", "deepseek-v3")},
    **{"glm": ("glm45", "glm45"), "kimi_k2": ("kimi_k2", "kimi_k2"), "minimax_m2": ("minimax-m2", "minimax")},
}
"""SGLang's parsers of calls and of reasoning of a format, for an SGLang that ours do not fit."""


def _register_stock() -> None:
    """Makes our names lead to SGLang's own parsers. SGLang refuses the names of other formats at its start."""
    try:
        from sglang.srt.function_call.function_call_parser import FunctionCallParser
        from sglang.srt.parser.reasoning_parser import ReasoningParser

        for format, (calls, reasoning) in _STOCK.items():
            name = f"harmonystream_{format}"
            for known, theirs in (
                (FunctionCallParser.ToolCallParserEnum, calls),
                (ReasoningParser.DetectorMap, reasoning),
            ):
                if theirs in known:
                    known.setdefault(name, known[theirs])
    except (ImportError, AttributeError) as error:
        LOG.warning("harmonystream: SGLang does not know our names: %r", error)


def check_version(found: str | None = None) -> None:
    """Refuses an SGLang that is older than what we have been written for, and warns of a newer one.

    Raises ImportError with what to install.
    """
    check_release("SGLang", found or version("sglang"), OLDEST, NEWEST, LOG)
