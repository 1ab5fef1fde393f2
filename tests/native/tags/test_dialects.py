"""What rows read beside their own form: other openers, no opener, a name in another place. Every cut gives the same."""

from __future__ import annotations

from typing import Any

import pytest

import harmonystream as hs

TOOLS: list[dict[str, Any]] = [{"name": "f", "parameters": {"properties": {"s": {"type": "string"}}}}, {"name": "bash"}]
OBJECT = '{"name": "f", "arguments": {"s": "x"}}'
F = ("f", '{"s": "x"}')
PLAIN = '<invoke name="f"><parameter name="s">x</parameter></invoke>'
DSML_CALL = "｜DSML｜tool_call"
MARKED = '<｜DSML｜invoke name="f"><｜DSML｜parameter name="s" string="true">x</｜DSML｜parameter></｜DSML｜invoke>'
BARE = ("llama3", "xlam", "mistral", "phi4_mini", "granite3", "pythonic", "lfm2", "poolside_v1")  # need no opener
INVOKE = '<steptml:invoke name="f"><steptml:parameter name="s">x</steptml:parameter></steptml:invoke>'
CALLS = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>"

# row, output, reasoning, content, calls
CASES: list[tuple[str, str, str, str, list[tuple[str, str]]]] = [
    ("gigachat3", f"Hi<|function_call|>{OBJECT}", "", "Hi", [F]),
    (
        "step3",
        f"<｜tool_calls_begin｜>\n<｜tool_call_begin｜>{INVOKE}<｜tool_call_end｜>\n<｜tool_calls_end｜>",
        "",
        "",
        [F],
    ),
    ("step3", f"Hi\n{INVOKE}", "", "Hi", [F]),
    # the frame without one of its parts
    ("step3", f"Hi\n<｜tool_call_begin｜>function{INVOKE}<｜tool_call_end｜>", "", "Hi", [F]),
    *(
        (
            "step3",
            f"<｜tool_calls_begin｜><｜tool_call_begin｜>{frame}{INVOKE}<｜tool_call_end｜><｜tool_calls_end｜>",
            *("", "", [F]),
        )
        for frame in ("function", "<｜tool_sep｜>")
    ),
    ("step3", f"<｜tool_sep｜>{INVOKE}<｜tool_call_end｜>", "", "", [F]),
    # Llama 4's marks around the object of Llama 3
    ("llama3", f"Hi.\n<|python_start|>{OBJECT}<|python_end|>", "", "Hi.", [F]),
    ("llama3", f"<|python_start|>{OBJECT}; {OBJECT}<|python_end|>", "", "", [F, F]),
    # the think tags that most models spell
    ("kimi_k3", "<think>\na\n</think>\n\nb", "a", "b", []),
    ("kimi_k3", "<think>a<|close|>think<|sep|><|open|>response<|sep|>b<|close|>response<|sep|>", "a", "b", []),
    ("kimi_k3", "Use `<think>` tags.", "", "Use `<think>` tags.", []),
    ("minicpm5", '<functionname="f"><paramname="s">x</param></function>', "", "", [F]),
    ("seed_oss", "<tool_call>\n<function=f>\n<parameter=s>x</parameter>\n</function>\n</tool_call>", "", "", [F]),
    (
        "longcat",
        "<longcat_tool_call>f\n<longcat_arg_key>s</longcat_arg_key>\n<longcat_arg_value>x</longcat_arg_value>\n"
        "</longcat_tool_call>",
        *("", "", [F]),
    ),
    ("poolside_v1", "<user>f<arg_key>s</arg_key><arg_value>x</arg_value></tool_call>", "", "", [F]),
    ("minimax_m1", f"<think>a</think>\n<tool_calls>\n{OBJECT}\n{OBJECT}\n</tool_calls>", "a", "", [F, F]),
    ("phi4_mini", f"functools[{OBJECT}]<|eot_id|>", "", "", [F]),
    ("hermes", f"<tool_call>{OBJECT}</_call>", "", "", [F]),
    ("glm", "<tool_call>f<arg_key>s</arg_key><arg_value>x</arg_value></_call>", "", "", [F]),
    ("deepseek", f'{CALLS}tool<｜tool▁sep｜>f\n```json\n{{"s": "x"}}\n```<｜tool▁call▁end｜>', "", "", [F]),
    # a label after the opener of thoughts
    ("gemma4", "<|channel>thought\nmore\n<channel|>Bye", "more", "Bye", []),
    ("gemma4", "<|channel>more<channel|>Bye", "more", "Bye", []),
    ("gemma4", "<|channel>thought\n<channel|>Bye", "", "Bye", []),
    ("gemma4", "<|channel>thoughtful<channel|>Bye", "thoughtful", "Bye", []),
    ("gemma4", "<|channel><|channel>thought\nHm<channel|>Bye", "Hm", "Bye", []),
    # and before the answer, where the opener is missing
    ("gemma4", "thought\nBye", "", "Bye", []),
    ("gemma4", "<|channel>Hm<channel|>thought\nBye", "Hm", "Bye", []),
    ("gemma4", "thought", "", "thought", []),
    ("gemma4", "thoughts\nBye", "", "thoughts\nBye", []),
    ("gemma4", "Bye\nthought\nBye", "", "Bye\nthought\nBye", []),
    # one object, blanks around the name of a tag
    (
        "kimi_k3",
        '<|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|><|open|>json type="object"<|sep|>{"s": "x"}'
        "<|close|>json<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
        *("", "", [F]),
    ),
    (
        "kimi_k3",
        '<|open|>message role="assistant"<|sep|><|open|>response<|sep|>b<|close|>response<|sep|><|open|>tools<|sep|>'
        '<|open|>call tool="f" index="1"<|sep|><|open|>json<|sep|>{"s": "x"}<|close|>json<|sep|><|close|>call<|sep|>'
        "<|close|>tools<|sep|><|close|>message<|sep|>",
        *("", "b", [F]),
    ),
    (
        "kimi_k3",
        "<|open|> think <|sep|>a<|close|>think <|sep|><|open|>response <|sep|>b<|close|> response<|sep|>",
        *("a", "b", []),
    ),
    # the opener of the answer
    ("kimi_k3", "<|open|>think<|sep|>a<|open|>response<|sep|>b<|close|>response<|sep|><|open|>", "a", "b", []),
    # an attribute of any value
    *(
        (
            "kimi_k3",
            f'<|open|>call tool="f" index="{index}"<|sep|><|open|>argument key="s" type="string"<|sep|>x'
            "<|close|>argument<|sep|><|close|>call<|sep|>",
            *("", "", [F]),
        )
        for index in (1, 129, 100000, "")
    ),
    ("cohere", "<|START_THINKING|>a<|START_RESPONSE|>b<|END_RESPONSE|>", "a", "b", []),
    # attributes in any order, with any quotes and blanks
    *(
        (
            "minimax_m2",
            f"<minimax:tool_call>\n<invoke{call}>\n<parameter{key}>x</parameter>\n</invoke>\n</minimax:tool_call>",
            "",
            "",
            [F],
        )
        for call, key in (
            (' name="f" ', ' name="s" '),
            (" name = f", " name=s"),
            (' id="1" name="f"', ' type="string" name="s"'),
            ("  name='f' index = '1'", ' name = "s" type=string'),
            ("=f", '="s"'),
        )
    ),
    *(
        (
            "qwen3_coder",
            f"<tool_call>\n<function{call}>\n<parameter{key}>\nx\n</parameter>\n</function>\n</tool_call>",
            "",
            "",
            [F],
        )
        for call, key in ((' name="f"', " name='s'"), ('="f"', '="s"'), (" = f", "=s string=true"))
    ),
    *(
        (
            "dsml",
            f"<｜DSML｜tool_calls><｜DSML｜invoke{call}><｜DSML｜parameter{key}>x</｜DSML｜parameter></｜DSML｜invoke>"
            "</｜DSML｜tool_calls>",
            "",
            "",
            [F],
        )
        for call, key in ((" name='f'", ' string="true" name="s"'), (' name="f" ', " name='s' string='true' "))
    ),
    *(
        (
            row,
            mark.join(
                ("", "<tool_call>\n", '<invoke name="f">', '<parameter name="s">x', "</parameter>", "</invoke>\n")
            )
            + f"{mark}</tool_call>",
            "",
            "",
            [F],
        )
        for row, mark in (("minimax_m2", "]<]minimax[>["), ("minimax_m3", "]<]minimax[>["), ("minimax_m2", ""))
    ),
    (
        "kimi_k3",
        '<|open|>call index="1" tool="f" <|sep|><|open|>argument type="string" key="s"<|sep|>x<|close|>argument<|sep|>'
        "<|close|>call<|sep|>",
        *("", "", [F]),
    ),
    ("minicpm5", "<function name=f><param  name = 's' >x</param></function>", "", "", [F]),
    ("functionary", '<function name="f">{"s": "x"}</function>', "", "", [F]),
    *(
        (row, f"Hi.\n<{word}>\n{invoke}\n</{word}>\nBye.", "", "Hi.\nBye.", [F])
        for row, words, invoke in (
            ("minimax_m2", ("tool_calls", "function_calls"), PLAIN),
            ("dsml", (DSML_CALL,), MARKED),
        )
        for word in words
    ),
    # lines
    *((row, f"Hi.\n{OBJECT}", "", "Hi.", [F]) for row in BARE),
    *((row, f"Hi.\n[{OBJECT}]", "", "Hi.", [F]) for row in BARE),
    ("lfm2", 'Hi.\n[f(s="x")]', "", "Hi.", [F]),
    ("lfm2", 'Hi.\n{"name": "g", "arguments": {}}', "", 'Hi.\n{"name": "g", "arguments": {}}', []),
    ("lfm2", f"See {OBJECT}", "", f"See {OBJECT}", []),
    ("lfm2", f"So:\n```\n{OBJECT}\n```", "", f"So:\n```\n{OBJECT}\n```", []),
    ("xlam", f"```json\n[{OBJECT}]\n```", "", "```json\n```", [F]),
    ("xlam", f"Hi.\n<tools>\n{OBJECT}\n{OBJECT}\n</tools>", "", "Hi.", [F, F]),
    ("phi4_mini", f"[{OBJECT}]<|/tool_call|>", "", "", [F]),
    ("granite3", 'So [{"name": "f"}]', "", 'So [{"name": "f"}]', []),
    ("mistral", '[{"name": "g", "arguments": {}}]', "", '[{"name": "g", "arguments": {}}]', []),
    # a name before the opener, and one that the output ends with
    ("mistral", 'bash[TOOL_CALLS]{"s": "x"}', "", "", [("bash", '{"s": "x"}')]),
    ("mistral", 'Hi\nbash [TOOL_CALLS][ARGS]{"s": "x"}[/TOOL_CALLS]', "", "Hi", [("bash", '{"s": "x"}')]),
    ("mistral", "[TOOL_CALLS]bash", "", "", [("bash", "{}")]),
    ("mistral", "bash is a shell", "", "bash is a shell", []),
    # an opener that no call follows, where a call needs none
    (
        "pythonic",
        '<|python_start|>Let me look.<|python_end|>{"name": "f", "parameters": {"s": "x"}}<|eot|>',
        *("", "Let me look.", [F]),
    ),
]


def read(row: str, pieces: list[str]) -> tuple[str, str, list[tuple[str, str]]]:
    parser = hs.Parser(row, tools=TOOLS)
    events = [event for piece in pieces for event in parser.feed_text(piece)]
    reasoning, content, calls = "", "", []
    for event in (*events, *parser.finish("stop")):
        match event:
            case hs.ReasoningDelta(text=text):
                reasoning += text
            case hs.ContentDelta(text=text):
                content += text
            case hs.ToolCallStart(name=name):
                calls.append((name, ""))
            case hs.ToolCallDelta(arguments=text):
                calls[-1] = (calls[-1][0], calls[-1][1] + text)
            case hs.ToolCallEnd(complete=complete):
                assert complete
    return reasoning, content, calls


@pytest.mark.parametrize(("row", "output", "reasoning", "content", "calls"), CASES)
def test_every_cut_reads_it(row, output, reasoning, content, calls):
    want = (reasoning, content, calls)
    assert read(row, [output]) == want
    assert read(row, list(output)) == want
    for place in range(1, len(output)):
        assert read(row, [output[:place], output[place:]]) == want, place


def test_thoughts_that_the_prompt_opens_may_begin_with_the_label():
    parser = hs.Parser("gemma4", start="reasoning")
    events = [*parser.feed_text("tho"), *parser.feed_text("ught\nHm")]
    assert [event.text for event in events if isinstance(event, hs.ReasoningDelta)] == ["Hm"]


def test_a_tag_of_the_user_s_opens_no_thoughts():
    for row, turn in (("minimax_m1", "<beginning_of_sentence>"), ("think", "<｜Assistant｜>")):
        assert hs.Parser(row, prompt=f"What is <think>?{turn}ai\n").region is not hs.Region.REASONING


REFUSED = [
    ({"section": ("<s>", "</s>"), "body": "object", "bare_line": "call"}, "bare_line='call' needs wrapped=True or"),
    ({"attribute": "a", "stops": ("<e>",)}, "attribute needs a call, name_as='plain' and no call_id"),
    ({"think_label": "x", "stops": ("<e>",)}, "think_label needs think, because it follows its opener"),
    ({"think": ("<a>", "</a>"), "think_label": " x"}, "think_label is a text of at most 128 bytes without whitespace"),
    ({"think": ("<a>", "</a>"), "answer": "<b>"}, "answer is a tuple of strings, not '<b>'"),
]


@pytest.mark.parametrize(("fields", "reason"), REFUSED)
def test_rows_that_cannot_work(fields, reason):
    with pytest.raises(hs.errors.FormatError) as caught:
        hs.Parser(hs.Format("mine", **fields))
    assert reason in str(caught.value)


def test_the_longest_of_markers_that_begin_alike_counts():
    row = hs.Format("mine", think=(("<t>", "<t>now"), "</t>"), drop=("<", "<x>"))
    assert hs.parse("<t>nowHm</t>Hi<x>!<", row)[1:3] == ("Hm", "Hi!")
    assert hs.parse("<t>noHm</t>Hi", row)[1:3] == ("noHm", "Hi")


STEP3 = "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>"
STEP3 += '<steptml:invoke name="f"><steptml:parameter name="s">a'
STEP3_END = "<｜tool_call_end｜><｜tool_calls_end｜>Done."


@pytest.mark.parametrize("closers", ["", "</steptml:parameter>", "</steptml:parameter></steptml:invoke>"])
def test_step3_the_frame_around_a_call_ends_it(closers):
    """What the model left out of the closers in it is not part of the value."""
    text = STEP3 + closers + STEP3_END
    for pieces in ([text], list(text)):
        assert read("step3", pieces) == ("", "Done.", [("f", '{"s": "a"}')])


def test_minimax_the_tags_of_the_other_one():
    call = '<tool_call><invoke name="f"><parameter name="s">a</parameter></invoke></tool_call>'
    for text, row, calls in (
        (f"<mm:think>Hm</mm:think>{call}Hi", "minimax_m2", [("f", '{"s": "a"}')]),
        ("<think>Hm</think>Hi", "minimax_m3", []),
    ):
        for pieces in ([text], list(text)):
            assert read(row, pieces) == ("Hm", "Hi", calls)
