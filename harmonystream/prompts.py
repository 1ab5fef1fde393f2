"""Prompts: messages in one form, chat templates, and tool results as messages."""

from .prompt import Prompt, Template, normalize, read_request, render, tool_results

__all__ = ["Prompt", "Template", "normalize", "read_request", "render", "tool_results"]
