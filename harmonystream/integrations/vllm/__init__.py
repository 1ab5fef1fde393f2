"""Plug-ins for vLLM, which finds them by their entry points. docs/vllm.md explains how to use them.

Until a name or a plug-in of harmonystream is used, only `plugin` is imported.
"""
