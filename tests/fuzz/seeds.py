"""The fuzzer's first inputs: the streams of the tests' corpus, and states along them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

from corpus_format import Case, read_cases
from streams import MARKER

import harmonystream as hs
from fuzz import conserving, emitters, rows, tag_seeds, targets, tokens

NO_OPTIONS = bytes(8)
STATES = 12  # kept from one stream
STEPS = bytes((7 * i + i // 5 * 3) % 256 for i in range(2 * 40))  # of a batch


def payload_of(case: Case) -> bytes:
    """The stream of a case in tokens of the small vocabulary."""
    stream = case.stream
    if not isinstance(stream, bytes):
        vocab = hs.vocab.o200k_harmony()
        stream = b"".join(vocab.token_bytes(tid) for tid in stream if tid in vocab)
    ids: list[int] = []
    position = 0
    for match in [*MARKER.finditer(stream), None]:
        ids += encoded(stream[position : match.start() if match else len(stream)])
        if match:
            ids.append(tokens.CONTROL[match[0].decode()])
            position = match.end()
    return tokens.write_ids(ids)


def encoded(data: bytes) -> Iterator[int]:
    """The longest word at each place, or else one byte."""
    words = sorted(enumerate(tokens.WORDS), key=lambda item: -len(item[1]))
    while data:
        i, word = next(((i, word) for i, word in words if data.startswith(word)), (None, data[:1]))
        yield data[0] if i is None else tokens.FIRST_WORD + i
        data = data[len(word) :]


def options_of(case: Case, last: int = 0) -> bytes:
    tools = tokens.TOOLS.index(case.tools) if case.tools in tokens.TOOLS else len(tokens.TOOLS) - 1
    start = tokens.STARTS.index(case.start) if case.start in tokens.STARTS else 0
    reason = tokens.REASONS.index(case.finish) if case.finish in tokens.REASONS else 0
    return bytes([tools, start, 0, reason, 80, 170, 2, last])


def states(payload: bytes) -> Iterator[bytes]:
    parser = hs.Parser("harmony", tokens.vocab())
    ids = tokens.read_ids(payload)
    for tid in ids[:STATES]:
        parser.feed(tid)
        yield parser.to_bytes()


def inputs() -> Iterator[bytes]:
    for number, case in enumerate(read_cases()):
        payload = payload_of(case)[:1000]
        emitter = number % (len(emitters.APIS) * 7)
        yield targets.encode("emit", options_of(case, emitter), payload)
        moved = bytes([0, 0, 0, 0, 37 * number % 256, number % 2, 16, number % 6])
        yield targets.encode("moved", moved, payload + bytes((number * i) % 256 for i in range(16)))
        yield targets.encode("batch", bytes([*options_of(case)[:4], number % 256, 40, 0, 0]), STEPS + payload)
        for name in ("ids", "header", "reference", "patched"):
            yield targets.encode(name, options_of(case), payload)
        yield targets.encode("text", options_of(case), payload)
        yield targets.encode("text", options_of(case, 3), tokens.spelled(tokens.read_ids(payload)))
        for split in (120, 255):
            yield targets.encode("prompt", bytes([0, split, 0, 0, 90, 180, 2, 1]), payload)
        yield targets.encode("json", NO_OPTIONS, payload)
        for state in states(payload):
            yield targets.encode("blob", bytes([0, 0, 0, 0, 0, 0, 0, 6]), state)
    ranks = b"".join(base64.b64encode(word) + b" %d\n" % i for i, word in enumerate(tokens.WORDS))
    yield targets.encode("ranks", bytes([200, 0, 255, 0, 0, 0, 0, 0]), ranks)
    for options in (
        bytes(8),
        bytes([0, 0, 3, 5, 0, 0, 0, 0]),
        bytes([0, 0, 2, 200, 0, 0, 0, 0]),
        bytes([9, 3, *bytes(6)]),
    ):
        yield targets.encode("image", options, b"")
        yield targets.encode("image", options, bytes([4, 0, 1, 60, 0, 1]))
    entries = b"".join(bytes([len(word) % 16, i, 0]) + word[: len(word) % 16] for i, word in enumerate(tokens.WORDS))
    for mapping in (0, 1):
        yield targets.encode("vocab", bytes([200, 0, 255, 0, 0, 0, mapping, 0]), entries)
    yield from tag_inputs()
    yield from of_many_calls()
    for k in range(120):  # the formats, with and without lies and holes
        options = bytes([k % 12, k % 8, 5 + k % 3 * 60, 37 + k, k % 4, 11 * k % 256, 255 - 3 * k % 40, k % 2 * 64 + k])
        yield targets.encode("arrow", options, bytes((40 + 29 * k * i) % 256 for i in range(12 + k % 20)))
    for kind in range(7):
        for form in (0, 2, 4, 5, 8, 0x82, 0x84):
            yield targets.encode("buffer", bytes([kind, form, 0, 4, 1, 3, 1, 0]), bytes([5, 0, 0, 0] * 8))


def of_many_calls() -> Iterator[bytes]:
    """Programs, threads, altered states with watched values, and streams of every row for conservation."""
    for k in range(60):
        options = bytes((k * (i + 3) + i) % 256 for i in range(8))
        calls = bytes((k * 37 + i * (k + 5) + i * i) % 256 for i in range(60 + k % 7 * 40))
        yield targets.encode("program", options, calls)
        yield targets.encode("watched", options, calls[: 20 + k])
        if k < 12:
            yield targets.encode("threads", options, calls)
    for k in range(len(conserving.NAMES)):
        for text in range(8):
            options = bytes([k, 5 * text, 0, text, k % 3, 0, 0, 0])
            yield targets.encode("conserving", options, bytes((11 * k + 7 * text * i) % 256 for i in range(3 * text)))


def tag_inputs() -> Iterator[bytes]:
    """The streams of every built-in row, in each tokenization, with each set of tools."""
    for i, name in enumerate(rows.BUILT_IN):
        for k, (text, payload) in enumerate(tag_seeds.seeds(name)):
            how, turn = k % len(rows.HOWS), (3, 7, 14, 15)[k % 4]
            options = bytes([i, k % 5 + k % 3 * 8, 0, 2 + 4 * how, 80, 170, turn, 0])
            yield targets.encode("tags", options, payload[:1000])
            yield targets.encode("tagtext", options, text[:1000])
            yield targets.encode("tagpage", options, payload[:400])
            yield targets.encode("emittags", options[:6] + bytes([k % 8, k % 21]), payload[:1000])
            yield targets.encode("batchtags", options[:4] + bytes([k, 40, 0, 0]), STEPS + payload[:900])
            patches = bytes([0, k, 0, 1, 16, k, 0, 1])
            yield targets.encode("tagstate", options[:6] + bytes([8, 1]), payload[:900] + patches)
    for i, value in enumerate(tag_seeds.VALUES):
        yield targets.encode("value", bytes([31 * i % 128, 1 + i % 2 * 2, 0, 0, 0, 0, 0, 0]), value.encode())
    for i in range(48):  # rows, and pieces of their streams: the markers come first
        fields = bytes((i * (k + 1) + k) % 256 for k in range(rows.ROW_SIZE - 1)) + b"\0"
        yield targets.encode("row", bytes([i, i % 5, 0, 2, 80, 170, 15, 0]), fields + bytes(range(i % 9, 40)))
        yield targets.encode("schema", bytes([i, 1, i, 0, 0, 0, 0, 0]), bytes((200 + i * k) % 256 for k in range(40)))


def write(directory: Path) -> None:
    """Each input under the name of its hash, as the fuzzer itself writes them."""
    directory.mkdir(parents=True, exist_ok=True)
    for data in inputs():
        (directory / hashlib.sha1(data).hexdigest()).write_bytes(data)
