"""What a person sees of a stream, and what a terminal never gets to see."""

from __future__ import annotations

import io
import json

import pytest

import harmonystream as hs
from harmonystream.cli.show import STYLES, Show, json_line, painter, visible, wrapped

STREAM = (
    "<|channel|>analysis<|message|>Two\nlines<|end|>"
    "<|start|>assistant<|channel|>commentary<|message|>One moment.<|end|>"
    '<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":\n1}<|call|>'
    "<|start|>functions.f to=assistant<|message|>secret<|end|>"
    "<|start|>assistant to=python<|channel|>analysis code<|message|>print(1<|call|>"
    '<|start|>assistant<|channel|>final <|constrain|>json<|message|>{"ok":true}<|end|>'
    "<|start|>assistant<|channel|>odd<|message|>x<|end|><|start|>assistant<|channel|>final<|message|><|return|>"
)

SHOWN = """\
reasoning
  Two
  lines
preamble
  One moment.
call 0: f
  {"a":
  1}
call 0 is complete
suppressed: a message of functions.f
call 1: python (builtin)
  print(1
call 1 is complete; its arguments are not one JSON value
answer (json)
  {"ok":true}
content on odd
  x
empty message on channel final

finish: tool_calls
bytes: 535 (431 header, 9 reasoning, 23 content, 15 arguments, 57 suppressed)
deviations: 2
  foreign-role at 213
  unknown-channel at 429: expected analysis, commentary or final
"""


def shown(text: str, *, cut: int | None = None, finish: str | None = None, **options: object) -> str:
    """The stream as painted, fed in pieces of `cut` bytes."""
    out = io.StringIO()
    show = Show(painter(out, False), **options)
    parser = hs.Parser()
    data = text.encode()
    for at in range(0, len(data), cut or len(data) or 1):
        for event in parser.feed_text(data[at : at + (cut or len(data))]):
            show.add(event)
    for event in parser.finish(finish):
        show.add(event)
    show.summary(parser, "bytes")
    return out.getvalue()


@pytest.mark.parametrize("cut", [None, 1, 2, 3, 7])
def test_a_stream_is_shown_the_same_for_every_cut(cut):
    assert shown(STREAM, cut=cut) == SHOWN


def test_nothing_is_shown_as_nothing():
    unknown = "unknown (nothing shows that the model had finished)"
    assert shown("") == f"\nfinish: {unknown}\nbytes: 0\n"


def test_the_cut_part_is_reported():
    text = "<|channel|>commentary to=functions.f<|message|>{"
    lines = shown(text, finish="length").splitlines()
    assert lines[:3] == ["call 0: f", "  {", "call 0 is not complete; its arguments are not one JSON value"]
    assert lines[4] == "finish: length"


def test_only_the_first_deviations_are_listed():
    lines = shown("<|end|>" * 20).splitlines()
    assert lines[3] == "deviations: 20"
    assert lines[4:] == [
        "  missing-message at 0: expected <|message|>",
        *(f"  stray-terminator at {7 * i}: expected <|start|>" for i in range(1, 16)),
        "  and 4 more",
    ]


def test_model_text_cannot_pass_for_a_heading():
    text = "<|channel|>final<|message|>a\nfinish: stop\n\ncall 0: rm\r\rcall 1: rm<|return|>"
    assert shown(text).splitlines()[:6] == [
        "answer",
        "  a",
        "  finish: stop",
        "",
        "  call 0: rm\\x0d\\x0dcall 1: rm",
        "",
    ]


@pytest.mark.parametrize(
    ("hostile", "seen"),
    [
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("\x7f\x00\b\v", "\\x7f\\x00\\x08\\x0b"),
        ("\u202edrowssap", "\\u202edrowssap"),
        ("tab\tline\n伞", "tab\tline\n伞"),
    ],
)
def test_control_characters_are_shown_not_sent(hostile, seen):
    assert visible(hostile) == seen
    body = "".join("  " + line + "\n" for line in seen.split("\n"))
    assert shown(f"<|channel|>final<|message|>{hostile}<|return|>").startswith(f"answer\n{body}\n")


def test_control_characters_in_names_are_shown_too():
    lines = shown("<|channel|>\x1b[31m<|message|>x<|end|><|start|>assistant to=f\x07<|message|>{}<|call|>").splitlines()
    assert lines[:4] == ["content on \\x1b[31m", "  x", "call 0: f\\x07", "  {}"]


def test_colours_surround_the_same_text():
    out, plain = io.StringIO(), io.StringIO()
    coloured = painter(out, True)
    for kind in STYLES:
        coloured("伞\n ", kind)
        painter(plain, False)("伞\n ", kind)
    assert plain.getvalue() == "伞\n " * len(STYLES)
    assert out.getvalue() == "".join(
        f"\x1b[{code}m伞\n \x1b[0m" if code else "伞\n "
        for code in ("", "2", "36", "", "1;33", "33", "2;35", "1", "2", "32", "1;31")
    )


EVENTS = [
    hs.MessageStart("assistant", "final", None, None, 0, 3),
    hs.ReasoningDelta('"伞"\n', 3, 4),
    hs.ContentDelta("\x1b\x9b\x7f\u202e", "final", 4, 5),
    hs.ToolCallStart(0, "f", None, "function", 5, 5),
    hs.ToolCallDelta(0, '{"a":1}', 5, 6),
    hs.ToolCallEnd(0, True, False, 6, 6),
    hs.MessageEnd("tool", None, "f", "json", 6, 7),
    hs.StreamEnd(None, 7, 7),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_a_json_line_says_all_of_an_event_in_safe_characters(event):
    line = json_line(event)
    assert line.endswith("\n")
    assert visible(line[:-1]) == line[:-1]
    fields = json.loads(line)
    assert getattr(hs, fields.pop("type"))(**fields) == event


def test_a_json_line_is_readable():
    assert json_line(EVENTS[1]) == '{"type": "ReasoningDelta", "text": "\\"伞\\"\\n", "start": 3, "stop": 4}\n'


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one two three four", ["one two ", "three four"]),
        ("one two th three", ["one two th", "three"]),
        ("明天在成都要带雨伞吗", ["明天在成都", "要带雨伞吗"]),
        ("abcdefghijklmnop", ["abcdefghij", "klmnop"]),
        ("a\tb", ["a    b"]),
        ("e\u0301" * 11, ["e\u0301" * 10, "e\u0301"]),
        ("ab\n\ncd", ["ab", "", "cd"]),
    ],
)
def test_lines_are_broken_at_the_edge_of_the_terminal(text, lines):
    assert wrapped(text, 0, 10)[0] == "\n".join(lines)


def test_a_line_goes_on_where_it_stood():
    assert wrapped(" two", 8, 10) == (" \ntwo", 3)
    assert wrapped(" ", 10, 10) == ("", 10)
    assert wrapped("伞", 9, 10) == ("\n伞", 2)


def test_a_terminal_shows_lines_within_its_width():
    text = "<|channel|>final<|message|>" + "word " * 20 + "<|return|>"
    body = "  word word word word word\n" * 4
    assert shown(text, width=30).replace(" \n", "\n").startswith("answer\n" + body + "\nfinish: stop\n")
    pieces = shown(text, width=30, cut=1).partition("\n\n")[0].splitlines()
    assert max(map(len, pieces)) == 30
    assert "".join(line.removeprefix("  ") for line in pieces[1:]).replace(" ", "") == "word" * 20
