"""Every row with real byte-level tokenizers: markers special, ordinary, or missing."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest
import tiktoken
from families import FAMILIES, TOOLS, Family, base, encode, flavours, render, tokenizer, vocab
from streams import chunkings, random_chunks, run, without_ranges
from tokenizers import AddedToken

import harmonystream as hs

ARGUMENTS = {"s": 'Paris: "<b>"\n\n 天气 😀', "i": 3, "o": {"x": [None, "}"]}, "b": True}
CALLS = [
    {"id": "functions.get_weather:0", "name": "get_weather", "arguments": ARGUMENTS},
    {"id": "functions.f:1", "name": "f", "arguments": {}},
]
MESSAGES = [
    {"role": "user", "content": "How is the weather?"},
    {"role": "assistant", "reasoning": "Look: 1 < 2.\n\nYes.", "content": "On it – 天气, ü… ", "calls": CALLS},
]


@cache
def output(name: str) -> str:
    """A turn with thoughts, text and two calls, as the family's template renders it."""
    family = FAMILIES[name]
    turn = MESSAGES[1] | ({"calls": []} if family.row == "think" else {})
    return render(family, [MESSAGES[0], turn], next(iter(family.modes)))[1]


def start_of(family: Family) -> str:
    return next(iter(family.modes.values()))


FLAVOURS = [(name, flavour) for name, family in FAMILIES.items() for flavour in flavours(family)]


def parser_of(family: Family, known: hs.Vocab, **options: Any) -> hs.Parser:
    return hs.Parser(family.row, known, tools=TOOLS, start=start_of(family), check_stops=False, **options)


@pytest.mark.parametrize(("name", "flavour"), FLAVOURS)
def test_ids_say_what_the_text_says(name, flavour):
    family = FAMILIES[name]
    special, plain = flavours(family)[flavour]
    text = output(name)
    ids = encode(tokenizer(special, plain), text)
    known = vocab(special, plain)
    assert b"".join(map(known.token_bytes, ids)) == text.encode()
    parser = hs.Parser(family.row, tools=TOOLS, start=start_of(family))
    expected = without_ranges(run(parser, [text], "stop"))
    calls_in_reasoning = ["call-in-reasoning"] * 2 if family.row == "deepseek_search" else []
    assert [deviation.code for deviation in parser.deviations] == calls_in_reasoning
    assert len([event for event in expected if event[0] == "ToolCallEnd"]) == (0 if family.row == "think" else 2)
    for pieces in ([ids], [[tid] for tid in ids], *(random_chunks(ids, random.Random(seed)) for seed in range(4))):
        parser = parser_of(family, known)
        assert without_ranges(run(parser, pieces, "stop")) == expected
        assert [deviation.code for deviation in parser.deviations] == calls_in_reasoning
        assert parser.usage.total == len(ids)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_vocabulary_that_lacks_one_marker(name):
    family = FAMILIES[name]
    text = output(name)
    expected = without_ranges(run(hs.Parser(family.row, tools=TOOLS, start=start_of(family)), [text], "stop"))
    for missing in (marker for marker in family.special + family.plain if marker in text):
        special = tuple(marker for marker in family.special if marker != missing)
        plain = tuple(marker for marker in family.plain if marker != missing)
        ids = encode(tokenizer(special, plain), text)
        for pieces in ([ids], [[tid] for tid in ids]):
            assert without_ranges(run(parser_of(family, vocab(special, plain)), pieces, "stop")) == expected, missing


def test_a_tiktoken_encoding_as_kimi_has_it():
    family = FAMILIES["kimi_k2"]
    ranks = {bytes([byte]): byte for byte in range(256)} | {b'{"': 256, b" b": 257, b'":': 258}
    special = {marker: 300 + i for i, marker in enumerate(family.special + family.plain)}
    encoding = tiktoken.Encoding("kimi", pat_str=r"\s?\S+|\s+", mergeable_ranks=ranks, special_tokens=special)
    known = hs.vocab.from_tiktoken(encoding)
    assert known.control == special
    ids = encoding.encode(output("kimi_k2"), allowed_special="all")
    expected = without_ranges(run(hs.Parser("kimi_k2", tools=TOOLS, start="content"), [output("kimi_k2")], "stop"))
    for pieces in ([ids], [[tid] for tid in ids]):
        assert without_ranges(run(parser_of(family, known), pieces, "stop")) == expected


@pytest.mark.parametrize("name", FAMILIES)
def test_every_cut_of_the_ids_says_the_same_with_the_same_ranges(name):
    family = FAMILIES[name]
    ids = encode(tokenizer(family.special, family.plain), output(name))
    known = vocab(family.special, family.plain)
    expected = run(parser_of(family, known), [ids], "stop")
    for pieces in chunkings(ids):
        assert run(parser_of(family, known), pieces, "stop") == expected


# --- what is only quoted, or has no place --------------------------------------------------------------------------

CONTROL = {
    "deepseek_v31": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>",
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    "deepseek_search": ("<｜tool▁call▁begin｜>f<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
    "kimi_k2": ("<|tool_call_begin|>f:0<|tool_call_argument_begin|>", "<|tool_call_end|>"),
}


@pytest.mark.parametrize("name", CONTROL)
def test_a_marker_spelled_in_ordinary_tokens_is_data(name):
    family = FAMILIES[name]
    known, words = vocab(family.special, family.plain), tokenizer(family.special, family.plain)
    opener, closer = (encode(words, part) for part in CONTROL[name])
    for marker in family.special + family.plain:
        quoted = encode(base(), f"see {marker} here")
        body = encode(base(), f'{{"s": "{marker}"}}')
        ids = [*encode(words, "<think>"), *quoted, *encode(words, "</think>"), *quoted, *opener, *body, *closer]
        if family.row == "deepseek_search":
            ids = [
                *encode(words, "<｜search▁begin｜>"),
                *quoted,
                *encode(words, "<｜search▁end｜>"),
                *ids[len(quoted) + 2 :],
            ]
        done = hs.parse(ids, family.row, vocab=known, finish_reason="stop")
        assert (done.reasoning, done.content) == (f"see {marker} here",) * 2
        assert [(call.name, call.arguments, call.complete) for call in done.tool_calls] == [
            ("f", f'{{"s": "{marker}"}}', True)
        ]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_stop_spelled_in_ordinary_tokens_is_text(name):
    family = FAMILIES[name]
    known = vocab(family.special, family.plain)
    for marker in family.special:
        assert hs.parse(encode(base(), f"a{marker}"), family.row, vocab=known).content == f"a{marker}"


@pytest.mark.parametrize("name", FAMILIES)
def test_a_special_token_that_is_no_marker_is_dropped_and_noted(name):
    family = FAMILIES[name]
    known = vocab(("<|other|>", *family.special), family.plain)
    ids = [*encode(base(), "a\n"), known.control["<|other|>"], *encode(base(), "\nb")]
    done = hs.parse(ids, family.row, vocab=known, finish_reason="stop")
    assert (done.content, done.deviations) == ("a\n\nb", (hs.Deviation("stray-control", 2),))


def test_the_budget_of_seed_oss_is_text_of_its_reasoning():
    family = FAMILIES["seed_oss"]
    text = "<seed:think>a<seed:cot_budget_reflect>\nused 10\n</seed:cot_budget_reflect>b</seed:think>c<seed:eos>"
    for special, plain in flavours(family).values():
        done = hs.parse(encode(tokenizer(special, plain), text), "seed_oss", vocab=vocab(special, plain))
        assert done.reasoning == "a<seed:cot_budget_reflect>\nused 10\n</seed:cot_budget_reflect>b"
        assert (done.content, done.finish_reason, done.deviations) == ("c", "stop", ())


STOPS = {
    "hermes": {"<|im_end|>", "<|endoftext|>"},
    "qwen3_coder": {"<|im_end|>", "<|endoftext|>"},
    "deepseek": {"<｜end▁of▁sentence｜>", "<|EOT|>"},
    "deepseek_search": {"<｜end▁of▁sentence｜>", "<|EOT|>"},
    "dsml": {"<｜end▁of▁sentence｜>"},
    "kimi_k2": {"<|im_end|>", "[EOS]"},
    "glm": {"<|endoftext|>", "<|user|>", "<|observation|>"},
    "seed_oss": {"<seed:eos>"},
    "think": set(),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_ids_at_which_to_stop(name):
    family = FAMILIES[name]
    known = vocab(family.special, family.plain)
    stops = parser_of(family, known).stop_ids
    assert {known.token_bytes(tid).decode() for tid in stops} == STOPS[family.row]
    assert parser_of(family, vocab((), ())).stop_ids == ()


# --- any ids ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_random_ids_are_read_without_complaint_however_they_are_cut(name):
    family = FAMILIES[name]
    known = vocab(family.special, family.plain)
    dice = random.Random(name)
    markers = range(len(base().get_vocab()), len(known))
    for _ in range(60):
        ids = [dice.choice(markers) if dice.random() < 0.5 else dice.randrange(len(known) + 1) for _ in range(40)]
        expected = run(parser_of(family, known), [ids])
        assert run(parser_of(family, known), [[tid] for tid in ids]) == expected
        assert run(parser_of(family, known), random_chunks(ids, dice)) == expected


# --- the loader ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_an_added_token_has_its_own_bytes_and_is_control_if_it_is_special(name):
    family = FAMILIES[name]
    words, known = tokenizer(family.special, family.plain), vocab(family.special, family.plain)
    assert known.control == {content: words.token_to_id(content) for content in family.special}
    for content in family.plain:
        tid = words.token_to_id(content)
        assert (known.token_bytes(tid), known.is_control(tid)) == (content.encode(), False)


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize(
    "content", ["<｜tool calls begin｜>", "<｜tool\\_calls\\_begin｜>", " <x> ", "Ġé▁", "<0x41>", "\n\n"]
)
def test_added_tokens_are_not_in_the_alphabet_of_bytes(content, special):
    words = hs.vocab.from_tokenizers(with_token(content, special))
    tid = len(words) - 1
    assert (words.token_bytes(tid), words.is_control(tid)) == (content.encode(), special)


def with_token(content: str, special: bool) -> Any:
    made = tokenizer((), ("<a>",))
    made = type(made).from_str(made.to_str())
    made.add_tokens([AddedToken(content, special=special, normalized=False)])
    return made
