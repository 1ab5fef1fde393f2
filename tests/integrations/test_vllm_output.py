"""One output as vLLM's parsers are given it. vLLM's own classes are in tests/engines/real_vllm."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from families import FAMILIES, TOOLS, encode, tokenizer
from hypothesis import given
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream.integrations.model import joined, model_of, parser_for, tool_dicts
from harmonystream.integrations.vllm.output import Output

QWEN = FAMILIES["qwen3"]
WORDS = tokenizer(QWEN.special, QWEN.plain)
MODEL = model_of(WORDS, "hermes")
TEXT = '<think>\nHm.\n</think>\n\nOne, two. STOP here.\n<tool_call>\n{"name": "f", "arguments": {"i": 1}}\n</tool_call>'
IDS = encode(WORDS, TEXT)


def request(**more: Any) -> Any:
    fields = {"stop": None, "stop_token_ids": None, "include_stop_str_in_output": False, "skip_special_tokens": True}
    return SimpleNamespace(**fields | more)


def whole(pieces: list[tuple[list[int], str]], asked: Any, parser: hs.Parser | None = None) -> hs.inside.Delta:
    output = Output(MODEL, parser or parser_for(MODEL, TOOLS, None), asked)
    said = hs.inside.Delta("", "", ())
    for at, (ids, text) in enumerate(pieces, 1):
        said = joined(said, output.add(ids, text, last=at == len(pieces)))
    return said


def plain(said: hs.inside.Delta) -> tuple[str, str, str]:
    return said.reasoning, said.content, "".join(call.arguments for call in said.calls)


@given(st.lists(st.integers(0, len(IDS)), max_size=6).map(sorted))
def test_however_it_is_cut_it_says_the_same(places):
    pieces = [(IDS[start:stop], "") for start, stop in zip([0, *places], [*places, len(IDS)])]
    assert plain(whole(pieces, request())) == ("Hm.", "One, two. STOP here.", '{"i": 1}')


@pytest.mark.parametrize("size", [1, 3, len(IDS)])
def test_text_that_a_stop_string_has_cut_is_not_sent(size):
    """vLLM cuts its text, and gives all ids."""
    end = TEXT.index(" STOP")
    pieces, said = [], 0
    cut = [IDS[at : at + size] for at in range(0, len(IDS), size)]
    for ids in cut:
        text = WORDS.decode([token for each in cut[: len(pieces) + 1] for token in each], skip_special_tokens=True)
        pieces.append((ids, text[said : min(len(text), end)]))
        said = max(said, min(len(text), end))
        if len(text) > end + 4:
            break
    assert plain(whole(pieces, request(stop=["STOP"]))) == ("Hm.", "One, two.", "")


def test_a_stop_token_is_left_out_as_in_the_text():
    stop = encode(WORDS, "!")[0]
    assert plain(whole([(encode(WORDS, "Hi!"), "")], request(stop_token_ids=[stop])))[1] == "Hi"
    kept = request(stop_token_ids=[stop], include_stop_str_in_output=True)
    assert plain(whole([(encode(WORDS, "Hi!"), "")], kept))[1] == "Hi!"
    assert plain(whole([(encode(WORDS, "Hi!Hi"), "")], request(stop_token_ids=[stop])))[1] == "Hi!Hi"


def test_it_begins_where_the_prompt_ends():
    prompt = encode(WORDS, "<|im_start|>assistant\n<think>\n")
    output = Output(MODEL, parser_for(MODEL, [], prompt), request())
    assert output.add(encode(WORDS, "Hm.</think>Hi"), "", last=True)[:2] == ("Hm.", "Hi")


def test_it_goes_on_with_a_parser_that_has_begun():
    first = Output(MODEL, parser_for(MODEL, TOOLS, None), request())
    said = first.add(IDS[:5], "", last=False)
    moved = hs.Parser.from_bytes(first.parser.to_bytes(), MODEL.vocab, tools=TOOLS)
    assert plain(joined(said, whole([(IDS[5:], "")], request(), parser=moved))) == (
        "Hm.",
        "One, two. STOP here.",
        '{"i": 1}',
    )


def test_an_output_without_ids_is_read_as_text():
    assert plain(whole([([], "<think>a</think>"), ([], "b")], request())) == ("a", "b", "")


def test_tools_come_as_objects_or_dicts():
    class Model:
        def model_dump(self, **options: Any) -> dict[str, Any]:
            assert options == {"exclude_none": True}
            return TOOLS[0]

    assert tool_dicts([Model(), TOOLS[1]]) == TOOLS[:2]
    assert tool_dicts(None) == []


def test_gpt_oss_needs_no_tokenizer():
    assert model_of(object(), "harmony").vocab is hs.vocab.o200k_harmony()


def test_the_name_of_the_model_chooses_the_format(tmp_path):
    class Named:
        name_or_path = "Qwen/Qwen3-8B"
        backend_tokenizer = WORDS

    assert model_of(Named(), None).format.name == "hermes"
    assert model_of(Named(), "qwen3_coder").format.name == "qwen3_coder"
    with pytest.raises(hs.errors.VocabError, match="is it the model's own"):
        model_of(Named(), "glm")
    nobody = SimpleNamespace(name_or_path="/models/ours")
    with pytest.raises(hs.errors.FormatError, match="harmonystream_hermes"):
        model_of(_Hashable(nobody), None)
    told = SimpleNamespace(name_or_path="/models/ours", response_template=None)
    with pytest.raises(hs.errors.FormatError, match="harmonystream_hermes"):
        model_of(_Hashable(told), None)
    told.response_template = {"start_anchor": "<a>", "fields": {"thinking": {"open": "<hm>", "close": "</hm>"}}}
    tokenizer = _Hashable(told)
    tokenizer.backend_tokenizer = WORDS
    assert model_of(tokenizer, None).format.think == ("<hm>", "</hm>")
    assert json.loads(WORDS.to_str())["model"]["type"] == "BPE"


class _Hashable:
    def __init__(self, fields: Any) -> None:
        self.__dict__.update(vars(fields))
