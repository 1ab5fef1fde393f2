"""Looking ahead: does a marker count? (docs/tags.md, 2 to 6)"""

from __future__ import annotations

import pytest
from tag_cases import ids, read

Q = "qwen3_coder"
SEE = 1024  # bytes that a look-ahead sees


def text(*args, **options):
    """What is left is this text alone."""
    reasoning, content, calls, codes = read(*args, **options)
    assert (reasoning, calls, codes) == ("", [], [])
    return content


# --- stops --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "after", ["", "\n", " \t\r\n", "<|im_end|>", "\n<|endoftext|>", " <|im_start|>", "<|im_start|>user"]
)
def test_a_stop_counts_at_the_end_or_before_another(after):
    codes = ["after-end"] if after else []
    assert read("hermes", "Hi<|im_end|>" + after) == ("", "Hi", [], codes)


@pytest.mark.parametrize("after", ["!", " and so on", "\n\n<thin", "<|im_end", "<|im_en<|im_end|>"])
def test_before_anything_else_it_is_text(after):
    quoted = f"Qwen writes <|im_end|>{after}"
    assert text("hermes", quoted + "?") == quoted + "?"


def test_a_stop_sees_so_far_and_no_further():
    spaces = " " * (SEE - len("<|im_end|>"))
    assert read("hermes", "<|im_end|>" + spaces[1:]) == ("", "", [], ["after-end"])
    assert text("hermes", "<|im_end|>" + spaces) == "<|im_end|>" + spaces
    assert text("hermes", "<|im_end|>" + spaces[9:] + "<|im_end|>") == "<|im_end|>" + spaces[9:]


# --- names --------------------------------------------------------------------------------------------------------

GOOD = ["f", "a.b-c_d", "名前", "f" * 256, "1", "x/y", "a:b"]
BAD = [
    "",
    " ",
    "two words",
    "a<b",
    "a{b",
    'a"b',
    "a'b",
    "a(b)",
    "a=b",
    "a,b",
    "a;b",
    "a`b",
    "a[0]",
    "f\x00",
    "f\x7f",
    "f" * 257,
]


@pytest.mark.parametrize("name", GOOD)
def test_good_names(name):
    want = ("", "", [(name, "{}")], [])
    assert read(Q, f"<tool_call>\n<function={name}>\n</function>\n</tool_call>") == want
    assert read(Q, f"<tool_call><function= {name}\n></function></tool_call>") == want
    pair = "<arg_key>k</arg_key><arg_value>1</arg_value>"
    assert read("glm", f"<tool_call>{name}\n{pair}</tool_call>") == ("", "", [(name, '{"k": 1}')], [])


@pytest.mark.parametrize("name", BAD)
def test_bad_names(name):
    call = f"<tool_call><function={name}></function></tool_call>"
    assert text(Q, call) == call


def test_a_name_with_spaces_counts_if_it_is_declared():
    call = "<tool_call>\n<function=two words>\n</function>\n</tool_call>"
    assert read(Q, call, tools=["two words", "f"]) == ("", "", [("two words", "{}")], [])
    assert text(Q, call, tools=["two  words"]) == call


def test_a_name_that_another_marker_ends():
    begin, call, end = "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
    good = f"{call}g<｜tool▁sep｜>{{}}{end}<｜tool▁calls▁end｜>"
    assert read("deepseek", f"Hi{begin}{call}f{begin}{good}") == ("", "Hi", [("g", "{}")], ["abandoned-header"])
    assert read("deepseek", f"Hi{begin}{call}{begin}{good}") == ("", "Hi", [("g", "{}")], ["abandoned-header"])
    assert text("deepseek", f"{begin}{call}a b{end}") == f"{begin}{call}a b{end}"


def test_a_name_without_an_end_of_its_own():
    assert read("glm", '<tool_call>f{"a": 1}</tool_call>') == ("", "", [("f", '{"a": 1}')], ["other-body"])
    assert read("glm", "<tool_call>fs</arg_key><arg_value>x</arg_value></tool_call>") == (
        *("", "", [("f", '{"s": "x"}')], ["missing-opener"]),
    )
    assert text("glm", "<tool_call>xs</arg_key>") == "<tool_call>xs</arg_key>"
    assert text("glm", "<tool_call>f</arg_key>") == "<tool_call>f</arg_key>"


def test_the_longest_declared_name_is_split_off():
    call = "<tool_call>getcity</arg_key><arg_value>x</arg_value></tool_call>"
    assert read("glm", call, tools=["g", "get"])[2] == [("get", '{"city": "x"}')]


# --- headers ------------------------------------------------------------------------------------------------------


def test_openers_may_be_repeated_but_not_without_end():
    call = '{"name": "f"}</tool_call>'
    assert read("hermes", "<tool_call> " * 2 + call) == ("", "", [("f", "{}")], ["repeated-opener"])
    assert read("hermes", "<tool_call>" * 8 + call) == ("", "", [("f", "{}")], ["repeated-opener"])
    assert read("hermes", "<tool_call>" * 9 + call)[:3] == ("", "<tool_call>", [("f", "{}")])


def test_a_header_sees_so_far_and_no_further():
    spaces = " " * (SEE - len("<tool_call>") - len("f</tool_call>"))
    assert read("glm", f"<tool_call>{spaces}f</tool_call>") == ("", "", [("f", "{}")], [])
    call = f"<tool_call> {spaces}f</tool_call>"
    assert text("glm", call) == call


@pytest.mark.parametrize("rest", ["", " ", "Hi", "<|im_end|>", "<thing>", "[1]", "[]", "{}", '{"name": 5}'])
def test_an_opener_in_a_sentence_is_text_and_so_is_its_closer(rest):
    said = f"Write <tool_call>{rest or '…'}</tool_call>, then wait."
    assert text("hermes", said) == said


def test_a_header_that_the_stream_ends_in():
    for rest in ("", "\n", "<function="):
        assert read("hermes", f"Hi\n<tool_call>{rest}") == ("", "Hi", [], ["unfinished-header"])
    for rest in ("<func", '{"na', '{"name": "f'):
        said = f"Hi\n<tool_call>{rest}"
        assert read("hermes", said) == ("", said, [], ["unfinished-header"])
    assert text("hermes", "Hi\n<tool_cal") == "Hi\n<tool_cal"


# --- calls outside of a section -----------------------------------------------------------------------------------

BARE = "<function=f>\n<parameter=s>x</parameter>\n</function>"
READ = [("f", '{"s": "x"}')]


def test_a_bare_call_counts_if_it_is_declared():
    assert read(Q, f"So {BARE}.") == ("", "So \n.", READ, ["missing-opener"])
    assert text(Q, f"So {BARE}.", tools=["g"]) == f"So {BARE}."
    assert text("hermes", f"So {BARE}.") == f"So {BARE}."


def test_a_bare_call_counts_at_the_start_of_a_line_if_the_tools_are_unknown():
    assert read(Q, BARE, tools=None) == ("", "", READ, ["missing-opener"])
    assert read(Q, f"So\n{BARE}", tools=None) == ("", "So", READ, ["missing-opener"])
    assert read(Q, f"<think>So</think>{BARE}", tools=None) == ("So", "", READ, ["missing-opener"])
    assert text(Q, f"So {BARE}", tools=None) == f"So {BARE}"


def test_a_bare_call_needs_what_calls_have():
    for rest in ("...", "x</parameter>", "<parameters>"):
        assert text(Q, f"<function=f>{rest}") == f"<function=f>{rest}"
    assert read(Q, "<function=f>") == ("", "", [("f", "", "cut")], ["missing-opener"])


# --- values -------------------------------------------------------------------------------------------------------

PAIR = "<tool_call><function=f><parameter=s>{}</parameter></function></tool_call>"
GLM = "<tool_call>f<arg_key>s</arg_key><arg_value>{}</arg_value></tool_call>"


@pytest.mark.parametrize(
    "value",
    [
        "</parameter> is a tag",
        "</parameter",
        "</parameters>",
        "</parameter<",
        "</parameter\n>",
        "</function>, then",
        "</function></tool_call>, then",
        "<parameter=i>",
        "<|im_end|>, then",
        "</tool_call> then",
        "</parameter" + "s" * 17 + ">",
        "<think>no</think>",
    ],
)
def test_markers_in_a_value_are_text(value):
    escaped = value.replace("\n", "\\n")
    assert read(Q, PAIR.format(value)) == ("", "", [("f", f'{{"s": "{escaped}"}}')], [])


@pytest.mark.parametrize("closer", ["</parameter1>", "</parameters>", "</parameter" + "s" * 16 + ">", "</parameter >"])
@pytest.mark.parametrize("after", ["<parameter=i>5</parameter></function>", "</function>", "\n\n</function>"])
def test_misspelt_closers_of_a_value(closer, after):
    arguments = '{"s": "x", "i": 5}' if "=i" in after else '{"s": "x"}'
    call = f"<tool_call><function=f><parameter=s>x{closer}{after}</tool_call>"
    assert read(Q, call) == ("", "", [("f", arguments)], ["misspelt-closer"])


@pytest.mark.parametrize("end", ["</function></tool_call>", "</function>", "</tool_call>", "</function>\n<|im_end|>"])
def test_what_implies_the_end_of_a_value(end):
    reasoning, content, calls, codes = read(Q, f"<tool_call><function=f><parameter=s>x{end}")
    assert (reasoning, content, calls) == ("", "", [("f", '{"s": "x"}')])
    assert set(codes) == {"missing-closer"}


def test_a_key_at_the_start_of_a_line_ends_the_value_before_it():
    call = "<tool_call><function=f><parameter=s>x\n<parameter=i>5</parameter></function></tool_call>"
    assert read(Q, call) == ("", "", [("f", '{"s": "x", "i": 5}')], ["missing-closer"])


@pytest.mark.parametrize("key", ["k", "a key", "k" * 256, "名前", " k ", "a<b", "a>b", "List<int>", "</b>"])
def test_good_keys(key):
    assert read("glm", GLM.replace("<arg_key>s", f"<arg_key>{key}").format("x"))[2:] == (
        [("f", f'{{"{key.strip()}": "x"}}')],
        [],
    )


@pytest.mark.parametrize("key", ["", " ", "a\nb", "a</arg_value>", "k" * 257])
def test_bad_keys_are_noise(key):
    calls, codes = read("glm", GLM.replace("<arg_key>s", f"<arg_key>{key}").format("x"))[2:]
    assert (calls, codes) == ([("f", "", "cut")], ["ignored-text"])


def test_a_key_without_the_value_s_opener():
    assert read("glm", "<tool_call>f<arg_key>s</arg_key>x</arg_value></tool_call>")[2:] == (
        [("f", '{"s": "x"}')],
        ["missing-opener"],
    )
    assert read("glm", "<tool_call>f<arg_key>s<arg_value>x</arg_value></tool_call>")[2:] == (
        [("f", '{"s": "x"}')],
        ["missing-opener"],
    )


def test_control_markers_always_count():
    marker = "<｜tool▁call▁end｜>"
    call = ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>", '{"a": "', marker, "no")
    assert ids("deepseek", *call) == ("", "no", [("f", '{"a": "', "cut")], [])
    spelled = ids("deepseek", call[0], '{"a": "', (marker,), '"}', marker, "<｜tool▁calls▁end｜>")
    assert spelled == ("", "", [("f", f'{{"a": "{marker}"}}')], [])
