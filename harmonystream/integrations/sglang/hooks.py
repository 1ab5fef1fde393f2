"""The methods of SGLang's serving classes that we hook, through SGLang's own registry of hooks.

SGLang lets an adapter read an output's ids if a model needs it. A server with our parsers gets such an adapter.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from sglang.srt.plugins.hook_registry import HookRegistry, HookType

from .adapter import Adapter, adapter_for, remember_prompt
from .frames import Frames
from .host import FRAMES, HOST, named

__all__ = ["register_hooks"]

_SERVING = "sglang.srt.entrypoints.openai.serving_chat.OpenAIServingChat"
_RESPONSES = "sglang.srt.entrypoints.openai.serving_responses.OpenAIServingResponses"
_OURS = "_harmonystream"
"""The attribute of a serving object that has its adapter."""
_STREAMS = "_harmonystream_frames"
"""And the one that has what writes its frames, if that has been asked for."""


def _init(stock: Callable[..., None], serving: Any, *args: Any, **more: Any) -> None:
    stock(serving, *args, **more)
    ours = adapter_for(serving)
    setattr(serving, _OURS, ours)
    setattr(
        serving,
        _STREAMS,
        Frames(serving, ours) if ours is not None and FRAMES in named() and HOST.fits("frames") else None,
    )


def _encoding_output(stock: Callable[..., Any], serving: Any) -> Any:
    ours: Adapter | None = getattr(serving, _OURS, None)
    return stock(serving) if ours is None else ours


def _process_messages(stock: Callable[..., Any], serving: Any, request: Any, *args: Any, **more: Any) -> Any:
    processed = stock(serving, request, *args, **more)
    remember_prompt(request, processed)
    ours: Adapter | None = getattr(serving, _OURS, None)
    if ours is not None:
        ours.grammars.constrain_chat(request, processed)
    return processed


async def _handle_streaming_request(
    stock: Callable[..., Awaitable[Any]], serving: Any, adapted_request: Any, request: Any, raw_request: Any
) -> Any:
    frames: Frames | None = getattr(serving, _STREAMS, None)
    if frames is None or not frames.can_write(request):
        return await stock(serving, adapted_request, request, raw_request)
    return await frames.response(adapted_request, request, raw_request)


async def _make_request(
    stock: Callable[..., Awaitable[Any]], serving: Any, request: Any, *args: Any, **more: Any
) -> Any:
    """Responses makes a Chat request of its own, but reads the output with the original one."""
    made = await stock(serving, request, *args, **more)
    remember_prompt(request, made[-1])
    ours: Adapter | None = getattr(serving, _OURS, None)
    if ours is not None:
        ours.grammars.constrain_responses(request, made[-1])
    return made


_HOOKS = {
    f"{_SERVING}.__init__": _init,
    f"{_SERVING}._encoding_output": _encoding_output,
    f"{_SERVING}._process_messages": _process_messages,
    f"{_RESPONSES}._make_request": _make_request,
}
_hooked: set[str] = set()


def register_hooks(*, frames: bool) -> None:
    """SGLang applies the hooks after all plug-ins have run. frames: are our frames requested?"""
    streams = {f"{_SERVING}._handle_streaming_request": _handle_streaming_request} if frames else {}
    for target, hook in {**_HOOKS, **streams}.items():
        if target not in _hooked:
            _hooked.add(target)
            HookRegistry.register(target, hook, HookType.AROUND)
