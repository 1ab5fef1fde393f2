"""A call is complete only if all of its body was read: what a foreign dialect leaves in it is in a value or the text.
In each row, each piece of foreign markup is put at each place of a whole call's body.

Two things are dropped with a note, by rule: noise after a raw body, and a closer of an element that is not open.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from broken_calls import OPTIONS, parts_of
from fuzz import targets
from random_tags import first
from reference_tags_text import OPENER, aliases, holds_objects, lacks_closer, may_lack, opener_of, spellings_of
from tag_streams import TAG_FORMATS

import harmonystream as hs
from harmonystream.formats import Format, format_of

WORD = "zq7word"
MARK = "]<]minimax[>["
NOISE = (WORD, f" {WORD} ", f"\n{WORD}\n", f"<{WORD}", f"{WORD}>", f"&{WORD};", f"\\{WORD}", f"'{WORD}", f"({WORD})")
JSON = (
    f'"{WORD}"',
    f', "{WORD}": 1',
    f'{{"c": "{WORD}"}}',
    f"}} {WORD}",
    f"{{{WORD}",
    f"[{WORD}",
    f"{WORD}]",
    f":{WORD}",
)
TAGS = (
    *(f"<{WORD}>", f"</{WORD}>", f"<c>{WORD}</c>", f'<c name="{WORD}">', f"<!-- {WORD} -->", f"<|{WORD}"),
    *(f'<parameter name="c">{WORD}</parameter>', f"<parameter=c>\n{WORD}\n</parameter>", f"<function={WORD}>"),
    *(f"<arg_key>c</arg_key><arg_value>{WORD}</arg_value>", f'<param name="c">{WORD}</param>', f"<tool_sep>{WORD}"),
    *(f"{MARK}<c>{WORD}{MARK}</c>", f'{MARK}<c x="{WORD}>', f"[ARGS]{WORD}", f'<|"|>{WORD}<|"|>'),
)
WRITTEN = (f"c='{WORD}', ", f", c='{WORD}'", f'c: "{WORD}", ', f",{WORD},")
FOREIGN = (*NOISE, *JSON, *TAGS, *WRITTEN)
TOOL = {"name": "f", "parameters": {"properties": {"a": {"type": "string"}, "b": {"type": "object"}}}}
OBJECT = [
    "{",
    '"a"',
    ": ",
    '"',
    "one",
    '"',
    ", ",
    '"b"',
    ": ",
    "{",
    '"x"',
    ": ",
    "[",
    '"two"',
    ", ",
    "1",
    "]",
    "}",
    "}",
]
MARKUP = (
    "section_open",
    "section_close",
    "call_open",
    "call_close",
    "key_open",
    "value_open",
    "value_close",
    "name_end",
)


class Body(NamedTuple):
    kind: str
    before: str
    pieces: list[str]
    after: str


def row_of(name: str) -> Format:
    row = format_of(name)
    assert isinstance(row, Format)
    return row


def bodies(row: Format) -> Iterator[Body]:
    section = [first(one) for one in row.section] if row.section else ["", ""]
    tags = [first(row.call[0]), first(row.call[2])] if row.call else ["", ""]
    if row.wrapped:
        inner = tags if not row.section or holds_objects(row) else ["", ""]
        opener, closer = section[0] + inner[0], inner[1] + section[1]
        keys = {says: key for key, says in reversed(list(row.members.items()))}
        if row.members == {"*": "call"}:
            yield Body("wrapped", opener + '{"f": ', [*OBJECT, "}"], closer)
        else:
            name, rest = [f'"{keys["name"]}"', ": ", '"f"'], [f'"{keys["arguments"]}"', ": "]
            yield Body("wrapped", f"{opener}{{{''.join(name)}, {''.join(rest)}", [*OBJECT, "}"], closer)
            yield Body("wrapped", opener, ["{", *name, ", ", *rest, "".join(OBJECT), "}"], closer)
    if row.body == "python":
        pieces = ["a", "=", "'", "one", "'", ", ", "b", "=", "{", "'x'", ":", "[", "'two'", ", ", "1", "]", "}"]
        yield Body("written", section[0] + "[f(", pieces, ")]" + section[1])
    if row.body == "object":
        quote = first(row.quote)
        pieces = [
            "a",
            ":",
            quote,
            "one",
            quote,
            ",",
            "b",
            ":",
            "{",
            "x",
            ":",
            "[",
            f"{quote}two{quote}",
            ",",
            "1",
            "]",
            "}",
        ]
        yield Body("written", section[0] + "call:f{", pieces, "}" + section[1])
    if not row.call or (row.wrapped and not row.section and may_lack(row.call[1]) and not row.pair):
        return
    opener = section[0] + tags[0] + ("functions.f:0" if row.name_as == "id" else "f") + first(row.call[1])
    if row.pair:
        key, end, value, close = map(first, row.pair)
        pieces = [key, "a", end, value, "one", close, "\n", key, "b", end, value, '{"x": ["two", 1]}', close]
        yield Body("pairs", opener, [piece for piece in pieces if piece], tags[1] + section[1])
    elif row.element:
        tag, end, close = map(first, row.element)
        pieces = [tag, "a", end, "one", close, "a", end, "\n", tag, "b", end, tag, "x", end, tag, "item", end, "two"]
        pieces += [part for name in ("item", "x", "b") for part in (close, name, end)]
        yield Body("elements", opener, pieces, tags[1] + section[1])
    else:
        yield Body("raw", opener, OBJECT, tags[1] + section[1])


@pytest.mark.parametrize("name", TAG_FORMATS)
def test_a_complete_call_has_all_of_its_body(name):
    row = row_of(name)
    own = [marker for kind in MARKUP for marker in spellings_of(row).get(kind, ()) if len(marker) > 2]
    for kind, before, pieces, after in bodies(row):
        whole = hs.parse(before + "".join(pieces) + after, name, tools=[TOOL])
        assert [call.complete for call in whole.tool_calls] == [True]
        for at in range(len(pieces) + 1):
            for i, foreign in enumerate(FOREIGN):
                text = before + "".join([*pieces[:at], foreign, *pieces[at:]]) + after
                done = hs.parse(text, name, tools=[TOOL] if (at + i) % 2 else None)
                complete = [call.arguments for call in done.tool_calls if call.complete]
                if not complete:
                    continue
                said = done.content + done.reasoning + "".join(call.name + call.arguments for call in done.tool_calls)
                codes = {one.code for one in done.deviations}
                dropped = {
                    "raw": codes == {"ignored-text"},
                    "elements": "stray-closer" in codes,
                    "wrapped": "ignored-member" in codes and (at + i) % 2 == 1,  # of no parameter that is declared
                }.get(kind, False)
                assert WORD in said or dropped, (text, done)
                if kind not in ("pairs", "elements"):  # there the word is what a string between tags has
                    assert not [one for one in own if one not in foreign and one in "".join(complete)], (text, done)


PAIRED = [name for name in TAG_FORMATS if row_of(name).pair]
BETWEEN = ("note", "\nnote\n", "note.\n\n", ', "c": 1', "<note>", "</note>", "`x` and 'y'", "{}", "0")


def pairs_of(row: Format, values: tuple[str, ...]) -> tuple[str, list[str], str]:
    """A call with a value for each of a, b, and what is around its pairs."""
    assert row.pair
    _, before, _, after = next(body for body in bodies(row) if body.kind == "pairs")
    key, end, value, close = map(first, row.pair)
    return before, [f"{key}{name}{end}{value}{said}{close}" for name, said in zip("ab", values)], after


@pytest.mark.parametrize("name", PAIRED)
def test_text_after_a_value_is_no_part_of_it(name):
    """Neither is the next key, nor its value: what is dropped has its deviation, and the call is not complete."""
    before, (one, two), after = pairs_of(row_of(name), ("one", "two"))
    for tools in (None, [TOOL]):
        for noise in BETWEEN:
            for text in (
                f"{one}{noise}{two}",
                f"{one}\n{noise}{two}",
                f"{one}{two}{noise}",
                f"{one}{noise}{two}{noise}",
            ):
                for stop in ("stop", "length", None):
                    done = hs.parse(before + text + after, name, tools=tools, finish_reason=stop)
                    (call,) = done.tool_calls
                    said = json.loads(call.arguments)
                    assert (said["a"], list(said), call.complete) == ("one", ["a", "b"], False), (text, done)
                    assert said["b"] == "two", (text, done)
                    assert {code for code, _ in done.deviations} <= {"ignored-text", "value-type"}, (text, done)
                    assert done.content + done.reasoning == ""


@pytest.mark.parametrize("name", PAIRED)
def test_a_marker_in_place_of_the_first_opener_of_a_key(name):
    """The marker ends the call. The arguments come as text, so it is not complete. Text after the call is ignored."""
    row = row_of(name)
    assert row.pair and row.call
    before, (one, two), after = pairs_of(row, ("one", "two"))
    spellings = spellings_of(row)
    for kind in ("call_close", "section_close", "section_open"):
        for marker in filter(None, spellings.get(kind, ())):
            for size in (None, 1, 3):
                text = before + marker + one.removeprefix(first(row.pair[0])) + two + after
                calls = fed(hs.Parser(name, tools=[TOOL]), text, size)
                assert [call for call in calls if call[2]] == [] != calls, (text, calls)
    closer = first(row.call[2])
    for more in (after.removeprefix(closer), " a</b>", "\n" + one, "Done. " + before):
        calls = fed(hs.Parser(name, tools=[TOOL]), before + closer + more, 1)
        assert calls[0] == ("f", "{}", True), (more, calls)


def fed(parser: hs.Parser, text: str, size: int | None) -> list[tuple[str, str, bool]]:
    """The calls of text that is fed in pieces of this size: their names, arguments, and whether they are complete."""
    size = size or len(text)
    events = [event for at in range(0, len(text), size) for event in parser.feed_text(text[at : at + size])]
    calls: list[tuple[str, str, bool]] = []
    for event in [*events, *parser.finish("stop")]:
        if isinstance(event, hs.ToolCallStart):
            calls.append((event.name, "", False))
        elif isinstance(event, hs.ToolCallDelta):
            calls[-1] = (calls[-1][0], calls[-1][1] + event.arguments, False)
        elif isinstance(event, hs.ToolCallEnd):
            calls[-1] = (calls[-1][0], calls[-1][1] or "{}", event.complete)
    return calls


FENCES = (("```json\n", "\n```"), ("\n```\n", "\n```\n"), ("``` ", " ``` "), ("\n```JSON", "```"))
FENCED = [name for name in TAG_FORMATS if any(body.kind == "wrapped" for body in bodies(row_of(name)))]


@pytest.mark.parametrize("name", [name for name in FENCED if not lacks_closer(row_of(name))])
def test_an_object_in_a_fence_between_the_tags_is_the_call(name):
    for body in [body for body in bodies(row_of(name)) if body.kind == "wrapped"]:
        whole = body.before + "".join(body.pieces)
        at = whole.index("{")
        for opens, closes in FENCES:
            for size in (None, 1, 4):
                for said, objects in ((whole[at:], 1), (f"[{whole[at:]}, {whole[at:]}]", 2)):
                    parser = hs.Parser(name, tools=[TOOL])
                    calls = fed(parser, whole[:at] + opens + said + closes + body.after, size)
                    assert calls == [("f", "".join(OBJECT), True)] * objects, (opens, said, calls)
                    assert {one.code for one in parser.deviations} == {"ignored-text"}


@pytest.mark.parametrize("name", PAIRED)
def test_a_value_may_quote_the_closer_of_values(name):
    """Its own closer shows it: none of what it quotes ends it."""
    row = row_of(name)
    assert row.pair and row.call
    close, closer = first(row.pair[3]), first(row.call[2])
    for quoted in (f"see {close} here", f"{close} x {close} y", f"a {close} b {closer} c"):
        before, pieces, after = pairs_of(row, (quoted, "two"))
        (call,) = hs.parse(before + "".join(pieces) + after, name).tool_calls
        assert (json.loads(call.arguments), call.complete) == ({"a": quoted, "b": "two"}, True)


@pytest.mark.parametrize("name", PAIRED)
def test_a_closer_that_comes_twice_is_no_part_of_the_value(name):
    row = row_of(name)
    assert row.pair
    close = first(row.pair[3])
    assert close.endswith(">")
    before, (one, two), after = pairs_of(row, ("one", "two"))
    for more in (close, f"{close[:-1]} x>", f"{close[:-1]}1>", f"{close}\n{close[:-1]}1>", f"{close[:-1]}1>{close}"):
        for text in (f"{one}{more}{two}", f"{one}{two}{more}", f"{one}\n{more}\n{two}{more}"):
            done = hs.parse(before + text + after, name)
            assert [(json.loads(call.arguments), call.complete) for call in done.tool_calls] == [
                ({"a": "one", "b": "two"}, True)
            ], (text, done)
            assert {code for code, _ in done.deviations} <= {"stray-closer", "misspelt-closer"} != set()


def misspelt(closers: str | tuple[str, ...], key: str) -> list[str]:
    """What models write in place of this closer: another name, or no `>`."""
    return [one for one in wrong_names(first(closers), key) if one not in aliases(closers)]


def wrong_names(closer: str, key: str) -> Iterator[str]:
    shape = re.fullmatch(r"([^/]*/.*?)([0-9A-Za-z_]{3,})>", closer)
    if shape:
        stem, name = shape.groups()
        yield from (f"{stem}{one}>" for one in (name[:3], name[:4], name.title(), name[:-1], f" {name}", f"{name} "))
        yield closer[:-1] + "\n"
        at = len(stem) + 1
        slips = (("", 1), ("-", 1), ("e", 0), (" ", 1))
        yield from (closer[:at] + other + closer[at + more :] for other, more in slips)
        if key:
            yield f"{stem}{key}>"


@pytest.mark.parametrize("name", PAIRED)
def test_a_closer_with_another_name_is_no_part_of_the_value(name):
    row = row_of(name)
    assert row.pair and row.call
    before, (one, two), after = pairs_of(row, ("one", '"two"'))
    close, closer = first(row.pair[3]), first(row.call[2])
    wrong = [
        [one.removesuffix(close) + bad, two.removesuffix(close) + worse, after]
        for bad, worse in zip(misspelt(row.pair[3], "a"), misspelt(row.pair[3], "b"))
    ] + [[one, two, after.replace(closer, bad, 1)] for bad in misspelt(row.call[2], "") if closer != after]
    for tools in (None, [TOOL]):
        for parts in wrong:
            for gap in ("", "\n"):
                text = before + gap.join(parts)
                done = hs.parse(text, name, tools=tools)
                (call,) = done.tool_calls
                said = json.loads(call.arguments)
                assert (said["a"], list(said), call.complete) == ("one", ["a", "b"], True), (text, done)
                assert close[:2] not in call.arguments, (text, done)
                assert "misspelt-closer" in {code for code, _ in done.deviations}, (text, done)


@pytest.mark.parametrize("name", PAIRED)
def test_a_tag_with_a_name_of_its_own_is_part_of_the_value(name):
    """So is a closer with another name, where the value's own closer comes."""
    row = row_of(name)
    assert row.pair and row.call
    closer = first(row.call[2])
    for bad in ("</other>", "</a>", *misspelt(row.pair[3], "a")):
        for value in (f"{bad}x", f"x{bad}", f"x {bad} x", f"x{bad}\n{closer} x"):
            before, pieces, after = pairs_of(row, (value, "two"))
            (call,) = hs.parse(before + "".join(pieces) + after, name).tool_calls
            assert (json.loads(call.arguments)["a"], call.complete) == (value, True)


def slips_at_keys(row: Format, one: str, two: str) -> Iterator[str]:
    """The pairs a and b, with a marker around b's key that is missing, broken or doubled; all of it can be read."""
    assert row.pair
    key, end, value, close = map(first, row.pair)
    said = two.removeprefix(key)
    yield from (f"{one}\n{left}{said}" for left in ("", "<x=", "key: ", key[:3] + " "))
    yield f"{one}{key}{key}{said}"
    yield f"{one}{key}\n{key}{said}"
    yield one + two.replace(close, f"{close}{end}")
    yield f"{one}{end}\n{two}"
    yield one + two.replace(f"{key}b{end}", f"{key}b\n", 1)
    if value:
        yield from (
            one + two.replace(value, more, 1) for more in (value * 2, f":{value}", f" = {value}", f":\n{value}")
        )
    else:
        yield f"{one}{key}b{end}{two}"
        if row.newlines == "strip":
            yield f"{one}{key}b{end}\n{two}"


@pytest.mark.parametrize("name", PAIRED)
def test_a_slip_at_a_key_loses_nothing(name):
    before, (one, two), after = pairs_of(row_of(name), ("one", "two"))
    tool = {"name": "f", "parameters": {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}}
    for text in slips_at_keys(row_of(name), one, two):
        done = hs.parse(before + text + after, name, tools=[tool])
        (call,) = done.tool_calls
        said = json.loads(call.arguments)
        assert (said["a"], said["b"].strip(), call.complete) == ("one", "two", True), (text, done)
        assert len(said) == 2 and done.deviations and not done.content


@pytest.mark.parametrize("name", PAIRED)
def test_a_key_that_is_no_key_leaves_no_complete_call(name):
    """Another call follows in place of the key's end: what came of the key was an argument."""
    row = row_of(name)
    assert row.pair and row.call
    before, (one, _), after = pairs_of(row, ("one", "two"))
    for body in (f'{first(row.pair[0])}b": "x"}}\n', f'{one}{first(row.pair[0])}b": "x"}}\n'):
        done = hs.parse(f"{before}{body}{before}{one}{after}", name)
        assert [call.complete for call in done.tool_calls][:1] == [False], done


def test_text_between_values_is_read_as_specified():
    """By the reference interpreter: markers of pairs, closers with something in them, and text, in any order."""
    dice = random.Random(11)
    for _ in range(400):
        name = dice.choice(PAIRED)
        row = row_of(name)
        assert row.pair and row.call
        before, pieces, after = pairs_of(row, ("one", "two"))
        if dice.random() < 0.5:
            pieces = [piece.removesuffix(first(row.pair[3])) for piece in pieces]
        markers = [one for kind in MARKUP[2:] for one in spellings_of(row).get(kind, ())]
        made = []
        for piece in pieces * dice.randrange(1, 3):
            noise = [dice.choice((*BETWEEN, "\n", " ", "x" * dice.choice((900, 1010, 1100)))) for _ in range(2)]
            broken = [dice.choice(markers)[: dice.choice((-1, None))] for _ in range(2)]
            broken += dice.sample(["a" + first(row.pair[1]), "b" + first(row.pair[1]), "a", "a\n", ":", " = "], 1)
            broken += dice.sample([*misspelt(row.pair[3], "a"), *misspelt(row.call[2], ""), "</a>"], 1)
            broken.append(dice.choice(markers[:1]) + "a" + dice.choice(("", "\n", first(row.pair[1]))))
            made += [piece, *dice.sample([*noise, *broken, "x>", "1>"], dice.randrange(4))]
        text = "".join(made)
        for _ in range(dice.randrange(3)):  # a marker is missing, or comes twice
            here = [hit for one in markers if one for hit in re.finditer(re.escape(one), text)]
            if here:
                hit = dice.choice(here)
                text = text[: hit.start()] + dice.choice(("", hit[0] * 2, f"{hit[0]}\n{hit[0]}")) + text[hit.end() :]
        text = before + text + dice.choice((after, after, "", *row.stops[:1])) + dice.choice(("", "Bye"))
        case = {
            "row": name,
            "how": dice.choice(("text", "control", "plain", "split")),
            "stream": parts_of(name, text),
        }
        case |= {"tools": dice.choice(("unknown", "one", "typed")), "reason": dice.choice((None, "stop", "length"))}
        targets.check("tagpage", case | OPTIONS)


WRAPPED = [name for name in TAG_FORMATS if row_of(name).wrapped and row_of(name).members != {"*": "call"}]
STRAY = ('"word"', "12", "true", '"word":', '"word" "x"', "[1]", '{"x": 1}', "word", "12: 3", '"b": "c" "d"')


@pytest.mark.parametrize("name", WRAPPED)
def test_what_is_no_member_is_noted(name):
    """And the call is not complete. The answer after it is shown, and a later call is read."""
    for kind, before, pieces, after in bodies(row_of(name)):
        if kind == "wrapped" and "{" not in before:
            *head, arguments, _ = pieces
            call = before + "".join(pieces) + after
            for stray in STRAY:
                for inner in (f"{stray}, {head[-2]}: {arguments}", f"{head[-2]}: {arguments}, {stray}"):
                    text = before + "".join(head[:-2]) + inner + "}" + after
                    done = hs.parse(f"{text}\nBye.\n{call}", name)
                    codes = {code for code, _ in done.deviations}
                    assert codes & {"ignored-text", "missing-value"}, (text, done)
                    assert [one.complete for one in done.tool_calls] == [False, True], (text, done)
                    assert done.tool_calls[0].arguments == arguments and "Bye." in done.content


def test_what_is_no_member_is_read_as_specified():
    dice = random.Random(13)
    for _ in range(400):
        name = dice.choice(WRAPPED)
        _, before, pieces, after = dice.choice(list(bodies(row_of(name))))
        strays = [dice.choice((*STRAY, ",", ":", "\n")) * (dice.randrange(6) == 0) for _ in pieces]
        made = [one for both in zip(strays, pieces) for one in both]
        text = before + "".join(made) + dice.choice((after, after, "")) + dice.choice(("", "Bye"))
        case = {"row": name, "how": dice.choice(("text", "control", "plain")), "stream": parts_of(name, text)}
        case |= {"tools": dice.choice(("unknown", "one", "typed")), "reason": dice.choice((None, "stop", "length"))}
        targets.check("tagpage", case | OPTIONS)


TAGGED = [name for name in TAG_FORMATS if row_of(name).pair and opener_of(row_of(name), "key_open")]


@pytest.mark.parametrize("name", TAGGED)
def test_an_attribute_that_means_nothing_is_noted(name):
    row = row_of(name)
    assert row.pair
    before, pieces, after = pairs_of(row, ("one", "two"))
    (stem, *_), word, end = opener_of(row, "key_open") or ((), "", "")
    hit = OPENER.fullmatch(stem)
    assert hit
    for said in ('foo="x"', "foo=x", "type='string' foo = 'x y'"):
        for tag in (
            f'{hit[1]} {said} name="c"{end}',
            f'{hit[1]} name="c" {said}{end}',
            f"{hit[1]} {word or 'name'}=c {said} {end}",
        ):
            call = f"{before}{pieces[0]}{tag}three{first(row.pair[3])}{pieces[1]}{after}"
            done = hs.parse(call, name)
            assert [(json.loads(one.arguments), one.complete) for one in done.tool_calls] == [
                ({"a": "one", "c": "three", "b": "two"}, True)
            ], (call, done)
            at = call.index(tag)
            assert list(done.deviations) == [("ignored-text", len(call[:at].encode()))]


def test_an_attribute_of_an_element_that_means_nothing_is_noted():
    text = f'{MARK}<tool_call>{MARK}<invoke name="f">'
    call = f'{text}{MARK}<parameter name="a" foo="x">one{MARK}</parameter>{MARK}</invoke>{MARK}</tool_call>'
    done = hs.parse(call, "minimax_m3")
    assert [(one.arguments, one.complete) for one in done.tool_calls] == [('{"a": "one"}', True)]
    assert list(done.deviations) == [("ignored-text", len(text))]


@pytest.mark.parametrize("read", [True, False])
def test_what_is_left_of_an_opener_is_no_part_of_the_value(read):
    """A tag that is broken is not read, so the call is not complete; one whose marker is broken is."""
    rest = f"{MARK}<b>two{MARK}</b>{MARK}</invoke>{MARK}</tool_call>"
    parts = [MARK[:n] for n in range(2, len(MARK) + 1) if MARK[n : n + 1] != "a"]
    good = ["a>", "<a>", *(f"{part}a>" for part in parts)]
    for left in good if read else (f"{MARK}<a<b>", f"{MARK}<>", f"{MARK}<a =>", f"{MARK}b c>", f"{MARK}"):
        text = f'{MARK}<tool_call>{MARK}<invoke name="f">{left}one{MARK}</a>{rest}'
        for tools in (None, [{"name": "f", "parameters": {"properties": {"a": {}, "b": {}}}}]):
            (call,) = hs.parse(text, "minimax_m3", tools=tools).tool_calls
            assert (json.loads(call.arguments), call.complete) == ({"a": "one", "b": "two"}, read), (text, call)


def test_what_is_left_of_an_opener_is_read_as_specified():
    dice = random.Random(17)
    for _ in range(300):
        parts = [
            f"{MARK}<a>",
            f"{MARK}<b>",
            f"{MARK}</a>",
            f"{MARK}</b>",
            "one",
            ">",
            "<",
            " ",
            MARK,
            "a>",
            "b",
            "<a x=1>",
        ]
        made = [dice.choice(parts)[: dice.choice((None, None, -1, 5))] for _ in range(dice.randrange(12))]
        text = f'{MARK}<tool_call>{MARK}<invoke name="f">{"".join(made)}'
        text += dice.choice(("", f"{MARK}</invoke>", f"{MARK}</invoke>{MARK}</tool_call>Bye"))
        case = {"row": "minimax_m3", "how": dice.choice(("text", "control", "plain", "split"))}
        case |= {"stream": parts_of("minimax_m3", text), "tools": dice.choice(("unknown", "one", "typed"))}
        targets.check("tagpage", case | OPTIONS | {"reason": dice.choice((None, "stop", "length"))})
