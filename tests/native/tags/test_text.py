"""Content and reasoning, sections, and the calls in them (docs/tags.md, 3 to 5)."""

from __future__ import annotations

import pytest
from tag_cases import TOOLS, ids, read

import harmonystream as hs
from harmonystream.formats import format_of

CALL = '<tool_call>{"name": "f"}</tool_call>'
F = [("f", "{}")]
NEWLINES = 1 << 20  # that are held


# --- reasoning ----------------------------------------------------------------------------------------------------


def test_reasoning_and_content():
    assert read("think", "<think>Hm</think>Hi") == ("Hm", "Hi", [], [])
    assert read("think", "Hm</think>Hi", start="reasoning") == ("Hm", "Hi", [], [])
    assert read("think", "<think>Hm") == ("Hm", "", [], [])
    assert read("think", "a\n<think>b</think>c\n\n<think>d</think>e") == ("b\nd", "a\nc\ne", [], [])


@pytest.mark.parametrize(
    "text",
    [
        *("a `<think>` b `</think>` c", "- “<think>” begins, </think> ends", "```\n<think>\nx\n</think>\n```"),
        *('"<think>x</think>" ends', "「<think>x</think>」", f"a <think>{'x' * 1024}</think>c"),
    ],
)
def test_mentions_of_thoughts(text):
    assert read("think", text) == ("", text, [], [])
    assert read("think", f"{text}\n<think>Hm</think>Hi") == ("Hm", f"{text}\nHi", [], [])


def test_a_control_token_is_no_mention():
    assert ids("deepseek", "Hi ", "<think>", "Hm", "</think>", "you") == ("Hm", "Hi \nyou", [], [])


@pytest.mark.parametrize(
    "text", ["Sure. <think>check</think>Done.", 'a <think>"b" or</think> "c"', "1 <think>\nx\n</think>2"]
)
def test_thoughts_inside_a_line(text):
    before, _, rest = text.partition("<think>")
    thoughts, _, after = rest.partition("</think>")
    assert read("think", text) == (thoughts.strip("\n"), before + "\n" * (after[0] != " ") + after, [], [])


@pytest.mark.parametrize("gap", ["", "\n", "\n\n"])
@pytest.mark.parametrize("after", ["", "\n", "\n\n"])
def test_text_around_thoughts_is_parted(gap, after):
    thought = f"<think>{gap}Hm.{gap}</think>"
    twice = f"One.\n{gap}{thought}{after}Two.{gap}\n{thought}{after}Three."
    assert read("hermes", twice) == ("Hm.\nHm.", "One.\nTwo.\nThree.", [], [])
    assert read("hermes", f" \n{thought}{after}Two.")[1] == " Two."
    assert read("hermes", f"One.\n{thought}{after} Two.")[1] == "One. Two."
    stray = "One.\nTwo." if gap + after else "One.Two."
    assert read("hermes", f"One.{gap}</think>{after}Two.") == ("", stray, [], ["stray-closer"])
    assert read("hermes", f"One.{gap}</tool_call>{after}Two.") == ("", stray, [], ["stray-closer"])


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("hunyuan_a13b", "<think>\nHm\n</think>\n<answer>\nHi\n</answer>"),
        ("ernie45", "<think>\nHm\n</think>\n\n<response>\nHi\n</response>\n"),
        ("apriel", "Here are my reasoning steps:\nHm\n[BEGIN FINAL RESPONSE]\nHi\n[END FINAL RESPONSE]\n<|end|>"),
    ],
)
def test_the_newline_before_the_end_of_an_answer(format, text):
    assert read(format, text) == ("Hm", "Hi", [], [])
    assert read(format, f"{text}\n")[1] == "Hi"
    if "<|end|>" not in text:
        assert read(format, f"{text}\nBye")[1] == "Hi\nBye"


SAID = ["`</think>`", "a `</think>`, b", "`x</think>` and `y`", "``</think>`` `x`", "`<think>`", "`a <think>` `b`"]


@pytest.mark.parametrize("said", SAID)
def test_inline_code_that_ends_with_a_marker_of_thoughts(said):
    assert read("hermes", f"Use {said}.\nSo.")[:2] == ("", f"Use {said}.\nSo.")
    own = format_of("hermes")._replace(mention="think")
    assert hs.parse("It is `</think>` so", own).content == "It is `` so"


@pytest.mark.parametrize("said", SAID)
def test_a_closer_ends_thoughts_at_once(said):
    text = f"<think>It is {said}.\nSo.</think>Hi"
    at = text.index("</think>") + len("</think>")
    parser = hs.Parser("hermes")
    parser.feed_text(text[:at])
    assert parser.region is not hs.Region.REASONING


@pytest.mark.parametrize("answer", ["`x` is it.", "``` `", "```\nx\n```", "``x`` is `y`", "x `y`", f"`{'x' * 1024}"])
def test_inline_code_that_begins_an_answer(answer):
    assert read("hermes", f"<think>Hm</think>{answer}") == ("Hm", answer, [], [])


def test_thoughts_that_show_thoughts_in_a_fence():
    shown = "So:\n```\n<think>x</think>\n```\nOk."
    assert read("hermes", f"<think>{shown}</think>Hi") == (shown, "Hi", [], [])
    assert read("hermes", "<think>So:\n```\nx</think>Hi") == ("So:\n```\nx", "Hi", [], [])


CLOSERS = [
    "</thinking>",
    "</thought>",
    "</THOUGHTS>",
    "</Think>",
    "<//think>",
    "<\\/think>",
    "</ think >",
    "</reasoning>",
]


@pytest.mark.parametrize("closer", CLOSERS)
def test_a_misspelt_closer_of_thoughts(closer):
    assert read("hermes", f"<think>Hm{closer}Hi") == ("Hm", "Hi", [], ["misspelt-closer"])
    assert read("mistral", f"<think>\nHm\n{closer}\n\nHi") == ("Hm", "Hi", [], ["misspelt-closer"])
    opener = closer.replace("/", "").replace("\\", "")
    shown = [
        f"`{closer}`.",
        f'"{closer}".',
        f"```\n{closer}\n```",
        *([f"a {opener}b{closer} c"] * (opener != "<think>")),
    ]
    for said in shown:
        assert read("hermes", f"<think>{said}\n</think>Hi") == (said, "Hi", [], [])
    assert read("hermes", f"Use {closer} so.") == ("", f"Use {closer} so.", [], [])
    assert ids("deepseek", "<think>", f"a{closer}b", "</think>", "Hi") == (f"a{closer}b", "Hi", [], [])


@pytest.mark.parametrize("tag", ["</thinks>", "</thead>", "</th>", "</thinking", "</>", "</ " + 30 * " " + "think>"])
def test_other_tags_in_thoughts(tag):
    assert read("hermes", f"<think>a{tag}b</think>Hi") == (f"a{tag}b", "Hi", [], [])


def test_an_opener_alone_is_text():
    assert read("think", "<b><think>") == ("", "<b><think>", [], [])
    assert read("hermes", "a <think> b<|im_end|>") == ("", "a <think> b", [], [])


@pytest.mark.parametrize("blank", [" ", "\t", "\n  ", " \t "])
def test_blanks_before_thoughts(blank):
    assert read("think", f"{blank}<think>abc</think>\n\ndef") == ("abc", f"{blank}def", [], [])
    assert read("think", f"{blank}<think>abc") == ("abc", blank, [], [])


def test_the_opener_of_an_answer_ends_thoughts():
    tag = "<|open|>{}<|sep|>".format
    whole = f"{tag('think')}Hm<|close|>think<|sep|>{tag('response')}Hi<|close|>response<|sep|>"
    assert read("kimi_k3", whole) == ("Hm", "Hi", [], [])
    assert read("kimi_k3", f"{tag('think')}Hm{tag('response')}Hi") == ("Hm", "Hi", [], ["missing-closer"])


def test_prose_is_no_stray_closer():
    said = "The form:\nHere's my response: yes"
    assert read("granite3", said) == ("", said, [], [])
    assert read("granite3", f"<think>Hm</think>{said}") == ("Hm", said, [], [])


def test_in_an_answer_spelled_think_tags_are_text():
    said = "<think>no</think> thoughts <think>"
    assert read("think", said, start="answer") == ("", said, [], [])
    assert ids("deepseek", "a", "<think>", "no", "</think>", "b", start="answer") == ("no", "a\nb", [], [])


def test_partial_tags_are_text():
    assert read("think", "<think>a</thin") == ("a</thin", "", [], [])
    assert read("think", "a<b <th <\n<think>c") == ("c", "a<b <th <", [], [])
    assert read("think", "<") == ("", "<", [], [])


def test_what_a_row_drops():
    dropped = "<｜tool▁output▁begin｜>"
    assert read("deepseek", f"a{dropped}b\n<think>c{dropped}d") == ("cd", "ab", [], [])


# --- seams --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seams", "none"),
    [
        ("<think>\n\na\n\n</think>\n\nb\n", ("a", "b\n"), ("\n\na\n\n", "\n\nb\n")),
        ("\na\n<think>b", ("b", "\na"), ("b", "\na\n")),
        ("<think> \na\n </think> b", (" \na\n ", " b"), (" \na\n ", " b")),
        ("<think>\r\na\r\n</think>", ("\r\na\r", ""), ("\r\na\r\n", "")),
        ("a\n\nb\n\n\n", ("", "a\n\nb\n\n\n"), ("", "a\n\nb\n\n\n")),
        ("<think>\n</think>\n", ("", ""), ("\n", "\n")),
    ],
)
def test_newlines_that_touch_a_tag(text, seams, none):
    assert read("think", text)[:2] == seams
    assert read("think", text, trim="none")[:2] == none


def test_newlines_around_calls():
    assert read("hermes", f"Hi\n\n{CALL}\n\nThere\n") == ("", "Hi\nThere\n", F, [])
    assert read("hermes", f"Hi.{CALL}There") == ("", "Hi.\nThere", F, [])
    assert read("hermes", f"Hi. {CALL} There") == ("", "Hi.  There", F, [])
    assert read("hermes", f"Hi.{CALL} \n\nThere") == ("", "Hi. \n\nThere", F, [])
    assert read("hermes", f"Hi.{CALL}{CALL}\n<think>Hm</think>There") == ("Hm", "Hi.\nThere", F * 2, [])
    assert read("hermes", f"{CALL}There") == ("", "There", F, [])
    assert read("hermes", f"Hi\n{CALL}\n {CALL}\n.", trim="none") == ("", "Hi\n\n \n.", F * 2, [])


def test_a_stop_trims_nothing():
    assert read("hermes", "Hi\n\n<|im_end|>") == ("", "Hi\n\n", [], [])
    assert ids("hermes", "Hi\n\n", "<|im_end|>") == ("", "Hi\n\n", [], [])
    assert ids("hermes", "a\n", "<|pad|>", "\nb") == ("", "a\n\nb", [], ["stray-control"])


def test_a_stream_that_starts_behind_a_tag():
    assert read("think", "\n\nHm\n</think>\nHi", start="reasoning")[:2] == ("Hm", "Hi")
    assert read("think", "\n\nHi", start="answer")[:2] == ("", "Hi")
    assert read("think", "\n\nHi", start="content")[:2] == ("", "\n\nHi")
    assert read("think", "\n\nHi", start="answer", trim="none")[:2] == ("", "\n\nHi")


@pytest.mark.parametrize("more", [-1, 0, 1, NEWLINES])
def test_a_long_run_of_newlines(more):
    text = "a" + "\n" * (NEWLINES + more)
    for end in ("<think>b", "b"):
        whole = hs.parse(text + end, "think")
        parser = hs.Parser("think")
        events = [event for at in range(0, len(text), 4001) for event in parser.feed_text(text[at : at + 4001])]
        events += parser.feed_text(end) + parser.finish()
        cut = "".join(event.text for event in events if type(event) is hs.ContentDelta)
        assert cut == whole.content
        if end == "b":
            assert cut == text + end
        else:
            assert cut == ("a" + "\n" * NEWLINES if more > 0 else "a")


# --- openers and closers in the text ------------------------------------------------------------------------------


def test_stray_closers_are_dropped_and_quoted_ones_are_not():
    assert read("hermes", "a\n</tool_call>\nb") == ("", "a\nb", [], ["stray-closer"])
    said = "Between <tool_call> and </tool_call>"
    assert read("hermes", f"{said}!</tool_call>") == ("", f"{said}!", [], ["stray-closer"])
    assert read("hermes", f"Not <tool_call>.{CALL}</tool_call>") == ("", "Not <tool_call>.", F, ["stray-closer"])


def test_without_tools_nothing_is_a_call():
    said = f"a{CALL}</tool_call><tool_call>"
    assert read("hermes", said, tools=[]) == ("", said, [], [])
    begin, end = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
    assert ids("deepseek", "a", begin, "b", end, tools=[]) == ("", "ab", [], ["call-without-tools"] * 2)


def test_control_markers_that_lead_nowhere_are_dropped():
    begin, call, end = "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
    assert ids("deepseek", "a", begin, "b", end, "c") == ("", "abc", [], ["stray-control", "stray-closer"])
    assert ids("deepseek", "a", (begin,), "b") == ("", f"a{begin}b", [], [])
    assert ids("deepseek", "a", call, "f", end) == ("", "a", [], ["abandoned-header", "stray-closer"])


def test_a_turn_is_text_or_inert():
    assert read("hermes", "a<|im_start|>b") == ("", "a<|im_start|>b", [], [])
    assert ids("hermes", "a", "<|im_start|>", "b") == ("", "ab", [], ["stray-control"])


def test_nothing_is_read_behind_a_stop():
    assert ids("hermes", "a", "<|im_end|>", "b<think>", CALL) == ("", "a", [], ["after-end"])


# --- calls and sections -------------------------------------------------------------------------------------------

BEGIN, END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
ONE = "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>"


@pytest.mark.parametrize("ws", ["", "\n", " \t\r\n"])
def test_calls_in_a_section(ws):
    text = ws.join(["a" + BEGIN, ONE, ONE, END + "b"])
    assert read("deepseek", text, vocabularies=("plain", "added", "ordinary")) == ("", "a\nb", F * 2, [])


def test_what_ends_a_section():
    assert read("deepseek", f"{BEGIN}{ONE}\nHi") == ("", "Hi", F, [])
    assert read("deepseek", f"{BEGIN}{ONE}") == ("", "", F, [])
    assert read("deepseek", f"{BEGIN}{ONE}\n<｜tool▁ca") == ("", "", F, [])
    assert read("deepseek", f"{BEGIN}{ONE}\n<｜end▁of▁sentence｜>") == ("", "", F, [])
    assert read("deepseek", f"{BEGIN}{ONE}<｜tool▁call▁end｜>{END}") == ("", "", F, ["stray-closer"])
    assert read("deepseek", f"{BEGIN}{ONE}\n{BEGIN}{ONE}{END}") == ("", "", F * 2, [])


def test_text_behind_a_section_that_was_not_closed():
    assert read("deepseek", f"{BEGIN}{ONE}\n\n Hi\n")[1] == " Hi\n"
    assert read("deepseek", f"{BEGIN}{ONE}\n\n Hi\n", trim="none")[1] == "\n\n Hi\n"


# --- regions ------------------------------------------------------------------------------------------------------


def test_where_each_byte_lands():
    text = "a\n<think>b</think>\nc<tool_call>f<arg_key>s</arg_key><arg_value>x</arg_value></tool_call>d<|user|>"
    parser = hs.Parser("glm", tools=TOOLS)
    parser.feed_text(text)
    parser.finish()
    markup = len(text) - len("abcxd") - len("\n\n")
    assert parser.usage == hs.Usage(0, markup, 1, len("a\nc\nd"), 1, 0, 0)


def test_every_format_says_what_no_markup_is():
    for name in hs.formats.names():
        row = format_of(name)
        if isinstance(row, hs.Format):
            said = 'Plain text, with < and > and {"name": "f"}, [1] and\n\nnewlines.\n'
            assert read(name, said, vocabularies=("plain", "added")) == ("", said, [], [])


def test_after_the_fence_of_an_example_markers_count_again():
    call = '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{"x": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
    example = f"```{call}```"
    assert hs.parse(f"{example}<|tool_sep|>", "deepseek").content == example


def test_a_fence_is_followed_in_pieces_of_one_character():
    text = "a\n```\n<think>x</think>\n```\nb"
    for row in ("deepseek", "hermes"):
        for pieces in ([text], list(text), ["a\n``", "`", text[5:]]):
            parser = hs.Parser(row, start="content")
            events = [event for piece in pieces for event in parser.feed_text(piece)]
            events += parser.finish()
            assert "".join(event.text for event in events if isinstance(event, hs.ContentDelta)) == text


def test_an_end_of_a_name_that_begins_unlike_the_other_markers_is_found_too():
    row = hs.Format("mine", call=("<C>", (":", "<sep>"), "</C>"), control=True, stops=("<|e|>",))
    for pieces in (["a: b"], list("a: b")):
        parser = hs.Parser(row)
        told = [event for piece in pieces for event in parser.feed_text(piece)] + list(parser.finish())
        assert "".join(event.text for event in told if isinstance(event, hs.ContentDelta)) == "a b"
    assert [deviation.code for deviation in parser.deviations] == ["stray-control"]
