"""A grammar in a decode loop, where markers are control tokens."""

from __future__ import annotations

import json
import random

import pytest
from grammar_walks import BACKENDS, FORMATS, ids_walk, tool, vocab_of

import harmonystream as hs


@pytest.mark.parametrize("format", FORMATS)
def test_a_loop_that_constrains_only_calls_works_in_every_format(format: str) -> None:
    """The model writes a call up to where its start is reported, then what a matcher of the whole output allows."""
    dice = random.Random(format)
    vocab, end = vocab_of(format)
    tools = [tool("paint", {"colour": {"enum": ["red", "blue"]}, "size": {"type": "integer"}}, ["colour"])]
    written = None
    while written is None:
        cursor = BACKENDS["llguidance"](hs.grammar(format, tools, choice="required"), vocab, end)
        written = ids_walk(cursor, vocab, end, format, dice)
    cursor = BACKENDS["llguidance"](hs.grammar(format, tools), vocab, end)
    parser, constrained, generated, calls = (
        hs.Parser(format, vocab, tools=tools, check_stops=False),
        False,
        list[int](),
        0,
    )
    while not calls:
        if constrained:
            may = cursor.allowed()
            closing = [one for one in may if one > 255 or chr(one) in "\"'}])<> "]
            generated.append(dice.choice(closing if closing and dice.random() < 0.7 else may))
        else:
            generated.append(written[len(generated)])
        cursor.take(generated[-1])
        for event in [*parser.feed(generated[-1]), *(parser.finish("stop") if generated[-1] == end else ())]:
            constrained |= isinstance(event, hs.ToolCallStart)
            calls += isinstance(event, hs.ToolCallEnd)
    call = hs.parse(generated, format, vocab=vocab, tools=tools, finish_reason="stop").tool_calls[0]
    assert (call.name, call.complete) == ("paint", True)
    assert json.loads(call.arguments)["colour"] in ("red", "blue")


def test_a_matcher() -> None:
    vocab, end = vocab_of("hermes")
    matcher = hs.grammar("hermes", ["f"], choice="required").matcher(vocab, [end])
    marker = vocab.control["<tool_call>"]
    assert len(matcher.allowed()) * 8 >= len(vocab)
    with pytest.raises(hs.errors.GrammarError, match="does not allow token 65"):
        matcher.fork().take(65)
    matcher.take(marker)
    assert not matcher.may_end
    before = matcher.fork()
    for byte in b'{"name": "f", "arguments": {}}':
        matcher.take(byte)
    matcher.take(vocab.control["</tool_call>"])
    assert matcher.may_end
    assert not before.may_end
    assert matcher.allowed()[end // 8] >> end % 8 & 1
    matcher.take(end)
    matcher.take(end)  # what pads the rows of a batch
    with pytest.raises(TypeError, match="vocab is a Vocab, not None"):
        hs.grammar("hermes", ["f"]).matcher(None)  # type: ignore[arg-type]
    only = hs.vocab.from_bytes([bytes([byte]) for byte in range(256)], {})
    with pytest.raises(hs.errors.GrammarError, match="no token that ends an output of 'hermes'"):
        hs.grammar("hermes", ["f"]).matcher(only)
