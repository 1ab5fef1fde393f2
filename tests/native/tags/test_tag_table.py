"""Rows of one's own: which are refused, and why; and how markers are found among the ids of a vocabulary."""

from __future__ import annotations

from typing import Any

import pytest

import harmonystream as hs
from harmonystream._native.tags.tag_table import Row

THINK = ("<think>", "</think>")
S = ("<s>", "</s>")
CALL = ("<call=", ">", "</call>")
PAIR = ("<key=", ">", "", "</key>")
NAMELESS = ("<call>", "", "</call>")
LETTERS = [bytes([byte]) for byte in range(256)]

REFUSED = {
    "nothing": ({}, "has no markers"),
    "pairs without calls": (
        {"think": THINK, "pair": PAIR},
        "pair needs call, because pairs are the arguments of a call",
    ),
    "an empty section": (
        {"section": ("<s>", "</s>")},
        "section needs call, wrapped=True or a body of 'python' or 'object', because a section contains nothing but",
    ),
    "JSON in nothing": (
        {"think": THINK, "wrapped": True},
        "wrapped needs section or call, because their markers enclose the JSON",
    ),
    "one marker": ({"think": ("<think>",)}, "think is None or a tuple of 2 markers, not ('<think>',)"),
    "no tuple": ({"think": "<think>"}, "think is None or a tuple of 2 markers, not '<think>'"),
    "a list": ({"section": ["<s>", "</s>"]}, "section is None or a tuple of 2 markers, not ['<s>', '</s>']"),
    "two of three": ({"call": CALL[:2]}, "call is None or a tuple of 3 markers, not ('<call=', '>')"),
    "three of four": ({"call": CALL, "pair": PAIR[:3]}, "pair is None or a tuple of 4 markers, not ('<key=', '>', '')"),
    "a number": ({"think": ("<think>", 7)}, "the think closer 7 must be a string"),
    "bytes": ({"think": (b"<think>", "</think>")}, "the think opener b'<think>' must be a string"),
    "half a character": ({"think": ("<think>", "\ud800")}, "the think closer '\\ud800' is not text"),
    "empty": ({"think": ("", "</think>")}, "the think opener '' must have 1 to 128 bytes, not 0"),
    "an empty opener of a call": ({"call": ("", ">", "</call>")}, "the call opener '' must have 1 to 128 bytes, not 0"),
    "an empty closer of pairs": (
        {"call": ("<call=", ">", ""), "pair": PAIR},
        "the call closer is empty, which needs a row without section and pair, and no other closer",
    ),
    "an empty closer among others": (
        {"call": ("<call=", ">", ("", "</call>"))},
        "the call closer is empty, which needs a row without section and pair, and no other closer",
    ),
    "an empty closer of a section of calls": (
        {"section": ("<s>", ""), "call": CALL, "wrapped": True},
        "a marker of section is empty, which needs wrapped=True or body='python', and no call",
    ),
    "an empty opener of a section of calls": (
        {"section": (("", "<s>"), "</s>"), "call": CALL},
        "a marker of section is empty, which needs wrapped=True or body='python', and no call",
    ),
    "a body": ({"section": S, "body": "yaml"}, "body is one of 'json', 'python', 'object', not 'yaml'"),
    "Python in nothing": ({"think": THINK, "body": "python"}, "body='python' needs a section and no call"),
    "Python in calls": ({"section": S, "call": CALL, "body": "python"}, "body='python' needs a section and no call"),
    "objects in calls": ({"section": S, "call": CALL, "body": "object"}, "body='object' needs a section and no call"),
    "objects without an opener": ({"section": ("", "</s>"), "body": "object"}, "the section opener cannot be empty"),
    "quotes of JSON": ({"section": S, "wrapped": True, "quote": "~"}, "quote needs body='object', because"),
    "a quote like another marker": (
        {"section": S, "body": "object", "quote": "<s"},
        "the string quote '<s' is the beginning",
    ),
    "names in tags": ({"call": CALL, "name_as": "call"}, "name_as='call' needs a body of 'python' or 'object'"),
    "members": ({"section": S, "wrapped": True, "members": {}}, "members maps 1 to 16 keys of a wrapped call"),
    "members of nothing": (
        {"section": S, "wrapped": True, "members": ()},
        "members maps 1 to 16 keys of a wrapped call",
    ),
    "a member": (
        {"section": S, "wrapped": True, "members": {"name": "names"}},
        "'id', 'other', 'alias', or '*' to 'call', and cannot map 'name' to 'names'",
    ),
    "a key": (
        {"section": S, "wrapped": True, "members": {"": "name"}},
        "members maps keys to 'name', 'arguments', 'id', 'other', 'alias', or '*' to 'call', and cannot map ''",
    ),
    "a long key": ({"section": S, "wrapped": True, "members": {"k" * 129: "name"}}, "has a key of more than 128 bytes"),
    "no arguments": (
        {"section": S, "wrapped": True, "members": {"tool": "name"}},
        "members needs a key for the name and one for the arguments",
    ),
    "between": ({"section": S, "wrapped": True, "between": "; "}, "between is a mark such as ';', or empty, not '; '"),
    "an empty end of a key": (
        {"call": CALL, "pair": ("<key>", "", "<value>", "</value>")},
        "the end of a key '' must have 1 to 128 bytes, not 0",
    ),
    "too long": ({"stops": ("é" * 65,)}, f"the stop {'é' * 65!r} must have 1 to 128 bytes, not 130"),
    "whitespace": (
        {"think": (" <think>", "</think>")},
        "the think opener ' <think>' begins with what separates markers",
    ),
    "a newline": (
        {"think": ("<think>", "\n</think>")},
        "the think closer '\\n</think>' begins with what separates markers",
    ),
    "a brace": ({"think": ("{think}", "</think>")}, "the think opener '{think}' begins with what separates markers"),
    "the same": (
        {"think": ("<think>", "<think>")},
        "the think opener '<think>' is the beginning of the think closer '<think>', or the same",
    ),
    "a stop twice": ({"stops": ("</s>", "</s>")}, "the stop '</s>' is the beginning of the stop '</s>', or the same"),
    "a beginning": (
        {"call": ("<call", ">", "</call>"), "section": ("<calls>", "</calls>")},
        "the call opener '<call' is the beginning of the section opener '<calls>', or the same",
    ),
    "a beginning of an alias": (
        {"think": (("<t>", "<think>"), "</t>"), "stops": ("<t",)},
        "the stop '<t' is the beginning of the think opener '<t>', or the same",
    ),
    "two ends of a key": (
        {"call": CALL, "pair": PAIR, "typed": {">": "json"}},
        "the end of a key '>' is the beginning of the end of a key '>', or the same",
    ),
    "bare": ({"call": CALL, "bare": "some"}, "bare is one of 'any', 'no', 'declared', not 'some'"),
    "name_as": ({"call": CALL, "name_as": "word"}, "name_as is one of 'plain', 'function', 'id', 'call', not 'word'"),
    "fenced": ({"call": CALL, "fenced": "x"}, "fenced is one of 'text', 'call', not 'x'"),
    "mention": ({"call": CALL, "mention": 1}, "mention is one of 'text', 'think', not 1"),
    "after_call": ({"call": CALL, "after_call": "text"}, "after_call is one of 'same', 'content', not 'text'"),
    "newlines": ({"call": CALL, "newlines": True}, "newlines is one of 'keep', 'strip', not True"),
    "untyped": ({"call": CALL, "untyped": "int"}, "untyped is one of 'string', 'json', not 'int'"),
    "a type": (
        {"call": CALL, "pair": PAIR, "typed": {'"i">': "integer"}},
        "typed maps ends of keys to 'string' or 'json', in a row with pair",
    ),
    "types of nothing": (
        {"call": CALL, "typed": {'"s">': "string"}},
        "typed maps ends of keys to 'string' or 'json', in a row with pair",
    ),
    "too many": ({"stops": tuple(f"<{i:03}>" for i in range(256))}, "has more than 255 markers, aliases included"),
}


@pytest.mark.parametrize(("fields", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_row_that_cannot_work_is_refused_with_the_reason(fields, reason):
    with pytest.raises(hs.errors.FormatError) as caught:
        hs.Parser(hs.Format("mine", **fields))
    assert str(caught.value).startswith("format 'mine'")
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [
        {"stops": "</s>"},
        {"turns": "</s>"},
        {"drop": "</s>"},
        {"keep": "</s>"},
        {"stops": 5},
        {"keep": 5},
        {"keep": (5,)},
        {"typed": None},
        {"bare": []},
        {"think": ((), "</think>")},
        {"empty_call": "/>"},
    ],
    ids=repr,
)
def test_wrong_shapes(fields):
    with pytest.raises(hs.errors.FormatError, match=f"format 'mine'.*{next(iter(fields))}"):
        hs.Parser(hs.Format("mine", **{"think": THINK, **fields}))


@pytest.mark.parametrize("name", ["", "seventeen letters", "ä", 7, None])
def test_names(name):
    with pytest.raises(hs.errors.FormatError, match=r"a format's name has 1 to 16 ASCII characters; .* has not"):
        hs.Parser(hs.Format(name, think=THINK))


def test_as_many_markers_as_there_may_be():
    row = hs.Format("mine", stops=tuple(f"<{i:03}>" for i in range(255)))
    assert [hs.parse(f"a{stop}", row).content for stop in row.stops] == ["a"] * 255


def test_as_many_control_ids_as_there_may_be_markers():
    """Some of the aliases are ids, the others are text: the two kinds of a role do not mix."""
    names = tuple(f"<{i:03}>" for i in range(254))
    row = hs.Format("mine", stops=names[:2], drop=names[2:], control=True)
    vocab = hs.vocab.from_bytes([bytes([i]) for i in range(256)], {name: 256 + i for i, name in enumerate(names[::2])})
    ids = [i for at, name in enumerate(names[2:], 2) for i in ((256 + at // 2,) if at % 2 == 0 else name.encode())]
    spelled = [byte for name in names[2::2] for byte in name.encode()]
    assert hs.parse([*ids, *b"a", *spelled, 256, *b"b"], row, vocab=vocab).content == "a" + "".join(names[2::2])


def test_a_name_and_a_key_may_end_alike():
    row = hs.Format("mine", call=("<c ", '">', "</c>"), pair=("<k ", '">', "", "</k>"), empty_call='"/>')
    assert [call.arguments for call in hs.parse('<c f"><k a">1</k></c><c f"/>', row).tool_calls] == ['{"a": "1"}', "{}"]


def test_markers_need_no_brackets():
    """Markers that begin with many bytes: there is no one byte to look for."""
    row = hs.Format("mine", think=("[THINK]", "/THINK"), call=("CALL ", ":", "END"), stops=("[END]", "EOS"))
    done = hs.parse("[THINK]Why [E/THINKSo. CALL f:{}ENDEO EOS", row)
    assert (done.reasoning, done.content, [call.arguments for call in done.tool_calls]) == (
        "Why [E",
        "So. \nEO ",
        ["{}"],
    )
    assert done.finish_reason == "tool_calls"


# --- among the ids ------------------------------------------------------------------------------------------------

ROW = hs.Format("mine", think=THINK, call=NAMELESS, control=True, stops=("<end>",), turns=("<turn>",), keep=("<keep>",))
WORDS = hs.Format("words", think=THINK, call=NAMELESS, stops=("<end>",), turns=("<turn>",), keep=("<keep>",))


def parsed(row: hs.Format, tokens: Any, control: dict[str, int], output: list[int | str]) -> tuple[Any, ...]:
    """`output`: ids, and text to be spelled letter by letter."""
    vocab = hs.vocab.from_bytes(tokens, control)
    ids = [tid for piece in output for tid in ([piece] if isinstance(piece, int) else piece.encode())]
    done = hs.parse(ids, row, vocab=vocab)
    calls = [call.name for call in done.tool_calls]
    return done.reasoning, done.content, calls, [code for code, _ in done.deviations]


def test_control_markers_are_found_by_name():
    control = {"<think>": 300, "</think>": 301, "<end>": 302}
    output = [300, "Hm <think></think><end>", 301, "Hi<end>", 302]
    assert parsed(ROW, LETTERS, control, output) == ("Hm <think></think><end>", "Hi<end>", [], [])


def test_control_markers_are_found_by_their_bytes():
    """Added tokens that are not special, as most tokenizers have them."""
    output = [256, "Hm</think>", 257, "Hi", 258]
    assert parsed(ROW, [*LETTERS, b"<think>", b"</think>", b"<end>"], {}, output) == ("Hm</think>", "Hi", [], [])


def test_control_markers_that_are_lacking_are_matched_in_the_text():
    assert parsed(ROW, LETTERS, {"<think>": 300}, [300, "Hm</think>Hi<call>f</call>"]) == ("Hm", "Hi", ["f"], [])
    assert parsed(ROW, LETTERS, {}, ["<think>Hm</think>Hi<end>"]) == ("Hm", "Hi", [], [])


def test_a_name_counts_before_bytes():
    tokens = [*LETTERS, b"<end>"]
    assert parsed(ROW, tokens, {"<end>": 300}, ["Hi", 256, "!", 300]) == ("", "Hi<end>!", [], [])
    assert parsed(ROW, tokens, {"<other>": 300}, ["Hi", 256]) == ("", "Hi", [], [])


def test_text_markers_count_in_every_spelling():
    """A control id whose name is a marker, a piece of one, or kept, stands for its letters."""
    control = {"<think>": 300, "ink>": 301, "<keep>": 302, "<other>": 303}
    output = [300, "Hm</th", 301, "Hi", 302, "\n<th", 301, "so", 303]
    assert parsed(WORDS, LETTERS, control, output) == ("Hm\nso", "Hi<keep>", [], ["stray-control"])


def test_stops_and_turns_are_control_tokens_in_every_row():
    control = {"<end>": 300, "<turn>": 301}
    assert parsed(WORDS, LETTERS, control, ["<end>", 301, "<turn>", 300]) == ("", "<end><turn>", [], ["stray-control"])


def test_a_hundred_tokens_of_the_same_bytes():
    tokens = [*LETTERS, *[b"<think>"] * 100]
    vocab = hs.vocab.from_bytes(tokens, {})
    assert repr(Row(ROW, vocab)).startswith("<harmonystream._native.tags.tag_table.Row object")
    assert parsed(ROW, tokens, {}, [256, "Hm"])[:2] == ("Hm", "")
