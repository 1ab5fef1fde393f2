"""Long random streams of every format, cut in two ways, as ids and as text: python -m fuzz.cutting TOKENS [SEED].

The fuzzer's streams have some hundred tokens, and it looks for new paths. This looks for what only many ordinary
streams show. A stream is made of whole calls, broken calls, markers, words and pieces of characters. The events of one
call of `feed` (or `feed_text`) must be those of many calls. Where no token is a marker, the events of ids must be those
of the text, too. TOKENS counts the tokens of the streams: each is read four times. Exits with 1 at a difference.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, chain, pairwise
from typing import Any

from broken_calls import calls_of, changed
from streams import run, without_ranges

import harmonystream as hs
from fuzz import rows, tokens

PIECES = (20, 100, 400)
STEPS, OFTEN = (1, 8, 60, 400), (1, 3, 10, 10)
HOWS = ("control", "plain", "split", "bytes")
TOOLS: Sequence[Sequence[Any] | None] = (None, ["f"], [rows.TYPED], ["f", "get_weather"])


@cache
def pieces_of(name: str) -> tuple[list[bytes], list[int]]:
    """Pieces of this format's outputs, and how often each comes."""
    dice = random.Random(name)
    calls = calls_of(name)
    broken = [changed(dice, call, 1 + dice.randrange(3)) for call in calls for _ in range(12)]
    words = [piece for piece in rows.COMMON if isinstance(piece, bytes)] + [
        b"Hello",
        b" world",
        b". The answer is 42.\n",
    ]
    markers = rows.built_in(name).markers
    weighed = ((calls, 400), (broken, 300), (markers, 200), (words, 600))
    pieces = [part if isinstance(part, bytes) else part.encode() for parts, _ in weighed for part in parts]
    return pieces, [1 + weight // (len(parts) or 1) for parts, weight in weighed for _ in parts]


@cache
def written(name: str, how: str) -> list[list[int]]:
    """The ids of each piece."""
    alphabet = rows.built_in(name)
    read = (alphabet.read(alphabet.write(piece)) for piece in pieces_of(name)[0])
    return [rows.units(alphabet, how, stream) for stream in read]


def cut(stream: Any, dice: random.Random) -> list[Any]:
    step, size = dice.choices(STEPS, OFTEN)[0], len(stream)
    lengths = dice.choices(range(1, 2 * step), k=1 + size // step) if step > 1 else [1] * size
    places = [0, *(place for place in accumulate(lengths) if place < size), size]
    return [stream[start:stop] for start, stop in pairwise(places)]


HEADERS = (
    b"<|channel|>analysis<|message|>",
    b"<|end|><|start|>assistant<|channel|>final<|message|>",
    b"<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
    b"<|end|><|start|>assistant to=functions.f<|channel|>commentary json<|message|>",
    b'{"a": "Hello world"}<|call|>',
    b"<|start|>assistant<|channel|>commentary<|message|>",
    b"<|return|>",
)


@cache
def harmony_pieces() -> tuple[list[list[int]], list[int]]:
    vocab = tokens.vocab()
    ids = {vocab.token_bytes(tid): tid for tid in reversed(range(tokens.SIZE)) if tid in vocab}
    longest = max(map(len, ids))
    pieces = []
    for header in HEADERS:
        piece: list[int] = []
        while header:
            size = next(size for size in range(longest, 0, -1) if header[:size] in ids)
            piece.append(ids[header[:size]])
            header = header[size:]
        pieces.append(piece)
    rest = [[tid] for tid in tokens.TABLE]
    return pieces + rest, [len(rest) // len(pieces)] * len(pieces) + [1] * len(rest)


def random_stream(name: str, dice: random.Random) -> tuple[hs.Vocab, list[int], bytes, bool]:
    """A vocabulary, ids, the same as text, and whether both must give the same events."""
    size = dice.choice(PIECES)
    if name == "harmony":
        ids = list(chain.from_iterable(dice.choices(*harmony_pieces(), k=size)))
        return tokens.vocab(), ids, tokens.spelled(ids), False
    how = dice.choice(HOWS)
    pieces, weights = pieces_of(name)
    chosen = dice.choices(range(len(pieces)), weights, k=size)
    ids = list(chain.from_iterable(map(written(name, how).__getitem__, chosen)))
    text = b"".join(map(pieces.__getitem__, chosen))
    return rows.built_in(name).vocab(how), ids, text, how in ("split", "bytes")


def events_of(name: str, vocab: hs.Vocab | None, made: dict[str, Any], pieces: list[Any], reason: str | None) -> Any:
    parser = hs.Parser(name, vocab, check_stops=False, **made)
    return run(parser, pieces, reason), parser.deviations


def check(name: str, dice: random.Random) -> tuple[int, list[str]]:
    """The tokens of one stream, and what differs."""
    vocab, ids, text, same = random_stream(name, dice)
    made, reason = {"tools": dice.choice(TOOLS)}, dice.choice((None, None, "stop", "length"))
    whole = events_of(name, vocab, made, [ids], reason)
    found = [] if events_of(name, vocab, made, cut(ids, dice), reason) == whole else ["ids"]
    text_vocab = vocab if name == "harmony" else None
    as_text = events_of(name, text_vocab, made, [text], reason)
    found += [] if events_of(name, text_vocab, made, cut(text, dice), reason) == as_text else ["text"]
    if same and without_ranges(whole[0]) != without_ranges(as_text[0]):
        found.append("ids and text")
    return len(ids), found


def run_all(tokens: int, seed: int) -> Iterator[str]:
    names = ["harmony", *rows.BUILT_IN]
    most, read, streams = -(-tokens // len(names)), 0, 0
    for name in names:
        count = 0
        while count < most:
            of_stream = f"{seed} {name} {streams}"
            size, found = check(name, random.Random(of_stream))
            count, streams = count + size, streams + 1
            if found:
                yield f"{', '.join(found)}: cutting.check({name!r}, random.Random({of_stream!r}))"
        read += count
        print(f"{name}: {count:,} tokens", flush=True)
    print(f"{read:,} tokens in {streams:,} streams of {len(names)} formats, seed {seed}")


if __name__ == "__main__":
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
    differences = list(run_all(int(float(sys.argv[1])), seed))
    for difference in differences:
        print(difference)
    sys.exit(bool(differences))
