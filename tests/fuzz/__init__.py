"""Coverage-guided fuzzing of everything that reads untrusted input; `make fuzz` runs it.

An input of the fuzzer is one byte that chooses a target, eight bytes of options and a payload. A target decodes it into
a case, plain data that can be read and kept, and a check replays the case. Read targets.py, then tokens.py for Harmony,
or rows.py and tags.py for the tag formats.
"""
