"""A request that has ended leaves no cycle that holds its prompt.

The collector would free it instead, in whatever thread it runs, and a million ids take long enough to hold up streams.
"""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest
from gateways import ASKED, gateway, script_of
from upstream import DROP, Upstream

from harmonystream.engines import EngineError
from harmonystream.gateway.generating.first_item import StartedSource
from harmonystream.gateway.limits import Limits
from harmonystream.prompt import Prompt

ANSWER = script_of("<|channel|>final<|message|>Hi there.<|return|>")
ENGINES = {
    "answers": lambda: Upstream(ANSWER),
    "refuses": lambda: Upstream([], status=400),
    "fails": lambda: Upstream([], status=500),
    "fails once": lambda: Upstream(ANSWER, first=[500]),
    "drops the connection": lambda: Upstream([DROP]),
    "drops the answer": lambda: Upstream([*ANSWER[:3], DROP]),
    "sends what is not JSON": lambda: Upstream([b"data: {\n\n"]),
    "sends nothing": lambda: Upstream([]),
}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("api", ASKED)
@pytest.mark.parametrize("engine", ENGINES)
def test_no_cycle_holds_a_prompt(engine, api, streamed):
    with gateway(ENGINES[engine](), app_options={"limits": Limits(retries=1)}) as made:
        made.post(api, stream=streamed)  # what is made once is not this request's
        assert made.settled()
        gc.collect()
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            for _ in range(3):
                made.post(api, stream=streamed)
            assert made.settled()
            gc.collect()
            held = sum(isinstance(one, Prompt) for one in gc.garbage)
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
    assert held == 0


class Held:
    """Stands for a prompt."""


def test_a_source_that_fails_before_its_first_item_is_freed_at_once():
    async def failing(held):
        raise EngineError("no", "engine")
        yield held

    async def run():
        held = Held()
        seen = weakref.ref(held)
        started = StartedSource(failing(held))
        del held
        with pytest.raises(EngineError):
            await started.wait(asyncio.get_running_loop().create_future(), None)
        await started.aclose()
        del started
        await asyncio.sleep(0)
        return seen() is None

    gc.collect()
    gc.disable()
    try:
        assert asyncio.run(run())
    finally:
        gc.enable()
