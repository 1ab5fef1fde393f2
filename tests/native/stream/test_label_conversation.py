"""label() of whole rendered conversations, where only what the assistant wrote counts, and of many rows at once."""

from __future__ import annotations

import array
import itertools

import families
import numpy as np
import pytest
from streams import to_ids

import harmonystream as hs
from harmonystream import Region

TURNS = {name: family for name, family in families.FAMILIES.items() if name not in ("think", "deepseek_search")}
CALL = {"name": "f", "arguments": {"s": "x"}, "id": "functions.f:0"}


def assistant_message(
    content: str, reasoning: str = "", calls: tuple[dict[str, object], ...] = ()
) -> dict[str, object]:
    return {"role": "assistant", "content": content, "reasoning": reasoning, "calls": list(calls)}


def asked(content: str) -> dict[str, object]:
    return {"role": "user", "content": content}


def conversation(name: str, thinking: str) -> tuple[hs.Vocab, list[int], list[int]]:
    """A vocabulary, and the ids of a prompt with two finished turns and of what the model then wrote."""
    family = TURNS[name]
    messages = [
        asked("hello"),
        assistant_message("first", "" if thinking == "off" else "because"),
        asked("assistant\nuser <think>x</think><tool_call>f</tool_call> and </think>"),
        assistant_message("second", calls=(CALL,)),
        {"role": "tool", "content": "42", "id": "functions.f:0"},
        asked("go on"),
        assistant_message("third", "" if thinking == "off" else "so"),
    ]
    prompt, completion = families.render(family, messages, thinking)
    tokenizer = families.tokenizer(family.special, family.plain)
    ids = (families.encode(tokenizer, prompt), families.encode(tokenizer, completion))
    return families.vocab(family.special, family.plain), *ids


def text_of(vocab: hs.Vocab, ids: list[int], labels: bytes, region: Region) -> str:
    pieces = [vocab.token_bytes(tid) for tid, label in zip(ids, labels, strict=True) if label == region]
    return b"".join(pieces).decode("utf-8", "replace")


@pytest.mark.parametrize(("name", "thinking"), [(name, mode) for name in TURNS for mode in TURNS[name].modes])
def test_the_assistants_turns_are_labelled_and_nothing_else(name, thinking):
    vocab, prompt, completion = conversation(name, thinking)
    row = TURNS[name].row
    labels = hs.label(prompt + completion, row, vocab=vocab, tools=families.TOOLS, conversation=True)
    content = text_of(vocab, prompt + completion, labels, Region.CONTENT)
    assert [word for word in ("first", "second", "third") if word in content] == ["first", "second", "third"]
    assert not any(word in content for word in ("hello", "go on", "42", "user", "assistant"))
    assert "x" in text_of(vocab, prompt + completion, labels, Region.ARGUMENTS)
    assert Region.DONE not in labels
    assert Region.SUPPRESSED not in labels[len(prompt) :]


@pytest.mark.parametrize(("name", "thinking"), [(name, mode) for name in TURNS for mode in TURNS[name].modes])
def test_the_last_turn_is_labelled_as_alone(name, thinking):
    """The prompt of a completion decides where it begins; in a conversation the same tokens say it."""
    vocab, prompt, completion = conversation(name, thinking)
    row = TURNS[name].row
    labels = hs.label(prompt + completion, row, vocab=vocab, conversation=True)
    alone = hs.label(completion, row, vocab=vocab, prompt=prompt)
    assert [Region(label).name for label in labels[len(prompt) :]] == [Region(label).name for label in alone]


def test_a_turn_that_the_row_does_not_end_ends_before_the_next():
    vocab = families.vocab(families.QWEN, families.QWEN_PLAIN)
    tokenizer = families.tokenizer(families.QWEN, families.QWEN_PLAIN)
    ids = families.encode(tokenizer, "<|im_start|>assistant\na<|im_start|>user\nb<|im_start|>assistant\nc")
    labels = hs.label(ids, "hermes", vocab=vocab, conversation=True)
    assert text_of(vocab, ids, labels, Region.CONTENT) == "ac"
    assert (
        text_of(vocab, ids, labels, Region.SUPPRESSED)
        == "<|im_start|>assistant\n<|im_start|>user\nb<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("role", ["assistants", "assistan", "Assistant", "user", "tool", "", "a" * 40])
def test_another_role_is_not_the_assistant(role):
    vocab = families.vocab(families.QWEN, families.QWEN_PLAIN)
    ids = families.encode(families.tokenizer(families.QWEN, families.QWEN_PLAIN), f"<|im_start|>{role}\nx<|im_end|>")
    assert set(hs.label(ids, "hermes", vocab=vocab, conversation=True)) == {Region.SUPPRESSED}


def test_a_conversation_in_harmony_names_its_authors():
    text = b"<|start|>user<|message|>b<|end|><|start|>assistant<|channel|>final<|message|>ok<|return|>"
    labels = hs.label(to_ids(text), conversation=True)
    assert "".join(Region(label).name[0] for label in labels) == "SSSSSHHHHHCH"


# --- many rows ---


def test_rows_are_streams_of_their_own():
    one, other = to_ids(b"<|channel|>analysis<|message|>a b<|end|>"), to_ids(b"<|channel|>final<|message|>ok<|return|>")
    ids = np.array([*one, *other], np.int32)
    offsets = [0, len(one), len(one), len(ids)]
    assert hs.label(ids, offsets=offsets) == hs.label(one) + hs.label(other)
    assert hs.label(ids, offsets=np.array(offsets)) == hs.label(one) + hs.label(other)
    assert hs.label([], offsets=[0]) == b""


def test_rows_that_are_cut_in_a_held_tag_leave_nothing_behind():
    vocab = hs.vocab.from_bytes([b"<think", b">", b"x", b"<|im_end|>"], {"<|im_end|>": 3})
    ids, offsets = [0, 2, 0, 1, 2, 0], [0, 1, 2, 5, 6]
    rows = [ids[begin:stop] for begin, stop in itertools.pairwise(offsets)]
    assert hs.label(ids, "hermes", vocab=vocab, offsets=offsets) == b"".join(
        hs.label(row, "hermes", vocab=vocab) for row in rows
    )


@pytest.mark.parametrize("make", [bytearray, lambda n: array.array("B", bytes(n)), lambda n: np.zeros(n, np.uint8)])
def test_labels_may_go_into_a_buffer(make):
    ids = to_ids(b"<|channel|>final<|message|>ok<|return|>")
    out = make(len(ids))
    assert hs.label(ids, out=out) is out
    assert bytes(out) == hs.label(ids)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"offsets": []}, ValueError, "offsets begin at 0 and end at the number of ids, 3"),
        ({"offsets": [1, 3]}, ValueError, "offsets begin at 0"),
        ({"offsets": [0, 2]}, ValueError, "end at the number of ids, 3"),
        ({"offsets": [0, 3, 2, 3]}, ValueError, r"offsets\[2\] is 2, less than offsets\[1\], 3: offsets ascend"),
        ({"out": bytearray(2)}, ValueError, "out has 2 bytes, for 3 ids"),
        ({"out": bytes(3)}, BufferError, "not writable"),
        ({"conversation": True, "start": "answer"}, ValueError, "pass neither start= nor prompt="),
        ({"conversation": True, "prompt": [1]}, ValueError, "pass neither start= nor prompt="),
    ],
)
def test_what_cannot_be_labelled(options, error, message):
    with pytest.raises(error, match=message):
        hs.label([200005, 17196, 200008], **options)


def test_a_conversation_needs_turns():
    vocab = hs.vocab.from_bytes([b"x", b"<|im_end|>"], {"<|im_end|>": 1})
    with pytest.raises(ValueError, match="the format 'kimi_vl' has no turns: label each completion by itself"):
        hs.label([0], "kimi_vl", vocab=vocab, conversation=True)
    with pytest.raises(hs.errors.VocabError, match=r"has none of the turns of 'hermes': <\|im_start\|>"):
        hs.label([0], "hermes", vocab=vocab, conversation=True)
    with pytest.raises(ValueError, match=r"label\(\) reads ids, so it needs the model's vocabulary"):
        hs.label([0], "hermes")
