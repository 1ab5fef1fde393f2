"""Engines convert a prompt to token ids or text. Each kind of inference server or library has its own adapter."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import EngineError, suggestion
from .base import Engine, Finished, Output, Sampled, Sampling

if TYPE_CHECKING:
    from .completions import Completions
    from .llama_server import LlamaServer
    from .recorded import Recorded
    from .transformers import TransformersEngine
    from .vllm_tokens import VllmTokens

__all__ = [
    "Completions",
    "Engine",
    "EngineError",
    "Finished",
    "LlamaServer",
    "Output",
    "Recorded",
    "Sampled",
    "Sampling",
    "TransformersEngine",
    "VllmTokens",
]

_LATER = {
    "Completions": ".completions",
    "LlamaServer": ".llama_server",
    "Recorded": ".recorded",
    "TransformersEngine": ".transformers",
    "VllmTokens": ".vllm_tokens",
}


def __getattr__(name: str) -> Any:
    """Load an adapter on first use, because each has its own dependencies."""
    if name not in _LATER:
        end = suggestion(name, __all__)
        hint = f"; {end}" if end.startswith("did") else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    value = globals()[name] = getattr(import_module(_LATER[name], __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
