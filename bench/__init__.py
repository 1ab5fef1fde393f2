"""What harmonystream costs, beside other parsers in the same run: `python -m bench` (docs/benchmarks.md)."""
