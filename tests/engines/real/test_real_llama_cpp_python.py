"""llama-cpp-python's own generation: a tiny model with random weights, and a grammar that says what is generated."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

llama_cpp = pytest.importorskip("llama_cpp")
pytest.importorskip("gguf")

sys.path.append(str(Path(__file__).resolve().parents[3] / "examples"))

import llama_cpp_events  # noqa: E402
from tiny_gguf import write_model  # noqa: E402

import harmonystream as hs  # noqa: E402

SPOKEN = '<[200005]> "analysis" <[200008]> "Hm. 🐼" <[200007]> <[200006]> "assistant" <[200005]> "final" <[200008]> '


def test_the_example_gives_the_events_of_what_is_generated_up_to_its_limit(tmp_path):
    write_model(tmp_path / "tiny.gguf")
    llama = llama_cpp.Llama(str(tmp_path / "tiny.gguf"), n_ctx=512, n_threads=1, verbose=False, seed=7)
    grammar = llama_cpp.LlamaGrammar.from_string(f'root ::= {SPOKEN}"{"word " * 40}"', verbose=False)
    messages = [{"role": "user", "content": "Look!"}]
    events = list(llama_cpp_events.generate(llama, messages, limit=20, grammar=grammar, temp=0.0))
    llama.close()
    assert "".join(event.text for event in events if isinstance(event, hs.ReasoningDelta)) == "Hm. 🐼"
    assert isinstance(events[-1], hs.StreamEnd)
