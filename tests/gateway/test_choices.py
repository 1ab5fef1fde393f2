"""Several generations as one source: order, usage, failures, and what is closed."""

from __future__ import annotations

import asyncio

import pytest

from harmonystream.engines import Finished
from harmonystream.gateway.generating.choices import merged


def collect(*sources, most=None):
    async def run():
        found = []
        both = merged(sources)
        try:
            async for item in both:
                found.append(item)
                if most is not None and len(found) == most:
                    break
        finally:
            await both.aclose()
        return found

    return asyncio.run(run())


class Source:
    """Plays items; an exception among them is raised."""

    def __init__(self, *items):
        self.items, self.closed = items, 0

    async def play(self):
        try:
            for item in self.items:
                await asyncio.sleep(0)
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.closed += 1


def usage(prompt, written):
    return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}


def test_a_single_source_is_passed_on():
    assert collect(Source(1, 2, Finished("stop", usage(3, 2))).play()) == [
        (0, 1),
        (0, 2),
        (0, Finished("stop", usage(3, 2))),
    ]


def test_each_choice_is_in_order_and_the_last_end_has_the_usage():
    found = collect(*(Source(*range(at, at + 9), Finished("stop", usage(5, 9))).play() for at in range(3)))
    for choice in range(3):
        assert [item for at, item in found if at == choice][:-1] == list(range(choice, choice + 9))
    ends = [item for _, item in found if isinstance(item, Finished)]
    assert [end.usage for end in ends] == [None, None, {"prompt_tokens": 5, "completion_tokens": 27}]


def test_a_failure_is_raised_and_all_are_closed():
    sources = [Source(*range(9)), Source(1, ValueError("gone")), Source(*range(99))]
    with pytest.raises(ValueError, match="gone"):
        collect(*(source.play() for source in sources))
    assert [source.closed for source in sources] == [1, 1, 1]


def test_leaving_early_closes_all():
    sources = [Source(*range(999)) for _ in range(3)]
    assert len(collect(*(source.play() for source in sources), most=5)) == 5
    assert [source.closed for source in sources] == [1, 1, 1]
