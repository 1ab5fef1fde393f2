"""Messages, streamed."""

from .stream import MessagesStream

__all__ = ["MessagesStream"]
