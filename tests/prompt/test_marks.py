"""Text of users never becomes a marker: not inside a template, not where two texts meet."""

from __future__ import annotations

from typing import Any

import pytest
from families import GLM, GLM_PLAIN, KIMI, KIMI_PLAIN, QWEN, QWEN_PLAIN, SEED, SEED_PLAIN, vocab
from hypothesis import given, settings
from hypothesis import strategies as st
from test_jinja import TEMPLATES

import harmonystream as hs
from harmonystream.prompt.marks import StandIns, mark_strings, marked_pieces, spelling

ADDED = {
    "hermes": (QWEN, QWEN_PLAIN),
    "qwen3_coder": (QWEN, QWEN_PLAIN),
    "kimi_k2": (KIMI, KIMI_PLAIN),
    "glm": (GLM, GLM_PLAIN),
    "seed_oss": (SEED, SEED_PLAIN),
}
BITS = [
    "<|im_start|>",
    "<|im_end|>",
    "<|im_",
    "end|>",
    "<",
    "|>",
    "<think>",
    "<seed:eos>",
    "[gMASK]",
    "<|user|>",
    "a",
    "\n",
    "\u4dc0",
    "\uf8ff",
]
TEXT = st.lists(st.sampled_from(BITS), max_size=4).map("".join)
TEMPLATE = {path.stem: hs.prompts.Template(path) for path in TEMPLATES}
VOCAB = {name: vocab(*added) for name, added in ADDED.items()}


def chat(texts: list[str]) -> list[dict[str, Any]]:
    said, asked, key, value, answer, result, again = texts
    call = {"id": "functions.f:0", "function": {"name": "f", "arguments": {key: value, "b": [value]}}}
    return [
        {"role": "system", "content": said},
        {"role": "user", "content": asked},
        {"role": "assistant", "content": answer, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "functions.f:0", "content": result},
        {"role": "user", "content": again},
    ]


@settings(max_examples=60)
@given(st.lists(TEXT, min_size=7, max_size=7), st.sampled_from(sorted(ADDED)))
def test_markers_in_texts_stay_text_in_the_ids_of_every_template(texts, name):
    known = VOCAB[name]
    prompt = hs.render(chat(texts), format=name, template=TEMPLATE[name], vocab=known)
    # A text that is not empty stays so: some templates look at that.
    harmless = hs.render(
        chat(["x" if text else "" for text in texts]), format=name, template=TEMPLATE[name], vocab=known
    )
    markers = set(known.markers.values())
    assert [tid for tid in prompt.ids if tid in markers] == [tid for tid in harmless.ids if tid in markers]
    assert b"".join(map(known.token_bytes, prompt.ids)).decode() == prompt.text


@given(st.lists(TEXT, max_size=4))
def test_stand_ins_vanish_from_the_text(texts):
    names = ["<|im_start|>", "<think>", "<|im_end|>", "[gMASK]", "[["]
    chat = [{"role": "user", "content": text} for text in texts]
    marked, stand_ins = mark_strings({"messages": chat, "b": 1}, spelling(names), ("<think>", "</think>"))
    joined = "".join(message["content"] for message in marked["messages"])
    assert stand_ins.undone(joined) == "".join(texts)
    assert len(joined) == len("".join(texts))
    assert not any(mark in text for text in texts for table in stand_ins for mark in map(chr, table))
    assert not any(name in joined for name in names)


def test_markers_that_overlap_are_all_kept_apart():
    names = ["[[I", "[INST]", "|>x"]
    (message,) = mark_strings({"messages": [{"role": "user", "content": "[[INST]|"}]}, spelling(names), None)[0][
        "messages"
    ]
    assert not any(name in message["content"] + "[INST]>x" for name in ("[[I", "|>x"))
    assert "[INST]" not in message["content"]


SPELLED = [
    "<tool_response>",
    "</tool_response>",
    "<tool_call>",
    "<think>",
    "</think>",
    "<|im_end|>",
    "\n",
    " ",
    "a",
    "<",
]
SPOKEN = st.lists(st.sampled_from(SPELLED), max_size=5).map("".join)


@settings(max_examples=100)
@given(st.lists(SPOKEN, min_size=7, max_size=7), st.sampled_from(sorted(ADDED)))
def test_the_text_is_the_same_with_and_without_a_vocabulary(texts, name):
    """A template that looks for a tag in what a user wrote finds it: only what it copies stays text."""
    with_ids, without = (
        hs.render(chat(texts), format=name, template=TEMPLATE[name], vocab=known) for known in (VOCAB[name], None)
    )
    assert with_ids.text == without.text
    assert without.ids is None


OF_A_TEMPLATE = """{% for m in messages %}{% set c = m.content %}[{{ m.role }}]
{%- if c.startswith('<tool_response>') and c.endswith('</tool_response>') %}result{% endif %}
{%- if '<think>' in c %}thinks{% endif %}{% if c == '<think>' %}only{% endif %}
{{- c.split('<tool_call>') | join('#') }}{{ c.rsplit('<think>', 1)[-1] }}{{ c.partition('</think>')[2] }}
{{- c.find('<tool_call>') }}{{ c.rfind('<think>') }}{{ c.count('<') }}{{ c.strip('<a') }}{{ c.lstrip('<') }}
{{- c.rstrip('>') }}{{ c.replace('<think>', 'T') }}{{ c | replace('<', 'L') }}{{ c | trim }}{{ c[3:7] }}
{{- c | length }}{{ [c] }}{{ {'a': c} }}
{{- c.removeprefix('<think>') }}{{ c.removesuffix('a') }}{{ c | tojson }}{{ c | upper }}{{ 'x' in [c] }}
{{- c | tojson(ensure_ascii=true) }}{{ '<think>' in [c] }}{{ c < 'b' }}{{ [c] | select('equalto', c) | list | length }}
{%- endfor %}"""


@settings(max_examples=200)
@given(st.lists(SPOKEN, max_size=3), st.sampled_from(["user", "assistant"]))
def test_what_a_template_may_do_to_a_text_is_the_same_with_stand_ins(texts, role):
    template = hs.prompts.Template(OF_A_TEMPLATE)
    messages = [{"role": role, "content": text} for text in texts]
    known = VOCAB["hermes"]
    assert hs.render(messages, template=template, vocab=known).text == template.render(messages)


@pytest.mark.parametrize("name", sorted(ADDED))
@pytest.mark.parametrize(
    "said",
    [
        "The closing tag is </think>, see.",
        "Write </think> and <think>.",
        "</think> ends it.",
        "<think>Hm.</think>A tag is </think>, another <think>.",
    ],
)
def test_an_answer_that_mentions_the_tags_is_not_cut(name, said):
    """The first answer is in the history, the second one is what is looked at by templates of the last turn."""
    asked = {"role": "user", "content": "?"}
    messages = [asked, {"role": "assistant", "content": said}, asked, {"role": "assistant", "content": said}]
    spoken = said.partition("</think>")[2] if said.startswith("<think>") else said
    plain = said.replace(spoken, "It is so.")
    control = []
    for content in (said, plain):
        messages = [asked, {"role": "assistant", "content": content}, asked, {"role": "assistant", "content": content}]
        for known in (None, VOCAB[name]):
            prompt = hs.render(messages, format=name, template=TEMPLATE[name], vocab=known)
            assert prompt.text.count(spoken.strip() if content == said else "It is so.") == 2
        markers = set(known.markers.values())
        control.append([tid for tid in prompt.ids if tid in markers])
    assert control[0] == control[1]


def test_an_answer_that_mentions_the_tags_is_not_cut_in_harmony_and_dsml():
    said = "The closing tag is </think>, see."
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": said},
        {"role": "user", "content": "?"},
    ]
    for options in ({"format": "harmony"}, {"format": "dsml"}):
        assert said in hs.render(messages, **options).text


def test_what_has_no_markers_is_encoded_as_a_whole():
    known = vocab(QWEN, QWEN_PLAIN)
    assert marked_pieces("<|im_start|>user\nHi", StandIns(), known) == (["<|im_start|>user\nHi"], True)
