"""vLLM's route with tokens in and tokens out, `POST /inference/v1/generate`, and prompts that its renderer writes.

The engine's process runs with `--tokens-only` or `--enable-scale-out`. It decodes no text: the ids are parsed here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

from .._native.core.vocab import Vocab
from ..checks import check_text
from ..errors import EngineError
from ..grammars import Grammar
from .base import Output, Prompt, Rendered, Sampling, request_fields
from .completions import context_of, first_model
from .generated import Generated, chat_logprobs
from .http import taken
from .rendering import RenderingEngine

__all__ = ["VllmTokens"]

_NO_TOKENIZER = "requires a tokenizer"
_GENERATE, _RENDER = "/inference/v1/generate", "/v1/chat/completions/render"


class VllmTokens(RenderingEngine):
    """An engine at vLLM's `url`, such as "http://localhost:8000".

    model: its name on the server. None: the first model that the server lists. render: the URL of a server that writes
    prompts with the model's own template, including pictures: `vllm launch render`, or the engine itself. None: prompts
    are written elsewhere. The other options are those of `Completions`.

    Ids go in and ids come out. The engine does not support stop strings, so `Sampling.stop` raises EngineError.
    """

    gives_logprobs = True

    def __init__(
        self,
        url: str,
        model: str | None = None,
        *,
        render: str | None = None,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        connect_timeout: float = 10.0,
        silence: float | None = 300.0,
        retries: int = 0,
    ) -> None:
        check_text("url", url, none=False)
        bearer = {} if key is None else {"Authorization": f"Bearer {key}"}
        given = {**bearer, **(headers or {})}
        options: dict[str, Any] = {"connect_timeout": connect_timeout, "silence": silence, "retries": retries}
        super().__init__(url.rstrip("/").removesuffix("/v1"), render=render, headers=given, **options)
        self._model = model
        self._constrains = True
        """Does the server constrain its output? With `--tokens-only` it cannot, and answers a request for it with an
        error.
        """

    async def prompt_options(self, given: Collection[str]) -> dict[str, Any]:
        """The options of `render` that are known here: the model's name. The server is asked for it if needed."""
        if {"model", "format", "template"}.intersection(given):
            return {}
        return {"model": await self._name()}

    def form_fields(self, form: Mapping[str, Any]) -> dict[str, Any] | None:
        """The fields of a request whose whole output must have this form, a `response_format` of Chat Completions.

        None if the server does not constrain its output.
        """
        if not self._constrains:
            return None
        schema = {"json": form["json_schema"]["schema"]} if form["type"] == "json_schema" else {"json_object": True}
        return {"structured_outputs": schema}

    def grammar_fields(self, grammar: Grammar, vocab: Vocab | None) -> dict[str, Any] | None:
        """The fields of a request whose whole output must fit this grammar. None if there is no vocabulary, or if the
        server does not constrain its output.
        """
        if vocab is None or not self._constrains:
            return None
        return {"structured_outputs": {"structural_tag": grammar.structural_tag(vocab)}}

    async def rendered(self, request: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Rendered:
        """The prompt for a request of Chat Completions, written by the model's own template. Raises EngineError.

        `tool_choice` is "none" there. A server without parsers refuses other values, and still writes the tools.
        """
        made = {"model": await self._name(), **request}
        if made.get("tools"):
            made["tool_choice"] = "none"
        answer = await self._written(_RENDER, made, headers)
        ids, features = self._ids_of(answer, "token_ids"), answer.get("features")
        if not isinstance(features, (dict, type(None))):
            raise EngineError(f"{self._renderer}: the answer has features of another type", "protocol")
        return Rendered(ids, features)

    async def generate(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Output]:
        """Ids, then `Finished`. Raises EngineError, also if the stream ends before the generation has."""
        async with self.opened(prompt, sampling) as source, aclosing(taken(source)) as pieces:
            async for items in pieces:
                for item in items:
                    yield item

    @asynccontextmanager
    async def opened(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Generated]:
        """The generation for code that waits by itself, see `base.Opened`."""
        body = _request(await self._name(), prompt, sampling)
        vocab = prompt.parser().vocab if sampling.logprobs is not None else None
        try:
            async with (
                self._answer("POST", _GENERATE, body, sampling.headers) as response,
                _Generated(response, vocab, sampling.logprobs or 0) as source,
            ):
                yield source
        except EngineError as error:
            if _NO_TOKENIZER in str(error):
                self._constrains = False
            raise

    async def context_length(self) -> int | None:
        """How many tokens a prompt and its answer may have together, if the server lists this. Raises EngineError."""
        return context_of(await self._get("/v1/models"), self._model)

    async def _name(self) -> str:
        if self._model is None:
            self._model = first_model(await self._get("/v1/models"), self.url)
        return self._model


def _request(model: str, prompt: Prompt, sampling: Sampling) -> dict[str, Any]:
    if prompt.ids is None:
        raise EngineError("this engine takes ids, and the prompt is text: pass the model's vocabulary", "protocol")
    if sampling.stop:
        raise EngineError("this engine knows no stop strings", "protocol")
    wanted = request_fields(sampling, {}) | {"detokenize": False}
    if prompt.stop_ids:
        wanted["stop_token_ids"] = list(prompt.stop_ids)
    if sampling.logprobs is not None:
        wanted["logprobs"] = sampling.logprobs
    made = {"model": model, "token_ids": list(prompt.ids), "sampling_params": wanted, "stream": True}
    made["stream_options"] = {"include_usage": True}
    if (features := getattr(prompt, "features", None)) is not None:
        made["features"] = features
    if "structured_outputs" in wanted:  # the form holds from the first token
        made["reasoning_ended"] = True
    return made


class _Generated(Generated):
    """The chunks of this route, whose log probabilities have ids."""

    def logprobs(self, choice: Mapping[str, Any]) -> Any:
        return chat_logprobs(choice, lambda top: f"token_id:{top.get('token_id')}")
