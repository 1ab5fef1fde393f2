"""Stored responses: what is found, by whom, and what goes when there are too many."""

from __future__ import annotations

import json

import pytest
from gateways import ANSWER, CALL, GPT_OSS, gateway, script_of

import harmonystream as hs
from harmonystream.gateway.operating import store as module
from harmonystream.gateway.operating.store import Store


def response(id, text="x"):
    return {"id": id, "output": [{"id": f"msg_{id}", "type": "message", "role": "assistant", "content": text}]}


def ids_in(store):
    """Of responses, and of their items."""
    tables = ("responses", "items")
    rows = [store._database.execute(f"SELECT key FROM {table} ORDER BY number").fetchall() for table in tables]
    return [[json.loads(key)[1] for (key,) in found] for found in rows]


def test_an_owner_finds_its_own():
    store = Store()
    store.put("a", [{"role": "user", "content": "?"}], response("r1"))
    assert store.item("a", "msg_r1")["content"] == "x"
    assert store.response("a", "r1") == ([{"role": "user", "content": "?"}], response("r1"))
    assert (store.response("b", "r1"), store.item("b", "msg_r1")) == (None, None)
    assert (store.delete("b", "r1"), store.delete("a", "r1"), store.delete("a", "r1")) == (False, True, False)
    assert (len(store), store.size, ids_in(store)) == (0, 0, [[], []])


def test_the_oldest_go_first():
    store = Store(responses=3)
    for at in range(5):
        store.put("a", [], response(f"r{at}"))
    assert ids_in(store) == [["r2", "r3", "r4"], ["msg_r2", "msg_r3", "msg_r4"]]


def test_the_size_is_bounded():
    store = Store(size=1000)
    for at in range(50):
        store.put("a", [], response(f"r{at}", "x" * 100))
        assert 0 < store.size <= 1000
    store.put("a", [], response("large", "x" * 1000))
    assert "large" not in ids_in(store)[0]
    store.put("a", [], response("r49", "y"))  # the same id again
    assert store.response("a", "r49")[1]["output"][0]["content"] == "y"


def test_each_owner_has_its_bound():
    store = Store(each=2)
    store.put("b", [], response("other"))
    for at in range(4):
        store.put("a", [], response(f"r{at}"))
    assert ids_in(store) == [["other", "r2", "r3"], ["msg_other", "msg_r2", "msg_r3"]]


def test_what_is_old_is_not_found_and_goes(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(module, "time", lambda: now[0])
    store = Store(seconds=10)
    store.put("a", [], response("r1"))
    now[0] += 9
    assert store.response("a", "r1") and store.item("a", "msg_r1")
    now[0] += 1
    assert (store.response("a", "r1"), store.item("a", "msg_r1")) == (None, None)
    store.put("a", [], response("r2"))
    assert (ids_in(store), len(store)) == ([["r2"], ["msg_r2"]], 1)


def prompt_text(made):
    vocab = hs.vocab.o200k_harmony()
    return b"".join(map(vocab.token_bytes, made.sent()["prompt"])).decode()


def test_a_loop_by_previous_response_id_over_http():
    tools = [{"type": "function", "name": "add", "parameters": {"type": "object", "properties": {}}}]
    with gateway(script_of(CALL)) as made, made.clients() as clients:
        create = clients.openai.responses.create
        last = create(model=GPT_OSS, input="First.", tools=tools)
        for turn in range(5):
            calls = [item for item in last.output if item.type == "function_call"]
            result = {"type": "function_call_output", "call_id": calls[0].call_id, "output": f"result {turn}"}
            stream = create(model=GPT_OSS, input=[result], tools=tools, previous_response_id=last.id, stream=True)
            last = list(stream)[-1].response  # the next request follows the last frame at once
        text = prompt_text(made)
        assert "<|message|>First.<|end|>" in text
        assert [f"result {turn}" in text for turn in range(5)] == [True] * 5
        assert "<|channel|>analysis<|message|>A tool.<|end|>" in text
        assert clients.openai.responses.retrieve(last.id).id == last.id
        clients.openai.responses.delete(last.id)
        with pytest.raises(Exception, match="There is no response"):
            clients.openai.responses.retrieve(last.id)


def test_item_references_and_unknown_ids():
    with gateway(script_of(ANSWER)) as made:
        first = made.post("responses", input="What?").json()
        message = next(item for item in first["output"] if item["type"] == "message")
        made.post(
            "responses", input=[{"type": "item_reference", "id": message["id"]}, {"role": "user", "content": "Go"}]
        )
        assert "<|channel|>final<|message|>Hi there!<|end|>" in prompt_text(made)
        unknown = made.post("responses", input=[{"type": "item_reference", "id": "msg_no"}])
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "item_not_found")
        unknown = made.post("responses", previous_response_id="resp_no")
        assert unknown.json()["error"]["code"] == "previous_response_not_found"


def test_store_false_keeps_nothing_and_packs_the_reasoning():
    with gateway(script_of(ANSWER)) as made:
        include = ["reasoning.encrypted_content"]
        first = made.post("responses", store=False, include=include).json()
        assert len(made.own.state.store) == 0
        assert first["store"] is False
        packed = next(item for item in first["output"] if item["type"] == "reasoning")
        assert packed["encrypted_content"].startswith("hs1.")
        alone = {
            "type": "reasoning",
            "id": packed["id"],
            "summary": [],
            "encrypted_content": packed["encrypted_content"],
        }
        call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
        result = {"type": "function_call_output", "call_id": "c", "output": "4"}
        asked = {"role": "user", "content": "?"}
        made.post("responses", store=False, input=[asked, alone, call, result])
        assert "<|channel|>analysis<|message|>Hello<|end|>" in prompt_text(made)


def test_processes_share_a_folder(tmp_path):
    one, other = (Store(responses=2, folder=tmp_path) for _ in range(2))
    one.put("a", [], response("r1"))
    other.put("a", [], response("r2"))
    one.put("a", [], response("r3"))
    assert ids_in(other) == [["r2", "r3"], ["msg_r2", "msg_r3"]]
    assert [other.item("a", "msg_r3")] == response("r3")["output"]
    assert one.delete("a", "r2")
    assert (len(other), other.size) == (1, one.size)


def test_an_id_may_be_any_text():
    store = Store()
    for id in ("\ud800", "a\x00b", "'; DROP TABLE responses", "x" * 100_000):
        assert store.response("a", id) is None
        store.put("a", [], response(id))
        assert store.response("a", id)[1]["id"] == id


def test_a_store_that_cannot_write_breaks_no_answer(caplog):
    with gateway(script_of(ANSWER)) as made:
        made.own.state.store._database.execute("PRAGMA query_only = ON")
        assert made.post("responses").status_code == 200
        assert made.post("responses", stream=True).text.endswith("\n\n")
    assert caplog.text.count("its response is not stored") == 2
