"""What requests of agents and servers have, over the plain request of the same API: whole short answers, from the
parser to the last frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import harmonystream as hs
from bench import streams
from bench.cases.emitters import EMITTERS, USAGE
from bench.clock import Round, compared, timed
from bench.report import Row, figure

ANSWERS = 200  # in a round
TOKENS = 30
MOST = 1.3
MODELS = count()
EARLIER = [f"call_{n:024d}" for n in range(12)]
ANSWER, CALL = "an answer", "a call"


def answers() -> dict[str, list[int]]:
    body = streams.plain_ids(streams.prose_text())[:TOKENS]
    call = f'{streams.CALL}{{"content": "'
    return {
        ANSWER: [*streams.harmony_ids(streams.FINAL), *body],
        CALL: [*streams.harmony_ids(call), *body[:12], *streams.harmony_ids('"}<|call|>')],
    }


def answered(api: str, ids: list[int], options: dict[str, Any], usage: Any, new_model: bool) -> Round:
    """Nanoseconds of an answer."""

    def work() -> None:
        for _ in range(ANSWERS):
            model = f"model {next(MODELS)}" if new_model else "m"
            stream = EMITTERS[api](hs.Parser(), model=model, **options)
            stream.start()
            for tid in ids:
                stream.feed(tid)
            stream.finish("stop", usage)

    return timed(work, ANSWERS)


def kinds(api: str) -> Iterator[tuple[str, dict[str, Any], Any, bool, float | None]]:
    """What the request has: options of the emitter, the usage at the end, is the model's name new? And the floor.

    The last kind has none, because its stream has more frames and fields than the plain one.
    """
    yield "calls in the conversation", {"taken": EARLIER}, None, False, MOST
    yield "a usage at the end", {}, USAGE[api], False, MOST
    yield "a model's name that is new", {}, None, True, MOST
    more: dict[str, Any] = {"Chat": {"include_usage": True}, "Messages": {"usage": {"input_tokens": 900}}}.get(api, {})
    yield "all of these, and the usage in the stream", {"taken": EARLIER, **more}, USAGE[api], True, None


def measured(rounds: int) -> Iterator[Row]:
    for api in EMITTERS:
        for what, ids in answers().items():
            plain = answered(api, ids, {}, None, False)
            for name, options, usage, new_model, most in kinds(api):
                one, other, ratio = compared(plain, answered(api, ids, options, usage, new_model), MOST, rounds, rounds)
                label = f"{api}, {what} of {TOKENS if what == ANSWER else 12} tokens: {name}, over a plain request"
                yield figure(label, ratio, "×", at_most=most, note=f"{one / 1e3:.1f} and {other / 1e3:.1f} µs")
