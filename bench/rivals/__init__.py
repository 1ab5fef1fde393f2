"""What the streaming parsers of vLLM and SGLang cost, beside ours in the same run: `python -m bench.rivals`.

Page: docs/benchmarks-rivals.md. Each side runs in a process of its own (`child.py`), by its own interpreter.
"""
