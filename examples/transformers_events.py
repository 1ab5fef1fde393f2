"""Events of a model in transformers: `python examples/transformers_events.py Qwen/Qwen3-0.6B "What is 2 + 2?"`."""

import sys
from typing import Any

from transformers import AutoModelForCausalLM, AutoTokenizer

import harmonystream as hs
from harmonystream.integrations.transformers import EventStreamer


def generate(model: Any, tokenizer: Any, streamer: EventStreamer, messages: list[dict[str, Any]]) -> None:
    """The streamer gets the events while the model writes."""
    inputs = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    model.generate(**inputs, streamer=streamer, max_new_tokens=500)


def main() -> None:
    model, tokenizer = AutoModelForCausalLM.from_pretrained(sys.argv[1]), AutoTokenizer.from_pretrained(sys.argv[1])
    vocab = hs.vocab.from_tokenizers(tokenizer)
    streamer = EventStreamer(lambda row, events: print(*map(hs.events.asdict, events), sep="\n"), "hermes", vocab)
    generate(model, tokenizer, streamer, [{"role": "user", "content": sys.argv[2]}])


if __name__ == "__main__":
    main()
