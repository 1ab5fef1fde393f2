"""Servers with OpenAI's `POST /v1/completions`: vLLM, SGLang, TensorRT-LLM, and servers that only have text."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, NamedTuple

from .._native.core.vocab import Vocab
from ..checks import check_mapping, check_text, shown
from ..errors import EngineError, suggestion
from ..grammars import Grammar
from .base import Output, Prompt, Rendered, Sampling, request_fields
from .generated import Generated
from .http import taken
from .pictures import CHAT, GENERATE, ChatGenerated, SglangGenerated, chat_request, sglang_request
from .rendering import RenderingEngine, pictures_of

__all__ = ["SERVERS", "Completions", "Server", "context_of", "first_model"]

_SKIP = {"skip_special_tokens": False}
_BY_ID = {"return_tokens_as_token_ids": True}
_MARKERS = {**_SKIP, "spaces_between_special_tokens": False}


def _asked_of_vllm(request: Mapping[str, Any]) -> dict[str, Any]:
    """What vLLM's `/tokenize` takes of a request of Chat Completions. It has no field for the effort."""
    made = dict(request)
    if (effort := made.pop("reasoning_effort", None)) is not None:
        made["chat_template_kwargs"] = {"reasoning_effort": effort, **made.get("chat_template_kwargs", {})}
    return made


def _asked_of_sglang(request: Mapping[str, Any]) -> dict[str, Any]:
    """What SGLang's `/tokenize` takes. It opens the turn by itself where a message is to be continued."""
    return {name: value for name, value in request.items() if name != "add_generation_prompt"}


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
    takes none. asked: makes the body for `/tokenize` from a request of Chat Completions; None if the server writes no
    prompts. continues: can it continue an answer about pictures?
    """

    ids: Mapping[str, Any] | None
    text: Mapping[str, Any]
    plain_prompt: Mapping[str, Any]
    takes_form: bool = False
    logprobs: Mapping[str, Any] | None = None
    tag: Callable[[str], dict[str, Any]] | None = None
    asked: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None
    continues: bool = False


SERVERS: Mapping[str, Server] = {
    # Versions without return_token_ids send text. These fields keep the markers in it.
    "vllm": Server(
        {"return_token_ids": True, **_MARKERS},
        _MARKERS,
        {"add_special_tokens": False},
        True,
        _BY_ID,
        _tag_of_vllm,
        _asked_of_vllm,
    ),
    # SGLang names alternatives by their text.
    "sglang": Server({"return_token_ids": True, **_SKIP}, _SKIP, {}, True, {}, _tag_of_sglang, _asked_of_sglang, True),
    # TensorRT-LLM refuses unknown fields, and sends ids only if it does not detokenize.
    "tensorrt_llm": Server({"detokenize": False}, _MARKERS, {"add_special_tokens": False}),
    "text": Server(None, {}, {}),
}


class Completions(RenderingEngine):
    """An engine at `url` + /v1/completions.

    url: such as "http://localhost:8000".
    model: its name on the server. None: the first model that the server lists.
    server: "vllm", "sglang", "tensorrt_llm", or "text" for any other.
    key: sent as a bearer token.
    retries: how often a request is repeated if it made no connection, or if a busy server refused it.
    render: the URL of a vLLM or an SGLang, often `url` itself, whose `/tokenize` writes prompts with the model's own
    template. None: prompts are written elsewhere, and pictures are not possible.

    Ids go in and out if the prompt has ids and the server supports them. With stop strings, text comes out, because ids
    would include the stop string.
    """

    def __init__(
        self,
        url: str,
        model: str | None = None,
        *,
        server: str = "vllm",
        render: str | None = None,
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
        if render is not None and SERVERS[server].asked is None:
            raise ValueError(f"the server {server} writes no prompts: render is for vllm and sglang")
        options: dict[str, Any] = {"connect_timeout": connect_timeout, "silence": silence, "retries": retries}
        super().__init__(url, render=render, headers=given, **options)
        self._model = model
        self._server = SERVERS[server]

    async def prompt_options(self, given: Collection[str]) -> dict[str, Any]:
        """The options of `render` that are known here: the model's name. The server is asked for it if needed.

        given: the names of the options that the caller has given.
        """
        if {"model", "format", "template"}.intersection(given):
            return {}
        return {"model": await self._name()}

    def form_fields(self, form: Mapping[str, Any]) -> dict[str, Any] | None:
        """The fields of a request whose whole output must have this form, a `response_format` of Chat Completions.

        None if the server does not constrain its output.
        """
        return {"response_format": dict(form)} if self._server.takes_form else None

    def grammar_fields(self, grammar: Grammar, vocab: Vocab | None) -> dict[str, Any] | None:
        """The fields of a request whose whole output must fit this grammar.

        None if the server takes no grammar, or without a vocabulary, which shows the markers that are control tokens.
        """
        tag = self._server.tag
        return None if tag is None or vocab is None else tag(grammar.structural_tag(vocab))

    @property
    def gives_logprobs(self) -> bool:
        """Are there log probabilities for `Sampling.logprobs`? Only ids have them: text and requests with `stop` have
        none.
        """
        return self._server.logprobs is not None

    async def rendered(self, request: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Rendered:
        """The prompt for a request of Chat Completions, written by the model's own template. Raises EngineError.

        Its pictures are sent again with the generation, because `/tokenize` returns ids alone.
        """
        asked = self._server.asked
        made = {} if asked is None else {**asked(request), "model": await self._name()}
        ids = self._ids_of(await self._written("/tokenize", made, headers), "tokens")
        pictures = list(pictures_of(request))
        if not pictures:
            return Rendered(ids)
        continues = self._server.continues
        features = {"image_data": pictures} if continues else {"chat": dict(request)}
        return Rendered(ids, features, continues=continues, counted=False)

    async def generate(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Output]:
        """Ids or text, then `Finished`. Raises EngineError, also if the stream ends before the generation has."""
        async with self.opened(prompt, sampling) as source, aclosing(taken(source)) as pieces:
            async for items in pieces:
                for item in items:
                    yield item

    @asynccontextmanager
    async def opened(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Generated]:
        """The generation for code that waits by itself, see `base.Opened`."""
        vocab = prompt.parser().vocab if self._sends_logprobs(prompt, sampling) else None
        features: Mapping[str, Any] = getattr(prompt, "features", None) or {}
        source: type[Generated] = Generated
        name = await self._name()
        if "chat" in features:
            path, source, body = CHAT, ChatGenerated, chat_request(name, features["chat"], prompt, sampling)
        elif "image_data" in features:
            path, source, body = GENERATE, SglangGenerated, sglang_request(features["image_data"], prompt, sampling)
        else:
            path, body = "/v1/completions", self._request(prompt, sampling)
        async with (
            self._answer("POST", path, body, sampling.headers) as response,
            source(response, vocab, sampling.logprobs or 0) as generated,
        ):
            yield generated

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

    async def _name(self) -> str:
        if self._model is None:
            self._model = first_model(await self._get("/v1/models"), self.url)
        return self._model


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
