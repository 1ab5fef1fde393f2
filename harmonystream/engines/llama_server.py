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
from .base import Finished, Output, Prompt, Rendered, Sampling, are_ids, chat_usage, count_of, request_fields
from .http import object_of
from .rendering import RenderingEngine, pictures_of

__all__ = ["LlamaServer", "byte_ids", "markers_of"]

_NAMES = {"max_tokens": "n_predict", "repetition_penalty": "repeat_penalty"}
# Bytes that valid UTF-8 never has. A vocabulary may lack them.
_NEVER = {0xC0, 0xC1, *range(0xF5, 0x100)}


class LlamaServer(RenderingEngine):
    """An engine at llama-server's `url`, such as "http://localhost:8080".

    For a prompt with ids it yields ids. The server sends no id for a token that ends inside a character. These gaps are
    filled with the vocabulary's tokens for single bytes, so that the text is complete. It yields text for a prompt
    without ids, with stop strings, or with a vocabulary that lacks such tokens. The server keeps the format's markers
    in the text.

    render: its URL once more, if it writes the prompts with `/apply-template`. It then takes pictures as base64, and
    answers about them come as text.
    """

    def __init__(
        self,
        url: str,
        *,
        render: str | None = None,
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
        options: dict[str, Any] = {"connect_timeout": connect_timeout, "silence": silence, "retries": retries}
        super().__init__(url, render=render, headers=given, **options)
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

    async def rendered(self, request: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Rendered:
        """The prompt for a request of Chat Completions, written by the model's own template. Raises EngineError.

        A prompt without pictures has ids. One with pictures is text, which has a marker for each of them.
        """
        pictures = [_base64(url) for url in pictures_of(request)]
        marker: Any = await self._picture_marker() if pictures else None
        prompt: Any = (await self._written("/apply-template", request, headers)).get("prompt")
        if not isinstance(prompt, str) or not prompt:
            raise EngineError(f"{self._renderer}: the answer has no prompt: {str(prompt)[:200]}", "protocol")
        if not pictures:
            asked = {"content": prompt, "add_special": True, "parse_special": True}
            return Rendered(self._ids_of(await self._written("/tokenize", asked, headers), "tokens"))
        if prompt.count(marker) != len(pictures):
            raise EngineError(f"{self.url} writes no marker for each picture", "status", 400)
        return Rendered(None, {"multimodal": pictures}, prompt, counted=False)

    async def _picture_marker(self) -> str:
        """What stands for a picture in a prompt. Raises EngineError, with the status 400 if the model takes none: the
        server itself would answer with 500, as if another attempt could help.
        """
        props = await self._get("/props")
        marker, modalities = props.get("media_marker"), props.get("modalities")
        sees = not isinstance(modalities, dict) or modalities.get("vision") is not False
        if not isinstance(marker, str) or not marker or not sees:
            raise EngineError(f"{self.url}: this model takes no pictures", "status", 400)
        return marker

    async def generate(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Output]:
        """Ids or text, then `Finished`. Raises EngineError, also if the stream ends before the generation has."""
        filler = self._filler(prompt) if not sampling.stop else None
        body = _request(prompt, sampling, with_ids=filler is not None)
        evaluated = predicted = 0
        async with aclosing(self._stream("/completion", body, sampling.headers)) as stream:
            async for events in stream:
                for chunk in map(object_of, events):
                    evaluated = count_of(chunk, "tokens_evaluated", evaluated)
                    predicted = count_of(chunk, "tokens_predicted", predicted)
                    item = _text(chunk) if filler is None else filler.ids(chunk, predicted)
                    if item:
                        yield item
                    stopped = filler is not None and filler.stopped
                    if stopped or chunk.get("stop"):
                        reason = "stop" if stopped else normal(_word(chunk, "stop_type"))
                        yield Finished(reason, chat_usage(evaluated, predicted), _word(chunk, "stopping_word"))
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
        sent = chunk.get("tokens")
        if not are_ids(sent):
            raise EngineError(f"the server sent tokens that are not ids: {str(sent)[:200]}", "protocol")
        ids = sent
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


def _base64(url: str) -> str:
    """The bytes of a picture. Raises EngineError for a picture that would have to be fetched."""
    _, comma, data = url.partition(",")
    if not comma or not url.startswith("data:"):
        raise EngineError("this engine takes pictures only as base64, not as URLs", "status", 400)
    return data


def _request(prompt: Prompt, sampling: Sampling, *, with_ids: bool) -> dict[str, Any]:
    features: Mapping[str, Any] = getattr(prompt, "features", None) or {}
    text: Any = prompt.text
    if "multimodal" in features:
        text = {"prompt_string": text, "multimodal_data": features["multimodal"]}
    made: dict[str, Any] = {
        "prompt": text if prompt.ids is None else list(prompt.ids),
        "stream": True,
        "cache_prompt": True,
    }
    made |= {"return_tokens": True} if with_ids else {"preserved_tokens": markers_of(prompt.format)}
    return made | request_fields(sampling, _NAMES)


def _word(chunk: Mapping[str, Any], name: str) -> str | None:
    word = chunk.get(name)
    return word if word and isinstance(word, str) else None


def _text(chunk: Mapping[str, Any]) -> str:
    text = chunk.get("content", "")
    if not isinstance(text, str):
        raise EngineError(f"the server sent content that is not a string: {str(text)[:200]}", "protocol")
    return text
