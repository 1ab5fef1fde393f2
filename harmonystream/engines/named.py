"""Engines by name, for a command line or a settings file: `vllm=http://localhost:8000`."""

from __future__ import annotations

from ..errors import suggestion
from .base import Engine

__all__ = ["ENGINES", "engine_of", "kind_and_url"]

ENGINES = ("vllm", "vllm-tokens", "sglang", "tensorrt_llm", "completions", "llama-server", "recorded")
"""Kinds of engines. `completions` is any server with /v1/completions that keeps markers in its text."""
_SERVERS = {"vllm": "vllm", "sglang": "sglang", "tensorrt_llm": "tensorrt_llm", "completions": "text"}

_RENDERING = ("vllm", "vllm-tokens", "sglang", "llama-server")


def kind_and_url(given: str) -> tuple[str, str]:
    """The two parts of KIND=URL. A URL alone is used for vLLM, and `recorded` alone is the recording in the package.

    Raises ValueError for anything else.
    """
    kind, equals, url = given.partition("=")
    if "://" in kind:
        return "vllm", given
    if not equals and given != "recorded":
        raise ValueError(f"the engine {given!r} is not KIND=URL or a URL, such as vllm=http://localhost:8000")
    return kind, url


def engine_of(
    kind: str,
    url: str,
    model: str | None = None,
    key: str | None = None,
    silence: float | None = 300.0,
    render: str | None = None,
) -> Engine:
    """An engine. model: its name on the server. key: sent as a bearer token. silence: after how many seconds without
    data it fails. render: the URL of the server that writes its prompts, if there is one.

    Raises ValueError for an unknown kind, for a kind that writes no prompts, and for an invalid URL. Raises ImportError
    for a missing package, and OSError for a recording that cannot be read.
    """
    if kind not in ENGINES:
        raise ValueError(f"unknown engine {kind!r}; {suggestion(kind, ENGINES)}")
    if render is not None and kind not in _RENDERING:
        raise ValueError(f"the engine {kind} has no render: it is for {', '.join(_RENDERING)}")
    if kind == "vllm-tokens":
        from .vllm_tokens import VllmTokens

        return VllmTokens(url, model, render=render, key=key, silence=silence)
    if kind == "recorded":
        from .recorded import Recorded

        return Recorded(url or None)
    if kind == "llama-server":
        from .llama_server import LlamaServer

        return LlamaServer(url, render=render, key=key, silence=silence)
    from .completions import Completions

    return Completions(url, model, server=_SERVERS[kind], render=render, key=key, silence=silence)
