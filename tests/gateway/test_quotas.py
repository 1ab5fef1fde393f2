"""What keys use, in one process and in several; test_admission.py has the limits as requests meet them."""

from __future__ import annotations

import pytest

from harmonystream.gateway.limits import Limits
from harmonystream.gateway.operating import quotas as module
from harmonystream.gateway.operating.quotas import Quotas, forget_process
from harmonystream.gateway.refused import Refused


@pytest.fixture
def two(tmp_path, monkeypatch):
    """Those of two processes that share a folder."""
    limits = Limits(concurrent_per_key=2, tokens_per_minute=60)
    made = []
    for process in (11, 12):
        monkeypatch.setattr(module.os, "getpid", lambda process=process: process)
        made.append(Quotas(limits, tmp_path))
    return made


def test_open_requests_count_in_all_processes(two, tmp_path):
    one, other = two
    one.enter("a")
    other.enter("a")
    for uses in two:
        with pytest.raises(Refused, match="as it may have: 2"):
            uses.enter("a")
        uses.enter("b")
    assert one.open() == {"a": 2, "b": 2}
    one.leave("a")
    other.enter("a")
    forget_process(tmp_path, 12)
    assert one.open() == {"b": 1}
    one.leave("b")
    assert other.open() == {}


def test_tokens_count_in_all_processes(two, monkeypatch):
    one, other = two
    now = [1000.0]
    monkeypatch.setattr(module, "time", lambda: now[0])
    one.take("a", 50)
    other.enter("a")
    other.take("a", 40)  # more than there are
    with pytest.raises(Refused) as refused:
        one.enter("a")
    assert round(refused.value.retry_after) == 31
    now[0] -= 500  # a clock that is set back gives no tokens, and takes none
    with pytest.raises(Refused):
        one.enter("a")
    now[0] += 531.5
    one.enter("a")


def test_without_limits_nothing_is_counted(tmp_path):
    uses = Quotas(Limits(), tmp_path)
    for _ in range(5):
        uses.enter("a")
        uses.take("a", 1000)
    assert uses.open() == {}
