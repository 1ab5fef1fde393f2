"""The function that SGLang runs in each of its processes. It does nothing unless SGLANG_PLUGINS has its name."""

from __future__ import annotations

from importlib.metadata import version

from ..engine_releases import check_release
from .host import FRAMES, HOST, LOG, named

__all__ = ["check_version", "register"]

OLDEST, NEWEST = (0, 5, 23), (0, 5, 23)
"""The first and last release of SGLang with which `make engines-sglang` passes."""


def register() -> None:
    """Register our parsers in SGLang, and hook into its serving classes. Calling it again changes nothing.

    If SGLANG_PLUGINS is not set, SGLang runs the plug-ins of all distributions. This plug-in must be named there,
    because it imports SGLang's parsers.
    """
    if "harmonystream" not in named():
        return
    check_version()
    if not HOST.fits("parsers"):
        _register_stock()
        return
    try:
        from .detectors import register_detectors
        from .hooks import register_hooks
    except Exception as error:  # a name that no table has
        HOST.gives_up("parsers", repr(error))
        _register_stock()
        return
    register_detectors()
    register_hooks(frames=FRAMES in named() and HOST.fits("frames"))


_STOCK = {
    **{"harmony": ("gpt-oss", "gpt-oss"), "hermes": ("qwen25", "qwen3"), "qwen3_coder": ("qwen3_coder", "qwen3")},
    **{"mimo": ("mimo", "mimo"), "deepseek": ("deepseekv31", "deepseek-v3"), "dsml": ("deepseekv32", "deepseek-v3")},
    **{"glm": ("glm45", "glm45"), "kimi_k2": ("kimi_k2", "kimi_k2"), "minimax_m2": ("minimax-m2", "minimax")},
}
"""SGLang's parsers of calls and of reasoning of a format, for an SGLang that ours do not fit."""


def _register_stock() -> None:
    """Map our names to SGLang's own parsers. SGLang then refuses the names of other formats at its start."""
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
    """Warn about an SGLang that is not one of the tested releases."""
    check_release("SGLang", found or version("sglang"), OLDEST, NEWEST, LOG)
