"""OpenAI's Harmony (gpt-oss). Headers have a grammar, so the machine is its own; this row says how the markers are written."""

from .spec import Format

_MARKERS = {
    "start": "<|start|>",
    "channel": "<|channel|>",
    "constrain": "<|constrain|>",
    "message": "<|message|>",
    "end": "<|end|>",
    "call": "<|call|>",
    "return": "<|return|>",
    "endoftext": "<|endoftext|>",
}

HARMONY = Format(name="harmony", markers=_MARKERS, required=frozenset(_MARKERS))
