"""The names by which the command lines of engines ask for our parsers, and the grammars of their calls."""

from __future__ import annotations

from ..formats import formats

__all__ = ["NAME", "STRUCTURAL_TAGS", "XGRAMMAR_TAGS", "names"]

NAME = "harmonystream"
"""The parser that chooses the format by the model's name; `harmonystream_hermes` and so on name it."""

STRUCTURAL_TAGS = {
    "harmony": "harmony",
    "hermes": "hermes",
    "qwen3_coder": "qwen_3_coder",
    "mimo": "mimo",
    "deepseek": "deepseek_v3_1",
    "dsml": "deepseek_v3_2",
    "kimi_k2": "kimi",
    "glm": "glm_4_7",
}
"""Which structural tag of vLLM's writes the calls of a format. No grammar constrains those of other formats."""

XGRAMMAR_TAGS = STRUCTURAL_TAGS | {"hermes": "qwen_3"}
"""The same of xgrammar's, which SGLang and LMDeploy ask."""


def names() -> dict[str, str | None]:
    """The names of parsers, each with its format; None: it goes by the model's name."""
    return {NAME: None} | {f"{NAME}_{format}": format for format in formats()}
