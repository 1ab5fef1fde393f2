"""States of parsers that watch values, altered: refused with ValueError, or a parser that works and invents nothing."""

from __future__ import annotations

from typing import Any

import harmonystream as hs
from fuzz import blobs

Case = dict[str, Any]
TAIL = 54 + 3 * 17 + 8  # bytes: the part about watched values, with some of its containers and of an open key
PATHS: list[tuple[Any, ...]] = [
    ("f", "s"),
    ("f", "l", ..., "t"),
    ("f", "o", "a", "b"),
    ("f", "l", 1),
    ("g", "s"),
    ("f", "s"),
]
HEADS = {
    "harmony": "<|channel|>commentary to=functions.{} <|constrain|>json<|message|>",
    "hermes": '<tool_call>\n{{"name": "{}", "arguments": ',
    "qwen3_coder": "<tool_call>\n<function={}>\n<parameter=s>\n",
    "glm": "<tool_call>{}\n<arg_key>s</arg_key>\n<arg_value>",
}
TEXTS = (
    *(
        '{"s": "x',
        '{"o": {"a": {"b": "',
        '{"l": [1, {"t": "x\\ud8',
        '{"l": ["a", "',
        '{"s": "\\ud83d',
        '{"',
        '{"l": [[{"s": "\\u1',
    ),
    *(
        "",
        "<think>",
        "text",
        '00"\\q, "s": "x"}',
        '"',
        "\\",
        "}]",
        ', "t": ["',
        "</arg_value>",
        "</parameter>\n",
        "<|call|>",
    ),
    *("</tool_call>", "<|end|><|start|>assistant<|channel|>final<|message|>", "é", "\\ude00"),
)


def decode(options: bytes, payload: bytes) -> Case:
    size = min(options[6] % 32, len(payload) // 2)
    texts, tail = payload[: len(payload) - size], payload[len(payload) - size :]
    patches = [(p[0], p[1], p[2]) for p in (tail[i : i + 3] for i in range(0, len(tail) - 2, 3))]
    return {
        "format": tuple(HEADS)[options[0] % len(HEADS)],
        "name": ("f", "g", "other", None)[options[1] % 4],
        "tools": (None, ["f", "g"], ["f"])[options[2] % 3],
        "texts": [TEXTS[byte % len(TEXTS)] for byte in texts][:24],
        "cut": options[3] % 24,
        "patches": patches,
    }


def check(
    format: str,
    name: str | None,
    tools: list[str] | None,
    texts: list[str],
    cut: int,
    patches: list[tuple[int, int, int]],
) -> None:
    """patches: what is done to a byte, how far from the end it is, and a value, as in blobs.py."""
    parser = hs.Parser(format, tools=tools, watch=PATHS)
    head = "" if name is None else HEADS[format].format(name)
    parser.feed_text(head + "".join(texts[:cut]))
    blob = parser.to_bytes()
    assert hs.Parser.from_bytes(blob, tools=tools, watch=PATHS).to_bytes() == blob
    data = bytearray(blob)
    for how, place, value in patches:
        at = len(data) - 1 - (place % TAIL if how & 1 else place)
        data[at] = value if how & 2 else data[at] ^ 1 << value % 8
    try:
        taken = hs.Parser.from_bytes(bytes(data), tools=tools, watch=PATHS)
    except ValueError:
        return
    assert taken.to_bytes() == data
    twin, rest = taken.fork(), "".join(texts[cut:]).encode()
    said = blobs.carry_on(taken, [rest], True)
    assert blobs.carry_on(twin, [rest[: len(rest) // 2], rest[len(rest) // 2 :]], True) == said
    taken.reset()
    for text in (head, *texts):
        try:
            events = taken.feed_text(text)
        except hs.errors.ParseError:  # the altered state may be strict
            break
        for event in events:
            if isinstance(event, hs.ValueStart | hs.ValueDelta | hs.ValueEnd):
                assert all(isinstance(step, str | int) for step in event.path) and event.index < 64
