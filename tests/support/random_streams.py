"""Random streams: markers, header words and their fragments, text, stray bytes and unknown ids, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from reference import Item, Result, interpret
from streams import MARKERS, encode_bytewise, encode_greedily, prefix_items, to_ids

import harmonystream as hs

TOOLS = (None, [], ["f", "g"], ["f", "shell", "python", "get_weather", "Answer", "Answer Tool", "Answer Tool Two"])
WORDS = (
    *("analysis", "comment", "ary", "commentary", "final", "Final", "––", "?"),
    *("assistant", "assist", "assistantassistant", "user", "system", "tool", "developer"),
    *(" ", " ", "  ", "\n", "\t", "\u00a0", "\u2003", "\u3000", "\x1c"),
    *(" to=", "to=", "t", "o=", "to= ", " to=functions.f", "to=assistant", "functions.", "func"),
    *("f", "g", "shell", "shelljson", "get_", "weather", "Answer", "Tool", "Two"),
    *("python", "browser", "container", ".", ".x"),
    *("json", " json", "code", " code", "js", "text", "markdown", "response"),
    *("{", "}", "[", "]", '"', "\\", '{"a":1}', " {}", "1", "true"),
    *("Hello", " world", "日本", "é", "😀"),
)
HEADERS = (
    "<|channel|>analysis<|message|>",
    "<|channel|>final<|message|>",
    "<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
    "<|start|>assistant<|channel|>commentary<|message|>",
    "<|start|>assistant to=g<|channel|>analysis code<|message|>",
    "<|start|>functions.f to=assistant<|channel|>commentary<|message|>",
    "<|end|><|start|>assistant",
)
LONG = ("x" * 250, " " * 250, "日" * 84, "to=" + "y" * 252, "final " + "z" * 249, "assistant" * 28)
MARKUP = tuple(f"<|{name}|>" for name in MARKERS)
QUOTED = (*MARKUP, "<|", "|>", "<", "<|chan", "<|reserved_200013|>", "<|startoftext|>")
SPACE_BYTES = (
    *(b"\xc2", b"\xe1\x9a", b"\xe2", b"\xe2\x80", b"\xe2\x81", b"\xe3\x80"),
    *(b"\x80", b"\x83", b"\x85", b"\x9f", b"\xa0"),
)
HALF_CHARACTERS = (9552, 4046, 1857, 2203, 172, 253, 246, 222, 169, 254, 124, 187, 186)
INERT = (199998, 200013, 201088)
UNKNOWN = (201089, 300000, 2**31 - 1)
# What can decide something about a header, in as few pieces as possible.
SHORT_WORDS = (
    *("<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|endoftext|>"),
    *("assistant", "assi", "user", "python.x", " ", "\n", "to=", " to=f ", "to=assistant", "t"),
    *("f", "ge", "fi", "final", " analysis", "json", " j", " code {", "{", "?"),
)
SHORT_PIECES = (
    *([INERT[0]], [HALF_CHARACTERS[0]], encode_bytewise(b"\xe2\x80")),
    *(to_ids(word.encode()) for word in SHORT_WORDS),
)
FINISHES = (None, "stop", "length", "tool_calls", "function_call", "abort")
START_STATES = (
    *("auto", "auto", "auto", "content", "reasoning", "answer", ""),
    *("<|start|>", "<|start|>assistant", "<|start|>assistant<|channel|>commentary to=functions.f<|message|>"),
    *("<|start|>user<|message|>", "<|channel|>commentary to=functions.f<|message|>"),
    *("<|start|>assistant<|channel|>comm", "<|start|>assistant<|channel|>final<|message|>ok<|end|>"),
)


@dataclass(frozen=True)
class Options:
    tools: list[str] | None
    start: str
    finish: str | None
    empty_args: str

    def parser(self, vocab: hs.Vocab | None = None) -> hs.Parser:
        return hs.Parser("harmony", vocab, tools=self.tools, start=self.start, empty_args=self.empty_args)

    def reference(self, items: Sequence[Item]) -> Result:
        prefix = prefix_items(self.start)
        return interpret(items, tools=self.tools, prefix=prefix, finish=self.finish, empty_args=self.empty_args)


options = st.builds(
    Options,
    tools=st.sampled_from(TOOLS),
    start=st.sampled_from(START_STATES),
    finish=st.sampled_from(FINISHES),
    empty_args=st.sampled_from(["{}", "{}", ""]),
)
seeds = st.integers(0, 2**32 - 1)
marked_up = st.sampled_from([*MARKUP, *MARKUP, *HEADERS, *WORDS, *WORDS, *LONG])
tokens = st.one_of(
    marked_up.map(str.encode).map(to_ids),
    marked_up.map(str.encode).map(lambda data: to_ids(data, encode_bytewise)),
    st.sampled_from(QUOTED).map(str.encode).map(encode_greedily),
    st.one_of(st.binary(min_size=1, max_size=4), st.sampled_from(SPACE_BYTES)).map(encode_bytewise),
    st.sampled_from([*HALF_CHARACTERS, *INERT, *UNKNOWN]).map(lambda tid: [tid]),
)
id_streams = st.lists(tokens, max_size=24).map(lambda parts: [tid for part in parts for tid in part])
byte_streams = st.lists(
    st.one_of(marked_up.map(str.encode), st.sampled_from(QUOTED).map(str.encode), st.binary(min_size=1, max_size=4)),
    max_size=24,
).map(b"".join)


@st.composite
def small_vocabularies(draw: st.DrawFn) -> tuple[hs.Vocab, list[int]]:
    """A vocabulary of a few tokens, with the markers at any ids, and a stream of its ids."""
    pieces = draw(
        st.lists(st.sampled_from([*WORDS, *LONG, "<|end|>", "\r\n"]).map(str.encode), min_size=1, max_size=12)
    )
    pieces += draw(st.lists(st.binary(min_size=1, max_size=5), max_size=6))
    ids = draw(st.permutations(range(len(pieces) + len(MARKUP) + 2)))
    control = dict(zip([*MARKUP, "<|pad|>", "<|inert|>"], ids))
    ordinary = dict(zip(ids[len(control) :], pieces))
    vocab = hs.vocab.from_bytes(ordinary, control)
    any_id = st.sampled_from([*ids, *control.values(), *ordinary, len(ids)])
    return vocab, draw(st.lists(any_id, max_size=24))
