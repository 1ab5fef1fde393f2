"""docs/formats.md: the table of other parsers' names, against the names that vLLM and SGLang register."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest
from parser_registries import KNOWN, known, registries
from test_docs import rows, text_of

import harmonystream as hs
from harmonystream.formats import format_of
from harmonystream.formats.aliases import ALIASES, UNREAD

LABELS = {"vllm": "vLLM", "sglang": "SGLang"}
REGISTERED = known()
NAMES = sorted({name for found in REGISTERED.values() for name in (*found["calls"], *found["reasoning"])})
OLLAMA = {
    name
    for part in text_of("docs/formats.md").partition("Ollama's parsers are read")[2].partition("## ")[0].splitlines()
    if part.startswith("| `")
    for name in re.findall("`([^`]+)`", part.split("|")[1])
}
TABLE = {cells[0].strip("`"): cells[1:] for cells in rows("docs/formats.md", 4) if cells[0].strip("`") in NAMES}


def reads(name: str) -> str:
    told = []
    for server, found in REGISTERED.items():
        kinds = [kind for kind in ("calls", "reasoning") if name in found[kind]]
        told += [f"{LABELS[server]}: {' and '.join(kinds)}"] if kinds else []
    return ", ".join(told)


def test_every_name_is_in_the_table():
    assert sorted(TABLE) == NAMES
    for found in REGISTERED.values():
        assert found["version"] in text_of("docs/formats.md")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_has_a_row_or_a_reason(name):
    said, row, note = TABLE[name]
    assert said == reads(name)
    if row == "—":
        reason = re.sub(r"\[`(.*)`\]\(.*\)", r"\1", note.removeprefix("not read: "))
        assert (name, reason) in UNREAD.items()
        with pytest.raises(
            hs.errors.FormatError, match=re.escape(f"no row reads what the parser {name!r} reads: {reason}")
        ):
            format_of(name)
    else:
        assert row.strip("`") == format_of(name).name


def test_there_are_no_aliases_but_these():
    assert len(OLLAMA) == 26
    assert set(ALIASES) <= {*NAMES, *OLLAMA}
    assert set(UNREAD) <= {*NAMES, *OLLAMA}


def test_the_script_finds_the_names_in_wheels(tmp_path: Path):
    wheel = tmp_path / "sglang-9.9-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as files:
        files.writestr("sglang/srt/function_call/parser_names.py", 'TOOL_CALL_PARSER_NAMES = ["b", "a"]')
        files.writestr("sglang/srt/parser/reasoning_parser_names.py", 'REASONING_PARSER_NAMES: list[str] = ["c"]')
    assert registries(wheel) == {"sglang": {"version": "9.9", "calls": ["a", "b"], "reasoning": ["c"]}}
    wheel = tmp_path / "vllm-1.0-cp38-abi3-linux.whl"
    with zipfile.ZipFile(wheel, "w") as files:
        files.writestr("vllm/tool_parsers/__init__.py", '_TOOL_PARSERS_TO_REGISTER = {"x": ("m", "C")}')
        files.writestr("vllm/reasoning/__init__.py", "nothing = 1")
    with pytest.raises(LookupError, match="_REASONING_PARSERS_TO_REGISTER"):
        registries(wheel)
    assert json.loads(KNOWN.read_text(encoding="utf-8")) == REGISTERED
