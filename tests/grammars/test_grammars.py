"""What a grammar is made of, and what is refused."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from families import FAMILIES, TOOLS, render
from gbnf_matching import Gbnf
from grammar_walks import FORMATS, accepts, vocab_of

import harmonystream as hs
from harmonystream.errors import GrammarError
from harmonystream.formats import Format, format_of
from harmonystream.grammars.arguments import endings

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


def test_a_grammar_is_found_again_by_what_was_asked_for() -> None:
    given = [json.loads(json.dumps(WEATHER))]
    first = hs.grammar("hermes", given)
    assert hs.grammar("hermes", [WEATHER]) is first
    given[0]["function"]["name"] = "get_time"
    assert hs.grammar("hermes", given) != first
    tools = hs.Tools(WEATHER)
    kept = hs.grammar("hermes", tools)
    assert kept == first
    assert hs.grammar("hermes", tools) is kept
    tools.add("get_time")
    assert hs.grammar("hermes", tools) != kept


def test_a_tool_that_changes_is_another_tool() -> None:
    """Several grammars have the parts of one tool."""
    tool = json.loads(json.dumps(WEATHER))
    before = {format: hs.grammar(format, [tool]) for format in ("hermes", "dsml")}
    assert "days" in before["hermes"].structural_tag()
    tool["function"]["parameters"]["properties"]["hours"] = tool["function"]["parameters"]["properties"].pop("days")
    for choice in ("auto", "required"):
        for format, grammar in before.items():
            after = hs.grammar(format, [tool], choice=choice)
            for old, new in ((grammar.structural_tag(), after.structural_tag()), (grammar.gbnf(), after.gbnf())):
                assert ("days" in old, "hours" in old) == (True, False)
                assert ("days" in new, "hours" in new) == (False, True)


def test_schemas_are_not_repeated_more_than_a_backend_needs() -> None:
    for format in hs.formats.names():
        if format not in ("think", "kimi_vl"):
            tag = hs.grammar(format, [WEATHER], choice="required").structural_tag()
            assert tag.count("get_weather") <= 8, format


def parts(node: Any) -> list[Any]:
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [node, *(one for part in inner for one in parts(part))]


@pytest.mark.parametrize("format", ["hermes", "kimi_k2", "harmony", "glm"])
def test_tools_share_what_takes_long_to_compile(format: str) -> None:
    """xgrammar compiles equal parts of a tag once."""

    def kinds(count: int) -> set[str]:
        tools = [
            {
                "name": f"tool_{number}",
                "strict": True,
                "parameters": {
                    "type": "object",
                    "properties": {
                        f"text_{number}": {"type": "string", "description": f"Text {number}"},
                        f"place_{number}": {"type": "object", "properties": {f"y_{number}": {"type": "number"}}},
                    },
                    "required": [f"text_{number}"],
                },
            }
            for number in range(count)
        ]
        found = parts(json.loads(hs.grammar(format, tools, choice="required").structural_tag()))
        long = ("grammar", "json_schema", "regex", "any_text")
        return {json.dumps(one) for one in found if isinstance(one, dict) and one.get("type") in long}

    assert kinds(1) == kinds(5)


def test_patterns_of_a_structural_tag_are_text() -> None:
    def patterns(node: Any) -> list[str]:
        inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        found = [node["pattern"]] if isinstance(node, dict) and "pattern" in node else []
        return found + [one for part in inner for one in patterns(part)]

    found = patterns(json.loads(hs.grammar("llama3", ["f"]).structural_tag()))
    assert "[ \\n\\t]{0,16}" in found
    assert all(one.isprintable() for one in found)


@pytest.mark.parametrize("format", ["hermes", "glm", "dsml"])
def test_no_white_space_of_its_own_stands_before_text(format: str) -> None:
    """The text has it. xgrammar would check each token that begins with white space in both."""
    for choice in ("auto", "none"):
        found = parts(json.loads(hs.grammar(format, [WEATHER], choice=choice).structural_tag()))
        space = {"type": "regex", "pattern": "[ \\n\\t]{0,16}"}
        for one in found:
            if isinstance(one, dict) and one.get("type") == "sequence":
                for before, after in zip(one["elements"], one["elements"][1:]):
                    assert before != space or _first_type(after) != "any_text"


def _first_type(part: Any) -> str:
    while "elements" in part or "content" in part:
        part = part["elements"][0] if "elements" in part else part["content"]
    return str(part["type"])


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


def test_a_prompt_is_not_its_text() -> None:
    with pytest.raises(TypeError, match=r"Prompt\.continue_with"):
        hs.grammar("hermes", [WEATHER], prompt="<think>")  # type: ignore[arg-type]


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
    assert '"value":"<|constrain|>' not in grammar.structural_tag(vocab)
    # xgrammar takes the name of a control token for text, in strings of JSON, too.
    assert '"\\u001f","<|' in grammar.structural_tag(vocab)
    assert f"<[{vocab.control['<|channel|>']}]>" in grammar.lark(vocab)


WRITTEN = {
    "dsml": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f"/>\n</｜DSML｜function_calls>',
    "gemma4": '<|tool_call>call:f{a:[1,<|"|>x<|"|>],b:{c:true}}<tool_call|>',
    "harmony": "<|channel|>analysis to=functions.f code<|message|>{}<|call|>",
    "hy_v3": "<tool_calls:opensource><tool_call:opensource>f<tool_sep:opensource>"
    "<arg_key:opensource>a</arg_key:opensource><arg_value:opensource>1</arg_value:opensource></tool_call:opensource>"
    "</tool_calls:opensource>",
    "k2_horizon": "<ifm|tool_calls><ifm|tool_call>f\n<ifm|arg_key>a</ifm|arg_key>\n<ifm|arg_type>integer</ifm|arg_type>"
    "\n<ifm|arg_value>5</ifm|arg_value>\n</ifm|tool_call></ifm|tool_calls>",
    "kimi_k3": '<|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|><|open|>argument key="a" type="number"<|sep|>'
    "3<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
    "lfm2": "<|tool_call_start|>[f(a='it\\'s', b=True, c=['x', None])]<|tool_call_end|>",
    "llama3": '{"type": "function", "name": "f", "parameters": {"a": 1}}',
    "longcat": '<longcat_tool_call>\n{"name": "f", "arguments": {}}\n</longcat_tool_call>',
    "mistral": '[TOOL_CALLS] [{"name": "f", "arguments": {"a": 1}, "id": "123456789"}]',
    "olmo3": "<function_calls>\nf(a=1)\nf(a=2)\n</function_calls>",
    "pythonic": 'On it.<|python_start|>[f(a="x")]<|python_end|>',
}


@pytest.mark.parametrize("format", WRITTEN)
def test_what_models_write_is_accepted(format: str) -> None:
    text = WRITTEN[format]
    found = hs.parse(text, format, tools=["f"])
    assert all(call.complete for call in found.tool_calls)
    assert found.tool_calls
    assert accepts(hs.grammar(format, ["f"]).lark(), text)


@pytest.mark.parametrize("word", ["true", "True", "False", "None", "yes"])
def test_booleans_between_tags(word: str) -> None:
    """Qwen3-Coder's template writes them as Python prints them."""
    text = f"<tool_call>\n<function=f>\n<parameter=a>\n{word}\n</parameter>\n</function>\n</tool_call>"
    schema = {"type": "object", "properties": {"a": {"type": "boolean"}}}
    expected = {"true": True, "True": True, "False": False}.get(word)
    assert accepts(hs.grammar("qwen3_coder", strict(schema)).lark(), text) == (expected is not None)
    if expected is not None:
        tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
        (call,) = hs.parse(text, "qwen3_coder", tools=tools).tool_calls
        assert json.loads(call.arguments) == {"a": expected}


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


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if family.row != "think"])
def test_a_prompt_that_has_begun_the_answer(name: str) -> None:
    """Wherever an answer is cut, its rest is accepted, or the cut is inside of JSON."""
    family = FAMILIES[name]
    turn = {
        "role": "assistant",
        "reasoning": "Hm.",
        "content": "On it.",
        "calls": [{"id": "functions.get_weather:0", **CALL}],
    }
    before, text = render(family, [{"role": "user", "content": "?"}, turn], next(iter(family.modes)))
    text = trimmed(text, family)
    inside = 0
    for cut in {*range(0, len(text), 7), len(text)}:
        if text[:cut].endswith("<"):  # which is not yet a marker
            continue
        prompt = hs.prompts.Prompt(before + text[:cut], None, format_of(family.row), begun=cut)
        try:
            left = hs.grammar(family.row, TOOLS, prompt=prompt)
        except hs.errors.GrammarError as error:
            assert "ends inside of arguments" in str(error)
            inside += 1
        else:
            assert accepts(left.lark(), text[cut:]), text[:cut]
    assert inside < len(text) / 14


def test_a_vocabulary_is_not_a_path() -> None:
    grammar = hs.grammar("hermes", [WEATHER])
    for write in (grammar.structural_tag, grammar.lark, grammar.matcher):
        with pytest.raises(TypeError, match=r"vocab is a Vocab, not .*: hs.vocab.from_tokenizers\(path\) loads one"):
            write("tokenizer.json")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FORMATS)
def test_after_closed_reasoning_no_think_tag_is_allowed(name: str) -> None:
    """There, the parser reads think tags as text of the answer."""
    row = format_of(name)
    if not isinstance(row, Format) or row.think is None:
        return
    opener, closer = (one if isinstance(one, str) else one[0] for one in row.think)
    closed = hs.prompts.Prompt(f"{opener}\n\n{closer}\n\n", None, row)
    for choice in ("auto", "required", "none"):
        given = hs.grammar(row, [WEATHER], choice=choice, prompt=closed)
        assert given == hs.grammar(row, [WEATHER], choice=choice, reasoning="none")
        assert given != hs.grammar(row, [WEATHER], choice=choice)


def test_a_call_after_closed_reasoning_does_not_begin_with_a_closer() -> None:
    prompt = hs.render("?", tools=[WEATHER], model="Qwen/Qwen3-8B", thinking=False)
    grammar = hs.grammar("hermes", [WEATHER], choice="required", prompt=prompt)
    assert accepts(grammar.lark(), HERMES)
    assert not accepts(grammar.lark(), f"</think>\n{HERMES}")
    assert hs.parse(f"</think>\n{HERMES}", "hermes", prompt=prompt.text).content == "</think>"


def test_a_prompt_of_harmony_that_has_begun_the_answer() -> None:
    for text in HARMONY:
        for cut in (at for at in range(text.index("{")) if not text[:at].endswith("<")):
            prompt = hs.prompts.Prompt("Hi<|end|><|start|>assistant" + text[:cut], None, format_of("harmony"))
            assert accepts(hs.grammar("harmony", [WEATHER], choice="required", prompt=prompt).lark(), text[cut:])
    wrong = hs.prompts.Prompt("<|start|>assistant<|channel|>final<|message|>", None, format_of("harmony"))
    with pytest.raises(hs.errors.GrammarError, match="is not what the grammar allows"):
        hs.grammar("harmony", [WEATHER], choice="required", prompt=wrong)


def trimmed(text: str, family: Any) -> str:
    """Without the markers at which generation stops."""
    stops = format_of(family.row).stops
    while ends := [stop for stop in stops if text.rstrip("\n").endswith(stop)]:
        text = text.rstrip("\n").removesuffix(ends[0])
    return text


def test_arguments_in_any_order() -> None:
    names = "abcd"
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in names}, "required": ["a", "c"]}
    grammar = hs.grammar("hermes", strict(schema), choice="required", order="any")
    for order, accepted in (("abcd", True), ("dcba", True), ("ca", True), ("db", False), ("aa", False), ("ac", True)):
        members = ", ".join(f'"{name}": 1' for name in order)
        text = f'<tool_call>\n{{"name": "f", "arguments": {{{members}}}}}\n</tool_call>'
        found = Gbnf(grammar.gbnf())
        assert accepts(grammar.lark(), text) == (found.take(text) and found.may_end) == accepted, order


def test_a_keyword_is_kept_where_strings_have_quotes() -> None:
    """A tool whose schema cannot be kept between tags is called with JSON, where the format has both."""
    limit = {"type": "string", "pattern": "^x+$", "maxLength": 3}  # both at once, which no text without quotes has
    schema = {"type": "object", "properties": {"a": limit}, "required": ["a"]}
    lark = hs.grammar("hermes", [*strict(schema), WEATHER], choice="required").lark()
    for text, accepted in (
        ('<tool_call>\n{"name": "f", "arguments": {"a": "xx"}}\n</tool_call>', True),
        ('<tool_call>\n{"name": "f", "arguments": {"a": "xy"}}\n</tool_call>', False),
        ("<tool_call>\n<function=f>\n<parameter=a>\nxx\n</parameter>\n</function>\n</tool_call>", False),
        ("<tool_call>\n<function=get_weather>\n<parameter=city>\nO\n</parameter>\n</function>\n</tool_call>", True),
    ):
        assert accepts(lark, text) == accepted, text


DEEP: Any = {"type": "string"}
for _ in range(10_000):
    DEEP = {"type": "array", "items": DEEP}
WIDE = {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(100_000)}}


def strict(schema: Any) -> list[Any]:
    return [{"name": "f", "strict": True, "parameters": schema}]


REFUSED: dict[str, tuple[Any, str]] = {
    "a call without tools": (lambda: hs.grammar("hermes", choice="required"), "there is no tool"),
    "an unknown tool": (lambda: hs.grammar("hermes", [WEATHER], choice="fly"), "not 'fly'; the tools are get_weather"),
    "a choice of an API": (
        lambda: hs.grammar("hermes", [WEATHER], choice={"type": "function"}),  # type: ignore[arg-type]
        "a list of names, not {",
    ),
    "two of one name": (lambda: hs.grammar("hermes", [WEATHER, "get_weather"]), "two tools named 'get_weather'"),
    "a format without calls": (lambda: hs.grammar("think", ["f"], choice="required"), "call no tools"),
    "a deep schema": (lambda: hs.grammar("hermes", strict(DEEP)), "deeper than 64 levels"),
    "a wide schema": (lambda: hs.grammar("hermes", strict(WIDE)), "larger than 20,000 parts"),
    "a number": (lambda: hs.grammar("hermes", [3]), "a tool is a name, or a definition"),
    "many tools": (lambda: hs.grammar("hermes", map(str, range(2000))), "more than 1024 tools"),
    "a pattern without quotes": (
        lambda: hs.grammar(
            "dsml", strict({"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=x)"}}})
        ),
        r"'pattern' '\(\?=x\)' cannot be kept of a string that is written without quotes: tool 'f'.a",
    ),
    "a keyword of llama.cpp's": (
        lambda: hs.grammar("hermes", strict({"type": "object", "not": {}})).gbnf(),
        "do not keep the keyword 'not' of tool 'f'. exact=False allows more there",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(what: str) -> None:
    make, message = REFUSED[what]
    with pytest.raises(hs.errors.GrammarError, match=message):
        make()


def test_a_wider_grammar_for_llama_cpp() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "object", "not": {}}}}
    gbnf = hs.grammar("hermes", strict(schema)).gbnf(exact=False)
    for value, accepted in (('{"x": [1, null]}', True), ("3", False)):
        text = f'<tool_call>\n{{"name": "f", "arguments": {{"a": {value}}}}}\n</tool_call>'
        found = Gbnf(gbnf)
        assert (found.take(text) and found.may_end) == accepted


TEXTS = {
    "name": "f",
    "parameters": {"type": "object", "properties": {"s": {"type": "string"}, "t": {"type": "string"}}},
}
ROWS = {format_of(name).name: format_of(name) for name in hs.formats.names()}
WRAPPED = [row for row in ROWS.values() if isinstance(row, Format) and row.wrapped is True and row.section and row.call]


@pytest.mark.parametrize("row", WRAPPED, ids=lambda row: row.name)
def test_closers_are_text_inside_of_the_strings_of_a_wrapped_call(row: Format) -> None:
    """The grammars allow them there. Only stops are not allowed."""
    chance = random.Random(7)
    closers = [one for one in endings(row) if not any(stop in one or one.startswith(stop) for stop in row.stops)]
    if not closers:
        return
    around: Any = row.section or row.call
    opener, closer = (one if isinstance(one, str) else one[0] for one in (around[0], around[-1]))
    keys = {role: key for key, role in reversed(row.members.items())}
    ends = ["", "}", "}}", "]", "]}", '"}', '"}}', "\n"]
    for _ in range(100):
        parts = chance.choices([*ends, *closers, "a", "{", ", "], k=3)
        said = "".join(parts) + chance.choice(ends) + chance.choice(closers) + "".join(chance.choices(ends, k=2))
        arguments = dict(chance.sample([("s", said), ("t", "z")], 2))
        call: Any = {"f": arguments} if "*" in row.members else {keys["name"]: "f", keys["arguments"]: arguments}
        found = hs.parse(opener + json.dumps(call, ensure_ascii=False) + closer, row, tools=[TEXTS])
        assert [json.loads(one.arguments) for one in found.tool_calls] == [arguments]
        assert not found.content.strip()


def test_a_string_of_a_wrapped_call_may_have_closers_and_no_stops() -> None:
    grammar = hs.grammar("hermes", [{**TEXTS, "strict": True}], choice="required")
    vocab, end = vocab_of("hermes", control=False)

    def takes(text: str) -> bool:
        matcher = grammar.matcher(vocab, [end])
        try:
            for tid in text.encode():
                matcher.take(tid)
        except GrammarError:
            return False
        return matcher.may_end

    call = '<tool_call>\n{"name": "f", "arguments": {"s": "%s"}}\n</tool_call>'
    assert all(takes(call % said) for said in ("x", "</parameter>", "}}</tool_call>"))
    assert not takes(call % "<|im_end|>")


@pytest.mark.parametrize("format", FORMATS)
def test_the_quote_that_ends_a_string_does_not_complete_a_marker(format: str) -> None:
    """xgrammar keeps strings free of markers up to their quotes. A control token such as `<invoke name="` has one."""
    vocab, _ = vocab_of(format)
    schema = {"type": "object", "properties": {"s": {"type": "string"}}, "required": ["s"]}
    tag = hs.grammar(format, [WEATHER], answer=schema).structural_tag(vocab)
    waiting = [json.loads(tag)["format"]]
    while waiting:
        node = waiting.pop()
        waiting += [*node.get("elements", ()), *([node["content"]] if "content" in node else ())]
        if node["type"] == "json_schema" and "string" in str(node["json_schema"]):
            assert not any('"' in one for one in node.get("excludes", ()))
            for marker in vocab.control:
                if marker.endswith('"') and marker.count('"') == 1:
                    assert any(one in marker for one in node["excludes"]), marker


@pytest.mark.parametrize("format", [name for name, row in ROWS.items() if getattr(row, "drop", ())])
def test_a_string_of_an_answer_has_no_marker_that_is_dropped(format: str) -> None:
    grammar = hs.grammar(format, [WEATHER], answer={"type": "object", "properties": {"s": {"type": "string"}}})
    for marker in format_of(format).drop:  # type: ignore[union-attr]
        text = json.dumps({"s": marker}, ensure_ascii=False)
        taken = Gbnf(grammar.gbnf())
        for is_taken in (accepts(grammar.lark(), text), taken.take(text) and taken.may_end):
            assert not is_taken or hs.parse(text, format).content == text


def test_lark_has_a_tool_once_where_white_space_precedes_it() -> None:
    lark = hs.grammar("llama3", [WEATHER], choice="required").lark()
    assert lark.count("get_weather") == 1
    call = '{"name": "get_weather", "parameters": {"city": "Oslo"}}'
    for text in (call, f" {call}; {call}", f"<|python_tag|>[\n  {call},\n  {call}\n]", call.replace(" ", "\n\t ")):
        assert accepts(lark, text), text
    assert not accepts(lark, f"{call} {call}")


@pytest.mark.parametrize("breaks", ["", "\n", "\n\n"])
def test_line_breaks_may_come_before_an_answer_that_must_not_begin_like_a_call(breaks: str) -> None:
    grammar = hs.grammar("xlam", [WEATHER])
    for text, may in ((f"<think>Hm.</think>{breaks}Hi.", True), (f"<think>Hm.</think>{breaks}[Hi", False)):
        assert accepts(grammar.lark(), text) is may
        assert Gbnf(grammar.gbnf()).take(text) is may


def test_what_a_format_cannot_write_is_an_error_before_a_text_is_made() -> None:
    tool = json.loads(json.dumps(WEATHER))
    tool["function"]["parameters"]["properties"]["city"] = {"enum": ["</parameter>"]}
    with pytest.raises(GrammarError, match="without quotes"):
        hs.grammar("minimax_m2", [tool], choice="required")
