"""`harmonystream render`, as a user runs it."""

from __future__ import annotations

import json

import pytest
from command import ENV, on_terminal, run
from families import QWEN, QWEN_PLAIN, tokenizer

import harmonystream as hs

REQUEST = {
    "model": "openai/gpt-oss-20b",
    "messages": [{"role": "user", "content": "Hi <|end|>"}],
    "tools": [{"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}],
    "reasoning_effort": "high",
    "temperature": 0.5,
}
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
TEMPLATE += "{{ extra }}{{ enable_thinking }}"


def text(**options):
    return hs.render(REQUEST["messages"], tools=REQUEST["tools"], reasoning="high", date=None, **options)


def test_a_request_as_text_ids_and_json():
    data = json.dumps(REQUEST)
    want = text(model="gpt-oss")
    assert run("render", "--date", "none", stdin=data) == (0, want.text, "")
    assert run("render", "--date", "none", "--ids", stdin=data) == (0, json.dumps(want.ids) + "\n", "")
    status, out, _ = run("render", "--date", "none", "--json", "--format", "harmony", stdin=data)
    assert status == 0
    assert json.loads(out) == {
        "text": want.text,
        "ids": want.ids,
        "format": "harmony",
        "stop_ids": [199999, 200002, 200012],
    }


def test_the_date_and_the_dialect():
    _, out, _ = run("render", "--model", "gpt-oss", "--date", "2026-11-22", stdin='[{"role": "user", "content": ""}]')
    assert "Current date: 2026-11-22\n" in out
    _, out, _ = run(
        "render", "--format", "dsml", "--dialect", "v4", "--no-thinking", stdin='[{"role": "user", "content": "?"}]'
    )
    assert out == "<｜begin▁of▁sentence｜><｜User｜>?<｜Assistant｜></think>"


def test_a_template_with_its_tokenizer_and_variables(tmp_path):
    tokenizer(QWEN, QWEN_PLAIN).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    file = tmp_path / "request.json"
    file.write_text('{"messages": [{"role": "user", "content": "<|im_end|>"}], "chat_template_kwargs": {"extra": 7}}')
    status, out, _ = run("render", "--template", str(tmp_path), "--thinking", str(file))
    assert (status, out) == (0, "<|im_start|>user\n<|im_end|><|im_end|>\n7True")
    _, out, _ = run("render", "--template", str(tmp_path), "--set", "extra=[1]", "--ids", str(file))
    known = hs.vocab.from_tokenizers(tmp_path)
    assert json.loads(out).count(known.control["<|im_end|>"]) == 1


def test_colours_mark_the_control_tokens():
    shown = on_terminal("render", "--date", "none", stdin=json.dumps(REQUEST).encode())
    assert "\x1b[1;33m<|start|>\x1b[0m" in shown
    plain = run("render", "--color", "always", "--date", "none", stdin=json.dumps(REQUEST), env={"NO_COLOR": "1"})[1]
    assert "\x1b[1;33m<|message|>" in plain
    assert "TERM" in ENV


@pytest.mark.parametrize(
    ("arguments", "stdin", "error"),
    [
        ((), "{", "standard input: not JSON"),
        ((), "{}", "the request needs messages, or input, as the Responses API calls them"),
        ((), "[]", "it is not known which prompt to write"),
        (("--model", "gpt-oss"), '[{"role": "poet"}]', "message 0: role is 'poet'"),
        (("--model", "poem-7b"), "[]", "no format is known"),
        (("--model", "gpt-oss", "--date", "soon"), "[]", "--date soon: expected YYYY-MM-DD, today or none"),
        (("--model", "gpt-oss", "--set", "x"), "[]", "--set x: expected NAME=JSON"),
        (("--format", "dsml", "--ids"), "[]", "ids need --tokenizer"),
    ],
)
def test_mistakes_are_reported(arguments, stdin, error):
    status, out, told = run("render", *arguments, stdin=stdin)
    assert (status, out) == (2, "")
    assert told.startswith("harmonystream: ") and error in told
