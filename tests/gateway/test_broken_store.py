"""A database that cannot be written takes nothing down but storing and the limits of keys."""

from __future__ import annotations

import subprocess
import sys

import pytest
from command import ENV
from gateways import ANSWER, ASKED, gateway, script_of

from harmonystream.gateway.limits import Limits
from harmonystream.gateway.operating.store import Store


@pytest.mark.parametrize("api", ASKED)
@pytest.mark.parametrize("stream", [False, True])
def test_requests_are_answered_although_nothing_can_be_stored(api, stream, tmp_path, caplog):
    limits = Limits(concurrent_per_key=5, tokens_per_minute=10**6)
    with gateway(script_of(ANSWER), app_options={"limits": limits, "shared": tmp_path}) as made:
        kept = made.post("responses").json()["id"]
        assert made.http.get("/health/ready").json() == {"status": "ok", "store": "ok"}
        for database in (made.own.state.store._database, made.own.state.quotas._database):
            database.execute("PRAGMA query_only = ON")  # a disk on which nothing can be written
        answer = made.post(api, stream=stream)
        assert answer.status_code == 200
        assert "there" in answer.text
        assert made.settled()
        assert made.http.get("/metrics").status_code == 200
        ready = made.http.get("/health/ready")
        assert (ready.status_code, ready.json()) == (200, {"status": "ok", "store": "unavailable"})
        assert made.http.get(f"/v1/responses/{kept}").status_code == 200
        assert made.http.delete(f"/v1/responses/{kept}").status_code == 503
        made.own.state.store._database.close()
        refused = made.post("responses", previous_response_id=kept)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "store_unavailable")
        assert made.post(api).status_code == 200
    assert "limits of keys do not hold" in caplog.text


def test_one_owner_does_not_evict_what_others_have():
    store = Store(responses=10)
    for at in range(3):
        store.put("ann", [], {"id": f"a{at}", "output": []})
    for at in range(50):
        store.put("bob", [], {"id": f"b{at}", "output": []})
    assert [store.response("ann", f"a{at}")[1]["id"] for at in range(3)] == ["a0", "a1", "a2"]
    assert store.response("bob", "b49")
    assert len(store) == 10
    large = Store(size=4000)
    large.put("ann", [], {"id": "a", "output": [], "text": "x" * 500})
    for at in range(50):
        large.put("bob", [], {"id": f"b{at}", "output": [], "text": "x" * 500})
    assert large.response("ann", "a")
    assert large.size <= 4000
    for at in range(50):
        large.delete("bob", f"b{at}")
    large.delete("ann", "a")
    assert (len(large), large.size) == (0, 0)
    assert large._database.execute("SELECT COUNT(*) FROM owners").fetchone() == (0,)


FULL = """
import os, sys
os.environ["PROMETHEUS_MULTIPROC_DIR"] = sys.argv[1]
from harmonystream.gateway.operating.metrics import Metrics
made = Metrics()
for number in range(300):
    made.requests.labels("chat", f"m{number}", "200").inc()
    made.seconds.labels("chat", f"m{number}").observe(1)
    made.running.set(number)
sizes = [os.stat(os.path.join(sys.argv[1], name)) for name in os.listdir(sys.argv[1])]
assert len(sizes) == 4, sizes
assert all(one.st_blocks * 512 >= 1 << 20 for one in sizes), sizes
print(made.text().count(b"\\n") > 300)
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "posix_fallocate"), reason="only POSIX reserves room")
def test_files_of_metrics_have_their_room_from_the_start(tmp_path):
    """A mapped file that grows on a full disk kills the process that writes to it."""
    done = subprocess.run([sys.executable, "-c", FULL, tmp_path], env=ENV, capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.returncode) == ("True", 0), done.stderr
