"""Direct streams over what they ask of vLLM: its states of requests, their queues, and the ASGI `send`.

vLLM's own classes and its server are in tests/engines/real_vllm.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from types import SimpleNamespace
from typing import Any

import pytest

from harmonystream.integrations.vllm import direct as module
from harmonystream.integrations.vllm.direct import Direct, begin, note_requests

WHO: ContextVar[str] = ContextVar("who", default="nobody")


class Queue:
    """As vLLM's collector: it joins the outputs that wait."""

    def __init__(self) -> None:
        self.output: list[Any] | None = None
        self.ready = asyncio.Event()

    def put(self, output: Any) -> None:
        self.output = [output] if self.output is None else [*self.output, output]
        self.ready.set()

    async def get(self) -> list[Any]:
        await self.ready.wait()
        self.ready.clear()
        output, self.output = self.output, None
        assert output is not None
        return output


class Detokenizer:
    """vLLM's class that makes no text."""

    token_ids: Any = ()

    @property
    def output_token_ids(self) -> Any:
        return self.token_ids


class Detokenizing(Detokenizer):
    """One that makes it."""

    def __init__(self, stop: tuple[str, ...]) -> None:
        self.stop, self.token_ids = stop, [7]

    def get_next_output_text(self, finished: bool, delta: bool) -> str:
        assert (finished, delta) == (False, True)
        return "text"


class State:
    """As vLLM's state of a request. Its queue has (ids, why it has finished)."""

    def __init__(self, queue: Queue, index: int = 0, stop: tuple[str, ...] = ()) -> None:
        self.queue, self.request_index, self.prompt_token_ids = queue, index, PROMPT
        self.streaming_input, self.stream_interval, self.sampling_mask_chunks = False, 1, []
        self.logprobs_processor = SimpleNamespace(num_logprobs=None, num_prompt_logprobs=None)
        self.output_kind = SimpleNamespace(name="DELTA")
        self.detokenizer: Any = Detokenizing(stop)

    def make_request_output(
        self, new_token_ids: list[int], pooling_output: Any, finish_reason: Any, stop_reason: Any, error: Any = None
    ) -> Any:
        return list(new_token_ids), finish_reason

    def step(self, ids: list[int], finish: Any = None) -> None:
        """What vLLM's loop does with an output of the engine's."""
        if made := self.make_request_output(ids, None, finish, None, error=None):
            self.queue.put(made)


PROMPT = [1, 2]


@pytest.fixture(autouse=True)
def vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its class of detokenizers is all that is imported of it."""
    for name in ("vllm", "vllm.v1", "vllm.v1.engine"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace())
    found = SimpleNamespace(IncrementalDetokenizer=Detokenizer)
    monkeypatch.setitem(sys.modules, "vllm.v1.engine.detokenizer", found)
    monkeypatch.setattr(module, "_LOGGED", set())


class Client:
    """The other end of `send`. While it is not `open`, `send` waits, as a server's does whose client reads slowly."""

    def __init__(self) -> None:
        self.said, self.who, self.waiting = b"", set[str](), 0
        self.open = asyncio.Event()
        self.open.set()

    async def send(self, message: Any) -> None:
        if not self.open.is_set():
            self.waiting += 1
            try:
                await self.open.wait()
            finally:
                self.waiting -= 1
        self.who.add(WHO.get())
        assert (message["type"], message["more_body"]) == ("http.response.body", True)
        self.said += message["body"]


def frames_of(_: int, ids: Any, text: str = "") -> bytes:
    return b"".join(b"%d;" % tid for tid in ids)


async def streamed(direct: Direct, queue: Queue, client: Client, woken: list[Any]) -> None:
    """The task of a request, as the plug-in's generators and the server make it."""
    try:
        while True:
            outputs = await queue.get()
            await direct.settle()
            for ids, finish in outputs:
                woken.append((ids, finish))
                if ids:
                    await client.send({"type": "http.response.body", "body": frames_of(0, ids), "more_body": True})
                if finish is not None:
                    return
            direct.resume()
    finally:
        direct.close()


def run(test: Callable[..., Any], read: Any = frames_of, *, texts: bool = False, **made: Any) -> Any:
    """Runs test(state, client, task, woken), with a stream that is under way."""

    async def running() -> Any:
        queue, client, woken = Queue(), Client(), list[Any]()
        state = State(queue, **made)
        WHO.set("the request")
        direct = Direct([state], read, client.send, copy_context(), texts=texts)
        direct.resume()
        task = asyncio.create_task(streamed(direct, queue, client, woken))
        await asyncio.sleep(0)  # the task waits for an output
        WHO.set("vLLM's loop")
        return await test(state, client, task, woken)

    return asyncio.run(running())


def test_outputs_are_sent_at_once_and_the_last_one_by_the_task():
    async def steps(state, client, task, woken):
        for tid in range(3):
            state.step([tid])
            assert client.said == frames_of(0, range(tid + 1))
        await asyncio.sleep(0)
        assert woken == [] and client.who == {"the request"}
        state.step([3], "stop")
        await task
        assert woken == [([3], "stop")] and client.said == b"0;1;2;3;"
        assert "make_request_output" not in vars(state)

    run(steps)


def test_a_slow_client_gets_everything_once_and_in_order():
    async def steps(state, client, task, woken):
        state.step([0])
        client.open.clear()
        for tid in range(1, 50):  # the first of them waits, the others join in the queue
            state.step([tid])
            if tid == 20:
                await asyncio.sleep(0.01)
        assert client.said == b"0;"
        client.open.set()
        await asyncio.sleep(0.01)
        assert client.said == frames_of(0, range(50)) and len(woken) < 50
        sent_by_task = len(woken)
        for tid in range(50, 60):
            state.step([tid])
        assert client.said == frames_of(0, range(60)) and len(woken) == sent_by_task
        client.open.clear()
        state.step([60])
        state.step([61], "length")
        await asyncio.sleep(0.01)
        client.open.set()
        await task
        assert client.said == frames_of(0, range(62)) and client.who == {"the request"}

    run(steps)


def test_what_waits_is_sent_although_nothing_follows():
    async def steps(state, client, task, woken):
        client.open.clear()
        state.step([0])
        await asyncio.sleep(0.01)
        client.open.set()
        await asyncio.sleep(0.01)
        assert client.said == b"0;" and woken == [([], None)] and client.who == {"the request"}
        state.step([], "abort")
        await task

    run(steps)


@pytest.mark.parametrize("awake", [True, False])
def test_a_client_that_leaves_while_it_is_waited_for(awake):
    """awake: the task waits for it, too."""

    async def steps(state, client, task, woken):
        client.open.clear()
        state.step([0])
        if awake:
            await asyncio.sleep(0.01)
            state.step([1])
        assert client.waiting == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert client.waiting == 0
        state.step([2])  # vLLM has not aborted it yet
        client.open.set()
        await asyncio.sleep(0.01)
        assert client.said == b"" and "make_request_output" not in vars(state)

    run(steps)


def test_an_error_of_the_parser_ends_its_stream_alone():
    def read(index, ids, text):
        if ids == [1]:
            raise ValueError("no")
        return frames_of(index, ids)

    async def steps(state, client, task, woken):
        state.step([0])
        state.step([1])
        state.step([2])
        with pytest.raises(ValueError, match="no"):
            await task
        assert client.said == b"0;"

    run(steps, read)


def test_an_error_of_send_ends_its_stream_alone():
    async def steps(state, client, task, woken):
        client.open = SimpleNamespace(is_set=lambda: 1 / 0)
        state.step([0])
        with pytest.raises(ZeroDivisionError):
            await task

    run(steps)


@pytest.mark.parametrize(("stop", "texts"), [((), False), ((), True), (("STOP",), False), (("STOP",), True)])
def test_text_is_made_if_it_is_read_or_has_stop_strings(stop, texts):
    seen = []

    async def steps(state, client, task, woken):
        assert isinstance(state.detokenizer, Detokenizing) is bool(stop or texts)
        assert state.detokenizer.output_token_ids == [7]
        state.step([0])
        state.step([1], "stop")
        await task

    run(steps, lambda index, ids, text: seen.append(text) or b"", texts=texts, stop=stop)
    assert seen == ["text" if texts else ""]


# --- which requests ---


class Serving:
    """A serving object of vLLM's. The route gives it the request."""

    def __init__(self, states: list[State], middleware: tuple[type, ...] = ()) -> None:
        self.result = SimpleNamespace(request_id="r", finished=False, prompt_token_ids=PROMPT)
        names = [f"r-{at}" for at in range(len(states))]
        self.engine_client: Any = SimpleNamespace(
            output_processor=SimpleNamespace(external_req_ids={"r": names}, request_states=dict(zip(names, states)))
        )
        app = SimpleNamespace(user_middleware=[SimpleNamespace(cls=each) for each in middleware])
        self.raw: Any = SimpleNamespace(app=app, _send=None)
        note_requests(self, "create")

    async def create(self, request: Any, raw_request: Any = None) -> Direct | None:
        return begin(self)(self.result, frames_of, False)

    def made(self, raw: bool = True) -> Direct | None:
        made: Direct | None = asyncio.run(self.create(None, self.raw if raw else None))
        return made


def serving(changes: dict[str, Any] | None = None, **more: Any) -> Serving:
    states = [State(Queue())]
    vars(states[0]).update(changes or {})
    return Serving(states, **more)


def test_a_request_of_the_server_is_direct(caplog):
    caplog.set_level("INFO", "vllm.harmonystream")
    for _ in range(2):
        assert isinstance(serving().made(), Direct)
    assert [record.message for record in caplog.records] == [
        "harmonystream_frames: streams are sent from where the engine's outputs arrive"
    ]


def test_choices_share_a_queue():
    queue = Queue()
    assert isinstance(Serving([State(queue, 0), State(queue, 1)]).made(), Direct)
    assert Serving([State(queue), State(Queue())]).made() is None  # two requests of one id


@pytest.mark.parametrize(
    "changes",
    [
        {"stream_interval": 2},
        {"streaming_input": True},
        {"sampling_mask_chunks": [1]},
        {"prompt_token_ids": [1, 2]},
        {"output_kind": SimpleNamespace(name="FINAL_ONLY")},
        {"logprobs_processor": SimpleNamespace(num_logprobs=0, num_prompt_logprobs=None)},
        {"logprobs_processor": SimpleNamespace(num_logprobs=None, num_prompt_logprobs=1)},
    ],
)
def test_a_request_that_asks_for_more_goes_the_usual_way(changes, caplog):
    caplog.set_level("INFO", "vllm.harmonystream")
    assert serving(changes).made() is None
    assert not caplog.records


def test_a_request_that_no_route_has_given_or_that_has_finished():
    assert serving().made(raw=False) is None
    finished = serving()
    finished.result.finished = True
    assert finished.made() is None
    gone = serving()
    gone.engine_client.output_processor.external_req_ids.clear()
    assert gone.made() is None


class Known:
    __module__ = "vllm.entrypoints.serve.middleware.x_request_id"


class Dispatching:
    """As starlette's BaseHTTPMiddleware, whose response is sent by a task of its own."""

    __module__ = "vllm.entrypoints.cohere.api_router"

    def dispatch(self) -> None: ...


class Foreign:
    __module__ = "somebody.middleware"


def test_a_server_on_which_nothing_is_direct_says_why_once(caplog):
    caplog.set_level("INFO", "vllm.harmonystream")
    assert isinstance(serving(middleware=(Known,)).made(), Direct)
    for each in (Dispatching, Foreign, Foreign):
        assert serving(middleware=(Known, each)).made() is None
    why = [record.message.partition("because ")[2] for record in caplog.records[1:]]
    assert [reason.partition(" may")[0] for reason in why] == [
        "the middleware vllm.entrypoints.cohere.api_router.Dispatching",
        "the middleware somebody.middleware.Foreign",
    ]


def test_another_vllm_is_left_alone(caplog):
    caplog.set_level("INFO", "vllm.harmonystream")
    other = serving()
    other.engine_client = object()
    assert other.made() is None
    (record,) = caplog.records
    assert "this vLLM differs" in record.message
