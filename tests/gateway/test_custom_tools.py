"""Custom tools of Responses: the model sees what they are, and clients get their text."""

from __future__ import annotations

import json

import pytest
from gateways import GPT_OSS, JSON, gateway, ids_of, script_of, serving
from scripted import STOP, Scripted, call
from wire_server import Clients

from harmonystream.gateway import Model, app

PATCH = '*** Begin Patch\n+ "é" 🐼\\n\n*** End Patch'
GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": 'start: "*** Begin Patch" LF'}
TOOL = {"type": "custom", "name": "apply_patch", "description": "Edits files.", "format": GRAMMAR}
HEAD = "<|channel|>commentary to=functions.apply_patch <|constrain|>json<|message|>"


def harmony(text):
    return script_of(f"{HEAD}{text}<|call|>")


def whole(clients, *, stream, **more):
    asked = {"model": GPT_OSS, "input": "?", "tools": [TOOL], **more}
    if not stream:
        return clients.openai.responses.create(**asked), None
    deltas = []
    with clients.openai.responses.stream(**asked) as events:
        for event in events:
            if event.type == "response.custom_tool_call_input.delta":
                deltas.append(event.delta)
            if event.type == "response.custom_tool_call_input.done":
                assert event.input == "".join(deltas)
        return events.get_final_response(), deltas


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("written", "said"),
    [
        (json.dumps({"input": PATCH}), PATCH),
        (json.dumps({"input": PATCH}, ensure_ascii=False), PATCH),
        (PATCH, PATCH),  # a model that does not write what it should
        ('{"patch": 1}', '{"patch": 1}'),
        ("{}", "{}"),
        ('{"input": ""}', ""),
        ('{"input": 3}', '{"input": 3}'),
    ],
)
def test_a_call_has_the_text(stream, written, said):
    with gateway(harmony(written)) as made, made.clients() as clients:
        answer, deltas = whole(clients, stream=stream)
        (item,) = answer.output
        assert (item.type, item.name, item.input, item.status) == ("custom_tool_call", "apply_patch", said, "completed")
        if stream and said == PATCH and written != PATCH:
            assert len(deltas) > 5  # it comes as it is written


def test_a_call_that_is_cut_has_what_there_is():
    script = script_of(HEAD + json.dumps({"input": PATCH})[:30], "length")
    with gateway(script) as made:
        answer = made.post("responses", tools=[TOOL]).json()
        last = made.post("responses", tools=[TOOL], stream=True).text.strip().rpartition("data: ")[2]
        for whole in (answer, json.loads(last)["response"]):
            assert whole["status"] == "incomplete"
            assert whole["output"][0]["input"] == PATCH[:18]


FORMATS = {"hermes": call("apply_patch", json.dumps({"input": PATCH}))}


@pytest.mark.parametrize("harmony", [True, False])
def test_the_prompt_has_the_description_and_the_grammar_and_the_history(harmony):
    said = ids_of(HEAD + json.dumps({"input": PATCH}) + "<|call|>") if harmony else FORMATS["hermes"]
    engine = Scripted([said, STOP])
    template = (
        "{% for t in tools or [] %}{{ t.function.name }}: {{ t.function.description }} "
        "{{ t.function.parameters | tojson }}{% endfor %}{% for m in messages %}<|im_start|>"
        "{{ m.role }}\n{{ m.content }}"
        "{% for c in m.tool_calls or [] %}{{ c.function.name }} {{ c.function.arguments | tojson }}{% endfor %}"
        "<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
    )
    more = {"family": "gpt-oss"} if harmony else {"format": "hermes", "template": template}
    with serving(app([Model("m", engine, **more)])) as url:
        clients = Clients(url)
        with clients.openai, clients.anthropic:
            first = clients.openai.responses.create(model="m", input="Go", tools=[TOOL])
            text = engine.prompts[0].text
            for part in ("Edits files.", GRAMMAR["definition"], "input"):
                assert part in text
            item = first.output[-1].to_dict()
            assert item["input"] == PATCH
            result = {"type": "custom_tool_call_output", "call_id": item["call_id"], "output": "Done."}
            clients.openai.responses.create(
                model="m", input=[{"role": "user", "content": "Go"}, item, result], tools=[TOOL]
            )
            text = engine.prompts[1].text
            assert "Done." in text
            assert '"input"' in text


def test_a_grammar_is_not_promised():
    with gateway(harmony('{"input": "x"}')) as made:
        answer = made.post("responses", tools=[TOOL])
        assert "the grammar of apply_patch" in answer.headers["warning"]
        refused = made.http.post(
            "/v1/responses",
            json={"model": GPT_OSS, "input": "?", "tools": [TOOL]},
            headers={"x-unsupported": "refuse", **JSON},
        )
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "tools")
        plain = {"type": "custom", "name": "apply_patch"}
        assert "warning" not in made.post("responses", tools=[plain]).headers
        broken = {**plain, "format": {"type": "grammar", "syntax": []}}
        assert made.post("responses", tools=[broken]).status_code == 400


def test_a_custom_tool_may_be_named():
    with gateway(script_of("<|end|>"), harmony('{"input": "x"}')) as made:
        answer = made.post("responses", tools=[TOOL], tool_choice={"type": "custom", "name": "apply_patch"})
        assert answer.status_code == 200


def test_a_tool_has_the_fields_of_its_own_type():
    odd = {"type": "custom", "function": {"name": "f"}, "name": "g"}
    with gateway(script_of("<|channel|>final<|message|>Hi<|return|>")) as made:
        assert made.post("chat", tools=[odd]).status_code == 200
        assert made.post("chat", tools=[{**odd, "custom": {}}]).json()["error"]["param"] == "tools[0]"


def test_strict_is_kept_by_a_grammar_and_has_no_warning():
    tools = {
        "chat": [{"type": "function", "function": {"name": "f", "strict": True}}],
        "responses": [{"type": "function", "name": "f", "strict": True}],
        "messages": [{"name": "f", "input_schema": {"type": "object"}, "strict": True}],
    }
    with gateway(script_of("<|channel|>final<|message|>Hi<|return|>")) as made:
        for api, given in tools.items():
            made.http.headers["x-unsupported"] = "refuse"
            answer = made.post(api, tools=given)
            assert (answer.status_code, answer.headers["x-steered"]) == (200, "grammar")
            assert "warning" not in answer.headers


CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
BEGUN = [{"role": "user", "content": "One word?"}, {"role": "assistant", "content": "It is"}]


@pytest.mark.parametrize("harmony", [True, False])
def test_the_beginning_of_an_answer_is_continued(harmony):
    said = ids_of(" marmalade.<|return|>") if harmony else " marmalade."
    engine = Scripted([said, STOP])
    more = {"family": "gpt-oss"} if harmony else {"format": "hermes", "template": CHATML}
    with serving(app([Model("m", engine, **more)])) as url:
        clients = Clients(url)
        with clients.openai, clients.anthropic:
            answer = clients.anthropic.messages.create(model="m", max_tokens=9, messages=BEGUN)
            assert [block.text for block in answer.content] == [" marmalade."]
            assert engine.prompts[0].text.endswith("It is")
            more = {"continue_final_message": True, "add_generation_prompt": False}
            chat = clients.openai.chat.completions.create(model="m", messages=BEGUN, extra_body=more)
            assert chat.choices[0].message.content == " marmalade."
            assert engine.prompts[1].text.endswith("It is")
            clients.openai.chat.completions.create(model="m", messages=BEGUN)
            assert not engine.prompts[2].text.endswith("It is")


def test_a_form_is_moot_where_a_call_must_come():
    """As instructor asks for in its mode RESPONSES_TOOLS."""
    form = {"format": {"type": "json_schema", "name": "a", "schema": {"type": "object"}}}
    tools = [{"type": "function", "name": "add", "parameters": {"type": "object"}}]
    engine = Scripted([' {"name": "add", "arguments": {"a": 1}}\n</tool_call>', STOP])
    model = Model("m", engine, format="hermes", template=CHATML.replace("{% if add", "{{ tools }}{% if add"))
    with serving(app([model])) as url:
        clients = Clients(url)
        with clients.openai, clients.anthropic:
            asked = {"model": "m", "input": "?", "text": form, "tools": tools}
            answer = clients.openai.responses.create(**asked, tool_choice={"type": "function", "name": "add"})
            assert json.loads(answer.output[-1].arguments) == {"a": 1}


# --- Chat Completions ---

IN_CHAT = {
    "type": "custom",
    "custom": {
        "name": "apply_patch",
        "description": "Edits files.",
        "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": GRAMMAR["definition"]}},
    },
}
WRITTEN = [
    (json.dumps({"input": PATCH}), PATCH),
    (json.dumps({"input": PATCH}, ensure_ascii=False), PATCH),
    (PATCH, PATCH),
    ('{"patch": 1}', '{"patch": 1}'),
    ('{"input": ""}', ""),
]


def calls_of(frames):
    """The calls of a stream, put together as clients do."""
    calls = {}
    for line in frames.split("\n\n"):
        data = json.loads(line.removeprefix("data: ")) if line.startswith("data: {") else {"choices": []}
        for choice in data["choices"]:
            for piece in choice["delta"].get("tool_calls", ()):
                call = calls.setdefault((choice["index"], piece["index"]), {"id": piece.get("id"), "pieces": 0})
                call["type"] = piece.get("type", call.get("type"))
                call["pieces"] += 1
                for name, text in (piece.get("custom") or piece.get("function")).items():
                    call[name] = call.get(name, "") + text
    return list(calls.values())


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize(("written", "said"), WRITTEN)
def test_a_call_in_chat_has_the_text(written, said, n):
    with gateway(harmony(written)) as made:
        choices = made.post("chat", tools=[IN_CHAT], n=n).json()["choices"]
        for choice in choices:
            (call,) = choice["message"]["tool_calls"]
            assert (call["type"], call["custom"]) == ("custom", {"name": "apply_patch", "input": said})
            assert choice["finish_reason"] == "tool_calls"
        found = calls_of(made.post("chat", tools=[IN_CHAT], n=n, stream=True).text)
        assert [(call["type"], call["name"], call["input"]) for call in found] == [("custom", "apply_patch", said)] * n
        assert said != PATCH or written == PATCH or found[0]["pieces"] > 5  # it comes as it is written


def test_a_call_in_chat_that_is_cut_has_what_there_is():
    with gateway(script_of(HEAD + json.dumps({"input": PATCH})[:30], "length")) as made:
        (choice,) = made.post("chat", tools=[IN_CHAT]).json()["choices"]
        assert choice["message"]["tool_calls"][0]["custom"]["input"] == PATCH[:18]
        (call,) = calls_of(made.post("chat", tools=[IN_CHAT], stream=True).text)
        assert call["input"] == PATCH[:18]


def test_the_official_client_sends_a_custom_call_of_chat_back():
    engine = Scripted([ids_of(HEAD + json.dumps({"input": PATCH}) + "<|call|>"), STOP])
    with serving(app([Model("m", engine, family="gpt-oss")])) as url:
        clients = Clients(url)
        with clients.openai, clients.anthropic:
            asked = {
                "model": "m",
                "tools": [IN_CHAT],
                "tool_choice": {"type": "custom", "custom": {"name": "apply_patch"}},
            }
            messages = [{"role": "user", "content": "Go"}]
            first = clients.openai.chat.completions.create(messages=messages, model="m", tools=[IN_CHAT])
            said = first.choices[0].message
            (call,) = said.tool_calls
            assert (call.type, call.custom.input) == ("custom", PATCH)
            text = engine.prompts[0].text
            assert all(part in text for part in ("Edits files.", GRAMMAR["definition"], "input"))
            messages += [said.to_dict(), {"role": "tool", "tool_call_id": call.id, "content": "Done."}]
            clients.openai.chat.completions.create(messages=messages, **asked)
            assert json.dumps({"input": PATCH}, ensure_ascii=False) in engine.prompts[1].text
            assert "Done." in engine.prompts[1].text


def test_a_function_beside_a_custom_tool_stays_one():
    function = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    with gateway(
        script_of('<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"input": "x"}<|call|>')
    ) as made:
        (choice,) = made.post("chat", tools=[IN_CHAT, function]).json()["choices"]
        assert choice["message"]["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"input": "x"}'}
        (call,) = calls_of(made.post("chat", tools=[IN_CHAT, function], stream=True).text)
        assert (call["type"], call["arguments"]) == ("function", '{"input": "x"}')


@pytest.mark.parametrize("written", [made for made, _ in WRITTEN])
def test_pieces_of_a_call_in_chat_say_the_same_however_they_come(written):
    import harmonystream as hs
    from harmonystream.emit.chat.offered import OfferedChat

    ids = ids_of(f"{HEAD}{written}<|call|>")
    found = set()
    for size in (1, 2, 5, len(ids)):
        for whole in (True, False):
            stream = OfferedChat(hs.Parser(), id="chatcmpl-1", model="m", created=1, custom=["apply_patch"])
            pieces = [ids[at : at + size] for at in range(0, len(ids), size)]
            if whole:
                frames = stream.start() + b"".join(map(stream.feed, pieces)) + stream.finish("stop")
                (call,) = calls_of(frames.decode())
                found.add(call["input"])
            else:
                stream.events()
                for piece in pieces:
                    stream.events(piece)
                stream.events(finish=True, reason="stop")
            found.add(stream.response()["choices"][0]["message"]["tool_calls"][0]["custom"]["input"])
    assert len(found) == 1
