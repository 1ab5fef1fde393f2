"""A plug-in for SGLang, which finds it by its entry point. docs/sglang.md explains how to use it.

Until the plug-in is used, only `plugin` is imported.
"""
