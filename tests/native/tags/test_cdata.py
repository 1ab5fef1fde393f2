"""Text in a value that is taken as it is (docs/tags.md, 6)."""

from __future__ import annotations

import pytest
from tag_cases import read

import harmonystream as hs
from harmonystream.formats import format_of

OPEN, CLOSE = '<function name="f"><param name="s">', "</param></function>"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("<![CDATA[]]>", ""),
        ("\n <![CDATA[\n x \n]]>\n ", "\\n x \\n"),
        ("<![CDATA[a</param>b]]>", "a</param>b"),
        ('<![CDATA[<function name="g"><param name="k">v</param></function>]]>', None),
        ("<![CDATA[a]]><![CDATA[b]]>\n<![CDATA[c]]>", "abc"),
        ("<![CDATA[a]]>b]]>", "a]]>b"),
        ("<![CDATA[<![CDATA[a]]>", "<![CDATA[a"),
        ("<![CDATA[<think>日</think>]]>", "<think>日</think>"),
        ("x<![CDATA[a]]>", "x<![CDATA[a]]>"),
        ("<![CDATA", "<![CDATA"),
    ],
)
def test_what_is_in_it(value, said):
    said = value[9:-3].replace('"', '\\"') if said is None else said
    assert read("minicpm5", OPEN + value + CLOSE + "<|im_end|>") == ("", "", [("f", f'{{"s": "{said}"}}')], [])


@pytest.mark.parametrize("value", ["5", " 5 ", "[1]", "x"])
def test_its_type_is_the_value_s(value):
    text = f'<function name="f"><param name="i">{value}</param><param name="sn">{value}</param></function>'
    quoted = text.replace(f">{value}<", f"><![CDATA[{value}]]><")
    assert read("minicpm5", quoted) == read("minicpm5", text)


@pytest.mark.parametrize("end", ["<|im_end|>", "", "\n", "\n</s>"])
def test_a_closer_that_is_missing(end):
    text = OPEN + "<![CDATA[a</param>\n</function>b</param>\n</function>" + end
    value = "a</param>\\n</function>b"
    assert read("minicpm5", text) == ("", "", [("f", f'{{"s": "{value}"}}')], ["missing-closer"])


def test_it_goes_on_as_long_as_it_may():
    long = "</param>\n" + "x" * 5000
    assert read("minicpm5", f"{OPEN}<![CDATA[{long}]]>{CLOSE}") == (
        "",
        "",
        [("f", '{"s": "' + long.replace("\n", "\\n") + '"}')],
        [],
    )


@pytest.mark.parametrize("mode", ["added", "plain"])
def test_as_control_tokens(mode):
    """The closer always counts. Where nothing follows that may, ws after it is the value's."""
    pair = ("<k>", "</k>", "<v>", "</v>")
    row = hs.Format("row", call=("<c>", "", "</c>"), pair=pair, cdata=("<q>", "</q>"), control=True)
    spelled = ["<c>", "</c>", *pair, "<q>", "</q>"]
    table = {i: bytes([i]) for i in range(256)}
    names = {spelling: 256 + i for i, spelling in enumerate(spelled)} if mode == "added" else {}
    parser = hs.Parser(row, hs.vocab.from_bytes(table, names, name="bytes"), check_stops=False)
    ids: list[int] = []
    for part in ("<c>", "f", "<k>", "s", "</k>", "<v>", " ", "<q>", "a</v>", "</q>", " ", "b", "</v>", "</c>"):
        ids += [names[part]] if part in names else list(part.encode())
    done = [event for i in ids for event in parser.feed(i)] + list(parser.finish())
    arguments = "".join(event.arguments for event in done if isinstance(event, hs.ToolCallDelta))
    assert arguments == ('{"s": "a</v> b"}' if mode == "added" else '{"s": "a</v></q> b"}')


def test_a_row_that_cannot_have_it():
    with pytest.raises(hs.errors.FormatError, match="cdata needs pair, because only values between tags"):
        hs.Parser(format_of("hermes")._replace(name="x", pair=None, call=None, cdata=("<a>", "</a>")))
    with pytest.raises(hs.errors.FormatError, match="cdata is None or a tuple of 2 markers"):
        hs.Parser(format_of("minicpm5")._replace(cdata=("<a>",)))
