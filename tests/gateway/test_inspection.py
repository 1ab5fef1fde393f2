"""The inspector: what it says of a stream, the page in a real browser, and who may see it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from types import SimpleNamespace

import pytest
from gateways import ANSWER, CALL, TOOLS, gateway, ids_of, script_of

from harmonystream.gateway import inspection
from harmonystream.gateway.inspection import inspected, page_with
from harmonystream.gateway.inspector import KEPT, _is_local
from harmonystream.gateway.keys import Keys, line_of

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
EVIL = (
    '<|channel|>analysis<|message|></script><script>document.title="EVIL"</script><|end|>'
    "<|start|>assistant to=f<|message|>{}"
)


def test_each_token_has_its_region_and_the_rest_is_what_the_library_says():
    made = inspected(ids_of(CALL), "harmony", None, tools=["add"], finish="stop", times=[0.5, 0.75])
    regions = [token["region"] for token in made["tokens"]]
    assert regions[:3] == ["header"] * 3
    assert {name: regions.count(name) for name in set(regions)} == {
        name: count for name, count in made["usage"].items() if count
    }
    assert made["tokens"][0]["text"] == "<|channel|>"
    assert [token.get("time") for token in made["tokens"][:3]] == [0.5, 0.75, None]
    assert made["finish"] == "tool_calls"
    assert [event["type"] for event in made["events"]][-1] == "StreamEnd"
    assert made["frames"]["chat"][-1]["data"]["choices"][0]["finish_reason"] == "tool_calls"
    assert made["frames"]["messages"][-1]["data"]["type"] == "message_stop"
    assert made["frames"]["responses"][-1]["data"]["type"] == "response.completed"


def test_text_and_deviations(monkeypatch):
    made = inspected("é<|channel|>finale<|message|>Hi", "harmony", None)
    assert "".join(token["text"] for token in made["tokens"]) == "é<|channel|>finale<|message|>Hi"
    assert made["deviations"]
    assert all(0 <= one["at"] <= len(made["tokens"]) for one in made["deviations"])
    monkeypatch.setattr(inspection, "MOST", 9)
    cut = inspected([13225] * 10, "harmony", None)
    assert (cut["cut"], len(cut["tokens"])) == (True, 9)


def test_the_data_cannot_leave_its_place_in_the_page():
    page = page_with(inspected(EVIL, "harmony", None))
    assert page.count("</script>") == 1
    assert page.count("<script>") == 1
    assert re.search(r'(?:src|href)\s*=\s*"?(?:https?:)?//', page) is None  # nothing is loaded from elsewhere


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize("stream", ["ids", "evil"])
def test_the_page_shows_the_stream_in_a_browser(stream, tmp_path):
    tokens = ids_of(CALL) if stream == "ids" else EVIL
    (tmp_path / "page.html").write_text(page_with(inspected(tokens, "harmony", None, tools=["add"])), "utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
    command += ["--dump-dom", (tmp_path / "page.html").as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    spans = re.findall(r'<span class="t (\w+)[^"]*" tabindex="[-0]1?" data-at="(\d+)">', dom)
    assert [int(at) for _, at in spans] == list(range(len(tokens)))
    assert {region for region, _ in spans} >= {"header", "reasoning"}
    assert "<title>harmonystream inspector</title>" in dom
    assert "finish reason" in dom
    if stream == "ids":
        assert "functions</span>" in dom
        assert '"type":"ToolCallStart"' in dom


def test_streams_are_shown_while_they_run_and_to_their_owner_alone():
    keys = Keys({line_of(name, name.upper()).split()[1]: name for name in ("ann", "bob")})
    options = {"keys": keys, "inspect": True}
    with gateway(script_of(ANSWER), app_options=options) as made:
        ann, bob = ({"x-api-key": name} for name in ("ANN", "BOB"))
        body = {"messages": [{"role": "user", "content": "?"}], "tools": TOOLS["chat"], "n": 2}
        made.http.post("/v1/chat/completions", json=body, headers=ann)
        page = made.http.get("/inspect")
        assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'sha256-")
        assert "GIVEN = /*data*/null" in page.text
        for path in ("/inspect/streams", "/inspect/streams/x", "/inspect/parse"):
            assert made.http.request("POST" if "parse" in path else "GET", path).status_code == 401
        (stream,) = made.http.get("/inspect/streams", headers=ann).json()["streams"]
        assert made.http.get("/inspect/streams", headers=bob).json()["streams"] == []
        assert made.http.get(f"/inspect/streams/{stream['id']}", headers=bob).status_code == 404
        shown = made.http.get(f"/inspect/streams/{stream['id']}", headers=ann).json()
        assert [token["id"] for token in shown["tokens"]] == ids_of(ANSWER)
        assert (shown["ended"], shown["finish"], shown["prompt"][0]["text"]) == (True, "stop", "<|start|>")
        assert all("time" in token for token in shown["tokens"])
        pasted = {"tokens": ids_of(CALL), "format": "harmony"}
        parsed = made.http.post("/inspect/parse", json=pasted, headers=ann).json()
        assert len(parsed["tokens"]) == len(ids_of(CALL))
        for bad in ({"tokens": 3}, {"tokens": [-1], "format": "harmony"}, {"tokens": "a", "format": "no"}, [1]):
            assert made.http.post("/inspect/parse", json=bad, headers=ann).status_code == 400
        for _ in range(KEPT + 3):
            made.http.post("/v1/chat/completions", json=body | {"n": 1}, headers=ann)
        assert len(made.http.get("/inspect/streams", headers=ann).json()["streams"]) == KEPT


def test_it_is_off_unless_it_is_asked_for_and_for_this_machine_alone():
    with gateway(script_of(ANSWER)) as made:
        assert made.http.get("/inspect").status_code == 404
        assert made.http.get("/inspect/streams").status_code == 404
    clients = {"127.0.0.1": True, "::1": True, "10.0.0.7": False, "2001:db8::1": False, "nonsense": False}
    found = {host: _is_local(SimpleNamespace(client=SimpleNamespace(host=host))) for host in clients}
    assert found == clients
    assert _is_local(SimpleNamespace(client=None)) is False


def test_the_page_is_json_where_it_says_so():
    page = page_with({"a": "<>&\u2028é"})
    literal = re.search(r"const GIVEN = (.*);\n", page)[1]
    assert json.loads(literal) == {"a": "<>&\u2028é"}
