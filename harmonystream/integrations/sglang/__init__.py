"""A plug-in for SGLang. It is found by its entry point; docs/sglang.md says how to ask for it.

Nothing here is imported before the plug-in is asked for, but `plugin`.
"""
