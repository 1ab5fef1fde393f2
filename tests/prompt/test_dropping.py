"""What a prompt leaves out is said."""

from __future__ import annotations

import random
from typing import Any

import pytest
from test_rendering import GUIDE, KNOWN, TEMPLATE, WEATHER, render

import harmonystream as hs
from harmonystream.prompt.dropping import Looked

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Weather?"},
    {
        "role": "assistant",
        "content": "I look.",
        "reasoning": "Two.",
        "tool_calls": [
            {"id": "a", "function": {"name": "get_weather", "arguments": {"location": "Rome"}}},
            {"id": "b", "function": {"name": "get_weather", "arguments": {"location": "Oslo"}}},
        ],
    },
    {"role": "tool", "tool_call_id": "a", "content": "11"},
    {"role": "tool", "tool_call_id": "b", "content": "12"},
    {"role": "assistant", "content": "11 and 12.", "reasoning": "So."},
    {"role": "user", "content": "Thanks"},
]
LOOP = "{% for m in messages %}"


@pytest.mark.parametrize(
    ("source", "lost"),
    [
        (LOOP + "{{ m.content }}{% endfor %}", {"message 2: tool_calls[0]", "message 2: tool_calls[1]"}),
        (LOOP + "{{ m.content }}{{ m.tool_calls[0] if m.tool_calls }}{% endfor %}", {"message 2: tool_calls[1]"}),
        (
            LOOP + "{% if m.tool_calls %}{{ m.tool_calls }}{% else %}{{ m.content | upper }}{% endif %}{% endfor %}",
            {"message 0: content", "message 2: content"},
        ),
        (
            LOOP + "{% if m.role != 'tool' %}{{ m }}{% endif %}{% endfor %}",
            {"message 3: content", "message 4: content"},
        ),
        (LOOP + "{{ m }}{% endfor %}", set()),
    ],
)
def test_what_a_template_does_not_write_is_listed(source, lost):
    found = set(hs.render(CHAT, template=source, format="hermes").dropped)
    if "upper" in source:  # words in capitals are other words, so that contents count as lost
        assert "message 2: content" in found
    else:
        assert {name for name in found if "reasoning" not in name} == lost


@pytest.mark.parametrize("name", sorted(set(KNOWN) & set(TEMPLATE)))
def test_of_the_families_templates_reasoning_alone_is_left_out(name):
    """Some of them write no tools, or name calls in their ids."""
    assert all("reasoning" in one or "the tool" in one for one in render(name, GUIDE).dropped)


@pytest.mark.parametrize("options", [{"format": "harmony"}, {"format": "dsml"}, {"model": "deepseek-ai/DeepSeek-V4"}])
def test_our_own_encodings_leave_out_earlier_reasoning_alone(options):
    lost = hs.render(CHAT, tools=[WEATHER], **options).dropped
    assert all(one.endswith("reasoning") for one in lost)


def test_tools_of_an_api_s_server_are_left_out_and_listed():
    prompt = hs.render("Hi", format="harmony", tools=[{"type": "web_search"}, WEATHER, {"type": "bash_1", "name": "b"}])
    assert "web_search" not in prompt.text and "get_weather" in prompt.text
    assert prompt.dropped == (
        "tools[0], which is of the type web_search",
        "tools[2], which is of the type bash_1",
    )


def random_chat(rng: random.Random) -> list[dict[str, Any]]:
    chat: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}] if rng.random() < 0.5 else []
    for _ in range(rng.randrange(1, 4)):
        chat.append({"role": "user", "content": rng.choice(["Weather?", "And in Oslo?"])})
        for _ in range(rng.randrange(4)):
            names = [f"c{len(chat)}_{k}" for k in range(rng.choice([1, 1, 2, 3]))]
            made = [{"id": one, "function": {"name": "get_weather", "arguments": {"location": one}}} for one in names]
            said = {"role": "assistant", "content": rng.choice(["", "I look."]), "tool_calls": made}
            chat.append(said | ({"reasoning": "Hm."} if rng.random() < 0.5 else {}))
            chat += [{"role": "tool", "tool_call_id": one, "content": "11"} for one in names]
        if rng.random() < 0.8:
            chat.append({"role": "assistant", "content": "Sunny."})
    return chat


@pytest.mark.parametrize("name", [*sorted(set(KNOWN) & set(TEMPLATE)), "harmony", "dsml"])
def test_what_shapes_have_shown_is_what_a_rendering_shows(name):
    rng, looked = random.Random(27), Looked()
    known = 0
    for _ in range(120):
        chat = random_chat(rng)
        if name in TEMPLATE:
            prompt = render(name, chat)
        else:
            prompt = hs.render(chat, format=name, tools=[WEATHER] if rng.random() < 0.5 else None)
        before = dict(looked._lost)
        assert prompt.look(looked) == prompt.dropped
        known += looked._lost == before
    assert known > 40


def test_shapes_that_are_not_treated_alike_are_rendered_each_time():
    source = LOOP + "{% if not loop.index is divisibleby 3 %}{{ m.content }}{% endif %}{% endfor %}"
    looked = Looked()
    for size in range(1, 12):
        prompt = hs.render([{"role": "user", "content": "Hi"}] * size, template=source, format="hermes")
        assert prompt.look(looked) == tuple(f"message {i}: content" for i in range(2, size, 3))
