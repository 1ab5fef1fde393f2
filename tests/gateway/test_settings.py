"""The settings' file: what it may say, and errors that name the key."""

from __future__ import annotations

import pytest

from harmonystream.engines import Completions, LlamaServer
from harmonystream.gateway import app
from harmonystream.gateway import settings as module
from harmonystream.gateway.operating.keys import line_of
from harmonystream.gateway.settings import load

WHOLE = """
host = "0.0.0.0"
port = 9000
keys = "keys.txt"
origins = ["https://example.org"]
log_contents = true

[limits]
concurrent = 64
first_token = 20

[models."gpt-oss-20b"]
family = "openai/gpt-oss-20b"
aliases = ["gpt-oss"]
context = 131072
max_tokens = 2048
reasoning_field = "both"
sampling = { temperature = 0.7 }

[[models."gpt-oss-20b".engines]]
kind = "vllm"
url = "http://one:8000"
model = "openai/gpt-oss-20b"
key_env = "ENGINE_KEY"

[[models."gpt-oss-20b".engines]]
kind = "llama-server"
url = "http://two:8080"
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("ENGINE_KEY", "k")
    (tmp_path / "keys.txt").write_text(line_of("ann", "key") + "\n", "utf-8")

    def make(text):
        path = tmp_path / "gateway.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return make


def test_a_file_with_everything(file):
    made = load(file(WHOLE))
    assert made.log_contents is True
    assert (made.host, made.port, made.origins) == ("0.0.0.0", 9000, ["https://example.org"])
    assert (made.limits.concurrent, made.limits.first_token, len(made.keys)) == (64, 20, 1)
    (model,) = made.models
    assert (model.name, model.family, model.aliases) == ("gpt-oss-20b", "openai/gpt-oss-20b", ["gpt-oss"])
    assert (model.context, model.max_tokens, model.reasoning_field) == (131072, 2048, "both")
    assert model.sampling == {"temperature": 0.7}
    assert [type(engine) for engine in model.engines] == [Completions, LlamaServer]
    assert model.engines[0]._headers == {"Authorization": "Bearer k"}
    assert set(app(made.models, keys=made.keys, limits=made.limits).state.gateway.models) == {"gpt-oss-20b", "gpt-oss"}


def test_an_empty_file_serves_the_recording(file):
    made = load(file(""))
    assert (made.host, made.port, made.models, made.keys) == ("127.0.0.1", 8000, [], None)


ENGINE = '[[models.m.engines]]\nurl = "http://e"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("port = 'x'", "port must be an integer"),
        ("port = true", "port must be an integer"),
        ("port = 99999", "port must be 0 to 65535"),
        ("hots = ''", "hots is unknown; did you mean 'hosts' or 'host'"),
        ("hosts = ''", "hosts must be a list"),
        ("unsupported = 'no'", "unsupported must be one of auto, ignore, refuse"),
        ("keys = 'no.txt'", "keys: .*no.txt"),
        ("origins = [1]", "origins must be a list of strings"),
        ("limits = 3", "limits must be a table"),
        ("[limits]\nconcurent = 3", "limits.concurent is unknown; did you mean 'concurrent'"),
        ("[limits]\nconcurrent = -3", "limits.concurrent is 1 or more"),
        ("models = []", "models must be a table"),
        ("[models]\nm = 1", "models.m must be a table"),
        ("[models.m]", "models.m.engines must have 1 to 64 tables"),
        ("[models.m]\nengines = [1]", r"models.m.engines\[0\] must be a table"),
        (f"[models.m]\ncontext = 0\n{ENGINE}", "models.m.context must be 1 or more"),
        (f"[models.m]\nreasoning_field = 'x'\n{ENGINE}", "models.m.reasoning_field must be"),
        (f"[models.m]\nsize = 1\n{ENGINE}", "models.m.size is unknown; known: engines"),
        (f"[models.m.sampling]\ntemperature = 'hot'\n{ENGINE}", "models.m.sampling.temperature must be a number"),
        (ENGINE + "kind = 'ollama'", r"models.m.engines\[0\]: unknown engine 'ollama'"),
        (ENGINE + "key_env = 'NO_SUCH_KEY'", r"engines\[0\].key_env: the environment has no NO_SUCH_KEY"),
        (ENGINE + "ulr = ''", r"models.m.engines\[0\].ulr is unknown"),
        ("[[models.m.engines]]\nurl = 'ftp://e'", r"engines\[0\]: an engine's url begins with http"),
        ("a = ", "is not TOML"),
        (b"a = '\xff'", "is not TOML"),
    ],
)
def test_what_is_wrong_is_named(file, text, message):
    with pytest.raises(ValueError, match=message):
        load(file(text))


def test_a_file_is_bounded(file, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 5)
    with pytest.raises(ValueError, match="more than 5 bytes"):
        load(file("host = 'a'"))
    with pytest.raises(ValueError, match="No such file"):
        load("no/such/file.toml")


MODEL = """
[models.m]
family = "gpt-oss"
{}
[[models.m.engines]]
kind = "recorded"
"""


def test_tools_that_run_here(file, tmp_path):
    (tmp_path / "tools.py").write_text("import harmonystream as hs\n\ntools = hs.Tools('f')\n")
    (model,) = load(file(MODEL.format('tools = "tools.py"'))).models
    assert [tool.name for tool in model.server_tools] == ["f"]
    (model,) = load(file(MODEL.format('mcp = ["http://127.0.0.1:9/mcp"]'))).models
    assert len(model.server_tools) == 0
    (model,) = load(file(MODEL.format(""))).models
    assert model.server_tools is None


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ('tools = "other.py"', "models.m.tools: .*other.py: there is no such file of tools"),
        ("tools = 1", "models.m.tools must be a string"),
        ("mcp = [1]", "models.m.mcp must be a list of strings"),
        ('tools = "tools.py"\nmcp = ["http://h"]', r"harmonystream.Tools\(mcp=…\)"),
    ],
)
def test_tools_that_cannot_run_name_the_key(file, line, match):
    with pytest.raises(ValueError, match=match):
        load(file(MODEL.format(line)))
