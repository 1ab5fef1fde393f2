"""`render` for every family: a conversation, prompts that read back, and the parsers that follow them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from families import DEEPSEEK, DEEPSEEK_PLAIN
from hypothesis import given, settings
from hypothesis import strategies as st
from test_marks import ADDED, TEMPLATE, VOCAB, vocab

import harmonystream as hs
from harmonystream.prompt.messages import normalize

WEATHER = {
    "name": "get_weather",
    "description": "Get current weather information for a location",
    "parameters": {
        "type": "object",
        "properties": {"location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"}},
        "required": ["location"],
    },
}


def calls(*places: str) -> list[dict[str, Any]]:
    return [{"function": {"name": "get_weather", "arguments": {"location": place}}} for place in places]


ANSWER = '{"temperature": 22, "condition": "Sunny", "humidity": 45, "wind_speed": 10}'
GUIDE = [
    {"role": "system", "content": "You are a helpful assistant that can use tools."},
    {"role": "user", "content": "What's the weather like in New York?"},
    {
        "role": "assistant",
        "content": "<think>\nI should use the weather tool.\n</think>\nI'll check the current weather.",
        "tool_calls": calls("New York"),
    },
    {"role": "tool", "content": ANSWER},
    {"role": "assistant", "content": "Sunny, 22°C.", "tool_calls": None},
    {"role": "user", "content": "Thanks! What about Boston and Paris?"},
    {
        "role": "assistant",
        "content": "<think>\nTwo cities, two calls.\n</think>\nI'll check both.",
        "tool_calls": calls("Boston", "Paris"),
    },
    {"role": "tool", "content": '{"temperature": 15}'},
    {"role": "tool", "content": '{"temperature": 19}'},
]
KNOWN = {**VOCAB, "deepseek": vocab(DEEPSEEK, DEEPSEEK_PLAIN)}


def render(name: str, messages: Any, **options: Any) -> hs.prompts.Prompt:
    template = TEMPLATE[name]
    template.tokens.setdefault("bos_token", "<｜begin▁of▁sentence｜>")
    tools = options.pop("tools", [WEATHER]) if "tools" in template._chosen(None).variables else None
    return hs.render(messages, format=name, template=template, vocab=KNOWN[name], tools=tools, **options)


def test_a_conversation_in_the_form_of_qwen3():
    """Earlier thoughts are gone, calls are chained, and results share a user turn."""
    text = render("hermes", GUIDE).text
    assert text.startswith(
        "<|im_start|>system\nYou are a helpful assistant that can use tools.\n\n# Tools\n\n<tools>\n{"
    )
    assert json.dumps(WEATHER) in text
    assert text[text.index("</tools>") :] == (
        "</tools><|im_end|>\n<|im_start|>user\nWhat's the weather like in New York?<|im_end|>\n"
        "<|im_start|>assistant\nI'll check the current weather.\n"
        '<tool_call>\n{"name": "get_weather", "arguments": {"location": "New York"}}\n</tool_call><|im_end|>\n'
        f"<|im_start|>user\n<tool_response>\n{ANSWER}\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\nSunny, 22°C.<|im_end|>\n"
        "<|im_start|>user\nThanks! What about Boston and Paris?<|im_end|>\n"
        "<|im_start|>assistant\n<think>\nTwo cities, two calls.\n</think>\n\nI'll check both.\n"
        '<tool_call>\n{"name": "get_weather", "arguments": {"location": "Boston"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "get_weather", "arguments": {"location": "Paris"}}\n</tool_call><|im_end|>\n'
        '<|im_start|>user\n<tool_response>\n{"temperature": 15}\n</tool_response>'
        '\n<tool_response>\n{"temperature": 19}\n</tool_response><|im_end|>\n<|im_start|>assistant\n'
    )


def test_a_conversation_in_the_form_of_deepseek():
    """Thoughts are never in the history, and arguments are text: the template takes both from the one conversation."""
    text = render("deepseek", GUIDE).text
    assert text[text.index("<｜User｜>Thanks") :] == (
        "<｜User｜>Thanks! What about Boston and Paris?<｜Assistant｜></think>\nI'll check both.<｜tool▁calls▁begin｜>"
        '<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"location": "Boston"}<｜tool▁call▁end｜>'
        '<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"location": "Paris"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
        '<｜end▁of▁sentence｜><｜tool▁output▁begin｜>{"temperature": 15}<｜tool▁output▁end｜>'
        '<｜tool▁output▁begin｜>{"temperature": 19}<｜tool▁output▁end｜>'
    )


def test_ids_of_calls_in_the_form_of_kimi():
    text = render("kimi_k2", GUIDE).text
    assert "<|tool_call_begin|>functions.get_weather:2<|tool_call_argument_begin|>" in text
    assert '## Return of functions.get_weather:2\n{"temperature": 19}' in text


HISTORY: dict[str, tuple[list[str], list[str]]] = {
    # Thoughts before the last question are gone. Results share a turn of the user; arguments are objects.
    "hermes": (
        ["<think>\nTwo cities, two calls.\n</think>", "</tool_response>\n<tool_response>", '{"location": "Paris"}'],
        ["I should use the weather tool.", "<|im_start|>tool"],
    ),
    # Thoughts are gone from all turns. The system comes first, results have no role, arguments are text as given.
    "deepseek": (
        [
            "<｜begin▁of▁sentence｜>You are",
            '<｜tool▁sep｜>{"location":"Paris"}',
            "<｜tool▁output▁end｜><｜tool▁output▁begin｜>",
        ],
        ["I should use the weather tool.", "Two cities, two calls.", "<think>"],
    ),
    # A result is a message of its own, which names the call's id.
    "kimi_k2": (
        [
            "<|im_system|>tool<|im_middle|>## Return of functions.get_weather:1\n",
            '<|tool_call_argument_begin|>{"location": "',
        ],
        ["<|im_user|>tool"],
    ),
    # Results are observations in one turn; arguments are pairs of tags.
    "glm": (
        ["<|observation|>\n<tool_response>", "</tool_response>\n<tool_response>", "<arg_value>Paris</arg_value>"],
        ["<|tool|>", '"location": "Paris"'],
    ),
}


@pytest.mark.parametrize("name", HISTORY)
def test_history_rules_of_each_family(name):
    """One conversation, whose arguments are text, as a client sends them."""
    chat = json.loads(json.dumps(GUIDE))
    for call in (call for message in chat for call in message.get("tool_calls") or ()):
        call["function"]["arguments"] = json.dumps(call["function"]["arguments"], separators=(",", ":"))
    text = render(name, chat).text
    there, gone = HISTORY[name]
    assert [part for part in there if part not in text] == []
    assert [part for part in gone if part in text] == []


@pytest.mark.parametrize("name", sorted(TEMPLATE))
def test_the_tokenizer_encodes_the_rendered_template(name):
    prompt = render(name, GUIDE)
    assert prompt.ids == KNOWN[name].encode(prompt.text, control=True)
    assert prompt.stop_ids and set(prompt.stops) >= {KNOWN[name].token_bytes(tid).decode() for tid in prompt.stop_ids}
    assert prompt.format.name == name
    assert len(prompt.parser().feed([])) == 0


# --- any conversation, round the circle ---------------------------------------------------------------------------

TEXT = st.text("ab 天\n{}é", max_size=8)
LOCATION = st.text("ab 天é", max_size=8)


@st.composite
def chats(draw: Any) -> list[dict[str, Any]]:
    chat: list[dict[str, Any]] = [{"role": "user", "content": draw(TEXT)}]
    if draw(st.booleans()):
        chat.append(
            {
                "role": "assistant",
                "content": draw(TEXT),
                "tool_calls": calls(*draw(st.lists(LOCATION, min_size=1, max_size=2))),
            }
        )
        chat += [{"role": "tool", "content": draw(TEXT)} for _ in chat[-1]["tool_calls"]]
    last: dict[str, Any] = {"role": "assistant", "content": draw(TEXT), "reasoning": draw(TEXT)}
    last["tool_calls"] = calls(*draw(st.lists(LOCATION, max_size=3)))
    return [*chat, last]


@settings(max_examples=80)
@given(chats(), st.sampled_from(sorted(TEMPLATE)))
def test_any_conversation_renders_and_reads_back(chat, name):
    if not TEMPLATE[name]._chosen(None).wants({}).reasoning:
        chat[-1].pop("reasoning")
    prompt, whole = render(name, chat[:-1]), render(name, chat, training=True)
    assert whole.text.startswith(prompt.text)
    output = prompt.vocab.encode(whole.text[len(prompt.text) :], control=True)
    options = {"vocab": prompt.vocab, "tools": [WEATHER], "prompt": prompt.ids, "finish_reason": "stop"}
    got = hs.parse(output, prompt.format, **options)
    (want,) = normalize(chat[-1:])
    assert got.reasoning.strip("\n") == want.get("reasoning", "").strip("\n")
    assert got.content.strip("\n") == want["content"].strip("\n")
    assert [json.loads(call.arguments) for call in got.tool_calls] == [
        json.loads(call["function"]["arguments"]) for call in want.get("tool_calls", ())
    ]


# --- prompts and their parsers ------------------------------------------------------------------------------------


def test_a_prompt_without_ids_is_parsed_as_text():
    prompt = hs.render(
        [{"role": "user", "content": "Hi"}], format="hermes", template=TEMPLATE["hermes"], thinking=False
    )
    assert prompt.ids is None and prompt.text.endswith("<think>\n\n</think>\n\n")
    parser = prompt.parser(strict=True)
    assert [event.text for event in parser.feed_text("<think>") + parser.finish() if isinstance(event, hs.ContentDelta)]


def test_a_prompt_of_no_known_format_has_no_parser():
    prompt = hs.render("Hi", template="{{ messages[0].content }}")
    assert (prompt.text, prompt.format, prompt.stops) == ("Hi", None, ())
    with pytest.raises(hs.errors.PromptError, match="pass format= or model= to render"):
        prompt.parser()


def test_the_folder_of_a_model_has_everything(tmp_path):
    from families import QWEN, QWEN_PLAIN, tokenizer

    folder = tmp_path / "Qwen3-8B"
    folder.mkdir()
    tokenizer(QWEN, QWEN_PLAIN).save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(TEMPLATE["hermes"]._source.templates["default"], encoding="utf-8")
    prompt = hs.render("Hi", template=folder, thinking=True)
    assert prompt.format.name == "hermes"
    assert prompt.ids == prompt.vocab.encode("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", control=True)
    assert prompt.stop_ids == tuple(prompt.vocab.control[name] for name in ("<|endoftext|>", "<|im_end|>"))


def test_a_folder_may_say_its_format_in_a_response_template(tmp_path):
    fields = {"thinking": {"open": "<hm>", "close": "</hm>"}, "content": {"close": "<end>"}}
    config = {
        "chat_template": "{{ messages[0].content }}",
        "response_template": {"start_anchor": "a", "fields": fields},
    }
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    prompt = hs.render("Hi", template=tmp_path)
    assert prompt.format == hs.Format("template", think=("<hm>", "</hm>"), stops=("<end>",), turns=("a",))
    assert prompt.parser().feed_text("<hm>x")[-1].text == "x"


def test_without_tiktoken_a_harmony_prompt_is_text(monkeypatch):
    from harmonystream.prompt import rendering

    monkeypatch.setattr(rendering, "find_spec", lambda name: None)
    prompt = hs.render("Hi", model="gpt-oss", date=None)
    assert prompt.ids is None
    assert prompt.parser().feed_text("<|channel|>final<|message|>Yes")[-1].text == "Yes"


def test_tools_of_every_api_are_declared_alike():
    parameters = WEATHER["parameters"]
    forms = [
        WEATHER,
        {"type": "function", "function": WEATHER},
        {"type": "function", **WEATHER},
        {"name": "get_weather", "description": WEATHER["description"], "input_schema": parameters},
    ]
    texts = {hs.render("Hi", model="gpt-oss", tools=[form]).text for form in (*forms,)}
    assert len(texts) == 1
    assert hs.render("Hi", model="gpt-oss", tools=hs.Tools(*forms[:1])).text in texts
    prompt = hs.render("Hi", model="gpt-oss", tools=hs.Tools(WEATHER))
    (start, *_) = prompt.parser().feed_text("<|channel|>commentary to=functions.get_weather<|message|>{}")[1:]
    assert (start.name, start.kind) == ("get_weather", "function")
    assert prompt.parser().feed_text("<|channel|>commentary to=poem<|message|>{}")[1].kind == "other"
    with pytest.raises(hs.errors.PromptError, match="dialect= is for prompts without a template"):
        hs.render("Hi", template=TEMPLATE["hermes"], dialect="openai")


def test_what_only_tools_can_declare_is_refused_with_advice():
    class Place:
        pass

    def look(city: str) -> str:
        return city

    for tool, said in ((Place, "the class Place: pass tools=Tools"), (look, "the function look: pass tools=Tools")):
        with pytest.raises(hs.errors.PromptError, match=rf"tools\[1\] is {said}\({tool.__name__}, …\)"):
            hs.render("Hi", model="gpt-oss", tools=[WEATHER, tool])


def test_the_vocabularies_are_those_of_the_templates():
    assert set(ADDED) | {"deepseek"} == set(TEMPLATE)


@given(st.text(alphabet="a b<>|é雨🫖"), st.text(alphabet="a b<>|é雨🫖"))
def test_a_prompt_is_continued_with_ids_or_text(first, second):
    known = hs.vocab.o200k_harmony()
    prompt = hs.render("Hi", format="harmony", date=None)
    ids = [known.encode(text) for text in (first, second)]
    by_ids = prompt.continue_with(ids[0]).continue_with(ids[1])
    assert by_ids.ids == [*prompt.ids, *ids[0], *ids[1]]
    assert by_ids.begun == len(ids[0]) + len(ids[1])
    assert by_ids.text == prompt.text + first + second
    for begun in (prompt.continue_with(first), prompt.continue_with(ids[0])):
        by_text = begun.continue_with(second)
        assert (by_text.text, by_text.ids, by_text.begun) == (by_ids.text, None, len(first + second))
    with pytest.raises(hs.errors.PromptError, match="without ids"):
        by_text.continue_with(ids[0])
