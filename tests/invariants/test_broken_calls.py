"""Whatever mark of a call is missing, doubled or another: the answer after it is shown, and a later call is read.

Losses are counted exactly. Where the count is not 0, the reason stands there.
"""

from __future__ import annotations

import json
import random

import pytest
from broken_calls import (
    OPTIONS,
    before_closers,
    calls_of,
    changed,
    lacks_a_closer,
    parts_of,
    row_of,
    slips,
    written_calls,
)
from fuzz import targets
from random_tags import first
from tag_streams import TAG_FORMATS, tokens

import harmonystream as hs

ANSWER = "The answer is 42."
TEXT = "text"  # in place of a vocabulary
CALLS = {name: calls for name in TAG_FORMATS if (calls := calls_of(name))}
CLOSED = [name for name in CALLS if not lacks_a_closer(name)]
OPEN_ENDED = [name for name in CALLS if lacks_a_closer(name)]


def read(name: str, vocabulary: str, text: str) -> hs.Completion:
    if vocabulary == TEXT:
        return hs.parse(text, name)
    some = tokens(name, vocabulary)
    return hs.parse(some.encode(text.encode()), name, vocab=some.vocab)


def is_lost(name: str, vocabulary: str, call: str, text: str) -> bool:
    """Is the answer after this text lost, or a later call?"""
    (good,) = read(name, vocabulary, call).tool_calls
    alone, more = (read(name, vocabulary, text + after) for after in (ANSWER, f"{ANSWER}\n{call}"))
    last = more.tool_calls[-1] if more.tool_calls else None
    return (
        ANSWER not in alone.content
        or ANSWER not in more.content
        or last is None
        or (last.name, last.arguments, last.complete) != (good.name, good.arguments, True)
    )


def losses(name: str, call: str, broken: list[str]) -> list[str]:
    found = [
        f"{before}{text}{gap}"
        for vocabulary in (TEXT, "added")
        for text in broken
        for before, gap in (("Hi.\n", "\n"), ("", ""))
        if is_lost(name, vocabulary, call, f"{before}{text}{gap}")
    ]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("name", CLOSED)
def test_one_slip_loses_nothing(name):
    assert [losses(name, call, list(slips(call))) for call in CALLS[name]] == [[] for _ in CALLS[name]]


@pytest.mark.parametrize("name", [name for name in CLOSED if row_of(name).body != "json"])
def test_a_complete_written_call_is_json(name):
    """The machine writes it, so it may look right though a quote is missing: a call that ends in a string is cut."""
    for call in written_calls(row_of(name)):
        for text in slips(call):
            for one in hs.parse(f"{text}\n{ANSWER}", name).tool_calls:
                assert not one.complete or isinstance(json.loads(one.arguments), dict), (text, one)
                assert ANSWER not in one.arguments and (not one.complete or ")]" not in one.arguments), (text, one)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_marks_that_change_at_random(times):
    dice = random.Random(times)
    lost = []
    for _ in range(4000):
        name = dice.choice(CLOSED)
        call = dice.choice(CALLS[name])
        stop = before_closers(name, call)
        text = dice.choice(("Hi.\n", "", "Let me look: ")) + changed(dice, call[:stop], times) + call[stop:]
        if is_lost(name, dice.choice((TEXT, "added")), call, text + dice.choice(("\n", "\n\n", ""))):
            lost.append((name, text))
    assert lost == []


# Where no closer follows the JSON of a call, a newline shows that a string without a quote is over. Prose in the same
# line is a part of that string. (In mistral, two more begin with a closing bracket, which is no JSON.)
KNOWN = {
    **{name: [13, 17] for name in ("gigachat3", "llama3", "phi4_mini", "granite3", "granite_20b")},
    **{"mistral": [13, 11, 17, 14], "xlam": [0, 0], "pythonic": [0, 0, 0, 0, 0]},
}


@pytest.mark.parametrize("name", OPEN_ENDED)
def test_one_slip_where_no_closer_follows(name):
    assert [len(losses(name, call, list(slips(call)))) for call in CALLS[name]] == KNOWN[name]


TOOL = {"name": "f", "parameters": {"properties": {"x": {}, "y": {}}}}
ARRAYS = (
    "[f(x='one')]",
    '[f(x="one", y=[1, 2])]',
    "[f(x={'a': 'b'})]",
    "[f(x='''one''')]",
    "[f(x='one'), f(y=['two'])]",
)


@pytest.mark.parametrize("name", [name for name in TAG_FORMATS if row_of(name).bare_line == "call"])
@pytest.mark.parametrize("call", ARRAYS)
def test_an_array_of_calls_that_lacks_a_quote(name, call):
    """No closer follows it: a newline shows that it is over, but not that a repaired call is complete."""
    if row_of(name).body != "python":
        pytest.skip("its calls are JSON")
    good = hs.parse(call, name, tools=[TOOL]).tool_calls[-1]
    for text in (one for at in range(len(call)) if call[at] in "'\"" for one in (call[:at] + call[at + 1 :],)):
        for more in ("", f"\n{call}"):
            done = hs.parse(f"{text}\n{ANSWER}{more}", name, tools=[TOOL])
            assert ANSWER in done.content, (text, done)
            assert not [one for one in done.tool_calls if one.complete and ")]" in one.arguments], (text, done)
            if more:
                last = done.tool_calls[-1]
                assert (last.arguments, last.complete) == (good.arguments, True), (text, done)


@pytest.mark.parametrize("name", [name for name in CALLS if row_of(name).body != "json"])
def test_a_misspelt_closer_loses_nothing(name):
    for call in written_calls(row_of(name)):
        stop = before_closers(name, call)
        (good,) = hs.parse(call, name).tool_calls
        for at in range(stop, len(call)):
            for text in (call[:at] + call[at + 1 :], call[:at] + call[at] + call[at:]):
                done = hs.parse(f"Hi.\n{text}\n{ANSWER}\n{call}", name)
                assert ANSWER in done.content, (text, done)
                assert [(one.arguments, one.complete) for one in done.tool_calls] == [(good.arguments, True)] * 2, text


STRINGS = ("'a'", '"b [1]"', "'it's'", '"""c"""')


@pytest.mark.parametrize("name", [name for name in CALLS if row_of(name).body == "python"])
def test_arrays_of_calls_that_run_together(name):
    """An array may lack its end, and a name may have more around it: each call is one, at every cut."""
    dice = random.Random(name)
    for _ in range(60):
        values = dice.choices(STRINGS, k=dice.choice((2, 3)))
        names = [dice.choice(("f", "functions.f", "tool:f")) for _ in values]
        calls = [f"{called}(x={value})" for called, value in zip(names, values, strict=True)]
        text = "[" + "".join(f"{call}{dice.choice(('[', ' [', '][', ', ', '], ['))}" for call in calls[:-1])
        text += calls[-1] + "]"
        section = row_of(name).section or ("", "")
        if not lacks_a_closer(name):
            text = first(section[0]) + text + first(section[1])
        found = []
        for at in range(len(text)):
            parser = hs.Parser(name, tools=[TOOL])
            events = [*parser.feed_text(text[:at]), *parser.feed_text(text[at:]), *parser.finish("stop")]
            found.append([(one.index, one.complete) for one in events if isinstance(one, hs.ToolCallEnd)])
            found[-1] += [one.name for one in events if isinstance(one, hs.ToolCallStart)]
            arguments = "".join(one.arguments for one in events if isinstance(one, hs.ToolCallDelta))
            assert arguments == "".join(json.dumps({"x": value.strip(value[0])}) for value in values), text
        whole = [*((index, True) for index in range(len(calls))), *["f"] * len(calls)]
        assert [one for one in found if one != whole] == [], text
        case = {"row": name, "how": "text", "stream": [text.encode()], "tools": "one", "reason": None}
        targets.check("tagpage", case | OPTIONS)


AFTER = (ANSWER, "It's 'x', (so \"y\").", 'the `a` = {"b": [1]}\n\nok', "a) b] c} 'd')", "```\nx\n```", "")
INSIDE = ("one", "one", "it's ", "a ) b", "x\ny", "y" * 1100, "} ")


def test_broken_calls_are_read_as_specified():
    """By the reference interpreter, as text and as ids, with anything after them."""
    dice = random.Random(7)
    for _ in range(250):
        name = dice.choice(list(CALLS))
        call = dice.choice(CALLS[name])
        if dice.randrange(3) == 0:
            call = call[: before_closers(name, call)]
        texts = [changed(dice, call, dice.randrange(4)), changed(dice, call, dice.randrange(2))]
        text = "".join(one + dice.choice(("\n", "", " ")) + dice.choice(AFTER) for one in texts)
        text = text.replace("one", dice.choice(INSIDE)) + dice.choice(("", *row_of(name).stops[:1]))
        case = {
            "row": name,
            "how": dice.choice(("text", "control", "plain", "split")),
            "stream": parts_of(name, text),
        }
        case |= {"tools": dice.choice(("unknown", "one", "typed")), "reason": dice.choice((None, "stop", "length"))}
        targets.check("tagpage", case | OPTIONS)


def test_rows_without_calls():
    assert sorted(set(TAG_FORMATS) - set(CALLS)) == ["kimi_vl", "think"]


MARK = "]<]minimax[>["


def test_a_closer_of_an_element_that_lacks_its_mark():
    """It ends the value, at every cut, unless a whole closer of the element follows: then it is part of the value."""
    dice = random.Random(7)
    for _ in range(60):
        values = {key: dice.choice(("ls", "a < b", "</", "<x>", "1", "x\n")) for key in dice.sample("abcx", 3)}
        body = "".join(
            f"{MARK}<{key}>{value}{dice.choice((MARK, ''))}</{key}>{dice.choice(('', '', ' '))}"
            for key, value in values.items()
        )
        quoting = f"<a>{dice.choice(list(values))}</a>" if "a" in values else ""
        body += f"{MARK}<quoted>{quoting}</quoted>{quoting}{MARK}</quoted>"
        text = f'{MARK}<tool_call>{MARK}<invoke name="f">{body}{MARK}</invoke>{MARK}</tool_call>{ANSWER}'
        wanted = values | {"quoted": f"{quoting}</quoted>{quoting}"}
        for at in range(len(text)):
            parser = hs.Parser("minimax_m3")
            events = [*parser.feed_text(text[:at]), *parser.feed_text(text[at:]), *parser.finish("stop")]
            arguments = "".join(one.arguments for one in events if isinstance(one, hs.ToolCallDelta))
            assert json.loads(arguments) == wanted, text
            assert [one.complete for one in events if isinstance(one, hs.ToolCallEnd)] == [True], text
            assert "".join(one.text for one in events if isinstance(one, hs.ContentDelta)) == ANSWER, text
        case = {"row": "minimax_m3", "how": "text", "stream": [text.encode()], "tools": "unknown", "reason": None}
        targets.check("tagpage", case | OPTIONS)
