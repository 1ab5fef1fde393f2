"""From messages and tools to the prompt of a model: text, ids, and the parser that starts where it ends."""

from .messages import normalize, read_request
from .prompt import Prompt
from .rendering import render
from .results import tool_results
from .template import Template

__all__ = ["Prompt", "Template", "normalize", "read_request", "render", "tool_results"]
