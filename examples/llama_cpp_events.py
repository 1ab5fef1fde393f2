"""Events of gpt-oss in llama-cpp-python: `python examples/llama_cpp_events.py gpt-oss-20b.gguf "What is 2 + 2?"`."""

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from llama_cpp import Llama

import harmonystream as hs


def generate(llama: Llama, messages: list[dict[str, Any]], limit: int = 500, **sampling: Any) -> Iterator[hs.Event]:
    """The events of an answer. sampling: what `Llama.generate` takes. It goes on until the caller stops."""
    prompt = hs.render(messages, format="harmony")
    stops = {*prompt.stop_ids, llama.token_eos()}
    ids = llama.tokenize(prompt.text.encode(), add_bos=False, special=True)

    def answer() -> Iterator[int]:
        for token in islice(llama.generate(ids, **sampling), limit):
            yield token
            if token in stops:
                return

    yield from hs.iter_events(answer(), prompt.parser())


def main() -> None:
    llama = Llama(sys.argv[1], n_ctx=4096, verbose=False)
    for event in generate(llama, [{"role": "user", "content": sys.argv[2]}]):
        print(hs.events.asdict(event))


if __name__ == "__main__":
    main()
