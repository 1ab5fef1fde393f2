"""The prompts of well-known families, without a template file: Qwen3, DeepSeek-V3.1 and its search agent, Kimi-K2,
GLM-4.5 and 4.6, Seed-OSS. Each prompt is the text that the family's own chat template writes."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import PromptError
from .writer import MarkupWriter

__all__ = ["Family", "family_of"]

Chat = Sequence[Mapping[str, Any]]
Tools = Sequence[Mapping[str, Any]]


class Turn(NamedTuple):
    """The inputs of a family's prompt, beside the messages and the tools.

    thinking: the switch, or None if it is not set. budget: Seed-OSS's tokens of reasoning. date: for the search agent.
    ask: the prompt ends with the beginning of an answer. open_last: it ends inside the last message.
    """

    thinking: bool | None
    budget: int | None
    date: datetime.date | None
    ask: bool
    open_last: bool


class Family(NamedTuple):
    """One family's prompt.

    write: writes the chat. objects: the arguments of calls are objects, not JSON text. switches: the accepted options:
    "thinking", "thinking_budget", "date". ids: the form of call ids, "keep" or "functions".
    """

    write: Callable[[MarkupWriter, Chat, Tools, Turn], None]
    objects: bool
    switches: frozenset[str]
    ids: str = "keep"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _text(message: Mapping[str, Any], i: int) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    kind = next(part["type"] for part in content if part["type"] != "text")
    raise PromptError(
        f"message {i}: content has a part of the type {kind!r}; the prompt of this family is written as text alone. "
        "With template=, the model's own template writes other parts"
    )


def _last(chat: Chat, role: str) -> int:
    return max((i for i, message in enumerate(chat) if message["role"] == role), default=-1)


def _follows(chat: Chat, i: int, role: str) -> bool:
    return i > 0 and chat[i - 1]["role"] == role


def _precedes(chat: Chat, i: int, role: str) -> bool:
    return i + 1 < len(chat) and chat[i + 1]["role"] == role


# --- Qwen3 --------------------------------------------------------------------------------------------------------

_QWEN_TOOLS = """\
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>"""
_QWEN_CALLS = """
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
"""


def _qwen3(thoughts: bool, opening: str) -> Callable[[MarkupWriter, Chat, Tools, Turn], None]:
    """thoughts: does the history contain reasoning? opening: the beginning of an answer."""

    def write(out: MarkupWriter, chat: Chat, tools: Tools, turn: Turn) -> None:
        first = _text(chat[0], 0) if chat and chat[0]["role"] == "system" else None
        if tools:
            out.markup("<|im_start|>system\n")
            out.text("" if first is None else f"{first}\n\n")
            out.markup(_QWEN_TOOLS)
            for tool in tools:
                out.text("\n" + _json(tool))
            out.markup(_QWEN_CALLS)
        elif first is not None:
            _chatml(out, "system", first)
        query = _last_query(chat)
        for i, message in enumerate(chat):
            role, text = message["role"], _text(message, i)
            if role == "assistant":
                _qwen3_answer(out, chat, i, thoughts and i > query, turn.open_last)
            elif role == "tool":
                out.markup("" if _follows(chat, i, "tool") else "<|im_start|>user")
                out.markup("\n<tool_response>\n")
                out.text(text)
                out.markup("\n</tool_response>")
                out.markup("" if _precedes(chat, i, "tool") else "<|im_end|>\n")
            elif role == "user" or i:
                _chatml(out, role, text)
        if turn.ask:
            out.markup("<|im_start|>assistant\n" + opening)
            out.markup("<think>\n\n</think>\n\n" if turn.thinking is False else "")

    return write


def _chatml(out: MarkupWriter, role: str, text: str) -> None:
    out.markup(f"<|im_start|>{role}\n")
    out.text(text)
    out.markup("<|im_end|>\n")


def _last_query(chat: Chat) -> int:
    """The last message in which a user asks something, and does not only pass on results as text."""
    for i in range(len(chat) - 1, -1, -1):
        if chat[i]["role"] == "user":
            text = _text(chat[i], i)
            if not (text.startswith("<tool_response>") and text.endswith("</tool_response>")):
                return i
    return len(chat) - 1


def _qwen3_answer(out: MarkupWriter, chat: Chat, i: int, thoughts: bool, open_last: bool) -> None:
    message, text = chat[i], _text(chat[i], i)
    calls, last = message.get("tool_calls", ()), i == len(chat) - 1
    reasoning = message.get("reasoning", "")
    out.markup("<|im_start|>assistant\n")
    if thoughts and (last or reasoning):
        out.markup("<think>\n")
        if open_last and last and not text:
            return out.text(reasoning.lstrip("\n"))
        out.text(reasoning.strip("\n"))
        out.markup("\n</think>\n\n")
        out.text(text.lstrip("\n"))
    else:
        out.text(text)
    if open_last and last:
        return None
    for k, call in enumerate(calls):
        out.markup(("\n" if text or k else "") + '<tool_call>\n{"name": "')
        out.text(f'{call["function"]["name"]}", "arguments": {_json(call["function"]["arguments"])}}}')
        out.markup("\n</tool_call>")
    return out.markup("<|im_end|>\n")


# --- DeepSeek-V3.1 ------------------------------------------------------------------------------------------------

_DEEPSEEK_CALLS = """\
IMPORTANT: ALWAYS adhere to this exact format for tool use:
<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>tool_call_name<｜tool▁sep｜>tool_call_arguments<｜tool▁call▁end｜>\
{additional_tool_calls}<｜tool▁calls▁end｜>

Where:
- `tool_call_name` must be an exact match to one of the available tools
- `tool_call_arguments` must be valid JSON that strictly follows the tool's Parameters Schema
- For multiple tool calls, chain them directly without separators or spaces
"""
_SEARCH = """\
The current date is {date}. Your primary task is to solve the user's questions, leveraging the appropriate tools as \
needed.
[Core Instruction: Language Consistency]
You MUST write your entire response in the same language as the user's question.
If the user asks in Chinese, you must think and write in Chinese.
If the user asks in French, you must think and write in French.
Do not switch to English unless the user's question was in English. This applies to your reasoning, explanations, and \
the final answer.
[Core Instruction: Citation Formatting]
If the search tool was used and you are referencing a specific webpage in your final answer (the content after \
<｜search▁end｜>), you must use the format "[citation:x]", where x is the corresponding webpage number.
You must first engage in step-by-step, rigorous thinking and reasoning before using the appropriate tool or providing \
the final answer.


"""


def _deepseek_tools(out: MarkupWriter, tools: Tools) -> None:
    out.text("## Tools\nYou have access to the following tools:\n")
    for tool in tools:
        function = tool["function"]
        out.text(f"\n### {function['name']}\nDescription: {function.get('description') or ''}\n")
        out.text(f"\nParameters: {_json(function.get('parameters') or {})}\n")
    out.markup("\n" + _DEEPSEEK_CALLS)


def _deepseek_system(chat: Chat) -> str:
    return "\n\n".join(_text(message, i) for i, message in enumerate(chat) if message["role"] == "system")


def _deepseek_calls(out: MarkupWriter, calls: Sequence[Mapping[str, Any]]) -> None:
    for k, call in enumerate(calls):
        out.markup("" if k else "<｜tool▁calls▁begin｜>")
        out.markup("<｜tool▁call▁begin｜>")
        out.text(call["function"]["name"])
        out.markup("<｜tool▁sep｜>")
        out.text(call["function"]["arguments"])
        out.markup("<｜tool▁call▁end｜>")
    out.markup("<｜tool▁calls▁end｜>" if calls else "")


def _deepseek_turn(out: MarkupWriter, chat: Chat, i: int) -> None:
    """The beginning of the assistant's message i. After a tool's result the model goes on without a marker."""
    if _asked(chat, i):
        out.markup("<｜Assistant｜></think>")
    elif any(message["role"] in ("tool", "assistant") for message in chat[:i]):  # a marker is before it
        out.turn()


def _deepseek_result(out: MarkupWriter, text: str) -> None:
    out.markup("<｜tool▁output▁begin｜>")
    out.text(text)
    out.markup("<｜tool▁output▁end｜>")


def _deepseek(out: MarkupWriter, chat: Chat, tools: Tools, turn: Turn) -> None:
    out.markup("<｜begin▁of▁sentence｜>")
    system = _deepseek_system(chat)
    out.text(system)
    if tools:
        out.text("\n\n" if system else "")
        _deepseek_tools(out, tools)
    for i, message in enumerate(chat):
        role, text = message["role"], _text(message, i)
        if role == "user":
            out.markup("<｜User｜>")
            out.text(text)
        elif role == "tool":
            _deepseek_result(out, text)
        elif role == "assistant":
            _deepseek_turn(out, chat, i)
            out.text(text)
            if turn.open_last and i == len(chat) - 1:
                return
            _deepseek_calls(out, message.get("tool_calls", ()))
            out.markup("<｜end▁of▁sentence｜>")
    if turn.ask and _asked(chat, len(chat)):
        out.markup("<｜Assistant｜>" + ("<think>" if turn.thinking else "</think>"))


def _asked(chat: Chat, i: int) -> bool:
    """Is the last message before this one, except for system messages, a user's?"""
    return next((message["role"] == "user" for message in reversed(chat[:i]) if message["role"] != "system"), False)


def _search_agent(out: MarkupWriter, chat: Chat, tools: Tools, turn: Turn) -> None:
    """One block of searching over several rounds, `<｜search▁begin｜>` to `<｜search▁end｜>`, and then the report."""
    out.markup("<｜begin▁of▁sentence｜>")
    out.text(_deepseek_system(chat))
    first = next((i for i, message in enumerate(chat) if message["role"] == "user"), -1)
    for i, message in enumerate(chat):
        role, text = message["role"], _text(message, i)
        if role == "user":
            out.markup("<｜User｜>")
            if i == first:
                day = turn.date or datetime.date.today()
                out.markup(_SEARCH.format(date=f"{day}, {_DAYS[day.weekday()]}"))
                if tools:
                    _deepseek_tools(out, tools)
                    out.text("\n")
                out.text("# The user's message is: ")
            out.text(text)
        elif role == "tool":
            _deepseek_result(out, text)
        elif role == "assistant":
            calls, reasoning = message.get("tool_calls", ()), message.get("reasoning", "")
            _deepseek_turn(out, chat, i)
            in_search = _follows(chat, i, "tool")
            if calls or reasoning or in_search:
                out.markup("" if in_search else "<｜search▁begin｜>\n\n")
                out.text(reasoning)
                if turn.open_last and i == len(chat) - 1 and not text:
                    return
                out.markup("" if calls else "\n\n<｜search▁end｜>\n\n")
            out.text(text)
            if turn.open_last and i == len(chat) - 1:
                return
            _deepseek_calls(out, calls)
            out.markup("<｜end▁of▁sentence｜>")
    if turn.ask and _asked(chat, len(chat)):
        out.markup("<｜Assistant｜></think><｜search▁begin｜>")


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


# --- Kimi-K2 ------------------------------------------------------------------------------------------------------


def _kimi(thoughts: bool) -> Callable[[MarkupWriter, Chat, Tools, Turn], None]:
    """thoughts: True for Kimi-K2-Thinking, whose answers all have a block of reasoning."""
    end = "<|im_end|>" if thoughts else "<|im_end|>\n"  # ends the default system message

    def write(out: MarkupWriter, chat: Chat, tools: Tools, turn: Turn) -> None:
        if tools:
            out.markup("<|im_system|>tool_declare<|im_middle|>")
            out.text(_json(tools))
            out.markup("<|im_end|>")
        if chat[0]["role"] != "system" if chat else thoughts:
            out.markup(f"<|im_system|>system<|im_middle|>You are Kimi, an AI assistant created by Moonshot AI.{end}")
        answered = next((i for i, message in enumerate(chat) if _answers(message)), -1)
        ids: list[str] = []
        calls = 0
        for i, message in enumerate(chat):
            role, text = message["role"], _text(message, i)
            out.markup({"user": "<|im_user|>", "assistant": "<|im_assistant|>"}.get(role, "<|im_system|>"))
            out.text(message.get("name") or role)
            out.markup("<|im_middle|>")
            open_end = turn.open_last and i == len(chat) - 1
            if role == "assistant" and thoughts:
                reasoning = message.get("reasoning", "") if i > answered or (open_end and not text) else ""
                out.markup("<think>")
                out.text(reasoning)
                if open_end and not text and reasoning:
                    return
                out.markup("</think>")
            if role == "tool":
                named = f"functions.{message.get('name', 'unknown')}:{calls}"
                out.text(f"## Return of {ids.pop(0) if ids else named}\n")
            out.text(text)
            if open_end:
                return
            made = message.get("tool_calls", ())
            for k, call in enumerate(made):
                ids.append(f"functions.{call['function']['name']}:{calls}")
                calls += 1
                out.markup(("" if k else "<|tool_calls_section_begin|>") + "<|tool_call_begin|>")
                out.text(ids[-1])
                out.markup("<|tool_call_argument_begin|>")
                out.text(_json(call["function"]["arguments"]))
                out.markup("<|tool_call_end|>")
            out.markup("<|tool_calls_section_end|>" if made else "")
            out.markup("<|im_end|>")
        if turn.ask:
            out.markup("<|im_assistant|>assistant<|im_middle|>")

    return write


def _answers(message: Mapping[str, Any]) -> bool:
    return bool(message["role"] == "assistant" and not message.get("tool_calls"))


# --- GLM-4.5 ------------------------------------------------------------------------------------------------------

_GLM_TOOLS = """\
<|system|>
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
"""
_GLM_CALLS = """\
</tools>

For each function call, output the function name and arguments within the following XML format:
<tool_call>{function-name}
<arg_key>{arg-key-1}</arg_key>
<arg_value>{arg-value-1}</arg_value>
<arg_key>{arg-key-2}</arg_key>
<arg_value>{arg-value-2}</arg_value>
...
</tool_call>"""


def _glm(out: MarkupWriter, chat: Chat, tools: Tools, turn: Turn) -> None:
    out.markup("[gMASK]<sop>")
    if tools:
        out.markup(_GLM_TOOLS)
        for tool in tools:
            out.text(_json(tool) + "\n")
        out.markup(_GLM_CALLS)
    user = _last(chat, "user")
    for i, message in enumerate(chat):
        role, text = message["role"], _text(message, i)
        if role == "assistant":
            open_end = turn.open_last and i == len(chat) - 1
            reasoning = message.get("reasoning", "")
            out.markup("<|assistant|>\n<think>")
            if open_end and not text and reasoning:
                return out.text(reasoning.lstrip())
            out.text(reasoning.strip() if i > user else "")
            out.markup("</think>")
            if text.strip():
                out.text("\n" + (text.lstrip() if open_end else text.strip()))
            if open_end:
                return None
            for call in message.get("tool_calls", ()):
                out.markup("\n<tool_call>")
                out.text(f"{call['function']['name']}\n")
                for key, value in call["function"]["arguments"].items():
                    out.markup("<arg_key>")
                    out.text(key)
                    out.markup("</arg_key>\n<arg_value>")
                    out.text(value if isinstance(value, str) else _json(value))
                    out.markup("</arg_value>\n")
                out.markup("</tool_call>")
        elif role == "tool":
            out.markup("" if _follows(chat, i, "tool") else "<|observation|>")
            out.markup("\n<tool_response>\n")
            out.text(text)
            out.markup("\n</tool_response>")
        else:
            out.markup(f"<|{role}|>\n")
            out.text(text)
            if role == "user" and turn.thinking is False and not text.endswith("/nothink"):
                out.markup("/nothink")
    if turn.ask:
        out.markup("<|assistant|>" + ("\n<think></think>" if turn.thinking is False else ""))
    return None


# --- Seed-OSS -----------------------------------------------------------------------------------------------------

_SEED_SYSTEM = (
    "You are Doubao, a helpful AI assistant. You may call one or more functions to assist with the user query."
)
_SEED_CALLS = """
工具调用请遵循如下格式:
<seed:tool_call>
<function=example_function_name>
<parameter=example_parameter_1>value_1</parameter>
<parameter=example_parameter_2>This is the value for the second parameter
that can span
multiple lines</parameter>
</function>
</seed:tool_call>
"""
_SEED_NONE = (
    "You are an intelligent assistant that can answer questions in one step without the need for reasoning and "
    "thinking, that is, your thinking budget is 0. Next, please skip the thinking process and directly start answering "
    "the user's questions."
)
_SEED_SOME = (
    "You are an intelligent assistant with reflective ability. In the process of thinking and reasoning, you need to "
    "strictly follow the thinking budget, which is {budget}. That is, you need to complete your thinking within "
    "{budget} tokens and start answering the user's questions. You will reflect on your thinking process every "
    "{interval} tokens, stating how many tokens have been used and how many are left."
)
_SEED_SKIPPED = (
    "<seed:think>\n<seed:cot_budget_reflect>The current thinking budget is 0, so I will directly start answering the "
    "question.</seed:cot_budget_reflect>\n</seed:think>"
)
_SEED_INTERVALS = ((0, 0), (512, 128), (1024, 256), (2048, 512), (4096, 512), (8192, 1024))
_PYTHON_TYPES = {"string": "str", "number": "int", "integer": "int", "boolean": "bool", "array": "list"}


def _seed(out: MarkupWriter, chat: Chat, tools: Tools, turn: Turn) -> None:
    budget = 0 if turn.thinking is False else -1 if turn.budget is None else turn.budget
    rest = list(enumerate(chat))
    system = _text(chat[0], 0) if chat and chat[0]["role"] == "system" else None
    if system is not None or tools:
        out.markup("<seed:bos>system\n")
        out.text(_SEED_SYSTEM if system is None else system)
        for tool in tools:
            out.text(_as_python(tool["function"]))
        out.markup(_SEED_CALLS if tools else "")
        out.markup("<seed:eos>")
    if budget != -1:
        interval = next((every for most, every in _SEED_INTERVALS if budget <= most), 1024)
        sentence = _SEED_SOME.format(budget=budget, interval=interval) if budget else _SEED_NONE
        out.markup(f"<seed:bos>system\n{sentence}\n<seed:eos>")
    for i, message in rest[system is not None :]:
        role, text = message["role"], _text(message, i)
        out.markup(f"<seed:bos>{role}")
        if role != "assistant":
            out.text("\n" + text)
            out.markup("<seed:eos>")
            continue
        open_end = turn.open_last and i == len(chat) - 1
        reasoning, calls = message.get("reasoning", "").strip(), message.get("tool_calls", ())
        if reasoning:
            out.markup("\n<seed:think>")
            out.text(reasoning)
            if open_end and not text:
                return
            out.markup("</seed:think>")
        if text.strip():
            out.text("\n" + (text.lstrip() if open_end else text.strip()) + ("\n" if calls else ""))
        if open_end:
            return
        for call in calls:
            out.markup("\n<seed:tool_call>\n")
            out.text(f"<function={call['function']['name']}>\n")
            for key, value in call["function"]["arguments"].items():
                out.text(f"<parameter={key}>{value if isinstance(value, str) else str(value)}</parameter>\n")
            out.text("</function>\n")
            out.markup("</seed:tool_call>")
        if calls or text.strip():  # the template ends no other message
            out.markup("<seed:eos>")
    if turn.ask:
        out.markup("<seed:bos>assistant\n" + (_SEED_SKIPPED if budget == 0 else ""))


def _as_python(function: Mapping[str, Any]) -> str:
    """A tool as the head of a Python function, which is Seed-OSS's form of tools."""
    parameters = function.get("parameters") or {}
    properties = parameters.get("properties") or {}
    required = parameters.get("required") or ()
    kinds = {name: _PYTHON_TYPES.get(str(spec.get("type")), "Any") for name, spec in properties.items()}
    head = ",".join(f"{name}: {kind}" for name, kind in kinds.items())
    text = (
        f'\n\nFunction:\ndef {function["name"]}({head}):\n    """\n    {(function.get("description") or "").strip()}\n'
    )
    if properties:
        text += "\n    Args:"
        for name, spec in properties.items():
            must = "必填" if name in required else "选填"
            text += f"\n    - {name} ({kinds[name]}) [{must}]: {spec.get('description') or ''}"
    return text + ("" if properties else "\n") + '\n\n    """'


# --- which family -------------------------------------------------------------------------------------------------

_QWEN3 = Family(_qwen3(True, ""), True, frozenset({"thinking"}))
_SEARCH_AGENT = Family(_search_agent, False, frozenset({"date"}))
# The names of models, in the spelling of formats/models.py, and what may follow them in the name of a copy.
_FAMILIES = (
    (r"qwen-?3(-(0\.6|1\.7|4|8|14|32|30|235)b(-a\d+b)?)?", _QWEN3),
    (
        r"qwen-?3-(4|30|235)b(-a\d+b)?-thinking-2507",
        Family(_qwen3(True, "<think>\n"), True, frozenset()),
    ),
    (r"qwen-?3-(4|30|235)b(-a\d+b)?-instruct-2507", Family(_qwen3(False, ""), True, frozenset())),
    (r"deepseek-(chat-)?v3\.1(-terminus|-base)?", Family(_deepseek, False, frozenset({"thinking"}))),
    (r"kimi-k2(-instruct(-0905)?|-base)?", Family(_kimi(False), True, frozenset(), "functions")),
    (r"kimi-k2-thinking", Family(_kimi(True), True, frozenset(), "functions")),
    (r"glm-4\.[56](-air)?", Family(_glm, True, frozenset({"thinking"}))),
    (r"seed-oss(-36b)?(-instruct|-base)?", Family(_seed, True, frozenset({"thinking", "thinking_budget"}))),
)
_COPIES = r"(-(base|fp8|fp4|nvfp4|bf16|awq|gptq|gguf|mlx|bnb|unsloth|hf|int[48]|[348]-?bit|q\d\w*|dynamic|w\d+a\d+))*"


def family_of(model: str | None, format_name: str) -> Family | None:
    """The family whose prompt this model reads, found by the model's name. None if the name is unknown."""
    if format_name == "deepseek_search":
        return _SEARCH_AGENT
    if model is None:
        return None
    last = re.split(r"[/\\]", model.strip().rstrip("/\\").lower())[-1]
    name = re.sub(r"[^a-z0-9.]+", "-", re.sub(r"(?<=\d)p(?=\d)", ".", last)).strip("-")
    return next((family for pattern, family in _FAMILIES if re.fullmatch(pattern + _COPIES, name)), None)
