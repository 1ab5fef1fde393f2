"""What encodes texts for a vocabulary, and vocabularies in files. `harmonystream.vocab` is the way in."""
