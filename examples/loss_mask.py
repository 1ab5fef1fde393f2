"""A loss mask that trains a model on its answers, calls and headers, but not on its reasoning.

Prints:

    <|channel|> analysis <|message|> Tea ? <|end|> <|start|> assistant <|channel|> final <|message|> Hello ! <|return|>
    #           #        #           .   . #       #         #         #           #     #           #     # #
"""

from __future__ import annotations

import harmonystream as hs

# <|channel|>analysis<|message|>Tea?<|end|><|start|>assistant<|channel|>final<|message|>Hello!<|return|>
IDS = [200005, 35644, 200008, 127695, 30, 200007, 200006, 173781, 200005, 17196, 200008, 13225, 0, 200002]

TRAINED = {hs.Region.HEADER, hs.Region.CONTENT, hs.Region.ARGUMENTS}


def main() -> None:
    vocab = hs.vocab.o200k_harmony()
    labels = hs.label(IDS)
    tokens = [vocab.token_bytes(tid).decode("utf-8", "replace") for tid in IDS]
    marks = ["#" if label in TRAINED else "." for label in labels]
    print(*tokens)
    print(" ".join(mark.ljust(len(token)) for mark, token in zip(marks, tokens)).rstrip())


if __name__ == "__main__":
    main()
