"""A model as it is served: its prompt, its switches, and its limits."""

from __future__ import annotations

import json

import pytest
from families import QWEN, QWEN_PLAIN, tokenizer

from harmonystream.engines import Recorded
from harmonystream.gateway import Model
from harmonystream.gateway.asked import Asked
from harmonystream.gateway.model import Served, served
from harmonystream.gateway.refused import Refused

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if tools %}{{ tools | tojson }}{% endif %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
    "{{ reasoning_effort }}"
)


def asked(**more):
    return Asked("chat", {}, "m", messages=[{"role": "user", "content": "?"}], **more)


def gpt_oss(**more):
    return Served(Model("gpt-oss", Recorded(), **more))


def qwen(**more):
    return Served(Model("Qwen/Qwen3-8B", Recorded(), template=TEMPLATE, **more))


def test_the_effort_of_gpt_oss():
    for effort, said in [(None, "medium"), ("low", "low"), ("minimal", "low"), ("xhigh", "high")]:
        assert f"Reasoning: {said}" in gpt_oss().prompt(asked(effort=effort)).text
    assert "Reasoning: high" in gpt_oss().prompt(asked(variables={"reasoning_effort": "high"})).text
    with pytest.raises(Refused, match="always reasons"):
        gpt_oss().prompt(asked(effort="none"))
    with pytest.raises(Refused, match="chat_template_kwargs has date"):
        gpt_oss().prompt(asked(variables={"date": "2020"}))


def test_the_switches_of_a_template():
    model = qwen()
    closed = "<think>\n\n</think>"
    assert closed not in model.prompt(asked()).text
    assert closed in model.prompt(asked(thinking=False)).text
    assert closed in model.prompt(asked(effort="none")).text
    assert closed in model.prompt(asked(variables={"enable_thinking": False})).text
    assert model.prompt(asked(effort="high")).text.endswith("high")
    for name in ("sparkle", "tools", "vocab"):
        with pytest.raises(Refused, match=f"chat_template_kwargs has {name}"):
            model.prompt(asked(variables={name: True}))


def test_a_template_without_switches_is_not_asked():
    plain = Served(Model("Qwen/Qwen3-8B", Recorded(), template=TEMPLATE.split("{% if enable")[0]))
    assert plain.prompt(asked(thinking=False, effort="high")).text.endswith("assistant")


def test_what_cannot_be_written_is_refused():
    with pytest.raises(Refused, match=r"message 0: role is 'nobody'") as caught:
        gpt_oss().prompt(Asked("responses", {}, "m", messages=[{"role": "nobody"}]))
    assert caught.value.param == "input"


def test_the_context_bounds_the_answer():
    model = gpt_oss(context=100, max_tokens=50, sampling={"temperature": 0.6, "min_tokens": 2})
    assert model.sampling(asked(), 10).max_tokens == 50
    assert model.sampling(asked(max_tokens=500), 60).max_tokens == 40
    sampling = model.sampling(asked(sampling={"temperature": 1.0}), 10)
    assert (sampling.temperature, sampling.extra) == (1.0, {"min_tokens": 2})
    with pytest.raises(Refused, match="has 100 tokens; this model's context has 100"):
        model.sampling(asked(), 100)
    assert gpt_oss().sampling(asked(max_tokens=7), 10**6).max_tokens == 7


def test_a_folder_may_say_the_format_of_a_model_with_any_name(tmp_path):
    fields = {"thinking": {"open": "<hm>", "close": "</hm>"}}
    config = {"chat_template": TEMPLATE, "response_template": {"start_anchor": "a", "fields": fields}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    tokenizer(QWEN, QWEN_PLAIN).save(str(tmp_path / "tokenizer.json"))
    assert Served(Model("nobody/knows", Recorded(), tokenizer=tmp_path)).row.think == ("<hm>", "</hm>")


def test_models_that_cannot_be_served():
    with pytest.raises(ValueError, match="two models have the name gpt-oss"):
        served([Model("gpt-oss", Recorded()), Model("b", Recorded(), family="gpt-oss", aliases=("gpt-oss",))])
    with pytest.raises(ValueError, match="no models"):
        served([])
    with pytest.raises(ValueError, match="has no engine"):
        served([Model("gpt-oss", [])])
    with pytest.raises(ValueError, match="the model nobody/knows: "):
        served([Model("nobody/knows", Recorded())])
    with pytest.raises(ValueError, match="needs its chat template"):
        served([Model("Qwen/Qwen3-8B", Recorded())])
    assert served([Model("a", Recorded(), family="gpt-oss")])["a"].row.name == "harmony"
