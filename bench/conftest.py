"""Options of `python -m pytest bench`."""

from __future__ import annotations

from typing import Any


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--tokens", type=int, default=2048, help="length of the streams (at least 64)")
    parser.addoption("--rounds", type=int, default=101, help="rounds of each case")


def pytest_generate_tests(metafunc: Any) -> None:
    from bench.cases import alone, ratios

    tokens = metafunc.config.getoption("--tokens")
    if metafunc.function.__name__ == "test_alone":
        cases = [each.case for group in alone.groups(tokens).values() for each in group]
    else:
        cases = [each.ours for each in ratios.cases(tokens)]
    metafunc.parametrize("case", cases, ids=[case.name.replace("[", "(").replace("]", ")") for case in cases])
