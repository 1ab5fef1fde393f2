"""Chat Completions, streamed."""

from .stream import ChatStream

__all__ = ["ChatStream"]
