"""Calls that are one JSON object each: Qwen3, Qwen2.5, QwQ, Hermes and their fine-tunes."""

from .xml_calls import QWEN3_CODER

# Fine-tunes mix the two dialects, so the body decides: the row differs only in what it takes for a call outside its
# tags.
HERMES = QWEN3_CODER._replace(name="hermes", bare="no")
