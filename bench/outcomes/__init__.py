"""Where our parsers and those of vLLM and SGLang read an output differently (docs/outcomes.md).

`python -m bench.outcomes` makes outputs of each family, has all sides read them, and counts the differences by class.
"""
