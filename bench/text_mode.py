"""Text mode, where no rival does the same work: nanoseconds per chunk, megabytes per second."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import harmonystream as hs
from bench import streams
from bench.clock import medians, now
from bench.rows import Figure

PIECE = 64 * 1024  # characters of ASCII, bytes of anything else
LITTLE = 4
MEGABYTE = 1e6
ARGUMENTS = streams.CALL + '{"content": "'


def without_markers(text: str) -> str:
    return text.replace("<|", "(|")


def filled(text: str) -> str:
    """64 KiB of it, in UTF-8."""
    data = text.encode()
    return (data * (PIECE // len(data) + 1))[:PIECE].decode("utf-8", "ignore")


def per_chunk(header: str, chunks: list[str]) -> Callable[[], float]:
    """A round's nanoseconds per chunk."""

    def run() -> float:
        parser = hs.Parser()
        parser.feed_text(header)
        feed = parser.feed_text
        started = now()
        for chunk in chunks:
            feed(chunk)
        return (now() - started) / len(chunks)

    return run


def rate(header: str, chunk: str | bytes, times: int) -> Callable[[], float]:
    """A round's megabytes per second."""
    size = len(chunk.encode()) if isinstance(chunk, str) else len(chunk)

    def run() -> float:
        parser = hs.Parser()
        parser.feed_text(header)
        feed = parser.feed_text
        started = now()
        for _ in range(times):
            feed(chunk)
        return size * times / MEGABYTE / ((now() - started) / 1e9)

    return run


def measured(n: int, rounds: int) -> Iterator[Figure]:
    marked, chinese = filled(without_markers(streams.prose_text())), filled(streams.chinese_text())
    prose = marked.replace("<", "(")  # not one that could begin a marker
    escaped = json.dumps(without_markers(streams.code_text()))[1:-1]
    code = filled(escaped).rstrip("\\")  # a chunk that ends in half an escape would close the string
    times = max(1, n // 64)
    for name, header, text in (("English, answer", streams.FINAL, prose), ("code, arguments", ARGUMENTS, code)):
        chunks = [text[at : at + LITTLE] for at in range(0, n * LITTLE, LITTLE)]
        value = medians({"ours": per_chunk(header, chunks)}, rounds)["ours"]
        yield Figure(f"feed_text(4 characters): {name}", value, "ns", at_most=120)
    for name, header, chunk, floor in (
        ("English str, answer (handed on as it is)", streams.FINAL, prose, 500),
        ("English bytes, answer", streams.FINAL, prose.encode(), 500),
        ("Chinese str, answer (handed on as it is)", streams.FINAL, chinese, 500),
        ("Chinese bytes, answer", streams.FINAL, chinese.encode(), 500),
        ("English str with a `<` here and there", streams.FINAL, marked, None),
        ("code str, arguments", ARGUMENTS, code, None),
        ("code bytes, arguments", ARGUMENTS, code.encode(), None),
        ("worst, all `<`, str", streams.FINAL, "<" * PIECE, None),
        ("worst, all `<`, bytes", streams.FINAL, b"<" * PIECE, None),
    ):
        value = medians({"ours": rate(header, chunk, times)}, rounds)["ours"]
        yield Figure(f"feed_text(64 KiB): {name}", value, "MB/s", at_least=floor)
