"""Servers with OpenAI's `POST /v1/completions`: vLLM, SGLang, TensorRT-LLM, and servers that only have text."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from .._native.core.vocab import Vocab
from ..checks import check_mapping, check_text, shown
from ..errors import EngineError, suggestion
from ..grammars import Grammar
from .base import Finished, Output, Prompt, Sampled, Sampling, request_fields
from .http import EventSource, HttpEngine, loads, object_of, taken
from .logprobs import token_logprobs

if TYPE_CHECKING:
    import aiohttp

__all__ = ["SERVERS", "Completions", "Generated", "Server", "context_of", "first_model"]

_OBJECT = b"data: {"
"""The beginning of a piece that is exactly one event, as most pieces are."""
_IDS = 1 << 32
"""All ids are below this, in any vocabulary."""
_SKIP = {"skip_special_tokens": False}
_BY_ID = {"return_tokens_as_token_ids": True}
_MARKERS = {**_SKIP, "spaces_between_special_tokens": False}


def _tag_of_vllm(tag: str) -> dict[str, Any]:
    return {"structured_outputs": {"structural_tag": tag}}


def _tag_of_sglang(tag: str) -> dict[str, Any]:
    return {"response_format": json.loads(tag)}


class Server(NamedTuple):
    """What one kind of server adds to OpenAI's request.

    ids: fields that make the server send token ids; None if it takes and sends only text. text: fields that keep
    markers in text. plain_prompt: fields that stop it from adding tokens to a text prompt. takes_form: does it
    constrain the output with OpenAI's `response_format`? logprobs: fields that it needs beside `logprobs`; None if it
    has no logprobs for ids. tag: makes the fields that constrain the output to an xgrammar structural tag; None if it
    takes none.
    """

    ids: Mapping[str, Any] | None
    text: Mapping[str, Any]
    plain_prompt: Mapping[str, Any]
    takes_form: bool = False
    logprobs: Mapping[str, Any] | None = None
    tag: Callable[[str], dict[str, Any]] | None = None


SERVERS: Mapping[str, Server] = {
    # Versions without return_token_ids send text. These fields keep the markers in it.
    "vllm": Server(
        {"return_token_ids": True, **_MARKERS}, _MARKERS, {"add_special_tokens": False}, True, _BY_ID, _tag_of_vllm
    ),
    # SGLang names alternatives by their text.
    "sglang": Server({"return_token_ids": True, **_SKIP}, _SKIP, {}, True, {}, _tag_of_sglang),
    # TensorRT-LLM refuses unknown fields, and sends ids only if it does not detokenize.
    "tensorrt_llm": Server({"detokenize": False}, _MARKERS, {"add_special_tokens": False}),
    "text": Server(None, {}, {}),
}


class Completions(HttpEngine):
    """An engine at `url` + /v1/completions.

    url: such as "http://localhost:8000".
    model: its name on the server. None: the first model that the server lists.
    server: "vllm", "sglang", "tensorrt_llm", or "text" for any other.
    key: sent as a bearer token.
    retries: how often a request is repeated if it made no connection, or if a busy server refused it.

    Ids go in and out if the prompt has ids and the server supports them. With stop strings, text comes out, because ids
    would include the stop string.
    """

    def __init__(
        self,
        url: str,
        model: str | None = None,
        *,
        server: str = "vllm",
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        connect_timeout: float = 10.0,
        silence: float | None = 300.0,
        retries: int = 0,
    ) -> None:
        if not isinstance(server, str) or server not in SERVERS:
            raise ValueError(f"unknown server {server!r}; {suggestion(server, SERVERS)}")
        if not isinstance(url, str):
            raise TypeError(f"url is a str such as 'http://localhost:8000', not {shown(url)}")
        check_text("model", model)
        check_text("key", key)
        check_mapping("headers", headers)
        bearer = {} if key is None else {"Authorization": f"Bearer {key}"}
        url = url.rstrip("/").removesuffix("/v1")
        given = {**bearer, **(headers or {})}
        super().__init__(url, headers=given, connect_timeout=connect_timeout, silence=silence, retries=retries)
        self._model = model
        self._server = SERVERS[server]

    async def prompt_options(self, given: Collection[str]) -> dict[str, Any]:
        """The options of `render` that are known here: the model's name. The server is asked for it if needed.

        given: the names of the options that the caller has given.
        """
        if {"model", "format", "template"}.intersection(given):
            return {}
        if self._model is None:
            self._model = await self._first_model()
        return {"model": self._model}

    def form_fields(self, form: Mapping[str, Any]) -> dict[str, Any] | None:
        """The fields of a request whose whole output must have this form, a `response_format` of Chat Completions.

        None if the server does not constrain its output.
        """
        return {"response_format": dict(form)} if self._server.takes_form else None

    def grammar_fields(self, grammar: Grammar, vocab: Vocab | None) -> dict[str, Any] | None:
        """The fields of a request whose whole output must fit this grammar.

        None if the server takes no grammar, or if there is no vocabulary to tell which markers are control tokens.
        """
        tag = self._server.tag
        return None if tag is None or vocab is None else tag(grammar.structural_tag(vocab))

    @property
    def gives_logprobs(self) -> bool:
        """Are there log probabilities for `Sampling.logprobs`? Only ids have them: text and requests with `stop` have
        none.
        """
        return self._server.logprobs is not None

    async def generate(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Output]:
        """Ids or text, then `Finished`. Raises EngineError, also if the stream ends before the generation has."""
        async with self.opened(prompt, sampling) as source, aclosing(taken(source)) as pieces:
            async for items in pieces:
                for item in items:
                    yield item

    @asynccontextmanager
    async def opened(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Generated]:
        """The generation for code that waits by itself, see `base.Opened`."""
        if self._model is None:
            self._model = await self._first_model()
        vocab = prompt.parser().vocab if self._sends_logprobs(prompt, sampling) else None
        request = self._request(prompt, sampling)
        async with (
            self._answer("POST", "/v1/completions", request, sampling.headers) as response,
            Generated(response, vocab, sampling.logprobs or 0) as source,
        ):
            yield source

    async def context_length(self) -> int | None:
        """How many tokens a prompt and its answer may have together, if the server lists this. Raises EngineError."""
        return context_of(await self._get("/v1/models"), self._model)

    def _sends_logprobs(self, prompt: Prompt, sampling: Sampling) -> bool:
        asked = sampling.logprobs is not None and self.gives_logprobs
        return asked and prompt.ids is not None and not sampling.stop

    def _request(self, prompt: Prompt, sampling: Sampling) -> dict[str, Any]:
        server = self._server
        with_ids = prompt.ids is not None and server.ids is not None
        made: dict[str, Any] = {
            "model": self._model,
            "prompt": list(prompt.ids) if with_ids and prompt.ids is not None else prompt.text,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if prompt.stop_ids and server.ids is not None:
            made["stop_token_ids"] = list(prompt.stop_ids)
        made.update(server.ids if with_ids and server.ids is not None and not sampling.stop else server.text)
        made.update({} if with_ids else server.plain_prompt)
        if self._sends_logprobs(prompt, sampling):
            made.update({"logprobs": sampling.logprobs, **(server.logprobs or {})})
        return made | request_fields(sampling, {})

    async def _first_model(self) -> str:
        return first_model(await self._get("/v1/models"), self.url)


def first_model(listed: Mapping[str, Any], url: str) -> str:
    """The first model in the answer of `/v1/models`. Raises EngineError if there is none."""
    try:
        return str(listed["data"][0]["id"])
    except (KeyError, IndexError, TypeError):
        raise EngineError(f"{url}/v1/models lists no model: pass model=", "protocol") from None


def context_of(listed: Mapping[str, Any], model: str | None) -> int | None:
    """A model's context in the answer of `/v1/models`. vLLM, SGLang and llama-server list it."""
    models = listed.get("data")
    for one in models if isinstance(models, list) else ():
        if isinstance(one, dict) and model in (None, one.get("id")):
            meta = one.get("meta")
            slot = meta.get("n_ctx") if isinstance(meta, dict) else None
            found = (one.get("max_model_len"), one.get("context_length"), slot)
            return next((count for count in found if type(count) is int and count > 0), None)
    return None


class Generated(EventSource):
    """A generation. `take` returns the items of the server's chunks, and at last `Finished`.

    vocab: for ids with log probabilities, with `most` alternatives. None if there are none.
    """

    def __init__(self, response: aiohttp.ClientResponse, vocab: Vocab | None, most: int) -> None:
        super().__init__(response)
        self._vocab, self._most = vocab, most
        self._as_text: bool | None = None  # does the server send text? None: nothing has arrived
        self._plain_ids = False  # are there ids, and is nothing else needed?
        self._end: Finished | None = None

    def take(self, piece: bytes) -> list[Output]:
        """The items of bytes that arrived together. Raises EngineError. If items came before the error, the next wait
        raises it.

        The whole way from the socket to a token's id is in this function, because each call would add much to its cost.
        """
        alone = self.is_between and piece.startswith(_OBJECT) and piece.endswith(b"\n\n") and piece.count(b"\n") == 2
        items: list[Output] = []
        try:
            for data in (piece[6:],) if alone else self._events(piece):
                try:
                    chunk = loads(data)
                except ValueError:
                    chunk = None
                if type(chunk) is not dict or chunk.get("error"):
                    chunk = object_of(data)  # this raises the exact error
                if (usage := chunk.get("usage")) and self._end is not None:
                    self._end = Finished(self._end.reason, usage, self._end.stop)
                choices = chunk.get("choices")
                if type(choices) is not list:
                    raise EngineError(f"the engine sent a chunk without choices: {chunk!s:.200}", "protocol")
                for choice in choices:
                    if type(choice) is not dict:
                        raise EngineError(f"the engine sent a choice that is not an object: {chunk!s:.200}", "protocol")
                    if choice.get("index"):  # only one choice was requested
                        continue
                    ids: Any = choice.get("token_ids")
                    plain = self._plain_ids and type(ids) is list and set(map(type, ids)) == {int}
                    item = ids if plain and 0 <= min(ids) <= max(ids) < _IDS else self._output(choice)
                    if item:
                        items.append(item)
                    if choice.get("finish_reason") is not None:
                        self._end = _end(choice, usage)
                    break
            if self.ended:
                items.append(self._finished())
        except EngineError as error:
            self.fail(error)
            if not items:
                raise
        return items

    def _finished(self) -> Finished:
        if self._end is None:
            raise EngineError(f"{self.url}: the stream ended before the generation did", "connection")
        return self._end

    def logprobs(self, choice: Mapping[str, Any]) -> Any:
        """The log probabilities of a choice, as `token_logprobs` takes them."""
        return choice.get("logprobs")

    def _output(self, choice: Mapping[str, Any]) -> list[int] | str | Sampled | None:
        """The output that a choice adds: its ids if it has them, unless the stream began with text."""
        ids, text = choice.get("token_ids"), choice.get("text")
        if ids is not None and not self._as_text:
            if not isinstance(ids, list) or (
                ids and (set(map(type, ids)) != {int} or min(ids) < 0 or max(ids) >= _IDS)
            ):
                raise EngineError(f"the engine sent token_ids that are not ids: {str(ids)[:200]}", "protocol")
            if ids:
                self._as_text, self._plain_ids = False, self._vocab is None
            if self._vocab is None or not ids:
                return ids
            return Sampled(ids, token_logprobs(self.logprobs(choice), ids, self._vocab, self._most))
        if text and self._as_text is False:
            raise EngineError("the engine sent ids, and then text without ids", "protocol")
        if text is not None and not isinstance(text, str):
            raise EngineError(f"the engine sent text that is not a string: {str(text)[:200]}", "protocol")
        if text:
            self._as_text = True
        return text


def _end(choice: Mapping[str, Any], usage: Any) -> Finished:
    stop = choice.get("stop_reason", choice.get("matched_stop"))  # the latter is SGLang's name
    return Finished(str(choice["finish_reason"]), usage or None, stop if isinstance(stop, str) else None)
