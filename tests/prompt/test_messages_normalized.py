"""The normaliser: three APIs, one form; results with their calls; errors that name message and field."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream.prompt.messages import normalize, read_request
from harmonystream.prompt.tool_definitions import chat_tools

CALLS = [
    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"city": "Zürich"}'}},
    {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
]
FORM = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Weather?"},
    {"role": "assistant", "content": "Looking.", "reasoning": "Two calls.", "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "c1", "content": "12°", "name": "f"},
    {"role": "tool", "tool_call_id": "c2", "content": "a\nb", "name": "g"},
    {"role": "user", "content": "Thanks"},
]
CHAT = [
    {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
    {"role": "user", "content": "Weather?"},
    {"role": "assistant", "content": "Looking.", "reasoning_content": "Two calls.", "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "12°"},
    {"role": "user", "content": "Thanks"},
]
RESPONSES = {
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Two calls."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"city": "Zürich"}'},
        {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "12°"},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "a\nb"}]},
        {"role": "user", "content": "Thanks"},
    ],
}
ANTHROPIC = {
    "system": [{"type": "text", "text": "Be brief."}],
    "messages": [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Two calls.", "signature": "s"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"city": "Zürich"}},
                {"type": "tool_use", "id": "c2", "name": "g", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "a\nb"}]},
                {"type": "tool_result", "tool_use_id": "c1", "content": "12°"},
                {"type": "text", "text": "Thanks"},
            ],
        },
    ],
}


@pytest.mark.parametrize("request_", [CHAT, RESPONSES, ANTHROPIC, FORM], ids=["chat", "responses", "anthropic", "form"])
def test_three_apis_become_one_form(request_):
    messages, tools, _ = read_request(request_)
    assert normalize(messages) == FORM
    assert tools is None


def test_objects_of_api_clients_are_messages():
    from openai.types.chat import ChatCompletionMessage

    message = ChatCompletionMessage.model_validate({"role": "assistant", "content": None, "tool_calls": CALLS})
    want = {"role": "assistant", "content": "", "tool_calls": CALLS}
    assert normalize([FORM[1], message])[1] == want


def test_a_completion_is_a_message():
    text = "<think>\nHm.\n</think>\n\nOn it.\n<tool_call>\n" + '{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
    call = {"id": "call_0", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    want = {"role": "assistant", "content": "On it.", "reasoning": "Hm.", "tool_calls": [call]}
    assert normalize([hs.parse(text, "hermes")]) == [want]


def test_what_the_user_says_may_be_a_str():
    assert normalize("Hi") == [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize(
    ("content", "want"),
    [
        ("<think>\na\n</think>\n\nb", ("a", "b")),
        ("  <think>a</think>b", ("a", "b")),
        ("a</think>\nb", ("", "a</think>\nb")),
        ("<think>a", ("", "<think>a")),
        ("b <think>a</think>", ("", "b <think>a</think>")),
        ("b", ("", "b")),
    ],
)
def test_reasoning_inside_content_is_split_out(content, want):
    (message,) = normalize([{"role": "assistant", "content": content}])
    assert (message.get("reasoning", ""), message["content"]) == want
    assert normalize([{"role": "assistant", "content": content}], think=None)[0]["content"] == content


def test_results_follow_the_order_of_their_calls_with_or_without_ids():
    calls = [{"function": {"name": name, "arguments": {}}} for name in ("f", "g", "f")]
    chat = [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "name": "g", "content": "G"},
        {"role": "tool", "content": "F1"},
        {"role": "tool", "content": "F2"},
    ]
    found = normalize(chat)
    assert [(message["tool_call_id"], message["name"], message["content"]) for message in found[1:]] == [
        ("call_0", "f", "F1"),
        ("call_1", "g", "G"),
        ("call_2", "f", "F2"),
    ]


def test_nothing_of_the_input_is_changed():
    before = json.dumps([CHAT, RESPONSES, ANTHROPIC])
    for request in (CHAT, RESPONSES, ANTHROPIC):
        normalize(read_request(request)[0])
    assert json.dumps([CHAT, RESPONSES, ANTHROPIC]) == before


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([{"role": "bot", "content": ""}], "message 0: role is 'bot'; expected one of system"),
        ([FORM[0], {"content": "x"}], "message 1: there is no role"),
        ([{"role": "user", "content": "", "name": []}], "message 0: name is list; expected text"),
        ([{"type": "reasoning", "content": 1}], "message 0: content is int; expected a list"),
        ([{"type": "reasoning", "summary": "Hm."}], "message 0: summary is str; expected a list"),
        ([{"type": "item_reference"}], "message 0: type is 'item_reference'; expected message, reasoning"),
        ([{"role": "user", "text": "x"}], "message 0: there is no content; expected text or a list of parts"),
        ([FORM[0], {"role": "system", "content": None}], "message 1: there is no content"),
        ([{"role": "user", "content": 5}], "message 0: content is int; expected text or a list of parts"),
        ([{"role": "user", "content": [{"type": "poem"}]}], r"message 0: content\[0\].type is 'poem'"),
        ([{"role": "user", "content": [{"type": "text"}]}], r"message 0: content\[0\].text is missing"),
        ([{"role": "user", "content": b"x"}], "message 0.content is bytes"),
        ([{"role": "assistant", "tool_calls": [{}]}], r"message 0: tool_calls\[0\].function.name is None"),
        ([{"role": "assistant", "tool_calls": "x"}], "message 0: tool_calls is str; expected a list"),
        (
            [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": 3}}]}],
            r"message 0: tool_calls\[0\].function.arguments is int",
        ),
        (["x"], "message 0 is str; expected a mapping"),
        ({"role": "user"}, "messages are a str or a list of messages, not {'role': 'user'}"),
        (None, "messages are a str or a list of messages, not None"),
    ],
)
def test_an_error_names_message_and_field(messages, error):
    with pytest.raises(hs.errors.PromptError, match=error):
        normalize(messages)


def test_data_that_nests_without_end_is_refused():
    deep: list[object] = []
    deep.append(deep)
    with pytest.raises(hs.errors.PromptError, match="nests more than 100 deep"):
        normalize([{"role": "user", "content": deep}])


def test_a_request_without_messages_is_refused():
    with pytest.raises(hs.errors.PromptError, match="needs messages, or input"):
        read_request({"model": "m"})
    with pytest.raises(hs.errors.PromptError, match="tools: expected a list, not dict"):
        read_request({"messages": [], "tools": {}})


TEXT = st.text(max_size=8) | st.sampled_from(["<think>a</think>b", "</think>", "<|end|>", ""])
PART = st.fixed_dictionaries({"type": st.sampled_from(["text", "input_text", "output_text"]), "text": TEXT})
CALL = st.fixed_dictionaries(
    {"function": st.fixed_dictionaries({"name": st.sampled_from("fg"), "arguments": st.just({}) | TEXT})},
    optional={"id": st.sampled_from(["c1", "c2", "c3"])},
)
MESSAGES = st.lists(
    st.one_of(
        st.fixed_dictionaries({"role": st.sampled_from(["system", "user"]), "content": TEXT | st.lists(PART)}),
        st.fixed_dictionaries(
            {"role": st.just("assistant"), "content": st.none() | TEXT},
            optional={"tool_calls": st.lists(CALL, max_size=3), "reasoning_content": TEXT},
        ),
        st.fixed_dictionaries(
            {"role": st.just("tool"), "content": TEXT},
            optional={"tool_call_id": st.sampled_from(["c1", "c2", "x"]), "name": st.sampled_from("fg")},
        ),
    ),
    max_size=6,
)


@given(MESSAGES)
def test_what_is_normalised_stays_as_it_is_and_no_message_is_lost(messages):
    form = normalize(messages, think=None)
    assert normalize(form, think=None) == form
    assert sorted(message["role"] for message in form) == sorted(message["role"] for message in messages)
    assert all(isinstance(message["content"], str) for message in form)


@pytest.mark.parametrize("value", [{"t": 3}, 3, 2.5, True, [1, {"a": 2}], [{"type": "circle", "r": 1}], {"type": "x"}])
@pytest.mark.parametrize("way", ["tool", "tool_result", "function_call_output", "custom_tool_call_output"])
def test_a_result_may_be_any_value(value, way):
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    asked = {"role": "assistant", "tool_calls": [call]}
    result = {
        "tool": {"role": "tool", "tool_call_id": "c", "content": value},
        "tool_result": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": value}]},
    }.get(way, {"type": way, "call_id": "c", "output": value})
    _, answer = normalize([asked, result])
    assert (json.loads(answer["content"]), answer["tool_call_id"]) == (value, "c")


def test_parts_of_a_result_stay_parts():
    image = {"type": "input_image", "image_url": "data:image/png;base64,"}
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    for output, content in (
        ([{"type": "input_text", "text": "a"}, "b"], "a\nb"),
        ([image], [image]),
        ({"type": "computer_screenshot", "image_url": image["image_url"]}, [image]),
    ):
        _, answer = normalize([call, {"type": "function_call_output", "call_id": "c", "output": output}])
        assert answer["content"] == content


ITEMS = [
    ({"type": "web_search_call", "id": "w", "action": {"type": "search", "query": "q"}}, "web_search", "q", ""),
    ({"type": "file_search_call", "id": "w", "queries": ["q"], "results": [{"text": "r"}]}, "file_search", "q", "r"),
    (
        {"type": "code_interpreter_call", "id": "w", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
        "code_interpreter",
        "1+1",
        "2",
    ),
    (
        {"type": "image_generation_call", "id": "w", "result": "aaaa", "status": "completed"},
        "image_generation",
        "",
        "c",
    ),
    ({"type": "mcp_call", "id": "w", "name": "m", "arguments": '{"q": 1}', "output": "r"}, "m", "q", "r"),
]


@pytest.mark.parametrize(("item", "name", "asked", "found"), ITEMS)
def test_what_a_server_has_run_is_a_call_with_its_result(item, name, asked, found):
    said, answer = normalize([item])
    function = said["tool_calls"][0]["function"]
    assert (function["name"], answer["name"]) == (name, name)
    assert asked in function["arguments"] and found in answer["content"]
    assert "aaaa" not in function["arguments"] + answer["content"]


@pytest.mark.parametrize("kind", ["computer", "local_shell", "shell", "apply_patch"])
def test_calls_of_an_api_s_own_tools_are_calls(kind):
    field = "operation" if kind == "apply_patch" else "action"
    call = {"type": f"{kind}_call", "id": "x", "call_id": "c", field: {"do": "it"}}
    said, answer = normalize([call, {"type": f"{kind}_call_output", "call_id": "c", "output": "done"}])
    assert said["tool_calls"][0]["function"] == {"name": kind, "arguments": '{"do": "it"}'}
    assert (answer["tool_call_id"], answer["content"]) == ("c", "done")


def test_searches_of_tools_and_programs_are_calls_with_their_results():
    items = [
        {"type": "tool_search_call", "call_id": "c1", "arguments": {"query": "rain"}, "execution": "client"},
        {"type": "tool_search_output", "call_id": "c1", "tools": [{"type": "function", "name": "f"}]},
        {"type": "program", "id": "p", "call_id": "c2", "code": "1 + 1", "fingerprint": "x"},
        {"type": "program_output", "id": "o", "call_id": "c2", "result": "2", "status": "completed"},
    ]
    made = hs.prompts.normalize(items)
    called = [message["tool_calls"][0]["function"] for message in made if message["role"] == "assistant"]
    assert called == [
        {"name": "tool_search", "arguments": '{"query": "rain"}'},
        {"name": "program", "arguments": '{"code": "1 + 1"}'},
    ]
    assert [message["content"] for message in made if message["role"] == "tool"] == ["f", "2"]


PASSED_OVER = ["mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "compaction", "compaction_trigger"]


@pytest.mark.parametrize("kind", PASSED_OVER)
def test_what_says_nothing_to_a_model_is_passed_over(kind):
    assert normalize([{"type": kind, "id": "x"}, {"role": "user", "content": "Hi"}]) == normalize("Hi")


def test_two_calls_with_one_id_keep_their_results():
    calls = [{"id": "c", "function": {"name": name, "arguments": "{}"}} for name in "fgh"]
    results = [{"role": "tool", "tool_call_id": "c", "content": text} for text in "123"]
    made = normalize([{"role": "assistant", "tool_calls": calls}, *results])
    ids = [call["id"] for call in made[0]["tool_calls"]]
    assert len(set(ids)) == 3
    assert [(one["tool_call_id"], one["name"], one["content"]) for one in made[1:]] == list(zip(ids, "fgh", "123"))
    assert normalize(made) == made
    text = hs.render([{"role": "user", "content": "?"}, *made], format="harmony").text
    assert text.index("functions.g to=assistant") < text.index("to=functions.h ")


def test_two_tools_of_one_name_are_refused():
    tool = {"type": "function", "function": {"name": "w", "parameters": {"type": "object"}}}
    with pytest.raises(hs.errors.PromptError, match=r"tools\[0\] and tools\[2\] have one name, 'w'"):
        hs.render("Hi", format="harmony", tools=[tool, {"name": "v"}, {"name": "w"}])


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("{}", "is str; expected a JSON Schema"),
        ([], "is list; expected a JSON Schema"),
        ({"type": "string"}, "has the type 'string'; expected the JSON Schema of an object"),
        ({"type": "objct"}, "has the type 'objct'"),
        ({"type": "object", "properties": ["city"]}, "has properties that are list"),
    ],
)
@pytest.mark.parametrize("key", ["parameters", "input_schema"])
def test_a_schema_that_a_template_would_lose_is_refused(key, schema, said):
    for tool in ({"name": "f", key: schema}, {"type": "function", "function": {"name": "f", key: schema}}):
        with pytest.raises(hs.errors.PromptError, match=rf"tools\[0\]: {key} of the tool f {said}"):
            chat_tools([tool])


@pytest.mark.parametrize("schema", [None, {}, {"type": "OBJECT"}, {"type": ["object"]}, {"properties": []}])
def test_other_spellings_of_an_object_are_read(schema):
    assert chat_tools([{"name": "f", "parameters": schema}])[0]["function"]["parameters"] == schema
