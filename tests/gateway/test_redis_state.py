"""What gateways share in a real Valkey or Redis: the same as one machine has, whatever happens to the store."""

from __future__ import annotations

import asyncio
import random
import subprocess
import time
from contextlib import AsyncExitStack

import pytest
from valkey import needs_valkey, valkey

from harmonystream.gateway.limits import Limits, Quota
from harmonystream.gateway.operating import redis_state as module
from harmonystream.gateway.operating.redis_state import RedisState
from harmonystream.gateway.operating.state import LocalState, StateError, earlier_of
from harmonystream.gateway.refused import Refused

pytestmark = needs_valkey
SEAL = "0123456789abcdef" * 2


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with valkey(tmp_path_factory.mktemp("valkey")) as made:
        yield made


def run(main):
    return asyncio.run(asyncio.wait_for(main(), 60))


def states(daemon, main, count=2, limits=None, flush=True, **options):
    """What `main` gives, with so many gateways' states."""

    async def with_them():
        async with AsyncExitStack() as stack:
            limits_ = limits or Limits(store_wait=1.0)
            made = [RedisState(daemon.url, limits_, **options) for _ in range(count)]
            if flush:
                await made[0]._link.client.flushall()
            for one in made:
                await stack.enter_async_context(one)
            return await main(*made)

    return run(with_them)


def response(id, text="x"):
    return {
        "id": id,
        "status": "completed",
        "output": [{"id": f"msg_{id}", "type": "message", "role": "assistant", "content": text}],
    }


async def until(holds, seconds=20):
    deadline = time.monotonic() + seconds
    while not await holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def send_reports(state):
    """The state's report, without the task that would make it at the same time."""
    state._tasks[1].cancel()
    await state._send_reports()


@pytest.mark.parametrize("seal", [None, SEAL])
@pytest.mark.parametrize("seed", range(4))
def test_it_stores_what_sqlite_stores(daemon, seed, seal):
    """Random steps of two owners by two gateways: every answer is that of a gateway that is alone."""
    pick = random.Random(seed)
    limits = Limits(stored=7, stored_per_key=pick.choice([0, 3]), store_wait=5.0)

    async def main(*gateways):
        alone = LocalState(limits)
        for step in range(300):
            state, owner, id = pick.choice(gateways), pick.choice(["ann", "bob"]), f"r{pick.randrange(12)}"
            what = pick.choice(["put", "put", "put", "response", "item", "delete"])
            arguments = {"put": ([{"said": step}], response(id, f"of step {step}"))}.get(what, (id,))
            if what == "item":
                arguments = (f"msg_{id}",)
            found = await getattr(state, what)(owner, *arguments)
            assert found == await getattr(alone, what)(owner, *arguments), (step, what, owner, id)
            assert await state.count() == await alone.count()

    states(daemon, main, limits=limits, seal=seal)


def test_the_size_is_bounded_and_the_sums_are_right(daemon):
    pick = random.Random(5)

    async def main(state, _):
        client = state._link.client
        for step in range(200):
            owner = pick.choice("abc")
            await state.put(owner, [], response(f"r{step}", "x" * pick.randrange(900)))
            if pick.random() < 0.2:
                await state.delete(owner, f"r{pick.randrange(step + 1)}")
            names = await client.keys("harmonystream:r:*")
            sizes = [sum(map(len, (await client.hgetall(name)).values())) for name in names]
            totals = {key: int(value) for key, value in (await client.hgetall("harmonystream:totals")).items()}
            assert totals == {b"count": len(names), b"size": sum(sizes)}
            assert sum(sizes) <= 3000
            of_owners = await client.zrange("harmonystream:sizes", 0, -1, withscores=True)
            assert sum(size for _, size in of_owners) == sum(sizes)
        await state.put("a", [], response("large", "x" * 3000))
        assert await state.response("a", "large") is None
        for step in range(200):
            for owner in "abc":
                await state.delete(owner, f"r{step}")
        assert {name for name in await client.keys("*") if await client.type(name) != b"zset"} <= {
            b"harmonystream:totals",
            b"harmonystream:turn",
        }
        assert await client.hgetall("harmonystream:totals") == {b"count": b"0", b"size": b"0"}

    states(daemon, main, limits=Limits(stored_bytes=3000, store_wait=5.0))


def test_what_is_old_goes(daemon):
    async def main(state, _):
        await state.put("a", [], response("r1"))
        await state.put("b", [], response("r2"))
        assert await state.item("a", "msg_r1")

        async def gone():
            return await state.response("a", "r1") is None and await state.item("b", "msg_r2") is None

        await until(gone)
        await state.put("a", [], response("r3"))
        assert await state.count() == 1
        assert len(await state._link.client.keys("harmonystream:[ri]:*")) == 2

    states(daemon, main, limits=Limits(stored_seconds=0.3, store_wait=5.0))


def test_nothing_of_a_client_can_be_read_there_with_a_key(daemon):
    async def main(state, _):
        await state.put("ann-the-owner", [{"role": "user", "content": "a secret"}], response("resp_1", "told"))
        await state.enter("ann-the-owner", Quota(5, 50))
        state.take("ann-the-owner", 3, Quota(5, 50))
        await asyncio.sleep(0.1)
        client, seen = state._link.client, b""
        for name in await client.keys("*"):
            kind = (await client.type(name)).decode()
            read = {"string": client.get, "hash": client.hgetall, "set": client.smembers}.get(kind)
            seen += name + repr(await read(name) if read else await client.zrange(name, 0, -1)).encode()
        return seen

    seen = states(daemon, main, seal=SEAL)
    assert len(seen) > 500
    for word in (b"secret", b"told", b"ann", b"resp_1", b"msg_"):
        assert word not in seen
    open_ones = states(daemon, main)
    assert b"secret" in open_ones and b"ann-the-owner" not in open_ones


def test_a_sealed_response_opens_with_its_key_under_its_name_alone(daemon):
    async def main(state, _):
        await state.put("ann", [], response("r1"))
        await state.put("bob", [], response("r1", "bob's"))
        client = state._link.client
        ann, bob = (f"harmonystream:r:{state._seal.name(owner, 'r1')}" for owner in ("ann", "bob"))
        await client.hset(ann, "response", await client.hget(bob, "response"))  # whoever can write there moves it
        with pytest.raises(StateError, match="does not open"):
            await state.response("ann", "r1")
        assert (await state.response("bob", "r1"))[1] == response("r1", "bob's")
        await client.hset(bob, "input", b"0[]")  # or writes one that is not sealed
        with pytest.raises(StateError, match="not sealed"):
            await state.response("bob", "r1")

    states(daemon, main, seal=SEAL)

    async def other(state, _):
        assert await state.response("bob", "r1") is None

    states(daemon, other, seal=SEAL[::-1], flush=False)
    with pytest.raises(ValueError, match="32 characters"):
        RedisState(daemon.url, Limits(), seal="short")


JUNK = ["", "x", "0", "0{", '0{"output": 5}', "1", "1" + "x" * 50, "0[[[[", "\x00\xff", "0null", "-1:x", "9" * 400]


@pytest.mark.parametrize("seed", range(6))
def test_garbage_in_the_store_is_an_error_and_never_an_answer(daemon, seed):
    """Someone else's writes: every name with another type or value, one at a time."""
    pick = random.Random(seed)
    quota = Quota(5, 60)

    async def main(state, _):
        client = state._link.client
        for _ in range(25):
            await client.flushall()
            await state.put("ann", [{"said": 1}], response("r1"))
            await state.enter("ann", quota)
            state.take("ann", 1, quota)
            await send_reports(state)
            name = pick.choice(sorted(await client.keys("*")))
            if pick.random() < 0.5:
                await client.delete(name)
                junk = pick.choice(JUNK)
                await pick.choice([client.set, lambda n, v: client.rpush(n, v), lambda n, v: client.hset(n, v, v)])(
                    name, junk
                )
            elif await client.type(name) == b"hash":
                await client.hset(name, pick.choice(await client.hkeys(name)), pick.choice(JUNK))
            for call in (
                lambda: state.response("ann", "r1"),
                lambda: state.item("ann", "msg_r1"),
                lambda: state.put("bob", [], response("r2")),
                lambda: state.delete("ann", "r1"),
                lambda: state.count(),
            ):
                try:
                    found = await call()
                except StateError:
                    continue
                said = (None, ([{"said": 1}], response("r1")), response("r1")["output"][0])
                assert isinstance(found, int) or found in said
            try:
                await state.enter("ann", quota)
            except Refused as refused:
                assert refused.code == "rate_limit_exceeded"
            else:
                state.leave("ann", quota)
            state.leave("ann", quota)
            await state._beat()
            assert state._link.is_up

    states(daemon, main)


# --- what keys use ----------------------------------------------------------------------------------------------------


def test_open_requests_are_never_more_than_the_limit_in_all_gateways(daemon):
    """Many requests at once by three gateways; at each moment no more are in than may be, and at the end none."""
    quota = Quota(7, 0)

    async def main(*gateways):
        inside, most, refused = 0, 0, 0

        async def visit(pick):
            nonlocal inside, most, refused
            state = pick.choice(gateways)
            for _ in range(20):
                try:
                    await state.enter("ann", quota)
                except Refused:
                    refused += 1
                    await asyncio.sleep(pick.random() / 100)
                    continue
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(pick.random() / 100)
                inside -= 1
                state.leave("ann", quota)

        await asyncio.gather(*(visit(random.Random(seed)) for seed in range(40)))
        assert 1 < most <= 7
        assert refused > 50

        async def none_is_open():
            return not await gateways[0]._link.client.exists(f"harmonystream:open:{gateways[0]._seal.name('ann')}")

        await until(none_is_open)
        for state in gateways:
            assert state.open() == {}
        for _ in range(7):  # and all can be had again
            await random.Random(1).choice(gateways).enter("ann", quota)
        for state in gateways:
            with pytest.raises(Refused):
                await state.enter("ann", quota)

    states(daemon, main, count=3, limits=Limits(store_wait=20.0))


def test_what_a_gateway_had_open_that_is_gone_counts_no_more(daemon, monkeypatch):
    monkeypatch.setattr(module, "LEASE", 0.4)
    monkeypatch.setattr(module, "BEAT", 0.1)
    quota = Quota(3, 0)

    async def main(one, other):
        for _ in range(2):
            await one.enter("ann", quota)
        await other.enter("ann", quota)
        with pytest.raises(Refused, match="as it may have: 3"):
            await other.enter("ann", quota)
        assert other.open() == {"ann": 1}
        one._tasks[0].cancel()  # as a process that was killed: it says nothing more

        async def let_in():
            try:
                await other.enter("ann", quota)
            except Refused:
                return False
            return True

        await until(let_in)

        async def is_alone():
            return await other.gateways() == 1

        await until(is_alone)
        await one._beat()  # it only was asleep, and is told that it was given up
        await send_reports(one)
        with pytest.raises(Refused):
            await other.enter("ann", quota)

    states(daemon, main)


def test_tokens_a_minute_hold_for_all(daemon):
    quota = Quota(0, 60)

    async def main(one, other):
        one.take("ann", 50, quota)
        await send_reports(one)
        await other.enter("ann", quota)
        other.take("ann", 40, quota)
        await send_reports(other)
        with pytest.raises(Refused, match="60 tokens a minute") as refused:
            await one.enter("ann", quota)
        assert 28 < refused.value.retry_after < 32
        await one.enter("bob", quota)

    states(daemon, main)


def test_a_key_with_one_request_at_a_time_overdraws_by_one_request(daemon):
    """A gateway reports the used tokens before it reports that the request has ended. Otherwise another gateway would
    let the next one in between. Each report goes by itself here, so that there is time in between."""
    quota = Quota(1, 1000)

    async def main(state, other):
        send, let_in = state._send, []

        async def send_and_enter(reports):
            answers = []
            for report in reports:
                answers += await send([report])
                try:
                    await other.enter("ann", quota)
                except Refused as refused:
                    let_in.append("tokens" in refused.message)
                else:
                    let_in.append("it is in")
            return answers

        state._send = send_and_enter
        await state.enter("ann", quota)
        state.take("ann", 5000, quota)
        state.leave("ann", quota)
        await until(lambda: asyncio.sleep(0, len(let_in) == 2))
        assert let_in == [True, True]

    states(daemon, main)


@pytest.mark.parametrize("seed", range(3))
def test_requests_at_once_overdraw_by_what_they_use_and_no_more(daemon, seed):
    """Of three gateways. What they have used too much is paid off before the next one is let in."""
    pick = random.Random(seed)
    quota, most = Quota(4, 60_000), 9_000

    async def main(*gateways):
        used, began = 0, time.monotonic()

        async def spend(state):
            nonlocal used
            for _ in range(25):
                try:
                    await state.enter("ann", quota)
                except Refused:
                    await asyncio.sleep(0.005)
                    continue
                await asyncio.sleep(pick.random() / 100)
                tokens = pick.randrange(1, most)
                used += tokens
                state.take("ann", tokens, quota)
                state.leave("ann", quota)

        await asyncio.gather(*(spend(pick.choice(gateways)) for _ in range(12)))
        took = time.monotonic() - began
        assert quota.tokens_per_minute / 2 < used <= quota.tokens_per_minute * (1 + took / 60) + quota.concurrent * most

    states(daemon, main, 3)


def test_tokens_whose_report_was_lost_count_once(daemon):
    """The store has heard of them, and its answer does not come: they are reported again."""
    quota = Quota(0, 6000)

    async def main(one, other):
        send = one._send

        async def lost(reports):
            await send(reports)
            raise OSError("the answer does not come")

        one._send = lost
        one.take("ann", 1000, quota)
        await asyncio.sleep(0.2)
        one._send = send
        one.take("ann", 500, quota)
        await one._beat()

        async def all_reported():
            return not one._owed

        await until(all_reported)
        left = float(await other._link.client.hget(f"harmonystream:tokens:{other._seal.name('ann')}", "left"))
        assert 4500 <= left < 4600

    states(daemon, main)


def test_gateways_that_come_and_go_leave_no_more_than_a_hundred_numbers(daemon):
    """A key that is always busy never expires."""
    quota = Quota(0, 60_000)

    async def main(state, other):
        name = f"harmonystream:tokens:{state._seal.name('ann')}"
        for number in range(350):
            state.me = f"gateway {number}"
            state.take("ann", 100, quota)
            await send_reports(state)
            assert await other._link.client.hlen(name) <= 103
        left = float(await other._link.client.hget(name, "left"))
        assert 60_000 - 350 * 100 <= left <= 60_000 - 350 * 100 + 1000 * 30

    states(daemon, main)


# --- a store that is not there ----------------------------------------------------------------------------------------


def test_a_store_that_hangs_is_waited_for_once_and_comes_back(daemon, monkeypatch, caplog):
    monkeypatch.setattr(module, "BEAT", 0.05)
    quota = Quota(3, 600)

    async def main(one, other):
        await one.put("ann", [], response("before"))
        await other.enter("ann", quota)
        with daemon.paused():
            began = time.monotonic()
            with pytest.raises(StateError):
                await one.put("ann", [], response("lost"))
            assert time.monotonic() - began < 2
            assert not one.is_there
            began = time.monotonic()
            for _ in range(50):
                with pytest.raises(StateError, match="does not answer"):
                    await one.response("ann", "before")
            await one.enter("ann", quota)
            await one.enter("ann", quota)
            one.take("ann", 100, quota)
            assert time.monotonic() - began < 2  # 50 times the wait are 10
            await one.enter("ann", quota)  # nobody knows what the other one has
            with pytest.raises(Refused):
                await one.enter("ann", quota)  # what it has itself it knows
            one.leave("ann", quota)

        async def is_back():
            return one.is_there and other.is_there and not one._owed and not one._stale

        await until(is_back)
        assert (await one.response("ann", "before"))[1]["id"] == "before"
        with pytest.raises(Refused):
            await other.enter("ann", quota)
        left = float(await other._link.client.hget(f"harmonystream:tokens:{other._seal.name('ann')}", "left"))
        assert 500 <= left < 530

    states(daemon, main, limits=Limits(store_wait=0.2))
    assert "the store is not there" in caplog.text


def test_after_one_slow_answer_it_stores_again_at_once(daemon, monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 60.0)  # that is for a store that answers and has no room
    monkeypatch.setattr(module, "BEAT", 0.1)

    async def main(one, _):
        with daemon.paused(), pytest.raises(StateError):
            await one.put("a", [], response("r1"))

        async def stores():
            return one.is_there and await one.put("a", [], response("r2"))

        await until(stores)
        assert await one.response("a", "r2") == ([], response("r2"))

    states(daemon, main, limits=Limits(store_wait=0.3))


def test_a_process_that_is_late_itself_does_not_lose_its_store(daemon):
    async def main(one, _):
        for at in range(3):
            putting = asyncio.ensure_future(one.put("a", [], response(f"r{at}")))
            await asyncio.sleep(0.002)  # it is under way
            time.sleep(1.6)  # all of its wait, and the answer comes meanwhile
            assert await putting
        assert one.is_there

    # The parts of the wait that are left are long enough for a busy machine.
    states(daemon, main, limits=Limits(store_wait=1.5))


def test_a_store_that_was_killed_keeps_what_was_acknowledged(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BEAT", 0.05)
    quota = Quota(2, 0)
    with valkey(tmp_path) as own:

        async def main(one, other):
            await one.enter("ann", quota)
            for number in range(20):
                await one.put("ann", [{"n": number}], response(f"r{number}"))
            own.kill()
            with pytest.raises(StateError):
                await other.response("ann", "r1")
            await other.enter("ann", quota)
            own.start()

            async def is_back():
                return one.is_there and other.is_there and not other._stale

            await until(is_back)
            for number in range(20):
                assert await other.response("ann", f"r{number}") == ([{"n": number}], response(f"r{number}"))
            with pytest.raises(Refused):
                await one.enter("ann", quota)

        states(own, main, limits=Limits(store_wait=1.0))


def test_a_store_that_has_lost_everything_gets_the_counts_again(daemon, monkeypatch):
    monkeypatch.setattr(module, "BEAT", 0.05)
    quota = Quota(2, 0)

    async def main(one, other):
        await one.enter("ann", quota)
        await other.enter("ann", quota)
        await one._link.client.flushall()

        async def refuses():
            try:
                await other.enter("ann", quota)
            except Refused:
                return True
            other.leave("ann", quota)
            return False

        await until(refuses)

    states(daemon, main)


def test_a_full_store_stores_nothing_and_says_so(tmp_path):
    with valkey(tmp_path, "maxmemory 3mb", "maxmemory-policy noeviction") as own:

        async def main(one, _):
            await one.put("ann", [], response("r0"))
            with pytest.raises(StateError):
                for number in range(1, 50):
                    await one.put("ann", [], response(f"r{number}", "x" * 200_000))
            assert (await one.response("ann", "r0"))[1]["id"] == "r0"
            await one._beat()
            assert not await one.is_sound()
            await one.enter("ann", Quota(3, 3))

        states(own, main)


def test_a_password(tmp_path, caplog):
    with valkey(tmp_path, "requirepass open-sesame") as own:

        async def stores(one, _):
            await one.put("ann", [], response("r1"))
            return await one.count()

        assert states(own, stores, password="open-sesame") == 1
        own.url = own.url.replace("redis://", "valkey://:open-sesame@")
        assert states(own, stores, password="another") == 1  # the URL's own is meant
        own.url = own.url.replace("open-sesame", "wrong-sesame")

        async def cannot(one, _):
            with pytest.raises(StateError):
                await one.put("ann", [], response("r1"))
            assert not await one.is_sound()

        states(own, cannot, flush=False)
    assert "sesame" not in caplog.text


def test_tls(tmp_path):
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"]
    try:
        subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl makes no certificate here")
    lines = ["port 0", "tls-port {port}", "tls-cert-file cert.pem", "tls-key-file key.pem", "tls-auth-clients no"]
    with valkey(tmp_path, *lines) as own:

        async def main():
            limits = Limits(store_wait=5.0)
            url = f"valkeys://127.0.0.1:{own.port}?ssl_ca_certs={tmp_path / 'cert.pem'}"
            async with RedisState(url, limits) as state:
                await state.put("ann", [], response("r1"))
                assert await state.count() == 1
            async with RedisState(f"rediss://127.0.0.1:{own.port}", limits) as state:
                with pytest.raises(StateError):  # nobody vouches for this certificate
                    await state.count()

        run(main)


@pytest.mark.parametrize("url", ["http://x", "redis:/x", "redis://", "redis://x:port", "sqlite:///x", ""])
def test_urls_that_are_none(url):
    with pytest.raises(ValueError, match="the store"):
        RedisState(url, Limits())


# --- what others have written there -----------------------------------------------------------------------------------


HOSTILE = [
    ([5], {"output": []}),
    ([], {"id": "r1", "status": "completed", "output": [5]}),
    ([], {"id": "r1", "output": [None]}),
    ([], {"id": "r1", "output": []}),  # without a status
    ([], {"id": "r1", "status": 5, "output": []}),
    ([], {"id": "r2", "status": "completed", "output": []}),  # another response
    ([], []),
    ({}, {"id": "r1", "status": "completed", "output": []}),
    (["x"], {"id": "r1", "status": "completed", "output": "x"}),
]


@pytest.mark.parametrize("at", range(len(HOSTILE)))
def test_a_response_of_another_form_is_an_error_for_all_that_read_it(daemon, at):
    items, said = HOSTILE[at]

    async def main(state, _):
        await state.put("ann", [], response("r1"))
        key = state._seal.name("ann", "r1")
        packed = state._packed(key, items, said)
        await state._link.client.hset(f"harmonystream:r:{key}", mapping={"input": packed[0], "response": packed[1]})
        for call in (
            lambda: state.response("ann", "r1"),
            lambda: state.item("ann", "msg_r1"),
            lambda: earlier_of(state, "ann", [("response", "r1")]),
            lambda: earlier_of(state, "ann", [("item", "msg_r1")]),
        ):
            with pytest.raises(StateError, match="cannot be read"):
                await call()

    states(daemon, main)


@pytest.mark.parametrize("deep", [False, True])
def test_a_value_of_any_size_is_not_read(daemon, deep):
    limits = Limits(store_wait=5.0, stored_bytes=100_000)

    async def main(state, _):
        await state.put("ann", [], response("r1"))
        name = f"harmonystream:r:{state._seal.name('ann', 'r1')}"
        await state._link.client.hset(name, "response", "0" + ("[" if deep else " ") * 200_000)
        with pytest.raises(StateError, match="larger than"):
            await state.response("ann", "r1")
        await state._link.client.set(f"harmonystream:i:{state._seal.name('ann', 'item', 'msg_r1')}", "x" * 200_000)
        assert await state.item("ann", "msg_r1") is None

    states(daemon, main, limits=limits)


def test_a_key_that_somebody_spoiled_does_not_stop_the_counts_of_others(daemon):
    quota = Quota(2, 1000)

    async def main(state, other):
        client = state._link.client
        for name in ("tokens", "open"):
            await client.set(f"harmonystream:{name}:{state._seal.name('ann')}", "spoiled")
        await state.enter("ann", quota)  # it holds here alone
        await state.enter("bob", quota)
        for owner in ("ann", "bob"):
            state.take(owner, 5000, quota)
            state.leave(owner, quota)

        async def is_counted():
            try:
                await other.enter("bob", quota)
            except Refused as refused:
                return "1000 tokens" in refused.message
            other.leave("bob", quota)
            return False

        await until(is_counted)
        await client.delete(*(f"harmonystream:{name}:{state._seal.name('ann')}" for name in ("tokens", "open")))
        await state._beat()

        async def hears_after_all():
            left = await client.hget(f"harmonystream:tokens:{state._seal.name('ann')}", "left")
            return left is not None and not state._owed and not state._stale

        await until(hears_after_all)

    states(daemon, main)


@pytest.mark.parametrize("left", ["-inf", "nan", "-1e400", "-5e300", "0x", "1e999", "-12"])
def test_no_count_of_tokens_breaks_an_answer(daemon, left):
    quota = Quota(2, 1000)

    async def main(state, _):
        await state._link.client.hset(
            f"harmonystream:tokens:{state._seal.name('ann')}", mapping={"left": left, "at": 5e9}
        )
        try:
            await state.enter("ann", quota)
        except Refused as refused:
            assert 0 < refused.retry_after <= 3600
        else:
            state.leave("ann", quota)

    states(daemon, main)
