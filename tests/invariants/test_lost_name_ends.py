"""A declared name makes a call of what is not written as the row has it: without the end of the name, or as an object
in a section of calls in tags. For each row.
"""

from __future__ import annotations

import json
import random

import pytest
from broken_calls import OPTIONS, check_every_cut, parts_of, row_of
from fuzz import targets
from random_tags import first
from reference_tags_text import may_lack
from tag_streams import TAG_FORMATS

import harmonystream as hs

TOOL = {"name": "f", "parameters": {"properties": {"x": {"type": "integer"}}}}
NAMED = [name for name in TAG_FORMATS if (call := row_of(name).call) and not may_lack(call[1])]
SECTIONED = [name for name in TAG_FORMATS if row_of(name).section and row_of(name).call]
OBJECTS = [name for name in SECTIONED if row_of(name).wrapped]


def around(name: str) -> tuple[str, str]:
    """The markers before a call's name and after its body."""
    row = row_of(name)
    assert row.call
    opener, closer = map(first, row.section or ("", ""))
    return opener + first(row.call[0]), first(row.call[2]) + closer


def written(name: str) -> list[str]:
    row = row_of(name)
    return ["f", "functions.f:0", "functions.f"] if row.name_as == "id" else ["f", "functions.f"]


@pytest.mark.parametrize("name", NAMED)
def test_an_object_after_the_name_is_the_arguments(name):
    before, after = around(name)
    for said in written(name):
        for gap in ("", " ", "\n", " \n "):
            text = f'{before}{said}{gap}{{"x": 1}}{after}\nBye.'
            done = hs.parse(text, name, tools=[TOOL])
            assert [(call.name, call.arguments, call.complete) for call in done.tool_calls] == [("f", '{"x": 1}', True)]
            assert done.content == "Bye." and "missing-opener" in {code for code, _ in done.deviations}
            check_every_cut(name, text, [TOOL])


@pytest.mark.parametrize("name", [name for name in NAMED if row_of(name).pair or row_of(name).element])
def test_a_key_after_the_name_begins_the_arguments(name):
    before, after = around(name)
    row = row_of(name)
    key, end, value, close = map(first, row.pair or (*(row.element or ("", "", "")), ""))
    body = f"{key}x{end}{value}1{close}" if row.pair else f"{key}x{end}1{value}x{end}"
    for gap in ("", " ", "\n", " \n "):
        for inside, arguments in ((body, '{"x": 1}'), ("", "{}")):
            text = f"{before}f{gap}{inside}{after}\nBye."
            done = hs.parse(text, name, tools=[TOOL])
            assert [(call.arguments, call.complete) for call in done.tool_calls] == [(arguments, True)], (text, done)
            assert done.content == "Bye." and "missing-opener" in {code for code, _ in done.deviations}
            check_every_cut(name, text, [TOOL])


@pytest.mark.parametrize("name", NAMED)
def test_a_name_that_is_not_declared_needs_its_end(name):
    before, after = around(name)
    for tools in (None, ["g"]):
        assert hs.parse(f'{before}f{{"x": 1}}{after}', name, tools=tools).tool_calls == ()


def test_only_a_row_whose_calls_need_an_id_has_no_objects_in_its_section():
    assert [row_of(name).name_as for name in SECTIONED if name not in OBJECTS] == ["id"]


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_in_a_section_is_a_call(name):
    row = row_of(name)
    opener, closer = map(first, row.section or ("", ""))
    one = '{"name": "f", "arguments": {"x": 1}}'
    for inside, count in ((one, 1), (f"\n{one}\n{one}\n", 2), (f"[{one}, {one}]", 2)):
        text = f"Hi.\n{opener}{inside}{closer}\nBye."
        for tools in (None, [TOOL]):
            done = hs.parse(text, name, tools=tools)
            assert [(call.name, json.loads(call.arguments), call.complete) for call in done.tool_calls] == [
                ("f", {"x": 1}, True)
            ] * count, (text, done)
            assert done.content == "Hi.\nBye."
            check_every_cut(name, text, tools)


def test_a_closer_without_its_mark_closes_the_call_or_the_section():
    mark = "]<]minimax[>["
    call = f'{mark}<tool_call>{mark}<invoke name="f">{mark}<x>1{mark}</x>'
    for end in (
        "</invoke></tool_call>",
        f"</invoke>{mark}</tool_call>",
        f"{mark}</invoke></tool_call>",
        "</tool_call>",
    ):
        text = f"{call}{end}\nBye."
        done = hs.parse(text, "minimax_m3", tools=[TOOL])
        assert [(one.arguments, one.complete) for one in done.tool_calls] == [('{"x": 1}', True)]
        assert done.content == "Bye."
        check_every_cut("minimax_m3", text, [TOOL])
    (call,) = hs.parse(
        f'{mark}<tool_call>{mark}<invoke name="g">{mark}<s>a </invoke> b{mark}</s>{mark}</invoke>', "minimax_m3"
    ).tool_calls
    assert (call.arguments, call.complete) == ('{"s": "a </invoke> b"}', True)


def test_what_lacks_the_end_of_its_name_is_read_as_specified():
    dice = random.Random(23)
    for _ in range(400):
        name = dice.choice((*NAMED, *OBJECTS))
        row = row_of(name)
        assert row.call
        before, after = around(name)
        parts = [
            *(
                "f",
                "functions.f:0",
                "g",
                "f2",
                "functions_f",
                "{",
                '{"x": 1}',
                "}",
                "\n",
                " ",
                "```json\n",
                "```",
                "`",
                "``",
            ),
            *('{"name": "f", "arguments": {"x": 1}}', "[", "]", first(row.call[1]), first(row.call[0]), after, before),
            *(first(one) for one in row.section or ()),
        ]
        made = [dice.choice(parts)[: dice.choice((None, None, None, -1))] for _ in range(dice.randrange(5))]
        text = (
            before
            + dice.choice(("f", "functions.f:1", "f ", "f\n", ""))
            + "".join(made)
            + dice.choice((after, "", "Bye"))
        )
        case = {"row": name, "how": dice.choice(("text", "control", "plain", "split")), "stream": parts_of(name, text)}
        case |= {"tools": dice.choice(("unknown", "one", "typed")), "reason": dice.choice((None, "stop", "length"))}
        targets.check("tagpage", case | OPTIONS)
