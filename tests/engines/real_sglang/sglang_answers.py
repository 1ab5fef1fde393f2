"""What harmonystream itself says of the ids that SGLang's application is played."""

from __future__ import annotations

from typing import Any

from host_scenarios import Contents, parsed


def expected(server: Any, ids: list[int], **more: Any) -> Contents:
    """Of the ids after the prompt that the server rendered last."""
    return parsed(server.format, server.vocab, server.manager.asked.input_ids, ids, **more)
