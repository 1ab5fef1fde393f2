"""Streams whose outputs are read in vLLM's front end, and whose frames are sent from there.

Usually, vLLM makes an object of each output and passes it to the task of its request, which wakes up. The object then
goes through a chain of generators, and at last the server writes the frame. A direct stream avoids all of this: vLLM's
state of a request makes objects only of the last output. The ids of all other outputs are read at once, and their
frames are sent at once with the ASGI `send` of the response.

The first output, the last one, errors and aborts go the usual way. So does everything while the client reads more
slowly than the model writes. Then vLLM joins the waiting outputs, as it does without this module.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from functools import partial
from typing import Any, TypeAlias

from .fits import fits

__all__ = ["Begin", "Direct", "begin", "is_direct", "note_requests"]

Read: TypeAlias = Callable[[int, Sequence[int], str], bytes]
"""(choice, its next ids, their text) -> their frames. The text is "" unless it was asked for."""

_log = logging.getLogger("vllm.harmonystream")
_REQUEST: ContextVar[Any] = ContextVar("harmonystream_request", default=None)
_LOGGED: set[str] = set()
_MIDDLEWARE = ("vllm.", "starlette.middleware.cors", "fastapi.middleware.cors", "prometheus_fastapi_instrumentator.")


class Direct:
    """One response, between its first output and its last. All of it runs in the event loop's thread.

    states: vLLM's, one for each choice.
    send: the ASGI function of the response, after the response has started.
    context: that of the response's task, for middleware that reads context variables.
    texts: does `read` need the text of an output? Otherwise vLLM makes no text from now on.
    """

    def __init__(
        self, states: Sequence[Any], read: Read, send: Callable[[Any], Any], context: Context, *, texts: bool
    ) -> None:
        self._states, self._queue = states, states[0].queue
        self._read, self._send, self._context = read, send, context
        self._on = False
        self._rest: _Rest | None = None
        self._error: Exception | None = None
        for state in states:
            if not texts:
                _make_no_text(state)
            state.make_request_output = self._taking(state, _text_of(state) if texts else None)

    def _taking(self, state: Any, text_of: Callable[[bool, bool], str] | None) -> Callable[..., Any]:
        """The replacement for the method that makes objects for a request's queue."""
        usual, index, read, sent = state.make_request_output, state.request_index, self._read, self._sent

        def make_request_output(
            new_token_ids: Any, pooling_output: Any, finish_reason: Any, *args: Any, **more: Any
        ) -> Any:
            if not self._on or finish_reason is not None or pooling_output is not None:
                self._on = False
                return usual(new_token_ids, pooling_output, finish_reason, *args, **more)
            try:
                frames = read(index, new_token_ids, "" if text_of is None else text_of(False, True))
                if not frames or sent(frames):
                    return None
            except Exception as error:  # vLLM's loop calls this, and it serves all requests
                self._error = error
            self._on = False
            return usual([], None, None, None)  # an empty output wakes the task of the request

        return make_request_output

    def _sent(self, frames: bytes) -> bool:
        """Have all frames been sent at once? If sending waits for the client, settle() finishes it."""
        sending = self._send({"type": "http.response.body", "body": frames, "more_body": True})
        try:
            waits_for = self._context.run(sending.send, None)
        except StopIteration:
            return True
        self._rest = _Rest(sending, waits_for, self._context)
        return False

    async def settle(self, *, raises: bool = True) -> None:
        """Finish sending what has been started. The request's task calls this before it sends anything.

        Raises the exception that has ended the direct stream, such as the parser's.
        """
        rest, self._rest = self._rest, None
        if rest is not None:
            await rest
        if raises and self._error is not None:
            raise self._error

    def resume(self) -> None:
        """The task has sent all of its frames, so the next output may be sent directly."""
        self._on = self._error is None and self._queue.output is None

    def close(self) -> None:
        """Called when the stream has ended, or is cancelled."""
        self._on = False
        for state in self._states:
            vars(state).pop("make_request_output", None)
        rest, self._rest = self._rest, None
        if rest is not None:
            rest.close()


class _Rest:
    """A coroutine that was started by one task and is awaited by another. It keeps the context in which it
    was started.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, Any], waits_for: Any, context: Context) -> None:
        self._coroutine, self._waits_for, self._context = coroutine, waits_for, context

    def __await__(self) -> Generator[Any, Any, None]:
        waits_for = self._waits_for
        while True:
            try:
                step = partial(self._coroutine.send, (yield waits_for))
            except BaseException as error:
                step = partial(self._coroutine.throw, error)
            try:
                waits_for = self._context.run(step)
            except StopIteration:
                return

    def close(self) -> None:
        self._context.run(self._coroutine.close)


def is_direct() -> bool:
    """Has the operator asked for direct streams, and does vLLM fit them?"""
    return os.environ.get("HARMONYSTREAM_FRAMES_DIRECT") == "1" and fits("direct streams")


def note_requests(serving: Any, method: str) -> None:
    """In this method of a serving object, let `begin` find the request that the route has passed to it."""
    usual = getattr(serving, method)

    async def noting(request: Any, raw_request: Any = None, *args: Any, **more: Any) -> Any:
        with _noted(raw_request):
            return await usual(request, raw_request, *args, **more)

    setattr(serving, method, noting)


@contextmanager
def _noted(request: Any) -> Iterator[None]:
    token = _REQUEST.set(request)
    try:
        yield
    finally:
        _REQUEST.reset(token)


Begin: TypeAlias = "Callable[[Any, Read, bool], Direct | None]"


def begin(serving: Any) -> Begin:
    """A function that makes a direct stream of the current request, once it has its first output.

    Its arguments are the output, a function that reads further outputs, and whether that function needs their text. It
    returns None for a request that goes the usual way. It is logged once that streams are direct, and also once for
    each reason of the server why they are not.
    """
    request = _REQUEST.get()
    context = copy_context()
    if request is None:
        return lambda result, read, texts: None

    def made(result: Any, read: Read, texts: bool) -> Direct | None:
        try:
            reason = _no_direct(request.app)
            states = [] if reason else _states(serving.engine_client.output_processor, result)
            if states:
                direct = Direct(states, read, request._send, context, texts=texts)
                _log_once("streams are sent from where the engine's outputs arrive")
                return direct
        except Exception as error:
            reason = f"this vLLM differs from what they are written for: {error!r}"
        if reason:
            _log_once(f"streams are sent by the task of each request, because {reason}")
        return None

    return made


def _log_once(what: str) -> None:
    if what not in _LOGGED:
        _LOGGED.add(what)
        _log.info("harmonystream_frames: %s", what)


def _no_direct(app: Any) -> str:
    """The reason why no stream of this server can be direct."""
    for each in app.user_middleware:
        module = str(getattr(each.cls, "__module__", ""))
        if not module.startswith(_MIDDLEWARE) or hasattr(each.cls, "dispatch"):
            return f"the middleware {module}.{getattr(each.cls, '__name__', each.cls)} may have a task of its own"
    return ""


def _states(processor: Any, result: Any) -> list[Any]:
    """vLLM's states of the request with this first output. [] if only vLLM can write a part of the answer."""
    names = processor.external_req_ids.get(result.request_id, ())
    states = [processor.request_states[name] for name in names]
    if result.finished or not states:
        return []
    for state in states:
        alone = state.queue is states[0].queue and state.prompt_token_ids is result.prompt_token_ids
        held = state.streaming_input or state.stream_interval > 1 or state.sampling_mask_chunks
        logprobs = state.logprobs_processor
        logged = logprobs.num_logprobs is not None or logprobs.num_prompt_logprobs is not None
        if not alone or held or logged or state.output_kind.name != "DELTA":
            return []
    return states


def _text_of(state: Any) -> Callable[[bool, bool], str]:
    text: Callable[[bool, bool], str] = state.detokenizer.get_next_output_text
    return text


def _make_no_text(state: Any) -> None:
    """Make vLLM produce no text, unless it looks for stop strings in it."""
    from vllm.v1.engine.detokenizer import IncrementalDetokenizer

    made = state.detokenizer
    if not getattr(made, "stop", None):
        state.detokenizer = IncrementalDetokenizer()
        state.detokenizer.token_ids = list(made.output_token_ids)
