"""Keys: who gets in, in which form others are sent away, and what a file may have."""

from __future__ import annotations

import json
import logging

import anthropic
import openai
import pytest
from gateways import ANSWER, ASKED, GPT_OSS, gateway, script_of

from harmonystream.gateway.operating.keys import Keys, line_of, new_key
from harmonystream.gateway.refused import Refused


@pytest.fixture
def file(tmp_path):
    def make(text):
        path = tmp_path / "keys.txt"
        path.write_text(text, "utf-8")
        return path

    return make


def test_a_file_has_hashes_alone(file):
    key, other = new_key(), new_key()
    path = file(f"# keys\n\n{line_of('ann', key)}\n  {line_of('bob', other)}\n")
    assert key not in path.read_text()
    keys = Keys.load(path)
    assert len(keys) == 2
    assert keys.owner({"authorization": f"Bearer {key}"}) == "ann"
    assert keys.owner({"authorization": f"bearer  {other} "}) == "bob"
    assert keys.owner({"x-api-key": other}) == "bob"


def test_a_right_key_beside_a_placeholder_is_enough():
    keys = Keys({line_of("ann", "KEY").split()[1]: "ann"})
    assert keys.owner({"authorization": "Bearer none", "x-api-key": "KEY"}) == "ann"
    assert keys.owner({"authorization": "Bearer KEY", "x-api-key": "none"}) == "ann"


def test_a_file_that_changes_is_read_again(file, monkeypatch, caplog):
    monkeypatch.setattr("harmonystream.gateway.operating.keys.LOOKS", 0.0)
    path = file(line_of("ann", "ANN") + "\n" + line_of("bob", "BOB"))
    keys = Keys.load(path)
    assert keys.owner({"x-api-key": "BOB"}) == "bob"
    path.write_text(line_of("ann", "ANN") + "\n" + line_of("new", "NEW") + " unsupported=ignore")
    assert keys.owner({"x-api-key": "NEW"}) == "new"
    assert (keys.rule("new"), keys.rule("ann")) == ("ignore", None)
    with pytest.raises(Refused):
        keys.owner({"x-api-key": "BOB"})
    path.write_text("no key at all")
    assert keys.owner({"x-api-key": "ANN"}) == "ann"
    assert "the keys stay as they were" in caplog.text
    path.unlink()
    assert keys.owner({"x-api-key": "ANN"}) == "ann"
    path.write_text("# all are revoked")
    with pytest.raises(Refused):
        keys.owner({"x-api-key": "ANN"})


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer "},
        {"authorization": "Basic KEY"},
        {"x-api-key": "KEY "},
        {"x-api-key": "key"},
        {"authorization": "Bearer é\udc80"},
        {"x-api-key": "KEY" + "x" * 10_000},
    ],
)
def test_nobody_else_gets_in(headers):
    keys = Keys({line_of("ann", "KEY").split()[1]: "ann"})
    with pytest.raises(Refused) as caught:
        keys.owner(headers)
    assert (caught.value.status, caught.value.code) == (401, "invalid_api_key")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no keys"),
        ("ann", "line 1"),
        ("# a\nann " + "0" * 63, "line 2"),
        ("a b " + "0" * 64, "line 1"),
        (f"ann {'0' * 64}\nbob {'0' * 64}", "line 2: this key is there already"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_line(file, text, message):
    with pytest.raises(ValueError, match=message):
        Keys.load(file(text))


def test_a_name_is_one_word():
    with pytest.raises(ValueError, match="a key's name"):
        line_of("a b", "k")


def test_over_http_each_client_raises_its_own_error(caplog):
    key = new_key()
    keys = Keys({line_of("ann", key).split()[1]: "ann"})
    caplog.set_level(logging.INFO, "harmonystream.gateway")
    with gateway(script_of(ANSWER), app_options={"keys": keys}) as made, made.clients() as clients:
        with pytest.raises(openai.AuthenticationError):
            clients.openai.chat.completions.create(model=GPT_OSS, **ASKED["chat"])
        with pytest.raises(anthropic.AuthenticationError):
            clients.anthropic.messages.create(model=GPT_OSS, **ASKED["messages"])
        with pytest.raises(openai.AuthenticationError):
            clients.openai.models.list()
        for path in ("/v1/responses/x", "/v1/models/x", "/v1/messages/count_tokens"):
            assert made.http.request("POST" if "count" in path else "GET", path).status_code == 401
        assert made.engines[0].requests == []
        with_key = clients.openai.with_options(api_key=key)
        assert with_key.chat.completions.create(model=GPT_OSS, **ASKED["chat"]).choices[0].finish_reason == "stop"
        anthropics = clients.anthropic.with_options(api_key=key)
        assert anthropics.messages.create(model=GPT_OSS, **ASKED["messages"]).stop_reason == "end_turn"
        # What one has stored, another does not find; and the engine never sees a client's key.
        assert len(made.own.state.store) == 0
        with_key.responses.create(model=GPT_OSS, input="?")
        ((stored,),) = made.own.state.store._database.execute("SELECT key FROM responses").fetchall()
        assert json.loads(stored)[0] == "ann"
        assert key not in str(made.engines[0].headers)
        for path in ("/health/live", "/health/ready", "/metrics"):
            assert made.http.get(path).status_code == 200
        assert key not in made.http.get("/metrics").text
    assert key not in caplog.text
    assert '"key": "ann"' in caplog.text


def test_a_model_that_is_not_served_is_warned_of_at_the_start_and_at_a_reload(file, caplog):
    path = file(f"{line_of('ann', 'A')} models=gpt-os,{GPT_OSS}")
    keys = Keys.load(path)
    with gateway(script_of(ANSWER), app_options={"keys": keys}) as made:
        said = f"models= of the key of ann names gpt-os, which is not served; did you mean {GPT_OSS!r}?"
        assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [said]
        path.write_text(f"{line_of('ann', 'A')} models={GPT_OSS}\n{line_of('bob', 'B')} models=other")
        made.own.reload()
        assert "models= of the key of bob names other" in caplog.records[-1].getMessage()


def test_a_key_that_is_not_valid_says_where_to_get_one():
    with pytest.raises(Refused, match=r"^The key is not valid: ask who runs this gateway for one\. Send it as Auth"):
        Keys({line_of("ann", "KEY").split()[1]: "ann"}).owner({"x-api-key": "other"})
