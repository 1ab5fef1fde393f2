"""The inspector: what it says of a stream, the page in a real browser, and who may see it."""

from __future__ import annotations

import asyncio
import json
import random
import re
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from browser import CHROMIUM, browsing
from gateways import ANSWER, CALL, TOOLS, chunk, gateway, ids_of, script_of
from upstream import DONE, Upstream

from harmonystream.gateway.operating import inspection
from harmonystream.gateway.operating.inspection import Inspection, inspected, page_with
from harmonystream.gateway.operating.inspector import KEPT, _is_local
from harmonystream.gateway.operating.keys import Keys, line_of
from harmonystream.vocab import o200k_harmony

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
EVIL = (
    '<|channel|>analysis<|message|></script><script>document.title="EVIL"</script><|end|>'
    "<|start|>assistant to=f<|message|>{}"
)


def regions_of(made):
    return [name for name, count in made["regions"] for _ in range(count)]


def test_each_token_has_its_region_and_the_rest_is_what_the_library_says():
    made = inspected(ids_of(CALL), "harmony", None, tools=["add"], finish="stop", times=[0.5, 0.75])
    regions = regions_of(made)
    assert regions[:3] == ["header"] * 3
    assert {name: regions.count(name) for name in set(regions)} == {
        name: count for name, count in made["usage"].items() if count
    }
    assert (made["texts"][0], made["ids"], made["times"]) == ("<|channel|>", ids_of(CALL), [0.5, 0.75])
    assert bytes.fromhex("".join(made["bytes"])) == b"".join(map(o200k_harmony().token_bytes, ids_of(CALL)))
    assert made["finish"] == "tool_calls"
    assert [event["type"] for event in made["events"]][-1] == "StreamEnd"
    assert made["frames"]["chat"][-1]["data"]["choices"][0]["finish_reason"] == "tool_calls"
    assert made["frames"]["messages"][-1]["data"]["type"] == "message_stop"
    assert made["frames"]["responses"][-1]["data"]["type"] == "response.completed"


def test_text_and_deviations(monkeypatch):
    made = inspected("é<|channel|>finale<|message|>Hi", "harmony", None)
    assert "".join(made["texts"]) == "é<|channel|>finale<|message|>Hi"
    assert (made["ids"], made["bytes"]) == (None, None)
    assert made["deviations"]
    assert all(0 <= one["at"] <= len(made["texts"]) for one in made["deviations"])
    monkeypatch.setattr(inspection, "WHOLE", 9)
    cut = inspected([13225] * 10, "harmony", None)
    assert (cut["cut"], len(cut["texts"])) == (True, 9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["ids", "text"])
def test_parts_in_any_order_are_those_of_the_whole(seed, kind, monkeypatch):
    """Events, frames and bytes, however far apart what is looked at is; fed in random pieces."""
    monkeypatch.setattr(inspection, "SLICE", 7)
    pick = random.Random(seed)
    text = CALL.replace("A tool.", "Let me think. " * 20)
    tokens = ids_of(text) if kind == "ids" else text
    whole = inspected(tokens, "harmony", o200k_harmony(), finish="stop")
    made = Inspection("harmony", o200k_harmony())
    at = 0
    while at < len(tokens):
        size = pick.randrange(1, 40)
        made.feed(tokens[at : at + size])
        at += size
    made.finish("stop")
    assert {**made.shown(), "bytes": 0, "events": 0, "frames": 0} == {**whole, "bytes": 0, "events": 0, "frames": 0}
    for _ in range(30):
        since = pick.randrange(len(tokens) + 1)
        until = pick.choice([None, since + pick.randrange(50)])
        part = made.details(since, until)
        inside = [one for one in whole["events"] if since <= one["at"] and (until is None or one["at"] < until)]
        if until is not None and until > len(tokens):
            inside = [one for one in inside if one["at"] < len(tokens)]
        assert part["events"] == inside
        for api, frames in whole["frames"].items():
            found = [
                one for one in frames if since <= one["at"] and (until is None or one["at"] < min(until, len(tokens)))
            ]
            if since == 0 and until == 0:
                found = [one for one in frames if one["at"] == 0][: len(part["frames"][api])]
            assert without_ids(part["frames"][api]) == without_ids(found), (api, since, until)
        if kind == "ids":
            assert part["bytes"] == whole["bytes"][since:until]


def without_ids(frames):
    """Ids of items and calls are random."""
    return [re.sub(r'"(item_id|id|call_id)": "[^"]*"', "", json.dumps(one)) for one in frames]


def test_a_stream_that_runs_has_nothing_of_an_end():
    made = inspected(ids_of(CALL)[:12], "harmony", None, ended=False)
    whole = inspected(ids_of(CALL)[:12], "harmony", None)
    assert [event["type"] for event in whole["events"]][len(made["events"]) :] == ["StreamEnd"]
    assert [one["code"] for one in whole["deviations"]] == ["unfinished-header"]
    assert (made["deviations"], made["finish"]) == ([], None)
    for api, frames in made["frames"].items():
        assert frames == whole["frames"][api][: len(frames)]
        assert all(frame["at"] < 12 for frame in frames)


def test_the_data_cannot_leave_its_place_in_the_page():
    page = page_with(inspected(EVIL, "harmony", None))
    assert page.count("</script>") == 1
    assert page.count("<script>") == 1
    assert re.search(r'(?:src|href)\s*=\s*"?(?:https?:)?//', page) is None  # nothing is loaded from elsewhere


@needs_chromium
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


@needs_chromium
def test_the_timeline_has_the_colours_of_the_scheme_that_is_shown(tmp_path):
    """Also after the scheme changes while the page is open."""
    (tmp_path / "page.html").write_text(page_with(inspected(ids_of(ANSWER), "harmony", None)), "utf-8")

    async def look():
        async with browsing(tmp_path) as page:

            async def turn(scheme):
                features = [{"name": "prefers-color-scheme", "value": scheme}]
                await page.call("Emulation.setEmulatedMedia", features=features)

            await turn("light")
            await page.go((tmp_path / "page.html").as_uri())
            await page.until("document.querySelectorAll('.t').length > 5")
            light = await page.value("$('timeline').toDataURL()")
            await turn("dark")
            await page.until(f"$('timeline').toDataURL() != {json.dumps(light)}")
            await turn("light")
            await page.until(f"$('timeline').toDataURL() == {json.dumps(light)}")

    asyncio.run(look())


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
        assert shown["ids"] == ids_of(ANSWER)
        assert (shown["ended"], shown["finish"], shown["prompt"][0]["text"]) == (True, "stop", "<|start|>")
        assert len(shown["times"]) == len(shown["ids"])
        path = f"/inspect/streams/{stream['id']}/details"
        assert made.http.get(path, headers=bob).status_code == 404
        assert made.http.get(path).status_code == 401
        assert made.http.get(f"{path}?since=0&until=4097", headers=ann).status_code == 400
        part = made.http.get(f"{path}?since=2&until=5", headers=ann).json()
        assert (part["since"], part["until"], len(part["bytes"])) == (2, 5, 3)
        assert {one["at"] for one in part["events"]} <= {2, 3, 4}
        pasted = {"tokens": ids_of(CALL), "format": "harmony"}
        parsed = made.http.post("/inspect/parse", json=pasted, headers=ann).json()
        assert len(parsed["texts"]) == len(ids_of(CALL))
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
    assert {host: _is_local(asks(host, "localhost:8000")) for host in clients} == clients
    assert _is_local(SimpleNamespace(client=None, headers={"host": "localhost"})) is False


def asks(client, host):
    return SimpleNamespace(client=SimpleNamespace(host=client), headers={"host": host})


def test_a_page_whose_name_was_made_to_mean_this_machine_gets_nothing():
    here = ("localhost", "LOCALHOST:8000", "127.0.0.1:8000", "127.1.2.3", "[::1]", "[::1]:8000")
    elsewhere = (
        "",
        "evil.example:8000",
        "localhost.evil.example",
        "10.0.0.7:8000",
        "[::2]:8000",
        "127.0.0.1.nip.io",
    )
    assert [host for host in here + elsewhere if _is_local(asks("127.0.0.1", host))] == [*here]
    with gateway(script_of(ANSWER), app_options={"inspect": True}) as made:
        for path in ("/inspect", "/inspect/streams"):
            assert made.http.get(path).status_code == 200
            assert made.http.get(path, headers={"host": "evil.example"}).status_code == 404


WHOLE = {"tokens": ids_of(CALL), "format": "harmony"}


def test_what_a_link_carries_is_parsed_as_the_stream_was():
    with gateway(script_of(CALL), app_options={"inspect": True}) as made:
        made.post("chat", tools=TOOLS["chat"])
        (stream,) = made.http.get("/inspect/streams").json()["streams"]
        kept = made.http.get(f"/inspect/streams/{stream['id']}").json()
        sent = {"format": kept["format"], "tools": kept["tools"], "finish": kept["word"]}
        sent |= {"tokens": kept["ids"], "prompt": [one["id"] for one in kept["prompt"]], "times": kept["times"]}
        read = made.http.post("/inspect/parse", json=sent).json()
        kept |= made.http.get(f"/inspect/streams/{stream['id']}/details").json()
        for name in ("texts", "ids", "regions", "times", "bytes", "prompt", "events", "deviations", "usage", "finish"):
            assert read[name] == kept[name], name
        assert {api: len(one) for api, one in read["frames"].items()} == {
            api: len(one) for api, one in kept["frames"].items()
        }
        assert read["prompt"][0]["text"] == "<|start|>"
        text = made.http.post("/inspect/parse", json={"tokens": "b</think>c", "format": "hermes", "prompt": "<think>"})
        assert [one["type"] for one in text.json()["events"]].count("ReasoningDelta") == 1


@pytest.mark.parametrize(
    "more",
    [
        {"tokens": 3},
        {"tokens": [-1]},
        {"tokens": [1e999]},
        {"format": "no"},
        {"format": None},
        {"prompt": 1},
        {"prompt": [-1]},
        {"prompt": ["a"]},
        {"tools": "add"},
        {"tools": [1]},
        {"finish": 1},
        {"times": 1},
        {"times": ["a"]},
        {"times": [1e999]},
        {"times": [True]},
    ],
)
def test_a_link_that_carries_nonsense_is_refused(more):
    with gateway(script_of(CALL), app_options={"inspect": True}) as made:
        body = json.dumps({**WHOLE, **more}).replace("Infinity", "1e999")
        answer = made.http.post("/inspect/parse", content=body)
        assert answer.status_code == 400
        assert answer.json()["error"]["message"]


def test_a_stream_whose_tools_json_cannot_say_is_shown():
    with gateway(script_of(ANSWER), app_options={"inspect": True}) as made:
        asked = (
            '{"messages": [{"role": "user", "content": "?"}], "tools": [{"type": "function", "function": {"name": "f", '
        )
        asked += '"parameters": {"type": "object", "properties": {"a": {"type": "number", "maximum": 1e999}}}}}]}'
        assert made.http.post("/v1/chat/completions", content=asked).status_code == 200
        (stream,) = made.http.get("/inspect/streams").json()["streams"]
        assert made.http.get(f"/inspect/streams/{stream['id']}").status_code == 200


FOCUSED = "document.activeElement.dataset.at"
SHOWN = "[...document.querySelectorAll('#tokens [data-at]')].map(one => one.textContent).join('')"
STATE = "document.getElementById('state').textContent"


class Held(Upstream):
    """An engine that waits in mid-stream until it may go on."""

    async def _send(self, item, request, response):
        if not isinstance(item, threading.Event):
            return await super()._send(item, request, response)
        while not item.is_set():
            await asyncio.sleep(0.01)


@needs_chromium
def test_the_page_by_keyboard_and_its_link_in_another_gateway(tmp_path):
    """From the stream that runs, by keys alone, to the link, which another gateway shows that never saw the stream."""
    text = ANSWER.replace("Hello", EVIL.replace("<|", "< |"))
    script, go_on = script_of(text), threading.Event()

    async def look(first, second):
        async with browsing(tmp_path) as page:
            await page.go(f"{first}/inspect")
            await page.until(f"{SHOWN}.length > 20")
            assert await page.value(STATE) == "running"
            assert "StreamEnd" not in await page.value("document.getElementById('events').textContent")
            for _ in range(30):
                await page.press("Tab", 9)
                if await page.value(FOCUSED) is not None:
                    break
            for _ in range(3):
                await page.press("ArrowRight", 39)
            assert await page.value(FOCUSED) == "3"
            assert (await page.value("document.getElementById('about').textContent")).startswith("token 3  id ")
            go_on.set()
            await page.until(f"{STATE} == 'finish reason stop'")
            await page.until("document.getElementById('events').textContent.includes('StreamEnd')")
            assert await page.value(FOCUSED) == "3"  # while the page was written again and again
            whole = await page.value(SHOWN)
            link = await page.value("document.getElementById('link').getAttribute('href')")
            await page.go("about:blank")
            await page.go(f"{second}/inspect{link}")
            assert await page.until(SHOWN) == whole
            assert await page.value(STATE) == "finish reason stop"
            assert await page.value("document.title") == "harmonystream inspector"
            assert page.errors == []
            await page.go("about:blank")
            await page.go(f"{second}/inspect{link[:99]}")
            assert await page.until(STATE) == "This link does not carry a whole stream."
            return whole

    options = {"app_options": {"inspect": True}}
    two_gateways = gateway(Held([*script[:30], go_on, *script[30:]]), **options), gateway(script_of(CALL), **options)
    with two_gateways[0] as one, two_gateways[1] as two, ThreadPoolExecutor(1) as client:
        answer = client.submit(one.post, "chat")
        while not one.http.get("/inspect/streams").json()["streams"]:
            time.sleep(0.01)
        try:
            whole = asyncio.run(look(one.url, two.url))
        finally:
            go_on.set()
        assert answer.result().status_code == 200
    assert whole == text.replace("\n", "↵\n")


@needs_chromium
def test_streams_appear_by_themselves(tmp_path):
    async def look(made):
        async with browsing(tmp_path) as page:
            await page.go(f"{made.url}/inspect")
            await page.until(f"{STATE}.startsWith('No stream yet')")
            assert (await asyncio.to_thread(made.post, "chat")).status_code == 200
            await page.until(f"{SHOWN}.length > 20")
            assert (await asyncio.to_thread(made.post, "chat")).status_code == 200
            await page.until("document.getElementById('streams').options.length == 2")
            assert page.errors == []

    with gateway(script_of(ANSWER), app_options={"inspect": True}) as made:
        asyncio.run(look(made))


@needs_chromium
def test_a_stream_plays_at_any_speed(tmp_path):
    """Its tokens came 0.7 s after each other."""
    ids, at = ids_of(CALL), "Number(document.getElementById('seek').value)"
    times = [0.7 * position for position in range(len(ids))]
    (tmp_path / "page.html").write_text(page_with(inspected(ids, "harmony", None, times=times)), "utf-8")

    async def play(page, speed):
        script = f"document.getElementById('speed').value = '{speed}'; document.getElementById('play').click()"
        await page.value(script)

    async def look():
        async with browsing(tmp_path) as page:
            await page.go((tmp_path / "page.html").as_uri())
            await play(page, "0.1")
            await page.until(f"{at} == 1")
            await asyncio.sleep(0.8)
            assert await page.value(at) == 1
            await page.value("document.getElementById('play').click()")
            await play(page, "1234.5")  # at 1 this takes longer than until() waits
            await page.until(f"{at} == {len(ids)} && document.getElementById('play').textContent == 'Play'")
            assert page.errors == []

    assert times[-1] > 17
    asyncio.run(look())


COUNTING = """
window.asked = 0;
window.most = 0;
window.waiting = new Set();
const [begin, end, send] = [setTimeout, clearTimeout, fetch];
window.setTimeout = (run, ms) => {
  const timer = begin(() => { waiting.delete(timer); run(); }, ms / 20);
  waiting.add(timer);
  most = Math.max(most, waiting.size);
  return timer;
};
window.clearTimeout = timer => { waiting.delete(timer); end(timer); };
window.fetch = (...all) => { asked++; return send(...all); };
"""


@needs_chromium
def test_the_page_asks_no_more_after_an_error_until_it_is_refreshed(tmp_path):
    """Its timers are twenty times as fast here, and counted."""
    script, go_on = script_of(ANSWER), threading.Event()
    keys, headers = Keys({line_of("ann", "ANN").split()[1]: "ann"}), {"x-api-key": "ANN"}

    async def stopped(page):
        await page.until(f"{STATE}.includes('key') && waiting.size == 0")
        asked = await page.value("asked")
        await asyncio.sleep(0.5)
        return await page.value("[waiting.size, asked]") == [0, asked]

    async def refresh(page, key, times=1):
        await page.value(f"document.getElementById('key').value = '{key}'")
        for _ in range(times):
            await page.value("document.getElementById('refresh').click()")

    async def look(page):
        assert await stopped(page)
        await refresh(page, "BAD")
        assert await stopped(page)
        await refresh(page, "ANN")
        await page.until(f"{STATE}.startsWith('No stream yet') && asked > 6")  # by itself
        body = {"messages": [{"role": "user", "content": "?"}], "tools": TOOLS["chat"]}
        answer = asyncio.create_task(
            asyncio.to_thread(made.http.post, "/v1/chat/completions", json=body, headers=headers)
        )
        await page.until(f"{STATE} == 'running'")
        await refresh(page, "ANN", times=4)
        await page.until("asked > 30")
        assert await page.value("most") == 2  # the list's and the stream's
        await page.value("document.getElementById('key').value = 'BAD'")
        assert await stopped(page)
        await refresh(page, "ANN")
        await page.until(f"{STATE} == 'running'")
        go_on.set()
        await page.until(f"{STATE}.startsWith('finish reason')")
        assert (await answer).status_code == 200
        assert page.errors == []

    async def opened():
        async with browsing(tmp_path) as page:
            await page.call("Page.addScriptToEvaluateOnNewDocument", source=COUNTING)
            await page.go(f"{made.url}/inspect")
            try:
                await look(page)
            finally:
                go_on.set()

    with gateway(Held([*script[:8], go_on, *script[8:]]), app_options={"keys": keys, "inspect": True}) as made:
        asyncio.run(opened())


def test_the_page_is_json_where_it_says_so():
    page = page_with({"a": "<>&\u2028é"})
    literal = re.search(r"const GIVEN = (.*);\n", page)[1]
    assert json.loads(literal) == {"a": "<>&\u2028é"}


def long_script(tokens):
    """Lines of an answer of so many tokens, a hundred in each chunk."""
    words = ids_of("Line after line of an answer, and some more words in it.\n")
    body = [words[at % len(words)] for at in range(tokens)]
    ids = [*ids_of("<|channel|>final<|message|>"), *body, *ids_of("needle<|return|>")]
    pieces = [ids[at : at + 100] for at in range(0, len(ids), 100)]
    return ids, [*(chunk(piece, "stop" if piece is pieces[-1] else None) for piece in pieces), DONE]


@needs_chromium
@pytest.mark.slow
def test_a_long_stream_is_looked_at_part_by_part(tmp_path):
    """Of 30,000 tokens the page has few elements, and asks for few events: those around what is looked at."""
    ids, script = long_script(30_000)
    events = "document.getElementById('events').textContent"
    counted = "document.querySelectorAll('#tokens span').length"

    async def look(made):
        async with browsing(tmp_path) as page:
            await page.go(f"{made.url}/inspect")
            await page.until(f"{STATE} == 'finish reason stop'")
            assert await page.value("data.tokens.length") == len(ids)
            assert (await page.value("document.getElementById('tokens').textContent")).count("Line after line") >= 2000
            assert await page.value(counted) < 3000
            await page.until(f"{events}.includes('StreamEnd')")
            await page.value("seek(15000)")
            await page.until(f"{events}.includes('\"at\":14999')")
            assert f'"at":{15000}' not in await page.value(events)
            for _ in range(5):
                await page.value("document.getElementById('next').click()")
            assert await page.value("document.getElementById('count').textContent") == f"15005 of {len(ids)} tokens"
            later = "document.querySelector('[data-at=\"%d\"]').classList.contains('later')"
            await page.value("select(15003, true)")
            assert [await page.value(later % at) for at in (15004, 15005)] == [False, True]
            await page.until("document.getElementById('about').textContent.includes('event {\"at\":15003')")
            assert "bytes " in await page.value("document.getElementById('about').textContent")
            await page.value("document.getElementById('find').value = 'NEEDLE'; findNext()")
            assert await page.value("data.tokens[at].text") == "needle"
            await page.value("select(0, true)")
            await page.press("End", 35)
            assert await page.value(FOCUSED) == str(len(ids) - 1)
            assert await page.value(counted) < 6000
            assert await page.value("parts.size") < 12
            box = "document.getElementById('timeline').getBoundingClientRect()"
            await page.value(
                f"document.getElementById('timeline').dispatchEvent(new MouseEvent('click', "
                f"{{clientX: {box}.left + {box}.width / 2, clientY: {box}.top + 5}}))"
            )
            assert abs(await page.value("at") - len(ids) / 2) < len(ids) / 100
            other = await page.value("[...document.getElementById('compare').options].at(-1).value")
            await page.value(f"document.getElementById('compare').value = '{other}'; compare()")
            await page.until("document.getElementById('differs').textContent.includes('differs from token 3 on')")
            assert (await page.value("document.getElementById('other').textContent")).endswith("Hi there!<|return|>")
            assert page.errors == []

    short = script_of("<|channel|>final<|message|>Hi there!<|return|>")
    with gateway(Turns(short, script), app_options={"inspect": True}, context=10**6) as made:
        for _ in range(2):
            assert made.post("chat").status_code == 200
        asyncio.run(look(made))


class Turns(Upstream):
    """Plays one script after the other."""

    def __init__(self, *scripts):
        super().__init__([])
        self._scripts = list(scripts)

    async def answer(self, request):
        self.script = self._scripts.pop(0)
        return await super().answer(request)
