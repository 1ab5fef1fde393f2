"""What vLLM and SGLang run in each of their processes. It imports the rest when a server asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterable

__all__ = ["FORMATS", "FORMATS_FILES", "NAME", "register_sglang", "register_vllm"]

NAME = "harmonystream"
"""The parser that chooses the format by the model's name; `harmonystream_hermes` and so on name it."""

# The names of harmonystream.formats. A process that asks for no format does not import it. A test compares them.
FORMATS = (
    *("harmony", "hermes", "qwen3_coder", "mimo", "deepseek", "deepseek_search", "dsml", "kimi_k2", "kimi_k3", "glm"),
    *(
        "seed_oss",
        "minimax_m1",
        "minimax_m2",
        "minimax_m3",
        "granite4",
        "exaone4",
        "ling2",
        "reka",
        "ernie45",
        "longcat",
        "jamba",
    ),
    *("hunyuan_a13b", "apriel", "nemotron_v2", "internlm", "hy_v3", "hy_v4", "poolside_v1", "iquest_q1", "k2_horizon"),
    *("dots", "minicpm5", "functionary", "gigachat35", "gigachat3", "step3", "plamo3", "mistral", "llama3", "xlam"),
    *("phi4_mini", "granite3", "granite_20b", "cohere", "apertus", "pythonic", "olmo3", "lfm2", "gemma4"),
    *("functiongemma", "kimi_vl", "think"),
)

FORMATS_FILES = "HARMONYSTREAM_FORMATS"
"""The environment variable with files of further formats (docs/own-format.md), parted as in PATH."""


def register_vllm() -> None:
    """Makes our names known to `--tool-call-parser` and `--reasoning-parser`. Running it again changes nothing."""
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    module = f"{NAME}.integrations.vllm.names"
    known: Iterable[str] = (NAME, *(f"{NAME}_{format}" for format in FORMATS))
    if os.environ.get(FORMATS_FILES):
        from harmonystream.integrations.parser_names import names

        known = names()
    for name in known:
        ToolParserManager.register_lazy_module(name, module, f"{name}_tools")
        ReasoningParserManager.register_lazy_module(name, module, f"{name}_reasoning")


def register_sglang() -> None:
    """Makes our parsers known to SGLang, if SGLANG_PLUGINS names us. Running it again changes nothing.

    SGLang runs the plug-ins of all distributions if SGLANG_PLUGINS is not set. This one wants to be named there,
    because it imports SGLang's parsers.
    """
    named = os.environ.get("SGLANG_PLUGINS", "").split(",")
    if NAME in {name.strip() for name in named}:
        from harmonystream.integrations.sglang.plugin import register

        register()
