"""Mistakes that people make, one a line: none passes in silence, and its error says what is wrong and what to do."""

from __future__ import annotations

import asyncio
import io
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from command import ENV
from starlette.testclient import TestClient

import harmonystream as hs
from harmonystream import gateway
from harmonystream.cli import main
from harmonystream.integrations import starlette

IN_PYTHON = r"""
hs.Parser("hermse")
hs.Parser("Hermes ")
hs.Parser(None)
hs.Parser(7)
hs.Parser("acme.toml")
hs.Parser("hermes", "tokenizer.json")
hs.Parser("hermes", G)
hs.Parser("qwen3_coder", G)
hs.Parser("glm", G)
hs.Parser("deepseek", G)
hs.Parser("llama3", G)
hs.Parser("mistral", G)
hs.Parser(start="thinking")
hs.Parser("hermes", start="<think>")
hs.Parser(tool=["f"])
hs.Parser(tools="f")
hs.Parser(tools=7)
hs.Parser(tools=[7])
hs.Parser(tools=[{}])
hs.Parser(tools=[{"type": "function", "function": {"nam": "f"}}])
hs.Parser("hermes", prompt=[1, 2])
hs.Parser(prompt=["a"])
hs.Parser(trim="all")
hs.Parser(max_hold="1")
hs.Parser(max_hold=-1)
hs.Parser(watch=["f"])
hs.Parser(watch="f")
hs.Parser().feed("text")
hs.Parser().feed(-1)
hs.Parser().feed(1.5)
hs.Parser().feed([1, "a"])
hs.Parser().feed(None)
hs.Parser().feed_text(5)
hs.Parser().feed_text(b"a"), hs.Parser().feed_text(["a"])
hs.Parser("hermes").feed([1, 2])
(p := hs.Parser()).feed(13225), p.feed_text("a")
(p := hs.Parser()).finish(), p.feed(13225)
hs.Parser().finish(7)
hs.parse([1, 2], "hermes")
hs.parse("a", "hermes", G, ["f"])
hs.parse("a", format="herms")
hs.parse("a", tols=[])
hs.label([1, 2], "hermes")
hs.label("text")
hs.Vocab()
hs.Vocab([b"a"])
hs.vocab.from_tokenizers("Qwen/Qwen3-8B")
hs.vocab.from_tokenizers("empty")
hs.vocab.from_tokenizers("list.json")
hs.vocab.from_tokenizers(7)
hs.vocab.from_tiktoken("o200k_harmony")
hs.vocab.from_tiktoken(7)
hs.vocab.from_bytes("abc", {})
hs.vocab.from_bytes([b"a"], ["<|end|>"])
hs.vocab.from_bytes(["a"], {})
hs.vocab.from_harmony(7)
hs.format_for("gpt-5")
hs.format_for(7)
hs.format_for("")
hs.prompts.read_request({})
hs.engines.Sampling(top_p=2)
hs.engines.Sampling(min_p=1.5)
hs.engines.TransformersEngine(5)
hs.engines.TransformersEngine(G, "x")
hs.engines.VllmTokens("http://x", render=5)
hs.engines.VllmTokens(5)
hs.Tools().on("called", 5)
hs.Tools()["f"]
hs.Tools().remove("f")
hs.Tool("f", "", {"type": "array"}, print)
hs.new_id(5)
hs.agent.sub_queries(5)
gateway.app(5)
gateway.app([])
gateway.app([5])
gateway.Model("m", 5)
gateway.Model("m", "http://localhost:8001")
gateway.Model("", hs.engines.Recorded())
gateway.Model("gpt-oss", hs.engines.Recorded(), max_tokens=-1)
gateway.Model("gpt-oss", hs.engines.Recorded(), context="4k")
gateway.Model("gpt-oss", hs.engines.Recorded(), aliases="a")
gateway.Model("gpt-oss", hs.engines.Recorded(), fallback="a")
gateway.Model("gpt-oss", hs.engines.Recorded(), reasoning_field="x")
gateway.Model("gpt-oss", hs.engines.Recorded(), sampling="x")
hs.columns.parse_many("a", "hermes")
hs.columns.render_many("Hi", model="gpt-oss")
hs.batch.Batch("hermse")
hs.batch.Batch().finish(0)
hs.batch.Batch().finish("a")
hs.batch.Batch().close("a")
hs.batch.Batch()["a"]
hs.batch.Batch().open_many("a")
hs.batch.Batch().finish_many("a")
G.encode(5)
G.encode(b"a")
G.encode_many("ab")
G.encode_many([5])
hs.Vocab([b"a"], 5)
hs.Vocab([b"a"], {}, encoder=5)
hs.Vocab.load(5)
hs.inside.TextLimit("a")
hs.Format()
hs.Format("mine", thinks=("a", "b"))
hs.Format(name="mine", think=("<a>",))
hs.Format(name="mine", think="<a>")
hs.Format("mine")
hs.Format("mine", think=("<a>", "</a>"), item=7)
hs.Format("mine", think=("<a>", "</a>"), encoding="dsm")
hs.Format("mine", think=("<a>", "<a>"))
hs.Format("mine", think=("<a>", "</a>"))._replace(stops="<end>")
hs.parse("a", "hermes", prompt=1.5)
hs.Parser("hermes", empty_args=None)
hs.Parser("hermes", trim=1)
hs.Vocab(5, {})
hs.Vocab([b"a"], {}, 5)
hs.Format.from_dict({"nme": "x"})
hs.Format.from_dict([])
hs.render(U)
hs.render(U, model="gpt-5")
hs.render(U, model="Qwen/Qwen2.5-7B-Instruct")
hs.render(U, format="hermes")
hs.render(U, model="gpt-oss", thinking=True)
hs.render(U, model="gpt-oss", reasoning="max")
hs.render(U, model="gpt-oss", enable_thinking=True)
hs.render(U, model="gpt-oss", dialect="openal")
hs.render(U, model="gpt-oss", date=7)
hs.render({"role": "user"}, model="gpt-oss")
hs.render([{"content": "Hi"}], model="gpt-oss")
hs.render([{"role": "bot", "content": "Hi"}], model="gpt-oss")
hs.render([{"role": "user", "content": 7}], model="gpt-oss")
hs.render([{"role": "user", "content": [{"type": "txt", "text": "a"}]}], model="gpt-oss")
hs.render(["Hi"], model="gpt-oss")
hs.render([{"role": "user", "text": "Hi"}], model="gpt-oss")
hs.render(U, model="gpt-oss", tools=[7])
hs.render(U, model="gpt-oss", tools="f")
hs.render(U, model="gpt-oss", tools=[print])
hs.render(U, model="gpt-oss", tools=[{"function": {}}])
hs.render(U, format="hermes", template="broken.jinja")
hs.render(U, format="hermes", template="missing.jinja")
hs.render(U, format="hermes", template="empty")
hs.render(U, format="hermes", template="t.jinja", enable_thinkin=False)
hs.render(U, format="hermes", template="t.jinja", thinking=False)
hs.render(U, format="hermes", template="t.jinja", tools=[TOOL])
hs.render(U, format="hermes", template="t.jinja", vocab="missing")
hs.render(U, format="hermse", template="t.jinja")
hs.render(U, model="gpt-oss", continue_final=True)
hs.render(U, model="gpt-oss").parser(tols=[])
hs.prompts.Template("missing")
hs.Tools(7)
hs.Tools([print])
hs.Tools((print,))
hs.Tools(mcp=7)
hs.Tools(timeot=3)
hs.Tools(lambda x: x)
hs.Tools(int)
hs.Tool("a b", "", {}, print)
hs.Tool("f", "", "{}", print)
hs.Tool("f", "", {"type": "objct"}, print)
hs.Tools().run(7)
hs.Tools().once("calls", print)
hs.prompts.tool_results([7], ["a"])
hs.engines.Completions("localhost:8000")
hs.engines.Completions("http://x", server="vlm")
hs.engines.Completions(None)
hs.engines.LlamaServer("x")
hs.engines.Recorded("missing.jsonl")
hs.engines.Recorded([{}])
hs.engines.Recorded([])
hs.engines.Sampling(max_token=3)
hs.engines.Sampling(max_tokens=-1)
hs.engines.Sampling(temperature="hot")
hs.engines.Sampling(stop=7)
hs.engines.Completion("http://x")
list(hs.agent_loop_sync(hs.engines.Recorded(), U, model="gpt-oss", max_round=3))
list(hs.agent_loop_sync(hs.engines.Recorded(), U))
list(hs.agent_loop_sync(7, U, model="gpt-oss"))
list(hs.agent_loop_sync(hs.engines.Recorded(), U, model="gpt-oss", sampling=7))
list(hs.agent_loop_sync(hs.engines.Recorded(), 7, model="gpt-oss"))
hs.ChatStream(hs.Parser())
hs.ChatStream(7, id="a", model="m", created=1)
hs.ChatStream(hs.Parser(), id="a", model="m", created="now")
hs.ChatStream(hs.Parser(), id="a", model="m", created=1, include_usge=True)
hs.ChatStream(hs.Parser(), id="a", model="m", created=1).finish("stop", usage={"prompt_token": 3})
hs.ChatStream(hs.Parser(), id="a", model="m", created=1).feed(13225)
s(hs.ChatStream(hs.Parser(), id="a", model="m", created=1)).finish("stop", usage={"prompt_token": 3})
s(hs.ResponsesStream(hs.Parser(), id="a", model="m", created=1)).finish("stop", usage={"inpt_tokens": 3})
s(hs.MessagesStream(hs.Parser(), id="a", model="m")).finish("stop", usage={"inpt_tokens": 3})
s(hs.ChatStream(hs.Parser(), id="a", model="m", created=1)).finish("stop", usage={"prompt_tokens": "3"})
s(hs.ChatStream(hs.Parser(), id="a", model="m", created=1)).finish(7)
s(hs.ChatStream(hs.Parser(), id="a", model="m", created=1)).start()
hs.batch.Batch(7)
hs.batch.Batch("hermse")
hs.batch.Batch().open("x")
hs.columns.parse_many([[1, 2]])
hs.columns.parse_many(7)
hs.columns.label_many("a")
hs.events.asdict(7)
list(hs.iter_events(7))
hs.iter_events("a", parser=hs.Parser())
hs.inside.JsonScanner().feed(7)
hs.prompts.normalize(7)
hs.prompts.normalize([{"role": "usr", "content": ""}])
hs.prase("a")
gateway.app(G2, limits=5)
gateway.app(G2, keys="sk-1")
gateway.app(G2, unsupported="drop")
gateway.app(G2, origins="https://example.com")
gateway.app(G2, hosts="example.com")
gateway.app(G2, inspect="yes")
gateway.app(G2, trace=5)
gateway.Model("m", hs.engines.Recorded(), family="gpt-oss", tools=[5])
gateway.Model("m", hs.engines.Recorded(), family="gpt-oss", server_tools=[print])
list(hs.agent_loop_sync(hs.engines.Recorded(), U, model="gpt-oss", system=5))
hs.columns.render_many([U], model="gpt-oss", regions={"content"})
hs.columns.render_many([U], model="gpt-oss", fields="ids")
hs.render(U, model="gpt-oss", builtin="python")
hs.render(U, model="gpt-oss", cutoff=5)
hs.engines.Sampling(headers={"a": 1})
starlette.whole_response(source(), hs.Parser())
starlette.EventStreamResponse(source(), hs.Parser())
hs.Parser.from_bytes(b"abc")
hs.Parser.from_bytes(hs.Parser().to_bytes(), format="hermes")
hs.Parser().fork(7)
"""
ON_THE_COMMAND_LINE = """
prase x
parse --format hermse x.txt
parse missing.txt
parse --tokenizer missing --format hermes list.json
parse --format hermes --input ids list.json
parse --tools missing.json list.json
parse --tools broken.jinja list.json
parse --tools list.json list.json
parse --start think --format hermes list.json
parse --fromat hermes x
parse --format acme.toml x
parse --format list.json x
render missing.json
render --model gpt-5 m.json
render --model gpt-oss bad.json
render --format hermes m.json
render --model gpt-oss --date x m.json
render --model gpt-oss --set a m.json
render --model gpt-oss --set temprature=1 m.json
render --template missing --format hermes m.json
render --template t.jinja --format hermes --ids m.json
render --model gpt-oss --reasoning hgh m.json
render nomessages.json --model gpt-oss
chat --engine localhost:8000
chat --engine ollama=http://x
chat --engine llama=http://x
chat --engine http://127.0.0.1:9 --model gpt-5
chat --engine http://127.0.0.1:9 --model Qwen/Qwen2.5-7B
chat --engine http://127.0.0.1:9 --tools missing.py
chat --engine http://127.0.0.1:9 --tools broken.py
chat --engine recorded=missing.jsonl
chat --engine http://127.0.0.1:9 --format hermse
chat --engine http://127.0.0.1:9 --max-tokens x
chat --engine http://127.0.0.1:9 --max-tokens -1
chat --engine http://127.0.0.1:9
chat --template missing --engine http://127.0.0.1:9 --model Qwen/Qwen2.5-7B
formats gpt-5
inspect missing
serve --engine localhost:1 --model gpt-oss
serve --engine http://x
serve --model gpt-oss
serve --tools broken.py
serve --format hermes
serve --tokenizer x
serve --engine http://x --model gpt-oss --tools broken.py
serve --engine http://x --model Qwen/Qwen2.5-7B
serve --engine http://x --model Qwen/Qwen2.5-7B --template broken.jinja
serve --engine http://x --model gpt-oss --context -5
serve --engine http://x --model gpt-oss --format hermse
serve --config missing.toml
serve --config broken.jinja
serve --keys missing
serve --limit concurent=3
serve --limit concurrent=x
serve --port 99999
serve --port x
serve --workers 0
serve --new-key a
serve --keys m.json --new-key a
serve --engine ollama=http://x --model gpt-oss
serve --engine http://x --model gpt-oss --mcp nothing
"""
IN_SETTINGS = (
    "prt = 1",
    "port = 'x'",
    "port = 99999",
    "workers = 0",
    "keys = 'missing'",
    "[limits]\nconcurent=1",
    "[limits]\nconcurrent='x'",
    "[limits]\nconcurrent=-1",
    "[model.m]",
    "models = 3",
    "[models.m]\nfamily='gpt-oss'",
    "[models.m]\nfamily='gpt-oss'\nengines=[]",
    '[models.m]\nfamily = "gpt-oss"\nfomat=\'x\'\n[[models.m.engines]]\nurl = "http://e"\n\n',
    '[models.m]\nfamily = "gpt-oss"\nformat=\'hermse\'\n[[models.m.engines]]\nurl = "http://e"\n\n',
    '[models.m]\nfamily = "gpt-oss"\nformat=\'acme.toml\'\n[[models.m.engines]]\nurl = "http://e"\n\n',
    '[models.m]\nfamily = "gpt-oss"\ntokenizer=\'missing\'\n[[models.m.engines]]\nurl = "http://e"\n\n',
    "[models.m]\nfamily = \"gpt-oss\"\ntemplate='broken.jinja'\nformat='hermes'\n[[models.m.engines]]\nurl = \"http://e\"\n\n",
    "[models.m]\nfamily = \"gpt-oss\"\ntemplate='missing'\nformat='hermes'\n[[models.m.engines]]\nurl = \"http://e\"\n\n",
    '[models.m]\nfamily = "gpt-oss"\ncontext=\'big\'\n[[models.m.engines]]\nurl = "http://e"\n\n',
    '[models.m]\nfamily = "gpt-oss"\ncontext=0\n[[models.m.engines]]\nurl = "http://e"\n\n',
    '[models.m]\nfamily = "gpt-oss"\nmax_tokens=-1\n[[models.m.engines]]\nurl = "http://e"\n\n',
    '[models.m]\nfamily = "gpt-oss"\naliases=\'x\'\n[[models.m.engines]]\nurl = "http://e"\n\n',
    '[models.m]\nfamily = "gpt-oss"\ntools=\'broken.py\'\n[[models.m.engines]]\nurl = "http://e"\n\n',
    '[models.m]\nfamily = "gpt-oss"\nreasoning_field=\'x\'\n[[models.m.engines]]\nurl = "http://e"\n\n',
    '[models.m]\nfamily = "gpt-oss"\n[models.m.sampling]\ntemperature=\'x\'\n[[models.m.engines]]\nurl = "http://e"\n\n',
    '[models.m]\nfamily = "gpt-oss"\n[models.m.sampling]\ntemprature=1\n[[models.m.engines]]\nurl = "http://e"\n\n',
    '[models.m]\nfamily = "gpt-oss"\n\n[[models.m.engines]]\nurl = "http://e"\nkind=\'vlm\'\n',
    '[models.m]\nfamily = "gpt-oss"\n\n[[models.m.engines]]\nurl = "http://e"\nulr=\'x\'\n',
    '[models.m]\nfamily = "gpt-oss"\n\n[[models.m.engines]]\nurl = "http://e"\nkey_env=\'NOPE_X\'\n',
    "[models.m]\nfamily='gpt-5'\n[[models.m.engines]]\nurl='http://e'",
    "[models.m]\nfamily='gpt-oss'\n[[models.m.engines]]\nurl='localhost:1'",
    "origins='x'",
    "log_contents='x'",
    "[models.a]\nfamily='gpt-oss'\naliases=['b']\n[[models.a.engines]]\nurl='http://e'\n[models.b]\nfamily='gpt-oss'\n[[models.b.engines]]\nurl='http://e'",
    "x = [",
)
ON_THE_WIRE = """
chat {"model": "gpt-4o"}
chat {"model": "openai/gpt-oss-20"}
chat {"model": 7}
chat {"messages": null}
chat {"messages": []}
chat {"messages": "Hi"}
chat {"messages": {"role": "user", "content": "Hi"}}
chat {"messages": null, "prompt": "Hi"}
chat {"messages": null, "input": "Hi"}
chat {"messages": ["Hi"]}
chat {"messages": [{"role": "user"}]}
chat {"messages": [{"role": "user", "text": "Hi"}]}
chat {"messages": [{"role": "system"}]}
chat {"messages": [{"role": "user", "content": null}]}
chat {"messages": [{"content": "Hi"}]}
chat {"messages": [{"role": "human", "content": "Hi"}]}
chat {"messages": [{"role": "user", "content": 7}]}
chat {"messages": [{"role": "user", "content": [{"type": "text"}]}]}
chat {"messages": [{"role": "user", "content": [{"type": "txt", "text": "Hi"}]}]}
chat {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x"}}]}]}
chat {"messages": [{"role": "tool", "tool_call_id": "c", "content": "x"}]}
chat {"messages": [{"role": "assistant", "tool_calls": [{"id": "c", "function": {"arguments": "{}"}}]}]}
chat {"messages": [{"role": "assistant", "tool_calls": {"id": "c"}}]}
chat {"temperature": "0.5"}
chat {"temperature": -1}
chat {"top_p": 2}
chat {"max_tokens": 0}
chat {"max_tokens": -1}
chat {"max_tokens": "100"}
chat {"max_token": 5}
chat {"max_new_tokens": 5}
chat {"max_output_tokens": 5}
chat {"n": 0}
chat {"n": 1000}
chat {"stop": 5}
chat {"stop": ""}
chat {"stop_sequences": ["a"]}
chat {"stream": "true"}
chat {"stream": true, "stream_options": true}
chat {"stream": true, "stream_options": {"include_usgae": true}}
chat {"tools": {"type": "function"}}
chat {"tools": ["f"]}
chat {"tools": [{"name": "f", "parameters": {"type": "object"}}]}
chat {"tools": [{"name": "f", "input_schema": {"type": "object"}}]}
chat {"tools": [{"type": "function"}]}
chat {"tools": [{"type": "function", "function": {"parameters": {}}}]}
chat {"tools": [{"type": "function", "function": {"name": "f g"}}]}
chat {"tools": [{"type": "function", "function": {"name": "f", "parameters": "{}"}}]}
chat {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "string"}}}]}
chat {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": ["a"]}}}]}
chat {"tools": [{"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "f"}}]}
chat {"tool_choice": "required"}
chat {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "force"}
chat {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "f"}
chat {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": {"name": "f"}}
chat {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": {"type": "function", "name": "g"}}
chat {"functions": [{"name": "f"}]}
chat {"function_call": "auto"}
chat {"response_format": "json"}
chat {"response_format": {"type": "json"}}
chat {"response_format": {"type": "json_schema"}}
chat {"response_format": {"type": "json_schema", "json_schema": {"type": "object"}}}
chat {"reasoning_effort": 5}
chat {"reasoning_effort": "hgh"}
chat {"reasoning": "low"}
chat {"thinking": true}
chat {"chat_template_kwargs": {"enable_thinking": false}}
chat {"extra_body": {"top_k": 5}}
chat {"seed": "x"}
chat {"logit_bias": [1]}
chat {"logprobs": 5}
chat {"top_logprobs": 5}
chat {"system": "Be kind."}
chat {"instructions": "Be kind."}
chat {"guided_json": {}}
chat {"best_of": 2}
chat {"user": 5}
messages {"max_tokens": null}
messages {"max_tokens": 0}
messages {"max_tokens": null, "max_completion_tokens": 9}
messages {"stop": ["a"]}
messages {"tools": [{"type": "function", "function": {"name": "f"}}]}
messages {"tools": [{"name": "f", "input_schema": []}], "tool_choice": "auto"}
messages {"tool_choice": {"type": "tool", "name": "f"}}
messages {"thinking": true}
messages {"thinking": {"type": "on"}}
messages {"system": 5}
messages {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}]}
messages {"messages": null, "prompt": "Human: Hi"}
messages {"response_format": {"type": "json_object"}}
responses {"input": null}
responses {"input": 5}
responses {"input": []}
responses {"input": ["Hi"]}
responses {"input": [{"role": "user"}]}
responses {"input": null, "messages": [{"role": "user", "content": "Hi"}]}
responses {"max_tokens": 5}
responses {"max_output_tokens": "5"}
responses {"previous_response_id": "resp_nope"}
responses {"tools": [{"type": "web_search"}]}
responses {"tools": [{"type": "function", "name": "f"}], "tool_choice": {"type": "function", "name": "g"}}
responses {"response_format": {"type": "json_object"}}
responses {"text": {"format": "json"}}
responses {"text": {"format": {"type": "json_schema"}}}
responses {"reasoning": "low"}
responses {"reasoning": {"effort": "hgh"}}
responses {"reasoning_effort": "low"}
responses {"stop": "a"}
responses {"store": "no"}
responses {"background": true, "store": false}
responses {"include": "reasoning"}
responses {"conversation": "c"}
responses {"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]}
responses {"instructions": 5}
POST /chat/completions
POST /v1/v1/chat/completions
POST /v1/chat/completions/
POST /v1/completions
POST /v1/embeddings
POST /api/chat
POST /v1/models
PUT /v1/chat/completions
GET /v1/chat/completions
GET /v1/responses/resp_nope
GET /v1/models/gpt-4o
as content-type: text/plain
as content-encoding: gzip
written {'model': 'openai/gpt-oss-20b'}
written {"model": "openai/gpt-oss-20b"
written [1]
written
"""
RAW = re.compile(
    r"is not iterable|object has no attribute|positional argument|cannot be interpreted|Errno|NoneType|KeyError"
)
"""What Python says by itself of a mistake deep inside."""
ADVICE = re.compile(r"did you mean|known: |pass |needs? |expected|takes |missing|is a |begins? with|not ")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that the mistakes name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("harmonystream.gateway.operating.server.serve", lambda *_: None)
    row = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    messages = json.dumps({"messages": [{"role": "user", "content": "Hi"}]})
    files = {"broken.jinja": "{% for m in messages %}{{ m.role }", "t.jinja": row, "list.json": "[1]"}
    files |= {
        "m.json": messages,
        "bad.json": "{",
        "nomessages.json": "{}",
        "broken.py": "import nothing_x",
        "x.txt": "a",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / "empty").mkdir()


def begun(stream: Any) -> Any:
    stream.start()
    return stream


async def source_of_nothing() -> AsyncIterator[int]:
    for tid in ():
        yield tid


def in_python(source: str) -> str:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    user = [{"role": "user", "content": "Hi"}]
    names = {"hs": hs, "U": user, "TOOL": tool, "G": hs.vocab.o200k_harmony(), "s": begun, "gateway": gateway}
    models = [gateway.Model("m", hs.engines.Recorded(), family="gpt-oss")]
    names |= {"G2": models, "starlette": starlette, "source": source_of_nothing}
    try:
        made = eval(source, names)
        if asyncio.iscoroutine(made):
            asyncio.run(made)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def on_the_command_line(command: str) -> str:
    errors = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO("hello\n"))
        patch.setattr("sys.stdout", io.StringIO())
        patch.setattr("sys.stderr", errors)
        status = main(command.split())
        shown = sys.stdout.getvalue()  # type: ignore[attr-defined]
    return (errors.getvalue() or shown) if status else ""


def in_settings(text: str) -> str:
    Path("g.toml").write_text(text, "utf-8")
    return on_the_command_line("serve --config g.toml")


MODEL = "openai/gpt-oss-20b"
ASKED = {
    "chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}),
    "messages": ("/v1/messages", {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}),
    "responses": ("/v1/responses", {"input": "Hi"}),
}
"""The path of each API, and a request without a mistake."""


def on_the_wire(mistake: str) -> str:
    """The error of a request, or the warning of an answer, which names what was passed over."""
    kind, _, rest = mistake.partition(" ")
    path, good = ASKED.get(kind, ASKED["chat"])
    body, headers, method = {"model": MODEL, **good}, {"content-type": "application/json"}, "POST"
    if kind in ASKED:
        body = {name: value for name, value in {**body, **json.loads(rest)}.items() if value is not None}
    elif kind == "as":
        name, _, value = rest.partition(": ")
        headers[name] = value
    elif kind != "written":
        method, path = kind, rest
    content = rest if kind == "written" else json.dumps(body)
    response = CLIENT.request(method, path, content=content, headers=headers, follow_redirects=False)
    if response.status_code == 200:
        return response.headers.get("warning", "")
    return str(response.json()["error"]["message"])


CLIENT = TestClient(gateway.app([gateway.Model(MODEL, hs.engines.Recorded())]), base_url="http://localhost")
MISTAKES = [
    *((on_the_wire, line) for line in ON_THE_WIRE.strip().splitlines()),
    *((in_python, line) for line in IN_PYTHON.strip().splitlines()),
    *((on_the_command_line, line) for line in ON_THE_COMMAND_LINE.strip().splitlines()),
    *((in_settings, text) for text in IN_SETTINGS),
]


def names_it(mistake: str, said: str) -> bool:
    """Does the error have a word of the mistake, or the type of a value in it?"""
    words = {
        word for word in re.findall(r"[\w./:-]+", mistake) if len(word) > 1 and word not in ("hs", "models", "engines")
    }
    kinds = {"int", "str", "float", "list", "dict", "bytes", "NoneType", "function", "Parser"}
    return any(word in said for word in words | kinds)


def test_no_mistake_is_silent_and_nearly_all_say_what_and_what_to_do():
    poor, silent = [], []
    for run, mistake in MISTAKES:
        said = run(mistake)
        if not said:
            silent.append(mistake)
        elif RAW.search(said) or not (names_it(mistake, said) or ADVICE.search(said)):
            poor.append((mistake, said))
    assert silent == []
    assert len(poor) <= len(MISTAKES) * 0.05, poor
    assert len(MISTAKES) >= 150


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        ('hs.Parser("hermse")', "unknown format 'hermse'; did you mean 'hermes'?"),
        ('hs.Parser("hermes", hs.vocab.o200k_harmony())', "is it the model's own?"),
        ('hs.vocab.from_tokenizers("Qwen/Qwen3-8B")', "there is no file Qwen/Qwen3-8B: pass the path"),
        ("hs.prase", "module 'harmonystream' has no attribute 'prase'; did you mean 'parse' or"),
        ("hs.Tools(mcp=['localhost'])", "the URL of an MCP server begins with http:// or https://"),
        ("gateway.Model('m', 'http://e')", "such as hs.engines.Completions(url), not 'http://e'"),
        ("hs.Tools([print])", "pass its items one by one, Tools(*tools)"),
        ("hs.Vocab.load(5)", "path is that of a file that save() wrote, not int"),
        ("hs.engines.Sampling(temperature='hot')", "temperature is a number or None, not 'hot'"),
    ],
)
def test_what_some_of_them_say(mistake, said):
    assert said in in_python(mistake)


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ('chat {"input": "Hi"}', "Unknown option: input. Pass messages instead."),
        ('chat {"system": "x"}', 'Unknown option: system. Pass a message with the role "system" instead.'),
        ('chat {"max_new_tokens": 5}', "Unknown option: max_new_tokens. Pass max_completion_tokens instead."),
        ('chat {"messages": [{"role": "user", "text": "Hi"}]}', "messages[0]: there is no content; expected text"),
        ('chat {"tools": [{"name": "f"}]}', 'and are {"type": "function", "function": {"name": …, "parameters": …}}'),
        ('messages {"system": "x", "messages": [{"role": "bot", "content": "Hi"}]}', "messages[0]: role is 'bot'"),
        ('messages {"system": 5}', "system: content is int"),
        ('responses {"instructions": "x", "input": [{"role": "bot", "content": "Hi"}]}', "input[0]: role is 'bot'"),
        ('responses {"reasoning_effort": "low"}', "Pass reasoning.effort instead."),
        ("GET /v1/responses", "This path does not take the method GET: it takes POST."),
        ("POST /v1/chat/completions/", "There is nothing at the path /v1/chat/completions/. There are /v1/chat/comp"),
        ("as content-encoding: gzip", "A body with the content-encoding 'gzip' is not read: send it as it is."),
    ],
)
def test_an_error_of_a_request_names_the_place_in_the_request(request_, said):
    assert said in on_the_wire(request_)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "render --model gpt-5 m.json",
            "Pass the format yourself with --format: one of the names that `harmonystream formats` lists",
        ),
        ("render --format hermes m.json", "written by its own chat template: pass --template, its folder or file"),
        ("serve --engine http://x --model Qwen/Qwen2.5-7B", "pass --tokenizer, the model's folder, or --template"),
        ("render --model gpt-oss --reasoning high --set thinking=true m.json", "instead of --thinking"),
    ],
)
def test_an_error_on_the_command_line_names_its_options(command, said):
    assert said in on_the_command_line(command)


@pytest.mark.parametrize(
    ("package", "line", "extra"),
    [
        ("aiohttp", "hs.engines.Completions('http://e')", "engines"),
        ("aiohttp", "hs.engines.LlamaServer('http://e')", "engines"),
        ("jinja2", "hs.prompts.Template('{{ x }}').variables", "prompt"),
        ("jinja2", "hs.render('Hi', template='{{ x }}')", "prompt"),
        ("tiktoken", "hs.vocab.o200k_harmony().encode('a')", "tiktoken"),
        ("starlette", "import harmonystream.integrations.starlette", "starlette"),
        ("starlette", "from harmonystream.gateway import app", "gateway"),
        ("prometheus_client", "from harmonystream.gateway import app", "gateway"),
        ("mcp", "import harmonystream.tools.mcp", "mcp"),
        ("typing_extensions", "import harmonystream.compat.openai_harmony", None),
    ],
)
def test_a_package_that_is_missing_is_named_with_the_extra_that_installs_it(package, line, extra):
    code = f"import sys; sys.modules[{package!r}] = None\nimport harmonystream as hs\n{line}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENV)
    if extra is None:
        assert (done.returncode, done.stderr) == (0, "")
        return
    said = done.stderr.splitlines()[-1]
    assert said.startswith("ImportError: ") and f"pip install 'harmonystream[{extra}]'" in said


# --- every option of the public functions, with values that it cannot take --------------------------------------------

NAN = float("nan")
WRONG: dict[str, tuple[Any, ...]] = {
    "flag": ("false", 1, None, []),
    "flag?": ("false", 1, []),
    "flag 1": ("false", 2),
    "text": (7, b"x", ["x"], None),
    "text?": (7, b"x", ["x"]),
    "count": ("3", 1.5, True, -1, None, NAN),
    "count?": ("3", 1.5, True, -1, NAN),
    "number": ("3", True, -1, NAN, [1]),
    "number?": ("3", True, NAN, [1]),
    "seconds": ("3", True, 0, -1, NAN),
    "mapping": (7, "x", [1]),
    "function": (7, "x", [print]),
    "type": (7, "int", print, [int]),
    "one of": ("zzz", 7, ["x"]),
    "list": (7, "x", b"x"),
    "format": ("zzz", 7, None),
    "format?": ("zzz", 7),
    "vocab": ("zzz", 7, b"x"),
    "prompt": (1.5, print),
    "path": (7, b"x", [1], {}),
    "url": (7, None, "localhost:8000", b"http://x"),
    "parser": (7, None, "zzz"),
    "messages": (7, None, {"role": "user"}, [7], [{"role": "zzz"}]),
    "tools": (7, b"x", [7], [{}], [None]),
    "engine": (7, None, "localhost", object(), hs.engines.Recorded),
    "sampling": (7, "hot", {"temprature": 1}, {"temperature": "hot"}, [1]),
    "think": (7, "<think>", ("<think>",), (1, 2)),
    "servers": (7, "localhost", ["localhost"], [7], {1: "http://x"}),
    "date": (7, b"x", [1]),
}
ANYTHING = {"context", "request", "name", "reason", "results", "model_name", "id_of"}
"""Parameters that take any value, or whose mistakes are in the lists above."""
HEADERS = {"headers": "mapping", "connect_timeout": "seconds", "silence": "seconds", "retries": "count", "key": "text?"}
READING = {"format": "format", "vocab": "vocab", "tools": "tools", "start": "one of"}
PARSING = {**READING, "prompt": "prompt", "strict": "flag", "trim": "one of", "empty_args": "text", "max_hold": "count"}
STREAM = {
    "parser": "parser",
    "id": "text",
    "model": "text",
    "call_id": "function",
    "taken": "list",
    "keep_text": "flag",
}
STREAM |= {"extra": "mapping", "vocab": "vocab", "tools": "list"}
PROMPT = {"messages": "messages", "tools": "tools", "model": "text?", "format": "format?", "template": "path"}
PROMPT |= {"vocab": "vocab", "reasoning": "one of", "date": "date", "dialect": "one of", "thinking": "flag?"}
LIMITS = {"max_rounds": "count", "max_repeats": "count", "max_tokens": "count?", "timeout": "number"}
OPTIONS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "Parser": ({}, {**PARSING, "check_stops": "flag", "watch": "list"}),
    "parse": ({"output": "x", "format": "hermes"}, {**PARSING, "finish_reason": "text?"}),
    "label": ({"ids": [13225]}, {**READING, "prompt": "prompt", "conversation": "flag"}),
    "batch.Batch": ({}, {"format": "format", "vocab": "vocab", "capacity": "count", "max_hold": "count"}),
    "render": ({"messages": "Hi", "model": "gpt-oss"}, {**PROMPT, "training": "flag", "continue_final": "flag"}),
    "prompts.normalize": ({"messages": "Hi"}, {"messages": "messages", "think": "think"}),
    "prompts.Template": ({"source": "{{ x }}"}, {"source": "path", "name": "text?", "tokens": "mapping"}),
    "prompts.tool_results": ({"calls": [], "results": []}, {"calls": "list", "results": "list", "closing": "text"}),
    "Tool": (
        {"name": "f", "parameters": {"type": "object"}, "function": print},
        {
            **dict.fromkeys(("early", "required", "stealth"), "flag"),
            **dict.fromkeys(("function", "when", "approve", "bind"), "function"),
            **{"name": "text", "description": "text", "text_parameter": "text?", "timeout": "seconds"},
            **{"strict": "flag?", "parameters": "mapping"},
        },
    ),
    "Tools": (
        {},
        {
            **dict.fromkeys(("max_concurrency", "max_threads", "max_result"), "count"),
            **{"timeout": "seconds", "approve": "function", "mcp": "servers"},
        },
    ),
    "engines.Completions": ({"url": "http://e"}, {**HEADERS, "url": "url", "model": "text?", "server": "one of"}),
    "engines.LlamaServer": ({"url": "http://e"}, {**HEADERS, "url": "url"}),
    "engines.Recorded": ({}, {"recording": "list", "delay": "number"}),
    "engines.Finished": ({}, {"reason": "text?", "usage": "mapping", "stop": "text?"}),
    "engines.Sampling": (
        {},
        {
            **dict.fromkeys(("temperature", "top_p", "min_p", "repetition_penalty"), "number"),
            **dict.fromkeys(("presence_penalty", "frequency_penalty"), "number?"),
            **{"max_tokens": "count", "logprobs": "count?", "extra": "mapping", "headers": "mapping", "stop": "list"},
        },
    ),
    "agent_loop_sync": (
        {"engine": hs.engines.Recorded(), "messages": "Hi", "model": "gpt-oss"},
        {
            **{name: kind for name, kind in PROMPT.items() if name != "dialect"},
            **LIMITS,
            **{"engine": "engine", "tools": "tools", "system": "text?", "answer": "type", "tool_choice": "text"},
            **{"sampling": "sampling"},
        },
    ),
    "ChatStream": (
        {"id": "a", "model": "m", "created": 1},
        {**STREAM, **dict.fromkeys(("include_usage", "token_ids"), "flag"), "parallel_tool_calls": "flag 1"},
    ),
    "ResponsesStream": (
        {"id": "a", "model": "m", "created": 1},
        {**STREAM, "encrypt": "function", "item_id": "function", "item_type": "function", "container_id": "text"},
    ),
    "MessagesStream": ({"id": "a", "model": "m"}, {**STREAM, "thinking": "flag", "text_key": "text"}),
    "grammar": (
        {"format": "hermes", "tools": ["f"]},
        {
            **{"format": "format", "tools": "tools", "parallel": "flag", "strict": "flag?", "answer": "mapping"},
            **dict.fromkeys(("reasoning", "start", "order"), "one of"),
        },
    ),
}


WITHOUT = {"include_usage", "token_ids", "extra", "taken", "parallel_tool_calls", "thinking"}
"""Options for which a value without a truth is none, as it was meant."""


def test_an_option_of_the_wrong_type_is_refused_by_its_name():
    tried, silent, poor = 0, [], []
    for path, (given, kinds) in OPTIONS.items():
        called: Any = hs
        for step in path.split("."):
            called = getattr(called, step)
        for option, kind in kinds.items():
            for value in WRONG[kind]:
                if option in WITHOUT and not value:
                    continue
                tried += 1
                shown = f"{path}({option}={value!r})"
                try:
                    made = called(**{**given, option: value})
                    if path == "agent_loop_sync":
                        list(made)
                except Exception as error:
                    said = f"{type(error).__name__}: {error}"
                    noun = option.removesuffix("s").removesuffix("_sync")
                    raw = RAW.search(said.replace("not NoneType", "not None"))
                    if raw or isinstance(error, Warning) or not (noun in said or ADVICE.search(said)):
                        poor.append((shown, said))
                else:
                    silent.append(shown)
    assert silent == []
    assert len(poor) <= tried * 0.05, poor
    assert tried >= 500
