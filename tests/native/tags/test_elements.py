"""Arguments that are elements, tags named after them (docs/tags.md, 5 and 6)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_tags_text import spellings_of
from tag_streams import tokens

import harmonystream as hs
from harmonystream.formats import format_of

MARK = "]<]minimax[>["
ITEM = {"type": "object", "properties": {"sku": {"type": "string"}, "q": {"type": "integer"}}}
PROPERTIES = {
    "city": {"type": "string"},
    "n": {"type": "integer"},
    "o": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "k": {"type": "number"}, "o": {"$ref": "#/$defs/o"}},
    },
    "l": {"type": "array", "items": {"type": "integer"}},
    "items": {"type": "array", "items": ITEM},
    "free": {"type": "object", "additionalProperties": {"type": "boolean"}},
    "maybe": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
    "any": {},
}
TREE = {"type": "object", "properties": {"n": {"type": "integer"}, "o": {"$ref": "#/$defs/o"}}}
TOOL = {"name": "f", "parameters": {"type": "object", "properties": PROPERTIES, "$defs": {"o": TREE}}}


def marked(body: str) -> str:
    return body.replace("<", MARK + "<")


def read(body: str, tools: Any = (TOOL,), rest: str = "</invoke></tool_call>") -> tuple[str, str, list[str]]:
    """The arguments of a call, the content, and the codes of the deviations."""
    text = marked(f'<tool_call><invoke name="f">{body}{rest}')
    done = hs.parse(text, "minimax_m3", tools=tools)
    parser = hs.Parser("minimax_m3", tools=tools)
    pieces = [event for char in text for event in parser.feed_text(char)] + [*parser.finish()]
    told = "".join(event.arguments for event in pieces if isinstance(event, hs.ToolCallDelta))
    assert told == done.tool_calls[0].arguments
    return told, done.content or "", [one.code for one in done.deviations]


@pytest.mark.parametrize(
    ("body", "arguments"),
    [
        ('<city>a "b"\n</city><n>5</n>', {"city": 'a "b"\n', "n": 5}),
        ("<o><a>1</a><k>1.5</k></o>", {"o": {"a": "1", "k": 1.5}}),
        ("\n<o>\n<o><n>1</n><o><n>2</n></o></o></o>\n", {"o": {"o": {"n": 1, "o": {"n": 2}}}}),
        ("<l><item>1</item><item>2</item></l>", {"l": [1, 2]}),
        ("<l><x>1</x></l>", {"l": [1]}),
        (
            "<items><item><sku>b</sku><q>3</q></item><item><q>4</q></item></items>",
            {"items": [{"sku": "b", "q": 3}, {"q": 4}]},
        ),
        ("<free><x-y z>true</x-y z><$a>false</$a></free>", {"free": {"x-y z": True, "$a": False}}),
        ("<any><item>q</item><item><p>1</p></item></any>", {"any": ["q", {"p": "1"}]}),
        ("<any><p><item>1</item></p></any>", {"any": {"p": ["1"]}}),
        ("<invoke>x</invoke><n>1</n>", {"invoke": "x", "n": 1}),  # its closer is also the call's
        ("<any><invoke><invoke>1</invoke>\n</invoke></any>", {"any": {"invoke": {"invoke": "1"}}}),
        ("<l></l><o> </o><city></city><any></any>", {"l": [], "o": {}, "city": "", "any": ""}),
        ("<maybe></maybe>", {"maybe": []}),  # a template leaves out what is null
        ('<l>[1, 2]</l><o>{"a": 1}</o>', {"l": [1, 2], "o": {"a": 1}}),
        ("", {}),
    ],
)
def test_values_and_what_is_in_them(body, arguments):
    said, content, noted = read(body)
    assert (json.loads(said), content, noted) == (arguments, "", [])


def test_without_a_schema_values_are_strings():
    said, _, _ = read("<n>5</n><o><k>1.5</k></o><l><item>1</item></l>", tools=None)
    assert json.loads(said) == {"n": "5", "o": {"k": "1.5"}, "l": ["1"]}


def test_a_string_streams_and_a_number_waits():
    parser = hs.Parser("minimax_m3", tools=[TOOL])
    parser.feed_text(marked('<tool_call><invoke name="f"><o><a>'))
    assert [event.arguments for event in parser.feed_text("Ro")] == ['"a": "Ro']
    assert [event.arguments for event in parser.feed_text("me")] == ["me"]
    assert [event.arguments for event in parser.feed_text(marked("</a><k>1"))] == ['"']
    assert [event.arguments for event in parser.feed_text(marked(".5</k></o>"))] == [', "k": 1.5}']


@pytest.mark.parametrize(
    ("body", "arguments", "codes"),
    [
        ("<city>Rome<n>3</n>", {"city": "Rome", "n": 3}, ["missing-closer"]),
        ("<o><a>x<k>1</k></o><n>2</n>", {"o": {"a": "x", "k": 1}, "n": 2}, ["missing-closer"]),
        ("<o><a>x", {"o": {"a": "x"}}, ["missing-closer"] * 2),
        ("<items><item><q>1</items><n>2</n>", {"items": [{"q": 1}], "n": 2}, ["missing-closer"] * 2),
        ("</x><city>a</city></city>", {"city": "a"}, ["stray-closer"] * 2),
        ("<o>\n<a>1</a></o>noise<n>2</n>", {"o": {"a": "1"}, "n": 2}, ["ignored-text"]),
        ("<n><item>1</item></n>", {"n": ["1"]}, ["value-type"]),
        ("<n>x</n>", {"n": "x"}, ["value-type"]),
        ("<invoke>x", {"invoke": "x"}, ["missing-closer"]),
        ("<city>Rome</town><n>3</n>", {"city": "Rome", "n": 3}, ["missing-closer", "stray-closer"]),
        ("<invoke><a>x</a>", {"invoke": {"a": "x"}}, ["missing-closer"]),
        ('{"n": 1}', {"n": 1}, ["other-body"]),
    ],
)
def test_repairs(body, arguments, codes):
    said, content, noted = read(body)
    assert (json.loads(said), content, noted) == (arguments, "", codes)


def test_tags_in_a_string_are_text():
    body = f"<p>{MARK}<tool_call>{MARK}</city2>"
    said, _, noted = read(f"<city>{body}</city>".replace(MARK, ""))
    assert (json.loads(said), noted) == ({"city": body.replace("<p>", MARK + "<p>", 1)}, [])


def test_what_is_too_deep_is_text():
    deep = "<a>" * 40 + "x" + "</a>" * 40
    said, _, _ = read(deep, tools=None)
    value: Any = json.loads(said)
    for _ in range(32):
        (value,) = value.values()
    assert value.startswith(MARK + "<a>") and value.count("<a>") == 8


def test_a_cut_call_stays_open():
    said, _, _ = read("<o><a>x</a><k>1", rest="")
    assert said == '{"o": {"a": "x"'
    done = hs.parse(marked('<tool_call><invoke name="f"><o><a>x[e~['), "minimax_m3", tools=[TOOL])
    assert [(call.arguments, call.complete) for call in done.tool_calls] == [('{"o": {"a": "x', False)]


SPELLED = [marker for markers in spellings_of(format_of("minimax_m3")).values() for marker in markers]


def is_plain(text: str) -> bool:
    """It makes no marker, alone or with what stands beside it: `]~b` before a tag would begin with one."""
    return all(f">{text}{MARK}".count(marker) == f">{MARK}".count(marker) for marker in SPELLED)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(is_plain)
KEYS = st.just("invoke") | (
    st.text("abcXYZ_-.$/@ é日", min_size=1, max_size=8).map(lambda key: key.strip(" /")).filter(bool)
)
VALUES = st.recursive(
    TEXTS,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(KEYS.filter("item".__ne__), inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)


def written(value: Any) -> str:
    """As the model's chat template writes it."""
    if isinstance(value, dict):
        return "".join(f"{MARK}<{key}>{written(item)}{MARK}</{key}>" for key, item in value.items())
    if isinstance(value, list):
        return "".join(f"{MARK}<item>{written(item)}{MARK}</item>" for item in value)
    return str(value)


@given(st.dictionaries(KEYS, VALUES, max_size=3), st.sampled_from(["text", "added", "ordinary"]))
def test_what_the_template_writes_comes_back(arguments, kind):
    text = f'{MARK}<tool_call>\n{MARK}<invoke name="f">{written(arguments)}{MARK}</invoke>\n{MARK}</tool_call>'
    if kind == "text":
        done = hs.parse(text, "minimax_m3")
    else:
        some = tokens("minimax_m3", kind)
        done = hs.parse(some.encode(text.encode()), "minimax_m3", vocab=some.vocab)
    assert [json.loads(call.arguments) for call in done.tool_calls] == [arguments]
    assert not done.deviations


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"call": None, "section": None, "wrapped": False}, "element needs a call"),
        ({"pair": ("<k>", "</k>", "<v>", "</v>")}, "element needs a call"),
        ({"element": ("<", ">")}, "element is None or a tuple of 3 markers"),
        ({"item": ""}, "item is the name of an element"),
    ],
)
def test_rows_that_cannot_work_are_refused(change, error):
    row = format_of("minimax_m3")
    assert isinstance(row, hs.Format)
    with pytest.raises(hs.errors.FormatError, match=error):
        hs.Parser(row._replace(**change))


@pytest.mark.parametrize(
    ("body", "arguments", "codes"),
    [
        ("<city>1</city> oops <n>2</n>", {"city": "1", "n": 2}, ["ignored-text"]),
        ("<o><a>x</a>, <k>1</k></o>", {"o": {"a": "x", "k": 1}}, ["ignored-text"]),
        ("src/main.py</city><n>130</n>", {"city": "src/main.py", "n": 130}, ["missing-opener"]),
        ("city>Rome</city><n>1</n>", {"city": "Rome", "n": 1}, ["missing-opener"]),
        ("<n>1</n>Rome</city>", {"n": 1, "city": "Rome"}, ["missing-opener"]),
        ("<o><k>1</k>x</a></o><n>2</n>", {"o": {"k": 1, "a": "x"}, "n": 2}, ["missing-opener"]),
        ("12</n>", {"n": 12}, ["missing-opener"]),
        ("noise</nowhere><n>2</n>", {"n": 2}, ["ignored-text", "stray-closer"]),
    ],
)
def test_a_closer_always_ends_its_value_and_an_opener_may_be_missing(body, arguments, codes):
    said, content, noted = read(body)
    assert (json.loads(said), content, noted) == (arguments, "", codes)


def test_an_opener_without_its_namespace_is_one():
    text = f'{MARK}<tool_call>{MARK}<invoke name="f"><city>Rome{MARK}</city>{MARK}<n>1{MARK}</n>{MARK}</invoke>'
    done = hs.parse(text + f"{MARK}</tool_call>", "minimax_m3", tools=[TOOL])
    assert [(call.arguments, call.complete) for call in done.tool_calls] == [('{"city": "Rome", "n": 1}', True)]


@pytest.mark.parametrize(
    ("body", "arguments", "codes"),
    [
        ('<parameter name="city">Rome</parameter><parameter name="n">5</parameter>', {"city": "Rome", "n": 5}, []),
        ("<parameter type='x' name = city >a</parameter>\n<n>5</n>", {"city": "a", "n": 5}, []),
        ('<city type="string">5</city><zzz type="integer">5</zzz>', {"city": "5", "zzz": 5}, []),
        ('<zzz string="false">[1]</zzz><zzz2 string="true">[1]</zzz2>', {"zzz": [1], "zzz2": "[1]"}, []),
        ("<parameter=n>5</parameter>", {"n": 5}, []),
        (
            '<parameter name="o"><parameter name="a">x</parameter><k>1</k></parameter>',
            {"o": {"a": "x", "k": 1}},
            [],
        ),
        (
            '<parameter name="city">Rome<parameter name="n">5</parameter>',
            {"city": "Rome", "n": 5},
            ["missing-closer"],
        ),
    ],
)
def test_an_attribute_may_say_the_key(body, arguments, codes):
    said, content, noted = read(body)
    assert (json.loads(said), content, noted) == (arguments, "", codes)


@pytest.mark.parametrize(
    "body",
    [
        '<city="a" b>Rome</city>',
        '<a"b>x</a"b>',
        '<p name="city"/>',
        '<p value="x" name="n">5</p>',
    ],
)
def test_a_call_with_a_tag_that_is_not_read_is_not_complete(body):
    text = marked(f'<tool_call><invoke name="f">{body}<n>1</n></invoke></tool_call>')
    (call,) = hs.parse(text, "minimax_m3", tools=[TOOL]).tool_calls
    assert not call.complete


@pytest.mark.parametrize("outer", [0, 3, 120, 240])
@pytest.mark.parametrize("tag", ["parameter name={}", "{}"])
def test_a_tag_has_room_or_is_dropped(tag: str, outer: int) -> None:
    """The names of open elements have 256 bytes. A tag without room and its closer once made calls without end."""
    seen = set()
    for size in (1, 14, 120, *range(225, 260)):
        name, key = tag.format("k" * size), "k" * size
        closer = name.split(" name=")[0]
        body = f"<{name}>a</{closer}><n>5</n>"
        if outer:
            body = f"<{'o' * outer}>{body}</{'o' * outer}>"
        text = marked(f'<tool_call><invoke name="f">{body}</invoke></tool_call>')
        (call,) = hs.parse(text, "minimax_m3", tools=None).tool_calls
        found = json.loads(call.arguments)
        if not outer and size < 257:  # a longer name is not one
            assert found == ({key: "a", "n": "5"} if call.complete else {"n": "5"}), size
        for cut in (1, 7):
            parser = hs.Parser("minimax_m3")
            pieces = [event for at in range(0, len(text), cut) for event in parser.feed_text(text[at : at + cut])]
            parser.finish()
            told = "".join(event.arguments for event in pieces if isinstance(event, hs.ToolCallDelta))
            assert told == call.arguments, size
        seen.add(call.complete)
    assert outer or seen == {True, False}
