"""A gateway: it serves Chat Completions, Responses and Messages over HTTP, in front of raw engines."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import missing_extra

if TYPE_CHECKING:
    from .app import app
    from .generating.model import Model

__all__ = ["Model", "app"]

_LATER = {"Model": ".generating.model", "app": ".app"}


def __getattr__(name: str) -> Any:
    """Load names on first use, so that pages of the inspector can be made without a server."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = globals()[name] = getattr(import_module(_LATER[name], __name__), name)
    except ModuleNotFoundError as error:
        raise missing_extra("gateway", error) from error
    return value
