"""Reads messages and items one after the other. `normalize` is the entry point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import PromptError
from .parts import arguments_text, content_of, error_of, result_of

__all__ = ["Reader", "split_thinking"]

ROLES = {name: name for name in ("system", "developer", "user", "assistant", "tool")} | {"function": "tool"}

_REASONING = ("reasoning_content", "reasoning", "thinking")
"""Fields of a message that may have its reasoning as text. The first one that the message has counts."""

_READ = frozenset((*_REASONING, "role", "content", "tool_calls", "function_call", "type", "id", "status", "refusal"))
"""Fields that are read here. Others are passed on, for templates that use them."""


class Reader:
    """Collects messages. `where` names the current one, for errors."""

    def __init__(self, think: tuple[str, str] | None) -> None:
        self.where = ""
        self._think = think
        self._out: list[dict[str, Any]] = []
        self._turn: dict[str, Any] | None = None  # for Responses: the assistant's message that gets further items
        self._calls = 0

    def add(self, item: dict[str, Any]) -> None:
        kind = item.get("type", "message")
        if "role" in item and kind == "message":
            return self._message(item)
        if not isinstance(kind, str) or kind not in _ITEMS:
            if "role" in item or "type" not in item:
                problem = f"role is {item.get('role')!r}" if "role" in item else "there is no role"
                raise PromptError(f"{self.where}: {problem}; expected one of {', '.join(ROLES)}")
            raise PromptError(f"{self.where}: type is {kind!r}; expected message, {', '.join(_ITEMS)}")
        return _ITEMS[kind](self, item)

    def finish(self) -> list[dict[str, Any]]:
        for message in self._out:
            if not isinstance(message.get("tool_call_id"), (str, type(None))):
                kind = type(message["tool_call_id"]).__name__
                raise PromptError(f"the id of the call that a tool's result answers is {kind}; expected text")
        return _answered(self._out)

    # --- messages with a role -------------------------------------------------------------------------------------

    def _message(self, item: dict[str, Any]) -> None:
        role = item["role"]
        if not isinstance(role, str) or role not in ROLES:
            raise PromptError(f"{self.where}: role is {role!r}; expected one of {', '.join(ROLES)}")
        if not isinstance(item.get("name", ""), (str, type(None))):
            raise PromptError(f"{self.where}: name is {type(item['name']).__name__}; expected text")
        role = ROLES[role]
        if role == "assistant" and "type" in item:  # this is an output item of Responses
            return self._output(item)
        self._turn = None
        more = {key: value for key, value in item.items() if key not in _READ and value is not None}
        if role == "assistant":
            self._out.append({"role": role, **self._assistant(item), **more})
        elif role == "tool":
            content = result_of(item.get("content"), f"{self.where}: content")
            self._out.append({"role": role, "content": content, **more})
        else:
            if item.get("content") is None:  # the text may be under another name, and would be lost
                raise PromptError(f"{self.where}: there is no content; expected text or a list of parts")
            self._user(role, item["content"], more)
        return None

    def _user(self, role: str, content: Any, more: dict[str, Any]) -> None:
        """Anthropic's results are among the user's parts. Each becomes a message before the other parts."""
        parts = content if isinstance(content, list) else []
        results = [part for part in parts if isinstance(part, dict) and part.get("type") == "tool_result"]
        for part in results:
            text = result_of(part.get("content"), f"{self.where}: content of a tool_result")
            if part.get("is_error") is True:
                text = error_of(text)
            self._out.append({"role": "tool", "tool_call_id": part.get("tool_use_id"), "content": text})
        if results:
            content = [part for part in parts if part not in results]
        if not results or content:
            text = content_of(content, f"{self.where}: content", "\n")
            self._out.append({"role": role, "content": text, **more})

    def _assistant(self, item: dict[str, Any]) -> dict[str, Any]:
        reasoning = next((item[key] for key in _REASONING if isinstance(item.get(key), str)), "")
        calls = item.get("tool_calls") or []
        if not isinstance(calls, list):
            raise PromptError(f"{self.where}: tool_calls is {type(calls).__name__}; expected a list")
        if not calls and item.get("function_call"):
            calls = [item["function_call"]]
        content = item.get("content")
        if content is None:
            content = item.get("refusal")
        if isinstance(content, list):  # Anthropic's thoughts and calls are among the parts
            blocks = [part if isinstance(part, dict) else {} for part in content]
            thoughts = [part.get("thinking", "") for part in blocks if part.get("type") == "thinking"]
            reasoning = reasoning or "\n".join(map(str, thoughts))
            calls = calls + [part for part in blocks if part.get("type") == "tool_use"]
            skip = ("thinking", "redacted_thinking", "tool_use")
            content = [part for part, block in zip(content, blocks) if block.get("type") not in skip]
        text = content_of(content, f"{self.where}: content", "")
        if not reasoning and isinstance(text, str) and self._think is not None:
            reasoning, text = split_thinking(text, self._think)
        made: dict[str, Any] = {"content": text}
        if reasoning:
            made["reasoning"] = reasoning
        if calls:
            made["tool_calls"] = [self._call(call, f"{self.where}: tool_calls[{i}]") for i, call in enumerate(calls)]
        return made

    def _call(self, call: Any, where: str) -> dict[str, Any]:
        """A call of any API: Chat's `function`, Anthropic's `input`, or a name and arguments side by side."""
        if not isinstance(call, dict):
            raise PromptError(f"{where} is {type(call).__name__}; expected a mapping")
        inner = call.get("function", call)
        name = inner.get("name") if isinstance(inner, dict) else None
        if not isinstance(name, str) or not name:
            raise PromptError(f"{where}.function.name is {name!r}; expected the tool's name")
        given = next((inner[key] for key in ("arguments", "input", "parameters") if key in inner), None)
        arguments = arguments_text(given, f"{where}.function.arguments")
        tid = call.get("call_id") or call.get("id")
        if not isinstance(tid, str):
            tid = f"call_{self._calls}"
        self._calls += 1
        return {"id": tid, "type": "function", "function": {"name": name, "arguments": arguments}}

    # --- items of Responses ---------------------------------------------------------------------------------------

    def _assistant_turn(self, *full: str) -> dict[str, Any]:
        """The message that gets further items. It is a new one if this one already has a field in `full`."""
        if self._turn is None or any(self._turn.get(key) for key in full):
            self._turn = {"role": "assistant", "content": ""}
            self._out.append(self._turn)
        return self._turn

    def _output(self, item: dict[str, Any]) -> None:
        made = self._assistant(item)
        self._assistant_turn("content", "tool_calls", *(["reasoning"] if "reasoning" in made else [])).update(made)

    def _reasoning(self, item: dict[str, Any]) -> None:
        content, summary = (self._parts(item, name) for name in ("content", "summary"))
        texts = [part["text"] for part in (*content, *summary) if isinstance(part.get("text"), str)]
        if texts:
            chosen = texts[: len(content)] if content else texts
            self._assistant_turn("reasoning", "content", "tool_calls")["reasoning"] = "\n".join(chosen)

    def _parts(self, item: dict[str, Any], name: str) -> list[dict[str, Any]]:
        parts = item.get(name) or []
        if not isinstance(parts, list):
            raise PromptError(f"{self.where}: {name} is {type(parts).__name__}; expected a list")
        return [part for part in parts if isinstance(part, dict)]

    def _function_call(self, item: dict[str, Any]) -> None:
        call = self._call(item, self.where)
        self._assistant_turn().setdefault("tool_calls", []).append(call)

    def _function_call_output(self, item: dict[str, Any]) -> None:
        self._turn = None
        output = next((item[key] for key in ("output", "result") if key in item), None)
        if output is None and isinstance(item.get("tools"), list):  # a search for tools
            output = [tool.get("name") for tool in item["tools"] if isinstance(tool, dict)]
        if isinstance(output, dict) and output.get("type") == "computer_screenshot":
            output = {"type": "input_image", "image_url": output.get("image_url")}
        content = result_of(output, f"{self.where}: output")
        self._out.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": content})

    def _mcp_call(self, item: dict[str, Any]) -> None:
        """A call that the server has run. The item contains the result."""
        self._function_call(item)
        call = self._assistant_turn()["tool_calls"][-1]
        output = item.get("error") if item.get("output") is None else item.get("output")
        if isinstance(output, dict):  # an error is an object with its text in parts, or as one message
            output = output.get("content", output.get("message"))
        self._answer(call, result_of(output, f"{self.where}: output"))

    def _answer(self, call: dict[str, Any], content: str | list[dict[str, Any]]) -> None:
        self._turn = None
        self._out.append({"role": "tool", "tool_call_id": call["id"], "content": content})

    def _client_call(self, item: dict[str, Any]) -> None:
        """A call of a tool that the API itself declares, such as `shell_call`. Its action becomes the arguments."""
        name = str(item["type"]).removesuffix("_call")
        key = next((key for key in _ASKED if key in item), "action")
        given = item.get(key)
        self._function_call({**item, "name": name, "arguments": given if isinstance(given, dict) else {key: given}})

    def _server_call(self, item: dict[str, Any]) -> None:
        """A call that the API's server has run. Its result is whatever the item has of it."""
        name = str(item["type"]).removesuffix("_call")
        asked, found = _SERVER_CALLS[item["type"]]
        given = item.get(asked)
        self._function_call({**item, "name": name, "arguments": given if isinstance(given, dict) else {asked: given}})
        result = item.get(found)
        if isinstance(result, list):
            logs = [text for part in result if isinstance(part, dict) and isinstance(text := part.get("logs"), str)]
            result = "\n".join(logs) if logs else result
        self._answer(self._assistant_turn()["tool_calls"][-1], result_of(result, f"{self.where}: {found}"))

    def _passed_over(self, item: dict[str, Any]) -> None:
        """An item with nothing that a model reads."""


_ASKED = ("action", "operation", "actions", "arguments", "code")
"""The fields with the question of such a call."""
_SERVER_CALLS = {
    "web_search_call": ("action", "results"),
    "file_search_call": ("queries", "results"),
    "code_interpreter_call": ("code", "outputs"),
    "image_generation_call": ("revised_prompt", "status"),  # the image itself is not text
}
"""A call that the API's server runs -> the fields with its question, and those with its result."""

_CLIENT_TOOLS = ("computer", "local_shell", "shell", "apply_patch", "tool_search")
_ITEMS: dict[str, Callable[[Reader, dict[str, Any]], None]] = {
    "reasoning": Reader._reasoning,
    "function_call": Reader._function_call,
    "function_call_output": Reader._function_call_output,
    "custom_tool_call": Reader._function_call,
    "custom_tool_call_output": Reader._function_call_output,
    "mcp_call": Reader._mcp_call,
    **dict.fromkeys(_SERVER_CALLS, Reader._server_call),
    **dict.fromkeys((f"{name}_call" for name in _CLIENT_TOOLS), Reader._client_call),
    **dict.fromkeys((f"{name}_call_output" for name in _CLIENT_TOOLS), Reader._function_call_output),
    "tool_search_output": Reader._function_call_output,
    "program": Reader._client_call,
    "program_output": Reader._function_call_output,
    **dict.fromkeys(
        ("mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "compaction", "compaction_trigger"),
        Reader._passed_over,
    ),
}


def split_thinking(text: str, think: tuple[str, str]) -> tuple[str, str]:
    """The reasoning and the content of a text that may begin with reasoning between tags.

    The newlines next to the tags are dropped. If the text does not begin with the opening tag, or the closing tag is
    missing, all of it is content that only mentions the tags.
    """
    opener, closer = think
    begun = text.lstrip()
    if not begun.startswith(opener):
        return "", text
    reasoning, found, content = begun[len(opener) :].partition(closer)
    return (reasoning.strip("\n"), content.lstrip("\n")) if found else ("", text)


# --- results and their calls --------------------------------------------------------------------------------------


def _answered(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put results after their calls, in the order of the calls, with the calls' names and ids."""
    out: list[dict[str, Any]] = []
    i = 0
    while i < len(messages):
        out.append(messages[i])
        calls = messages[i].get("tool_calls", []) if messages[i]["role"] == "assistant" else []
        i += 1
        first = i
        while i < len(messages) and messages[i]["role"] == "tool":
            i += 1
        if calls or i > first:
            out += _ordered(calls, messages[first:i])
    return out


def _ordered(calls: list[dict[str, Any]], results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Match results and calls by id. A result without an id belongs to the first call of its name without one."""
    places: dict[str, list[int]] = {}
    for i, call in enumerate(calls):
        places.setdefault(call["id"], []).append(i)
    for same in places.values():
        for n, i in enumerate(same[1:], 2):  # if two calls have one id, the second one gets a new id
            calls[i]["id"] += f"_{n}"
    if not results:
        return results
    taken: dict[int, dict[str, Any]] = {}
    strays = []
    for result in results:
        same = places.get(result.get("tool_call_id") or "", [])
        if same:
            taken[same.pop(0)] = result
        else:
            strays.append(result)
    lost = []
    for result in strays:
        free = (i for i, call in enumerate(calls) if i not in taken and not result.get("tool_call_id"))
        wanted = result.get("name")
        place = next((i for i in free if wanted is None or calls[i]["function"]["name"] == wanted), None)
        if place is None:
            lost.append(result)
        else:
            taken[place] = result
    for place, result in taken.items():
        result["tool_call_id"] = calls[place]["id"]
        result.setdefault("name", calls[place]["function"]["name"])
    return [taken[place] for place in sorted(taken)] + lost
