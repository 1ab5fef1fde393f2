"""A script for an installed wheel, without pytest: the package comes from the environment, and parses ids and text."""

from pathlib import Path

import harmonystream as hs

STREAM = (
    *("<|channel|>", "analysis", "<|message|>", "Think", "<|end|>"),
    *("<|start|>", "assistant", "<|channel|>", "comment", "ary", " to", "=", "functions", ".", "go", "<|message|>"),
    *('{"', "x", '":', "1", "}", "<|call|>"),
)
EXPECTED = (
    hs.MessageStart("assistant", "analysis", None, None, 0, 3),
    hs.ReasoningDelta("Think", 3, 4),
    hs.MessageEnd("assistant", "analysis", None, None, 4, 5),
    hs.MessageStart("assistant", "commentary", "functions.go", None, 5, 16),
    hs.ToolCallStart(0, "go", None, "function", 16, 16),
    hs.ToolCallDelta(0, '{"x":1}', 16, 21),
    hs.ToolCallEnd(0, True, True, 21, 21),
    hs.MessageEnd("assistant", "commentary", "functions.go", None, 21, 22),
    hs.StreamEnd("tool_calls", 22, 22),
)


def main() -> None:
    """Fails loudly, or prints one line."""
    checkout = Path(__file__).resolve().parent.parent
    assert checkout not in Path(hs.__file__).resolve().parents, f"imported from the checkout: {hs.__file__}"
    vocab = hs.vocab.o200k_harmony()
    ids = {vocab.token_bytes(tid).decode("utf-8", "replace"): tid for tid in range(len(vocab))}
    parser = hs.Parser()
    events = parser.feed([ids[piece] for piece in STREAM]) + parser.finish()
    assert events == EXPECTED, events
    completion = hs.parse("".join(STREAM))
    assert (completion.reasoning, completion.finish_reason) == ("Think", "tool_calls"), completion
    print("harmonystream", hs.__version__, "works")


if __name__ == "__main__":
    main()
