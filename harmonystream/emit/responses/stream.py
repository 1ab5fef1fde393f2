"""OpenAI's Responses, streamed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, Literal

from ..._moved import renamed
from ..._native.core.vocab import Vocab
from ..._native.stream.parser import Parser
from ..._native.wire.template import Templates
from ...checks import check_flag
from ...events import ToolCallStart
from ...formats import Format
from ..common.payload import Payload, checked, sendable, to_json
from ..common.request import called, shown_calls
from ..common.state import Callbacks, State
from ..common.stream import Call, Constants, EventStream
from ..common.tool_run import ToolRun
from ..common.usage import RESPONSES, counted
from . import options
from .items import CALLS, Reasoning, Summary, action_of, declared, item_type
from .logprobs import TextLogprobs
from .runs import RunItems
from .templates import VARIANTS, templates_of

__all__ = ["ResponsesStream"]

_STATE = ("status", "error", "incomplete_details", "output", "usage")  # the fields that its head does not have
_NOTHING: Payload = {}
_NOTHING_GIVEN = (_NOTHING, _NOTHING)


class ResponsesStream(EventStream):
    """The events of one response.

    Call `start()`, then `feed(ids)` or `feed_text(text)` as output comes, then `finish(reason, usage)`. Each returns
    the SSE frames that are ready, as bytes. `events()` returns dicts instead, and `response()` the whole answer.

    parser: a Parser that has read nothing yet, or a format. With a format, `vocab` and `tools` go to its parser.
    id, model, created: fields of the response; `created_at` is in seconds since 1970.
    request: the request's fields, or its whole body. The response repeats some of them. tool_choice "none" hides calls,
    parallel_tool_calls False hides all but the first, and `tools` decides which calls have items of their own.
    reasoning: "text" or "summary" chooses the events that stream the reasoning. True streams a summary if the request
    asks for one, and else the text. False hides reasoning.
    encrypt: a function that takes the text of a reasoning item and returns its `encrypted_content`. It is called if the
    request's `include` asks for that.
    item_type: a function that takes a call's first event and returns the type of its item.
    item_id: a function that takes an item's type and output index and returns its id. By default the id is derived from
    the response's id.
    call_id: a function that takes a call's index and returns its id. It is used if the model gives no id, or repeats
    one.
    taken: the ids of calls in the request's input (`call_ids_of`). No call of this response gets one of them.
    keep_text: False forgets an item's text after its end. Use it for a stream inside another stream: it ends with
    flush(), and finish() and response() raise ValueError.
    container_id: the container of code interpreter calls.
    extra: more fields of the response.

    Raises TypeError or ValueError for an option that is not as described, and for a parser that has read something.
    """

    numbered: ClassVar[str | None] = "sequence_number"
    id: str
    model: str
    created_at: float
    _api = b"r"
    _time = "created_at"
    _time_types = (int, float)
    _reasoning: type[Reasoning] | None = Reasoning
    _repeated: tuple[Payload, Payload] = _NOTHING_GIVEN  # fields repeated from the request, and more fields
    _tools: frozenset[tuple[str, str]] | None = None
    _own_item_id: Callable[[str, int], str] | None = None
    _item_type: Callable[[ToolCallStart], str] | None = None
    _container_id = "auto"
    _encrypt: Callable[[str], str] | None = None  # set if the request asks for it
    _counts = RESPONSES.read, RESPONSES.written, "total_tokens"
    _logprobs: TextLogprobs | None = None  # None until a call gives some
    _calls_shown: int | None = None
    _encrypts = False  # True while `encrypt` runs: if it raises, error() does not call it again
    _failed: Payload | None = None  # the error that error() sent
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
            more = item_id is not None or item_type is not None
            self._always_asked |= self._question_bits(False, more, item_id is not None)
        if keep_text is not True:
            check_flag("keep_text", keep_text)
            self._keeps_text, self._ends_whole = False, True
            self._forget_texts()

    def _ask(self, request: Any, reasoning: Any, encrypt: Callable[[str], str] | None, more: Payload) -> None:
        """Set what the request and the caller ask for."""
        if not isinstance(request or {}, Mapping):
            raise TypeError(f"request is a mapping, not {request.__class__.__name__}: of a model, model_dump()")
        asked = request or {}
        self._reasoning = options.reasoning_item(reasoning, asked)
        wanted = asked.get("include") or ()
        if called("encrypt", encrypt) and isinstance(wanted, (list, tuple)) and options.ENCRYPTED in wanted:
            self._encrypt = encrypt
        echoed = sendable({name: asked[name] for name in options.ECHOED if asked.get(name) is not None})
        self._repeated = echoed, {name: value for name, value in more.items() if name not in _STATE}
        self._tools = declared(echoed.get("tools"))
        if any(type == "custom" for type, _ in self._tools or ()):
            self._always_asked |= self._question_bits(False, True, False)
        self._calls_shown = shown_calls(echoed.get("tool_choice"), echoed.get("parallel_tool_calls", True))

    def _forget_texts(self) -> None:
        self._keep_none()  # the events that end an item have its text

    # --- made on first use, because most responses need it at their end, or never ---

    @cached_property
    def _head(self) -> Payload:
        own: Payload = {**options.head(self.id, self.created_at, self.model), **self._repeated[0]}
        return own | self._repeated[1] | own  # these fields come first, and `extra` cannot change them

    @property
    def _stem(self) -> str:
        return self.id.removeprefix("resp_")

    @cached_property
    def _item_id(self) -> Callable[[str, int], str]:
        return self._own_item_id or partial(options.made_id, self._stem)

    # --- what is sent ---

    def _constants(self) -> Constants:
        number = str(self.created_at) if type(self.created_at) is int else to_json(self.created_at)
        head = None if self._repeated is _NOTHING_GIVEN else to_json(self._head)[1:-1]
        return self.id, number, self.id.removeprefix("resp_"), self.model, head

    def _templates(self) -> Templates:
        own_ids, tokens = self._own_item_id is not None, self._logprobs is not None
        reasoning: Any = self._reasoning
        return templates_of(reasoning, self._encrypt is not None, own_ids, self._calls_shown, tokens)

    def _answer_item(self, kind: str, item: int) -> str:
        return self._item_id("message" if kind == "content" else "reasoning", item)

    def _answer_call(self, event: ToolCallStart, index: int, item: int) -> Call:
        type, name = self._type_of(event), event.name
        id = "" if self._own_item_id is None else self._own_item_id(type, item)
        if type in ("function_call", "custom_tool_call"):
            call_id = self._call_ids.decide(event.id, index)
            if type == "function_call":
                return 0, name, call_id, "", id, None
            fields: Payload = {"call_id": call_id, "name": name}
        elif type == "code_interpreter_call":
            fields = {"container_id": self._container_id, "outputs": None}
        elif type == "mcp_call":
            server, _, tool = name.partition(".")
            fields = {"server_label": server, "name": tool or server}
        else:
            fields = {"action": action_of(name, "")}
        return VARIANTS[type], name, "", f",{to_json(fields)[1:-1]}", id, None

    def _type_of(self, call: ToolCallStart) -> str:
        if self._item_type is None:
            return item_type(call, self._tools)
        type: str = self._item_type(call)
        if type not in list(CALLS):  # in a list, because the type may not be hashable
            raise ValueError(f"item_type gave {type!r}: it is one of {', '.join(CALLS)}")
        return type

    def _answer_end(self, kind: str, text: str, name: str) -> tuple[str, str, str]:
        if kind == "arguments":
            return f',"action":{to_json(action_of(name, text))}', "", ""
        if kind == "content":
            return ("", *(("", "") if self._logprobs is None else self._logprobs.of_text()))
        if self._encrypt is None or not text or self._encrypts:
            return "", "", ""
        self._encrypts = True
        content = to_json(checked("encrypted content", self._encrypt(text)))
        self._encrypts = False
        return f',"encrypted_content":{content}', "", ""

    def _answer_reason(self, reason: str | None, calls: int) -> tuple[str, str]:
        ending = options.ending(reason)
        return ending["status"], options.beside(ending)

    def _usage_json(self, usage: Payload | None) -> str:
        return to_json(self._whole_usage(usage or {}))

    def _whole_usage(self, usage: Payload) -> Payload | None:
        return options.whole_usage(usage, self.parser.usage, in_text=self.in_text)

    def _last(self, usage: Payload | None) -> bytes:
        frames = self._cut_runs()
        self._usage = self._whole_usage(usage or {})
        ending = options.ending(self._end_reason)
        if ending["status"] == "failed":
            frames += self._bytes([options.error(**ending["error"])])
        return frames + self._close_with(to_json(self._usage))

    # --- calls that run here ---

    def _ran(self, run: ToolRun) -> bytes:
        begins = self._runs.begins(run)
        frames: bytes = self._end_open(True) if begins else b""
        items = json.loads(self._items())
        payloads = self._runs.take(run, self._items_so_far, items)
        self._put_items(to_json(items), begins)
        return frames + self._bytes(payloads)

    def _cut_runs(self) -> bytes:
        """The events that end the runs that are still open."""
        if "_runs" not in self.__dict__:
            return b""
        items = json.loads(self._items())
        payloads = self._runs.cut(items)
        self._put_items(to_json(items), 0)
        return self._bytes(payloads)

    @cached_property
    def _runs(self) -> RunItems:
        return RunItems(self._item_id)

    # --- moving ---

    def _given_options(self) -> tuple[Payload, Callbacks]:
        kinds: dict[Any, bool | str] = {None: False, Reasoning: "text", Summary: "summary"}
        encrypt = self._encrypt
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
        return {"tokens": None if self._logprobs is None else self._logprobs.state()}

    def _restore(self, state: State) -> None:
        tokens = state.fields("tokens")
        if tokens:
            self._logprobs, self._watched = TextLogprobs(), True
            self._logprobs.restore(State(tokens))

    # --- logprobs ---

    def _feed_with(self, ids: Any, logprobs: Sequence[Payload] | None) -> bytes:
        """Read the ids one by one, so that a delta's tokens do not depend on how many ids arrive at once."""
        taken = self._listed(ids)
        if logprobs is not None and len(logprobs) != len(taken):
            raise ValueError(f"{len(logprobs)} logprobs for {len(taken)} tokens: pass one for each")
        if self._logprobs is None:
            self._logprobs = TextLogprobs()
            self._change_templates(self._templates())
        self._logprobs.take_in(self.parser.position, len(taken), logprobs or ())
        return b"".join(map(self._read, taken))

    def _answer_tokens(self, start: int, stop: int, last: bool) -> tuple[str, str]:
        return "[]" if self._logprobs is None else self._logprobs.of(start, stop), ""

    def _tokens_written(self, delta: bool, used: bool) -> None:
        if used and self._logprobs is not None:
            self._logprobs.written()

    # --- the end ---

    def checked_usage(self, usage: Payload | None) -> Payload | None:
        return None if usage is None else counted(usage, RESPONSES)

    def _prepare_end(self, reason: str | None) -> None:
        self._cut = reason not in options.WHOLE

    def error(self, message: str, *, type: str | None = None, code: str | None = None) -> bytes:
        """The frames that end a stream after a failure: the end of the open item, `error`, and response.failed.

        Empty if the stream has ended. The API has no field for an error's type, so the type is sent beside the code.
        """
        if self.ended:
            return b""
        opening = self._open_response(False, fresh=False) if self.is_new else b""  # clients want to know what failed
        frames = opening + self._over() + self._end_open(False) + self._cut_runs()
        code = code or "server_error"
        self._failed = options.failed(message, code)
        failed = {"type": "response.failed", "response": self._whole()}
        return frames + self._bytes([options.error(message, code, type), failed])

    def error_events(self, message: str, *, type: str | None = None, code: str | None = None) -> list[Payload]:
        """The payloads of error()."""
        return self._failure(self.error(message, type=type, code=code))

    # --- the whole ---

    def response(self) -> Payload:
        """The response as it would be without streaming, with the finished items.

        Raises ValueError if the text was not kept.
        """
        self._check_kept()
        whole: Payload = json.loads(to_json(self._whole()))
        return whole

    def _whole(self) -> Payload:
        ending = options.OPEN if self._word is None else options.ending(self._end_reason)
        ending = {"status": "", "error": None, "incomplete_details": None, **(self._failed or ending)}
        plain = self._plain_usage
        usage = self._usage if plain == () else self._whole_usage(counted(plain, RESPONSES) or {})
        return {**self._head, **ending, "output": json.loads(self._items()), "usage": usage}
