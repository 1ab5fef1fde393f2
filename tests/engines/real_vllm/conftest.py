"""Servers of vLLM, started when a test first needs one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """(family, kind) -> its server. Two run at a time, because each takes 1.7 GB."""
    from vllm_servers import Server

    running: dict[tuple[str, str], Server] = {}
    failed: dict[tuple[str, str], RuntimeError] = {}

    def get(family: str, kind: str = "names") -> Server:
        key = family, kind
        if key in failed:
            raise failed[key]
        if key not in running:
            if len(running) == 2:
                running.pop(next(iter(running))).stop()
            try:
                running[key] = Server(tmp_path_factory.mktemp(f"{family}-{kind}"), family, kind)
            except RuntimeError as error:
                failed[key] = error
                raise
        return running[key]

    yield get
    for each in running.values():
        each.stop()
