"""What a tool is given beside its arguments."""

from __future__ import annotations

import asyncio

import pytest
from tool_calls import call

import harmonystream as hs
from harmonystream.tools import Context, Tool, Tools


class Session:
    user = "Ada"


def greet(greeting: str, session: Context[Session], times: int = 1) -> str:
    """Greets."""
    return ", ".join([f"{greeting} {session.value.user} by {session.tool.name} {session.call_id}"] * times)


async def later(context: Context, greeting: str) -> str:
    return f"{greeting} {context.value.user}"


class Called:
    def __call__(self, greeting: str, context: Context) -> str:
        return f"{greeting} {context.value.user}"


SCHEMA = {"type": "object", "properties": {"greeting": {"type": "string"}}, "required": ["greeting"]}


@pytest.mark.parametrize(
    "tool", [Tool("greet", function=greet), Tool("greet", "", SCHEMA, greet), Tool("greet", function=Called())]
)
def test_a_function_is_given_the_context_and_the_model_does_not_see_it(tool):
    result = asyncio.run(Tools(tool).run(call("greet", {"greeting": "Hi"}), context=Session()))
    assert result.text.startswith("Hi Ada")
    assert next(iter(tool.parameters["properties"])) == "greeting"
    assert "session" not in tool.parameters["properties"]
    assert result.arguments == {"greeting": "Hi"}


def test_a_context_may_be_optional():
    def greet(greeting: str, context: Context | None = None) -> str:
        return f"{greeting} {context.value.user}" if context else greeting

    (tool,) = Tools(greet)
    assert list(tool.parameters["properties"]) == ["greeting"]
    assert "Ada" in asyncio.run(Tools(tool).run(call("greet", {"greeting": "Hi"}), context=Session())).text


def test_the_context_may_come_first_and_tasks_have_it():
    tools = Tools(later, greet)
    calls = [call("later", {"greeting": "Hi"}), call("greet", '{"greeting": "Hey", "times": "2"}')]
    first, second = asyncio.run(tools.run_all(calls, context=Session()))
    assert first.text == "Hi Ada"
    assert second.text.count("Hey Ada by greet") == 2


def test_a_model_cannot_set_it():
    result = asyncio.run(Tools(greet).run(call("greet", {"greeting": "Hi", "session": {"user": "Eve"}})))
    assert result.error == "invalid_arguments"
    loose = Tool("greet", "", {"type": "object"}, greet)
    sent = {"greeting": "Hi", "session": "Eve"}
    assert "Ada" in asyncio.run(Tools(loose).run(call("greet", sent), context=Session())).text


def test_approval_reads_it():
    tools = Tools(greet, approve=lambda pending: f"not for {pending.context.user}")
    assert "not for Ada" in asyncio.run(tools.run(call("greet", {"greeting": "Hi"}), context=Session())).text


def test_two_are_refused():
    def both(a: Context, b: Context) -> None: ...

    with pytest.raises(TypeError, match="one Context, and not 2: a, b"):
        hs.Tools(both)
