"""What a grammar is made of, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from families import FAMILIES, TOOLS, render
from grammar_walks import accepts

import harmonystream as hs
from harmonystream.formats import format_of

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
HERMES = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'


def test_equal_requests_have_equal_grammars() -> None:
    one, other = hs.grammar("hermes", [WEATHER]), hs.grammar("hermes", [json.loads(json.dumps(WEATHER))])
    assert one == other
    assert hash(one) == hash(other)
    assert one.structural_tag() == other.structural_tag()
    assert one != hs.grammar("hermes", [WEATHER], choice="required")
    assert repr(one) == "<Grammar of hermes>"


def test_choices() -> None:
    auto, required = hs.grammar("hermes", [WEATHER]), hs.grammar("hermes", [WEATHER], choice="required")
    none, named = hs.grammar("hermes", [WEATHER], choice="none"), hs.grammar("hermes", [WEATHER], choice="get_weather")
    for text, accepted in (
        (HERMES, (True, True, False, True)),
        ("Hello.", (True, False, True, False)),
        ("Hello. " + HERMES + " Bye.", (True, False, False, False)),
        ("<think>Hm.</think>\n" + HERMES, (True, True, False, True)),
        (HERMES + "\n" + HERMES, (True, True, False, True)),
        (HERMES.replace("city", "town"), (False, False, False, False)),
        (HERMES.replace("get_weather", "get_time"), (False, False, False, False)),
    ):
        found = tuple(accepts(one.lark(), text) for one in (auto, required, none, named))
        assert found == accepted, text


def test_one_call() -> None:
    one = hs.grammar("hermes", [WEATHER], choice="required", parallel=False).lark()
    assert accepts(one, HERMES)
    assert not accepts(one, HERMES + "\n" + HERMES)


def test_an_answer_by_a_schema() -> None:
    answer = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    both, alone = hs.grammar("hermes", [WEATHER], answer=answer).lark(), hs.grammar("hermes", answer=answer).lark()
    for text, accepted in (('{"n": 1}', (True, True)), ('{"n": "1"}', (False, False)), (HERMES, (True, False))):
        assert (accepts(both, text), accepts(alone, text)) == accepted


def test_where_the_prompt_leaves_the_model() -> None:
    open_ = hs.grammar("hermes", [WEATHER], choice="required", start="reasoning").lark()
    assert accepts(open_, "Hm.</think>\n" + HERMES)
    assert accepts(open_, "Hm.\n" + HERMES)  # a call may begin in open reasoning
    assert not accepts(open_, "<think>Hm.</think>\n")
    never = hs.grammar("hermes", [WEATHER], choice="required", reasoning="none").lark()
    assert accepts(never, HERMES)
    assert not accepts(never, "<think>Hm.</think>" + HERMES)


HARMONY = (
    '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>',
    '<|channel|>commentary to=functions.get_weather<|constrain|>json<|message|>{"city":"Oslo"}<|call|>',
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant to=functions.get_weather<|channel|>commentary"
    '<|message|>{"city":"Oslo"}<|call|>',
    "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>analysis to=functions.get_weather "
    '<|constrain|>json<|message|>{ "city": "Oslo", "days": 3 }',
)


@pytest.mark.parametrize("text", HARMONY)
def test_the_headers_that_gpt_oss_writes(text: str) -> None:
    assert accepts(hs.grammar("harmony", [WEATHER], choice="required").lark(), text)


def test_markers_that_are_control_tokens() -> None:
    vocab = hs.vocab.o200k_harmony()
    grammar = hs.grammar("harmony", [WEATHER])
    assert str(vocab.control["<|constrain|>"]) in grammar.structural_tag(vocab)
    assert "<|constrain|>" not in grammar.structural_tag(vocab)
    assert f"<[{vocab.control['<|channel|>']}]>" in grammar.lark(vocab)


CALL = {"name": "get_weather", "arguments": {"s": "Bergen", "i": 3}}


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if family.row != "think"])
def test_what_a_chat_template_writes_is_accepted(name: str) -> None:
    """With and without reasoning, text before the calls, one call or several."""
    family = FAMILIES[name]
    for calls in (1, 2):
        for content in ("", "On it."):
            for thinking, start in family.modes.items():
                each = [{"id": f"functions.get_weather:{at}", **CALL} for at in range(calls)]
                turn = {"role": "assistant", "reasoning": "Hm.", "content": content, "calls": each}
                text = render(family, [{"role": "user", "content": "?"}, turn], thinking)[1]
                begun: Any = "reasoning" if start == "reasoning" else "content"
                grammar = hs.grammar(family.row, TOOLS, start=begun)
                assert accepts(grammar.lark(), trimmed(text, family)), text


def trimmed(text: str, family: Any) -> str:
    """Without the markers at which generation stops."""
    stops = format_of(family.row).stops
    while ends := [stop for stop in stops if text.rstrip("\n").endswith(stop)]:
        text = text.rstrip("\n").removesuffix(ends[0])
    return text


DEEP: Any = {"type": "string"}
for _ in range(10_000):
    DEEP = {"type": "array", "items": DEEP}
WIDE = {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(100_000)}}


def strict(schema: Any) -> list[Any]:
    return [{"name": "f", "strict": True, "parameters": schema}]


REFUSED: dict[str, tuple[Any, str]] = {
    "a call without tools": (lambda: hs.grammar("hermes", choice="required"), "there is no tool"),
    "an unknown tool": (lambda: hs.grammar("hermes", [WEATHER], choice="fly"), r"there is no tool \['fly'\]"),
    "two of one name": (lambda: hs.grammar("hermes", [WEATHER, "get_weather"]), "two tools named 'get_weather'"),
    "a format without calls": (lambda: hs.grammar("think", ["f"], choice="required"), "call no tools"),
    "a deep schema": (lambda: hs.grammar("hermes", strict(DEEP)), "deeper than 64 levels"),
    "a wide schema": (lambda: hs.grammar("hermes", strict(WIDE)), "larger than 20,000 parts"),
    "a number": (lambda: hs.grammar("hermes", [3]), "a tool is a name, or a definition"),
    "many tools": (lambda: hs.grammar("hermes", map(str, range(2000))), "more than 1024 tools"),
    "a pattern without quotes": (
        lambda: hs.grammar("glm", strict({"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}})),
        "'pattern' of a string that is written without quotes",
    ),
    "a keyword of llama.cpp's": (
        lambda: hs.grammar("hermes", strict({"type": "object", "not": {}})).gbnf(),
        "cannot keep the keyword 'not': exact=False",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(what: str) -> None:
    make, message = REFUSED[what]
    with pytest.raises(hs.GrammarError, match=message):
        make()


def test_a_wider_grammar_for_llama_cpp() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "object", "not": {}}}}
    assert '"{" ws (string' in hs.grammar("hermes", strict(schema)).gbnf(exact=False)
