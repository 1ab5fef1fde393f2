"""A row of one's own, in a file, in every place that takes a format's name."""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import harmonystream as hs
from harmonystream.cli import main
from harmonystream.formats import format_of
from harmonystream.gateway import Model, app
from harmonystream.gateway.settings import load
from harmonystream.integrations import parser_names

FIELDS = {
    "name": "acme",
    "think": ["<think>", "</think>"],
    "section": ["<acme:calls>", "</acme:calls>"],
    "call": ['<run tool="', '">', "</run>"],
    "pair": ['<set name="', '">', "", "</set>"],
    "stops": ["<|done|>"],
    "turns": ["<|turn|>"],
}
OUTPUT = 'Hm.</think><acme:calls>\n<run tool="f">\n<set name="city">Bergen</set>\n</run>\n</acme:calls><|done|>'
TEMPLATE = (
    "{%- for m in messages %}<|turn|>{{ m.role }}\n{{ m.content }}<|done|>{%- endfor %}"
    "{%- if add_generation_prompt %}<|turn|>assistant\n<think>{%- endif %}"
    "{%- if tools %}{%- endif %}"
)


@pytest.fixture
def row(tmp_path: Path) -> str:
    file = tmp_path / "acme.json"
    file.write_text(json.dumps(FIELDS))
    (tmp_path / "template.jinja").write_text(TEMPLATE)
    (tmp_path / "recording.jsonl").write_text(json.dumps({"text": OUTPUT}))
    return str(file)


def test_the_parser_takes_the_file(row):
    for format in (row, Path(row)):
        read = hs.parse(OUTPUT, format, start="reasoning")
        assert (read.reasoning, read.tool_calls[0].arguments) == ("Hm.", '{"city": "Bergen"}')
    assert hs.Parser(row).format == "acme"
    assert format_of(row) is format_of(row)  # so that it is compiled once


def test_the_file_is_read_again_when_it_changes(row):
    assert hs.parse("<end>", row).content == "<end>"
    Path(row).write_text(json.dumps(FIELDS | {"stops": ["<end>"]}))
    os.utime(row, (time.time() + 5, time.time() + 5))
    assert hs.parse("<end>", row).content == ""


def test_a_prompt_has_the_row_of_the_file(row):
    prompt = hs.render("Rain?", format=row, template=TEMPLATE)
    assert prompt.text.endswith("<|turn|>assistant\n<think>")
    assert (prompt.format, prompt.stops) == (format_of(row), ("<|done|>",))
    assert hs.parse(OUTPUT, prompt.format, prompt=prompt.text).reasoning == "Hm."


@pytest.mark.parametrize("format", ["file", "row"])
def test_a_model_of_the_gateway(row, format):
    given = row if format == "file" else hs.Format.from_dict(FIELDS)
    model = Model("acme-7b", hs.engines.Recorded([{"text": OUTPUT}]), format=given, template=TEMPLATE)
    answered(app([model]))


def answered(made: object) -> None:
    with TestClient(made) as client:  # type: ignore[arg-type]
        body = {
            "messages": [{"role": "user", "content": "Rain?"}],
            "tools": [{"type": "function", "function": {"name": "f"}}],
        }
        message = client.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]
    assert (message["reasoning"], message["tool_calls"][0]["function"]["arguments"]) == ("Hm.", '{"city": "Bergen"}')


def test_the_settings_of_the_gateway(row, tmp_path, monkeypatch):
    settings = tmp_path / "gateway.toml"
    engine = '[[models.acme-7b.engines]]\nkind = "recorded"\nurl = "recording.jsonl"\n'
    settings.write_text(f'[models.acme-7b]\nformat = "acme.json"\ntemplate = "template.jinja"\n{engine}')
    monkeypatch.chdir("/")
    answered(app(load(settings).models))


def test_the_commands(row, tmp_path, capsys, monkeypatch):
    template = str(tmp_path / "template.jinja")
    (tmp_path / "request.json").write_text('{"messages": [{"role": "user", "content": "Rain?"}]}')
    assert main(["render", "--format", row, "--template", template, "--json", str(tmp_path / "request.json")]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "acme"
    monkeypatch.setattr("sys.stdin", io.StringIO("Rain?\n"))
    (tmp_path / "mine.py").write_text("def f(city: str) -> str:\n    return 'rain in ' + city\n")
    engine, tools = f"recorded={tmp_path / 'recording.jsonl'}", ("--tools", str(tmp_path / "mine.py"))
    assert main(["chat", "--engine", engine, "--format", row, "--template", template, *tools]) == 0
    assert '"city": "Bergen"' in capsys.readouterr().out
    monkeypatch.setattr("harmonystream.gateway.operating.server.serve", lambda made, host, port: answered(made))
    served = ["--engine", engine, "--model", "acme-7b"]
    assert main(["serve", *served, "--format", row, "--template", template]) == 0
    assert "acme-7b: format acme, no vocabulary, so prompts go out as text" in capsys.readouterr().err


def test_the_commands_that_test_a_row(row, tmp_path, capsys):
    assert main(["formats", row]) == 0
    assert capsys.readouterr().out == "acme\n"
    events = [["reasoning", "Hm."], ["call", 0, "f"], ["arguments", 0, '{"city": "Bergen"}'], ["end", 0, "complete"]]
    case = {"name": "acme/1", "format": row, "text": OUTPUT, "start": "reasoning", "finish": "stop"}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case | {"events": [*events, ["finish", "tool_calls"]]}))
    assert main(["conformance", "--cases", str(tmp_path / "cases.jsonl")]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[-3:] == ["1", "0", "0"]


def test_the_names_of_the_plug_ins(row, monkeypatch, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(json.dumps(FIELDS | {"name": "other"}))
    monkeypatch.setenv(parser_names.FORMATS_FILES, os.pathsep.join((row, str(other))))
    known = parser_names.names()
    assert format_of(known["harmonystream_acme"] or "").name == "acme"
    assert format_of(known["harmonystream_other"] or "").name == "other"
    assert known.keys() >= {"harmonystream", "harmonystream_hermes"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (FIELDS | {"name": "hermes"}, "has the name of another format, 'hermes'"),
        (FIELDS | {"stop": []}, "unknown field 'stop' of a format; did you mean 'stops'"),
        (None, "No such file"),
    ],
)
def test_a_file_that_plug_ins_cannot_use_is_named(fields, said, monkeypatch, tmp_path):
    file = tmp_path / "row.json"
    if fields is not None:
        file.write_text(json.dumps(fields))
    monkeypatch.setenv(parser_names.FORMATS_FILES, str(file))
    with pytest.raises(hs.errors.FormatError) as raised:
        parser_names.names()
    assert said in str(raised.value)
    assert str(raised.value).startswith("HARMONYSTREAM_FORMATS") and str(file) in str(raised.value)
    monkeypatch.setenv(parser_names.FORMATS_FILES, "acme.yaml")
    with pytest.raises(hs.errors.FormatError, match=r"'acme.yaml', which is not a .toml or .json file"):
        parser_names.names()
