"""EventStreamer inside the real generate(). `make engines` installs what it needs; elsewhere it is skipped."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path
from typing import Any

import model_dirs
import pytest

import harmonystream as hs
from harmonystream.integrations.transformers import EventStreamer

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "transformers_events.py"
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16}
SCRIPTS = {  # what the rows write; the second one ends later
    0: "<|channel|>final<|message|>Hi<|return|>",
    1: "<|channel|>analysis<|message|>Hm, yes.<|end|><|start|>assistant<|channel|>final<|message|>Yes!<|return|>",
}


class Forced:
    """A logits processor that makes each row write its script."""

    def __init__(self, start: int, rows: list[list[int]]) -> None:
        self._start, self._rows = start, rows

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        made = torch.full_like(scores, -torch.inf)
        for row, ids in enumerate(self._rows):
            at = input_ids.shape[1] - self._start
            made[row, ids[min(at, len(ids) - 1)]] = 0.0
        return made


@pytest.fixture(scope="module")
def model() -> Any:
    torch.manual_seed(0)
    config = transformers.Qwen3Config(vocab_size=201_088, intermediate_size=64, **SIZES)
    return transformers.Qwen3ForCausalLM(config).eval()


def generated(model: Any, rows: list[int], **options: Any) -> tuple[dict[int, list[hs.Event]], list[hs.Parser]]:
    vocab = hs.vocab.o200k_harmony()
    prompt = vocab.encode("<|start|>user<|message|>Hi<|end|><|start|>assistant", control=True)
    scripts = [vocab.encode(SCRIPTS[row], control=True) for row in rows]
    events: dict[int, list[hs.Event]] = {row: [] for row in range(len(rows))}
    streamer = EventStreamer(lambda row, new: events[row].extend(new))
    tensor = torch.tensor([prompt] * len(rows))
    stops = {"eos_token_id": [200002, 200012], "pad_token_id": 199999}
    forced = transformers.LogitsProcessorList([Forced(len(prompt), scripts)])
    options = {"max_new_tokens": 40, "do_sample": False, "logits_processor": forced, **stops, **options}
    model.generate(tensor, attention_mask=torch.ones_like(tensor), streamer=streamer, **options)
    return events, streamer.parsers


@pytest.mark.parametrize("rows", [[0], [1], [0, 1], [1, 0, 1]])
def test_each_row_has_the_events_of_its_text(model, rows):
    events, parsers = generated(model, rows)
    for at, row in enumerate(rows):
        ids = hs.vocab.o200k_harmony().encode(SCRIPTS[row], control=True)
        whole = hs.parse(ids)
        texts = [event.text for event in events[at] if isinstance(event, hs.ContentDelta)]
        thoughts = [event.text for event in events[at] if isinstance(event, hs.ReasoningDelta)]
        assert ("".join(thoughts), "".join(texts)) == (whole.reasoning, whole.content)
        assert parsers[at].finish_reason == "stop"
        assert isinstance(events[at][-1], hs.StreamEnd)


def test_a_row_that_is_cut_ends_by_its_length(model):
    events, parsers = generated(model, [1], max_new_tokens=4)
    assert parsers[0].finish_reason == "length"
    assert "".join(event.text for event in events[0] if isinstance(event, hs.ReasoningDelta)).startswith("Hm")


def test_what_the_callback_raises_ends_generate(model):
    def stop(row: int, events: object) -> None:
        raise InterruptedError

    prompt = torch.tensor([hs.vocab.o200k_harmony().encode("Hi")])
    with pytest.raises(InterruptedError):
        model.generate(prompt, attention_mask=torch.ones_like(prompt), streamer=EventStreamer(stop), max_new_tokens=8)


def test_the_example_prints_the_events_of_the_output(tmp_path, capsys, monkeypatch):
    """Its model is a directory, as of a download."""
    directory = model_dirs.write(tmp_path, "qwen3")
    vocab = hs.vocab.from_tokenizers(directory)
    tiny = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(vocab_size=len(vocab), intermediate_size=64, **SIZES))
    tiny.lm_head.weight.data.zero_()  # it writes token 0 again and again
    tiny.save_pretrained(directory)
    monkeypatch.setattr("sys.argv", ["", str(directory), "Go!"])
    runpy.run_path(str(EXAMPLE))["main"]()
    *said, end = map(ast.literal_eval, capsys.readouterr().out.splitlines())
    assert end["type"] == "StreamEnd"
    text = "".join(event["text"] for event in said if event["type"] == "ContentDelta")
    assert text == 500 * vocab.token_bytes(0).decode()
