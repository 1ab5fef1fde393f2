"""Calls as each family's chat template writes them, with blanks between their markers and text around them.

The forms are written by hand, not made from the rows, so that a wrong row is noticed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

import harmonystream as hs

Arguments = Mapping[str, Any]
BLANK = "~"  # where a template may write a blank, and a model another
M3 = "]<]minimax[>["
THINK = ("<think>", "</think>")


@dataclass(frozen=True)
class Form:
    """A call is `one`; several are between `begin` and `end`, with `apart` between them."""

    one: Callable[[str, Arguments], str]
    begin: str = ""
    apart: str = BLANK
    end: str = ""
    think: tuple[str, str] | None = THINK
    fits_before_text: bool = True  # the calls need not be the beginning of the answer

    def render(self, calls: list[tuple[str, Arguments]], blank: str) -> str:
        return (self.begin + self.apart.join(self.one(*call) for call in calls) + self.end).replace(BLANK, blank)


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def wrapped(arguments: str = "arguments", name: str = "name", more: str = "") -> Callable[[str, Arguments], str]:
    return lambda f, a: f'{{{more}"{name}": "{f}", "{arguments}": {json.dumps(a, ensure_ascii=False)}}}'


def in_tags(opener: str, closer: str, inner: Callable[[str, Arguments], str]) -> Callable[[str, Arguments], str]:
    return lambda f, a: opener + BLANK + inner(f, a) + BLANK + closer


def pairs(opener: str, key: str, value: str, closer: str) -> Callable[[str, Arguments], str]:
    """`*` is the name of the function, of the key, and the value."""

    def one(f: str, a: Arguments) -> str:
        parts = (key.replace("*", k) + value.replace("*", text_of(v)) for k, v in a.items())
        return opener.replace("*", f) + BLANK + "".join(part + BLANK for part in parts) + closer

    return one


def raw(opener: str, closer: str) -> Callable[[str, Arguments], str]:
    return lambda f, a: opener.replace("*", f) + json.dumps(a) + closer


def python(f: str, a: Arguments) -> str:
    return f"{f}({', '.join(f'{k}={v!r}' for k, v in a.items())})"


def written(value: Any, quote: str) -> str:
    """As Gemma's templates write values."""
    if isinstance(value, str):
        return quote + value + quote
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}:{written(v, quote)}" for k, v in value.items()) + "}"
    return "[" + ",".join(written(v, quote) for v in value) + "]" if isinstance(value, list) else json.dumps(value)


def element(key: str, value: Any) -> str:
    """As MiniMax-M3's template writes values."""
    inner = text_of(value)
    if isinstance(value, dict):
        inner = "".join(element(k, v) for k, v in value.items())
    elif isinstance(value, list):
        inner = "".join(element("item", v) for v in value)
    return f"{M3}<{key}>{inner}{M3}</{key}>"


def elements(f: str, a: Arguments) -> str:
    return f'{M3}<invoke name="{f}">{BLANK}' + "".join(element(k, v) + BLANK for k, v in a.items()) + f"{M3}</invoke>"


HERMES = Form(in_tags("<tool_call>", "</tool_call>", wrapped()))
GLM = "<arg_key>*</arg_key>~<arg_value>", "*</arg_value>"
QWEN = pairs("<function=*>", "<parameter=*>", "\n*\n</parameter>", "</function>")
SEED = pairs("<function=*>", "<parameter=*>", "*</parameter>", "</function>")
DSML = pairs('<｜DSML｜invoke name="*">', '<｜DSML｜parameter name="*">', "*</｜DSML｜parameter>", "</｜DSML｜invoke>")
STEP = pairs(
    '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="*">',
    '<steptml:parameter name="*">',
    "*</steptml:parameter>",
    "</steptml:invoke><｜tool_call_end｜>",
)
PLAMO = raw(
    "<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>*<|plamo:end_tool_name:plamo|>"
    "<|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>",
    "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>",
)
FORMS = {
    **dict.fromkeys(("hermes", "granite4", "ernie45", "exaone4", "ling2"), HERMES),
    "qwen3_coder": Form(in_tags("<tool_call>", "</tool_call>", QWEN)),
    "seed_oss": Form(in_tags("<seed:tool_call>", "</seed:tool_call>", SEED), think=("<seed:think>", "</seed:think>")),
    "glm": Form(pairs("<tool_call>*", *GLM, "</tool_call>")),
    "hy_v3": Form(pairs("<tool_call>*<tool_sep>", *GLM, "</tool_call>"), "<tool_calls>~", BLANK, "~</tool_calls>"),
    "deepseek": Form(
        raw("<｜tool▁call▁begin｜>*<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
        "<｜tool▁calls▁begin｜>~",
        BLANK,
        "~<｜tool▁calls▁end｜>",
    ),
    "kimi_k2": Form(
        raw("<|tool_call_begin|>~functions.*:0~<|tool_call_argument_begin|>~", "~<|tool_call_end|>"),
        "<|tool_calls_section_begin|>~",
        BLANK,
        "~<|tool_calls_section_end|>",
    ),
    "dsml": Form(DSML, "<｜DSML｜function_calls>~", BLANK, "~</｜DSML｜function_calls>"),
    "minimax_m2": Form(
        pairs('<invoke name="*">', '<parameter name="*">', "*</parameter>", "</invoke>"),
        "<minimax:tool_call>~",
        BLANK,
        "~</minimax:tool_call>",
    ),
    "minimax_m3": Form(elements, f"{M3}<tool_call>~", BLANK, f"~{M3}</tool_call>", ("<mm:think>", "</mm:think>")),
    "minicpm5": Form(pairs('<function name="*">', '<param name="*">', "*</param>", "</function>")),
    "step3": Form(STEP, "<｜tool_calls_begin｜>~", BLANK, "~<｜tool_calls_end｜>"),
    "functionary": Form(raw("<function=*>", "</function>"), think=None),
    "plamo3": Form(
        PLAMO,
        "<|plamo:begin_tool_requests:plamo|>~",
        BLANK,
        "~<|plamo:end_tool_requests:plamo|>",
        ("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
    ),
    "mistral": Form(raw("[TOOL_CALLS]*[ARGS]", ""), apart="", think=("[THINK]", "[/THINK]")),
    "llama3": Form(wrapped("parameters"), apart="; ", think=None, fits_before_text=False),
    "xlam": Form(wrapped(), "[", ", ", "]", None, fits_before_text=False),
    "phi4_mini": Form(wrapped(), "functools[", ",~", "]", None),
    "granite3": Form(wrapped(), "<|tool_call|>~[", ",~", "]", None),
    "jamba": Form(wrapped(), "<tool_calls>~[~", ",~", "~]~</tool_calls>"),
    "hunyuan_a13b": Form(wrapped(), "<tool_calls>~[~", ",~", "~]~</tool_calls>"),
    "nemotron_v2": Form(wrapped(), "<TOOLCALL>~[~", ",~", "~]~</TOOLCALL>"),
    "internlm": Form(in_tags("<|action_start|>~<|plugin|>", "<|action_end|>", wrapped("parameters"))),
    "longcat": Form(
        in_tags("<longcat_tool_call>", "</longcat_tool_call>", wrapped()), think=("<longcat_think>", "</longcat_think>")
    ),
    "gigachat3": Form(lambda f, a: "function call<|role_sep|>~" + wrapped()(f, a), apart="", think=None),
    "cohere": Form(
        wrapped("parameters", "tool_name", '"tool_call_id": "0", '),
        "<|START_ACTION|>~[~",
        ",~",
        "~]~<|END_ACTION|>",
        ("<|START_THINKING|>", "<|END_THINKING|>"),
    ),
    "apertus": Form(
        lambda f, a: json.dumps({f: a}),
        "<|tools_prefix|>[",
        ", ",
        "]<|tools_suffix|>",
        ("<|inner_prefix|>", "<|inner_suffix|>"),
    ),
    "pythonic": Form(python, "[", ", ", "]", None, fits_before_text=False),
    "lfm2": Form(python, "<|tool_call_start|>~[", ",~", "]~<|tool_call_end|>"),
    "olmo3": Form(python, "<function_calls>~", "\n", "~</function_calls>"),
    "gemma4": Form(
        in_tags("<|tool_call>", "<tool_call|>", lambda f, a: f"call:{f}" + written(a, '<|"|>')),
        think=("<|channel>thought\n", "<channel|>"),
    ),
    "functiongemma": Form(
        in_tags("<start_function_call>", "<end_function_call>", lambda f, a: f"call:{f}" + written(a, "<escape>")),
        think=None,
    ),
}
POINT = {"a": {"type": "object", "properties": {"b": {"type": "array", "items": {"type": "integer"}}}}}
PARAMETERS = {
    "s": {"type": "string"},
    "t": {"type": "string"},
    "n": {"type": "integer"},
    "b": {"type": "boolean"},
    "o": {"type": "object", "properties": {**POINT, "c": {"type": "string"}}},
    "l": {"type": "array", "items": {"type": "string"}},
}
TOOLS = [{"name": name, "parameters": {"properties": PARAMETERS}} for name in ("get_weather", "f")]
ARGUMENTS: list[Arguments] = [
    {},
    {"s": 'it\'s "q" \\ back', "t": "a\nb\n\nc"},
    {"n": 3, "b": True, "o": {"a": {"b": [1, 2]}, "c": "x"}, "l": ["a", "b"]},
    {"s": "日本 \U0001f600 é", "t": "<b>x</b> {y} [z] (w), a=b; c: d"},
    {"s": "", "l": [], "t": "  pad  "},
    {"s": "</think> <think>", "t": "```py\nprint('x')\n```"},
]
every_family = pytest.mark.parametrize("row", FORMS)


def answer(text: str, row: str, size: int) -> tuple[str, str, list[tuple[str, Any, bool]]]:
    """What is read from pieces of this size: reasoning, content, calls."""
    parser = hs.Parser(row, tools=TOOLS)
    events = [event for at in range(0, len(text), size) for event in parser.feed_text(text[at : at + size])]
    events += parser.finish()
    reasoning = "".join(event.text for event in events if isinstance(event, hs.ReasoningDelta))
    content = "".join(event.text for event in events if isinstance(event, hs.ContentDelta))
    starts = [event for event in events if isinstance(event, hs.ToolCallStart)]
    complete = [event.complete for event in events if isinstance(event, hs.ToolCallEnd)]
    texts = ["" for _ in starts]
    for event in events:
        if isinstance(event, hs.ToolCallDelta):
            texts[event.index] += event.arguments
    calls = [(start.name, json.loads(text), done) for start, text, done in zip(starts, texts, complete)]
    return reasoning.strip(), " ".join(content.split()), calls


def check(row: str, text: str, reasoning: str, content: str, calls: list[tuple[str, Arguments]]) -> None:
    expected = (reasoning, content, [(name, dict(arguments), True) for name, arguments in calls])
    for size in (1, 3, len(text)):
        assert answer(text, row, size) == expected, text


@every_family
@pytest.mark.parametrize("blank", ["", "\n", " "])
def test_blanks_between_markers_mean_nothing(row: str, blank: str):
    form = FORMS[row]
    for arguments in ARGUMENTS:
        for calls in ([("f", arguments)], [("get_weather", arguments), ("f", {"s": "x"})]):
            text = form.render(calls, blank)
            check(row, text, "", "", calls)
            if form.think:
                opener, closer = form.think
                check(row, f"{opener}Hm.\n{closer}\n\nOk.\n{text}", "Hm.", "Ok.", calls)
                check(row, f"{opener}{closer}\n\n{text}", "", "", calls)


@every_family
def test_text_around_calls_stays(row: str):
    form, calls = FORMS[row], [("get_weather", ARGUMENTS[1]), ("f", {})]
    for blank in ("", "\n"):
        text = form.render(calls, blank)
        for after in ("It rains.", "\n\nIt rains.\nAnd snows.", ' {"a": 1} is JSON.', "\n[1, 2]\n"):
            check(row, text + after, "", " ".join(after.split()), calls)
            if form.fits_before_text:
                check(row, f"First.\n{text}{after}", "", " ".join(f"First. {after}".split()), calls)
                check(row, f"{text}\nThen.\n{text}", "", "Then.", calls + calls)


def test_magistral_2506_spells_its_think_tags():
    row = hs.format_for("mistralai/Magistral-Small-2506")
    for size in (1, 3, 100):
        text = '<think>\nHm.\n</think>\n\nOk.\n[TOOL_CALLS]f[ARGS]{"s": "x"}'
        assert answer(text, row, size) == ("Hm.", "Ok.", [("f", {"s": "x"}, True)])
