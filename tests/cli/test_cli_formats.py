"""`harmonystream parse` and `harmonystream formats` with every format: names, tokenizers, tools, text and ids."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from command import ENV, arrives, run, start
from families import FAMILIES, TOOLS, encode, render, tokenizer, vocab

import harmonystream as hs
from harmonystream import cli

CALL = {"id": "functions.get_weather:0", "name": "get_weather", "arguments": {"s": "Bergen", "i": 3}}


def turn(name):
    """The start, what the model writes, and the kind of its call."""
    family = FAMILIES[name]
    calls = [] if family.row == "think" else [CALL]
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "reasoning": "Hm.", "content": "On it.", "calls": calls},
    ]
    thinking, begun = next(iter(family.modes.items()))
    return begun, render(family, messages, thinking)[1]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A tokenizer.json in a directory for each family, and the request with its tools."""
    top = tmp_path_factory.mktemp("models")
    for name, family in FAMILIES.items():
        (top / name).mkdir()
        tokenizer(family.special, family.plain).save(str(top / name / "tokenizer.json"))
    (top / "request.json").write_text(json.dumps({"model": "m", "messages": [], "tools": TOOLS}))
    return top


def as_json(events):
    return [
        {"type": type(event).__name__} | {key: getattr(event, key) for key in event.__match_args__} for event in events
    ]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_format_from_text_and_from_ids(name, files):
    family = FAMILIES[name]
    begun, text = turn(name)
    options = ["--json", "--format", family.row, "--start", begun, "--tools", str(files / "request.json")]
    parser = hs.Parser(family.row, tools=TOOLS, start=begun)
    expected = parser.feed_text(text) + parser.finish()
    status, out, err = run("parse", *options, stdin=text)
    assert (status, [json.loads(line) for line in out.splitlines()]) == (0, as_json(expected))
    assert err == ("harmonystream: call-in-reasoning at 25\n" if family.row == "deepseek_search" else "")

    ids = encode(tokenizer(family.special, family.plain), text)
    parser = hs.Parser(family.row, vocab(family.special, family.plain), tools=TOOLS, start=begun)
    expected = parser.feed(ids) + parser.finish()
    for given in (files / name, files / name / "tokenizer.json"):
        status, out, _ = run("parse", *options, "--tokenizer", str(given), stdin=json.dumps(ids))
        assert (status, [json.loads(line) for line in out.splitlines()]) == (0, as_json(expected))


def test_what_a_person_sees():
    begun, text = turn("kimi_k2")
    shown = run("parse", "--format", "moonshotai/Kimi-K2-Instruct-0905", "--start", begun, stdin=text + "\n")
    assert shown == (
        0,
        "reasoning\n  Hm.\ncontent\n  On it.\n"
        'call 0: get_weather, id functions.get_weather:0\n  {"s": "Bergen", "i": 3}\ncall 0 is complete\n\n'
        "finish: tool_calls\nbytes: 199 (166 header, 3 reasoning, 6 content, 23 arguments, 1 done)\n"
        "deviations: 1\n  after-end at 198\n",
        "",
    )


def test_content_has_its_heading_again_after_thoughts_and_calls():
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    text = f"<think>a</think>b\n<think>c</think>d{call}e{call}"
    shown = run("parse", "--format", "hermes", stdin=text)[1].split("\n\n")[0]
    calls = [f"call {i}: f\n  {{}}\ncall {i} is complete" for i in range(2)]
    assert shown == "\n".join(
        ["reasoning\n  a\ncontent\n  b\nreasoning\n  c\ncontent\n  d", calls[0], "content\n  e", calls[1]]
    )


@pytest.mark.parametrize("text", ["42 is the answer", "[1] and {2}", '{"a": 1}', "\n7"])
def test_text_that_begins_like_ids_is_text_without_a_tokenizer(text):
    status, out, err = run("parse", "--format", "think", stdin=text)
    assert (status, err) == (0, "")
    assert out.startswith("content\n") and f"bytes: {len(text)}" in out


def test_the_example_of_the_help_works(files):
    example = "harmonystream parse --format glm --tokenizer tokenizer.json \\\n      --tools request.json ids.jsonl"
    assert example in cli.parse._MORE
    family = FAMILIES["glm47"]
    here = files / "glm47"
    (here / "request.json").write_text((files / "request.json").read_text())
    _, text = turn("glm47")
    ids = encode(tokenizer(family.special, family.plain), text.removeprefix("Hm.</think>"))
    (here / "ids.jsonl").write_text("".join(f"[{tid}]\n" for tid in ids))
    command = f'harmonystream() {{ "{sys.executable}" -m harmonystream "$@"; }}; {example}'
    done = subprocess.run(["sh", "-c", command], cwd=here, env=ENV, capture_output=True, text=True, timeout=60)
    shown = (
        'content\n  On it.\ncall 0: get_weather\n  {"s": "Bergen", "i": 3}\ncall 0 is complete\n\nfinish: tool_calls\n'
    )
    assert done.stdout.startswith(shown)
    assert (done.returncode, done.stderr) == (0, "")


def test_strict_stops_at_the_first_deviation():
    message = "stray-closer at position 2, in state TEXT: expected a closer only where something is open"
    shown = run("parse", "--strict", "--format", "hermes", stdin="Hi</think> you")
    assert shown == (1, "content\n  Hi\n", f"harmonystream: {message}\n")


def test_text_can_be_read_beside_a_tokenizer(files):
    options = ["--format", "hermes", "--tokenizer", str(files / "qwen3")]
    assert run("parse", *options, "--input", "text", stdin="Hi")[1].startswith("content\n  Hi\n")
    assert run("parse", *options, stdin="Hi")[::2] == (
        2,
        "harmonystream: line 1: 'Hi' is not a token id (a number from 0 to 4294967295); "
        "text is read with --input text\n",
    )


def test_ids_of_another_model_need_its_tokenizer():
    message = "harmonystream: ids of the format 'glm' need --tokenizer: the model's tokenizer.json\n"
    assert run("parse", "--format", "GLM-4.6", "--input", "ids", stdin="1 2") == (2, "", message)


def test_harmony_with_a_tokenizer_of_ones_own(files):
    status, _, err = run("parse", "--tokenizer", str(files / "qwen3"), stdin="1")
    assert status == 2
    assert "lacks control ids that the format 'harmony' needs" in err


def test_arguments_appear_while_they_are_written():
    process = start("parse", "--format", "qwen3_coder")
    process.stdin.write(b"<tool_call>\n<function=f>\n<parameter=s>\nThe wea")
    assert arrives(process.stdout.fileno(), b"The wea").decode() == 'call 0: f\n  {"s": "The wea'
    process.communicate(timeout=10)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["--format", "markdown"],
            "no format is known for the model 'markdown'. Pass the format yourself with --format: ",
        ),
        (
            ["--format", "hermes", "--start", "<think>"],
            "start is 'auto', 'content', 'reasoning' or 'answer' in the format ",
        ),
        (["--format", "hermes", "--tokenizer", "missing"], "there is no file missing: "),
        (["--format", "hermes", "--tokenizer", "."], "the folder . has no tokenizer.json: "),
    ],
)
def test_options_that_cannot_be(args, message, tmp_path):
    status, out, err = run("parse", *args)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"harmonystream: {message}")


@pytest.mark.parametrize("content", [b"{", b"\x80\x81\n", b"[1]", b"{}"])
def test_a_file_that_is_no_tokenizer(content, tmp_path):
    file = tmp_path / "tokenizer.model"
    file.write_bytes(content)
    status, out, err = run("parse", "--format", "hermes", "--tokenizer", str(file))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"harmonystream: {file} is not ")


def test_the_formats_are_listed():
    status, out, err = run("formats")
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == list(hs.formats.names())
    assert "\nseed_oss         Seed-OSS\n" in out
    assert max(map(len, out.splitlines())) < 80


def test_the_format_of_a_model():
    assert run("formats", "zai-org/GLM-4.5-Air") == (0, "glm\n", "")
    status, out, err = run("formats", "gpt-5")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(
        "harmonystream: no format is known for the model 'gpt-5'. Pass the format yourself with format=: "
    )


def test_a_format_from_a_file(tmp_path):
    row = tmp_path / "row.json"
    row.write_text(json.dumps({"name": "mine", "think": ["<a>", "</a>"], "stops": ["<end>"]}))
    status, out, err = run("parse", "--json", "--format", str(row), stdin="<a>Hm</a>Hi<end>")
    assert [event["text"] for event in map(json.loads, out.splitlines()) if "text" in event] == ["Hm", "Hi"]
    assert (status, err) == (0, "")
    fields = {"thinking": {"open": "<a>", "close": "</a>"}, "content": {"close": "<end>"}}
    config = {"response_template": {"start_anchor": "<|im_start|>", "fields": fields}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    for source in (tmp_path, tmp_path / "tokenizer_config.json"):
        assert run("parse", "--json", "--format", str(source), stdin="<a>Hm</a>Hi<end>") == (0, out, "")
    row.write_text(json.dumps({"name": "mine", "thinks": ["<a>", "</a>"]}))
    status, out, err = run("parse", "--format", str(row), stdin="")
    assert (status, out) == (2, "")
    assert "row.json: unknown field 'thinks' of a format; did you mean 'think'" in err


def test_a_file_with_a_row_is_named_too(tmp_path, capsys):
    file = tmp_path / "acme.toml"
    file.write_text('name = "acme"\nthink = ["<t>", "</t>"]\nstops = ["<e>"]\n')
    assert cli.main(["formats", str(file)]) == 0
    assert capsys.readouterr().out == "acme\n"
    file.write_text("name = 5")
    assert cli.main(["formats", str(file)]) == 2
