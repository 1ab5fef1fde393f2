from collections.abc import Iterable, Mapping
from typing import final

DEBUG: bool

_Parts = tuple[Iterable[bytes], str]

@final
class Script:
    """What an API says at each moment of a response, as frames with holes.

    frames: (moment, kind, channel) -> (parts, holes). The moments of an item are "begin", "delta", "end", "cut",
    "item", "cut item" and "part"; the kinds are those of deltas; channel is the number of a channel of Harmony.
    Holes: "t" a delta's text, "n" the running number, "i" the item's index, "k" the call's index, "w" the item's whole
    text, "m" the call's name, "a" the response's id, "c" when it was created, "s" the stem of ids, "h" the head,
    "g" a signature, "r" the reason, "o" the items that are done, "p" how many tokens were read, "q" those of reasoning.
    All texts are JSON-escaped.
    opening, head, finish: frames of the whole response. fields: (kind, channel) -> the bit of the text's field.
    shown: how many calls are shown; None: all.
    reasons: each reason of a parser for which the response ends with the frame `closing`, and nothing that Python must
    say -> the API's words for it, (if no call was shown, if one was).
    Raises KeyError, TypeError or ValueError for anything else.
    """
    def __new__(
        cls,
        frames: Mapping[tuple[str, str, int], _Parts],
        opening: _Parts,
        head: _Parts,
        finish: _Parts,
        *,
        fields: dict[tuple[str, int], int] | None = None,
        shown: int | None = None,
        filtered: bool = False,
        signed: bool = False,
        no_blank: bool = False,
        functions: bool = False,
        closing: _Parts | None = None,
        reasons: dict[str | None, tuple[str, str]] | None = None,
    ) -> Script: ...
