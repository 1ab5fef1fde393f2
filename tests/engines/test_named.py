"""Engines by the words of a command line."""

from __future__ import annotations

import pytest

from harmonystream.engines import Completions, LlamaServer, Recorded, VllmTokens
from harmonystream.engines.named import ENGINES, engine_of, kind_and_url


def test_engines_by_kind():
    assert isinstance(engine_of("recorded", ""), Recorded)
    assert isinstance(engine_of("llama-server", "http://e"), LlamaServer)
    assert isinstance(engine_of("vllm-tokens", "http://e"), VllmTokens)
    kinds = set(ENGINES) - {"recorded", "llama-server", "vllm-tokens"}
    assert len(kinds) == 4
    for kind in kinds:
        assert isinstance(engine_of(kind, "http://e"), Completions)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("vllm=http://e", ("vllm", "http://e")),
        ("http://e", ("vllm", "http://e")),
        ("http://e?a=b", ("vllm", "http://e?a=b")),
        ("recorded", ("recorded", "")),
        ("recorded=a.jsonl", ("recorded", "a.jsonl")),
    ],
)
def test_the_words_of_a_command_line(given, read):
    assert kind_and_url(given) == read


def test_an_error_shows_what_to_write_instead():
    with pytest.raises(ValueError, match=r"the engine 'localhost:8000' is not KIND=URL or a URL, such as vllm=http"):
        kind_and_url("localhost:8000")
    with pytest.raises(ValueError, match=r"unknown engine 'llama_server'; did you mean 'llama-server'\?"):
        engine_of("llama_server", "http://e")
    with pytest.raises(ValueError, match="unknown engine 'ollama'; "):
        engine_of("ollama", "http://e")
    with pytest.raises(ValueError, match="an engine's url begins with http:// or https://, unlike 'localhost:1'"):
        engine_of("vllm", "localhost:1")
