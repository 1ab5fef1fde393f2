"""The prompts of DeepSeek-V3.2, V4 and V4.1, which have no chat template. They are written by DeepSeek's grammar."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import PromptError
from .parts import arguments_object
from .writer import Writer

__all__ = ["VERSIONS", "write_dsml"]

_BOS, _EOS = "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"
_USER, _ASSISTANT, _SYSTEM = "<｜User｜>", "<｜Assistant｜>", "<｜System｜>"
_OPEN, _CLOSE, _DSML = "<think>", "</think>", "｜DSML｜"

_SYNTAX = """\
<D{block}>
<D{space}invoke name="${tool}_NAME">
<D{space}parameter name="$PARAMETER_NAME" string="true|false">$PARAMETER_VALUE</D{space}parameter>
...
</D{space}invoke>
<D{space}invoke name="${tool}_NAME2">
...
</D{space}invoke>
</D{block}>"""

_TOOLS_V32 = """\
## Tools

You have access to a set of tools you can use to answer the user's question.
You can invoke functions by writing a "<D{block}>" block like the following as part of your reply to the user:
{syntax}

String and scalar parameters should be specified as is without any escaping or quotes, while lists and objects should \
use JSON format. The "string" attribute should be set to "true" for string type parameters and "false" for other types \
(numbers, booleans, arrays, objects).

If the thinking_mode is enabled, then after function results you should strongly consider outputting a thinking block. \
Here is an example:

<D{block}>
...
</D{block}>

<function_results>
...
</function_results>

<think>...thinking about results</think>

Here are the functions available in JSONSchema format:
<functions>
{schemas}
</functions>
"""

_TOOLS_V4 = """\
## Tools

You have access to a set of tools to help answer the user's question. You can invoke tools by writing a "<D{block}>" \
block like the following:

{syntax}

String parameters should be specified as is and set `string="true"`. For all other types (numbers, booleans, arrays, \
objects), pass the value in JSON format and set `string="false"`.

If thinking_mode is enabled (triggered by <think>), you MUST output your complete reasoning inside <think>...</think> \
BEFORE any tool calls or final response.

Otherwise, output directly after </think> with tool calls or final response.

### Available Tool Schemas

{schemas}

You MUST strictly follow the above defined tool name and parameter schemas to invoke tool calls.
"""

_MOST = """\
Reasoning Effort: Absolute maximum with no shortcuts permitted.
You MUST be very thorough in your thinking and comprehensively decompose the problem to resolve the root cause, \
rigorously stress-testing your logic against all potential paths, edge cases, and adversarial scenarios.
Explicitly write out your entire deliberation process, documenting every intermediate step, considered alternative, \
and rejected hypothesis to ensure absolutely no assumption is left unchecked.

"""

_BUDGET = "Reasoning Effort: {} (range 1-100, the higher the value, the more thorough the reasoning)\n\n"


class Version(NamedTuple):
    """One encoding.

    block, space: the spelling of tags after `｜DSML｜`. tools, tool: the text that explains the tools, and its
    placeholder. results: whether results are in the "assistant" turn or in a "user" turn. efforts: what each reasoning
    effort adds at the beginning; None has the default. system: the marker before the system message.
    """

    block: str
    space: str
    tools: str
    tool: str
    results: str
    efforts: Mapping[str | None, str]
    system: str = ""


VERSIONS = {
    "v3.2": Version("function_calls", "", _TOOLS_V32, "FUNCTION", "assistant", {None: ""}),
    "v4": Version("tool_calls", "", _TOOLS_V4, "TOOL", "user", {None: "", "high": "", "max": _MOST}),
    "v4.1": Version(
        " calls",
        " ",
        _TOOLS_V4,
        "TOOL",
        "user",
        {
            None: _BUDGET.format(50),
            **{name: _BUDGET.format(value) for name, value in (("low", 25), ("high", 50), ("xhigh", 75), ("max", 100))},
        },
        _SYSTEM,
    ),
}


def write_dsml(
    chat: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    writer: Writer,
    *,
    version: str,
    thinking: bool,
    effort: str | None = None,
    continue_final: bool = False,
) -> None:
    """Write a normalised chat. thinking: does the model reason? effort: how much, if the version has efforts.

    Raises `PromptError` for an unknown version or effort.
    """
    if version not in VERSIONS:
        raise PromptError(f"dialect is {version!r}; DeepSeek's encodings are {', '.join(VERSIONS)}")
    row = VERSIONS[version]
    if effort not in row.efforts:
        known = ", ".join(name for name in row.efforts if name) or "no efforts"
        raise PromptError(f"reasoning is {effort!r}; the encoding {version} knows {known}")
    _Dsml(chat, tools, writer, row, thinking).write(row.efforts[effort] if thinking else "", continue_final)


class _Dsml:
    def __init__(
        self,
        chat: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        writer: Writer,
        version: Version,
        thinking: bool,
    ) -> None:
        self._chat, self._tools, self._out = chat, tools, writer
        self._version, self._thinking = version, thinking
        users = [i for i, message in enumerate(chat) if message["role"] in ("user", "developer")]
        self._last_user = users[-1] if users else -1
        called = any(message["role"] == "tool" for message in chat)
        self._keeps = version.results == "user" and bool(tools or called)  # if tools are used, all reasoning is kept

    def write(self, effort: str, continue_final: bool) -> None:
        out = self._out
        out.marker(_BOS)
        self._system(effort)
        turn = ""  # the role whose text is being written
        for i, message in enumerate(self._chat):
            role = message["role"]
            if role == "system":
                continue
            if role == "assistant":
                self._begin(i, turn)
                self._assistant(i, message, open_end=continue_final and i == len(self._chat) - 1)
                turn = "assistant"
            elif role == "tool" and self._version.results == "assistant":
                self._result_in_turn(i, message)
                turn = "results"
            else:
                if turn == "user" and self._version.results == "user":
                    out.text("\n\n")
                else:
                    self._end_unanswered(turn)
                    out.marker(_USER)
                text = _text(message, i)
                out.text(f"<tool_result>{text}</tool_result>" if role == "tool" else text)
                turn = "user"
        if not continue_final and turn in ("user", "results"):
            self._begin(len(self._chat), turn)

    def _end_unanswered(self, turn: str) -> None:
        """V3.2's text at the place of an assistant's turn, if the user speaks there instead."""
        if self._version.results == "user" or turn not in ("user", "results"):
            return
        if turn == "user":
            self._out.marker(_ASSISTANT)
        else:
            self._out.text("\n\n")
        self._out.marker(_CLOSE)

    def _system(self, effort: str) -> None:
        """Write the system message and then the tools, as one text at the beginning."""
        sections = [_text(message, i) for i, message in enumerate(self._chat) if message["role"] == "system"]
        if (effort or sections) and self._version.system:
            self._out.marker(self._version.system)
        self._out.text(effort)
        self._out.text("\n\n".join(sections))
        if self._tools:
            self._out.text("\n\n" if sections else "")
            self._declare()

    def _declare(self) -> None:
        version = self._version
        syntax = _SYNTAX.format(block=version.block, space=version.space, tool=version.tool)
        before, after = version.tools.replace("{syntax}", syntax).replace("{block}", version.block).split("{schemas}")
        self._marked(before)
        self._out.text("\n".join(_json(tool["function"]) for tool in self._tools))
        self._marked(after)

    def _marked(self, text: str) -> None:
        """Write our own text, in which `<D` opens a tag and the thinking tags are tokens."""
        for i, piece in enumerate(text.replace("</D", "</\0").replace("<D", "<\0").split("\0")):
            if i:
                self._out.marker(_DSML)
            while _OPEN in piece or _CLOSE in piece:
                tag = min((tag for tag in (_OPEN, _CLOSE) if tag in piece), key=piece.index)
                head, _, piece = piece.partition(tag)
                self._out.text(head)
                self._out.marker(tag)
            self._out.text(piece)

    def _begin(self, i: int, turn: str) -> None:
        """Write the beginning of the assistant's message i, up to the place where the model continues."""
        if turn == "results":
            self._out.text("\n\n")
            if i < len(self._chat):
                self._out.turn()
        elif turn == "user" or self._version.results == "user":
            self._out.marker(_ASSISTANT)
        else:
            if turn == "assistant":
                self._out.turn()
            return
        self._out.marker(_OPEN if self._reasons(i) else _CLOSE)

    def _reasons(self, i: int) -> bool:
        return self._thinking and (i > self._last_user or self._keeps)

    def _assistant(self, i: int, message: Mapping[str, Any], open_end: bool) -> None:
        calls = message.get("tool_calls", ())
        text = _text(message, i)
        if self._reasons(i):
            self._out.text(message.get("reasoning", ""))
            if open_end and not text and not calls:
                return
            self._out.marker(_CLOSE)
        self._out.text(text)
        if calls:
            self._calls(i, calls)
        if not open_end:
            self._out.marker(_EOS)

    def _calls(self, i: int, calls: Sequence[Mapping[str, Any]]) -> None:
        version = self._version
        self._marked(f"\n\n<D{version.block}>\n")
        for call in calls:
            function = call["function"]
            given = arguments_object(function["arguments"])
            arguments = {"arguments": function["arguments"]} if given is None else given
            self._tag("invoke", function["name"])
            self._out.text(">\n")
            for name, value in arguments.items():
                self._tag("parameter", name)
                text = isinstance(value, str)
                self._out.text(f' string="{"true" if text else "false"}">')
                self._out.text(value if text else _json(value))
                self._marked(f"</D{version.space}parameter>\n")
            if not arguments:
                self._out.text("\n")
            self._marked(f"</D{version.space}invoke>\n")
        self._marked(f"</D{version.block}>")

    def _tag(self, kind: str, name: str) -> None:
        self._marked(f"<D{self._version.space}{kind}")
        self._out.text(f' name="{name}"')

    def _result_in_turn(self, i: int, message: Mapping[str, Any]) -> None:
        first = i == 0 or self._chat[i - 1]["role"] != "tool"
        last = i + 1 == len(self._chat) or self._chat[i + 1]["role"] != "tool"
        self._out.text("\n\n<function_results>" if first else "")
        self._out.text(f"\n<result>{_text(message, i)}</result>")
        self._out.text("\n</function_results>" if last else "")


def _text(message: Mapping[str, Any], i: int) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    kind = next(part["type"] for part in content if part["type"] != "text")
    raise PromptError(f"message {i}: content has a part of the type {kind!r}; this format reads text alone")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
