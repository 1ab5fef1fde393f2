from collections.abc import Mapping
from typing import final

DEBUG: bool

HOLES: tuple[str, ...]

_Parts = tuple[list[bytes], list[str]]
_Words = tuple[str, str]

@final
class Templates:
    """What an API sends at each moment of a response, and what is kept of it: bytes with holes.

    items: (moment, kind, variant) -> (parts, holes). The moments of an item are "begin", "delta", "sealed", "end",
    "cut", "item" and "cut item", the last two for what is kept of it. The kinds are those of deltas. The variant is the
    number of the message's channel, or of the call's type. A "delta" of one empty part is hidden; without a "delta",
    the text is kept, but not sent.
    holes: names, each of `HOLES`. The item has its index, id, whole text, fields of a call, seal, and the logprobs of
    all its tokens, for its end and with their bytes. "delta" is a delta's text, "number" the running number, "id stem"
    what made ids begin with, "beside" what is written beside the reason of the end, and "output" the items that are
    kept. "head", "output", "call fields", "seal", "beside", "usage", and logprobs and ids of tokens are JSON. All
    others are texts, JSON-escaped, and numbers.
    opening, finish: frames of the whole response. head: JSON that is in several of them.
    parts: a set of fields, as bits -> the frame between the texts of two messages in them, and what is kept of it.
    fields: (kind, variant) -> the fields of the text, as bits. seals: (kind, variant) -> "hash" or "asked".
    shown: how many calls are shown; None: all.
    call_id: the id of a call if neither the model nor the caller gives one. closing, closing_usage: the last frames,
    with counts or with a usage as JSON.
    reasons: reasons of a parser -> the API's words for it, ("r" and "b" if no call was shown, the same if one was).
    Raises KeyError, TypeError or ValueError for anything else.
    """
    def __new__(
        cls,
        items: Mapping[tuple[str, str, int], _Parts],
        opening: _Parts,
        finish: _Parts,
        *,
        head: _Parts | None = None,
        parts: Mapping[int, tuple[_Parts, _Parts]] | None = None,
        fields: Mapping[tuple[str, int], int] | None = None,
        seals: Mapping[tuple[str, int], str] | None = None,
        shown: int | None = None,
        filtered: bool = False,
        no_blank: bool = False,
        functions: bool = False,
        call_id: _Parts | None = None,
        closing: _Parts | None = None,
        closing_usage: _Parts | None = None,
        reasons: Mapping[str | None, tuple[_Words, _Words]] | None = None,
    ) -> Templates: ...
