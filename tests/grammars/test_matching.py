"""A grammar in a decode loop, where markers are control tokens."""

from __future__ import annotations

import pytest
from grammar_walks import vocab_of

import harmonystream as hs


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
