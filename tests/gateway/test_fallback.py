"""Answers that are made again: by the same model when an engine breaks, and by another one when none is left."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager

import httpx2
import pytest
from gateways import ANSWER, ASKED, CALL, JSON, running, script_of, serving
from upstream import DROP, Upstream

import harmonystream as hs
from harmonystream.engines import Completions
from harmonystream.gateway import Model, app
from harmonystream.gateway.limits import Limits
from harmonystream.gateway.operating import quotas
from harmonystream.gateway.operating.keys import Keys, line_of

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
BROKEN = [*script_of(ANSWER)[:5], DROP]
OTHER = ANSWER.replace("Hi there", "Other here")


class Turns(Upstream):
    """Plays one script after the other, the last one for ever."""

    def __init__(self, *scripts):
        super().__init__([])
        self._scripts = list(scripts)

    async def answer(self, request):
        self.script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
        return await super().answer(request)


@contextmanager
def two(first, second, keys=None, limits=None, **options):
    """A gateway with the model a, which falls back to b, and a client."""
    with ExitStack() as stack:
        one, other = (Completions(stack.enter_context(running(engine)), "m") for engine in (first, second))
        models = [Model("a", one, "gpt-oss", fallback=["b"], **options), Model("b", other, "gpt-oss", aliases=["bee"])]
        made = app(models, keys=keys, limits=limits or Limits(retries=1))
        url = stack.enter_context(serving(made))
        http = stack.enter_context(httpx2.Client(base_url=url, timeout=30, headers=JSON))
        yield http, made.state.gateway


def ask(http, api, **more):
    return http.post(PATHS[api], json={"model": "a", **ASKED[api], **more})


def text_of(api, body):
    if api == "chat":
        return body["choices"][0]["message"]["content"]
    if api == "messages":
        return "".join(block.get("text", "") for block in body["content"])
    return "".join(part["text"] for item in body["output"] if item["type"] == "message" for part in item["content"])


@pytest.mark.parametrize("api", PATHS)
def test_a_whole_answer_that_breaks_is_made_again(api, caplog):
    engine = Turns(BROKEN, script_of(ANSWER))
    with two(engine, Upstream([])) as (http, own):
        answer = ask(http, api)
        assert (answer.status_code, text_of(api, answer.json())) == (200, "Hi there!")
        assert answer.json()["model"] == "a"
        assert (own.admission.open, own.state.open()) == (0, {})
    assert len(engine.requests) == 2
    assert "is answered again, by the model a" in caplog.text


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", PATHS)
def test_another_model_answers_if_the_first_one_is_gone(api, stream):
    gone, sound = Upstream([], status=503), Upstream(script_of(OTHER))
    with two(gone, sound) as (http, _):
        answer = ask(http, api, stream=stream)
        assert answer.status_code == 200
        assert ("Other" if stream else "Other here!") in answer.text
        if not stream:
            assert answer.json()["model"] == "b"
        own_metrics = http.get("/metrics").text
    assert len(sound.requests) == 1
    assert f'harmonystream_requests_total{{api="{api}",model="b",status="200"}} 1.0' in own_metrics


def test_a_whole_answer_that_always_breaks_falls_back():
    broken, sound = Upstream(BROKEN), Upstream(script_of(OTHER))
    with two(broken, sound) as (http, _):
        assert text_of("chat", ask(http, "chat").json()) == "Other here!"
    assert len(broken.requests) == 2


def test_a_stream_that_has_begun_is_not_made_again():
    broken, sound = Upstream(BROKEN), Upstream(script_of(OTHER))
    with two(broken, sound) as (http, _):
        text = ask(http, "chat", stream=True).text
    assert "error" in text and "Other" not in text
    assert (len(broken.requests), len(sound.requests)) == (1, 0)


def test_if_none_is_left_the_error_is_the_last_one():
    with two(Upstream([], status=500), Upstream([], status=503)) as (http, own):
        answer = ask(http, "chat")
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "engine_unavailable")
        assert own.admission.open == 0


def test_what_an_engine_refuses_no_other_one_is_asked():
    refuses, other = Upstream([], status=400), Upstream(script_of(OTHER))
    with two(refuses, other) as (http, _):
        assert ask(http, "chat").status_code == 400
    assert other.requests == []


def test_an_answer_for_which_tools_ran_is_not_made_again():
    ran = []

    def add(a: int) -> str:
        """Adds."""
        ran.append(a)
        return "2"

    engine = Turns(script_of(CALL), BROKEN, script_of(ANSWER))
    with two(engine, Upstream(script_of(OTHER)), server_tools=hs.Tools(add)) as (http, _):
        assert ask(http, "chat").status_code >= 500
    assert ran == [1]


def test_tokens_of_a_request_that_was_answered_again_count_once(monkeypatch):
    monkeypatch.setattr(quotas, "time", lambda: 1000.0)  # nothing is filled up meanwhile
    limits = Limits(retries=1, tokens_per_minute=600)
    with two(Turns(BROKEN, script_of(ANSWER)), Upstream([]), limits=limits) as (http, own):

        def left():
            return own.state.quotas._database.execute("SELECT left FROM tokens").fetchone()[0]

        ask(http, "chat")
        used = limits.tokens_per_minute - left()
        before = left()
        ask(http, "chat")  # whole at the first attempt
        assert before - left() == used
        assert used > 50


@pytest.mark.parametrize("names", [["c"], ["a"]])
def test_a_fallback_that_is_not_there(names):
    engine = Completions("http://127.0.0.1:9", "m")
    with pytest.raises(ValueError, match="cannot fall back"):
        app([Model("a", engine, "gpt-oss", fallback=names), Model("b", engine, "gpt-oss")])


def test_keys_have_their_models_and_limits(tmp_path, monkeypatch):
    monkeypatch.setattr("harmonystream.gateway.operating.keys.LOOKS", 0.0)
    file = tmp_path / "keys.txt"
    file.write_text(
        line_of("ann", "ANN")
        + " models=b tokens_per_minute=20\n"
        + line_of("bob", "BOB")
        + "\n"
        + line_of("eve", "EVE")
        + " models=none\n"
    )
    with two(Upstream(script_of(ANSWER)), Upstream(script_of(OTHER)), keys=Keys.load(file)) as (http, _):

        def by(key, model, path="/v1/chat/completions"):
            body = {"messages": [{"role": "user", "content": "?"}], **({"model": model} if model else {})}
            return http.post(path, json=body, headers={"x-api-key": key})

        def listed(key):
            return [one["id"] for one in http.get("/v1/models", headers={"x-api-key": key}).json()["data"]]

        assert (listed("ANN"), listed("BOB"), listed("EVE")) == (["b", "bee"], ["a", "b", "bee"], [])
        refused = by("ANN", "a")
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "model_not_found")
        assert "a," not in refused.json()["error"]["message"]
        assert http.get("/v1/models/a", headers={"x-api-key": "ANN"}).status_code == 404
        assert by("EVE", None).status_code == 404
        assert by("ANN", None).json()["model"] == "b"  # the only one that it may ask
        assert by("ANN", "bee").status_code == 429
        assert by("BOB", "b").status_code == 200
        file.write_text(line_of("ann", "ANN") + " concurrent=0\n" + line_of("bob", "BOB") + " models=a\n")
        assert by("ANN", "a").status_code == 200
        assert by("BOB", "b").status_code == 404


def test_a_key_never_gets_the_answer_of_a_model_that_it_may_not_use(tmp_path):
    file = tmp_path / "keys.txt"
    file.write_text(line_of("ann", "ANN") + " models=a\n" + line_of("bob", "BOB") + " models=a,bee\n")
    with two(Upstream([], status=503), Upstream(script_of(OTHER)), keys=Keys.load(file)) as (http, _):
        statuses = [ask(http, "chat").status_code]
        for key in ("ANN", "BOB"):
            body = {"model": "a", **ASKED["chat"]}
            statuses.append(http.post(PATHS["chat"], json=body, headers={"x-api-key": key}).status_code)
    assert statuses == [401, 503, 200]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("concurrent=-1", "concurrent must be a whole number"),
        ("tokens_per_minute=many", "must be a whole number"),
        ("unsupported=never", "unsupported must be one of"),
        ("model=a", "did you mean 'models'"),
        ("nonsense", "expected a name and the SHA-256"),
    ],
)
def test_options_of_keys_that_are_none(tmp_path, options, said):
    file = tmp_path / "keys.txt"
    file.write_text("\n" + line_of("ann", "ANN") + " " + options + "\n")
    with pytest.raises(ValueError, match=f"line 2: .*{said}"):
        Keys.load(file)


def test_options_hold_for_all_keys_of_an_owner(tmp_path):
    file = tmp_path / "keys.txt"
    file.write_text(f"{line_of('ann', 'OLD')} models=a concurrent=3\n{line_of('ann', 'NEW')}\n")
    keys = Keys.load(file)
    assert (keys.may_ask("ann", "a"), keys.may_ask("ann", "b"), keys.may_ask("bob", "b")) == (True, False, True)
    assert keys.quota("ann", Limits(tokens_per_minute=7).quota) == (3, 7)
    file.write_text(f"{line_of('ann', 'OLD')} concurrent=3\n{line_of('ann', 'NEW')} concurrent=4\n")
    with pytest.raises(ValueError, match="another line says another concurrent of ann"):
        Keys.load(file)
