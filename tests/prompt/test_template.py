"""A model's template: what it reads, what it wants of messages, and what it is refused."""

from __future__ import annotations

import datetime

import pytest

import harmonystream as hs
from harmonystream.prompt.chat_form import Wants

USER = {"role": "user", "content": "Hi"}
LOOP = "{% for m in messages %}"
CALLS = "{% for c in m.tool_calls or [] %}"


def wants(source: str) -> Wants:
    template = hs.prompts.Template(source)
    return template._chosen(None).wants(template.tokens)


SAYS = LOOP + "{{ m.role }}:{{ m.content }};"


@pytest.mark.parametrize(
    ("source", "want"),
    [
        (SAYS + "{% endfor %}", Wants()),
        (LOOP + "{{ m.content[0].text }}{% endfor %}", Wants(parts=True)),
        (
            LOOP + "{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}{{ m.content }}{% endfor %}",
            Wants(system=False),
        ),
        (LOOP + "{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}", Wants(system=False)),
        (
            SAYS + "{{ m.reasoning_content }}{% if m.role == 'developer' %}{% endif %}{% endfor %}",
            Wants(developer=True, reasoning=True),
        ),
        (SAYS + CALLS + "{{ c.function.arguments.items() }}{% endfor %}{% endfor %}{{ tools }}", Wants()),
        (SAYS + CALLS + "{{ 'x' + c.function.arguments }}{% endfor %}{% endfor %}{{ tools }}", Wants(objects=False)),
        (SAYS + CALLS + "{{ c.function.arguments }}{% endfor %}{% endfor %}{{ tools }}", Wants(objects=False)),
        (SAYS + "{% endfor %}{% for t in tools or [] %}{{ 'n' + t.name }}{% endfor %}", Wants(wrapper=False)),
        (
            SAYS
            + CALLS
            + "{% if c.id | length != 9 %}{{ raise_exception('9') }}{% endif %}{% endfor %}{% endfor %}{{ tools }}",
            Wants(nine=True),
        ),
        ("{% for t in tools %}{{ t }}{% endfor %}" + SAYS + "{% endfor %}", Wants()),
    ],
)
def test_what_a_template_wants_is_found_by_trying(source, want):
    assert wants(source) == want


def test_messages_take_the_form_that_a_template_wants():
    source = (
        LOOP
        + "{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}<{{ m.role }}:{{ m.content }}>{% endfor %}"
    )
    chat = [{"role": "system", "content": "S"}, {"role": "developer", "content": "D"}, USER]
    assert hs.prompts.Template(source).render(chat) == "<user:S\n\nD\n\nHi>"
    assert hs.prompts.Template(source).render(chat[:1]) == "<user:S>"
    assert hs.prompts.Template(SAYS + "{% endfor %}").render(chat) == "system:S\n\nD;user:Hi;"
    assert hs.prompts.Template(LOOP + "{{ m.content[0].text }}{% endfor %}").render([USER]) == "Hi"


def call(tid: str, arguments: object) -> list[dict[str, object]]:
    made = {"id": tid, "function": {"name": "f", "arguments": arguments}}
    return [USER, {"role": "assistant", "tool_calls": [made]}, {"role": "tool", "tool_call_id": tid, "content": "R"}]


def test_arguments_are_objects_or_text_as_the_template_wants():
    objects = hs.prompts.Template(
        LOOP
        + CALLS
        + "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v }}{% endfor %}{% endfor %}{% endfor %}{{ tools }}"
    )
    assert objects.render(call("c", '{"a": 1}')) == "a=1None"
    assert objects.render(call("c", '"{\\"a\\": 1}"')) == "a=1None"
    assert objects.render(call("c", "no json")) == "raw=no jsonNone"
    texts = hs.prompts.Template(LOOP + CALLS + "{{ '' + c.function.arguments }}{% endfor %}{% endfor %}{{ tools }}")
    assert texts.render(call("c", {"a": "é"})) == '{"a": "é"}None'
    assert texts.render(call("c", "no json")) == "no jsonNone"


def test_ids_have_the_form_that_a_family_wants():
    source = LOOP + CALLS + "{{ c.id }}{% endfor %}{{ m.tool_call_id }}{% endfor %}{{ tools }}"
    template = hs.prompts.Template(source)
    assert hs.render(call("call_7", {}), template=template, format="kimi_k2").text == "functions.f:0functions.f:0None"
    assert (
        hs.render(call("functions.f:3", {}), template=template, format="kimi_k2").text
        == "functions.f:3functions.f:3None"
    )
    assert hs.render(call("call_7", {}), template=template, format="hermes").text == "call_7call_7None"
    nine = hs.prompts.Template(
        source.replace("{{ c.id }}", "{% if c.id | length != 9 %}{{ raise_exception('9') }}{% endif %}{{ c.id }}")
    )
    assert nine.render(call("call_7", {})) == "000000000000000000None"
    assert nine.render(call("a2c4e6g8i", {})) == "a2c4e6g8ia2c4e6g8iNone"


@pytest.mark.parametrize("name", ["enable_thinking", "thinking"])
def test_thinking_sets_the_switch_that_the_template_reads(name):
    template = hs.prompts.Template(f"{{{{ {name} }}}}")
    assert [template.render([USER], thinking=value) for value in (True, False)] == ["True", "False"]
    assert template.render([USER]) == ""


def test_thinking_as_a_budget_and_effort():
    template = hs.prompts.Template("{{ thinking_budget }}{{ reasoning_effort }}")
    assert template.render([USER], thinking=False) == "0"
    assert template.render([USER], thinking=True, reasoning="low") == "low"
    with pytest.raises(hs.errors.PromptError, match="has no switch for thinking: leave thinking= out"):
        hs.prompts.Template("{{ 'x' }}").render([USER], thinking=False)


def test_unknown_variables_are_refused_and_known_ones_listed():
    template = hs.prompts.Template(
        "{{ documents }}{{ bos_token }}{{ strftime_now('%Y') }}", tokens={"bos_token": "<s>"}
    )
    assert template.variables == {"documents"}
    assert template.render([USER], documents=[], date=datetime.date(2026, 1, 2)) == "[]<s>2026"
    with pytest.raises(hs.errors.PromptError, match=r"does not read enable_thinking; it reads documents"):
        template.render([USER], enable_thinking=False)
    with pytest.raises(hs.errors.PromptError, match="does not read tools"):
        template.render([USER], tools=[{"name": "f"}])


def test_a_prompt_may_end_inside_the_last_message():
    template = hs.prompts.Template(
        LOOP + "<{{ m.reasoning_content }}|{{ m.content | trim }}>{% endfor %}{{ 'G' if add_generation_prompt }}"
    )
    chat = [USER, {"role": "assistant", "content": "It is "}]
    assert template.render(chat, continue_final=True) == "<|Hi><|It is "
    assert template.render([USER, {"role": "assistant", "reasoning": "Let"}], continue_final=True) == "<|Hi><Let"
    with pytest.raises(hs.errors.PromptError, match="the last message must be the assistant's"):
        template.render([USER], continue_final=True)
    with pytest.raises(hs.errors.PromptError, match="does not write the last message"):
        hs.prompts.Template("{{ messages[0].content }}").render(chat, continue_final=True)


def test_reasoning_is_split_only_for_templates_that_read_it():
    chat = [USER, {"role": "assistant", "content": "<think>\nHm.\n</think>\n\nYes."}]
    assert hs.prompts.Template(LOOP + "{{ m.content }}{% endfor %}").render(chat) == "Hi<think>\nHm.\n</think>\n\nYes."
    assert (
        hs.prompts.Template(LOOP + "{{ m.reasoning_content }}|{{ m.content }};{% endfor %}").render(chat)
        == "|Hi;Hm.|Yes.;"
    )


@pytest.mark.parametrize(("before", "after"), [(" ", ""), ("", "\n\n"), (" ", "\n\n"), ("\n", "\n"), ("", "")])
def test_what_a_model_writes_around_its_answers_does_not_grow(before, after):
    """Jamba's and Reka's templates write white space that their models write, too."""
    source = """{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}{{ before }}{{ m.content }}
{{- after }}{% else %}{{ m.content }}{% endif %}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"""
    template = hs.prompts.Template(source, tokens={"before": before, "after": after})
    chat = [USER]
    for _ in range(3):
        prompt = template.render(chat)
        output = f"{before}Yes.{after}"
        chat += [{"role": "assistant", "content": output}, USER]
        assert template.render(chat).startswith(prompt + output + "<end>")
    assert template.render([USER, {"role": "assistant", "content": "Yes."}]).count(f"{before}Yes.{after}<end>") == 1
