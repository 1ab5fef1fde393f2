"""Limits ids to the text that an engine has cut: at a stop string, the text ends before the ids do."""

from __future__ import annotations

from codecs import utf_8_decode
from collections import deque
from typing import Any
from weakref import WeakKeyDictionary

from ._native.core.vocab import Vocab
from ._native.wire.sse import SseWriter
from .checks import check_flag, check_vocab

__all__ = ["TextLimit", "beginning", "spelled"]

_AT_ONCE = 64  # characters that are compared in one go, so that the cost of invalid bytes stays linear
_SPELLED: WeakKeyDictionary[Vocab, dict[int, int]] = WeakKeyDictionary()


class TextLimit:
    """The ids of one output, limited to the engine's text.

    An engine that stops at a stop string returns text without it, but returns all ids. It also returns text later than
    ids, because it holds back possible beginnings of a stop string. `take` returns an id once the text contains all of
    it.

    vocab: the model's vocabulary.
    special: does the text contain control tokens (`skip_special_tokens=False`)? Otherwise a control id is returned
    together with the id before it.

    If a detokenizer has changed the text, so that it differs from the text of the ids, there is no limit from that
    place on.
    """

    def __init__(self, vocab: Vocab, *, special: bool = False) -> None:
        check_vocab(vocab, none=False)
        check_flag("special", special)
        self._vocab, self._special = vocab, special
        self._waiting: deque[tuple[int, bytes]] = deque()  # ids that take() has not returned, with their bytes
        self._unread = bytearray()  # the part of those bytes that is not in the text yet
        self._found = 0  # the number of bytes before it that are
        self._text = ""  # text beyond the ids
        self._broken = False  # does the text differ from the ids?
        self.cut: bool = False
        """Has the output ended with ids, or parts of them, that the text does not have?"""

    def take(self, ids: Any, text: str = "", *, last: bool = False) -> list[int]:
        """The ids that can be read now.

        ids: the ids that the engine has generated since the last call.
        text: the text that it has returned since the last call.
        last: the output has ended. If the text has only a part of an id, the id is replaced by tokens of one byte each,
        if the vocabulary has them and it is not a control token. Ids that are not in the text are dropped.

        Raises what `Parser.feed` raises for ids.
        """
        for tid in SseWriter._listed(ids):
            data = self._shown(tid)
            self._waiting.append((tid, data))
            self._unread += data
        self._text += text
        while not self._broken and self._text and self._unread and self._compare(last):
            pass
        taken: list[int] = []
        while self._waiting and (self._broken or len(self._waiting[0][1]) <= self._found):
            tid, data = self._waiting.popleft()
            self._found -= len(data)
            taken.append(tid)
        if last and self._waiting:
            self.cut = True
            taken += beginning(self._vocab, self._waiting[0][0], self._found)
            self._waiting.clear()
        return taken

    def rest(self) -> list[int]:
        """The ids that take() has not returned. It waits for nothing more."""
        rest = [tid for tid, _ in self._waiting]
        self._waiting.clear()
        self._unread.clear()
        self._found = 0
        return rest

    def _shown(self, tid: int) -> bytes:
        """The bytes of an id that the text contains."""
        if tid not in self._vocab or (self._vocab.is_control(tid) and not self._special):
            return b""
        return self._vocab.token_bytes(tid)

    def _compare(self, last: bool) -> bool:
        """Compare some text with as many bytes. Was there any?"""
        wanted = self._text[:_AT_ONCE]
        piece = bytes(self._unread[: 4 * _AT_ONCE])
        whole = last and len(piece) == len(self._unread)  # then a half character at the end cannot be completed
        decoded, used = utf_8_decode(piece, "replace", whole)
        n = min(len(decoded), len(wanted))
        if decoded[:n] != wanted[:n]:
            self._broken = True
            return False
        if n < len(decoded):
            used = len(decoded[:n].encode())
            used -= 2 * decoded.count("\ufffd", 0, n)  # each is one to three bytes of the ids
            while piece[:used].decode(errors="replace") != decoded[:n] or _begins(piece[used:], whole) != decoded[n:]:
                used += 1
        del self._unread[:used]
        self._found += used
        self._text = self._text[n:]
        return n > 0


def _begins(piece: bytes, whole: bool) -> str:
    return utf_8_decode(piece, "replace", whole)[0]


def spelled(vocab: Vocab, data: bytes) -> list[int]:
    """A part of a token, in tokens of one byte. Empty if the vocabulary cannot spell it."""
    if vocab not in _SPELLED:
        ids = [tid for tid in range(len(vocab)) if tid in vocab and not vocab.is_control(tid)]  # there may be holes
        single = {tid: text for tid in ids if len(text := vocab.token_bytes(tid)) == 1}
        _SPELLED[vocab] = {text[0]: tid for tid, text in single.items()}
    known = _SPELLED[vocab]
    return [known[byte] for byte in data] if all(byte in known for byte in data) else []


def beginning(vocab: Vocab, tid: int, size: int) -> list[int]:
    """The first `size` bytes of a token, in tokens of one byte. Nothing of a control token: its parts are not text."""
    return [] if vocab.is_control(tid) else spelled(vocab, vocab.token_bytes(tid)[:size])
