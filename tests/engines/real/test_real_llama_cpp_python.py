"""llama-cpp-python's own generation: a tiny model with random weights, and a grammar that says what is generated.

At the end of a grammar llama.cpp generates a stop of the model's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

llama_cpp = pytest.importorskip("llama_cpp")
pytest.importorskip("gguf")

sys.path.append(str(Path(__file__).resolve().parents[3] / "examples"))

import llama_cpp_events  # noqa: E402
from tiny_gguf import write_model  # noqa: E402

import harmonystream as hs  # noqa: E402

MESSAGES = [{"role": "user", "content": "Look!"}]
SPOKEN = '<[200005]> "analysis" <[200008]> "Hm 🐼" <[200007]> <[200006]> "assistant" <[200005]> "final" <[200008]> '
CALL = '<[200005]> "commentary to=functions.look " <[200003]> "json" <[200008]> '


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    model = tmp_path_factory.mktemp("model") / "tiny.gguf"
    write_model(model)
    opened = llama_cpp.Llama(str(model), n_ctx=512, n_threads=1, verbose=False, seed=7)
    yield opened
    opened.close()


def said(llama: Any, grammar: str, **more: Any) -> list[hs.Event]:
    rules = llama_cpp.LlamaGrammar.from_string(f"root ::= {grammar}", verbose=False)
    return list(llama_cpp_events.generate(llama, MESSAGES, grammar=rules, temp=0.0, **more))


def text_of(events: list[hs.Event], kind: type) -> str:
    return "".join(event.text for event in events if isinstance(event, kind))


def test_the_example_gives_the_events_of_an_answer(llama):
    events = said(llama, SPOKEN + '"成都"')
    assert text_of(events, hs.ReasoningDelta) == "Hm 🐼"
    assert text_of(events, hs.ContentDelta) == "成都"
    assert isinstance(events[-1], hs.StreamEnd)


def test_a_call_ends_the_generation(llama):
    events = said(llama, CALL + '"{\\"c\\": \\"🐼\\"}"')
    assert [event.name for event in events if isinstance(event, hs.ToolCallStart)] == ["look"]
    assert "".join(event.arguments for event in events if isinstance(event, hs.ToolCallDelta)) == '{"c": "🐼"}'


def test_the_limit_cuts(llama):
    events = said(llama, SPOKEN + '"' + "word " * 40 + '"', limit=12)
    assert sum(isinstance(event, hs.StreamEnd) for event in events) == 1
    assert len(text_of(events, hs.ContentDelta)) < 5 * 40
