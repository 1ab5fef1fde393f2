"""Models that reason between tags and call no tools."""

from .spec import Format

THINK = Format(name="think", think=("<think>", "</think>"))
