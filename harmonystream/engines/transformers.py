"""A model of Hugging Face transformers, in the same process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Collection
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..checks import shown
from ..errors import EngineError, FormatError
from ..formats import HeaderFormat, format_of
from ..formats.files import format_of_model
from ..grammars import Grammar, Matcher
from ..vocab import Vocab, from_tokenizers
from .base import Finished, Output, Prompt, Sampling, chat_usage, request_fields

__all__ = ["GrammarLogits", "TransformersEngine"]

_NAMES = {"max_tokens": "max_new_tokens"}
_REFUSED = ("seed", "presence_penalty", "frequency_penalty", "stop")
_SAMPLES = ("temperature", "top_p", "top_k", "min_p")


class TransformersEngine:
    """An engine for a model that `transformers` has loaded. Needs torch and transformers.

    model: an object with `generate(input_ids, streamer=...)`.
    tokenizer: the model's own. It gives the loop the chat template, the vocabulary and the format. Without it, pass
    these to the loop and to `render`, and all prompts must have ids.

    Each generation runs in a thread of its own. The thread passes each token to the event loop, and ends at the next
    token once the caller has left. One model generates for one caller at a time. Other callers wait.
    """

    def __init__(self, model: Any, tokenizer: Any = None) -> None:
        if not callable(getattr(model, "generate", None)):
            raise TypeError(f"model is a model of transformers, which has generate(), not {shown(model)}")
        if isinstance(tokenizer, (str, bytes, int)):
            raise TypeError(f"tokenizer is the model's tokenizer of transformers, or None, not {shown(tokenizer)}")
        self._model = model
        self._tokenizer = tokenizer
        self._turn = threading.Lock()
        self._known: dict[str, Any] | None = None  # what the tokenizer knows

    async def prompt_options(self, given: Collection[str]) -> dict[str, Any]:
        """The options of `render` that the tokenizer knows: its template and special tokens, vocabulary and format.

        given: the names of the options that the caller has given. Raises VocabError unless the tokenizer is one of the
        package tokenizers.
        """
        if self._tokenizer is None or {"template", "vocab"} <= set(given):
            return {}
        if self._known is None:
            self._known = _known_of(self._tokenizer, self._model)
        return dict(self._known)

    def grammar_fields(self, grammar: Grammar, vocab: Vocab | None) -> dict[str, Any] | None:
        """The options of `generate` that keep the whole output of one generation to this grammar.

        They go into `Sampling.extra`. None if there is no vocabulary, or if llguidance is not installed (the extra
        `grammar`). Raises GrammarError as `Matcher` does.
        """
        if vocab is None or find_spec("llguidance") is None:
            return None
        return {"logits_processor": [GrammarLogits(grammar.matcher(vocab))]}

    async def generate(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Output]:
        """Ids one by one, then `Finished`.

        Raises ValueError for options that `generate` of transformers does not have (a seed of its own, penalties by
        presence or frequency, stop strings that are not in the output), and EngineError for its exceptions.
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
            thread.join()  # it has sent its last item, and ends at once
        if stream.error is not None:
            raise EngineError(f"generate() of transformers raised {stream.error!r}") from stream.error
        cut = count >= sampling.max_tokens and last not in prompt.stop_ids
        yield Finished("length" if cut else "stop", chat_usage(len(ids), count))

    def _run(self, ids: list[int], options: dict[str, Any], stream: _Streamer) -> None:
        """In the thread: generate until the end, an error, or until the reader stops."""
        try:
            torch = import_module("torch")  # imported here, so that other engines do not need it

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


class GrammarLogits:
    """A logits processor of transformers that rules out what a grammar does not allow. For one call of `generate`.

    Each row of the batch is an output of its own.
    """

    def __init__(self, start: Matcher) -> None:
        self._start = start
        self._rows: list[Matcher] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        torch = import_module("torch")
        if not self._rows:
            self._rows = [self._start.fork() for _ in range(len(input_ids))]
        else:
            for matcher, token in zip(self._rows, input_ids[:, -1].tolist(), strict=True):
                matcher.take(token)
        bits = torch.frombuffer(bytearray(b"".join(one.allowed() for one in self._rows)), dtype=torch.uint8)
        kept = ((bits.view(len(self._rows), -1, 1) >> torch.arange(8)) & 1).bool().view(len(self._rows), -1)
        allowed = torch.zeros(scores.shape, dtype=torch.bool)
        count = min(kept.shape[1], scores.shape[1])  # models have more logits than tokens
        allowed[:, :count] = kept[:, :count]
        return scores.masked_fill(~allowed.to(scores.device), float("-inf"))


def _known_of(tokenizer: Any, model: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"vocab": from_tokenizers(tokenizer)}
    configured = getattr(getattr(model, "config", None), "_name_or_path", None)
    for name in (getattr(tokenizer, "name_or_path", None), configured):
        if isinstance(name, str) and name:
            with suppress(FormatError):
                folder = Path(name)
                made["format"] = format_of(format_of_model(name, folder if folder.is_dir() else None))
                break
    template = getattr(tokenizer, "chat_template", None)
    if isinstance(template, str) and not isinstance(made.get("format"), HeaderFormat):
        made["template"] = template
        special = getattr(tokenizer, "special_tokens_map", None) or {}
        made["tokens"] = {key: str(token) for key, token in special.items() if not isinstance(token, (list, tuple))}
    return made


class _StoppedError(Exception):
    """Raised if the rest of a generation is not read."""


class _Streamer:
    """The streamer that `generate` calls with the prompt, and then with each token."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.items: asyncio.Queue[int | None] = asyncio.Queue()  # None: the thread has ended
        self.stopped = threading.Event()
        self.error: Exception | None = None
        self._loop = loop
        self._is_prompt = True  # is the next value the prompt?

    def put(self, value: Any) -> None:
        self.check()
        if self._is_prompt:
            self._is_prompt = False
            return
        for token in value.reshape(-1).tolist():
            self.send(int(token))

    def end(self) -> None:
        """`generate` calls this at its end, but the thread reports its end itself."""

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
    if made.get("temperature") == 0:  # transformers refuses 0
        made = {name: value for name, value in made.items() if name not in _SAMPLES} | {"do_sample": False}
    elif any(name in made for name in _SAMPLES):
        made.setdefault("do_sample", True)
    return made
