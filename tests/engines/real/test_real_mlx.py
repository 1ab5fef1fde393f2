"""mlx-lm's own generation, on Apple's machines or by its build for CPUs: a tiny model with random weights."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

mx = pytest.importorskip("mlx.core")
pytest.importorskip("mlx_lm")

sys.path.append(str(Path(__file__).resolve().parents[3] / "examples"))

import mlx_events  # noqa: E402
import mlx_lm  # noqa: E402
import model_dirs  # noqa: E402
from mlx_lm.models.qwen3 import Model, ModelArgs  # noqa: E402
from mlx_lm.utils import load_tokenizer  # noqa: E402

import harmonystream as hs  # noqa: E402

SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "head_dim": 16, "rms_norm_eps": 1e-6}
HEADS = {"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 1024, "rope_theta": 10000.0}


def test_the_example_gives_the_events_of_what_mlx_generates(tmp_path):
    directory = model_dirs.write(tmp_path, "qwen3")
    tokenizer, vocab = load_tokenizer(directory), hs.vocab.from_tokenizers(directory)
    mx.random.seed(7)
    model = Model(ModelArgs(model_type="qwen3", vocab_size=len(vocab), tie_word_embeddings=True, **SIZES, **HEADS))
    messages = [{"role": "user", "content": "Go!"}]
    said = list(mlx_events.generate(model, tokenizer, vocab, messages))
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    tokens = [response.token for response in mlx_lm.stream_generate(model, tokenizer, prompt=ids, max_tokens=500)]
    parser = hs.Parser("hermes", vocab, prompt=ids)
    text = "".join(event.text for event in said if isinstance(event, hs.ContentDelta))
    assert text == parser.feed_delta(tokens).content + parser.finish_delta().content != ""
