"""The official clients in front of the gateway: loops of tools, clients that leave, and answers that break."""

from __future__ import annotations

import asyncio
import json

import anthropic
import openai
import pytest
from gateways import ASKED, GPT_OSS, chunk, gateway, ids_of, serving
from upstream import DROP, HANG, Upstream
from wire_server import Clients

import harmonystream as hs
from harmonystream.engines import Recorded
from harmonystream.gateway import app
from harmonystream.gateway.generating.demo import DEMO_NAME, demo_model
from harmonystream.gateway.limits import Limits

ANSWER = hs.parse(Recorded().turns[1]["ids"])
ARGUMENTS = {"city": "成都", "day": "tomorrow", "hourly": False}
RESULT = '{"morning": "drizzle"}'
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "day": {"type": "string"}, "hourly": {"type": "boolean"}},
}


@pytest.fixture(scope="module")
def clients():
    """Of a recorded model that calls get_forecast, and answers when it has the result."""
    with serving(app([demo_model(delay=0)])) as url:
        made = Clients(url)
        with made.openai, made.anthropic:
            yield made


def test_a_loop_of_chat(clients):
    messages = [{"role": "user", "content": "Rain?"}]
    tools = [{"type": "function", "function": {"name": "get_forecast", "parameters": PARAMETERS}}]
    for _ in range(2):
        with clients.openai.chat.completions.stream(model=DEMO_NAME, messages=messages, tools=tools) as stream:
            message = stream.get_final_completion().choices[0].message
        if not message.tool_calls:
            break
        (call,) = message.tool_calls
        assert json.loads(call.function.arguments) == ARGUMENTS
        messages += [
            message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": RESULT},
        ]
    assert (message.content, message.reasoning) == (ANSWER.content, ANSWER.reasoning)


@pytest.mark.parametrize("streamed", [False, True])
def test_thoughts_that_are_omitted_come_back_in_their_signature(streamed):
    thought = "<|channel|>analysis<|message|>SECRET plan.<|end|>"
    header = "<|start|>assistant<|channel|>commentary to=functions.get_forecast <|constrain|>json<|message|>"
    call = header + '{"city": "R"}<|call|>'
    with gateway([chunk(ids_of(thought + call), "stop")]) as made, made.clients() as clients:
        asked = {"model": GPT_OSS, "max_tokens": 999, "thinking": {"type": "adaptive", "display": "omitted"}}
        asked["tools"] = [{"name": "get_forecast", "input_schema": PARAMETERS}]
        messages = [{"role": "user", "content": "Rain?"}]
        if streamed:
            with clients.anthropic.messages.stream(messages=messages, **asked) as events:
                message = events.get_final_message()
        else:
            message = clients.anthropic.messages.create(messages=messages, **asked)
        block, called = message.content
        assert (block.type, block.thinking, called.input) == ("thinking", "", {"city": "R"})
        assert "SECRET" not in message.model_dump_json()
        result = {"type": "tool_result", "tool_use_id": called.id, "content": RESULT}
        messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
        clients.anthropic.messages.create(messages=messages, **asked)
        prompt = b"".join(map(hs.vocab.o200k_harmony().token_bytes, made.sent()["prompt"])).decode()
        assert thought in prompt


NAMED = {"type": "object", "properties": {"city": {"type": "string"}}}


@pytest.mark.parametrize("name", ["get_forecast", "Weather"])
@pytest.mark.parametrize("choice", ["named", "required"])
def test_a_forced_call_has_the_recorded_arguments(clients, name, choice):
    tools = [{"type": "function", "function": {"name": name, "parameters": NAMED}}]
    messages = [{"role": "user", "content": "Rain?"}]
    forced = {"type": "function", "function": {"name": name}} if choice == "named" else "required"
    asked = {"model": DEMO_NAME, "messages": messages, "tools": tools, "tool_choice": forced}
    (whole,) = clients.openai.chat.completions.create(**asked).choices
    with clients.openai.chat.completions.stream(**asked) as stream:
        streamed = stream.get_final_completion().choices[0].message
    block = clients.anthropic.messages.create(
        model=DEMO_NAME,
        max_tokens=999,
        messages=messages,
        tools=[{"name": name, "input_schema": NAMED}],
        tool_choice={"type": "tool", "name": name} if choice == "named" else {"type": "any"},
    ).content[-1]
    for call in (whole.message.tool_calls[0], streamed.tool_calls[0]):
        assert (call.function.name, json.loads(call.function.arguments)) == (name, ARGUMENTS)
    assert (block.name, block.input) == (name, ARGUMENTS)
    assert whole.message.reasoning == streamed.reasoning == hs.parse(Recorded().turns[0]["ids"]).reasoning


@pytest.mark.parametrize("way", ["items", "references", "previous_response_id", "encrypted"])
def test_a_loop_of_responses(clients, way):
    """In each way in which a client may send back what was said."""
    tools = [{"type": "function", "name": "get_forecast", "parameters": PARAMETERS, "strict": False}]
    more = {"store": False, "include": ["reasoning.encrypted_content"]} if way == "encrypted" else {}
    items = [{"role": "user", "content": "Rain?"}]
    with clients.openai.responses.stream(model=DEMO_NAME, input=items, tools=tools, **more) as stream:
        first = stream.get_final_response()
    (call,) = (item for item in first.output if item.type == "function_call")
    assert json.loads(call.arguments) == ARGUMENTS
    result = {"type": "function_call_output", "call_id": call.call_id, "output": RESULT}
    if way == "previous_response_id":
        more, items = {"previous_response_id": first.id}, []
    elif way == "references":
        items += [{"type": "item_reference", "id": item.id} for item in first.output]
    else:
        items += [item.model_dump(exclude_none=True) for item in first.output]
    second = clients.openai.responses.create(model=DEMO_NAME, input=[*items, result], tools=tools, **more)
    assert second.output_text == ANSWER.content
    (thought,) = (item for item in second.output if item.type == "reasoning")
    assert thought.summary[0].text == ANSWER.reasoning
    assert (thought.encrypted_content is not None) is (way == "encrypted")


def test_the_tool_runner_of_messages(clients):
    """It asks for a thread first, must be refused, and goes on."""
    called = []

    @anthropic.beta_tool
    def get_forecast(city: str, day: str, hourly: bool) -> str:
        """The forecast of a day."""
        called.append({"city": city, "day": day, "hourly": hourly})
        return RESULT

    runner = clients.anthropic.beta.messages.tool_runner(
        model=DEMO_NAME, max_tokens=999, messages=[{"role": "user", "content": "Rain?"}], tools=[get_forecast]
    )
    *_, last = runner
    assert called == [ARGUMENTS]
    assert [block.type for block in last.content] == ["thinking", "text"]
    assert last.content[1].text == ANSWER.content


# --- clients that leave -------------------------------------------------------------------------------------------

HALF = [chunk([tid]) for tid in ids_of("<|channel|>final<|message|>Half an answer")]


def first_piece(clients, api):
    """A stream that has begun, and the way to leave it."""
    if api == "chat":
        stream = clients.openai.chat.completions.create(model=GPT_OSS, stream=True, **ASKED[api])
    elif api == "responses":
        stream = clients.openai.responses.create(model=GPT_OSS, stream=True, **ASKED[api])
    else:
        stream = clients.anthropic.messages.create(model=GPT_OSS, stream=True, **ASKED[api])
    next(iter(stream))
    return stream


@pytest.mark.parametrize("api", ASKED)
def test_a_client_that_leaves_in_mid_stream_frees_the_engine(api):
    with gateway([*HALF, HANG]) as made, made.clients() as clients:
        first_piece(clients, api).close()
        assert made.settled()
    assert made.engines[0].gone == 1


def test_a_cancelled_task_of_an_async_client_frees_the_engine():
    async def main(url):
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            stream = await client.chat.completions.create(model=GPT_OSS, stream=True, **ASKED["chat"])
            began = asyncio.Event()

            async def read():
                async for _ in stream:
                    began.set()

            reading = asyncio.ensure_future(read())
            await began.wait()
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            await stream.close()

    with gateway([*HALF, HANG]) as made:
        asyncio.run(main(made.url))
        assert made.settled()
    assert made.engines[0].gone == 1


# --- answers that break -------------------------------------------------------------------------------------------

BREAKS = {"drops": ([DROP], 5.0, "engine_unavailable"), "falls silent": ([HANG], 0.1, "engine_timeout")}


@pytest.mark.parametrize("fault", BREAKS)
def test_an_answer_that_breaks_is_an_error_of_the_client(fault):
    script, silence, code = BREAKS[fault]
    engine = Upstream([*HALF, *script])
    with gateway(engine, app_options={"limits": Limits(silence=silence)}) as made, made.clients() as clients:
        texts = []
        with pytest.raises(openai.APIError) as caught:
            for one in clients.openai.chat.completions.create(model=GPT_OSS, stream=True, **ASKED["chat"]):
                texts.append(one.choices[0].delta.content or "")
        assert caught.value.code == code
        assert "".join(texts) == "Half an answer"
        with pytest.raises(openai.APIError), clients.openai.responses.stream(model=GPT_OSS, input="?") as events:
            events.get_final_response()
        with pytest.raises(anthropic.APIStatusError) as broken:
            list(clients.anthropic.messages.create(model=GPT_OSS, stream=True, **ASKED["messages"]))
        assert broken.value.body["error"]["type"] in ("overloaded_error", "timeout_error")
        assert made.settled()
