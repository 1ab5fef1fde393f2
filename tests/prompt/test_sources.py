"""Where templates are kept, and which one counts."""

from __future__ import annotations

import json
import struct

import pytest

import harmonystream as hs
from harmonystream.prompt.sources import find
from harmonystream.prompt.template import Template


def write(folder, **files):
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def test_the_order_of_precedence_in_a_folder(tmp_path):
    with pytest.raises(hs.errors.PromptError, match="has no chat template"):
        find(tmp_path)
    write(tmp_path, chat_template_dot_json={"chat_template": "old"})
    assert find(tmp_path).templates == {"default": "old"}
    tokens = {"bos_token": {"content": "<s>"}, "eos_token": "</s>", "pad_token": None}
    write(tmp_path, tokenizer_config_dot_json={"chat_template": "of the tokenizer", **tokens})
    assert find(tmp_path)[:2] == ({"default": "of the tokenizer"}, {"bos_token": "<s>", "eos_token": "</s>"})
    write(tmp_path, chat_template_dot_jinja="a file", additional_chat_templates__tool_use_dot_jinja="with tools")
    assert find(tmp_path).templates == {"default": "a file", "tool_use": "with tools"}


def test_named_templates_are_chosen_by_name_or_by_tools(tmp_path):
    named = [{"name": "default", "template": "d{{ messages[0].content }}"}]
    named.append({"name": "tool_use", "template": "t{{ tools | length }}"})
    write(tmp_path, tokenizer_config_dot_json={"chat_template": named})
    template = Template.load(tmp_path)
    assert template.names == ("default", "tool_use")
    assert template.render("Hi") == "dHi"
    assert template.render("Hi", tools=[{"name": "f"}]) == "t1"
    with pytest.raises(
        hs.errors.PromptError, match=r"\(tool_use\) fails at line 1"
    ):  # which tells what it has not been given
        Template(tmp_path, name="tool_use").render("Hi")
    with pytest.raises(hs.errors.PromptError, match="has no template named 'rag'; it has default, tool_use"):
        Template(tmp_path, name="rag")


def test_a_file_or_a_text(tmp_path):
    write(
        tmp_path, t_dot_jinja="{{ bos_token }}x", c_dot_json={"chat_template": "{{ eos_token }}", "eos_token": "</s>"}
    )
    assert Template(tmp_path / "t.jinja", tokens={"bos_token": "<s>"}).render("") == "<s>x"
    assert Template(tmp_path / "c.json").render("") == "</s>"
    assert Template("{{ messages[0].role }}").render("") == "user"


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("t.jinja", b"\xff", "not UTF-8"),
        ("t.json", b"{", "not JSON"),
        ("t.json", b"[]", "not a JSON object"),
        ("t.json", b'{"chat_template": 5}', "neither a string nor a list"),
        ("t.json", b'{"chat_template": [{"name": 1}]}', "neither a string nor a list"),
        ("t.gguf", b"GGML", "is not a GGUF file"),
        ("t.gguf", b"GGUF\x01\0\0\0", "GGUF of version 1"),
        ("t.gguf", b"GGUF\x03\0\0\0", "damaged GGUF"),
    ],
)
def test_what_is_no_template_is_refused(tmp_path, name, content, error):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(hs.errors.PromptError, match=error):
        find(tmp_path / name)
    with pytest.raises(hs.errors.PromptError, match="neither a folder nor a file"):
        find(tmp_path / "none")


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def gguf(*entries: bytes) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries)) + b"".join(entries)


def test_the_metadata_of_gguf(tmp_path):
    tokens = ["<s>", "</s>", "a"]
    entries = (
        text("general.name") + struct.pack("<I", 8) + text("m"),
        text("scores") + struct.pack("<IIQ", 9, 6, 2) + struct.pack("<ff", 1, 2),
        text("names") + struct.pack("<IIQ", 9, 8, 1) + text("skipped"),
        text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 3) + b"".join(map(text, tokens)),
        text("tokenizer.ggml.bos_token_id") + struct.pack("<II", 4, 0),
        text("tokenizer.ggml.eos_token_id") + struct.pack("<II", 4, 1),
        text("tokenizer.chat_template") + struct.pack("<I", 8) + text("{{ bos_token }}hé"),
        text("tokenizer.chat_template.tool_use") + struct.pack("<I", 8) + text("tools"),
    )
    file = tmp_path / "m.gguf"
    file.write_bytes(gguf(*entries) + b"tensors")
    found = find(file)
    assert found.templates == {"default": "{{ bos_token }}hé", "tool_use": "tools"}
    assert found.tokens == {"bos_token": "<s>", "eos_token": "</s>"}
    assert Template(file).render("") == "<s>hé"
    whole = file.read_bytes()
    for size in range(len(whole) - 8):  # cut anywhere: an error of ours, never another
        file.write_bytes(whole[:size])
        with pytest.raises(hs.errors.PromptError):
            find(file)


@pytest.mark.parametrize(
    "entry",
    [
        struct.pack("<Q", 1 << 60),
        text("k") + struct.pack("<I", 8) + struct.pack("<Q", 1 << 60),
        text("k") + struct.pack("<IIQ", 9, 8, 1 << 60),
        text("k") + struct.pack("<I", 99),
        text("k") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 20,
    ],
)
def test_gguf_that_lies_about_its_sizes_is_refused(tmp_path, entry):
    (tmp_path / "m.gguf").write_bytes(gguf(entry))
    with pytest.raises(hs.errors.PromptError):
        find(tmp_path / "m.gguf")
