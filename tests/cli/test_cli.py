"""The command `harmonystream parse` on files and pipes: what it reads, what it writes, how it fails."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import pytest
from command import ENV, IDS, SHOWN, SHOWN_TEXT, TEXT, arrives, run, start

import harmonystream as hs
from harmonystream import cli

# --- what may be read ---------------------------------------------------------------------------------------------

SPELLINGS = {
    "a number per line": "\n".join(map(str, IDS)) + "\n",
    "spaces": " ".join(map(str, IDS)),
    "commas": ", ".join(map(str, IDS)),
    "one list": json.dumps(IDS),
    "a list per line": "".join(f"[{tid}]\n" for tid in IDS),
    "objects": "".join(json.dumps({"t": 0.5, "ids": [tid]}) + "\n" for tid in IDS),
    "objects as some servers write them": json.dumps({"token_ids": IDS}),
}


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_ids_are_read_in_any_spelling(text, tmp_path):
    file = tmp_path / "ids"
    file.write_text(text)
    assert run("parse", str(file)) == (0, SHOWN, "")
    assert run("parse", stdin=text) == (0, SHOWN, "")
    assert run("parse", "-", "--input", "ids", stdin=text) == (0, SHOWN, "")


def test_text_is_read_too():
    assert run("parse", stdin=TEXT) == (0, SHOWN_TEXT, "")
    assert run("parse", "--input", "text", stdin=TEXT) == (0, SHOWN_TEXT, "")


def test_an_option_reads_text_that_looks_like_ids_as_text():
    status, out, err = run("parse", "--input", "text", "--start", "answer", stdin="42<|return|>")
    assert (status, out.splitlines()[:2], err) == (0, ["answer", "  42"], "")


def test_text_may_be_cut_inside_a_character_and_be_ill_formed():
    stdin = "<|channel|>final<|message|>伞".encode()[:-1] + b"\xff<|return|>"
    status, out, err = run("parse", stdin=stdin)
    assert (status, out.splitlines()[:2], err) == (0, ["answer", "  \ufffd\ufffd"], "")


@pytest.mark.parametrize("args", [[], ["--input", "ids"], ["--input", "text"]])
def test_an_empty_input_is_an_empty_stream(args):
    unit = "tokens" if "ids" in args else "bytes"
    unknown = "finish: unknown (nothing shows that the model had finished)"
    assert run("parse", *args) == (0, f"\n{unknown}\n{unit}: 0\n", "")
    assert run("parse", "--json", *args) == (0, '{"type": "StreamEnd", "reason": null, "start": 0, "stop": 0}\n', "")


def test_a_huge_list_is_read():
    ids = [200005, 17196, 200008] + [0] * 500_000 + [200002]
    status, out, err = run("parse", stdin=json.dumps(ids))
    assert (status, err) == (0, "")
    assert out == f"answer\n  {'!' * 500_000}\n\nfinish: stop\ntokens: 500004 (4 header, 500000 content)\n"


# --- live ---------------------------------------------------------------------------------------------------------


def test_events_appear_while_the_input_is_open():
    process = start("parse", "--json")
    process.stdin.write(b"200005 17196 200008 12194 ")
    got = arrives(process.stdout.fileno(), b"ContentDelta")
    assert [json.loads(line)["type"] for line in got.splitlines()] == ["MessageStart", "ContentDelta"]
    process.stdin.write(b"0\n")
    assert json.loads(arrives(process.stdout.fileno(), b"\n")) == {
        "type": "ContentDelta",
        "text": "!",
        "channel": "final",
        "start": 4,
        "stop": 5,
    }
    rest, err = process.communicate(b"200002", timeout=10)
    assert [json.loads(line)["type"] for line in rest.splitlines()] == ["MessageEnd", "StreamEnd"]
    assert (process.returncode, err) == (0, b"")


def test_text_appears_byte_by_byte():
    process = start("parse", "--input", "text")
    for byte in "<|channel|>final<|message|>伞".encode():
        process.stdin.write(bytes([byte]))
    assert arrives(process.stdout.fileno(), "伞".encode()).decode() == "answer\n  伞"
    process.stdin.write(b"!")
    assert arrives(process.stdout.fileno(), b"!") == b"!"
    rest, _ = process.communicate(timeout=10)
    assert rest.decode().startswith("\n\nfinish: ")


def test_the_first_bytes_decide_as_soon_as_they_can():
    process = start("parse")
    process.stdin.write(b"\n")
    process.stdin.write(b"[200005,17196,200008,0,")
    assert arrives(process.stdout.fileno(), b"!") == b"answer\n  !"
    process.stdin.write(b"]")
    process.communicate(timeout=10)
    assert process.returncode == 0


def test_an_interrupt_ends_the_line_and_says_so_by_its_status():
    process = start("parse")
    process.stdin.write(b"200005 17196 200008 0 ")
    assert arrives(process.stdout.fileno(), b"!") == b"answer\n  !"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=10) == (b"\n", b"")
    assert process.returncode == 130


@pytest.mark.parametrize("args", [["--json"], [], ["--color", "always"]])
def test_nobody_reads_the_output(args):
    process = start("parse", *args)
    process.stdout.close()
    process.stdin.write(b"200005 17196 200008 " + b"0 " * 10)
    assert process.wait(timeout=10) == 141
    assert process.stderr.read() == b""
    process.stdin.close()
    process.stderr.close()


# --- JSON ---------------------------------------------------------------------------------------------------------


def test_json_is_the_events_of_the_parser_and_nothing_else():
    text = (
        "<|channel|>analysis<|message|>想\x1b[1m\n<|end|>"
        '<|start|>assistant<|channel|>commentary to=functions.f<|message|>{"a": "伞"}<|call|>'
        "<|start|>user<|message|>x<|end|><|start|>assistant<|channel|>odd<|message|>\x9b"
    )
    parser = hs.Parser(tools=["f"])
    events = (*parser.feed_text(text), *parser.finish("length"))
    status, out, err = run("parse", "--json", "--tools", "f", "--finish-reason", "length", stdin=text)
    fields = [json.loads(line) for line in out.splitlines()]
    assert tuple(getattr(hs, field.pop("type"))(**field) for field in fields) == events
    assert status == 0
    assert err == (
        "harmonystream: foreign-role at 130\n"
        "harmonystream: unknown-channel at 162: expected analysis, commentary or final\n"
    )
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", out)
    assert "伞" in out


# --- options ------------------------------------------------------------------------------------------------------

CALL = "<|channel|>commentary to=g<|message|>{}<|call|>"


def test_tools_by_name():
    assert run("parse", "--tools", "f, g", stdin=CALL)[1].startswith("call 0: g\n  {}\ncall 0 is complete\n")
    assert run("parse", "--tools", "f", stdin=CALL)[1].startswith("call 0: g (other)\n")


@pytest.mark.parametrize(
    "tools", [["g"], [{"type": "function", "function": {"name": "g"}}], {"model": "m", "tools": [{"name": "g"}]}]
)
def test_tools_from_a_file(tools, tmp_path):
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(tools))
    assert run("parse", "--tools", str(file), stdin=CALL)[1].startswith("call 0: g\n")


def test_without_tools_nothing_is_a_call():
    assert run("parse", "--no-tools", stdin=CALL)[1].startswith("preamble\n  {}\n\nfinish: stop\n")


def test_where_the_prompt_ended():
    assert run("parse", "--start", "reasoning", stdin="Hm.<|end|>")[1].startswith("reasoning\n  Hm.\n")
    prefix = "<|start|>assistant<|channel|>final<|message|>"
    assert run("parse", "--start", prefix, stdin="Hi.")[1].startswith("answer\n  Hi.\n")


def test_the_reason_of_the_engine():
    assert "\nfinish: length\n" in run("parse", "--finish-reason", "length", stdin=TEXT)[1]


def test_strict_stops_at_the_first_deviation():
    stdin = "<|channel|>final<|message|>Hi<|start|>assistant<|channel|>final<|message|>there<|return|>"
    message = "harmonystream: missing-end at position 29, in state BODY: expected <|end|>, <|call|> or <|return|>\n"
    assert run("parse", "--strict", stdin=stdin) == (1, "answer\n  Hi\n", message)
    status, out, err = run("parse", "--strict", "--json", stdin=stdin)
    assert (status, err) == (1, message)
    assert [json.loads(line)["type"] for line in out.splitlines()] == ["MessageStart", "ContentDelta", "MessageEnd"]
    assert run("parse", "--strict", stdin=TEXT) == (0, SHOWN_TEXT, "")


# --- what goes wrong ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "stdin", "message"),
    [
        (["parse", "missing.txt"], "", "missing.txt: No such file or directory"),
        (["parse", "."], "", ".: Is a directory"),
        (
            ["parse"],
            "1 2 x",
            "line 1: 'x' is not a token id (a number from 0 to 4294967295); text is read with --input text",
        ),
        (["parse"], "[[1]]", "line 1: a list inside a list: one stream's ids are flat"),
        (["parse"], "\n[1, 2", "line 2: the input ends inside a list"),
        (["parse", "--tools", "missing.json"], "", "missing.json: No such file or directory"),
        (
            ["parse", "--start", "middle"],
            "",
            "start is 'auto', 'content', 'reasoning', 'answer', or Harmony text such as",
        ),
    ],
)
def test_input_that_cannot_be_used(args, stdin, message):
    status, _, err = run(*args, stdin=stdin)
    assert status == 2
    assert err.startswith(f"harmonystream: {message}")
    assert err.count("\n") == 1


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs a file that opens but cannot be read")
def test_input_that_breaks_off():
    assert run("parse", "/proc/self/mem") == (2, "", "harmonystream: cannot read the input: Input/output error\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
@pytest.mark.parametrize("args", [["parse"], ["parse", "--json"], ["demo"]])
def test_output_that_cannot_be_written(args):
    with open("/dev/full", "wb") as full:
        process = start(*args, stdout=full)
    assert process.communicate(TEXT.encode(), timeout=10)[1] == (
        b"harmonystream: cannot write the output: No space left on device\n"
    )
    assert process.returncode == 2


def test_tools_that_are_none(tmp_path):
    file = tmp_path / "tools.json"
    file.write_text("{")
    status, _, err = run("parse", "--tools", str(file))
    assert status == 2
    assert err.startswith(f"harmonystream: {file}: not JSON: ")
    file.write_text('"f"')
    assert run("parse", "--tools", str(file))[::2] == (
        2,
        f'harmonystream: {file}: a list of tools, or an object with "tools", is expected\n',
    )
    file.write_text("[7]")
    assert run("parse", "--tools", str(file))[::2] == (
        2,
        "harmonystream: a tool is a name, a dict as the APIs have it, or such a model of pydantic, not int\n",
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["pars"], "invalid choice: 'pars'"),
        (["parse", "--inptu", "ids"], "unrecognized arguments"),
        (["parse", "--tools", "f", "--no-tools"], "not allowed with argument --tools"),
        (["demo", "--speed", "-1"], "a speed is 0 or more"),
        (["demo", "--speed", "fast"], "invalid"),
    ],
)
def test_wrong_usage(args, message):
    status, out, err = run(*args)
    assert (status, out) == (2, "")
    assert err.startswith("usage: harmonystream")
    assert message in err


def test_the_output_of_the_model_reaches_no_error_message_raw():
    status, _, err = run("parse", stdin=b"1 \x1b[31m\xff")
    assert (status, err.count("\n")) == (2, 1)
    assert "\x1b" not in err


# --- help ---------------------------------------------------------------------------------------------------------


def test_version():
    assert run("--version") == (0, f"harmonystream {hs.__version__}\n", "")


def test_help_teaches():
    status, out, err = run("parse", "--help")
    assert (status, err) == (0, "")
    for part in (
        "examples:",
        "exit status:",
        "--input auto",
        "tail -f -n +1 ids.log | harmonystream parse",
        "Prefer ids",
        "--format FORMAT",
        "--tokenizer FILE",
        "need --tokenizer",
    ):
        assert part in out
    assert max(map(len, run("parse", "--help", env={"COLUMNS": "80"})[1].splitlines())) < 80


@pytest.mark.parametrize(
    ("example", "shown"),
    [
        ("echo 'It is 4.<|return|>' | harmonystream parse --start answer", "answer\n  It is 4.\n\nfinish: stop\n"),
        (
            "echo '2+2.</think>It is 4.' |\n      harmonystream parse --format Qwen/Qwen3-8B --start reasoning",
            "reasoning\n  2+2.\ncontent\n  It is 4.\n",
        ),
        ("cat generated.jsonl | harmonystream parse", SHOWN),
        ("harmonystream parse generated.jsonl", SHOWN),
        ("harmonystream parse --strict ids.txt > /dev/null && echo yes", "yes\n"),
    ],
)
def test_the_examples_of_the_help_work(example, shown, tmp_path):
    assert example in cli.parse._MORE
    (tmp_path / "generated.jsonl").write_text(SPELLINGS["a list per line"])
    (tmp_path / "ids.txt").write_text(SPELLINGS["spaces"])
    command = f'harmonystream() {{ "{sys.executable}" -m harmonystream "$@"; }}; {example}'
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=ENV, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith(shown)
    assert (done.returncode, done.stderr) == (0, "")
