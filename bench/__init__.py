"""What harmonystream costs, beside openai-harmony's parser in the same run: `python -m bench` (docs/benchmarks.md)."""
