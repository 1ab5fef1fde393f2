"""Random streams of the tag formats: markers, parts of them, values of every type, quotations, stray bytes and ids."""

from __future__ import annotations

import json
from functools import cache

from hypothesis import strategies as st
from reference_tags import MAX_HOLD
from reference_tags_text import holds_objects, may_lack, opener_of, spellings_of
from tag_streams import TAG_FORMATS, VOCABULARIES, Options, tokens

from harmonystream.formats import Format, format_of

TOOLS = (None, None, (), ("f", "g"), ("f", "g", "get weather", "f2", "functio", "function"), ("f",))
FINISHES = (None, None, None, "stop", "length", "tool_calls", "abort")
STARTS = ("auto", "auto", "content", "reasoning", "answer")
NAMES = (
    *("f", "f", "g", "unknown", "get weather", "functions.f:0", "functions.g:12", "call_7", "3", "function", "f2"),
    *("functions_f_2", "functionsg5"),
    " f ",
)
WORDS = (
    *(" ", "\n", "\n", "\n\n", "\t", "\r\n", " \n "),
    *("Hello", "x", " the end.", "日本", "é", "😀"),
    *("<", ">", "</", "/>", "<|", "｜", "[", "]", "{", "}", ",", ":", '"', "\\", "'"),
    *("null", "True", "false", "5", "-1.50", "1e3", "[1, 2]", '{"a": 1}', "{'a': True}", '"q"'),
    *("```", "```json\n", "\n```xml\n", "````", "`", "\\n"),
    *('{"name": "f", "arguments": {"i": 1}}', '{"name": "g"}', '"name": ', '"arguments": ', "[{", "}]", "}}"),
    *("f", "g", "function", "functions.f:0", "get weather", "use f here", "k=v"),
)
VALUES = {
    "s": ("hi", "", "\n", "null", "5", " x ", "a\nb", 'q"\\', "日本", "\x01\t", "</", "<x>", "a < b"),
    "i": ("+3", "07", "5.", ".0", "0x", "3", "-5", "5.0", "abc", " 7 ", "", "1e3", "null", "9" * 70),
    "n": ("1.50", "1e3", "x", "-0", "+5", ".5", "5.", "-.5", "+", ".", "007", "1_0", "0x1F", "5.e1"),
    "b": ("true", "True", "FALSE", "1", "0", "yes"),
    "o": ('{"a": 1}', "{'a': True, 'b': (1, None)}", "{}", "x", "[1]", '{"a": [1, {"b": "}"}]}'),
    "l": ("[1,2]", "['a']", "(1, 2)", "[", "[]", '[{\\"a\\": 1}]', "[\\n1]"),
    "u": ("null", "None", "3", "x"),
    "su": ("null", "NULL", "nul", "nullx", "None", "text", " " * 70, " null "),
    "sn": ("1.5", "1.5.", "tru", "true", "1e", "x" * 70, "-"),
    "so": ('{"a": 1}', "x", "{"),
    "any": ("5", "x", "null", "[1]", '"q"', "True"),
    "zzz": ("5", "x", "{}"),
    "arguments": ('{"i": 1}', " {'s': 'x'}\n", "{}", "{ }", "x", "{no", ' "x"'),
    "input": ('{"s": "a"}', "", "x"),
    "a<b>": ("x",),
    "s=create</parameter>": ("x",),
    " s ": ("k",),
    "k" * 256: ("long",),
    "k" * 257: ("too long",),
    "日": ("é",),
}
TYPE_WORDS = (
    *("string", "integer", "number", "boolean", "object", "array", "null", "any", "", " ", "Int32", "list[str]"),
    *("string[]", "dict<a,b>", "str[2]", "varchar(20)", " float ", "foo", "x<", "boolean" * 40, "in t", "é"),
)
IDS = ('"x"', '"x"', '"0"', '""', "1", '"\\u0031 "', "{}", '"' + "y" * 300 + '"')
CALL_IDS = ("a1B2c3D4e", "a1B2c3D4e", "0", "", " x ", "é", "a b", "get weather", '"x"', "y" * 256, "y" * 257)
THOUGHT_TAGS = (
    *("</thinking>", "</Think>", "<//think>", "< /thought >", "<\\/think>", "</thoughts>", "</REASONING>", "</thinks>"),
    *("<thinking>", "<Thought>", "</think >", "</" + " " * 25 + "think>", "</" + " " * 24 + "think>", "</thought"),
)
LONG = ("x" * 1100, " " * 1100, "\n" * 1030, "y" * 250)
PYTHON = (
    *("1", "-2", "1_000", ".5", "1.", "0x1F", "0b_1", "+1", "1e5", "007", "1j", "9" * 70, "9" * 300, "0" * 257),
    *("True", "None", "null", "nan", "x", "x.y", "a + b ", "g(1, 2)", "[i for i in x]", "not x", "-", "*args"),
    *('"x"', "'x'", '""', "''", '"""a\n"b" """', "'''c'''", '"a" "b"', "\"a\"\n'b'", '"a""b"', 'r"\\d\\""'),
    *('f"{x}"', "b'x'", "'it's'", '"say "hi" now"', '"a\\n\\t\\\\\\""', '"\\x41\\u00e9\\101\\7"'),
    *(
        '"\\ud83d\\ude00"',
        '"\\ud83d!"',
        '"\\N{DASH}"',
        '"\\U0001F600\\U00110000"',
        '"\\d\\x4\\u12"',
        '"\\\n."',
        '"日本é"',
    ),
    *('"', "'", '"""', "\\", '"</function_calls>"', "[1, 2]", "[]", "[1,,]", "[[], {}]", "(1,)", "(1)", "{}"),
    *("{'a': 1, \"b\": [True]}", "{1: 2, None: 3}", "{1, 2}", "{x: y}", "[1)", "{'a': [1}", "[1][0]", "{'a'}", "[1"),
    *("", " ", "[" * 40 + "]" * 40, "('x', )"),
)
OBJECT = (  # ~ is the row's own quote
    *("~x~", "~~", '~a "b" \\n~', "~it's~", "~日本é~", "~a~b~", "~a", "a~", "~</~", "~a\nb~", "~{}~", "~a~ ~b~"),
    *("1", "-1.5", "1e5", "007", "9" * 70, "true", "false", "null", "None", "nan", "x", "New York", "a, b", "f(1, 2)"),
    *('"x"', '"it\\"s"', "'x'", '"a ~ b"', "it's", ")", "(", "x)", "[1, ~a~]", "[]", "[1,,]", "{}", "[1", "{a:1"),
    *("{a:1,b c:[true,{d:~e~}]}", '{~a~:1, "b":2}', "{a}", "{a,b:1}", "{:1}", "{a:}", "{1_0:1}", "[~a~~b~]", "[1}"),
    *("", " ", "~" * 3, "{a:" * 40 + "1" + "}" * 40, '"""a"""', "r~a~"),
)
OBJECT_KEYS = (
    *("s:", "i :", "n: ", "any:", "é:", "k" * 256 + ":", "k" * 257 + ":", "a.b-c:", "$a/b:", "a b :", "k:" * 2, "", ""),
    *(
        "~s~:",
        "~a b~ :",
        "~~:",
        '"s":',
        "'a b':",
        '"a\\"b":',
        "~" + "k" * 256 + "~:",
        "~" + "k" * 257 + "~:",
        '"a~b":',
        ":",
    ),
)
FULL_WIDTH = b"\xef\xbd\x9c"


@cache
def markers(name: str) -> tuple[str, ...]:
    row = format_of(name)
    assert isinstance(row, Format)
    kinds = spellings_of(row)
    found = [one for some in kinds.values() for one in some] + [*row.keep]
    closers = [one for kind in ("call_close", "section_close", "value_close") for one in kinds.get(kind, ())]
    found += [f"{one[:-1]}_x>" for one in closers if one.endswith(">")]  # misspelt
    return tuple(dict.fromkeys([*found, "<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>"]))


def first(marker: str | tuple[str, ...]) -> str:
    return marker if isinstance(marker, str) else marker[0]


ATTRIBUTES = (
    *(' string="true"', " string='false' ", ' string="x"', ' type="integer"', " type=object", ' type="list[str]"'),
    *(' id="1"', " x = y", ' index="2" ', ' a="b<c>"', " x", ' y="', ' name="s"', " name=i", "\tn='q'", ' e=""', "/"),
)


@st.composite
def tag_parts(draw: st.DrawFn, row: Format, kind: str, name: str) -> list[str]:
    """The opener of a call or key, the name, and the end of it, in whatever order attributes have."""
    marker = row.call if kind == "call_open" else row.pair
    tag = opener_of(row, kind)
    assert marker
    if tag is None or draw(st.integers(0, 2)):
        return [first(marker[0]), name, first(marker[1])]
    stem = first(tag[0]).rpartition("=")[0]
    stem = stem.rpartition(" ")[0] or stem
    quote, blank = draw(st.sampled_from(['"', "'", ""])), draw(st.sampled_from(["", "", " ", "  "]))
    word = draw(st.sampled_from(["", " name", f" {tag[1]}", "  name"]))
    own = f"{word}{blank}={blank}{quote}{name}{quote}"
    others = draw(st.lists(st.sampled_from(ATTRIBUTES), max_size=2))
    parts = [stem, *draw(st.permutations([own, *others])), blank, tag[2].encode("latin-1").decode()]
    return damage(draw, parts)


@st.composite
def pairs(draw: st.DrawFn, row: Format) -> str:
    """One key with its value, mostly as it should be."""
    assert row.pair
    opener, end, value, closer = map(first, row.pair)
    key = draw(st.sampled_from(list(VALUES)))
    text = draw(st.sampled_from(VALUES[key]) | st.sampled_from([*WORDS, *markers(row.name)]))
    its_end = draw(st.sampled_from([end, end, *row.typed]))
    layout = draw(st.sampled_from(["\n", "", "\n"])) if row.newlines == "strip" else ""
    space = draw(st.sampled_from(["", "\n", " \n"]))
    parts = [
        *(draw(tag_parts(row, "key_open", key)) if its_end == end else [opener, key, its_end]),
        *draw(typed(row)),
        draw(st.sampled_from(["", "", "\n"])) if value else "",
        value,
    ]
    if row.cdata and draw(st.booleans()):
        inner = draw(st.lists(st.sampled_from([text, text, *WORDS, *markers(row.name)]), max_size=3))
        sections = [damage(draw, [first(row.cdata[0]), one, first(row.cdata[1])]) for one in inner]
        text = "".join(part for section in sections for part in section)
        parts += [draw(st.sampled_from(["", "", "\n", " "])), text, draw(st.sampled_from(["", "", "\n", " "]))]
        return "".join(damage(draw, [*parts, closer, space]))
    parts += [layout, text, layout, closer, space]
    return "".join(damage(draw, parts))


@st.composite
def typed(draw: st.DrawFn, row: Format) -> list[str]:
    """A type between its tags, or nothing."""
    if not row.value_type or draw(st.integers(0, 3)) == 0:
        return []
    word = draw(st.sampled_from(TYPE_WORDS))
    return damage(draw, [first(row.value_type[0]), word, first(row.value_type[1]), draw(st.sampled_from(["", "\n"]))])


PRINTED = (
    '{"s": True, "n": None}',
    '{"s": ~it\'s~, ~i~: -1.5e3}',
    '{"s": "a\\\'b\\n\\x41", "any": (1, ["x"],)}',
    '{"s": "</tool_call>", "oo": {"a": ~"~}}',
    '{"s": true}',
    '{"s": "x',
    "None",
    "~5~",
    "{}",
)
"""Arguments as Python prints them, in which ~ is a double quote, and the others become single ones."""


@st.composite
def objects(draw: st.DrawFn, row: Format) -> str:
    """A wrapped call, with the row's own keys or with others."""
    printed = draw(st.integers(0, 4)) == 0
    text = draw(members_of(row, printed))
    return text.replace('"', "'").replace("~", '"') if printed else text


@st.composite
def members_of(draw: st.DrawFn, row: Format, printed: bool) -> str:
    """The object of a wrapped call."""
    arguments = draw(
        st.sampled_from(
            [
                '{"i": 1}',
                '{"s": "</tool_call>"}',
                '{"s": "x}',
                '{"s": "</tool_call><tool_call>{',
                '{"s": "a\n</tool_call>',
                "null",
                '"{\\"i\\": 1}"',
                '"\\ud83d\\ude00\\x\\u12"',
                "5",
                "[1]",
                "{}",
                *PRINTED * printed,
            ]
        )
    )
    name = json.dumps(draw(st.sampled_from(NAMES)))
    if row.members == {"*": "call"}:
        return "{" + ", ".join(draw(st.lists(st.just(f"{name}: {arguments}"), min_size=1, max_size=2))) + "}"
    keys = {
        role: [key for key, says in row.members.items() if says == role]
        for role in ("name", "alias", "arguments", "id")
    }
    wrong = draw(st.integers(0, 9)) == 0
    key = draw(st.sampled_from(["arguments", "parameters"] if wrong else keys["arguments"]))
    other = draw(st.sampled_from([*keys["id"], "id", "type"]))
    rare = draw(st.integers(0, 9))  # another key for the name, or an inner object
    named = draw(st.sampled_from(keys["alias"])) if rare == 1 and keys["alias"] else keys["name"][0]
    members = [f'"{named}": {name}', f'"{key}": {arguments}', f'"{other}": {draw(st.sampled_from(IDS))}']
    members = draw(st.permutations(members))[: draw(st.integers(1, 3))]
    if rare == 2 and keys["alias"]:
        outer = [f'"{draw(st.sampled_from(keys["alias"]))}": {{{", ".join(members)}}}']
        outer += draw(st.sampled_from([[], ['"type": "function"'], ['"id": "x"'], [f'"tool": {name}'], ['"x": {}']]))
        members = draw(st.permutations(outer))
    return "{" + ", ".join(members) + "}"


@st.composite
def python_calls(draw: st.DrawFn) -> str:
    """A Python call, mostly as it should be."""
    name = draw(st.sampled_from(NAMES))
    keys = st.sampled_from(["s=", "i = ", "n=", "any=", "é=", "k" * 257 + "=", "a.b-c=", "", "", "x==", "**"])
    pieces = st.builds(str.__add__, keys, st.sampled_from(PYTHON))
    args = draw(st.sampled_from([", ", ", ", ",", ",\n  ", " "])).join(draw(st.lists(pieces, max_size=3)))
    return "".join(damage(draw, [name, "(", args, draw(st.sampled_from(["", "", "\n", ","])), ")"]))


@st.composite
def object_calls(draw: st.DrawFn, row: Format) -> str:
    """A call with an object, mostly as it should be."""
    name = draw(st.sampled_from(NAMES))
    pieces = st.builds(str.__add__, st.sampled_from(OBJECT_KEYS), st.sampled_from(OBJECT))
    args = draw(st.sampled_from([",", ",", ", ", ",\n  ", " "])).join(draw(st.lists(pieces, max_size=3)))
    word = draw(st.sampled_from(["call:", "call:", "call:", "", ":", "call: ", "call"]))
    parts = [word, name, "{", args, draw(st.sampled_from(["", "", "\n", ","])), "}"]
    return "".join(damage(draw, parts)).replace("~", first(row.quote))


ELEMENT_NAMES = (
    *(
        "s",
        "i",
        "n",
        "b",
        "oo",
        "oo",
        "ll",
        "ll",
        "item",
        "item",
        "o",
        "l",
        "any",
        "sn",
        "so",
        "zzz",
        " s ",
        "a b",
        "é",
    ),
    *("", "<", "k" * 255, "k" * 256, "a\nb", "/x", "invoke"),
)


@st.composite
def elements(draw: st.DrawFn, row: Format, depth: int = 0) -> str:
    """An element with a value or with others in it, mostly as it should be."""
    assert row.element
    opener, end, closer = map(first, row.element)
    name = draw(st.sampled_from(ELEMENT_NAMES))
    texts = VALUES.get(name, ("x", "5", "true", "", " ", "[1]", "{}", "a\nb"))
    if name in ("oo", "ll", "item", "o", "any", "invoke") and depth < 3 and draw(st.integers(0, 3)):
        inner = draw(st.lists(elements(row, depth + 1), max_size=3))
    else:
        inner = [draw(st.sampled_from([*texts, "x", "1"]) | st.sampled_from([*WORDS, *markers(row.name)]))]
    space = draw(st.sampled_from(["", "", "\n", " "]))
    wrong = draw(st.integers(0, 9)) == 0
    other = draw(st.sampled_from(ELEMENT_NAMES)) if wrong else name
    said = (
        [] if draw(st.integers(0, 2)) else [f" name={name}", *draw(st.lists(st.sampled_from(ATTRIBUTES), max_size=2))]
    )
    tag = draw(st.sampled_from(["parameter", "x y", name])) if said else name
    other = tag if said and not wrong else other
    said = damage(draw, list(draw(st.permutations(said)))) if said else []
    return "".join(damage(draw, [opener, tag, *said, end, space, *inner, closer, other, end, space]))


def damage(draw: st.DrawFn, parts: list[str]) -> list[str]:
    """Sometimes a part is missing, doubled or cut."""
    how = draw(st.sampled_from(["", "", "", "", "drop", "double", "cut"]))
    at = draw(st.integers(0, len(parts) - 1))
    changed = {"drop": "", "double": parts[at] * 2, "cut": parts[at][:-1]}.get(how, parts[at])
    return [*parts[:at], changed, *parts[at + 1 :]]


@st.composite
def calls(draw: st.DrawFn, row: Format) -> str:
    """A call with or without its section, mostly as it should be."""
    space = draw(st.sampled_from(["", "\n", "\n", " "]))
    section = [first(one) for one in row.section] if row.section else ["", ""]
    if row.section and any(map(may_lack, row.section)):
        section = [draw(st.sampled_from(one if isinstance(one, tuple) else (one,))) for one in row.section]
    if row.wrapped and draw(st.integers(0, 2)) == 0:
        tags = [first(row.call[0]), first(row.call[2])] if row.call else ["", ""]
        outer = section if row.section else tags
        inner = draw(st.lists(objects(row), min_size=1, max_size=2))
        body = inner[0] if len(inner) == 1 else "[" + ", ".join(inner) + "]"
        if len(inner) > 1 and draw(st.integers(0, 3)) == 0:
            body = draw(st.sampled_from([", ", ",", ",\n"])).join(inner)
        if draw(st.integers(0, 9)) == 0:
            body = "".join(f"[{one}]" for one in inner)
        if draw(st.integers(0, 9)) == 0:
            fence = draw(st.sampled_from(["```json\n{}\n```", "```{}```", "``` {}\n", "```json {} ``"]))
            body = fence.replace("{}", body)
        if holds_objects(row):
            bodies = draw(st.sampled_from([[body], inner, inner]))
            parts = [part for one in bodies for part in (tags[0], one, space, tags[1], space)]
            return "".join(damage(draw, [section[0], space, *parts, section[1]]))
        if row.between and draw(st.booleans()):
            body = f"{row.between} ".join(inner)
        return "".join(damage(draw, [outer[0], space, body, space, outer[1]]))
    if row.body != "json" and draw(st.integers(0, 4)):
        one = python_calls() if row.body == "python" else object_calls(row)
        inner = draw(st.lists(one, min_size=1, max_size=2))
        body = "[" + ", ".join(inner) + "]" if draw(st.booleans()) else draw(st.sampled_from("\n,;")).join(inner)
        return "".join(damage(draw, [section[0], space, body, space, section[1]]))
    if not row.call:
        return ""
    opener, end, closer = map(first, row.call)
    parts = [section[0], space]
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from(NAMES))
        id = [first(row.call_id), draw(st.sampled_from(CALL_IDS))] if row.call_id and draw(st.booleans()) else []
        if end and not id and draw(st.integers(0, 3)):
            parts += [*draw(tag_parts(row, "call_open", name)), space]
        else:
            parts += [opener, name, *id, end if end and draw(st.integers(0, 9)) else row.empty_call or end, space]
        if row.element:
            parts += draw(st.lists(elements(row), max_size=3))
        elif row.pair:
            parts += draw(st.lists(pairs(row), max_size=3))
            if draw(st.integers(0, 9)) == 0:  # a closer in place of a key's opener
                parts += [draw(st.sampled_from([closer, section[1]]))]
                parts += [draw(pairs(row)).removeprefix(first(row.pair[0]))]
        else:
            bodies = ['{"i": 1}', "{}", "", "5", "not json", '```json\n{"i": 1}\n```', '{"s": "```"}', '{"i": 1']
            bodies.append("f\n```json\n{}\n```")
            parts += [draw(st.sampled_from(bodies)), space]
        parts += [closer, space]
    return "".join(damage(draw, [*parts, section[1]]))


@st.composite
def lines(draw: st.DrawFn, row: Format) -> str:
    """What may begin a call without an opener, or before it, and a label after the opener of thoughts."""
    before = draw(st.sampled_from(["\n", "\n", "", "\n\n", "\n ", "```json\n", "```\n", "x\n"]))
    name, space = draw(st.sampled_from(NAMES)), draw(st.sampled_from(["", "", " ", "\n"]))
    kinds = [name]
    if row.wrapped and row.members != {"*": "call"}:
        one = draw(objects(row))
        kinds += [one, f"[{one}]", f"[{space}{one}"]
    if row.body == "python":
        kinds += [f"[{draw(python_calls())}]"]
    if row.call:
        ends = ["", "", first(row.call[1])]
        kinds += [f'{name}{space}{first(row.call[0])}{space}{draw(st.sampled_from(ends))}{{"i": 1}}'] * 2
        kinds += [f"{first(row.call[0])}{name}"]
    if row.think and row.think_label:
        opener = first(row.think[0])
        kinds = [f"{opener}{row.think_label}", f"{opener}{row.think_label}{space}x", f"{opener}{row.think_label}\nx"]
        kinds += [row.think_label, f"{opener}{space}{row.think_label}{first(row.think[1])}"]
    return before + draw(st.sampled_from(kinds)) + draw(st.sampled_from(["", "", "\n", " x"]))


@st.composite
def shown(draw: st.DrawFn, row: Format) -> str:
    """Markers of thoughts in inline code, or alone, and tags that are named after thoughts."""
    tags = [*(first(one) for one in row.think or ()), "</think>"]
    before, after = draw(
        st.sampled_from([("`", "`"), ("`", "`"), ("``", "``"), ("", "`"), ("", "```"), ("", ""), ('"', '"')])
    )
    tag = draw(st.sampled_from([*tags, *tags, *THOUGHT_TAGS]))
    rest = draw(st.sampled_from(["", " x ", "`y` ", " ``", "\n", "\n\n", "x" * 1030, "`"]))
    return f"{before}{tag}{after}{rest}"


@st.composite
def texts(draw: st.DrawFn, name: str) -> bytes:
    """A stream as text."""
    row = format_of(name)
    assert isinstance(row, Format)
    marks = st.sampled_from(markers(name))
    partial = st.builds(lambda mark, size: mark[: max(1, size % len(mark))], marks, st.integers(1, 40))
    piece = st.one_of(
        marks.map(str.encode),
        marks.map(str.encode),
        partial.map(str.encode),
        st.sampled_from(WORDS).map(str.encode),
        st.sampled_from(WORDS).map(str.encode),
        calls(row).map(str.encode),
        calls(row).map(str.encode),
        lines(row).map(str.encode),
        shown(row).map(str.encode),
        st.sampled_from([*WORDS, *LONG]).map(str.encode),
        st.sampled_from([b"\xe6", b"\x97\xa5", b"\xf0\x9f", b"\xff", b"\x80", FULL_WIDTH[:2]]),
    )
    return b"".join(draw(st.lists(piece, max_size=10)))


@st.composite
def options(draw: st.DrawFn, name: str | None = None) -> Options:
    return Options(
        format=name or draw(st.sampled_from(TAG_FORMATS)),
        tools=draw(st.sampled_from(TOOLS)),
        typed=draw(st.sampled_from([True, True, False])),
        start=draw(st.sampled_from(STARTS)),
        trim=draw(st.sampled_from(["seams", "seams", "seams", "none"])),
        finish=draw(st.sampled_from(FINISHES)),
        empty_args=draw(st.sampled_from(["{}", "{}", "{}", ""])),
        max_hold=draw(st.sampled_from([MAX_HOLD, MAX_HOLD, MAX_HOLD, 1024, 1100])),
    )


@st.composite
def id_streams(draw: st.DrawFn, name: str, vocabulary: str) -> list[int]:
    """Texts in tokens of any cut, markers quoted in ordinary tokens, inert and unknown ids."""
    some = tokens(name, vocabulary)
    inert, unknown = some.names["<|pad|>"], 5000
    piece = st.one_of(
        st.builds(lambda data, greedy: some.encode(data, greedy), texts(name), st.booleans()),
        st.sampled_from(markers(name)).map(lambda mark: some.encode(mark.encode(), spelled=True)),
        st.sampled_from([*some.names.values(), *some.table.values()]).map(lambda tid: [tid]),
        st.sampled_from([[inert], [unknown]]),
    )
    return [tid for part in draw(st.lists(piece, max_size=5)) for tid in part]


vocabularies = st.sampled_from(VOCABULARIES)
