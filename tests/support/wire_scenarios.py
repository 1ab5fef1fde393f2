"""What models may write, format by format, and what clients must get for it: both are written by hand.

A stream is named `format/form/scenario`; the form is how it comes: as "ids" or as "text".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

from families import TOOLS
from streams import encode_bytewise, encode_greedily, to_ids
from tag_streams import tokens

import harmonystream as hs

FORMS = ("ids", "text")


class Text(NamedTuple):
    """kind: "reasoning", "content" or "preamble", which is content in front of calls."""

    kind: str
    text: str
    complete: bool = True
    channel: str | None = None  # of Harmony, if the kind does not say it


class Call(NamedTuple):
    """written: the arguments as the model spells them; arguments: as clients get them, if not the same;
    input: what they are in Messages. item: what Responses makes of the call, if it is not a function call."""

    name: str
    written: str
    input: Any
    complete: bool = True
    arguments: str | None = None
    item: dict[str, Any] | None = None


Item = Text | Call


# The wire is the same for all rows, so some speak for the others. Each but Harmony has its Spelling below.
SPOKEN = (
    *("harmony", "hermes", "qwen3_coder", "mimo", "deepseek", "deepseek_search", "dsml", "kimi_k2", "glm", "seed_oss"),
    "think",
)


class Scenario(NamedTuple):
    """said: in order. reason: the engine's. cut: where the stream ends, see Spelling.cuts.
    text: what Harmony writes, if write() cannot. where, why: the formats that can express it; why the others cannot."""

    said: tuple[Item, ...]
    reason: str | None = "stop"
    cut: str = ""
    text: str | None = None
    where: tuple[str, ...] = SPOKEN
    why: str = ""


# --- formats ---


class Spelling(NamedTuple):
    """reasoning: a text -> its block. call: name, arguments, place -> a call. section: around all calls; between: them.
    cuts: what a stream ends with that is cut in a call's header, its name, or its arguments `{"i": 1, "s": "half`."""

    reasoning: Callable[[str], str]
    call: Callable[[str, str, int], str]
    section: tuple[str, str]
    between: str
    cuts: tuple[str, str, str]


def message(header: str, text: str, end: str = "<|end|>") -> str:
    return f"<|start|>assistant{header}<|message|>{text}{end}"


def call(name: str, arguments: str, end: str = "<|call|>") -> str:
    return message(f"<|channel|>commentary to={name} <|constrain|>json", arguments, end)


def think(text: str) -> str:
    return f"<think>\n{text}\n</think>\n\n"


def pairs(arguments: str, each: str) -> str:
    """An object as pairs of tags. each: with the key, the value, and whether it is text."""
    found = json_object(arguments)
    texts = {key: value if isinstance(value, str) else str(value) for key, value in found.items()}
    return "".join(each.format(key, texts[key], str(isinstance(found[key], str)).lower()) for key in found)


def json_object(arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(arguments or "{}")
    return found


def function(opener: str, pair: str) -> Callable[[str, str, int], str]:
    def write(name: str, arguments: str, at: int) -> str:
        return f"<{opener}tool_call>\n<function={name}>\n{pairs(arguments, pair)}</function>\n</{opener}tool_call>"

    return write


QWEN, SEED = "<parameter={}>\n{}\n</parameter>\n", "<parameter={}>{}</parameter>\n"
DSML = '<｜DSML｜parameter name="{0}" string="{2}">{1}</｜DSML｜parameter>\n'
GLM = "<arg_key>{}</arg_key>\n<arg_value>{}</arg_value>\n"
DEEP = ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>")
KIMI = ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>")
HALF = '{"i": 1, "s": "half'


def deepseek(reasoning: Callable[[str], str]) -> Spelling:
    opener = DEEP[0] + "<｜tool▁call▁begin｜>"
    return Spelling(
        reasoning,
        lambda name, arguments, at: f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜>",
        *(DEEP, ""),
        (opener, f"{opener}get_we", f"{opener}f<｜tool▁sep｜>{HALF}"),
    )


SPELLINGS = {
    "hermes": Spelling(
        think,
        lambda name, arguments, at: (
            f'<tool_call>\n{{"name": "{name}"' + (arguments and f', "arguments": {arguments}') + "}\n</tool_call>"
        ),
        *(("", ""), "\n"),
        ('<tool_call>\n{"na', '<tool_call>\n{"name": "get_we', f'<tool_call>\n{{"name": "f", "arguments": {HALF}'),
    ),
    "qwen3_coder": Spelling(
        *(think, function("", QWEN), ("", ""), "\n"),
        (
            *("<tool_call>\n<func", "<tool_call>\n<function=get_we"),
            "<tool_call>\n<function=f>\n<parameter=i>\n1\n</parameter>\n<parameter=s>\nhalf",
        ),
    ),
    "mimo": Spelling(
        *(think, function("", SEED), ("", ""), "\n"),
        (
            *("<tool_call>\n<func", "<tool_call>\n<function=get_we"),
            "<tool_call>\n<function=f>\n<parameter=i>1</parameter>\n<parameter=s>half",
        ),
    ),
    "deepseek": deepseek(think),
    "deepseek_search": deepseek(lambda text: f"<｜search▁begin｜>{text}<｜search▁end｜>\n\n"),
    "dsml": Spelling(
        lambda text: f"<think>{text}</think>",
        lambda name, arguments, at: f'<｜DSML｜invoke name="{name}">\n{pairs(arguments, DSML)}</｜DSML｜invoke>\n',
        *(("\n\n<｜DSML｜function_calls>\n", "</｜DSML｜function_calls>"), ""),
        (
            "\n\n<｜DSML｜function_calls>\n<｜DSML｜inv",
            '\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_we',
            '\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="i" string="false">1'
            '</｜DSML｜parameter>\n<｜DSML｜parameter name="s" string="true">half',
        ),
    ),
    "kimi_k2": Spelling(
        lambda text: f"<think>{text}</think>",
        lambda name, arguments, at: (
            f"<|tool_call_begin|>functions.{name}:{at}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>"
        ),
        *(KIMI, ""),
        (
            f"{KIMI[0]}<|tool_call_begin|>",
            f"{KIMI[0]}<|tool_call_begin|>functions.get_we",
            f"{KIMI[0]}<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{HALF}",
        ),
    ),
    "glm": Spelling(
        lambda text: f"<think>{text}</think>\n",
        lambda name, arguments, at: f"<tool_call>{name}\n{pairs(arguments, GLM)}</tool_call>",
        *(("", ""), "\n"),
        (
            *("<tool_call>", "<tool_call>get_we"),
            "<tool_call>f\n<arg_key>i</arg_key>\n<arg_value>1</arg_value>\n<arg_key>s</arg_key>\n<arg_value>half",
        ),
    ),
    "seed_oss": Spelling(
        lambda text: f"<seed:think>{text}</seed:think>",
        *(function("seed:", SEED), ("", ""), "\n"),
        (
            *("<seed:tool_call>\n<func", "<seed:tool_call>\n<function=get_we"),
            "<seed:tool_call>\n<function=f>\n<parameter=i>1</parameter>\n<parameter=s>half",
        ),
    ),
    "think": Spelling(think, lambda *_: "", ("", ""), "", ("", "", "")),
}
CUTS = ("header", "name", "arguments")
OPENERS = (DEEP[0], "<｜tool▁call▁begin｜>", KIMI[0], "<|tool_call_begin|>", "<tool_call>", "<seed:tool_call>")
HARMONY_CUTS = (
    "<|start|>assistant<|channel|>comm",
    "<|start|>assistant<|channel|>commentary to=functions.get_we",
    call("functions.f", HALF, ""),
)
HEADERS = {
    "reasoning": "<|channel|>analysis",
    "preamble": "<|channel|>commentary",
    "content": "<|channel|>final",
}

# --- scenarios ---

CALLING = tuple(name for name in SPOKEN if name != "think")
JSON_BODIES = ("harmony", "hermes", "deepseek", "deepseek_search", "kimi_k2")
NO_CALLS = "models of this format call no tools"
NO_BODY = f"{NO_CALLS}, or write pairs of keys and values, of which the parser makes an object"
NO_CHANNELS = "only Harmony has channels and recipients"
PREAMBLE, HM = Text("preamble", "One moment."), Text("reasoning", "Hm, 雨.")
F, G = Call("f", '{"i": 1}', {"i": 1}), Call("web-search", '{"s": "雨", "i": 2}', {"s": "雨", "i": 2})
ROCKET = "👩🏽‍🚀 é\u2028\x00 雨伞"
UNIT, UNITS = "雨 and so on, ", 1_700  # of 6 tokens or more
LONG = UNIT * UNITS
CODE = "print('雨')\n"
PYTHON = {"type": "code_interpreter_call", "container_id": "auto", "outputs": None, "code": CODE}
MCP = {"type": "mcp_call", "server_label": "files", "name": "read", "arguments": '{"path": "x"}'}


def search(**action: str) -> dict[str, Any]:
    return {"type": "web_search_call", "action": action}


def calls(*said: Item, why: str = NO_CALLS, where: tuple[str, ...] = CALLING, **more: Any) -> Scenario:
    return Scenario(said, where=where, why=why, **more)


def harmony(text: str, *said: Item, **more: Any) -> Scenario:
    return Scenario(said, text=text, where=("harmony",), why=NO_CHANNELS, **more)


SCENARIOS = {
    "reasoning only": Scenario((HM,)),
    "content only": Scenario((Text("content", "It is 雨."),)),
    "reasoning and content": Scenario((HM, Text("content", 'It is \\ "雨".'))),
    "preamble and a call": calls(PREAMBLE, F),
    "preamble and three calls": calls(HM, PREAMBLE, F, F, G),
    "a call alone": calls(G),
    "empty arguments": calls(Call("f", "", {}, arguments="{}")),
    "an empty object": calls(Call("f", "{}", {})),
    "arguments that begin with a newline": calls(Call("f", '\n{"i": 1}', {"i": 1}), F, where=JSON_BODIES, why=NO_BODY),
    "arguments that are not JSON": calls(
        Call("f", "print(1)", {"input": "print(1)"}), F, where=JSON_BODIES, why=NO_BODY
    ),
    "arguments that stop being JSON": calls(
        Call("f", '{"i": 1, b', {"i": 1, "INVALID_JSON": '{"i": 1, b'}),
        where=tuple(name for name in JSON_BODIES if name != "hermes"),
        why=f"{NO_BODY}; in hermes they are a part of an object, which then has no end",
    ),
    "arguments that are not an object": calls(Call("f", "[1]", {"input": "[1]"}), where=JSON_BODIES, why=NO_BODY),
    "unicode split over tokens": Scenario((Text("reasoning", ROCKET), Text("content", f"雨伞 😀 {ROCKET}"))),
    "unicode of arguments": calls(Call("f", '{"s": "雨 👩🏽‍🚀 é"}', {"s": "雨 👩🏽‍🚀 é"})),
    "cut in a header": calls(PREAMBLE, cut="header", reason="length"),
    "cut in a name": calls(PREAMBLE, cut="name", reason="length"),
    "cut in arguments": calls(PREAMBLE, Call("f", HALF, {"i": 1}, False), cut="arguments", reason="length"),
    "cut in reasoning": Scenario((Text("reasoning", "Hm, let me", False),), "length"),
    "cut in content": Scenario((HM, Text("content", "It is", False)), "length"),
    "cut by a filter": Scenario((Text("content", "It is", False),), "content_filter"),
    "no markup at all": Scenario((Text("content", "Hello there", channel=""),), text="Hello there"),
    "structured output": Scenario((HM, Text("content", '{"city": "Rom 雨"}'))),
    "10,000 tokens of arguments": calls(Call("f", f'{{"s": "{LONG}"}}', {"s": LONG})),
    "nothing": Scenario((), None),
    "unknown channel": harmony(message("<|channel|>review", "Hi"), Text("content", "Hi", channel="review")),
    "no channel": harmony(message("", "Hi"), Text("content", "Hi", channel="")),
    "empty messages": harmony("".join(message(header, "") for header in HEADERS.values())),
    "several messages": harmony(
        "".join(message(HEADERS[kind], "Hi") for kind in ("reasoning", "reasoning", "content", "content")),
        *(Text(kind, "Hi") for kind in ("reasoning", "reasoning", "content", "content")),
    ),
    "a foreign message": harmony(
        message(HEADERS["reasoning"], "a") + "<|start|>user<|message|>b<|end|>" + message(HEADERS["content"], "c"),
        *(Text("reasoning", "a"), Text("content", "c")),
    ),
    "structured output after a preamble": harmony(
        message(HEADERS["preamble"], "One moment.") + message(HEADERS["content"], '{"city": "Rom 雨"}'),
        *(PREAMBLE, Text("content", '{"city": "Rom 雨"}')),
    ),
    "built-in tools": harmony(
        message("<|channel|>analysis to=python code", CODE, "<|call|>")
        + call("browser.search", '{"query": "雨"}')
        + call("browser.open", '{"id": 1}')
        + call("container.exec", '{"cmd": []}'),
        Call("python", CODE, {"input": CODE}, item=PYTHON),
        Call("browser.search", '{"query": "雨"}', {"query": "雨"}, item=search(type="search", query="雨")),
        Call("browser.open", '{"id": 1}', {"id": 1}, item=search(type="open_page", url="id:1")),
        Call("container.exec", '{"cmd": []}', {"cmd": []}),
    ),
    "an MCP server": harmony(
        call("files.read", '{"path": "x"}'), Call("files.read", '{"path": "x"}', {"path": "x"}, item=MCP)
    ),
}
ISSUE = (  # what nobody may take out of the table
    *("reasoning only", "content only", "preamble and a call", "preamble and three calls", "empty arguments"),
    *("arguments that begin with a newline", "arguments that are not JSON", "unicode split over tokens"),
    *("cut in a header", "cut in a name", "cut in arguments", "cut in reasoning", "no markup at all"),
    *("unknown channel", "built-in tools", "10,000 tokens of arguments"),
)


# --- streams ---


def write(format: str, scenario: Scenario) -> str:
    """What a model writes."""
    if scenario.text is not None:
        return scenario.text.removeprefix("<|start|>assistant")
    if format == "harmony":
        return write_harmony(scenario)
    spelling = SPELLINGS[format]
    tail = spelling.cuts[CUTS.index(scenario.cut)] if scenario.cut else ""
    texts = ""
    made: list[str] = []
    for item in scenario.said:
        if isinstance(item, Call):
            made += [spelling.call(item.name, item.written, len(made))] if item.complete else []
        elif item.kind == "reasoning":
            block = spelling.reasoning(item.text)
            texts += block if item.complete else block[: block.index(item.text) + len(item.text)]
        else:
            texts += item.text
    opener, closer = spelling.section
    return texts + (opener + spelling.between.join(made) + closer if made else "") + tail


def write_harmony(scenario: Scenario) -> str:
    texts = ""
    for item in scenario.said:
        if isinstance(item, Text):
            texts += message(HEADERS[item.kind], item.text, "<|end|>" if item.complete else "")
        elif item.complete:
            texts += call(f"functions.{item.name}", item.written)
    texts += HARMONY_CUTS[CUTS.index(scenario.cut)] if scenario.cut else ""
    return texts.removeprefix("<|start|>assistant")


def half_header(format: str, form: str, cut: str) -> str:
    """What is shown of a header that is cut: its text, but never a control token, of the newlines around which one
    stays, nor openers alone."""
    tail = SPELLINGS[format].cuts[CUTS.index(cut)]
    rest = tail
    for opener in OPENERS:
        rest = rest.replace(opener, "")
    if not rest:
        return ""
    return "\n" * rest.startswith("\n") + rest.lstrip("\n") if form == "ids" and rest != tail else tail


def as_clients_get(call: Call, arguments: str, format: str) -> Call:
    """Of what must be one JSON object, and is not, clients get arguments that no JSON parser takes. Harmony's calls may
    have any text."""
    if format == "harmony" or not call.complete or is_object(arguments):
        return call._replace(arguments=arguments)
    made = arguments + "{INVALID_JSON}"
    read = {key: made if value == arguments else value for key, value in call.input.items()}
    return call._replace(arguments=made, input=read)


def is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def expected_items(format: str, scenario: Scenario, form: str = "ids") -> list[Item]:
    """What clients get. Other formats than Harmony skip what stands before the arguments, and they have no mark
    for the end of a text: one that is followed by a call which is cut in its header is cut, too, and goes on with what
    is shown of that."""
    said: list[Item] = []
    for item in scenario.said:
        if isinstance(item, Call) and item.arguments is None:
            said.append(as_clients_get(item, item.written if format == "harmony" else item.written.strip(), format))
        else:
            said.append(item)
    if format != "harmony" and scenario.cut in ("header", "name"):
        last = said[-1]
        assert isinstance(last, Text)
        said[-1] = last._replace(text=last.text + half_header(format, form, scenario.cut), complete=False)
    return said


@cache
def streams() -> dict[str, tuple[str, str, Scenario]]:
    """All of them: name -> (format, form, scenario)."""
    return {
        f"{format}/{form}/{name}": (format, form, scenario)
        for name, scenario in SCENARIOS.items()
        for format in scenario.where
        for form in FORMS
    }


@cache
def vocab_of(format: str) -> hs.Vocab | None:
    return None if format == "harmony" else tokens(format).vocab


def parser_of(name: str) -> hs.Parser:
    format, form, _ = streams()[name]
    return hs.Parser(format, vocab_of(format) if form == "ids" else None, tools=TOOLS)


@cache
def pieces_of(name: str) -> tuple[Any, ...]:
    """A stream as it comes: one token each, or some bytes; of a long one, some more at a time."""
    format, form, scenario = streams()[name]
    text, split = write(format, scenario), "unicode" in name
    if form == "text":
        return tuple(cut(text.encode(), 1) if split else cut(text, 500 if LONG in text else 5))

    def encode(part: str) -> list[int]:
        if format == "harmony":
            return to_ids(part.encode(), encode_bytewise if split else encode_greedily)
        return tokens(format).encode(part.encode(), greedy=not split)

    if LONG not in text:
        return tuple(encode(text))
    head, tail = text.split(LONG)
    return tuple(cut(encode(head) + encode(UNIT) * UNITS + encode(tail), 64))


def cut(stream: Any, size: int) -> Iterable[Any]:
    return (stream[at : at + size] for at in range(0, len(stream), size))
