"""A gateway: raw engines behind it, and in front of it Chat Completions, Responses and Messages over HTTP."""

from __future__ import annotations

from .app import app
from .model import Model

__all__ = ["Model", "app"]
