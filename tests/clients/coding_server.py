"""A gateway whose models, one of each of five formats, work for a coding agent: `python coding_server.py PORT`.

Whatever the agent's tool for shell commands is called, the model reads a file, then the file which that one names, and
then says what stands in the second one. Nothing else about the agents is known here.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import model_dirs

from harmonystream.engines import Finished
from harmonystream.gateway import Model, app
from harmonystream.gateway.operating.server import serve

FAMILIES = {"harmony": "", "hermes": "qwen3", "qwen3_coder": "qwen3_coder", "glm": "glm45", "kimi_k2": "kimi_k2"}
"""The model that is served under each name."""
SHELLS = {"exec_command": "cmd", "shell": "command", "Bash": "command", "bash": "command"}
"""What agents call their tool for commands, and the argument that has the command."""
FIRST, SECOND, WORD = "first.txt", "second.txt", "marmalade-42"


def called(name: str, tool: str, arguments: dict[str, str], number: int) -> str:
    """A call as a model of this format writes it."""
    said = json.dumps(arguments)
    if name == "harmony":
        header = f"<|start|>assistant<|channel|>commentary to=functions.{tool} <|constrain|>json<|message|>"
        return f"<|channel|>analysis<|message|>I look.<|end|>{header}{said}<|call|>"
    if name == "hermes":
        return f'<tool_call>\n{{"name": "{tool}", "arguments": {said}}}\n</tool_call><|im_end|>'
    if name == "qwen3_coder":
        fields = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in arguments.items())
        return f"<tool_call>\n<function={tool}>\n{fields}</function>\n</tool_call><|im_end|>"
    if name == "glm":
        pairs = "".join(
            f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n" for key, value in arguments.items()
        )
        return f"<tool_call>{tool}\n{pairs}</tool_call><|observation|>"
    call = f"<|tool_call_begin|>functions.{tool}:{number}<|tool_call_argument_begin|>{said}<|tool_call_end|>"
    return f"<|tool_calls_section_begin|>{call}<|tool_calls_section_end|><|im_end|>"


def answered(name: str, text: str) -> str:
    if name == "harmony":
        return (
            f"<|channel|>analysis<|message|>I know.<|end|><|start|>assistant<|channel|>final<|message|>{text}<|return|>"
        )
    return text + {"glm": "<|user|>"}.get(name, "<|im_end|>")


class Worker:
    """An engine that does the work above, token by token."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def generate(self, prompt: Any, sampling: Any) -> AsyncIterator[Any]:
        ids = prompt.vocab.encode(self._turn(prompt), control=True)
        for tid in ids:
            await asyncio.sleep(0)
            yield [tid]
        yield Finished("stop", {"prompt_tokens": len(prompt.ids), "completion_tokens": len(ids)})

    def _turn(self, prompt: Any) -> str:
        names = [tool["function"]["name"] for tool in prompt.tools or ()]
        shell = next((name for name in SHELLS if name in names), None)
        if shell is None:  # a title for the conversation, say
            return answered(self._name, "Two files")
        if WORD in prompt.text:
            return answered(self._name, f"The word is {WORD}.")
        number = int(SECOND in prompt.text)
        command = {SHELLS[shell]: f"cat {SECOND if number else FIRST}"}
        declared = next(tool["function"] for tool in prompt.tools if tool["function"]["name"] == shell)
        if "description" in declared["parameters"]["properties"]:
            command["description"] = "Read a file"
        return called(self._name, shell, command, number)


def models(folder: Path) -> list[Model]:
    made = []
    for name, family in FAMILIES.items():
        if not family:
            made.append(Model(name, Worker(name), family="gpt-oss", context=200_000))
            continue
        tokenizer = model_dirs.write(folder, family)
        made.append(Model(name, Worker(name), format=name, tokenizer=tokenizer, context=200_000))
    return made


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        serve(app(models(Path(folder)), store=sys.argv[2]), "127.0.0.1", int(sys.argv[1]))
