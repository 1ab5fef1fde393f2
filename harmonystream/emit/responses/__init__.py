"""Responses, streamed."""

from .stream import ResponsesStream

__all__ = ["ResponsesStream"]
