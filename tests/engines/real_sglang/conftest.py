"""Servers of SGLang, made when a test first needs one. One lives at a time: its configuration is the process's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """(family, kind) -> its server."""
    from scripted_sglang import Server

    living: dict[tuple[str, str], Server] = {}

    def get(family: str, kind: str = "ours") -> Server:
        if (family, kind) not in living:
            living.clear()
            living[family, kind] = Server(tmp_path_factory.mktemp(f"{family}-{kind}"), family, kind)
        return living[family, kind]

    return get
