"""The classes for names on vLLM's command line, such as `harmonystream_hermes_tools`. vLLM is checked before ours are
imported.

If this vLLM is not supported, the name maps to vLLM's own parser of the same format.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

from ..parser_names import names
from .fits import HOST, check_version, fits

__all__: list[str] = []

_STOCK = {
    **{"harmony": ("openai", "openai_gptoss"), "hermes": ("hermes", "qwen3"), "qwen3_coder": ("qwen3_coder", "qwen3")},
    **{"mimo": ("mimo", "mimo"), "deepseek": ("deepseek_v31", "deepseek_v3"), "glm": ("glm45", "glm45")},
    **{"kimi_k2": ("kimi_k2", "kimi_k2"), "kimi_k3": ("kimi_k3", "kimi_k3"), "seed_oss": ("seed_oss", "seed_oss")},
    **{"minimax_m2": ("minimax_m2", "minimax_m2"), "dsml": ("deepseek_v32", "deepseek_v3")},
}
"""vLLM's parsers of calls and of reasoning of a format, for a vLLM that ours do not fit."""

_log = logging.getLogger("vllm.harmonystream")


@cache
def __getattr__(name: str) -> Any:
    stem, _, kind = name.rpartition("_")
    known = names()
    if stem not in known or kind not in ("tools", "reasoning"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    check_version()
    if fits("parsers") and (known[stem] != "harmony" or fits("harmony")):
        try:
            from . import parsers
        except Exception as error:  # a name that no table has
            HOST.gives_up("parsers", repr(error))
        else:
            return parsers.class_of(stem, kind, known[stem])
    return _stock(stem, kind, known[stem])


def _stock(name: str, kind: str, format: str | None) -> Any:
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    if format not in _STOCK:
        raise ImportError(
            f"{name} does not fit {HOST.release}, as the log says, and harmonystream does not know which parser of "
            "vLLM's reads the model: name one of vLLM's own, or install an older vLLM or a newer harmonystream"
        )
    calls, reasoning = _STOCK[format]
    theirs = calls if kind == "tools" else reasoning
    _log.warning("harmonystream: vLLM's own parser %r takes the place of %r", theirs, name)
    if kind == "tools":
        return ToolParserManager.get_tool_parser(theirs)
    return ReasoningParserManager.get_reasoning_parser(theirs)
