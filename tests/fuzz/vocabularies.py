"""Vocabularies from anywhere: refused with the documented errors, or right about every id."""

from __future__ import annotations

from typing import Any

import harmonystream as hs
from fuzz import tokens
from harmonystream._native.core.ranks import load_ranks
from harmonystream._native.core.vocab_image import image_of, vocab_of

Case = dict[str, Any]
ODD_IDS = (-1, 2**24, 2**24 - 1 << 8, 2**70, True, None, "7", 1.0)
ODD_TOKENS = (None, "text", 3, bytearray(b"ab"))


def decode_control(options: bytes) -> dict[Any, Any]:
    """Some of the markers, at neighbouring ids, and perhaps an odd entry."""
    base = int.from_bytes(options[:2], "little") % 4096
    control: dict[Any, Any] = {name: base + i for i, name in enumerate(tokens.MARKUP) if options[2] >> i & 1}
    if options[3] % 8 == 7:
        control[f"<|odd{options[4] % 4}|>"] = ODD_IDS[options[5] % len(ODD_IDS)]
    elif options[3] % 8 == 6:
        control["<|more|>"] = options[5]
    return control


def decode_ranks(options: bytes, payload: bytes) -> Case:
    return {"data": payload, "count": options[6], "control": decode_control(options)}


def decode_tokens(options: bytes, payload: bytes) -> Case:
    """Entries of a payload: a length, or the sign of something odd; two bytes of id if it is a mapping; the bytes."""
    pairs: list[tuple[Any, Any]] = []
    i = 0
    while i + 3 <= len(payload):
        size, tid = payload[i] % 16, payload[i + 1] | (payload[i + 2] & 1) << 8
        odd = payload[i] >> 4
        key = ODD_IDS[tid % len(ODD_IDS)] if odd == 15 else tid
        pairs.append((key, ODD_TOKENS[tid % len(ODD_TOKENS)] if odd == 14 else payload[i + 3 : i + 3 + size]))
        i += 3 + size
    return {"pairs": pairs, "mapping": bool(options[6] & 1), "control": decode_control(options)}


def check_ranks(data: bytes, count: int, control: dict[Any, Any]) -> None:
    try:
        vocab = load_ranks(data, count, control, "fuzz")
    except (hs.errors.VocabError, TypeError):
        return
    known = {tid: name.encode() for name, tid in control.items()}
    low, middle, high, *right = (data[at : at + count] for at in range(0, len(data), count))
    for tid in range(count):
        left = low[tid] | middle[tid] << 8 | high[tid] << 16
        other = right[0][tid] | right[1][tid] << 8 | right[2][tid] << 16
        known[tid] = known[left] + known[other] if left < tid else bytes([other])
    check_known(vocab, known)


def check_tokens(pairs: list[tuple[Any, Any]], mapping: bool, control: dict[Any, Any]) -> None:
    table: Any = dict(pairs) if mapping else [token for _, token in pairs]
    try:
        vocab = hs.vocab.from_bytes(table, control, name="fuzz")
    except (hs.errors.VocabError, TypeError):
        return
    items = table.items() if mapping else enumerate(table)
    known = {tid: token for tid, token in items if token is not None}
    known |= {tid: name.encode() for name, tid in control.items()}
    assert sum(tid in vocab for tid in range(len(vocab) + 1)) == len(known)
    check_known(vocab, known)


def small_image() -> tuple[bytes, int, int]:
    """An image, its ids and the bytes of its text."""
    table = [b"a", None, b"\xe6", "日本".encode(), b"", b"xyz"]
    parts = image_of(hs.vocab.from_bytes(table, {name: 6 + i for i, name in enumerate(tokens.MARKUP)}))
    return b"".join(parts), len(parts[1]), len(parts[2]) - 16


def decode_image(options: bytes, payload: bytes) -> Case:
    """A good image with bytes replaced, three of the payload for each: where (two), and by what; cut, and counted
    wrongly."""
    image, n, size = small_image()
    changed = bytearray(image)
    for at in range(0, len(payload) - 2, 3):
        changed[int.from_bytes(payload[at : at + 2], "little") % len(changed)] = payload[at + 2]
    cut = len(changed) - options[0] if options[1] % 4 == 3 else len(changed)
    counts = (n, size)
    if options[2] % 4 == 3:
        counts = (int.from_bytes(options[3:5], "little", signed=True), size)
    elif options[2] % 4 == 2:
        counts = (n, int.from_bytes(options[3:7], "little", signed=True))
    return {"image": bytes(changed[: max(cut, 0)]), "n": counts[0], "size": counts[1]}


def check_image(image: bytes, n: int, size: int) -> None:
    try:
        vocab = vocab_of(bytearray(image), n, size, 0, "fuzz", None)
    except hs.errors.VocabError:
        return
    known = {tid: vocab.token_bytes(tid) for tid in range(n) if tid in vocab}
    again = hs.vocab.from_bytes([known.get(tid) for tid in range(n)], vocab.control)
    assert image_of(vocab)[:2] == image_of(again)[:2]
    check_known(vocab, known)


def check_known(vocab: hs.Vocab, known: dict[int, bytes]) -> None:
    """Every id has its bytes, and a parser reads all of them."""
    assert vocab.fingerprint == vocab.fingerprint and len(vocab) > max(known, default=-1)
    for tid, token in known.items():
        assert tid in vocab and vocab.token_bytes(tid) == token
    for name, tid in vocab.control.items():
        assert vocab.is_control(tid) and vocab.token_bytes(tid) == name.encode()
    try:
        parser = hs.Parser("harmony", vocab)
    except hs.errors.VocabError:
        assert not set(tokens.MARKUP) <= set(vocab.control)
        return
    ids = [*sorted(known)[:300], len(vocab)]
    parser.feed(ids)
    for tid in ids:
        parser.feed(tid)
    parser.finish()
    assert parser.usage.total == parser.position == 2 * len(ids)
