"""OpenAI's Harmony (gpt-oss). A separate machine reads its headers by their grammar. This row only has the markers."""

from .spec import HeaderFormat

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

HARMONY = HeaderFormat(
    name="harmony",
    markers=_MARKERS,
    required=frozenset(_MARKERS),
    stops=frozenset({"<|call|>", "<|return|>", "<|endoftext|>"}),
)
