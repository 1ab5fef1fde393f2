"""Servers of LMDeploy, made when a test first needs one. One lives at a time: its parsers are the process's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """A family -> its server."""
    from scripted_lmdeploy import Server

    living: dict[str, Server] = {}

    def get(family: str) -> Server:
        if family not in living:
            living.clear()
            living[family] = Server(tmp_path_factory.mktemp(family), family)
        return living[family]

    return get
