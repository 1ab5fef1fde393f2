"""OpenAI's rank file of o200k_base, made of the package's own data: tiktoken and openai-harmony would download it."""

from __future__ import annotations

import base64
import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COUNT = 199_998
NAME = "o200k_base.tiktoken"
SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""Of the file as OpenAI publishes it; tiktoken and openai-harmony check it as well."""


def tokens() -> list[bytes]:
    """The bytes of each token, in the order of their ranks."""
    data = (ROOT / "harmonystream" / "data" / "o200k_base.tokens").read_bytes()
    found: list[bytes] = []
    for left, right in zip(*(_numbers(data[half : half + 3 * COUNT]) for half in (0, 3 * COUNT))):
        found.append(found[left] + found[right] if left < len(found) else bytes([right]))
    return found


def data_of(tokens: list[bytes]) -> bytes:
    """The data that `load_ranks` reads: two numbers for each token, which are the ranks of two tokens before it, whose
    bytes together are the token's; of those the one with the longest left. A byte has its own rank, and its value.
    First come the low bytes of all left numbers, then their middle and high ones, then those of the right numbers.
    """
    ranks = {token: rank for rank, token in enumerate(tokens)}
    pairs = [(rank, token[0]) if len(token) == 1 else _split(ranks, rank, token) for rank, token in enumerate(tokens)]
    return b"".join(bytes(pair[half] >> shift & 255 for pair in pairs) for half in (0, 1) for shift in (0, 8, 16))


def _split(ranks: dict[bytes, int], rank: int, token: bytes) -> tuple[int, int]:
    cuts = ((ranks.get(token[:at], rank), ranks.get(token[at:], rank)) for at in range(len(token) - 1, 0, -1))
    return next(pair for pair in cuts if max(pair) < rank)


def _numbers(data: bytes) -> list[int]:
    count = len(data) // 3
    planes = zip(data[:count], data[count : 2 * count], data[2 * count :])
    return [low | middle << 8 | high << 16 for low, middle, high in planes]


def folder() -> str:
    """A folder that has the file: what TIKTOKEN_ENCODINGS_BASE names."""
    made = ROOT / "build" / "ranks"
    if not (made / NAME).is_file():
        made.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=made, delete=False) as file:
            file.write(b"".join(b"%b %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens())))
        os.replace(file.name, made / NAME)  # at once, because tests in other processes make it too
    return str(made)
