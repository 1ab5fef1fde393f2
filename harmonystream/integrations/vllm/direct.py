"""Streams whose outputs are read where vLLM's front end makes them, and whose frames are sent from there.

vLLM makes an object of each output and hands it to the task of its request, which wakes up for it. The object goes
through a chain of generators, and then the server writes the frame. A direct stream spares all that: the state that
vLLM keeps of a request makes no object of an output that is not the last one. The output's ids are read at once, and
its frames are sent at once by the same ASGI `send` that the response uses.

The first output, the last one, errors and aborts go the usual way. So does everything while the client reads slower
than the model writes: then vLLM joins the outputs that wait, as it does without this module.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from functools import lru_cache, partial
from inspect import signature
from typing import Any, TypeAlias

__all__ = ["Begin", "Direct", "begin", "is_direct", "note_requests"]

Read: TypeAlias = Callable[[int, Sequence[int], str], bytes]
"""(choice, its next ids, their text) -> their frames. The text is "" unless it was asked for."""

_log = logging.getLogger("vllm.harmonystream")
_REQUEST: ContextVar[Any] = ContextVar("harmonystream_request", default=None)
_TOLD: set[str] = set()
_MIDDLEWARE = ("vllm.", "starlette.middleware.cors", "fastapi.middleware.cors", "prometheus_fastapi_instrumentator.")
_PARAMETERS = ["self", "new_token_ids", "pooling_output", "finish_reason"]


class Direct:
    """One response, between its first output and its last. All is done in the event loop's thread.

    states: vLLM's, one for each choice.
    send: the ASGI function of the response, whose start it has sent.
    context: of the task that the response runs in, for middleware that reads context variables.
    texts: does `read` need the text of an output? Otherwise vLLM makes none from here on.
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
        """What takes the place of the method that makes objects for the queue of a request."""
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
            except Exception as error:  # vLLM's loop, which calls this, serves all requests
                self._error = error
            self._on = False
            return usual([], None, None, None)  # an output of nothing wakes the task of the request

        return make_request_output

    def _sent(self, frames: bytes) -> bool:
        """Has it been sent at once? If it waits for the client, settle() goes on with it."""
        sending = self._send({"type": "http.response.body", "body": frames, "more_body": True})
        try:
            waits_for = self._context.run(sending.send, None)
        except StopIteration:
            return True
        self._rest = _Rest(sending, waits_for, self._context)
        return False

    async def settle(self, *, raises: bool = True) -> None:
        """Sends the rest of what has been begun. The task of the request calls it before it sends anything.

        Raises what has ended the direct stream, such as an error of the parser's.
        """
        rest, self._rest = self._rest, None
        if rest is not None:
            await rest
        if raises and self._error is not None:
            raise self._error

    def resume(self) -> None:
        """The task has sent all that it has: what comes next may be sent directly."""
        self._on = self._error is None and self._queue.output is None

    def close(self) -> None:
        """The stream has ended, or is cancelled."""
        self._on = False
        for state in self._states:
            vars(state).pop("make_request_output", None)
        rest, self._rest = self._rest, None
        if rest is not None:
            rest.close()


class _Rest:
    """A coroutine that one task has begun, for another to await. It keeps the context in which it has begun."""

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
    """Has the operator asked for direct streams?"""
    return os.environ.get("HARMONYSTREAM_FRAMES_DIRECT") == "1"


def note_requests(serving: Any, method: str) -> None:
    """Within this method of a serving object, `begin` knows the request that the route has given to it."""
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
    """What makes a direct stream of the request that is being answered, when its first output is there.

    It is given the output, what reads further ones, and whether that needs their text. It returns None for a request
    that goes the usual way. The log says once that streams are direct, and once for each reason of the server's why
    they are not.
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
                _tell("streams are sent from where the engine's outputs arrive")
                return direct
        except Exception as error:
            reason = f"this vLLM differs from what they are written for: {error!r}"
        if reason:
            _tell(f"streams are sent by the task of each request, because {reason}")
        return None

    return made


def _tell(what: str) -> None:
    if what not in _TOLD:
        _TOLD.add(what)
        _log.info("harmonystream_frames: %s", what)


def _no_direct(app: Any) -> str:
    """Why no stream of this server may be direct."""
    for each in app.user_middleware:
        module = str(getattr(each.cls, "__module__", ""))
        if not module.startswith(_MIDDLEWARE) or hasattr(each.cls, "dispatch"):
            return f"the middleware {module}.{getattr(each.cls, '__name__', each.cls)} may have a task of its own"
    return ""


def _states(processor: Any, result: Any) -> list[Any]:
    """vLLM's states of the request whose first output this is; [] if there is something that only they write."""
    names = processor.external_req_ids.get(result.request_id, ())
    states = [processor.request_states[name] for name in names]
    if result.finished or not states:
        return []
    for state in states:
        alone = state.queue is states[0].queue and state.prompt_token_ids is result.prompt_token_ids
        held = state.streaming_input or state.stream_interval > 1 or state.sampling_mask_chunks
        logprobs = state.logprobs_processor
        said = logprobs.num_logprobs is not None or logprobs.num_prompt_logprobs is not None
        if not alone or held or said or state.output_kind.name != "DELTA":
            return []
        _check_signature(state.__class__)
    return states


@lru_cache
def _check_signature(states: Any) -> None:
    found = [*signature(states.make_request_output).parameters]
    if found[: len(_PARAMETERS)] != _PARAMETERS:
        raise TypeError(f"make_request_output{found}")


def _text_of(state: Any) -> Callable[[bool, bool], str]:
    text: Callable[[bool, bool], str] = state.detokenizer.get_next_output_text
    return text


def _make_no_text(state: Any) -> None:
    """Unless vLLM looks for stop strings in it."""
    from vllm.v1.engine.detokenizer import IncrementalDetokenizer

    made = state.detokenizer
    if not getattr(made, "stop", None):
        state.detokenizer = IncrementalDetokenizer()
        state.detokenizer.token_ids = list(made.output_token_ids)
