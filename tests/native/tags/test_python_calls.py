"""Calls as Python writes them (docs/tags.md, 5)."""

from __future__ import annotations

import ast
import json
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tag_cases import read
from tag_streams import Options

import harmonystream as hs

START, END = "<|tool_call_start|>", "<|tool_call_end|>"


def arguments(inside, codes=(), **options):
    """Of the only call, with what is between its brackets."""
    reasoning, content, calls, noted = read("lfm2", f"{START}[f({inside})]{END}", **options)
    assert (reasoning, content, noted) == ("", "", list(codes))
    ((name, text),) = calls
    assert name == "f"
    return json.loads(text)


# --- literals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("python", "value"),
    [
        *(("1_000", "1000"), (".5", "0.5"), ("1.", "1.0"), ("1.e5", "1.0e5"), ("+1", "1"), ("-.5e-3", "-0.5e-3")),
        *(("0x1F", "31"), ("0X_ff", "255"), ("-0o17", "-15"), ("0b1_01", "5"), ("0xffffffffffffffff", str(2**64 - 1))),
        *(
            ("1E+05", "1e+05"),
            ("0", "0"),
            ("-0", "-0"),
            ("0.0", "0.0"),
            ("007", "7"),
            ("00", "0"),
            ("-0_7.50", "-7.50"),
            ("9" * 256, "9" * 256),
        ),
        *(("True", "true"), ("False", "false"), ("None", "null"), ("true", "true"), ("null", "null")),
    ],
)
def test_numbers_and_words(python, value):
    for where, before, after in ((python, "", ""), (f"[{python} ]", "[", "]")):
        text = read("lfm2", f"{START}[f(a={where})]{END}")[2][0][1]
        assert text == f'{{"a": {before}{value}{after}}}'


@pytest.mark.parametrize(
    "text",
    [
        *("1__0", "_1", "1_", "1j", "0x", "0xg", "0b2", "0x1_", "0x10000000000000000", "1e", ".", "-", "--1"),
        *("nan", "Truest", "x", "x.y", "datetime.now()", "1 + 2", "a if b else c", "9" * 257, "lambda x: x"),
    ],
)
def test_what_is_no_literal_is_a_string_of_its_text(text):
    assert arguments(f"a={text}, b=1", ["call-syntax"]) == {"a": text, "b": 1}
    assert arguments(f"a={text}  ", ["call-syntax"]) == {"a": text}
    assert arguments(f"a=[{text}]", ["call-syntax"]) == {"a": [text]}


keys = st.text(max_size=60)  # a string ends before a key that the look-ahead sees whole, escapes and all
literals = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner),
    max_leaves=10,
)


@given(st.dictionaries(st.from_regex(r"[a-zA-Z_]\w{0,5}", fullmatch=True), literals), st.booleans(), st.booleans())
def test_a_literal_is_what_python_reads(values, tuples, ascii_only):
    """As repr() writes it, and as JSON's writer does, which Python reads, too, but for its words."""

    def spelled(value):
        if isinstance(value, str) and ascii_only:
            return ascii(value)
        if isinstance(value, list):
            items = ", ".join(map(spelled, value))
            return f"({items},)" if tuples and value else f"[{items}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{spelled(key)}: {spelled(item)}" for key, item in value.items()) + "}"
        return repr(value)

    expected = json.loads(json.dumps(values))
    inside = ", ".join(f"{key}={spelled(value)}" for key, value in values.items())
    assert arguments(inside) == expected
    assert arguments(",\n".join(f"{key} = {json.dumps(value)}" for key, value in values.items())) == expected


ESCAPES = st.lists(
    st.sampled_from(["\\", "n", "'", "x4", "1", "01", "u00e9", "U0001F600", "N", "d", "\n", "é", " "])
).map("".join)


@given(ESCAPES, st.sampled_from(["", "r"]))
def test_escapes_are_those_of_python(text, prefix):
    """Where Python reads the string. A quote that nothing may follow ends no string."""
    source = f'{prefix}"{text}"'
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(source)
    except (SyntaxError, ValueError):
        return
    assert arguments(f"a={source}") == {"a": value}


def test_half_a_character_and_two_halves():
    assert arguments(r"a='\ud83d\ude00\ud83d!\ude00'") == {"a": "😀\ufffd!\ufffd"}


@pytest.mark.parametrize("text", [r"\N{DASH}", r"\d\w", r"\x4", r"\u12", r"\U00110000", r"\/"])
def test_other_escapes_stay(text):
    assert arguments(f"a='{text}'") == {"a": text}


def test_strings_of_every_kind():
    assert arguments("""a='''x\n"y" 'z' ''', b="", c='', d=''''''""") == {
        "a": "x\n\"y\" 'z' ",
        "b": "",
        "c": "",
        "d": "",
    }
    assert arguments(r"""a=r"\d\"", b=R'\\'""") == {"a": '\\d\\"', "b": "\\\\"}
    assert arguments("a='x' \n\"y\" '''z'''") == {"a": "xyz"}
    assert arguments("a=b'x', b=f'{y}'", ["call-syntax"] * 2) == {"a": "x", "b": "{y}"}


# --- repairs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["it's", "a 'b' c", "x['y'] = 1", "a''b", "a'}b", "a']b", "'a'"])
def test_a_quote_in_a_string(text):
    assert arguments(f"a='{text}'", ["call-syntax"] * text.count("'")) == {"a": text}


def test_arguments_without_names():
    assert arguments("'x', 5, [2], b=1", ["call-syntax"] * 3) == {"0": "x", "1": 5, "2": [2], "b": 1}
    assert arguments("*args, **more", ["call-syntax"] * 4) == {"0": "*args", "1": "**more"}
    assert arguments("x == 1", ["call-syntax"] * 2) == {"0": "x == 1"}
    assert arguments("k" * 257 + "=1", ["call-syntax"] * 2) == {"0": "k" * 257 + "=1"}


def test_the_only_parameter_of_a_tool_needs_no_name():
    def tool(*names):
        return {"name": "f", "parameters": {"properties": {name: {"type": "string"} for name in names}}}

    assert arguments("'x'", ["call-syntax"], tools=[tool("city")]) == {"city": "x"}
    assert arguments("'x', y=1", ["call-syntax"], tools=[tool("city")]) == {"city": "x", "y": 1}
    assert arguments("'f('x', 'y')'", ["call-syntax"] * 5, tools=[tool("city")]) == {"city": "f('x', 'y')"}
    assert arguments("{'town': 'x'}", ["call-syntax"], tools=[tool("city")]) == {"0": {"town": "x"}}
    assert arguments("'x'", ["call-syntax"], tools=[tool("city", "days")]) == {"0": "x"}


@pytest.mark.parametrize(
    ("inside", "value", "codes"),
    [
        ("a={x: 1, None: 2}", {"a": {"x": 1, "null": 2}}, ["call-syntax"]),
        ("a=[1,,2,], , b=1,", {"a": [1, 2], "b": 1}, ["ignored-text"] * 2),
        ("a=[1, (2]", {"a": [1, [2]]}, ["call-syntax"]),
        ("a=[1], b={'c': [2}", {"a": [1], "b": {"c": [2]}}, ["call-syntax"]),
        ("a=[1, 2), b=3", {"a": [1, 2], "b": 3}, ["call-syntax"]),
        ("a=[1, 2}, b=3", {"a": [1, 2], "b": 3}, ["call-syntax"]),
        ("a=[{'x': [1, 2), b=3", {"a": [{"x": [1, 2]}], "b": 3}, ["call-syntax"] * 2),
        ("a=[1, (2, b=3", {"a": [1, [2]], "b": 3}, ["call-syntax"]),
        ("a={'x': 1, b=3", {"a": {"x": 1}, "b": 3}, ["call-syntax"]),
        ("a=[1]], b=2", {"a": [1], "b": 2}, ["ignored-text"]),
        ("a=1), b=2", {"a": 1, "b": 2}, ["ignored-text"]),
        ("(a=1, b=2", {"a": 1, "b": 2}, ["ignored-text"]),
        ("a=1 b=2", {"a": 1, "b": 2}, ["call-syntax"]),
        ("a=x y b=[2] c=3", {"a": "x y", "b": [2], "c": 3}, ["call-syntax"] * 3),
    ],
)
def test_repairs(inside, value, codes):
    assert arguments(inside, codes) == value


@pytest.mark.parametrize(
    ("inside", "value"),
    [
        ("a=", {"a": None}),
        ("a=, b=1", {"a": None, "b": 1}),
        ("a={'x': }", {"a": {"x": None}}),
        ("a=1], b=2", {"a": 1, "b": 2}),
        ("a=[[1, 2), 3], b=2", {"a": [[1, 2], 3], "b": 2}),
        ("a=1, g(b=2)", {"a": 1, "1": "g(b=2)"}),
        ("a=1) b", {"a": 1}),
    ],
)
def test_what_may_have_lost_something_is_not_complete(inside, value):
    (call,) = hs.parse(f"{START}[f({inside})]{END}", "lfm2").tool_calls
    assert (json.loads(call.arguments), call.complete) == (value, False)


def test_a_set_is_an_array():
    for text, value in {
        "{1}": [1],
        "{'a', \"b, c\"}": ["a", "b, c"],
        "{'it\\'s', 'b'}": ["it's", "b"],
        "{ None , {2}, {'k': {3}} }": [None, [2], {"k": [3]}],
        "[{1, 2}, {}, {1: 2}]": [[1, 2], {}, {"1": 2}],
        "{'" + "x" * 900 + "', 'y'}": ["x" * 900, "y"],
    }.items():
        assert arguments(f"a={text}, b=1") == {"a": value, "b": 1}


def test_the_members_of_an_object_may_be_the_arguments():
    tools = [{"name": "f", "parameters": {"properties": {name: {"type": "string"} for name in ("a", "b")}}}]
    both = {"a": "x", "b": {"c": ["y"]}}
    for inside in (
        "**{'a': 'x', 'b': {'c': ['y']}}",
        "a='x', ** {\"b\": {'c': {'y'}}, }",
        "**{'a': 'x'}, b={'c': ('y',)}",
    ):
        assert arguments(inside) == arguments(inside, tools=tools) == both
    assert arguments("{'a': 'x', 'b': {'c': ['y']}}", ["wrapped-arguments"], tools=tools) == both
    assert arguments("{'a': 'x', 'b': 1}", ["call-syntax"]) == {"0": {"a": "x", "b": 1}}
    assert arguments("{'c': 1}", ["call-syntax"], tools=tools) == {"0": {"c": 1}}
    assert arguments("**{}, **{}") == {}


def test_a_value_without_its_colon_is_not_complete():
    for inside in ("a={'it's', 'b'}", "a={'b': 1, 'c'}", "**{'a': 1, 'b'}"):
        parser = hs.Parser("lfm2")
        ends = [e for e in parser.feed_text(f"{START}[f({inside})]{END}") if isinstance(e, hs.ToolCallEnd)]
        assert [end.complete for end in ends] == [False]


def test_what_is_not_read_is_not_complete():
    _, _, calls, codes = read("lfm2", f"{START}[f(a=[1][0], b=2)]{END}")
    assert (calls, codes) == ([("f", '{"a": [1], "b": 2}', "cut")], ["ignored-text"])


def test_nesting_is_bounded():
    for depth, codes in ((31, []), (32, ["call-syntax"]), (5000, ["call-syntax"])):
        value = arguments("a=" + "[" * depth + "]" * depth, codes)["a"]
        for _ in range(30):
            (value,) = value
        assert value == ([] if depth == 31 else ["[" * (depth - 31) + "]" * (depth - 31)])


def test_strict_mode_refuses_what_is_repaired():
    parser = hs.Parser("lfm2", strict=True)
    with pytest.raises(hs.errors.ParseError, match="call-syntax"):
        parser.feed_text(f"{START}[f(a=x)]")


# --- around calls ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["f", "get-it", "a.b.c", "日本"])
def test_names(name):
    for inside in (f"[{name}(a=1)]", f"{name}(a=1)", f"[ {name}(a=1)]\n"):
        assert read("lfm2", f"{START}{inside}{END}")[2] == [(name, '{"a": 1}')]


@pytest.mark.parametrize("inside", ["(a=1)", "[(a=1)]", "two words(a=1)", "f\n(a=1)", "f", "[f]", "x" * 257 + "()"])
def test_what_is_no_call_is_text(inside):
    said = f"{START}{inside}{END}"
    assert read("lfm2", said) == ("", said, [], [])


def test_objects_are_read_too_where_the_row_is_wrapped():
    call = '{"name": "f", "arguments": {"a": 1}}'
    for inside in (call, f"[{call}]"):
        assert read("lfm2", f"{START}{inside}{END}")[2] == [("f", '{"a": 1}')]
        assert read("olmo3", f"<function_calls>{inside}</function_calls>")[2] == []
    assert read("pythonic", '{"name": "f", "parameters": {"a": 1}}', tools=["f"])[2] == [("f", '{"a": 1}')]


def test_calls_after_each_other():
    both = [("f", '{"a": 1}'), ("g", "{}")]
    for inside in ("[f(a=1), g()]", "f(a=1)\ng()", "f(a=1) g()", "[f(a=1)g(),]"):
        assert read("lfm2", f"{START}{inside}{END} Hi") == ("", " Hi", both, [])
    assert read("pythonic", "[f(a=1)]\n\nNow g(x)") == ("", "Now g(x)", both[:1], [])
    assert read("pythonic", "[f(a=1)] and") == ("", "and", both[:1], [])
    assert read("lfm2", f"{START}[f(a=1), g") == ("", "g", both[:1], ["unfinished-header"])
    assert read("lfm2", f"Hi.{START}[]{END}") == ("", "Hi.", [], ["abandoned-header"])


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("f(a=1", '{"a": 1}'),
        ("f(a=[1, {'b': 'c'", '{"a": [1, {"b": "c"}]}'),
        ("f(a=x + y", '{"a": "x + y"}'),
        ("f(", "{}"),
    ],
)
def test_the_closer_ends_what_is_open(inside, text):
    _, content, calls, codes = read("lfm2", f"{START}[{inside}{END}")
    assert (content, calls) == ("", [("f", text)])
    assert "missing-closer" in codes


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("f(a=[1, {'b'", '{"a": [1, {"b": null}]}'),
        ("f(a=", '{"a": null}'),
        ("f(a=g(1, b=2)", '{"a": "g(1, b=2)"}'),
    ],
)
def test_what_is_open_without_its_value_or_end_is_not_complete(inside, text):
    (call,) = hs.parse(f"{START}[{inside}{END}", "lfm2").tool_calls
    assert (call.arguments, call.complete) == (text, False)


@pytest.mark.parametrize("finish", ["stop", "length", None])
def test_a_call_that_is_cut(finish):
    whole = f"{START}[f(ab=[1, 'x'], c=10)"
    full = '{"ab": [1, "x"], "c": 10}'
    for size in range(len(START) + 3, len(whole)):
        ((name, text, *cut),) = read("lfm2", whole[:size], finish=finish)[2]
        assert name == "f" and (full.startswith(text) or text in ('{"ab": [1, "x"]}', "{}"))
        assert bool(cut) == (not text.endswith("}"))


def test_strings_stream():
    parser = hs.Parser("lfm2")
    parser.feed_text(f"{START}[f(a=")
    told = [["".join(e.arguments for e in parser.feed_text(c)), c] for c in "'a\\n\"é'"]
    assert told == [['{"a": ', "'"], ['"a', "a"], ["", "\\"], ["\\n", "n"], ['\\"', '"'], ["é", "é"], ["", "'"]]
    assert [event.arguments for event in parser.feed_text(", b=1") if type(event) is hs.ToolCallDelta] == ['", "b": ']


def test_watched_strings():
    parser = hs.Parser("lfm2", watch=[("f", "a")])
    events = parser.feed_text(f"{START}[f(b='no', a='x\\ty')]{END}")
    assert "".join(event.text for event in events if type(event) is hs.ValueDelta) == "x\ty"


def test_the_shortcut_is_what_the_machine_does():
    """Plain tokens of a string with double quotes."""
    options = Options("lfm2")
    tokens = {i: bytes([i]) for i in range(256)} | {256: b" plain", 257: b"it's", 258: b'a"', 259: b"\n"}
    vocab = hs.vocab.from_bytes(tokens, {"<|im_end|>": 300})
    for quote in (b'"', b"'"):
        ids = [*f"{START}[f(a=".encode(), *quote, 256, 256, 257, 256, 259, 256, *quote, *f")]{END}".encode()]
        whole, single = options.parser(vocab), options.parser(vocab)
        events = [event for tid in ids for event in single.feed(tid)] + [*single.finish()]
        text = "".join(event.arguments for event in events if type(event) is hs.ToolCallDelta)
        assert json.loads(text) == {"a": " plain plainit's plain\n plain"}
        merged = "".join(e.arguments for e in (*whole.feed(ids), *whole.finish()) if type(e) is hs.ToolCallDelta)
        assert merged == text


def test_many_arguments_without_names():
    (call,) = hs.parse(f"{START}[f({','.join('0' * 66_000)})]{END}", "lfm2").tool_calls
    assert list(json.loads(call.arguments)) == [str(number) for number in range(65_536)]


@pytest.mark.parametrize("after", ["", " ", "\n"])
def test_a_missing_bracket_after_a_string(after):
    for inside in ('f(s="x"', 'f(s="a]b"', "g(), f(s='x'"):
        calls, noted = read("lfm2", f"{START}[{inside}{after}]{after}{END}Hi")[2:]
        assert [json.loads(text) for name, text in calls if name == "f"] == [{"s": inside.split("=")[1][1:-1]}]
        assert noted == ["ignored-text", "missing-closer"]


# --- blanks before the bracket ----------------------------------------------------------------------------------------

F, SEARCH = {"name": "f"}, {"name": "search"}


@pytest.mark.parametrize("tools", [None, [F, SEARCH]], ids=["unknown", "declared"])
@pytest.mark.parametrize("blank", ["", " ", "\t "])
def test_blanks_before_the_bracket_of_a_call(tools, blank):
    """A call after another one that is not in an array is not joined to it."""
    calls = f'f{blank}(s = "x")\nsearch{blank}(q="y")'
    for row, text in (
        ("olmo3", f"<function_calls>{calls}</function_calls>"),
        ("lfm2", f"{START}[{calls.replace(chr(10), ', ')}]{END}"),
        ("pythonic", f"[{calls.replace(chr(10), ', ')}]"),
        ("gemma4", f'<|tool_call>call:f{blank}{{s:"x"}}call:search{blank}{{q:"y"}}<tool_call|>'),
    ):
        done = hs.parse(text, row, tools=tools)
        found = [(call.name, call.arguments, call.complete) for call in done.tool_calls]
        assert found == [("f", '{"s": "x"}', True), ("search", '{"q": "y"}', True)], text
        assert (done.content, done.deviations) == ("", ())


@pytest.mark.parametrize("text", ["[f (once) is a call]", "[f (x", "[f x (a=1)]", "[f\n(a=1)]"])
def test_a_sentence_in_brackets_is_text(text):
    assert hs.parse(text, "pythonic", tools=[F]).content == text
