"""Encoders for vocabularies, and vocabularies in files. `harmonystream.vocab` is the entry point."""
