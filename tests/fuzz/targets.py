"""The targets: how an input becomes a case, and which check replays it.

A case is a dict of plain values, so that it can be printed, edited and kept in cases/; see replay.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fuzz import (
    arrows,
    batches,
    blobs,
    buffers,
    conserving,
    emitting,
    moves,
    programs,
    scanner,
    schemas,
    streaming,
    tag_blobs,
    tag_reference,
    tags,
    threads,
    vocabularies,
    watched,
)

Case = dict[str, Any]
HEAD = 9  # bytes before the payload: the target and eight options


class Target(NamedTuple):
    decode: Callable[[bytes, bytes], Case]  # options, payload
    check: Callable[..., None]  # takes the case as keywords


TARGETS = {
    "ids": Target(streaming.decode_ids, streaming.check_ids),
    "text": Target(streaming.decode_text, streaming.check_text),
    "header": Target(streaming.decode_header, streaming.check_header),
    "prompt": Target(streaming.decode_prompt, streaming.check_prompt),
    "reference": Target(streaming.decode_reference, streaming.check_reference),
    "patched": Target(blobs.decode_patched, blobs.check_patched),
    "blob": Target(blobs.decode_blob, blobs.check_blob),
    "buffer": Target(buffers.decode, buffers.check),
    "ranks": Target(vocabularies.decode_ranks, vocabularies.check_ranks),
    "vocab": Target(vocabularies.decode_tokens, vocabularies.check_tokens),
    "image": Target(vocabularies.decode_image, vocabularies.check_image),
    "json": Target(scanner.decode, scanner.check),
    "tags": Target(tags.decode, tags.check),
    "tagtext": Target(tags.decode_raw, tags.check),
    "row": Target(tags.decode_row, tags.check_user),
    "tagstate": Target(tag_blobs.decode, tag_blobs.check),
    "tagpage": Target(tag_reference.decode, tag_reference.check),
    "value": Target(schemas.decode_value, schemas.check_value),
    "schema": Target(schemas.decode_schema, schemas.check_schema),
    "emit": Target(emitting.decode_ids, emitting.check_ids),
    "emittags": Target(emitting.decode_tags, emitting.check_tags),
    "arrow": Target(arrows.decode, arrows.check),
    "moved": Target(moves.decode, moves.check),
    "batch": Target(batches.decode_ids, batches.check_ids),
    "batchtags": Target(batches.decode_tags, batches.check_tags),
    "program": Target(programs.decode, programs.check),
    "threads": Target(threads.decode, threads.check),
    "watched": Target(watched.decode, watched.check),
    "conserving": Target(conserving.decode, conserving.check),
}
# Half of the inputs go to the streams, where most of the code is.
STREAMS = ("ids", "text", "header", "tags", "tagtext", "row", "tags", "tagstate", "patched")
SHARES = (*TARGETS, *STREAMS, "ids", "text", "tags", "tags", "tagtext", "row", "emit", "batch")


def decode(data: bytes, chosen: tuple[str, ...] = SHARES) -> tuple[str, Case]:
    """The name of a target and its case."""
    head, payload = data[:HEAD].ljust(HEAD, b"\0"), data[HEAD:]
    name = chosen[head[0] % len(chosen)]
    return name, TARGETS[name].decode(head[1:], payload)


def encode(name: str, options: bytes, payload: bytes) -> bytes:
    """An input that `decode` takes to this target, for seeds."""
    assert len(options) == HEAD - 1
    return bytes([SHARES.index(name)]) + options + payload


def check(name: str, case: Case) -> None:
    TARGETS[name].check(**case)


def run(data: bytes) -> None:
    """One execution. Raises whatever the case brings to light."""
    name, case = decode(data)
    check(name, case)
