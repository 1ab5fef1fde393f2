"""Every option of the three APIs: what is read, passed on, ignored and refused, and in which form."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from gateways import ANSWER, ASKED, GPT_OSS, gateway, script_of

from harmonystream.gateway.refused import Refused, body_of, status_of
from harmonystream.gateway.requests import chat_api, messages_api, responses_api
from harmonystream.gateway.requests.options import TABLES
from harmonystream.gateway.requests.request import read_options
from harmonystream.gateway.requests.tool_choices import pick
from harmonystream.gateway.requests.unsupported import Unsupported

APIS = tuple(TABLES)


def read(api, *, rule="auto", **body):
    body, unsupported = {"model": "m", **ASKED[api], **body}, Unsupported(rule)
    if api == "responses":
        asked = responses_api.read(body, lambda kind, id: [], unsupported)
    else:
        asked = (chat_api if api == "chat" else messages_api).read(body, unsupported)
    pick(asked)
    return asked


def refusal(api, **body):
    with pytest.raises(Refused) as caught:
        read(api, **body)
    return caught.value


@pytest.mark.parametrize("api", APIS)
def test_an_unknown_option_is_passed_over_or_refused_by_its_name(api):
    assert read(api, sparkle=1).unsupported.passed == ["sparkle"]
    refused = refusal(api, rule="refuse", sparkle=1)
    assert (refused.status, refused.param, refused.code) == (400, "sparkle", "unknown_parameter")


@pytest.mark.parametrize(
    ("api", "name"),
    [
        *(("chat", name) for name in ("temperatur", "max_output_tokens", "max_new_tokens")),
        *(("messages", "stop"), ("messages", "prompt"), ("responses", "logprobs"), ("responses", "n_predict")),
    ],
)
def test_a_slip_and_another_apis_option_are_refused(api, name):
    """What the client means by it would change the answer."""
    assert refusal(api, **{name: 1}).param == name
    assert read(api, rule="ignore", **{name: 1}).unsupported.passed == [name]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("does", ["passed", "refused"])
def test_the_rule_decides_what_becomes_of_options_that_are_not_supported(api, does):
    for name, option in TABLES[api].items():
        if option.does == does:
            assert read(api, rule="ignore", **{name: ["x"]}).unsupported.passed == [name]
            assert refusal(api, rule="refuse", **{name: ["x"]}).param == name
            if does == "passed":
                assert read(api, **{name: ["x"]}).unsupported.passed == [name]


HOSTED = {
    "chat": {"type": "web_search"},
    "responses": {"type": "web_search", "external_web_access": True},
    "messages": {"type": "web_search_20250305", "name": "web_search"},
}
OWN = {
    "chat": {"type": "function", "function": {"name": "f"}},
    "responses": {"type": "function", "name": "f"},
    "messages": {"name": "f", "input_schema": {"type": "object"}},
}


@pytest.mark.parametrize("api", APIS)
def test_tools_of_the_provider_are_passed_over_beside_tools_of_the_client(api):
    asked = read(api, tools=[HOSTED[api], OWN[api]])
    assert asked.tools == [OWN[api]]
    assert asked.unsupported.passed == [f"tools[0] ({HOSTED[api]['type']})"]
    assert refusal(api, tools=[HOSTED[api]]).param == "tools[0].type"
    assert refusal(api, rule="refuse", tools=[HOSTED[api], OWN[api]]).param == "tools[0].type"


def test_tools_in_namespaces_are_offered_under_one_list_of_names():
    inner = [{"type": "function", "name": "spawn"}, {"type": "function", "name": "f"}]
    asked = read("responses", tools=[OWN["responses"], {"type": "namespace", "name": "agents", "tools": inner}])
    assert [tool["name"] for tool in asked.tools] == ["f", "spawn", "agents__f"]
    assert asked.namespaces == {"spawn": ("agents", "spawn"), "agents__f": ("agents", "f")}
    history = [{"type": "function_call", "call_id": "c", "namespace": "agents", "name": "f", "arguments": "{}"}]
    asked = read(
        "responses", input=history, tools=[OWN["responses"], {"type": "namespace", "name": "agents", "tools": inner}]
    )
    assert asked.messages[0]["name"] == "agents__f"
    assert refusal("responses", tools=[{"type": "namespace", "name": "agents", "tools": 1}]).param == "tools[0]"


@pytest.mark.parametrize(
    ("api", "name", "said"),
    [
        ("responses", "max_tokens", "Pass max_output_tokens instead."),
        ("chat", "temprature", "Did you mean temperature?"),
        ("chat", "input", "Pass messages instead."),
        ("messages", "n", "Chat Completions has it, and this API does not: leave it out."),
        ("responses", "messages", "Pass input instead."),
        ("chat", "stop_sequences", "Pass stop instead."),
        ("messages", "max_new_tokens", "Pass max_tokens instead."),
        ("responses", "n", "Chat Completions has it, and this API does not: leave it out."),
        ("messages", "sparkle", "Leave it out: the gateway does not know what it asks for."),
        ("chat", "thead", "Leave it out: the gateway does not know what it asks for."),  # `thread` is refused itself
    ],
)
def test_an_unknown_option_comes_with_a_hint(api, name, said):
    assert refusal(api, rule="refuse", **{name: 1}).message == f"Unknown option: {name}. {said}"


def test_the_hint_names_fields_with_their_path():
    message = refusal("chat", stream_options={"include_usgae": True}).message
    assert message == "Unknown option: stream_options.include_usgae. Did you mean stream_options.include_usage?"


@pytest.mark.parametrize("api", APIS)
def test_a_choice_of_a_tool_that_is_not_there_says_which_are(api):
    choice = {"type": "tool", "name": "nope"} if api == "messages" else {"type": "function", "name": "nope"}
    assert refusal(api, tool_choice=choice).message == "tool_choice names 'nope'. The tools that may be named are none."
    tools = [{"type": "custom" if api == "messages" else "function", "name": f"f{at:02}"} for at in range(12)]
    if api == "chat":
        tools = [{"type": "function", "function": {"name": tool["name"]}} for tool in tools]
    first = ", ".join(f"f{at:02}" for at in range(10))
    message = refusal(api, tools=tools, tool_choice=choice).message
    assert message == f"tool_choice names 'nope'. The tools that may be named are {first}, and 2 more."
    odd = {"type": "sometimes"}
    assert refusal(api, tool_choice=odd).message.startswith("tool_choice must be one of ")


UNSUPPORTED = ("passed", "refused")
REFUSED = [(api, name) for api in APIS for name, option in TABLES[api].items() if option.does in UNSUPPORTED]


@pytest.mark.parametrize(("api", "name"), REFUSED)
def test_what_cannot_be_done_is_refused_with_the_reason(api, name):
    refused = refusal(api, rule="refuse", **{name: ["x"]})
    assert (refused.status, refused.param) == (400, name)
    assert TABLES[api][name].why in refused.message


@pytest.mark.parametrize(("api", "name"), REFUSED)
def test_values_that_ask_for_nothing_are_taken(api, name):
    for value in (None, *TABLES[api][name].unless):
        assert not read(api, **{name: value}).unsupported.passed


CHECKED = [
    (api, name) for api in APIS for name, option in TABLES[api].items() if option.check.words not in ("any value",)
]


@pytest.mark.parametrize(("api", "name"), CHECKED)
def test_a_value_of_the_wrong_type_is_refused_with_what_it_should_be(api, name):
    option = TABLES[api][name]
    wrong = next(value for value in (object(), [[]], "no such word", 1e300) if not option.check.holds(value))
    refused = refusal(api, **{name: wrong})
    assert (refused.status, refused.param) == (400, name)
    assert option.check.words in refused.message


def test_chat_has_other_servers_switches_of_thinking():
    for options, thinking in (
        ({"enable_thinking": False}, False),
        ({"enable_thinking": True}, True),
        ({"thinking": {"type": "disabled"}}, False),
        ({"thinking": {"type": "enabled"}}, True),
        ({"thinking": {"type": "auto"}}, None),
        ({"reasoning": {"enabled": True}, "enable_thinking": False}, True),
        ({}, None),
    ):
        assert read("chat", **options).thinking is thinking
    assert refusal("chat", thinking={"type": "off"}).param == "thinking.type"


@pytest.mark.parametrize("api", APIS)
def test_null_is_the_same_as_absent(api):
    given = dict.fromkeys(set(TABLES[api]) - {"model", *ASKED[api]})
    assert asdict(read(api, **given)) | {"body": 0} == asdict(read(api)) | {"body": 0}


def test_true_is_no_number():
    assert refusal("chat", n=True).param == "n"
    assert refusal("chat", temperature=True).param == "temperature"


def test_the_engine_gets_its_options_by_its_own_names():
    _, engine = read_options("chat", {"temperature": 0.5, "logit_bias": {"1": 2}, "user": "u"})
    assert engine == {"temperature": 0.5, "logit_bias": {"1": 2}}


@pytest.mark.parametrize("api", APIS)
def test_images_are_refused_with_their_place(api):
    part = {"type": "image", "source": {}} if api == "messages" else {"type": "input_image", "image_url": "x"}
    message = {"role": "user", "content": [{"type": "text", "text": "?"}, part]}
    refused = refusal(api, **{"input" if api == "responses" else "messages": [message]})
    assert refused.param == ("input" if api == "responses" else "messages") + "[0].content[1]"
    assert "images" in refused.message


def test_an_image_in_a_tools_result_is_refused():
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image"}]}
    refused = refusal("messages", messages=[{"role": "user", "content": [result]}])
    assert refused.param == "messages[0].content[0].content[0]"


FUNCTION = {"type": "function", "function": {"name": "f"}}
OTHER = {"type": "function", "function": {"name": "g"}}


def test_tool_choice_of_each_api():
    chat = read("chat", tools=[FUNCTION, OTHER], tool_choice={"type": "function", "function": {"name": "g"}})
    assert (chat.choice, chat.named, chat.tools) == ("required", True, [OTHER])
    none = read("chat", tools=[FUNCTION], tool_choice="none")
    assert (none.choice, none.tools) == ("none", [])
    flat = {"type": "function", "name": "f"}
    responses = read("responses", tools=[flat], tool_choice="required")
    assert (responses.choice, responses.named) == ("required", False)
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]}
    both = [flat, {"type": "custom", "name": "c"}]
    assert read("responses", tools=both, tool_choice=allowed).tools == [flat]
    messages = read("messages", tools=[{"name": "f"}], tool_choice={"type": "any", "disable_parallel_tool_use": True})
    assert (messages.choice, messages.parallel) == ("required", False)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": "perhaps"}, "tool_choice"),
        ({"tool_choice": "allowed_tools"}, "tool_choice"),
        ({"tool_choice": 3}, "tool_choice"),
        ({"tools": [FUNCTION], "tool_choice": {"type": "function", "function": {"name": "no"}}}, "tool_choice"),
        ({"tools": [FUNCTION], "tool_choice": {"type": "allowed_tools"}}, "tool_choice"),
        ({"tools": [FUNCTION], "tool_choice": {"type": "mcp", "server_label": "gateway", "name": "f"}}, "tool_choice"),
        ({"tools": [FUNCTION], "tool_choice": {"type": "mcp", "server_label": "other"}}, "tool_choice"),
        ({"tools": [FUNCTION], "tool_choice": {"type": "function", "name": [1]}}, "tool_choice"),
        ({"tools": ["f"]}, "tools[0]"),
        ({"tools": [{"type": "function"}]}, "tools[0]"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"tools": [{"type": "function", "function": {"name": "f<|end|>"}}]}, "tools[0]"),
        ({"tools": [{"type": "function", "function": {"name": "f g"}}]}, "tools[0]"),
        ({"tools": [{"type": "function", "function": {"name": "f" * 257}}]}, "tools[0]"),
        ({"tools": [FUNCTION] * 1025}, "tools"),
        (
            {"tools": [FUNCTION, {"type": "function", "function": {"name": "g", "parameters": "x"}}]},
            "tools[1].function.parameters",
        ),
        ({"response_format": {"type": "yaml"}}, "response_format.type"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        ({"reasoning": {"effort": "huge"}}, "reasoning.effort"),
        ({"stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
        ({"stop": ["a", ""]}, "stop"),
        ({"stop": "\ud83d"}, "stop"),
        ({"messages": []}, "messages"),
    ],
)
def test_what_is_wrong_is_named(body, param):
    assert refusal("chat", **body).param == param


@pytest.mark.parametrize(
    ("api", "tool", "param"),
    [
        ("chat", {"type": "function", "function": {"name": "f", "parameters": "x"}}, "tools[0].function.parameters"),
        ("responses", {"type": "function", "name": "f", "parameters": "x"}, "tools[0].parameters"),
        ("messages", {"name": "f", "input_schema": "x"}, "tools[0].input_schema"),
    ],
)
def test_a_wrong_schema_is_an_error_of_its_tool(api, tool, param):
    error = refusal(api, tools=[tool])
    assert (error.param, error.code) == (param, "invalid_value")
    assert str(error) == f"{param} is str; expected a JSON Schema, which is an object."


def test_thinking_of_messages():
    on = read("messages", thinking={"type": "enabled", "budget_tokens": 2048})
    assert (on.thinking, on.budget, on.shown) == (True, 2048, True)
    off = read("messages", thinking={"type": "disabled"})
    assert (off.thinking, off.shown) == (False, False)
    assert read("messages", output_config={"effort": "max"}).effort == "max"
    assert refusal("messages", max_tokens=None).param == "max_tokens"


def test_thinking_that_is_not_to_be_shown():
    asked = read("messages", thinking={"type": "enabled", "budget_tokens": 10, "display": "omitted"})
    assert (asked.thinking, asked.budget, asked.shown, asked.omitted) == (True, 10, True, True)
    asked = read("messages", thinking={"type": "adaptive", "display": "summarized"})
    assert (asked.shown, asked.omitted) == (True, False)


PARTS = [
    (api, name, part, one)
    for api in APIS
    for name, option in TABLES[api].items()
    for part, one in (option.parts or {}).items()
]
IDS = [f"{api}-{name}-{part}" for api, name, part, _ in PARTS]


@pytest.mark.parametrize(("api", "name", "part", "option"), PARTS, ids=IDS)
def test_fields_of_objects_are_options_themselves(api, name, part, option):
    """One that has a value that it cannot have, or is refused, is named with its object; None is as good as nothing."""
    kind = {"type": "enabled"} if name == "thinking" and part != "type" else {}
    refused = refusal(api, rule="refuse", **{name: {**kind, part: ["x"]}})
    assert (refused.status, refused.param) == (400, f"{name}.{part}")
    for value in (None, *option.unless):
        assert not read(api, **{name: {**kind, part: value}}).unsupported.passed


@pytest.mark.parametrize(("api", "name"), sorted({(api, name) for api, name, *_ in PARTS}))
def test_an_unknown_field_of_an_object_is_refused_by_its_name(api, name):
    refused = refusal(api, rule="refuse", **{name: {"sparkle": 1}})
    assert (refused.param, refused.code) == (f"{name}.sparkle", "unknown_parameter")


def test_the_forms_of_an_error():
    refused = Refused(400, "No.", param="thread", code="thread_unsupported_request")
    openai, anthropic = body_of(refused, "chat", "req_1"), body_of(refused, "messages", "req_1")
    assert openai["error"]["param"] == "thread"
    assert anthropic["error"]["details"] == {"error_code": "thread_unsupported_request"}
    assert (anthropic["type"], anthropic["request_id"]) == ("error", "req_1")
    assert [status_of(Refused(503, ""), api) for api in APIS] == [503, 503, 529]


@pytest.fixture(scope="module")
def made():
    with gateway(script_of(ANSWER)) as made:
        yield made


BAD = {
    "empty": b"",
    "list": b"[]",
    "cut": b"{",
    "not utf-8": b'{"a": "\xff"}',
    "deep": b"[" * 99_999,
    "nan": b'{"a": NaN}',
    "digits": b'{"a": %s}' % (b"9" * 9_999),
    "number": b'{"input": 1, "messages": [1]}',
    "half a surrogate pair": b'{"\\ud800": 1}',
}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("what", BAD)
def test_bodies_that_are_no_request_get_400(made, api, what):
    path = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}[api]
    answer = made.http.post(path, content=BAD[what])
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize("api", APIS)
def test_an_effort_that_is_no_text_is_refused(made, api):
    answer = made.post(api, chat_template_kwargs={"reasoning_effort": [1]})
    assert answer.status_code == 400
    assert "reasoning_effort" in answer.json()["error"]["message"]


def test_the_answer_to_another_method_lists_the_methods(made):
    answer = made.http.put("/v1/messages")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json()["error"]["type"] == "invalid_request_error"


def test_the_official_clients_raise_their_own_errors(made):
    import anthropic
    import openai

    with made.clients() as clients:
        with pytest.raises(openai.BadRequestError, match="modalities"):
            clients.openai.chat.completions.create(model=GPT_OSS, **ASKED["chat"], modalities=["audio"])
        with pytest.raises(openai.NotFoundError):
            clients.openai.responses.create(model="no", input="?")
        with pytest.raises(anthropic.BadRequestError, match="mcp_servers"):
            clients.anthropic.messages.create(model=GPT_OSS, **ASKED["messages"], extra_body={"mcp_servers": [1]})
