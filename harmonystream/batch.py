"""Reads many streams in one call, for the decode steps of an engine."""

from ._native.wire.batch import Batch
from ._native.wire.frames import Frames
from .emit.columns import Columns

__all__ = ["Batch", "Columns", "Frames"]
