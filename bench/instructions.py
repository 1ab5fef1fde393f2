"""Instructions per token or piece of the hot paths, counted by valgrind: `python -m bench.instructions [package ...]`.

Times are noisy; instruction counts are not. Each case runs N and 2N times, and the difference is divided by what one
run reads, so that neither Python's start nor the vocabulary counts. The arguments are directories that contain a built
`harmonystream`, such as one of an older commit; the last column compares the first directory with the last.
"""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import harmonystream as hs

PROSE = "The weather in Paris is fine today, and a light wind comes from the west. " * 12
CHANNELS = "<|channel|>analysis<|message|>"
TURN = f"{CHANNELS}Short.<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|end|><|start|>assistant" * 8
CALL = '<tool_call>{"name": "get_weather", "arguments": {"city": "' + PROSE + '"}}</tool_call>'
PIECE = re.compile(r"<[^>]*>| ?\w+|.", re.DOTALL)
NAMES = ["<|return|>", "<|call|>", "<|constrain|>", "<|end|>", "<|start|>", "<|channel|>", "<|message|>"]
NAMES += ["<|endoftext|>", "<|im_end|>"]
ONCE = 200  # repetitions of the first run; the second has twice as many


def pieces(text: str) -> list[str]:
    return PIECE.findall(text)


def every(parser: hs.Parser, given: list[int] | list[str]) -> Callable[[], None]:
    feed: Callable[..., object] = parser.feed_text if isinstance(given[0], str) else parser.feed

    def once() -> None:
        for each in given:
            feed(each)

    return once


def cases() -> dict[str, tuple[Callable[[], object], int]]:
    """By name: what one run calls, and how many tokens or pieces it reads."""
    words = sorted({*pieces(PROSE + TURN + CALL), *NAMES})
    vocab = hs.vocab.from_bytes({i: word.encode() for i, word in enumerate(words)}, {n: words.index(n) for n in NAMES})
    prose, turn, call = ([words.index(piece) for piece in pieces(text)] for text in (PROSE, TURN, CALL))
    fours = [PROSE[at : at + 4] for at in range(0, len(PROSE), 4)]
    turns = turn * 8
    body = [words.index(piece) for piece in pieces(CHANNELS)]
    harmony, harmony_text, headers = (hs.Parser("harmony", vocab) for _ in range(3))
    tags, tags_text, tag_calls = (hs.Parser("hermes", vocab, tools=["get_weather"]) for _ in range(3))
    harmony.feed(body)
    harmony_text.feed_text(CHANNELS)
    return {
        "feed": (every(harmony, prose), len(prose)),
        "text": (every(harmony_text, fours), len(fours)),
        "headers": (every(headers, turn), len(turn)),
        "label": (lambda: hs.label(turns, "harmony", vocab=vocab), len(turns)),
        "tags_feed": (every(tags, prose), len(prose)),
        "tags_text": (every(tags_text, fours), len(fours)),
        "tags_call": (every(tag_calls, call), len(call)),
    }


def count(root: str, name: str, times: int) -> int:
    """What callgrind collects of this file, run with the package in `root`."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, __file__, name]
    environment = os.environ | {"PYTHONPATH": root, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([*command, str(times)], env=environment, check=True, capture_output=True, text=True)
    return int(re.findall(r"Collected : (\d+)", done.stderr)[-1])


def main() -> None:
    roots = sys.argv[1:] or [str(Path(hs.__file__).parents[1])]
    for name, (_, units) in cases().items():
        took = [(count(root, name, 2 * ONCE) - count(root, name, ONCE)) / (ONCE * units) for root in roots]
        change = f"{100 * (took[-1] / took[0] - 1):+.1f} %" if len(took) > 1 else ""
        print(f"{name:<10}", *(f"{each:9.1f}" for each in took), change, flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[2].isdigit():
        again, _ = cases()[sys.argv[1]]
        gc.disable()  # when it runs depends on what was allocated before
        for _ in range(int(sys.argv[2])):
            again()
    else:
        main()
