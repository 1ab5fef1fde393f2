"""Calls that are one JSON object: {"name": …, "arguments": …} (docs/tags.md, 5)."""

from __future__ import annotations

import json

import pytest
from tag_cases import ids, read

import harmonystream as hs


def calls(inside, codes=(), **options):
    """The calls between one opener and its closer."""
    for format in ("hermes", "glm"):
        found = read(format, f"<tool_call>{inside}</tool_call>", **options)
        assert (found[0], found[1], found[3]) == ("", "", list(codes))
    return found[2]


def arguments(value, codes=()):
    """Those of a call that is complete if they are an object."""
    is_object = is_json_object(value) or is_json_object(string_of(value))
    (call,) = calls(f'{{"name": "f", "arguments": {value}}}', [*codes, *["invalid-json"] * (not is_object)])
    assert (call[0], call[2:]) == ("f", () if is_object else ("cut",))
    return call[1]


def string_of(value):
    """What the text holds if it is a string of JSON, or else nothing; nothing is an empty object."""
    try:
        said = json.loads(value, strict=False)
    except ValueError:
        return ""
    return said or "{}" if said is None or isinstance(said, str) else ""


def is_json_object(text):
    try:
        return isinstance(json.loads(text, strict=False), dict)
    except ValueError:
        return False


@pytest.mark.parametrize(
    "value",
    [
        "{}",
        '{"a": [1, {"b": "}"}]}',
        '{ "a" :1\n}',
        "[]",
        '[1, "]"]',
        "5",
        "-1.5e3",
        "true",
        "false",
        '{"a": "\\u00e9\\""}',
    ],
)
def test_arguments_pass_as_they_are(value):
    assert arguments(value) == value


@pytest.mark.parametrize("text", ['{"a": 1}', 'é"\\\n\t\b/', "😀", "\x7f", "plain", "{'a': 1}", '{"a": "\\n"}'])
@pytest.mark.parametrize("ascii", [True, False])
def test_a_string_of_arguments_is_decoded_once(text, ascii):
    assert arguments(json.dumps(text, ensure_ascii=ascii)) == text


@pytest.mark.parametrize(
    ("string", "decoded"),
    [
        (r"\ud83d", "�"),
        (r"\ud83d\ud83d\ude00", "�😀"),
        (r"\ude00", "�"),
        (r"\ud83dx", "�x"),
        (r"\ud83d\n", "�\n"),
        (r"\u12x", "�x"),
        (r"\u", "�"),
        (r"\q", "q"),
        (r"\é", "é"),
        (r"\/", "/"),
    ],
)
def test_escapes_that_json_lacks(string, decoded):
    assert arguments(f'"{string}"') == decoded
    assert arguments(f'"a{string}z"') == f"a{decoded}z"


@pytest.mark.parametrize("value", ["null", '""', " null "])
def test_no_arguments(value):
    assert arguments(value) == "{}"
    assert calls('{"name": "f"}') == [("f", "{}")]
    assert calls('{"name": "f", }') == [("f", "", "cut")]  # after a comma the arguments may be lost
    assert calls('{"name": "f"}', empty_args="") == [("f", "")]


def test_words_that_begin_like_null():
    assert arguments("nul") == "nul"
    assert arguments("nullify") == "nullify"
    assert arguments("n") == "n"


def test_members_in_any_order():
    assert calls('{"arguments": {"a": 1}, "name": "f"}') == [("f", '{"a": 1}')]
    assert calls('{"id": {"name": "no"}, "name": "f", "type": ["x"], "arguments": {}}') == [("f", "{}")]
    assert calls('{"parameters": {"a": 1}, "name": "f"}') == [("f", '{"a": 1}')]


@pytest.mark.parametrize("key", ["arguments", "parameters", "args", "input"])
def test_every_key_of_arguments(key):
    assert calls(f'{{"name": "f", "{key}": {{"a": 1}}}}') == [("f", '{"a": 1}')]
    assert calls(f'{{"{key}": {{"a": 1}}, "name": "f"}}') == [("f", '{"a": 1}')]


def test_members_that_are_the_arguments():
    flat = [("f", '{"a": "x", "b": [1, {}], "c": true}')]
    assert calls('{"name": "f", "a": "x", "b": [1, {}], "c": true}', ["other-body"]) == flat
    assert calls('{"a": "x", "name": "f", "b": [1, {}], "type": "function", "c": true}', ["other-body"]) == flat
    assert calls('{"name": "f", "type": "function"}') == [("f", "{}")]
    named = [{"name": "f", "parameters": {"properties": {"id": {}, "input": {}}}}]
    assert calls('{"name": "f", "id": 5, "input": "x"}', ["other-body"], tools=named) == [
        ("f", '{"id": 5, "input": "x"}')
    ]
    assert calls('{"name": "f", "id": "c", "input": {"id": 5}}', tools=named) == [("f", '{"id": 5}')]


@pytest.mark.parametrize(
    ("inside", "arguments", "codes"),
    [
        ('"why": "x", "arguments": {"a": 1}', '{"a": 1}', ["ignored-member"]),
        ('"arguments": {"a": 1}, "why": "x"', '{"a": 1}', ["ignored-member"]),
        ("'arguments': {\"a\": 1}", "", ["ignored-text"]),
        ('arguments: {"a": 1}', "", ["ignored-text"]),
        ('"arguments": ', "", ["missing-value"]),
        ('"arguments"', "", ["missing-value"]),
        ('"word", "arguments": {"a": 1}', '{"a": 1}', ["missing-value"]),
        ('12, "arguments": {"a": 1}', '{"a": 1}', ["ignored-text"]),
        ('"a", "b", x, y, "arguments": {"a": 1}', '{"a": 1}', ["missing-value", "missing-value"]),
        ('"arguments": {"a": 1} x', '{"a": 1}', ["ignored-text"]),
        ('"arguments": {"a": 1}: 2', '{"a": 1}', ["ignored-text", "ignored-member"]),
    ],
)
def test_what_is_not_read_is_not_complete(inside, arguments, codes):
    assert calls(f'{{"name": "f", {inside}}}', codes, tools=["f"]) == [("f", arguments, "cut")]


@pytest.mark.parametrize(
    ("inside", "complete"),
    [
        ('"why": {"a": 2}, "arguments": {"a": 1}', True),
        ('"arguments": {"a": 1}, "why": "x"', True),
        ('"why": 0, "description": [], "arguments": {"a": 1}, "more": null', True),
        ('"a": 2, "arguments": {"a": 1}', False),
        ('"why": 0, "a": 2, "arguments": {"a": 1}', False),
        ('"arguments": {"a": 1}, "a": 2', False),
        ('"arguments": {"a": 1}, "arguments": {}', False),
        (f'"arguments": {{"a": 1}}, "{"w" * 300}": 2', False),
        ('"arguments": {"a": 1}, "why": ', False),
    ],
)
def test_a_member_that_the_tool_does_not_have_is_not_a_lost_argument(inside, complete):
    named = [{"name": "f", "parameters": {"properties": {"a": {}}}}]
    text = f'<tool_call>{{"name": "f", {inside}}}</tool_call>'
    for size in (1, len(text)):
        parser = hs.Parser("hermes", tools=named)
        events = [event for at in range(0, len(text), size) for event in parser.feed_text(text[at : at + size])]
        ends = [event.complete for event in events if isinstance(event, hs.ToolCallEnd)]
        assert ends == [complete]


def test_the_first_name_and_the_first_arguments_count():
    twice = '{"name": "f", "name": "g", "arguments": 1, "arguments": 2, "parameters": 3}'
    assert calls(twice, ["ignored-member"] * 2) == [("f", "1", "cut")]
    assert calls('{"name": 5, "name": "", "name": " f ", "arguments": {}}') == [("f", "{}")]


@pytest.mark.parametrize("name", [r"\u0066", r"get\u002dit", "名前", r"\ud83d\ude00", r"\u0061\/b"])
def test_names_are_decoded(name):
    assert calls(f'{{"name": "{name}"}}') == [(json.loads(f'"{name}"'), "{}")]


@pytest.mark.parametrize("name", ["two words", "<function-name>", r"f\ng", r"f\u0000"])
def test_a_name_that_is_not_good_is_none(name):
    text = f'<tool_call>{{"name": "{name}"}}</tool_call>'
    assert read("hermes", text) == ("", text, [], [])


@pytest.mark.parametrize(
    "inside",
    [
        "{}",
        '{"name": ""}',
        '{"name": " "}',
        '{"name": 5}',
        '{"name": ["f"]}',
        '{"nam": "f"}',
        '{"a": {"name": "f"}}',
        '["f"]',
        "[[]]",
    ],
)
def test_without_a_name_it_is_text(inside):
    said = f"<tool_call>{inside}</tool_call>"
    assert read("hermes", said) == ("", said, [], [])


def test_names_are_of_256_bytes_at_most():
    assert calls('{"name": "' + "é" * 128 + '"}') == [("é" * 128, "{}")]
    said = '<tool_call>{"name": "' + "é" * 128 + 'f"}</tool_call>'
    assert read("hermes", said) == ("", said, [], [])


def test_nearly_json():
    """It is followed, not parsed: what is open and closed decides."""
    text = "{\"name\": \"f\", 'a': 1, \"arguments\": {'b': 'c'}}"
    assert calls(text, ["ignored-text"]) == [("f", "{'b': 'c'}", "cut")]
    assert arguments('{"a": 1,}') == '{"a": 1,}'


# --- several, and what stands around them -------------------------------------------------------------------------


def test_several_objects():
    f, g = '{"name": "f", "arguments": {"a": 1}}', '{"name": "g"}'
    both = [("f", '{"a": 1}'), ("g", "{}")]
    assert calls(f"[{f}, {g}]") == calls(f"\n[\n {f},\n {g}\n]\n") == both
    assert calls(f"{f}{g}") == calls(f"{f}\n{g}") == both
    assert calls(f"[{f}, {g}") == both


@pytest.mark.parametrize("rest", ["}", "]", "}}", "\n}\n", "}]"])
def test_brackets_too_many(rest):
    codes = ["ignored-text"] * (rest.count("}") + rest.count("]"))
    assert calls('{"name": "f"}' + rest, codes) == [("f", "{}")]


@pytest.mark.parametrize("text", ["and more", ", more", "<think", '{"name": 5}'])
def test_other_text_behind_it(text):
    found = read("hermes", f'<tool_call>{{"name": "f"}}\n {text}')
    assert found == ("", text, [("f", "{}")], [])


def test_markers_in_strings_are_text():
    said = "</tool_call> <tool_call> <think> <|im_end|>"
    assert arguments(f'{{"a": "{said}"}}') == f'{{"a": "{said}"}}'
    assert calls(f'{{"a": "{said}", "name": "f"}}', ["other-body"]) == [("f", f'{{"a": "{said}"}}')]
    assert (
        arguments('{"a": "</tool_call> <tool_call>{\\"name\\": 1}"}')
        == '{"a": "</tool_call> <tool_call>{\\"name\\": 1}"}'
    )


@pytest.mark.parametrize(
    "behind", ["", " <|im_end|>", "\n<tool_call>", "<tool_call> {", '<tool_call>[{"name": "g"}]</tool_call>']
)
def test_a_closer_in_a_string_that_is_not_closed(behind):
    _, content, found, codes = read(
        "hermes", f'<tool_call>{{"name": "f", "arguments": {{"a": "b}}}}</tool_call>{behind}'
    )
    assert found[0] == ("f", '{"a": "b}}', "cut") and codes[0] == "missing-closer"
    assert content.strip() == ("<tool_call> {" if behind == "<tool_call> {" else "") and len(found) == 1 + (
        "g" in behind
    )


def test_a_closer_at_the_start_of_a_line_ends_a_string():
    begun = '<tool_call>{"name": "f", "arguments": {"a": "b}}\n'
    assert read("hermes", f"{begun}</tool_call> Hi") == ("", " Hi", [("f", '{"a": "b}}\\n', "cut")], ["missing-closer"])
    some = ids("hermes", begun, "</tool_call> Hi", vocabulary="plain")
    assert some == ("", " Hi", [("f", '{"a": "b}}\\n', "cut")], ["missing-closer"])
    assert read("hermes", f'{begun}x</tool_call>"}}}}</tool_call>')[2] == [("f", '{"a": "b}}\\nx</tool_call>"}')]


@pytest.mark.parametrize("rest", ["", "<|endoftext|>", "<|im_start|>"])
def test_a_stop_in_the_text_ends_the_call(rest):
    found = read("hermes", f'<tool_call>{{"name": "f", "arguments": {{"a": "b<|im_end|>{rest}')
    assert found[2] == [("f", '{"a": "b', "cut")] and found[3][0] == "missing-closer"


@pytest.mark.parametrize("value", ['{"a": [1', "[", "5", "nul", "null", "{", '{"a": "b"'])
def test_a_closer_outside_of_strings_ends_the_call(value):
    kept = "" if value == "null" else value
    found = read("hermes", f'<tool_call>{{"name": "f", "arguments": {value}</tool_call>Hi')
    call = ("f", kept, "cut") if kept else ("f", "{}")
    assert found == ("", "Hi", [call], ["missing-closer", *["invalid-json"] * bool(kept)])


def test_a_call_that_is_cut():
    whole = '<tool_call>{"name": "f", "arguments": {"a": "b"}}'
    for size in range(whole.index(","), len(whole) - 1):
        kept = whole[whole.index('{"a"') : size]
        assert read("hermes", whole[:size]) == ("", "", [("f", kept, "cut")], [])
    assert read("hermes", whole[:-1])[2] == [("f", '{"a": "b"}')]
    assert read("hermes", whole)[2] == [("f", '{"a": "b"}')]
    assert read("hermes", whole[:-3], finish="stop")[2] == [("f", '{"a": "b', "cut")]
    assert read("hermes", whole[:-3], finish="length")[2] == [("f", '{"a": "b', "cut")]


def test_a_control_stop_ends_the_call():
    begun = '<tool_call>{"name": "f", "arguments": {"a": "b'
    assert ids("hermes", begun, "<|im_end|>") == ("", "", [("f", '{"a": "b', "cut")], ["missing-closer"])


def test_inert_ids_are_dropped():
    found = ids("hermes", '<tool_call>{"name": "f", "argu', "<|pad|>", 'ments": {"a', "<|pad|>", '": 1}}</tool_call>')
    assert found == ("", "", [("f", '{"a": 1}')], ["stray-control"] * 2)


# --- how it streams -----------------------------------------------------------------------------------------------


def test_arguments_stream_once_the_name_is_known():
    parser = hs.Parser("hermes")

    def heard(piece):
        return [event for event in parser.feed_text(piece) if type(event) is not hs.MessageStart]

    assert heard('<tool_call>{"name": "f') == []
    assert heard('"') == [hs.ToolCallStart(0, "f", None, "function", 0, 11)]
    assert heard(', "arguments": {"a') == [hs.ToolCallDelta(0, '{"a', 38, 41)]
    assert heard('": "<') == [hs.ToolCallDelta(0, '": "', 41, 45)]  # a closer may begin there
    assert heard('"}') == [hs.ToolCallDelta(0, '<"}', 45, 48)]
    assert heard("}") == [hs.ToolCallEnd(0, True, True, 48, 48)]
    assert heard("</tool_call>") == []


def test_members_before_the_name_are_held_as_long_as_they_may():
    arguments = '{"a": "' + "x" * 2000 + '"}'
    call = f'<tool_call>{{"arguments": {arguments}, "name": "f"}}</tool_call>'
    assert read("hermes", call) == ("", "", [("f", arguments)], [])
    assert read("hermes", call, max_hold=1024) == ("", call, [], [])
    assert read("hermes", call, max_hold=2100) == ("", "", [("f", arguments)], [])


def test_an_empty_array_is_no_call_where_no_closer_follows():
    openers = {
        "mistral": "[TOOL_CALLS]",
        "granite3": "<|tool_call|>",
        "phi4_mini": "functools",
        "llama3": "<|python_tag|>",
    }
    for row, opener in openers.items():
        for array in ("[]", " [ ]"):
            for text in ("", "Hi", "\nHi"):
                done = hs.parse(opener + array + text, row, tools=["f"])
                assert (done.content or "", done.tool_calls) == (text.strip("\n"), ()), row
        call = '[{"name": "f", "arguments": {"a": [1]}}]'
        done = hs.parse(f"{opener}[]\n{opener}{call}", row, tools=["f"])
        assert [(one.name, one.arguments) for one in done.tool_calls] == [("f", '{"a": [1]}')]


WRAPPED = [
    *(("hermes", "<tool_call>\n", "\n</tool_call>"), ("jamba", "<tool_calls>", "</tool_calls>"), ("llama3", "", "")),
    *(("mistral", "[TOOL_CALLS]", ""), ("granite3", "<|tool_call|>", ""), ("xlam", "[TOOL_CALLS]", "")),
]


@pytest.mark.parametrize(("format", "opener", "closer"), WRAPPED)
@pytest.mark.parametrize("comma", [",", ", ", " ,\n"])
def test_a_comma_between_calls_outside_of_an_array(format, opener, closer, comma):
    one, two = '{"name": "f", "arguments": {"i": 1}}', '{"name": "g", "arguments": {}}'
    both = [("f", '{"i": 1}'), ("g", "{}")]
    assert read(format, f"{opener}{one}{comma}{two}{closer}") == ("", "", both, ["ignored-text"])
    assert read(format, f"{opener}[{one}]{comma}[{two}]{closer}") == ("", "", both, ["ignored-text"])
    assert read(format, f"{opener}[{one}][{two}]{closer}") == ("", "", both, ["ignored-text"])
    for said in (f"{comma}and so on.", f"{comma}[1]", "[1] {}", f"{comma}{{}}"):
        assert read(format, f"{opener}{one}{said}")[1:3] == (said.strip(" ") if said[0] == " " else said, both[:1])


@pytest.mark.parametrize(
    ("format", "opener", "closer"),
    [("olmo3", "<function_calls>", "</function_calls>"), ("lfm2", "<|tool_call_start|>", "<|tool_call_end|>")],
)
def test_a_comma_between_written_calls_outside_of_an_array(format, opener, closer):
    both = [("f", '{"i": 1}'), ("g", "{}")]
    for text in ("f(i=1), g()", "f(i=1),g()", "[f(i=1)], [g()]", "[f(i=1)][g()]"):
        assert read(format, f"{opener}{text}{closer}") == ("", "", both, ["ignored-text"])
    assert read(format, f"{opener}f(i=1), then h(){closer}")[2] == both[:1]
