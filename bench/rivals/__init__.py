"""Each `with_*` module is one side of a comparison and runs in a process of its own, by its own interpreter.

`python -m bench.rivals` compares with vLLM and SGLang (docs/benchmarks-rivals.md).
"""
