"""A grammar in a decode loop, where markers are control tokens."""

from __future__ import annotations

import random

import pytest
from grammar_walks import faults_of, ids_walk, vocab_of
from test_grammars_walks import FORMATS, tools_of

import harmonystream as hs


@pytest.mark.parametrize("format", FORMATS)
def test_random_ids(format: str) -> None:
    vocab, end = vocab_of(format)
    ended = 0
    for seed in range(8):
        dice = random.Random(f"{format} {seed}")
        tools = tools_of(dice)
        grammar = hs.grammar(format, tools, choice="required", parallel=dice.random() < 0.5, reasoning="none")
        ids = ids_walk(grammar, vocab, end, dice, dice.choice((0, 20, 200)))
        if ids is not None:
            ended += 1
            found = hs.parse(ids, format, vocab=vocab, tools=tools)
            wrong = faults_of(found, tools, "required", preambles=format == "harmony")
            assert wrong == [], b"".join(map(vocab.token_bytes, ids))
        if ended == 2:
            break
    assert ended


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
    only = hs.vocab.from_bytes([bytes([byte]) for byte in range(256)], {})
    with pytest.raises(hs.errors.GrammarError, match="no token that ends an output of 'hermes'"):
        hs.grammar("hermes", ["f"]).matcher(only)
