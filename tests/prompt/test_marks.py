"""Text of users never becomes a marker: not inside a template, not where two texts meet."""

from __future__ import annotations

from typing import Any

from families import GLM, GLM_PLAIN, KIMI, KIMI_PLAIN, QWEN, QWEN_PLAIN, SEED, SEED_PLAIN, vocab
from hypothesis import given, settings
from hypothesis import strategies as st
from test_jinja import TEMPLATES

import harmonystream as hs
from harmonystream.prompt.marks import encode_marked, mark_strings, spelling

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
    "\uf8ff",
]
TEXT = st.lists(st.sampled_from(BITS), max_size=4).map("".join)
TEMPLATE = {path.stem: hs.Template(path) for path in TEMPLATES}
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
def test_marks_vanish_from_the_text(texts):
    markers = spelling(["<|im_start|>", "<think>", "<|im_end|>"])
    data, mark = mark_strings({"a": texts, "b": 1}, markers)
    joined = "".join(data["a"])
    assert (joined.replace(mark, "") if mark else joined) == "".join(texts)
    assert not mark or not any(mark in text for text in texts)
    assert not any(name in joined for name in ("<|im_start|>", "<think>", "<|im_end|>"))


def test_what_has_no_markers_is_encoded_as_a_whole():
    known = vocab(QWEN, QWEN_PLAIN)
    assert encode_marked("<|im_start|>user\nHi", "", known) == known.encode("<|im_start|>user\nHi", control=True)
