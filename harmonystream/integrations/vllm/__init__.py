"""Plug-ins for vLLM. It finds them by their entry points; docs/vllm.md says how to ask for them.

Nothing here is imported before a name or a plug-in of harmonystream's is asked for, but `plugin`.
"""
