"""Several engines of one model: which one is chosen, and what happens when one fails."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from gateways import ANSWER, chunk, gateway, ids_of, script_of
from scripted import STOP, Scripted
from upstream import DROP, HANG, Upstream

import harmonystream as hs
from harmonystream.engines import EngineError, Sampling
from harmonystream.engines.base import Arrived
from harmonystream.gateway.generating.pool import COOLING, SLACK, Member, Pool
from harmonystream.gateway.limits import Limits
from harmonystream.gateway.refused import Refused


def prompt_of(text):
    return hs.render(text, model="gpt-oss")


def play(pool, prompt=None, until=20.0):
    async def collect():
        end = asyncio.get_running_loop().time() + until
        return [item async for item in pool.generate(prompt or prompt_of("?"), Sampling(), end)]

    return asyncio.run(asyncio.wait_for(collect(), 20))


def pool_of(*engines, **limits):
    errors = []
    pool = Pool(engines, Limits(**limits), lambda name, error: errors.append((name, error.kind)))
    pool.errors = errors
    return pool


LOST = EngineError("lost", "connection")


def test_another_engine_is_tried_before_the_first_token():
    one, two = Scripted([LOST]), Scripted([[1, 2], STOP])
    for engines in ((one, two), (two, one)):
        pool = pool_of(*engines)
        assert play(pool) == [[1, 2], STOP]
        assert [member.open for member in pool.members] == [0, 0]
        assert not pool.open


def test_no_other_engine_is_tried_after_the_first_token():
    engines = Scripted([[1], LOST]), Scripted([[1], LOST])
    with pytest.raises(EngineError, match="lost"):
        play(pool_of(*engines))
    assert sorted(len(engine.prompts) for engine in engines) == [0, 1]
    assert sorted(engine.closed for engine in engines) == [0, 1]


class InPieces(Scripted):
    """Its items come together, as each list of the script has them."""

    @asynccontextmanager
    async def opened(self, prompt, sampling):
        class Source:
            pieces = iter(self.pieces_of_all)
            ended = False

            async def wait(self):
                return next(self.pieces)

            def take(self, items):
                self.ended = STOP in items
                return items

        yield Source()


@pytest.mark.parametrize("together", [True, False])
def test_what_comes_together_stays_together_where_that_is_asked_for(together):
    engine, ends = InPieces([]), []
    engine.pieces_of_all = [[[1]], [[2], [3], STOP]]

    async def collect():
        items = pool_of(engine).generate(prompt_of("?"), Sampling(), 1e9, ends.append, together)
        return [item async for item in items]

    expected = [[1], Arrived([[2], [3], STOP])] if together else [[1], [2], [3], STOP]
    assert asyncio.run(collect()) == expected
    assert ends == [STOP]


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_refusal_is_not_tried_again(status):
    engine = Scripted([EngineError("too long", "status", status)])
    with pytest.raises(EngineError, match="too long"):
        play(pool_of(engine, engine))
    assert len(engine.prompts) == 1


@pytest.mark.parametrize("status", [201, 240, 307, 401, 403, 404, 429, 500, 501, 599])
def test_another_engine_is_tried_after_each_status_that_does_not_blame_the_request(status):
    one, two = Scripted([EngineError("no", "status", status)]), Scripted([[1, 2], STOP])
    for engines in ((one, two), (two, one)):
        assert play(pool_of(*engines)) == [[1, 2], STOP]
    assert one.prompts  # the wrong engine was asked first once


def test_retries_are_counted():
    engine = Scripted([LOST])
    pool = pool_of(engine, retries=1)
    with pytest.raises(EngineError):
        play(pool)
    assert len(engine.prompts) == 2
    assert pool.errors == [("0", "connection")] * 2
    one = pool_of(engine, retries=0)
    with pytest.raises(EngineError):
        play(one)
    assert len(engine.prompts) == 3


def test_a_gateway_that_stops_tries_nothing_again():
    async def main():
        engine = Scripted([30.0])
        pool = pool_of(engine, retries=5)
        until = asyncio.get_running_loop().time() + 60
        items = pool.generate(prompt_of("?"), Sampling(), until)
        first = asyncio.ensure_future(anext(items))
        while not engine.prompts:
            await asyncio.sleep(0)
        pool.stop("the gateway stops")
        with pytest.raises(Refused, match="The gateway stops"):
            await first
        return len(engine.prompts), pool.open, pool.errors

    assert asyncio.run(asyncio.wait_for(main(), 20)) == (1, set(), [])


def test_an_engine_that_never_answers_is_left_for_another():
    engines = Scripted([30.0]), Scripted([[7], STOP])
    for order in (engines, engines[::-1]):
        assert play(pool_of(*order, first_token=0.02))[0] == [7]


def test_a_prompt_goes_where_its_beginning_went_before():
    pool = pool_of(*(Scripted([STOP]) for _ in range(8)))
    chosen = {pool.choose(prompt_of("x" * at), (), 0).name for at in range(64)}
    assert len(chosen) > 4
    long = "word " * 400
    assert len({pool.choose(prompt_of(long + str(at)), (), 0).name for at in range(16)}) == 1


def test_gateways_that_list_their_engines_in_another_order_send_a_prompt_to_the_same():
    class At(Scripted):
        def __init__(self, url):
            self.url = url

    urls = [f"http://engine-{at}:8000" for at in range(5)]
    pools = [Pool(list(map(At, order)), Limits(), lambda *_: None) for order in (urls, urls[::-1], urls[2:] + urls[:2])]
    chosen = [tuple(pool.choose(prompt_of(f"x{at}"), (), 0).engine.url for pool in pools) for at in range(64)]
    assert {len(set(one)) for one in chosen} == {1}
    assert {one[0] for one in chosen} == set(urls)


def test_the_least_busy_is_chosen_where_the_usual_one_has_too_much_to_do():
    pool = pool_of(*(Scripted([STOP]) for _ in range(3)))
    usual = pool.choose(prompt_of("?"), (), 0)
    usual.open = SLACK
    assert pool.choose(prompt_of("?"), (), 0) is usual
    usual.open = SLACK + 1
    assert pool.choose(prompt_of("?"), (), 0) is not usual


def test_an_engine_that_failed_is_avoided_for_a_while():
    pool = pool_of(*(Scripted([STOP]) for _ in range(2)))
    usual = pool.choose(prompt_of("?"), (), 0)
    usual.failed(0)
    assert pool.choose(prompt_of("?"), (), 0.5) is not usual
    assert pool.choose(prompt_of("?"), (), 1.5) is usual
    usual.failed(10)
    assert (usual.avoided_until, usual.failures) == (12, 2)
    for member in pool.members:
        member.failed(20)
    assert pool.choose(prompt_of("?"), (), 20) in pool.members  # rather one that failed than none
    usual.answered()
    assert usual.avoided_until == 0


# --- over HTTP ----------------------------------------------------------------------------------------------------


def test_a_dead_engine_costs_no_request():
    dead = Upstream([DROP])
    with gateway(dead, script_of(ANSWER)) as made:
        for _ in range(6):
            assert made.post("chat").json()["choices"][0]["message"]["content"] == "Hi there!"
        text = made.http.get("/metrics").text
        if dead.requests:
            assert 'harmonystream_engine_errors_total{engine="0",kind="connection"' in text


FAULTS = {
    "drops": ([DROP], 503, "engine_unavailable"),
    "ends": ([b""], 503, "engine_unavailable"),
    "no json": ([b"data: {oops\n\n"], 502, "engine_error"),
    "reports": ([{"error": {"message": "out of memory at 10.0.0.1"}}], 502, "engine_error"),
    "hangs": ([HANG], 504, "engine_timeout"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_error_before_the_first_token_has_a_status(fault):
    script, status, code = FAULTS[fault]
    seconds = 0.05 if script == [HANG] else 60  # the others must not run into it on a busy machine
    with gateway(script, app_options={"limits": Limits(retries=0, first_token=seconds)}) as made:
        for api in ("chat", "responses", "messages"):
            for stream in (False, True):
                answer = made.post(api, stream=stream)
                assert answer.status_code == (529 if (status, api) == (503, "messages") else status)
                error = answer.json()["error"]
                assert error["details"]["error_code"] == code if api == "messages" else error["code"] == code
                assert "10.0.0.1" not in answer.text
                assert "127.0.0.1" not in answer.text
        assert made.settled()


def test_an_engines_status_becomes_ours():
    engine = Upstream([b'{"error": "secret"}'])
    with gateway(engine, app_options={"limits": Limits(retries=0)}) as made:
        for engine.status, status in [(400, 400), (404, 502), (429, 503), (500, 502), (503, 503)]:
            answer = made.post("chat")
            assert answer.status_code == status
            assert "secret" not in answer.text


@pytest.mark.parametrize("fault", FAULTS)
def test_an_error_later_is_the_apis_terminal_event(fault):
    script, _, code = FAULTS[fault]
    seconds = 0.05 if script == [HANG] else 60
    ids = ids_of("<|channel|>final<|message|>Half")
    with gateway([chunk(ids), *script], app_options={"limits": Limits(silence=seconds)}) as made:
        for api, last in [("chat", None), ("responses", "response.failed"), ("messages", "error")]:
            text = made.post(api, stream=True).text
            assert "Half" in text
            # The codes of Responses are few, and its clients check them.
            assert f'"{"server_error" if api == "responses" else code}"' in text
            end = text.strip().split("\n\n")[-1].split("data: ", 1)[1]
            assert end == "[DONE]" if last is None else json.loads(end)["type"] == last
        assert made.settled()


def test_an_engine_that_fails_for_days_is_avoided_for_the_most():
    member = Member(None, "0")
    for _ in range(5000):
        member.failed(10.0)
    assert (member.failures, member.avoided_until) == (5000, 10.0 + COOLING[1])
    member.answered()
    member.failed(10.0)
    assert member.avoided_until == 10.0 + COOLING[0]
