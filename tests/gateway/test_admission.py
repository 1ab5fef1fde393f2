"""Turns within limits: order, queue, owners, tokens a minute, and nothing left behind."""

from __future__ import annotations

import asyncio

import pytest
from gateways import ANSWER, gateway, script_of

from harmonystream.gateway.limits import Limits
from harmonystream.gateway.operating import quotas
from harmonystream.gateway.operating.admission import Admission
from harmonystream.gateway.refused import Refused


def run(main):
    return asyncio.run(asyncio.wait_for(main(), 20))


def test_turns_are_handed_on_in_order():
    async def main():
        doors = Admission(Limits(concurrent=2, concurrent_per_key=20))
        order = []

        async def visit(number):
            await doors.enter("a")
            order.append(number)
            assert doors.open <= 2
            await asyncio.sleep(0)
            doors.leave("a")

        await asyncio.gather(*map(visit, range(20)))
        return order, doors.open, doors.waiting, doors.state.open()

    assert run(main) == (list(range(20)), 0, 0, {})


def test_a_full_queue_and_a_long_wait_are_refused():
    async def main():
        doors = Admission(Limits(concurrent=1, queue=1, queue_seconds=0.01))
        await doors.enter("a")
        waiting = asyncio.ensure_future(doors.enter("b"))
        await asyncio.sleep(0)
        with pytest.raises(Refused) as full:
            await doors.enter("c")
        with pytest.raises(Refused) as late:
            await waiting
        doors.leave("a")
        return full.value.code, full.value.status, late.value.code, doors.open, doors.waiting

    assert run(main) == ("queue_full", 503, "queue_timeout", 0, 0)


def test_one_that_leaves_the_queue_costs_nobody_a_turn():
    async def main():
        doors = Admission(Limits(concurrent=1, concurrent_per_key=20))
        await doors.enter("a")
        first, second = (asyncio.ensure_future(doors.enter(name)) for name in "bc")
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        doors.leave("a")
        await second
        third, fourth = (asyncio.ensure_future(doors.enter(name)) for name in "de")
        await asyncio.sleep(0)
        doors.leave("c")  # the third's turn comes, and it is cancelled at the same moment
        third.cancel()
        await asyncio.gather(third, return_exceptions=True)
        await fourth
        doors.leave("e")
        return doors.open, doors.waiting, doors.state.open()

    assert run(main) == (0, 0, {})


def test_each_key_has_its_limit():
    async def main():
        doors = Admission(Limits(concurrent=9, concurrent_per_key=1))
        await doors.enter("a")
        await doors.enter("b")
        with pytest.raises(Refused) as caught:
            await doors.enter("a")
        doors.leave("a")
        await doors.enter("a")
        return caught.value.status, caught.value.retry_after

    assert run(main) == (429, 1)


def test_tokens_a_minute(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(quotas, "time", lambda: now[0])

    async def main():
        doors = Admission(Limits(tokens_per_minute=60))
        await doors.enter("a")
        doors.state.quotas.take("a", 90)
        with pytest.raises(Refused) as caught:
            await doors.enter("a")
        await doors.enter("b")
        now[0] += 31.5
        await doors.enter("a")
        return caught.value.status, round(caught.value.retry_after), str(caught.value)

    said = "This key has used its 60 tokens a minute. Try again in 31 seconds."
    assert run(main) == (429, 31, said)


def test_the_memory_of_owners_is_bounded(monkeypatch):
    monkeypatch.setattr(quotas, "_OWNERS", 10)
    doors = Admission(Limits(tokens_per_minute=5))
    for number in range(50):
        doors.state.quotas.take(str(number), 1)
    assert doors.state.quotas._database.execute("SELECT COUNT(*) FROM tokens").fetchone() == (10,)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("body", 0),
        ("body", -1),
        ("body", 1.5),
        ("total", "1"),
        ("queue", True),
        ("silence", float("nan")),
        ("drain", -1),
    ],
)
def test_limits_that_are_none(name, value):
    with pytest.raises(ValueError, match=name):
        Limits(**{name: value})


def test_workers_have_their_parts_of_the_limits():
    parts = Limits(concurrent=5, queue=0, concurrent_per_key=3, tokens_per_minute=60).of_each(2)
    assert parts == Limits(concurrent=3, queue=0, concurrent_per_key=3, tokens_per_minute=60)


def test_over_http_the_answer_says_when_to_come_again():
    limits = Limits(tokens_per_minute=20)
    with gateway(script_of(ANSWER), app_options={"limits": limits}) as made:
        assert made.post("chat").status_code == 200
        chat, messages = made.post("chat"), made.post("messages")
        assert (chat.status_code, chat.json()["error"]["code"]) == (429, "rate_limit_exceeded")
        assert 1 <= int(chat.headers["retry-after"]) <= 400
        assert (messages.status_code, messages.json()["error"]["type"]) == (429, "rate_limit_error")


def test_over_http_a_full_gateway_says_so_in_each_form():
    limits = Limits(concurrent=1, queue=0)
    hanging = [*script_of(ANSWER)[:3], 30.0]
    with gateway(hanging, app_options={"limits": limits}) as made:
        body = {"stream": True, "model": "openai/gpt-oss-20b", "messages": [{"role": "user", "content": "?"}]}
        with made.http.stream("POST", "/v1/chat/completions", json=body) as first:
            pieces = first.iter_bytes()  # which closes the stream when it goes
            next(pieces)
            chat, messages = made.post("chat"), made.post("messages")
            assert (chat.status_code, chat.headers["retry-after"]) == (503, "30")
            assert (messages.status_code, messages.json()["error"]["type"]) == (529, "overloaded_error")


def test_requests_that_wait_count_as_their_keys():
    async def main():
        doors = Admission(Limits(concurrent=3, concurrent_per_key=2))
        for _ in range(3):
            await doors.enter(f"other {_}")
        waiting = [asyncio.ensure_future(doors.enter("a")) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Refused) as refused:
            await doors.enter("a")
        waiting[0].cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        again = asyncio.ensure_future(doors.enter("a"))
        for _ in range(3):
            doors.leave(f"other {_}")
        await asyncio.gather(waiting[1], again)
        opened = doors.state.open()
        doors.leave("a")
        doors.leave("a")
        return refused.value.status, opened, doors.open, doors.state.open()

    assert run(main) == (429, {"a": 2}, 0, {})
