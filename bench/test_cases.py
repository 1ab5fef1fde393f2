"""Our cases under pytest-benchmark: `python -m pytest bench`, which can compare one commit with another.

CONTRIBUTING.md has the commands. `python -m bench` takes the figures without a rival from `test_alone`.
"""

from __future__ import annotations

from bench.clock import feed_all


def timed(benchmark, case, rounds):
    benchmark.extra_info.update(case=case.name, units=case.units * case.repeat)
    arguments = (case.pieces, case.repeat)
    benchmark.pedantic(
        feed_all, setup=lambda: ((case.opened(), *arguments), {}), rounds=rounds, warmup_rounds=1, iterations=1
    )


def test_alone(benchmark, case, request):
    """What no rival does in the same way."""
    timed(benchmark, case, request.config.getoption("--rounds"))


def test_beside_a_rival(benchmark, case, request):
    """Our side of what `python -m bench` compares with openai-harmony."""
    timed(benchmark, case, request.config.getoption("--rounds"))
