"""A model of the gateway: its engines, how its prompts are written, and what a request may ask of it."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal
from weakref import WeakValueDictionary

from ..._native.core.vocab import Vocab
from ..._native.stream.parser import Parser
from ...agent.support import supports_tools
from ...checks import check_mapping, check_names, check_number, check_text, shown
from ...engines import Engine, Sampling
from ...engines.base import Rendered, check_generate
from ...errors import EngineError, HarmonyStreamError, PromptError, VocabError
from ...formats import Format, HeaderFormat, format_of
from ...formats.files import format_of_model
from ...prompt import Prompt, Template, render
from ...prompt.dropping import Looked
from ...prompt.families import family_of
from ...prompt.template import reads_tools
from ...prompt.tool_definitions import chat_tools
from ...tools import Tools
from ...vocab import from_tokenizers, o200k_harmony
from ..limits import Limits
from ..refused import Refused, is_engines_fault
from ..requests.request import ApiRequest
from .engine_prompts import EnginePrompt, Spellings, chat_request
from .pool import Pool

__all__ = ["Model", "Served"]

_SWITCHES = frozenset({"enable_thinking", "thinking", "thinking_budget"})
_OWN = frozenset({"tools", "model", "format", "template", "vocab", "date", "dialect", "training", "continue_final"})
"""Keywords of `render` that a request's `chat_template_kwargs` may not set."""
_EFFORTS = {"minimal": "low", "xhigh": "high", "max": "high"}
"""Efforts that gpt-oss does not have, and the nearest ones that it has."""
_ASKS, _PATIENCE = 10.0, 2.0
"""The seconds between requests for the context, and how long an engine may take to answer one."""
_LONGEST = 500
"""How many characters of an error about a conversation are shown, because it may quote the conversation."""
_MESSAGE = re.compile(r"^message (\d+)")
_UNKNOWN = 4096
"""The most tokens of an answer if neither the request nor the settings have a limit, and no context is known."""
_HELLO = "Hello."
"""A message that every model takes."""
log = logging.getLogger("harmonystream.gateway")
_SAMPLING = frozenset(one.name for one in fields(Sampling)) - {"max_tokens", "stop", "logprobs", "extra", "headers"}


@dataclass(frozen=True)
class Model:
    """A model under a name.

    name: the name in requests. engines: one engine, or several that serve the same model. family: a name with a known
    format, such as "openai/gpt-oss-20b". By default it is the model's own name. format: replaces the family, as in
    `render`.
    tokenizer: the model's folder, with its tokenizer.json and chat template. template: another chat template.
    context: the most tokens of prompt and answer together. None: the engines' limit. max_tokens: the most tokens of an
    answer, for requests without a limit. None: what the context leaves. sampling: defaults for requests.
    reasoning_field: Chat's field for reasoning.
    tools: offered if a request has none. server_tools: tools that run here. A request's own tools are offered beside
    them.
    aliases: more names. fallback: names of other models, which are tried in this order if no engine of this one
    answers.
    """

    name: str
    engines: Engine | Sequence[Engine]
    family: str | None = None
    format: str | Format | HeaderFormat | None = None
    tokenizer: str | os.PathLike[str] | None = None
    template: str | os.PathLike[str] | Template | None = None
    context: int | None = None
    max_tokens: int | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    reasoning_field: Literal["reasoning", "reasoning_content", "both"] = "reasoning"
    tools: Sequence[Any] = ()
    server_tools: Tools | None = None
    aliases: Sequence[str] = ()
    fallback: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_text("name", self.name, none=False)
        if not self.name.strip():
            raise ValueError(f"the name of a model is what requests call it, and not {self.name!r}")
        of = f" of the model {self.name}"
        engines: Any = self.engines
        for one in engines if isinstance(engines, Sequence) and not isinstance(engines, str) else [engines]:
            if not callable(getattr(one, "generate", None)):
                raise TypeError(f"engines{of} are engines, such as hs.engines.Completions(url), not {shown(one)}")
            check_generate(one)
        check_text("family" + of, self.family)
        for name in ("context", "max_tokens"):
            check_number(name + of, getattr(self, name), least=1, whole=True, none=True)
        check_mapping("sampling" + of, self.sampling, none=False)
        if self.reasoning_field not in ("reasoning", "reasoning_content", "both"):
            raise ValueError(
                f"reasoning_field{of} is 'reasoning', 'reasoning_content' or 'both', not {shown(self.reasoning_field)}"
            )
        for name in ("aliases", "fallback"):
            check_names(name + of, getattr(self, name))
        if not isinstance(self.server_tools, (Tools, type(None))):
            raise TypeError(f"server_tools{of} is a Tools, such as hs.Tools(function), not {shown(self.server_tools)}")
        try:
            chat_tools(self.tools)
        except PromptError as error:
            raise ValueError(f"tools{of}: {error}") from None


Failed = Callable[[str, str, EngineError], None]


class Served:
    """A model that is ready for requests. Raises `HarmonyStreamError` or ValueError if it cannot be served.

    failed: called with the model's name, the engine's and the error, for each attempt of an engine that fails.
    """

    def __init__(self, model: Model, limits: Limits | None = None, failed: Failed = lambda *_: None) -> None:
        self.model = model
        self.name = model.name
        folder = None if model.tokenizer is None else Path(model.tokenizer)
        row = model.format if model.format is not None else format_of_model(model.family or model.name, folder)
        self.row: Format | HeaderFormat = format_of(row)
        self.engines: list[Engine] = list(model.engines) if isinstance(model.engines, Sequence) else [model.engines]
        if not self.engines:
            raise ValueError(f"the model {model.name} has no engine")
        self.pool = Pool(self.engines, limits or Limits(), partial(failed, model.name))
        self._asked_engines = float("-inf")  # the last time at which they were asked for the context
        self.context = model.context
        self._gives_logprobs = all(getattr(engine, "gives_logprobs", False) for engine in self.engines)
        self._writes_itself = isinstance(self.row, HeaderFormat) or bool(self.row.encoding)
        self._vocab = None if model.tokenizer is None else _vocab_of(model.tokenizer)
        self.renders = any(getattr(engine, "renders", False) for engine in self.engines)
        """Do the engines write the prompts? If so, they also take pictures."""
        if self.renders and len(set(map(type, self.engines))) > 1:  # each kind has its own form of pictures
            raise ValueError(f"the model {model.name} has engines that write prompts: all must be of one kind")
        if self.renders and model.server_tools is not None:
            raise ValueError(f"the model {model.name} has tools that run here: its prompts must be written here, too")
        self._template: Template | None = None
        self._family = family_of(model.family or model.name, self.row.name)
        source = model.template if self._writes_itself else model.template or model.tokenizer
        if self._family is not None and model.template is None and model.tokenizer is not None:
            source = None
            with suppress(PromptError):  # if the folder has no template, the package uses the family's
                source = Template(model.tokenizer)
        if source is not None and not self.renders:
            self._template = source if isinstance(source, Template) else Template(source)
        elif not self._writes_itself and self._family is None and not self.renders:
            raise ValueError(
                f"the model {model.name} needs its chat template: pass tokenizer=, the model's folder, or template="
            )
        self.no_calls = self._why_no_calls()
        """Why the model cannot call tools. None if it can."""
        if self.no_calls is not None and (model.tools or model.server_tools is not None):
            raise ValueError(f"the model {model.name} has tools, and it cannot call them: {self.no_calls}")
        self._looked = Looked()
        self._probe = self._probed()

    def _why_no_calls(self) -> str | None:
        if not supports_tools(self.row):
            return f"its format, {self.row.name}, has no calls"
        if self._template is not None and not reads_tools(self._template):
            return "its chat template does not write tools"
        return None

    def _probed(self) -> Prompt:
        """A prompt of one message, and a parser after it. A failure in either would occur in every request, so look
        now.
        """
        if self.renders:
            if isinstance(self.row, HeaderFormat):
                self._vocab = self._vocab or o200k_harmony()
            if self._vocab is None:
                raise ValueError(f"the model {self.name} needs its vocabulary: say where its tokenizer.json is")
            with suppress(ImportError, VocabError):  # only a steered answer needs it
                self._vocab.encode(_HELLO, control=True)
            return self._of_engine(Rendered([0]), None)
        try:
            prompt = self._greeting(_HELLO)
        except PromptError as error:
            raise PromptError(f"the prompt of one user message cannot be written: {error}") from error
        prompt.parser()
        if (vocab := prompt.vocab) is not None and prompt.ids is not None:
            # What encodes ordinary and marked text is made at its first use, and takes up to a second. In the event
            # loop, all streams would wait for it.
            self._greeting(next(iter(vocab.markers), _HELLO))
            vocab.encode(_HELLO, control=True)
        return prompt

    def _greeting(self, text: str) -> Prompt:
        options: Any = {"format": self.row, "template": self._template, "vocab": self._vocab}
        return render([{"role": "user", "content": text}], model=self.model.family or self.name, **options)

    def about(self) -> str:
        """A description of the model in one line."""
        vocab = self._probe.vocab
        size = "no vocabulary, so prompts go out as text" if vocab is None else f"a vocabulary of {len(vocab):,} ids"
        context = self.model.context
        limit = "the engine's context" if context is None else f"a context of {context:,} tokens"
        ids = self._probe.ids
        probe = f"{len(self._probe.text)} characters" if ids is None else f"{len(ids)} tokens"
        engines = ", ".join(map(_name_of, self.engines))
        prompts = "the engine writes the prompts" if self.renders else f"the prompt of {_HELLO!r} has {probe}"
        return f"{self.name}: format {self.row.name}, {size}, {limit}; {engines}; {prompts}"

    @property
    def vocab(self) -> Vocab | None:
        """The model's vocabulary. None if it is gpt-oss's, or unknown."""
        return self._vocab or (None if self._template is None else self._template.vocab)

    def prompt(self, request: ApiRequest) -> Prompt:
        """The prompt for a request. Raises `Refused` if the model cannot do what the request asks."""
        try:
            return render(request.messages, tools=request.tools, **self.prompt_options(request))
        except PromptError as error:
            param = "input" if request.api == "responses" else "messages"
            why = _MESSAGE.sub(partial(_place, request, param), str(error))
            why = why if len(why) <= _LONGEST else f"{why[:_LONGEST]}…"
            what = f"The conversation cannot be written for this model: {why}."
            raise Refused(400, what, param=param, code="invalid_prompt") from None

    def left_out(self, prompt: Prompt) -> tuple[str, ...]:
        """What `Prompt.dropped` lists, without a second rendering if the shapes of the messages are known."""
        return () if prompt.look is None else prompt.look(self._looked)

    async def engine_prompt(self, request: ApiRequest, headers: Mapping[str, str] | None = None) -> EnginePrompt:
        """The prompt for a request, written by the first engine that succeeds. Each has the time of a first token.

        Raises `Refused` and EngineError.
        """
        asked = await asyncio.to_thread(chat_request, request, self._spellings)
        writers: list[Any] = [engine for engine in self.engines if getattr(engine, "renders", False)]
        for number, engine in enumerate(writers, 1):
            try:
                rendered = await asyncio.wait_for(engine.rendered(asked, headers), self.pool.limits.first_token)
                return self._of_engine(rendered, asked.get("tools"))
            except (EngineError, asyncio.TimeoutError) as error:
                failed = error if isinstance(error, EngineError) else EngineError("no prompt came in time", "timeout")
                if number == len(writers) or not is_engines_fault(failed):
                    raise failed from None
        raise AssertionError

    def _of_engine(self, rendered: Rendered, tools: list[dict[str, Any]] | None) -> EnginePrompt:
        stop_ids = Parser(self.row, self._vocab).stop_ids
        stops = tuple(sorted(self.row.stops))
        ids, features, text, continues, counted = rendered
        made = EnginePrompt(text, ids, self.row, stop_ids, stops, self._vocab, tools, features=features)
        return replace(made, continues=continues, counted=counted)

    @cached_property
    def _spellings(self) -> Spellings:
        assert self._vocab is not None
        return Spellings(self._vocab)

    def prompt_options(self, request: ApiRequest) -> dict[str, Any]:
        """The options of `render`. Raises `Refused` if the model cannot do what the request asks."""
        return {
            "format": self.row,
            "model": self.model.family or self.name,
            "template": self._template,
            "vocab": self._vocab,
            **self._switches(request),
            **({"continue_final": True} if request.continues else {}),
        }

    def _switches(self, request: ApiRequest) -> dict[str, Any]:
        """The template variables for this request: the model's switches of reasoning, and other variables."""
        if isinstance(self.row, HeaderFormat) and self._template is None:
            return self._harmony(request)
        known = frozenset({"thinking", "reasoning_effort"}) if self._family is None else self._family.switches
        known = known - {"date"} if self._template is None else self._template.variables
        given = dict(request.variables)
        if unknown := sorted(map(str, given.keys() - known | given.keys() & _OWN)):
            readable = ", ".join(sorted(known - _OWN)) or "nothing"
            what = f"chat_template_kwargs has {', '.join(unknown)[:100]}; this model's template reads {readable}."
            raise Refused(400, what, param="chat_template_kwargs", code="unsupported_value")
        if "reasoning_effort" in given:
            given["reasoning"] = given.pop("reasoning_effort")
        thinking = False if request.effort == "none" else request.thinking
        if thinking is not None and known & _SWITCHES:
            given.setdefault("thinking", thinking)
        if request.effort not in (None, "none") and "reasoning_effort" in known:
            given.setdefault("reasoning", request.effort)
        return given

    def _harmony(self, request: ApiRequest) -> dict[str, Any]:
        given = dict(request.variables)
        effort = given.pop("reasoning_effort", None) or request.effort or "medium"
        if not isinstance(effort, str):
            what = "chat_template_kwargs.reasoning_effort must be a string."
            raise Refused(400, what, param="chat_template_kwargs", code="invalid_value")
        if given:
            what = f"chat_template_kwargs has {', '.join(map(str, given))[:100]}; gpt-oss reads reasoning_effort alone."
            raise Refused(400, what, param="chat_template_kwargs", code="unsupported_value")
        if effort == "none":
            raise Refused(
                400, "This model always reasons: its efforts are low, medium and high.", param="reasoning_effort"
            )
        return {"reasoning": _EFFORTS.get(effort, effort)}

    async def learn_context(self) -> None:
        """Ask the engines for their context, if the model has no setting. Repeated from time to time until
        one answers.
        """
        now = time.monotonic()
        if self.context is not None or now - self._asked_engines < _ASKS:
            return
        self._asked_engines = now
        asks = [ask for engine in self.engines if (ask := getattr(engine, "context_length", None)) is not None]
        found = await asyncio.gather(*(asyncio.wait_for(ask(), _PATIENCE) for ask in asks), return_exceptions=True)
        self.context = min((one for one in found if isinstance(one, int)), default=None)
        if self.context is not None:
            log.info("the model %s has a context of %d tokens, as its engine says", self.name, self.context)

    def most_tokens(self, request: ApiRequest, prompt: Prompt) -> int:
        """The most tokens that the answer to a request may have. Raises `Refused` if the prompt fills the context."""
        wanted = request.max_tokens or self.model.max_tokens
        if self.context is None:
            return wanted or _UNKNOWN
        if prompt.ids is None or not getattr(prompt, "counted", True):  # only the engine can count it
            return min(wanted or _UNKNOWN, self.context)
        count = len(prompt.ids)
        if count >= self.context:
            what = f"The conversation has {count} tokens; this model's context has {self.context}."
            param = "input" if request.api == "responses" else "messages"
            raise Refused(400, what, param=param, code="context_length_exceeded")
        left = self.context - count
        return left if wanted is None else min(wanted, left)

    def sampling(self, request: ApiRequest, prompt: Prompt, headers: Mapping[str, str] | None = None) -> Sampling:
        """How to sample. headers: for the request to the engine.

        Raises `Refused` if the prompt fills the context, or the engine cannot do what is asked.
        """
        given = {**self.model.sampling, **request.sampling}
        wanted = self.most_tokens(request, prompt)
        own = {name: value for name, value in given.items() if name in _SAMPLING}
        extra = {name: value for name, value in given.items() if name not in _SAMPLING}
        if request.logprobs is not None and not (prompt.ids and self._gives_logprobs):
            what = f"{request.logprobs_option} is not supported: this model's engine has none for token ids."
            raise Refused(400, what, param=request.logprobs_option, code="unsupported_parameter")
        made = Sampling(max_tokens=wanted, logprobs=request.logprobs, extra=extra, headers=headers or {})
        return replace(made, **own)


def _place(request: ApiRequest, param: str, found: re.Match[str]) -> str:
    """The place of a message in the request, for an error about the conversation."""
    at = int(found[1]) - request.before
    return f"{param}[{at}]" if at >= 0 else "system" if request.api == "messages" else "an earlier item"


def _name_of(engine: Any) -> str:
    """The engine's class, and its address if it has one."""
    place = str(getattr(engine, "url", "")).rpartition("://")[2]
    return f"{type(engine).__name__} at {place}" if place else type(engine).__name__


def connected(models: Iterable[Served]) -> list[Any]:
    """The engines of these models and their tools that run here. Each may keep connections open."""
    found = [one for model in models for one in (*model.engines, model.model.server_tools) if one is not None]
    return list({id(one): one for one in found}.values())


_VOCABS: WeakValueDictionary[tuple[str, int], Vocab] = WeakValueDictionary()


def _vocab_of(tokenizer: str | os.PathLike[str]) -> Vocab:
    """The vocabulary of a folder or file. Models with the same vocabulary, such as adapters of one model, share one
    object.
    """
    path = Path(tokenizer)
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        return from_tokenizers(tokenizer)
    key = str(file.resolve()), file.stat().st_mtime_ns
    vocab = _VOCABS.get(key)
    return _VOCABS.setdefault(key, from_tokenizers(tokenizer)) if vocab is None else vocab


_NO_OPTION_HERE = " To read with it anyway, pass check_stops=False"
"""The end of a `VocabError`: an option of `Parser`, which the gateway does not have."""


def served(
    models: Sequence[Model],
    limits: Limits | None = None,
    failed: Failed = lambda *_: None,
    before: Iterable[Served] = (),
) -> dict[str, Served]:
    """The models by name and alias. limits, failed: as in `Served`. before: models that are ready already, and stay.

    Raises ValueError if two share a name, if one cannot be served, or if the model to fall back to does not exist.
    """
    found: dict[str, Served] = {}
    made = {id(one.model): one for one in before}
    for model in models:
        try:
            ready = made.get(id(model)) or Served(model, limits, failed)
        except (HarmonyStreamError, ImportError) as error:
            raise ValueError(f"the model {model.name}: {str(error).removesuffix(_NO_OPTION_HERE)}") from error
        for name in (model.name, *model.aliases):
            if name in found:
                raise ValueError(f"two models have the name {name}")
            found[name] = ready
    if not found:
        raise ValueError("there are no models to serve: pass at least one, [Model(name, engine)]")
    for ready in found.values():
        for name in ready.model.fallback:
            if found.get(name, ready) is ready:
                raise ValueError(f"the model {ready.name} cannot fall back to {name}: there is no such other model")
    return found
