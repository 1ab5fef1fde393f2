"""From a request to its response: reading, rendering, generating, parsing and framing."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ..agent import ToolRunEnd
from ..agent.steering import BYTES, Plan, steered
from ..emit import new_id
from ..engines import EngineError, Sampling
from ..integrations.starlette import EventStreamResponse, whole_response
from ..prompt import Prompt
from ..tools import Tools
from .generating.choices import merged
from .generating.first_item import StartedSource
from .generating.model import Model, Served, served
from .generating.plans import plan_of
from .generating.pool import Pool
from .generating.server_tools import Rounds, offered, rounds_of, size_of
from .limits import Limits, Quota
from .operating.admission import Admission
from .operating.background import Background, Begun
from .operating.connections import Connections
from .operating.inspector import Inspector
from .operating.keys import Keys
from .operating.metrics import Metrics
from .operating.request_record import RequestRecord, log
from .operating.state import LocalState, Reference, State, StateError, absent, earlier_of
from .operating.tracing import Spans
from .operating.under_way import UnderWay
from .refused import Refused, body_of, is_engines_fault, later_error, refused_for, seconds_of, status_of
from .requests import chat_api, messages_api, responses_api
from .requests.bodies import IN_A_THREAD, Json, read_json
from .requests.browsers import check_page
from .requests.request import ApiRequest
from .requests.tool_choices import listed
from .requests.unsupported import HEADER, Rule, rule_of

__all__ = ["APIS", "Api", "Gateway"]

Earlier = Mapping[Reference, list[Any]]
GONE = 499
"""The status in the log if the client left before its answer."""


class Api(NamedTuple):
    """name: its key in tables. path: its endpoint. prefix: of its ids. streams: makes the emitters of a response."""

    name: str
    path: str
    prefix: str
    streams: Callable[..., Sequence[Any]]


APIS = (
    Api("chat", "/v1/chat/completions", "chatcmpl", chat_api.streams),
    Api("responses", "/v1/responses", "resp", responses_api.streams),
    Api("messages", "/v1/messages", "msg", messages_api.streams),
)


class Gateway:
    """Answers requests. keys: who may send them; None: everybody. spans: makes a span for each request, or None.

    state: what the processes of the gateway share. None means that there is one process. log_contents: log questions
    and answers? unsupported: what happens to options that the gateway cannot honour. hosts, origins: as in
    `check_page`. They are used by a gateway without keys.
    """

    def __init__(
        self,
        models: Sequence[Model],
        keys: Keys | None,
        limits: Limits,
        spans: Spans | None = None,
        state: State | None = None,
        log_contents: bool = False,
        unsupported: Rule = "auto",
        hosts: Sequence[str] = (),
        origins: Sequence[str] = (),
    ) -> None:
        self.keys, self.limits, self._spans = keys, limits, spans
        self.metrics = Metrics()
        self.models: dict[str, Served] = {}
        self.models = self.made_ready(models)
        self.admission = Admission(limits, state, self.metrics.admitted)
        self.state = self.admission.state
        self.background = Background(self.state)
        self.draining = False
        self.under_way, self.connections = UnderWay(), Connections()
        self.retired: set[Served] = set()
        """Models that a reload has taken away, and that requests may still use."""
        self.reload: Callable[[], object] = (lambda: None) if keys is None else keys.reload
        """Reads keys and settings again."""
        self._origins = frozenset(origins)
        self._rules(log_contents, unsupported, hosts)
        self._check_keys()
        self.inspector: Inspector | None = None

    def _rules(self, log_contents: bool, unsupported: Rule, hosts: Sequence[str]) -> None:
        self._hosts = frozenset(name.lower() for name in hosts)
        self._log_contents, self._unsupported = log_contents, unsupported

    def _check_keys(self) -> None:
        if self.keys is not None:
            self.keys.check_models(tuple(self.models))

    # --- settings that change -----------------------------------------------------------------------------------------

    @property
    def pools(self) -> list[Pool]:
        """The engines of each model."""
        return [model.pool for model in set(self.models.values())]

    def made_ready(self, models: Sequence[Model], limits: Limits | None = None) -> dict[str, Served]:
        """These models by name and alias. Those that are served already stay as they are. Raises ValueError."""
        return served(models, limits or self.limits, self._engine_failed, self.models.values())

    def change(
        self,
        models: Mapping[str, Served],
        keys: Keys | None,
        limits: Limits,
        log_contents: bool,
        unsupported: Rule,
        hosts: Sequence[str],
    ) -> None:
        """Go on with other settings. Requests that have begun keep their models."""
        self.retired |= set(self.models.values()) - set(models.values())
        self.models, self.keys, self.limits = dict(models), keys, limits
        self._rules(log_contents, unsupported, hosts)
        self._check_keys()
        for pool in self.pools:
            pool.limits = limits
        self.admission.hold(limits)

    # --- what comes in ------------------------------------------------------------------------------------------------

    async def answer(self, http: Request, api: Api) -> Response:
        """The response to a request for an answer."""
        return await self.handle(http, api.name, partial(self._answer, http, api))

    async def count(self, http: Request) -> Response:
        """The answer to Messages' count_tokens."""
        return await self.handle(http, "messages", partial(self._count, http))

    async def count_input(self, http: Request) -> Response:
        """The answer to Responses' input_tokens."""
        return await self.handle(http, "responses", partial(self._count, http))

    async def handle(self, http: Request, api: str, answer: Callable[[RequestRecord], Any]) -> Response:
        """The response that `answer` gives, or the error that the client gets instead. Both have the request's id."""
        record = RequestRecord(api, http.headers, self.metrics, self._spans)
        record.ends.append(self.under_way.enter().leave)
        try:
            if self.keys is None:
                check_page(http.headers, self._hosts, self._origins)
            else:
                record.owner = self.keys.owner(http.headers)
            record.unsupported.rule = self._rule(http, record.owner)
            if self.draining:
                raise Refused(503, "The gateway is about to stop.", code="draining", retry_after=1)
            response: Response = await answer(record)
        except ClientDisconnect:
            response = Response(status_code=GONE)
        except Refused as refused:
            response = refusal(refused, record)
        except StateError as error:
            log.error("request %s: what is stored cannot be used: %s", record.id, error)
            what = "What is stored cannot be read or changed now."
            response = refusal(Refused(503, what, code="store_unavailable", retry_after=10), record)
        except asyncio.CancelledError:
            record.end(GONE)
            raise
        except Exception as error:
            _log_failure(record.id, error)
            response = refusal(refused_for(error), record)
        if warnings := record.warnings():
            response.headers["warning"] = ", ".join(warnings)
        response.headers["x-request-id"] = response.headers["request-id"] = record.id
        if record.steered is not None:
            response.headers["x-steered"] = record.steered
        if not isinstance(response, (EventStreamResponse, Begun)):
            record.end(response.status_code)
        return response

    async def _count(self, http: Request, record: RequestRecord) -> Response:
        body, _ = await read_json(http, self.limits.body, self.limits.body_seconds)
        if record.api == "messages":
            pictures = self._takes_pictures(body)
            request = messages_api.read(body, record.unsupported, counting=True, pictures=pictures)
        else:
            request = self._read(APIS[1], body, record, await self._earlier(body, record))
        model = self.served(request.model, record.owner)
        record.model, record.complete = model.name, True
        offered(model, request)
        if model.renders:
            written = await model.engine_prompt(request, record.engine_headers)
            ids = written.ids if written.counted else None
        else:
            ids = (await asyncio.to_thread(model.prompt, request)).ids
        if ids is None:
            why = "its engine counts pictures only while it answers" if model.renders else "it has no vocabulary here"
            raise Refused(400, f"This model's tokens cannot be counted: {why}.")
        kind = {} if record.api == "messages" else {"object": "response.input_tokens"}
        return Json({**kind, "input_tokens": len(ids)})

    async def _answer(self, http: Request, api: Api, record: RequestRecord) -> Response:
        body, size = await read_json(http, self.limits.body, self.limits.body_seconds)
        if self._log_contents:  # as a string, because a body may have numbers that JSON cannot hold
            record.contents["asked"] = json.dumps(body, ensure_ascii=False)
        earlier = await self._earlier(body, record) if api.name == "responses" else {}
        in_thread = size >= IN_A_THREAD or bool(earlier)
        return await self._repeated(partial(self._attempt, api, body, record, earlier, in_thread), record, http)

    async def _repeated(self, attempt: Callable[..., Any], record: RequestRecord, http: Request) -> Response:
        """Attempt to answer, as often as it helps. Raises `Refused`."""
        instead: Served | None = None  # a fallback model
        repeats, others = self.limits.retries, None
        while True:
            try:
                response: Response = await attempt(http, instead)
                return response
            except Refused as refused:
                error = refused.__cause__
                if not isinstance(error, EngineError) or not is_engines_fault(error) or record.ran_tools:
                    raise
                if others is None:
                    others = self._others(record.model, record.owner)
                if record.has_begun and repeats > 0:  # nothing of the failed attempt has been sent
                    repeats -= 1
                elif others:
                    instead, repeats = others.pop(0), self.limits.retries
                else:
                    raise
                log.warning(
                    "request %s is answered again, by the model %s",
                    record.id,
                    instead.name if instead else record.model,
                )
                record.begin_again()

    def _others(self, name: str, owner: str) -> list[Served]:
        """The models to which this model falls back, and that the owner may use. A reload may have taken it away."""
        models, usable = self.models, set(self._usable(owner).values())
        names = models[name].model.fallback if name in models else ()
        return [models[one] for one in names if models[one] in usable]

    async def _attempt(
        self,
        api: Api,
        body: Any,
        record: RequestRecord,
        earlier: Earlier,
        in_thread: bool,
        http: Request,
        instead: Served | None,
    ) -> Response:
        """Try once to answer. instead: a model in place of the requested one. Raises `Refused`."""
        prepare = partial(self._prepare, api, body, record, earlier, instead)
        request, model, tools, prompt = await asyncio.to_thread(prepare) if in_thread else prepare()
        if prompt is None:
            try:
                prompt = await model.engine_prompt(request, record.engine_headers)
            except EngineError as error:
                _log_failure(record.id, error)
                raise refused_for(error) from error
        await model.learn_context()
        sampling = model.sampling(request, prompt, record.engine_headers)
        follow = partial(_followed, api, model, request, prompt, record.response_id or new_id(api.prefix))
        plan, streams = await asyncio.to_thread(follow) if in_thread else follow()
        emitters = streams if request.n > 1 else streams[0]
        if not record.is_in:
            await self._enter(http, record)
            record.is_in = True
        if request.background and record.response_id is None:
            again = partial(self._attempt, api, body, record, earlier, in_thread)
            make = partial(self._repeated, again, record)
            return await self.background.begin(http, record, request.stored or [], streams[0].response(), make)
        record.ran_tools = tools is not None
        if tools is None:
            source = self._generations(model, prompt, sampling, plan, request, record)
            prompt_tokens = size_of(prompt)
            record.read = lambda: (streams, prompt_tokens)  # without the prompt, which may be large
        else:
            source = self._loops(model, request, tools, record)
        started = StartedSource(source, record.first_token)
        return await self._respond(http, request, emitters, started, partial(_usage, streams, prompt, record), record)

    def _prepare(
        self, api: Api, body: Any, record: RequestRecord, earlier: Earlier, instead: Served | None
    ) -> tuple[ApiRequest, Served, Tools | None, Prompt | None]:
        """Read a body: the request, its model, the tools that run here, and the prompt. The prompt is None if the
        engine writes it.
        """
        request = self._read(api, body, record, earlier)
        if request.stored is not None and not self.limits.stored:
            request.stored = None
        elif request.stored is not None and not self.state.is_there:
            request.stored = None
            record.is_not_stored()
        if request.background and request.stored is None:
            raise Refused(503, "The gateway stores no responses now.", code="store_unavailable", retry_after=10)
        model = self.served(request.model, record.owner) if instead is None else instead
        request.model = (request.model or model.name) if instead is None else model.name
        record.model, record.stream = model.name, request.stream
        tools = offered(model, request)
        if model.renders:
            return request, model, tools, None
        prompt = model.prompt(request)
        _meet(request, model.left_out(prompt))
        return request, model, tools, prompt

    async def _earlier(self, body: Any, record: RequestRecord) -> Earlier:
        """The stored items that a request of Responses builds on. Raises `Refused` and `StateError`."""
        references = responses_api.references(body)
        return await earlier_of(self.state, record.owner, references) if references else {}

    def _read(self, api: Api, body: Any, record: RequestRecord, earlier: Earlier) -> ApiRequest:
        if api.name == "chat":
            return chat_api.read(body, record.unsupported, pictures=self._takes_pictures(body))
        if api.name == "messages":
            return messages_api.read(body, record.unsupported, pictures=self._takes_pictures(body))
        pictures = self._takes_pictures(body)
        return responses_api.read(body, partial(_found, earlier), record.unsupported, pictures=pictures)

    def _takes_pictures(self, body: Any) -> bool:
        """Does the requested model take pictures? An unknown model does not."""
        name, models = body.get("model") if isinstance(body, dict) else None, self.models
        if not name and len(found := set(models.values())) == 1:
            return found.pop().renders
        return isinstance(name, str) and name in models and models[name].renders

    def _rule(self, http: Request, owner: str) -> Rule:
        """What happens to unsupported options. The request decides, or else its key, or else the gateway."""
        if (word := http.headers.get(HEADER)) is None:
            return (None if self.keys is None else self.keys.rule(owner)) or self._unsupported
        try:
            return rule_of(word.strip().lower())
        except ValueError as error:
            raise Refused(400, f"The header {HEADER} {error}.", param=HEADER, code="invalid_value") from None

    def names(self, owner: str) -> list[str]:
        """The names of the models that an owner may use."""
        return list(self._usable(owner))

    def _usable(self, owner: str) -> dict[str, Served]:
        keys, models = self.keys, self.models  # a reload may replace both while a thread reads a request
        if keys is None:
            return models
        return {name: one for name, one in models.items() if keys.may_ask(owner, name) or keys.may_ask(owner, one.name)}

    def served(self, name: str, owner: str = "") -> Served:
        """The model of this name. Without a name, the only model. Raises `Refused` if this owner has no such model."""
        models = self._usable(owner)
        if not name and len(found := set(models.values())) == 1:
            return found.pop()
        if name not in models:
            short = name if len(name) <= 100 else name[:100] + "…"
            what = f"There is no model {short!r} here. The models are {listed(list(models)) or 'none'}."
            raise Refused(404, what, param="model", code="model_not_found")
        return models[name]

    def _quota(self, record: RequestRecord) -> Quota:
        """What the owner of a request may use. It is fixed when the request begins, even if the keys are read again
        later.
        """
        if record.quota is None:
            usual = self.limits.quota
            record.quota = usual if self.keys is None else self.keys.quota(record.owner, usual)
        return record.quota

    async def _enter(self, http: Request, record: RequestRecord) -> None:
        """Wait for a turn, which ends with the request. A client that leaves while it waits loses its place."""
        began = time.monotonic()
        quota = self._quota(record)
        entering = self.admission.enter(record.owner, quota)
        may_wait = self.admission.is_full or not isinstance(self.state, LocalState)
        await (_unless_gone(http, entering) if may_wait else entering)
        record.ends.append(partial(self.admission.leave, record.owner, quota))
        record.ends.append(lambda: self.state.take(record.owner, record.left(), quota))
        self.metrics.waited.observe(time.monotonic() - began)
        if await http.is_disconnected():
            raise ClientDisconnect

    # --- what goes out ------------------------------------------------------------------------------------------------

    def _generations(
        self,
        model: Served,
        prompt: Prompt,
        sampling: Sampling,
        plan: Plan | None,
        request: ApiRequest,
        record: RequestRecord,
        n: int | None = None,
    ) -> Any:
        """The items of the choices. Each choice is one generation. None: as many choices as the request asks for."""
        until = asyncio.get_running_loop().time() + self.limits.total
        together = self.inspector is None  # the inspector needs the time of each token
        generate = partial(model.pool.generate, until=until, together=together)
        counts = [partial(record.count, same_prompt=choice > 0) for choice in range(n or request.n)]
        if plan is None and not request.stops:
            sources = [generate(prompt, sampling, on_end=count) for count in counts]
        else:
            if plan is not None and plan.how is not None:
                self.metrics.steered.labels(model.name, plan.how).inc(len(counts))
                record.steered = record.steered or plan.how
            asked = (prompt, sampling, plan or Plan(), request.stops)
            sources = [steered(generate, *asked, count) for count in counts]
        source = sources[0] if len(sources) == 1 else merged(sources)
        return source if self.inspector is None else self.inspector.recorded(source, record, prompt)

    def _loops(self, model: Served, request: ApiRequest, tools: Tools, record: RequestRecord) -> Any:
        """The items of all choices. Each choice is as many generations as its tools need."""

        def generate(prompt: Prompt, sampling: Sampling, plan: Plan | None) -> Any:
            return self._generations(model, prompt, sampling, plan, request, record, 1)

        def ran(run: ToolRunEnd) -> None:
            self.metrics.runs.labels(model.name, run.result.error or "ok").inc()

        loops = [Rounds(model, request, generate, record.engine_headers, self.limits) for _ in range(request.n)]
        record.read = partial(rounds_of, loops)
        sources = [loop.items(tools, ran) for loop in loops]
        return sources[0] if request.n == 1 else merged(sources)

    async def _respond(
        self,
        http: Request,
        request: ApiRequest,
        streams: Any,
        source: StartedSource,
        usage: Callable[[], dict[str, int]],
        record: RequestRecord,
    ) -> Response:
        quota = self._quota(record)

        async def ended(stream: Any) -> Callable[[bytes], bytes] | None:
            self.state.take(record.owner, record.answered(), quota)
            if self._log_contents:
                record.contents["answered"] = stream.response()
            if request.stored is None or (record.error is None and await self._store(record, request.stored, stream)):
                return None
            return responses_api.not_stored

        def failed(error: BaseException) -> dict[str, str | None]:
            refused = refused_for(error)
            record.error = refused.name
            return later_error(refused, request.api)

        try:
            if not await _begins(http, source, self.limits.status_wait if request.stream else None):
                return Response(status_code=GONE)
            if request.stream:
                source.closed = record.end
                return EventStreamResponse(
                    source,
                    streams,
                    on_end=ended,
                    error_message=failed,
                    on_error=partial(_log_failure, record.id),
                    keep_alive=self.limits.keep_alive,
                    send_timeout=self.limits.send,
                    total=self.limits.total,
                    usage=usage,
                )
            whole = await whole_response(source, streams, on_end=ended, usage=usage, receive=http.receive)
        except EngineError as error:
            _log_failure(record.id, error)
            raise refused_for(error) from error
        if whole is not None and record.stored is False and request.stored is not None:
            whole["store"] = False
        return Response(status_code=GONE) if whole is None else Json(whole)

    async def _store(self, record: RequestRecord, items: list[Any], stream: Any) -> bool:
        """Store a complete response. Is it stored? The answer is complete in any case."""
        try:
            if record.response_id and not await self.background.is_wanted(record.owner, record.response_id):
                return False
            kept = await self.state.put(record.owner, items, stream.response())
        except StateError as error:
            log.error("request %s: its response is not stored: %s", record.id, error)
            kept = False
        if not kept:
            record.is_not_stored()
        return kept

    def _engine_failed(self, model: str, engine: str, error: EngineError) -> None:
        self.metrics.engine_errors.labels(model, engine, error.kind).inc()

    # --- the end ------------------------------------------------------------------------------------------------------

    def stop_all(self) -> None:
        """End all generations. Their clients get an error that says that the gateway stops."""
        for model in (*self.models.values(), *self.retired):
            model.pool.stop("the gateway stops")

    async def is_ready(self) -> bool:
        """Does each model have an engine that answers?"""
        return not self.draining and all(await asyncio.gather(*(pool.is_ready() for pool in self.pools)))


def _found(earlier: Earlier, kind: str, id: str) -> list[Any]:
    items = earlier.get((kind, id))
    if items is None:
        raise absent(kind)
    return items


def _followed(api: Api, model: Served, request: ApiRequest, prompt: Prompt, id: str) -> tuple[Plan | None, list[Any]]:
    """The plan for the generation, and the emitters of the response."""
    return plan_of(request, model.row, prompt, model.engines[0]), _streams(api, model, request, prompt, id)


def _meet(request: ApiRequest, left_out: Sequence[str]) -> None:
    """Treat the parts of the conversation that the template does not write as options that only add to a request.
    Templates leave out earlier reasoning by design, so that is not noted.
    """
    for name in left_out:
        if not name.endswith(": reasoning"):
            what = f"This model's template does not write a part of the conversation: {name}."
            param = "input" if request.api == "responses" else "messages"
            request.unsupported.meet(name, Refused(400, what, param=param, code="invalid_prompt"), adds=True)


def _usage(streams: Sequence[Any], prompt: Prompt, record: RequestRecord) -> dict[str, int]:
    """The usage if an answer ends at a stop string, or if the engine counts nothing. Text is not tokenized here:
    four of its characters count as a token.
    """
    used = {"prompt_tokens": size_of(prompt)}
    if any(stream.in_text for stream in streams):
        record.estimate = sum(stream.parser.usage.total for stream in streams) // BYTES
        used["completion_tokens"] = record.estimate
    return used


def _streams(api: Api, model: Served, request: ApiRequest, prompt: Prompt, id: str) -> list[Any]:
    parsers = [prompt.parser() for _ in range(request.n)]
    usage = {"prompt_tokens": len(prompt.ids or ())}
    try:
        now, field = int(time.time()), model.model.reasoning_field
        return list(api.streams(request, parsers, id, now, field, usage))
    except (TypeError, ValueError) as error:
        raise Refused(400, f"The request cannot be answered: {error}.") from None


async def _begins(http: Request, source: StartedSource, seconds: float | None) -> bool:
    """Wait for the first item. Is the client still there? If not, or if the source fails, the source is closed."""
    gone = asyncio.ensure_future(_disconnected(http))
    there = False
    try:
        there = await source.wait(gone, seconds)
    finally:
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone
        if not there:
            await source.aclose()
    return there


async def _unless_gone(http: Request, waiting: Coroutine[Any, Any, None]) -> None:
    """Wait until this is done or the client has left. Raises ClientDisconnect if it has left."""
    task, gone = asyncio.ensure_future(waiting), asyncio.ensure_future(_disconnected(http))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        task.result()
    finally:
        task.cancel()
        gone.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _disconnected(http: Request) -> None:
    while (await http.receive())["type"] != "http.disconnect":
        pass


def _log_failure(request_id: str, error: BaseException) -> None:
    """Log a line for an engine that fails. Any other error is logged with its traceback, because it is our
    own mistake.
    """
    trace = None if isinstance(error, (EngineError, Refused)) else error
    log.error("request %s: %r", request_id, error, exc_info=trace)


def refusal(refused: Refused, record: RequestRecord) -> Response:
    """The response for a refused request."""
    record.error = refused.name
    headers = {} if refused.retry_after is None else {"retry-after": str(seconds_of(refused.retry_after))}
    if refused.status == 401:
        headers["www-authenticate"] = "Bearer"
    return Json(body_of(refused, record.api, record.id), status_of(refused, record.api), headers=headers)
