"""Events of a model in mlx-lm: `python examples/mlx_events.py mlx-community/Qwen3-0.6B-4bit "What is 2 + 2?"`."""

import sys
from collections.abc import Iterator
from typing import Any

import mlx_lm

import harmonystream as hs


def generate(model: Any, tokenizer: Any, vocab: hs.Vocab, messages: list[dict[str, Any]]) -> Iterator[hs.Event]:
    """The events of an answer. `hs.events` also takes the reason why mlx-lm stopped."""
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    responses = mlx_lm.stream_generate(model, tokenizer, prompt=ids, max_tokens=500)
    yield from hs.iter_events((response.token for response in responses), "hermes", vocab, prompt=ids)


def main() -> None:
    model, tokenizer = mlx_lm.load(sys.argv[1])
    vocab = hs.vocab.from_tokenizers(tokenizer._tokenizer)
    for event in generate(model, tokenizer, vocab, [{"role": "user", "content": sys.argv[2]}]):
        print(hs.events.asdict(event))


if __name__ == "__main__":
    main()
