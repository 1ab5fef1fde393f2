"""What the Responses API has beside its answers: input items, counts of tokens, and codes that its clients know."""

from __future__ import annotations

import asyncio
import typing

import openai
import pytest
import uvicorn
from gateways import ADD, ANSWER, CALL, GPT_OSS, JSON, gateway, script_of
from openai.types.responses import ResponseError
from upstream import Upstream
from uvicorn.server import ServerState

from harmonystream.gateway.limits import Limits
from harmonystream.gateway.operating.keys import Keys, line_of
from harmonystream.gateway.operating.server import MOST_HEAD, _bounded
from harmonystream.gateway.refused import Refused, later_error

QUESTION = [{"role": "user", "content": f"Question {at}?"} for at in range(3)]


def test_the_input_items_of_a_response():
    with gateway(script_of(ANSWER)) as made, made.clients() as clients:
        first = clients.openai.responses.create(model=GPT_OSS, input=QUESTION)
        page = clients.openai.responses.input_items.list(first.id)
        assert [item.content for item in page] == ["Question 2?", "Question 1?", "Question 0?"]
        some = clients.openai.responses.input_items.list(first.id, order="asc", limit=2)
        assert [item.content for item in some.data] == ["Question 0?", "Question 1?"]
        assert some.has_more
        assert [item.content for item in some] == [f"Question {at}?" for at in range(3)]  # the client asks for all
        later = clients.openai.responses.create(model=GPT_OSS, input="And?", previous_response_id=first.id)
        assert len(list(clients.openai.responses.input_items.list(later.id))) > 4
        with pytest.raises(openai.NotFoundError):
            clients.openai.responses.input_items.list("resp_no")
        for wrong in ("order=no", "limit=0", "limit=x", "limit=101"):
            assert made.http.get(f"/v1/responses/{first.id}/input_items?{wrong}").status_code == 400


@pytest.mark.parametrize("script", [ANSWER, CALL])
def test_a_stored_response_is_streamed_again(script):
    with gateway(script_of(script)) as made, made.clients() as clients:
        tools = [{"type": "function", "name": "add", "parameters": ADD}]
        first = clients.openai.responses.create(model=GPT_OSS, input="?", tools=tools)
        again = list(clients.openai.responses.retrieve(first.id, stream=True))
        kinds = [event.type for event in again]
        assert kinds[:2] == ["response.created", "response.in_progress"]
        assert kinds[-1] == "response.completed"
        assert again[-1].response.to_dict() == first.to_dict()
        assert [event.sequence_number for event in again] == list(range(len(again)))
        text = "".join(getattr(event, "delta", "") for event in again)
        assert text == ("HelloHi there!" if script == ANSWER else 'A tool.{"a": 1}')
        rest = list(clients.openai.responses.retrieve(first.id, stream=True, starting_after=3))
        assert rest == again[4:]


def test_the_tokens_of_an_input_are_counted():
    with gateway(script_of(ANSWER)) as made, made.clients() as clients:
        count = clients.openai.responses.input_tokens.count(model=GPT_OSS, input="How many?")
        answer = clients.openai.responses.create(model=GPT_OSS, input="How many?")
        assert (count.object, len(made.engines[0].requests)) == ("response.input_tokens", 1)
        assert count.input_tokens == len(made.sent()["prompt"])
        assert answer.usage.input_tokens in (9, count.input_tokens)  # as the engine says


def test_the_codes_of_responses_that_fail_are_known_to_clients():
    known = set(typing.get_args(ResponseError.model_fields["code"].annotation))
    for status in (400, 404, 429, 500, 502, 503, 504):
        assert later_error(Refused(status, "No.", code="engine_error"), "responses")["code"] in known


def test_a_head_is_bounded_before_any_key():
    made = uvicorn.Config(None, http=_bounded(), log_config=None, lifespan="off")
    made.load()
    sent = []

    class Transport:
        closing = False

        def get_extra_info(self, name, default=None):
            return ("127.0.0.1", 1) if name in ("peername", "sockname") else default

        def is_closing(self):
            return self.closing

        def close(self):
            self.closing = True

        def write(self, data):
            sent.append(data)

        def set_protocol(self, protocol): ...
        def pause_reading(self): ...
        def resume_reading(self): ...

    async def run():
        protocol = made.http_protocol_class(made, ServerState(), {})
        transport = Transport()
        protocol.connection_made(transport)
        protocol.data_received(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n")
        fed = 0
        while not transport.closing and fed < 1 << 22:
            protocol.data_received(b"x-a: " + b"y" * 8000 + b"\r\n")
            fed += 8000
        return fed

    assert asyncio.run(run()) <= MOST_HEAD + 16_000
    assert sent[0].startswith(b"HTTP/1.1 400")


def test_models_of_one_tokenizer_have_one_vocabulary(tmp_path):
    from families import QWEN, QWEN_PLAIN, tokenizer

    from harmonystream.engines import Recorded
    from harmonystream.gateway import Model
    from harmonystream.gateway.generating.model import Served

    tokenizer(QWEN, QWEN_PLAIN).save(str(tmp_path / "tokenizer.json"))
    options = {"tokenizer": tmp_path, "template": "{{ messages }}", "format": "hermes"}
    one, two = (Served(Model(name, Recorded(), **options)) for name in ("base", "lora"))
    assert one.vocab is two.vocab


def test_an_id_of_a_request_does_not_take_the_place_of_anothers_stream():
    keys = Keys({line_of(name, name).split()[1]: name for name in ("ann", "bob")})
    with gateway(script_of(ANSWER), app_options={"keys": keys, "inspect": True}) as made:
        for name in ("ann", "bob"):
            headers = {"x-api-key": name, "x-request-id": "same", **JSON}
            body = {"model": GPT_OSS, "input": f"{name}?"}
            assert made.http.post("/v1/responses", json=body, headers=headers).status_code == 200
        for name in ("ann", "bob"):
            shown = made.http.get("/inspect/streams/same", headers={"x-api-key": name}).json()
            assert f"{name}?" in "".join(token["text"] for token in shown["prompt"])


@pytest.mark.parametrize("streams", [False, True])
def test_the_usage_of_an_engine_of_text_counts(streams):
    usage = {"prompt_tokens": 50, "completion_tokens": 20, "total_tokens": 70}
    script = [
        {"choices": [{"index": 0, "text": "Hi there!", "finish_reason": "stop"}]},
        {"choices": [], "usage": usage},
        b"data: [DONE]\n\n",
    ]
    keys = Keys({line_of("ann", "KEY").split()[1]: "ann"})
    template = "{% for m in messages %}{{ m.content }}{% endfor %}"
    limits = Limits(tokens_per_minute=60)
    options = {"app_options": {"keys": keys, "limits": limits}, "format": "hermes", "template": template}
    with gateway(Upstream(script), **options) as made:
        headers = {"x-api-key": "KEY", **JSON}
        body = {"model": GPT_OSS, "messages": [{"role": "user", "content": "?"}], "stream": streams}
        assert made.http.post("/v1/chat/completions", json=body, headers=headers).status_code == 200
        assert made.settled()
        text = made.own.metrics.text().decode()
        assert 'kind="completion",model="openai/gpt-oss-20b"} 20.0' in text
        assert 'kind="prompt",model="openai/gpt-oss-20b"} 50.0' in text
        assert made.http.post("/v1/chat/completions", json=body, headers=headers).status_code == 429
