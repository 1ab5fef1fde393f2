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
    found, at = [], COUNT
    for length in data[:COUNT]:
        found.append(data[at : at + length])
        at += length
    return found


def folder() -> str:
    """A folder that has the file: what TIKTOKEN_ENCODINGS_BASE names."""
    made = ROOT / "build" / "ranks"
    if not (made / NAME).is_file():
        made.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=made, delete=False) as file:
            file.write(b"".join(b"%b %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens())))
        os.replace(file.name, made / NAME)  # at once, because tests in other processes make it too
    return str(made)
