"""A model of Hugging Face transformers, in this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from importlib import import_module
from typing import Any

from ..errors import EngineError
from .base import Finished, Output, Prompt, Sampling, chat_usage, request_fields

__all__ = ["TransformersEngine"]

_NAMES = {"max_tokens": "max_new_tokens"}
_REFUSED = ("seed", "presence_penalty", "frequency_penalty", "stop")
_SAMPLES = ("temperature", "top_p", "top_k", "min_p")


class TransformersEngine:
    """An engine over a model that `transformers` has loaded. Needs torch and transformers.

    model: an object with `generate(input_ids, streamer=...)`.
    tokenizer: encodes prompts that come without ids. None: all prompts have ids.

    Each generation runs in a thread of its own. The thread hands each token to the event loop, and ends at the next
    token once the caller has left. One model generates for one caller at a time: further callers wait.
    """

    def __init__(self, model: Any, tokenizer: Any = None) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._turn = threading.Lock()

    async def generate(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Output]:
        """Ids one by one, then `Finished`.

        Raises ValueError for what `generate` of transformers cannot do (a seed of its own, penalties by presence or
        frequency, stop strings that are not in the output), and EngineError for what it raises.
        """
        ids = self._ids_of(prompt)
        options = _options(prompt, sampling)
        stream = _Streamer(asyncio.get_running_loop())
        thread = threading.Thread(target=self._run, args=(ids, options, stream), name="harmonystream-generate")
        thread.start()
        count, last, running = 0, None, True
        try:
            while (token := await stream.items.get()) is not None:
                count, last = count + 1, token
                yield token
            running = False
        finally:
            stream.stopped.set()
            while running:
                running = await stream.items.get() is not None
            thread.join()  # it has said its last word, and ends at once
        if stream.error is not None:
            raise EngineError(f"generate() of transformers raised {stream.error!r}") from stream.error
        cut = count >= sampling.max_tokens and last not in prompt.stop_ids
        yield Finished("length" if cut else "stop", chat_usage(len(ids), count))

    def _run(self, ids: list[int], options: dict[str, Any], stream: _Streamer) -> None:
        """In the thread: generates until the end, an error, or until nobody wants more."""
        try:
            torch = import_module("torch")  # here, so that others need not have it

            while not self._turn.acquire(timeout=0.1):
                stream.check()
            try:
                stream.check()
                tensor = torch.tensor([ids], device=getattr(self._model, "device", None))
                self._model.generate(tensor, attention_mask=torch.ones_like(tensor), streamer=stream, **options)
            finally:
                self._turn.release()
        except _StoppedError:
            pass
        except Exception as error:
            stream.error = error
        finally:
            stream.send(None)

    def _ids_of(self, prompt: Prompt) -> list[int]:
        if prompt.ids is not None:
            return list(prompt.ids)
        if self._tokenizer is None:
            raise ValueError("the prompt has no ids: pass the tokenizer, or render with a vocabulary")
        return list(self._tokenizer.encode(prompt.text, add_special_tokens=False))


class _StoppedError(Exception):
    """Nobody wants the rest of a generation."""


class _Streamer:
    """What `generate` calls with the prompt, and then with each token."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.items: asyncio.Queue[int | None] = asyncio.Queue()  # None: the thread is done
        self.stopped = threading.Event()
        self.error: Exception | None = None
        self._loop = loop
        self._is_prompt = True  # is what comes next the prompt?

    def put(self, value: Any) -> None:
        self.check()
        if self._is_prompt:
            self._is_prompt = False
            return
        for token in value.reshape(-1).tolist():
            self.send(int(token))

    def end(self) -> None:
        """`generate` calls this when it is done; the thread says so by itself."""

    def check(self) -> None:
        if self.stopped.is_set():
            raise _StoppedError

    def send(self, item: int | None) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self.items.put_nowait, item)


def _options(prompt: Prompt, sampling: Sampling) -> dict[str, Any]:
    made = request_fields(sampling, _NAMES)
    refused = [name for name in _REFUSED if name in made and name not in sampling.extra]
    if refused:
        raise ValueError(f"generate() of transformers cannot do this: {', '.join(refused)}; leave it out of Sampling")
    if prompt.stop_ids:
        made.setdefault("eos_token_id", list(prompt.stop_ids))
        made.setdefault("pad_token_id", prompt.stop_ids[0])
    if made.get("temperature") == 0:  # which transformers refuses
        made = {name: value for name, value in made.items() if name not in _SAMPLES} | {"do_sample": False}
    elif any(name in made for name in _SAMPLES):
        made.setdefault("do_sample", True)
    return made
