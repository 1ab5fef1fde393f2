"""Gives a model's reasoning a budget: before each token, the parser shows where it will land.

Prints:

    thinking: Let me think of a tea
    answer: Tea, then.
    20 tokens, 6 of them thoughts
"""

from __future__ import annotations

import harmonystream as hs

BUDGET = 6

# The ids that an engine would generate: <|channel|>analysis<|message|>Let me think of a tea, or coffee, …
THOUGHTS = [200005, 35644, 200008, 12845, 668, 2411, 328, 261, 17966, 11, 503, 12525, 11]
# The ids that we force when the budget is spent: <|end|><|start|>assistant<|channel|>final<|message|>
CLOSE = [200007, 200006, 173781, 200005, 17196, 200008]
# … and how it goes on from there: Tea, then.<|return|>
ANSWER = [127695, 11, 1815, 13, 200002]


def show(events: tuple[hs.Event, ...]) -> None:
    for event in events:
        match event:
            case hs.MessageStart(channel=channel):
                print("thinking: " if channel == "analysis" else "answer: ", end="")
            case hs.ReasoningDelta(text=text) | hs.ContentDelta(text=text):
                print(text, end="")
            case hs.MessageEnd():
                print()


def main() -> None:
    parser = hs.Parser()
    for token in THOUGHTS:
        if parser.region is hs.Region.REASONING and parser.usage.reasoning == BUDGET:
            show(parser.feed(CLOSE))
            break
        show(parser.feed(token))
    for token in ANSWER:
        show(parser.feed(token))
    show(parser.finish("stop"))
    print(f"{parser.usage.total} tokens, {parser.usage.reasoning} of them thoughts")


if __name__ == "__main__":
    main()
