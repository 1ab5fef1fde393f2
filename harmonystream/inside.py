"""Names for programs that are engines themselves, or contain a parser inside an engine."""

from ._native.core.json_scan import JsonScanner
from ._native.stream.markup import Markup
from .completion import CallDelta, Delta
from .stop_strings import StopChecker
from .text_limit import TextLimit

__all__ = ["CallDelta", "Delta", "JsonScanner", "Markup", "StopChecker", "TextLimit"]
