"""What clients see of tools that run in the gateway while they run."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from gateways import ASKED, serving
from scripted import STOP, Scripted, call
from server_turns import answered, called, serves
from wire_server import Clients

import harmonystream as hs
from harmonystream.gateway import Model, app
from harmonystream.gateway.limits import Limits

BEGINS = {"responses": "response.mcp_call.in_progress", "messages": "content_block_start"}


class Held:
    """A tool that answers once it may."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.waited = False

    async def hold(self) -> str:
        """Waits."""
        self.waited = await asyncio.to_thread(self.may.wait, 20)
        return "held"


def is_begin(api: str, event: Any) -> bool:
    return event.type == BEGINS[api] and (api == "responses" or event.content_block.type == "mcp_tool_use")


@pytest.mark.parametrize("api", BEGINS)
def test_a_client_sees_that_a_tool_runs_before_it_has_run(api):
    held = Held()
    with serves(called("hold", "{}"), answered("Done."), tools=hs.Tools(held.hold)) as (clients, _, _):
        seen = []
        for event in clients.create[api](model="tiny", stream=True, **ASKED[api]):
            seen.append(event)
            if is_begin(api, event):
                held.may.set()  # nothing else lets the tool answer
    assert held.waited
    kinds = [event.type.removeprefix("response.") for event in seen]
    if api == "responses":
        assert [kind for kind in kinds if "mcp_call" in kind] == [
            "mcp_call.in_progress",
            "mcp_call_arguments.delta",
            "mcp_call_arguments.done",
            "mcp_call.completed",
        ]
        assert [event.sequence_number for event in seen] == list(range(len(seen)))
        (whole,) = [event.response for event in seen if event.type == "response.completed"]
        assert [(item.type, item.status) for item in whole.output[1:]] == [
            ("mcp_call", "completed"),
            ("reasoning", "completed"),
            ("message", "completed"),
        ]
    else:
        blocks = [event.content_block for event in seen if event.type == "content_block_start"]
        assert [block.type for block in blocks][:3] == ["thinking", "mcp_tool_use", "mcp_tool_result"]
        assert blocks[1].id == blocks[2].tool_use_id


@pytest.mark.parametrize("api", BEGINS)
def test_two_tools_that_run_at_once_have_their_own_results(api):
    """The first one waits for the second, and its item still comes first."""
    ready = asyncio.Event()

    async def late() -> str:
        """Waits."""
        await asyncio.wait_for(ready.wait(), 20)
        return "of the late one"

    async def soon() -> str:
        """Does not."""
        ready.set()
        return "of the soon one"

    turns = [*(call("late") + call("soon")), STOP], [*"Both.", STOP]
    template = hs.prompts.Template("{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}{{ tools }}")
    engine, tools = Scripted(*turns), hs.Tools(late, soon)
    with serving(app([Model("tiny", engine, format="hermes", template=template, server_tools=tools)])) as url:
        clients = Clients(url)
        with clients.openai, clients.anthropic:
            if api == "responses":
                with clients.openai.responses.stream(model="tiny", **ASKED[api]) as stream:
                    whole = stream.get_final_response()
                shown = [(item.name, item.output) for item in whole.output if item.type == "mcp_call"]
                assert whole.output_text == "Both."
            else:
                with clients.anthropic.beta.messages.stream(model="tiny", **ASKED[api]) as events:
                    message = events.get_final_message()
                names = {block.id: block.name for block in message.content if block.type == "mcp_tool_use"}
                results = [block for block in message.content if block.type == "mcp_tool_result"]
                shown = sorted((names[block.tool_use_id], block.content[0].text) for block in results)
                assert message.content[-1].text == "Both."
    assert shown == [("late", "of the late one"), ("soon", "of the soon one")]


@pytest.mark.parametrize("api", BEGINS)
def test_a_tool_that_the_deadline_ends_does_not_look_as_if_it_ran_on(api):
    held, seen = Held(), []
    limits = Limits(total=0.5)
    with serves(called("hold", "{}"), tools=hs.Tools(held.hold), limits=limits) as (clients, _, _):
        with pytest.raises(Exception, match="time"):
            for event in clients.create[api](model="tiny", stream=True, **ASKED[api]):
                seen.append(event)
        held.may.set()  # its thread ends
    assert any(is_begin(api, event) for event in seen)
    if api == "responses":
        run = seen[-1].item
        assert (run.type, run.status, run.error.type) == ("mcp_call", "failed", "mcp_tool_execution_error")
    else:
        assert seen[-2].content_block.is_error is True
