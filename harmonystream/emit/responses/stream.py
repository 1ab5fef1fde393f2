"""OpenAI's Responses, streamed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar, Literal

from ..._moved import renamed
from ..._native.core.vocab import Vocab
from ..._native.stream.parser import Parser
from ..._native.wire.frame import Frame
from ..._native.wire.script import Script
from ...checks import check_flag
from ...events import (
    ContentDelta,
    Event,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    StreamEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from ...formats import Format
from ...reasons import normal
from ..common.kept import Forgotten, Kept
from ..common.payload import Payload, checked, sendable, to_json
from ..common.placeholders import CHANNELS, HOLE, NOTHING, Frames, Parts, call_id_parts, cut, ends_of, idle
from ..common.request import called, shown_calls
from ..common.state import Callbacks, State, kept_of, read_kept, refused
from ..common.stream import Constants, EventStream
from ..common.tool_run import ToolRun
from ..common.usage import RESPONSES, counted
from . import options
from .items import CALLS, Item, Message, Reasoning, Summary, Text, declared, item_type
from .logprobs import TextLogprobs
from .runs import RunItems

__all__ = ["ResponsesStream"]

_STATE = ("status", "error", "incomplete_details", "output", "usage")  # of a response: what is not its head
_NOTHING: Payload = {}
_NOTHING_GIVEN = (_NOTHING, _NOTHING)


class ResponsesStream(EventStream):
    """The events of one response.

    parser: a Parser that has read nothing yet, or a format; then `vocab` and `tools` are for its parser.
    id, model, created: fields of the response; `created_at` is in seconds since 1970.
    request: the request's fields, or its whole body. Fields that a response repeats are repeated. tool_choice "none"
    hides calls, parallel_tool_calls False all but the first, and `tools` decides which calls have items of their own.
    reasoning: "text" or "summary" decides which events stream the reasoning. True: a summary if the request asks for
    one, else the text. False hides reasoning.
    encrypt: a function from the text of a reasoning item to its `encrypted_content`, called if the request's `include`
    asks for that.
    item_type: a function from a call's first event to the type of its item.
    item_id: a function from item type and output index to an id. By default the id is derived from the response's id.
    call_id: a function from a call's index to its id, for calls to which the model gave no id, or an old one.
    taken: the ids of calls in the request's input (`call_ids_of`). No call of this response gets one of them.
    keep_text: False keeps no text of an item after its end. Such a stream is for the inside of another's. It ends with
    flush(), and finish() and response() raise ValueError.
    container_id, extra: the container of code interpreter calls, and more fields of the response.
    """

    numbered: ClassVar[str | None] = "sequence_number"
    _api = b"r"
    _time = "created_at"
    _time_types = (int, float)
    _reasoning: type[Reasoning] | None = Reasoning
    _reasoning_fields: Payload = _NOTHING
    _repeated: tuple[Payload, Payload] = _NOTHING_GIVEN  # what is repeated of the request, and more fields
    _tools: frozenset[tuple[str, str]] | None = None
    _own_item_id: Callable[[str, int], str] | None = None
    _item_type: Callable[[ToolCallStart], str] | None = None
    _container_id = "auto"
    _hooked = False  # does a callback decide more than the ids of calls?
    _counts = RESPONSES.read, RESPONSES.written, "total_tokens"
    _head_json = ""
    _logprobs: TextLogprobs | None = None  # None: nobody has given any
    _calls_shown: int | None = None
    _calls = 0
    _open: Item | None = None
    _cut = False  # at the end: does a message that no token ends lack some of its text?
    _ending: Payload = options.OPEN
    _usage: Payload | None = None

    @renamed(created_at="created")
    def __init__(
        self,
        parser: Parser | Format | str = "harmony",
        *,
        id: str,
        model: str,
        created: float,
        request: Mapping[str, Any] | None = None,
        reasoning: bool | Literal["text", "summary"] = True,
        encrypt: Callable[[str], str] | None = None,
        item_type: Callable[[ToolCallStart], str] | None = None,
        item_id: Callable[[str, int], str] | None = None,
        call_id: Callable[[int], str] | None = None,
        taken: Iterable[str] = (),
        container_id: str = "auto",
        keep_text: bool = True,
        extra: Mapping[str, Any] | None = None,
        vocab: Vocab | None = None,
        tools: object = None,
    ) -> None:
        self.id, self.model, self.created_at = checked("id", id), checked("model", model), options.seconds(created)
        if container_id != "auto":
            self._container_id = checked("container_id", container_id)
        if reasoning is not True or request is not None or extra:
            self._ask(request, reasoning, encrypt, sendable(extra or {}))
        if call_id is not None or taken != ():
            self._decide_ids(call_id, taken)
        if item_id is not None or item_type is not None or encrypt is not None:
            self._own_item_id, self._item_type = called("item_id", item_id), called("item_type", item_type)
            called("encrypt", encrypt)
            self._hooked = True
        if keep_text is not True:
            check_flag("keep_text", keep_text)
            self._keeps_text, self._ends_whole = False, True
            self._forget_texts()

    def _ask(self, request: Any, reasoning: Any, encrypt: Callable[[str], str] | None, more: Payload) -> None:
        """Take the fields of the request and of the caller."""
        if not isinstance(request or {}, Mapping):
            raise TypeError(f"request is a mapping, not {request.__class__.__name__}: of a model, model_dump()")
        asked = request or {}
        self._reasoning = options.reasoning_item(reasoning, asked)
        wanted = asked.get("include") or ()
        if called("encrypt", encrypt) and isinstance(wanted, (list, tuple)) and options.ENCRYPTED in wanted:
            self._reasoning_fields = {"encrypt": encrypt}
        echoed = sendable({name: asked[name] for name in options.ECHOED if asked.get(name) is not None})
        self._repeated = echoed, {name: value for name, value in more.items() if name not in _STATE}
        self._tools = declared(echoed.get("tools"))
        self._calls_shown = shown_calls(echoed.get("tool_choice"), echoed.get("parallel_tool_calls", True))

    def _forget_texts(self) -> None:
        self._keep_none()  # the events that end an item have its text

    # --- what is made when it is needed: most responses need it at their end, or never ---

    @cached_property
    def _head(self) -> Payload:
        head = {"id": self.id, "object": "response", "created_at": self.created_at, "model": self.model}
        own: Payload = {**head, **options.defaults(), **self._repeated[0]}
        return own | self._repeated[1] | own  # these first, and as they are

    @property
    def _stem(self) -> str:
        return self.id.removeprefix("resp_")

    @cached_property
    def _item_id(self) -> Callable[[str, int], str]:
        return self._own_item_id or partial(options.made_id, self._stem)

    @cached_property
    def _output(self) -> Kept:
        """The items that are done."""
        return [] if self._keeps_text else Forgotten()

    # --- the script ---

    def _constants(self) -> Constants:
        number = str(self.created_at) if type(self.created_at) is int else to_json(self.created_at)
        if self._repeated is not _NOTHING_GIVEN:
            self._head_json = to_json(self._head)[1:-1]
        return self.id, number, self.id.removeprefix("resp_"), self.model, self._head_json or None

    def _script(self) -> Script | None:
        if type(self) is not ResponsesStream or self._hooked or self.parser.strict:
            return None
        reasoning: Any = self._reasoning  # the class, of which the type checker does not know that it is hashable
        custom = any(type == "custom" for type, _ in self._tools or ())
        return _script(reasoning, custom, self._calls_shown)

    def _usage_json(self, usage: Payload | None) -> str:
        return to_json(self._whole_usage(usage or {}))

    def _describe_all(self, events: Iterable[Event | None]) -> None:
        for event in events:
            if event is None:
                self._cut = True
            else:
                super()._describe_all([event])

    def _catch_up(self) -> None:
        super()._catch_up()
        if self._word_written is not None and self._ending is options.OPEN:
            usage = counted(self._usage_at_end, RESPONSES) or {}
            self._ending, self._usage = options.COMPLETED, self._whole_usage(usage)

    def _write_end(self, reason: str | None) -> str:
        self._stop(reason)
        return ""

    # --- moving ---

    def _given_options(self) -> tuple[Payload, Callbacks]:
        kinds: dict[Any, bool | str] = {None: False, Reasoning: "text", Summary: "summary"}
        encrypt = self._reasoning_fields.get("encrypt")
        plain = self._reasoning is Reasoning and not any(self._repeated)  # without a request, that is the default
        given = {
            "model": self.model,
            "request": {**self._repeated[0], **({"include": [options.ENCRYPTED]} if encrypt else {})},
            "reasoning": True if plain else kinds[self._reasoning],
            "container_id": self._container_id,
            "keep_text": self._keeps_text,
            "extra": self._repeated[1],
            "taken": sorted(self._taken),
        }
        callbacks = {"item_id": self._own_item_id, "call_id": self._own_call_id, "item_type": self._item_type}
        return given, {**callbacks, "encrypt": encrypt}

    def _state(self) -> Payload:
        opened, item = None, self._open
        if item is not None:
            fields = {name: value for name, value in item.fields.items() if name != "encrypt"}
            opened = {"type": item.type, "id": item.id, "index": item.index, "fields": fields}
        tokens = None if self._logprobs is None else self._logprobs.state()
        return {
            **{"calls": self._calls, "has_text": self._has_text},
            **{"open": opened, "output": kept_of(self._output), "tokens": tokens},
        }

    def _restore(self, state: State) -> None:
        self._calls, self._has_text = state.count("calls"), state.flag("has_text")
        self._output = read_kept(state, "output", keeps=self._keeps_text)
        tokens, opened = state.fields("tokens"), state.fields("open")
        if tokens:
            self._logprobs, self._watched = TextLogprobs(), True
            self._logprobs.restore(State(tokens))
        if opened:
            self._open = self._restored_item(State(opened))

    def _restored_item(self, state: State) -> Item:
        types: dict[str, type[Item]] = {"message": Message, **CALLS}
        if self._reasoning is not None:
            types["reasoning"] = self._reasoning
        item = types[state.take("type", lambda value: value in list(types))]
        fields = state.fields("fields")
        if item.type == "web_search_call" and not isinstance(fields.get("name"), str):
            raise refused("its open item has no name")
        more = self._reasoning_fields if item.type == "reasoning" else {}
        made = item(state.text("id"), state.count("index"), {**fields, **more})
        state.end()
        return made

    # --- logprobs ---

    def _feed_with(self, ids: Any, logprobs: Sequence[Payload] | None) -> bytes:
        """Reads the ids one by one, so that a delta's tokens do not depend on how many come at once."""
        taken = self._listed(ids)
        if logprobs is not None and len(logprobs) != len(taken):
            raise ValueError(f"{len(logprobs)} logprobs for {len(taken)} tokens: pass one for each")
        if self._logprobs is None:
            self._logprobs, self._watched = TextLogprobs(), True
            self._leave_script()
            self._no_frames()
        self._logprobs.take_in(self.parser.position, len(taken), logprobs or ())
        return b"".join(map(self._read, taken))

    def _on_event(self, event: Event) -> bytes | Frame:
        return super()._on_event(event) if self._logprobs is None else self._bytes(self._described(event))

    def _described(self, event: Event) -> Iterable[Payload]:
        payloads = super()._described(event)
        return payloads if self._logprobs is None else self._logprobs.attach(payloads, event, self._output)

    # --- payloads ---

    def opening(self) -> Iterable[Payload]:
        yield {"type": "response.created", "response": self._whole()}
        yield {"type": "response.in_progress", "response": self._whole()}

    def delta(self, kind: str, text: str) -> Payload | None:
        if self._open is not None and self._open.kind == kind:
            return self._open.delta(text)
        return {} if kind == "arguments" or (kind == "reasoning" and self._reasoning is None) else None

    def describe(self, event: Event) -> Iterable[Payload]:
        match event:
            case MessageStart():
                self._has_text = False
            case ReasoningDelta(text=text) if self._reasoning is not None:
                return self._open_text(self._reasoning, dict(self._reasoning_fields), text)
            case ContentDelta(text=text, channel=channel):
                return self._open_text(Message, options.phase(channel), text)
            case ToolCallStart() if self._calls_shown is None or self._calls < self._calls_shown:
                opened = self._call_of(event)  # first, since callbacks may raise
                self._calls += 1
                return [*self._close(), *self._opened(opened)]
            case ToolCallDelta(arguments=arguments):
                self._keep("arguments", arguments)  # of a call whose arguments the API does not stream
            case ToolCallEnd(complete=complete) if self._open is not None and self._open.kind == "arguments":
                return self._close(complete)
            case MessageEnd(start=start, stop=stop):
                return self._close(not self._cut or start < stop)
            case StreamEnd(reason=reason):
                self._stop(reason)
        return ()  # what is hidden, and what the API has no word for

    def _stop(self, reason: str | None) -> None:
        self._ending = options.ending(reason)

    def ran(self, run: ToolRun) -> Iterable[Payload]:
        return [*(self._close() if self._runs.begins(run) else ()), *self._runs.take(run)]

    @cached_property
    def _runs(self) -> RunItems:
        return RunItems(self._output, self._item_id)

    def _open_text(self, item: type[Text], fields: Payload, text: str) -> Iterable[Payload]:
        begun = self._begun(text)
        if begun is None:
            return ()
        self._has_text = True
        index = self._next_index
        opened = item(self._item_id(item.type, index), index, fields)
        made = [*self._close(), *self._opened(opened), opened.delta(begun)]
        self._keep(item.kind, begun)
        return made

    def _opened(self, item: Item) -> Iterable[Payload]:
        self._open = item
        return item.added()

    @property
    def _next_index(self) -> int:
        return len(self._output) + (self._open is not None)

    def _call_of(self, call: ToolCallStart) -> Item:
        index, type = self._next_index, self._type_of(call)
        id = self._item_id(type, index)
        if type in ("function_call", "custom_tool_call"):
            fields: Payload = {"call_id": self._call_ids.take(call.id, self._calls), "name": call.name}
        elif type == "code_interpreter_call":
            fields = {"container_id": self._container_id, "outputs": None}
        elif type == "mcp_call":
            server, _, name = call.name.partition(".")
            fields = {"server_label": server, "name": name or server}
        else:
            fields = {"name": call.name}
        return CALLS[type](id, index, fields)

    def _type_of(self, call: ToolCallStart) -> str:
        if self._item_type is None:
            return item_type(call, self._tools)
        type: str = self._item_type(call)
        if type not in list(CALLS):  # a list, for what cannot be hashed
            raise ValueError(f"item_type gave {type!r}: it is one of {', '.join(CALLS)}")
        return type

    def _close(self, complete: bool = True) -> Iterable[Payload]:
        item, self._open = self._open, None
        if item is None:
            return ()
        text = self._take(item.kind)
        made = item.done(text, complete)
        self._output.append(copy.deepcopy(made[-1]["item"]) if self._keeps_text else made[-1])
        return made

    def _closing_bytes(self, usage: Payload | None) -> bytes:
        """What is done need not be made anew: the script has it as JSON."""
        if not self._is_scripted or self._ending["status"] == "failed":
            return super()._closing_bytes(usage)
        self._head_json = self._head_written
        self._usage = self._whole_usage(usage or {})
        (payload,) = self._numbered([self._ended(HOLE["w"])])
        before, _, after = self.framed(payload).partition(f'"{HOLE["w"]}"')
        return f"{before}[{self._output_written[1:]}]{after}".encode()

    def closing(self, usage: Payload | None) -> Iterable[Payload]:
        self._catch_up()
        yield from self._runs.cut()
        self._usage = self._whole_usage(usage or {})
        if self._ending["status"] == "failed":
            yield options.error(**self._ending["error"])
        yield self._ended(self._output)

    def _ended(self, output: Any) -> Payload:
        return {"type": f"response.{self._ending['status']}", "response": {**self._whole(), "output": output}}

    def _whole_usage(self, usage: Payload) -> Payload | None:
        return options.whole_usage(usage, self.parser.usage, in_text=self.in_text)

    def framed(self, payload: Payload) -> str:
        """A response is sent three times. Its head, which may be as long as the request, becomes JSON once."""
        if "response" not in payload:
            return super().framed(payload)
        self._head_json = self._head_json or to_json(self._head)[1:-1]
        state = {name: payload["response"][name] for name in _STATE}
        before, opened, after = super().framed({**payload, "response": state}).partition('"response":{')
        return f"{before}{opened}{self._head_json},{after}"

    # --- the end ---

    def checked_usage(self, usage: Payload | None) -> Payload | None:
        return None if usage is None else counted(usage, RESPONSES)

    def _prepare_end(self, reason: str | None) -> None:
        cut = reason not in options.WHOLE
        if cut and self._is_scripted:
            self._cut_from_here()
        else:
            self._cut = cut

    def events(
        self, tokens: Any = None, /, *, finish: bool = False, reason: Any = None, usage: Payload | None = None
    ) -> list[Payload]:
        self._cut = finish and normal(reason) not in options.WHOLE
        return options.owned(super().events(tokens, finish=finish, reason=reason, usage=usage))

    def error(self, message: str, *, type: str | None = None, code: str | None = None) -> bytes:
        """The frames that end a stream that cannot go on: the open item as it is, `error`, response.failed.

        Empty if it has ended. The API has no field for an error's type, so it is sent beside the code.
        """
        return self._last_bytes(self._failing(message, type, code))

    def error_events(self, message: str, *, type: str | None = None, code: str | None = None) -> list[Payload]:
        """The payloads of error()."""
        return options.owned(self._last_payloads(self._failing(message, type, code)))

    def _failing(self, message: str, type: str | None, code: str | None) -> Iterable[Payload]:
        if self._number == 0:
            yield from self.opening()  # clients want to know first what failed
        yield from (*self._close(complete=False), *self._runs.cut())
        self._ending = options.failed(message, code or "server_error")
        yield options.error(message, code or "server_error", type)
        yield {"type": "response.failed", "response": self._whole()}

    # --- the whole ---

    def response(self) -> Payload:
        """The response as it would be without streaming, with the items that are done. ValueError without its text."""
        self._check_kept()
        self._catch_up()
        return copy.deepcopy(self._whole())

    def _whole(self) -> Payload:
        ending = {"error": None, "incomplete_details": None, **self._ending}
        return {**self._head, **ending, "output": [*self._output], "usage": self._usage}


@lru_cache(maxsize=256)
def _script(reasoning: Any, custom: bool, shown: int | None) -> Script:
    """Made once for all streams of a shape. custom: Python must look at each call's name."""
    stream = ResponsesStream(idle(), id=HOLE["a"], model=HOLE["l"], created=0)
    stream._reasoning, stream._calls_shown = reasoning, shown
    stream._head["created_at"], stream._head_json = HOLE["c"], HOLE["h"]
    items: list[tuple[type[Item], int, Payload]] = []
    for number, channel in enumerate(CHANNELS):
        items += [(Message, number, options.phase(channel)), *([(reasoning, number, {})] if reasoning else ())]
    if not custom:
        items.append((CALLS["function_call"], 0, {"call_id": HOLE["d"], "name": HOLE["m"]}))
    made = [(item(options.made_id(HOLE["s"], item.type, HOLE["i"]), 0, given), at) for item, at, given in items]
    frames: Frames = {("delta", "reasoning", number): NOTHING for number in range(len(CHANNELS))}
    for item, number in made:
        item.index = HOLE["i"]  # type: ignore[assignment]
        frames["begin", item.kind, number] = stream._parts(*item.added())
        frames["delta", item.kind, number] = stream._parts(item.delta(HOLE["t"]) or {})
        for end, kept, complete in (("end", "item", True), ("cut", "cut item", False)):
            ends = item.done(HOLE["w"], complete)
            frames[kept, item.kind, number] = cut("," + to_json(ends[-1]["item"]))
            frames[end, item.kind, number] = stream._parts(*ends)
    head, opening = cut(to_json(stream._head)[1:-1]), stream._parts(*stream.opening())
    shown = stream._calls_shown
    closing = ends_of(_completed(), dict.fromkeys(options.WHOLE[:3], ("", "")))
    more = {**closing, "call_id": call_id_parts("call")}
    return Script(frames, opening, head, NOTHING, shown=shown, functions=True, **more)


def _completed() -> tuple[Parts, Parts]:
    """The last event of a response that is complete, with counts and with a usage."""
    stream = ResponsesStream(idle(), id="", model="", created=0)
    stream._head_json, stream._ending = HOLE["h"], options.COMPLETED
    counts = {"input_tokens": HOLE["x"], "output_tokens": HOLE["p"], "total_tokens": HOLE["y"]}
    details: Payload = {"output_tokens_details": {"reasoning_tokens": HOLE["q"]}}
    ends = []
    for usage in ({**(stream._whole_usage({}) or {}), **counts, **details}, HOLE["u"]):
        stream._usage = usage  # type: ignore[assignment]
        ends.append(stream._parts(stream._ended([HOLE["o"]])))
    return ends[0], ends[1]
