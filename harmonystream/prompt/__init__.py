"""Converts messages and tools to a model's prompt: its text, its ids, and the parser for what follows it."""

from .messages import normalize, read_request
from .prompt import Prompt
from .rendering import render
from .results import tool_results
from .template import Template

__all__ = ["Prompt", "Template", "normalize", "read_request", "render", "tool_results"]
