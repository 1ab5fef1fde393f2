"""Conversations rendered with each family's chat template come back as they were, from text and from ids."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from families import FAMILIES, NAMES, TOOLS, Family, encode, flavours, render, tokenizer, vocab
from hypothesis import given, settings
from hypothesis import strategies as st

import harmonystream as hs

PIECES = [
    *" \n\t\"'\\`{}[]<>()/|:,.=&%-–éß伞雨😀👩🏽a1",
    *(
        "\n\n",
        "null",
        "True",
        "</",
        "<tool",
        "</tool_",
        "<|",
        "<｜",
        "｜",
        "```",
        "the weather",
        "天气很好",
        "\\n",
        "\\u00e9",
        '": "',
        "{{ x }}",
    ),
    *("\x00", "\x1b", "\x7f", "\u2028", "\ufeff", "\U0010ffff"),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.characters(exclude_categories=["Cs"]), max_size=12).map("".join)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
VALUES = {
    "s": TEXTS,
    "i": st.integers(),
    "n": FLOATS | st.integers(),
    "b": st.booleans(),
    "o": st.dictionaries(TEXTS, JSON, max_size=3),
    "l": st.lists(JSON, max_size=3),
    "u": st.none() | st.integers(),
    "su": st.none() | TEXTS.filter(lambda text: text.strip().lower() != "null"),
    "e": st.sampled_from(["red", "green"]),
    "the key-1": TEXTS,
}
ARGUMENTS = st.fixed_dictionaries({}, optional=VALUES)


def is_no_fence(text: str) -> bool:
    """A call after the first line of a fence would be an example."""
    return re.match(r"[ \t>*+.)0-9-]*```", text.rstrip().rpartition("\n")[2]) is None


@st.composite
def conversations(draw: Any, family: Family) -> tuple[list[dict[str, Any]], str, str]:
    """Messages of which the last is the model's, the `thinking` of the template, and where the stream starts."""
    thinking = draw(st.sampled_from(sorted(family.modes)))
    start = family.modes[thinking]
    calls = 0

    def assistant(most: int) -> dict[str, Any]:
        nonlocal calls
        made = []
        for name in draw(st.lists(st.sampled_from(NAMES), max_size=most)):
            made.append({"id": f"functions.{name}:{calls}", "name": name, "arguments": draw(ARGUMENTS)})
            calls += 1
        said = TEXTS.filter(is_no_fence) if made else TEXTS
        return {"role": "assistant", "reasoning": draw(said), "content": draw(said), "calls": made}

    most = 0 if family.row == "think" else 3
    messages: list[dict[str, Any]] = [{"role": "user", "content": draw(TEXTS)}]
    if draw(st.booleans()):
        before = assistant(most)
        messages.append(before)
        for call in before["calls"]:
            messages.append({"role": "tool", "id": call["id"], "content": draw(TEXTS)})
        if not before["calls"]:
            messages.append({"role": "user", "content": draw(TEXTS)})
        elif family.after_tool:
            start = family.after_tool
    last = assistant(most)
    if start == "answer" or (family.template == "deepseek_v3" and start == "content"):
        last["reasoning"] = ""
    return [*messages, last], thinking, start


def as_written(family: Family, value: Any, key: str) -> Any:
    """What a value is once its template has written it: some lose what they cannot express."""
    if family.python and key == "su" and value is None:
        return "None"  # as the text None is written
    return value


def expected(family: Family, messages: list[dict[str, Any]], thinking: str, start: str) -> tuple[Any, ...]:
    """Reasoning, content, and calls with their ids. Newlines that touch a marker are layout."""
    message, after_tool = messages[-1], bool(family.after_tool) and messages[-2]["role"] == "tool"
    reasoning, content = message["reasoning"].rstrip("\n"), message["content"]
    calls = [
        (call["name"], [(key, paired(as_written(family, value, key))) for key, value in call["arguments"].items()])
        for call in message["calls"]
    ]
    if not after_tool:  # where the result stands between the think tag and the output
        reasoning = reasoning.lstrip("\n")
    if thinking == "budget":
        reasoning = message["reasoning"] + "</seed:cot_budget_reflect>"  # the prompt goes on after the tag
    if family.row == "deepseek_search":
        content = "" if calls else content.lstrip("\n")
    elif message["reasoning"] or family.template == "glm45" or (start != "content" and not after_tool):
        content = content.lstrip("\n")
    if calls:
        content = content.rstrip("\n")
    ids = [call["id"] if family.row == "kimi_k2" else None for call in message["calls"]]
    return reasoning, content, calls, ids


def parsed(parser: hs.Parser, pieces: list[Any]) -> tuple[Any, ...]:
    """The same of a stream, with its finish reason and deviations; every call must be complete."""
    reasoning, content, calls, ids, arguments = "", "", [], [], ""
    events: list[hs.Event] = []
    for piece in pieces:
        events += parser.feed_text(piece) if isinstance(piece, (str, bytes)) else parser.feed(piece)
    for event in (*events, *parser.finish("stop")):
        match event:
            case hs.ReasoningDelta(text=text):
                reasoning += text
            case hs.ContentDelta(text=text):
                content += text
            case hs.ToolCallStart(index=index, name=name, id=tid, kind="function"):
                assert index == len(calls)
                calls.append((name, None))
                ids.append(tid)
                arguments = ""
            case hs.ToolCallDelta(arguments=text):
                arguments += text
            case hs.ToolCallEnd(complete=True, balanced=True):
                calls[-1] = (calls[-1][0], json.loads(arguments, object_pairs_hook=list))
            case hs.ToolCallEnd():
                raise AssertionError(event)
    return reasoning, content, calls, ids, [deviation.code for deviation in parser.deviations]


def paired(value: Any) -> Any:
    """Objects as lists of pairs, as `parsed` has them: their order counts."""
    if isinstance(value, dict):
        return [(key, paired(item)) for key, item in value.items()]
    return [paired(item) for item in value] if isinstance(value, list) else value


def cut(draw: Any, stream: Any) -> list[Any]:
    """The stream in pieces: whole, unit by unit, or cut at random."""
    if draw(st.booleans()):
        return [stream] if draw(st.booleans()) else [stream[i : i + 1] for i in range(len(stream))]
    places = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    return [stream[start:stop] for start, stop in zip([0, *places], [*places, len(stream)])]


@pytest.mark.parametrize("ids", [False, True], ids=["text", "ids"])
@pytest.mark.parametrize("name", FAMILIES)
def test_what_was_rendered_is_parsed(name, ids):
    family = FAMILIES[name]
    kinds = sorted(flavours(family).values())

    @settings(max_examples=settings.default.max_examples // 4)
    @given(st.data())
    def check(data: Any) -> None:
        messages, thinking, start = data.draw(conversations(family))
        prompt, output = render(family, messages, thinking)
        if ids:
            added = data.draw(st.sampled_from(kinds))
            words = tokenizer(*added)
            parser = hs.Parser(family.row, vocab(*added), check_stops=False, tools=TOOLS, prompt=encode(words, prompt))
            pieces = cut(data.draw, encode(words, output))
        else:
            parser = hs.Parser(family.row, tools=TOOLS, prompt=prompt)
            pieces = cut(data.draw, output.encode() if data.draw(st.booleans()) else output)
        want = expected(family, messages, thinking, start)
        in_reasoning = len(want[2]) if family.row == "deepseek_search" else 0
        assert parsed(parser, pieces) == (*want, ["call-in-reasoning"] * in_reasoning)

    check()


# --- values that quote markup -------------------------------------------------------------------------------------

TAGS = (
    "<function=f>",
    "</function>",
    "<parameter=s>",
    "</parameter>",
    "</parameter>\n<parameter",
    "</｜DSML｜parameter>",
)
TAGS += ('<｜DSML｜invoke name="f">', "</｜DSML｜invoke>", "</｜DSML｜tool_calls>", '{"name": "f"}', "```", "\\n```\n")


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if family.row != "think"])
def test_markup_that_a_value_quotes_is_data(name):
    family = FAMILIES[name]
    control = family.row in ("deepseek", "deepseek_search", "kimi_k2")  # a tokenizer makes markers of what it is given
    for marker in (*family.special, *family.plain, *TAGS):
        call = {"id": "functions.f:0", "name": "f", "arguments": {"s": f"a {marker} b\n", "i": 1}}
        messages = [
            {"role": "user", "content": ""},
            {"role": "assistant", "reasoning": "", "content": "c", "calls": [call]},
        ]
        thinking, start = next(iter(family.modes.items()))
        prompt, output = render(family, messages, thinking)
        codes = ["call-in-reasoning"] if family.row == "deepseek_search" else []
        want = (*expected(family, messages, thinking, start), codes)
        for text in (output, output.encode()):
            for pieces in ([text], [text[i : i + 1] for i in range(len(text))]):
                parser = hs.Parser(family.row, tools=TOOLS, prompt=prompt)
                assert parsed(parser, pieces) == want
        if not control and marker not in family.special:
            ids = encode(tokenizer(family.special, family.plain), output)
            parser = hs.Parser(family.row, vocab(family.special, family.plain), tools=TOOLS, prompt=prompt)
            assert parsed(parser, [[tid] for tid in ids]) == want
