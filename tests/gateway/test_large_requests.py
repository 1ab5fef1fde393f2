"""Nobody waits for somebody else's large request: no step of reading one keeps other threads from running for long.

The time is that of the processor in the thread that reads, between two moments at which another thread ran. So it does
not depend on what else the machine does.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from harmonystream.engines import Completions, Recorded, Sampling
from harmonystream.engines.http import _encoded
from harmonystream.gateway import Model
from harmonystream.gateway.generating.model import Served
from harmonystream.gateway.operating.server import SWITCH, freeze
from harmonystream.gateway.refused import Refused
from harmonystream.gateway.requests import chat_api
from harmonystream.gateway.requests.bodies import MOST_GROUPS, _value

pytestmark = pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="threads have no clock here")

MOST = 0.1
"""Seconds. Such a step takes 0.01 to 0.04 on a server of 2023."""
SIZE = 4_000_000


def longest_hold(work: Callable[[], Any]) -> float:
    """The least of three attempts, because a busy machine may keep the thread that looks from its turn."""
    return min(_longest_hold(work) for _ in range(3))


def _longest_hold(work: Callable[[], Any]) -> float:
    """Seconds for which work, in a thread of its own, keeps the GIL without a break."""
    clocks: list[int] = []
    ready, begin, over, seen = (threading.Event() for _ in range(4))

    def run() -> None:
        clocks.append(time.pthread_getcpuclockid(threading.get_ident()))
        ready.set()
        begin.wait()
        work()
        over.set()
        seen.wait()  # its clock ends with it

    worker = threading.Thread(target=run)
    worker.start()
    ready.wait()
    begin.set()
    last, longest = time.clock_gettime(clocks[0]), 0.0
    while not over.is_set():
        time.sleep(0)
        now = time.clock_gettime(clocks[0])
        longest, last = max(longest, now - last), now
    seen.set()
    worker.join()
    return longest


@pytest.fixture
def switching():
    """As `serve` has it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    freeze()
    yield
    gc.unfreeze()
    sys.setswitchinterval(before)


@pytest.fixture(scope="module")
def model():
    made = Served(Model("gpt-oss", Recorded(), family="gpt-oss"))
    made.prompt(chat_api.read({"messages": [{"role": "user", "content": "?"}]}))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("word", ["the ", "流式解析器，", "<|im_end|>"])
def test_a_prompt_of_4_mb(word, model, switching):
    text = word * (SIZE // len(word.encode()))
    body = json.dumps({"messages": [{"role": "user", "content": text}]}).encode()
    made: list[Any] = []

    def whole() -> None:
        request = chat_api.read(_value(body))
        prompt = model.prompt(request)
        prompt.parser()
        made.append(_encoded(Completions("http://e", "m")._request(prompt, Sampling())))

    assert longest_hold(whole) < MOST
    assert len(made[0]) > SIZE // 10


LARGE = [
    b'{"a":"%s"}' % (b"a" * (1 << 25)),
    b"[%s1]" % (b"1," * (1 << 24)),
    b"[%s1]" % (b"[]," * ((1 << 25) // 3)),
    b"[%s1]" % (b"[]," * (MOST_GROUPS - 9)),
]


@pytest.mark.slow
@pytest.mark.parametrize("body", LARGE, ids=["text", "numbers", "lists", "lists that are read"])
def test_a_body_of_32_mib(body, switching):
    def whole() -> None:
        try:
            chat_api.read(_value(body))
        except Refused as refused:
            assert refused.status == 400

    assert longest_hold(whole) < MOST
