"""Coverage-guided fuzzing of everything that reads untrusted input; `make fuzz` runs it.

An input of the fuzzer is one byte that chooses a target, eight bytes of options and a payload. A target decodes it into
a case, plain data that can be read and kept, and a check replays the case. Read targets.py, then tokens.py for Harmony,
or rows.py and tags.py for the tag formats. Beside streams there are:

- programs.py: programs of API calls in any order, with callbacks that raise or call back, cycles, moves and forks;
- threads.py: threads at one parser, emitter or batch;
- watched.py: altered states of parsers that watch values;
- conserving.py: no row drops a word silently, whatever markers are missing, doubled or swapped.
"""
