"""Vocabularies from anywhere: refused with the documented errors, or right about every id."""

from __future__ import annotations

from typing import Any

import harmonystream as hs
from fuzz import tokens
from harmonystream._native.core.ranks import load_ranks

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
    return {"data": payload, "control": decode_control(options)}


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


def check_ranks(data: bytes, control: dict[Any, Any]) -> None:
    try:
        vocab = load_ranks(data, control, "fuzz")
    except (hs.VocabError, TypeError):
        return
    known = {tid: name.encode() for name, tid in control.items()}
    for line in data.split(b"\n"):
        if line.strip():
            assert int(line.split(b" ")[1].split(b"\r")[0]) in vocab
    check_known(vocab, known)


def check_tokens(pairs: list[tuple[Any, Any]], mapping: bool, control: dict[Any, Any]) -> None:
    table: Any = dict(pairs) if mapping else [token for _, token in pairs]
    try:
        vocab = hs.vocab.from_bytes(table, control, name="fuzz")
    except (hs.VocabError, TypeError):
        return
    items = table.items() if mapping else enumerate(table)
    known = {tid: token for tid, token in items if token is not None}
    known |= {tid: name.encode() for name, tid in control.items()}
    assert sum(tid in vocab for tid in range(len(vocab) + 1)) == len(known)
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
    except hs.VocabError:
        assert not set(tokens.MARKUP) <= set(vocab.control)
        return
    ids = [*sorted(known)[:300], len(vocab)]
    parser.feed(ids)
    for tid in ids:
        parser.feed(tid)
    parser.finish()
    assert parser.usage.total == parser.position == 2 * len(ids)
