"""llama.cpp's server. It is used through its own `POST /completion`, because its OpenAI routes have no token ids."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from .._native.core.vocab import Vocab
from ..checks import check_mapping, check_text
from ..errors import EngineError
from ..formats import Format, HeaderFormat, format_of
from ..formats.spellings import spellings_of
from ..grammars import Grammar
from ..reasons import normal
from .base import Finished, Output, Prompt, Sampling, chat_usage, request_fields
from .http import HttpEngine, object_of

__all__ = ["LlamaServer", "byte_ids", "markers_of"]

_NAMES = {"max_tokens": "n_predict", "repetition_penalty": "repeat_penalty"}
# Bytes that valid UTF-8 never has. A vocabulary may lack them.
_NEVER = {0xC0, 0xC1, *range(0xF5, 0x100)}


class LlamaServer(HttpEngine):
    """An engine at llama-server's `url`, such as "http://localhost:8080".

    For a prompt with ids it yields ids. The server sends no id for a token that ends inside a character. These gaps are
    filled with the vocabulary's tokens for single bytes, so that the text is complete. It yields text for a prompt
    without ids, with stop strings, or with a vocabulary that lacks such tokens. The server keeps the format's markers
    in the text.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        connect_timeout: float = 10.0,
        silence: float | None = 300.0,
        retries: int = 0,
    ) -> None:
        check_text("key", key)
        check_mapping("headers", headers)
        bearer = {} if key is None else {"Authorization": f"Bearer {key}"}
        given = {**bearer, **(headers or {})}
        super().__init__(url, headers=given, connect_timeout=connect_timeout, silence=silence, retries=retries)
        self._known: tuple[Vocab, list[int] | None] | None = None  # the vocabulary of the last prompt, and its byte_ids

    def form_fields(self, form: Mapping[str, Any]) -> dict[str, Any] | None:
        """The fields of a request whose whole output must have this form, a `response_format` of Chat Completions."""
        schema = form["json_schema"]["schema"] if form["type"] == "json_schema" else {"type": "object"}
        return {"json_schema": schema}

    def grammar_fields(self, grammar: Grammar, vocab: Vocab | None) -> dict[str, Any] | None:
        """The fields of a request whose whole output must fit this grammar. llama.cpp needs no vocabulary for it.

        Raises `GrammarError` for a schema that its rules cannot express.
        """
        return {"grammar": grammar.gbnf()}  # `preserved_tokens` are sent with every request for text

    async def generate(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Output]:
        """Ids or text, then `Finished`. Raises EngineError, also if the stream ends before the generation has."""
        filler = self._filler(prompt) if not sampling.stop else None
        body = _request(prompt, sampling, with_ids=filler is not None)
        evaluated = predicted = 0
        async with aclosing(self._stream("/completion", body, sampling.headers)) as stream:
            async for events in stream:
                for chunk in map(object_of, events):
                    evaluated = _count(chunk, "tokens_evaluated", evaluated)
                    predicted = _count(chunk, "tokens_predicted", predicted)
                    item = _text(chunk) if filler is None else filler.ids(chunk, predicted)
                    if item:
                        yield item
                    stopped = filler is not None and filler.stopped
                    if stopped or chunk.get("stop"):
                        reason = "stop" if stopped else normal(chunk.get("stop_type"))
                        yield Finished(reason, chat_usage(evaluated, predicted), chunk.get("stopping_word") or None)
                        return
        raise EngineError(f"{self.url}: the stream ended before the generation did", "connection")

    async def context_length(self) -> int | None:
        """How many tokens a prompt and its answer may have together: the size of one slot. Raises EngineError."""
        settings = (await self._get("/props")).get("default_generation_settings")
        count = settings.get("n_ctx") if isinstance(settings, dict) else None
        return count if type(count) is int and count > 0 else None

    def _filler(self, prompt: Prompt) -> Filler | None:
        """The filler for a generation of ids. None if text is used."""
        if prompt.ids is None:
            return None
        vocab = prompt.parser().vocab
        if self._known is None or self._known[0] is not vocab:
            self._known = vocab, byte_ids(vocab)
        bytes_of = self._known[1]
        return None if bytes_of is None else Filler(vocab, bytes_of, frozenset(prompt.stop_ids))


class Filler:
    """Fills the gaps in a generation's ids, and ends it at a stop id."""

    def __init__(self, vocab: Vocab, bytes_of: Sequence[int], stop_ids: frozenset[int]) -> None:
        self._vocab, self._bytes_of, self._stop_ids = vocab, bytes_of, stop_ids
        self._seen = 0  # how many tokens the chunks contain so far
        self.stopped = False

    def ids(self, chunk: Mapping[str, Any], predicted: int) -> list[int]:
        """The ids of a chunk. predicted: the number of tokens up to its end."""
        ids = chunk.get("tokens")
        if not isinstance(ids, list) or not all(type(token) is int and token >= 0 for token in ids):
            raise EngineError(f"the server sent tokens that are not ids: {str(ids)[:200]}", "protocol")
        missing = predicted - self._seen - len(ids)
        self._seen = max(predicted, self._seen)
        if missing > 0 and ids:
            last, text = ids[-1], _text(chunk)
            control = last in self._vocab and self._vocab.is_control(last)
            if control:  # its text may also arrive
                text = text.removesuffix(self._vocab.token_bytes(last).decode())
            ids = [self._bytes_of[byte] for byte in text.encode("utf-8", "replace")] + [last] * control
        for at, token in enumerate(ids):
            if token in self._stop_ids:
                self.stopped = True
                return ids[: at + 1]
        return ids


def byte_ids(vocab: Vocab) -> list[int] | None:
    """The token of each single byte, by the byte's value. None if the vocabulary lacks a byte that text can have."""
    found: dict[int, int] = {}
    for tid in range(len(vocab)):
        if tid in vocab and not vocab.is_control(tid):
            data = vocab.token_bytes(tid)
            if len(data) == 1:
                found.setdefault(data[0], tid)
    if not found.keys() >= set(range(256)) - _NEVER:
        return None
    return [found.get(byte, found[0]) for byte in range(256)]


def markers_of(format: str | Format | HeaderFormat | None) -> list[str]:
    """All spellings of a format's markers. Empty for a prompt without a format."""
    return [] if format is None else spellings_of(format_of(format))


def _request(prompt: Prompt, sampling: Sampling, *, with_ids: bool) -> dict[str, Any]:
    made: dict[str, Any] = {
        "prompt": prompt.text if prompt.ids is None else list(prompt.ids),
        "stream": True,
        "cache_prompt": True,
    }
    made |= {"return_tokens": True} if with_ids else {"preserved_tokens": markers_of(prompt.format)}
    return made | request_fields(sampling, _NAMES)


def _text(chunk: Mapping[str, Any]) -> str:
    text = chunk.get("content", "")
    if not isinstance(text, str):
        raise EngineError(f"the server sent content that is not a string: {str(text)[:200]}", "protocol")
    return text


def _count(chunk: Mapping[str, Any], name: str, before: int) -> int:
    """A running count. Chunks without it leave it unchanged."""
    count = chunk.get(name, before)
    if type(count) is not int or count < 0:
        raise EngineError(f"the server sent {name} that is not a count: {str(count)[:200]}", "protocol")
    return count
