from collections.abc import Iterable, Mapping
from typing import final

DEBUG: bool

_Parts = tuple[Iterable[bytes], str]

@final
class Script:
    """What an API sends at each moment of a response, as frames with holes.

    frames: (moment, kind, channel) -> (parts, holes). The moments of an item are "begin", "delta", "end", "cut",
    "item", "cut item" and "part"; the kinds are those of deltas; channel is the number of a channel of Harmony.
    Holes: "t" a delta's text, "n" the running number, "i" the item's index, "k" the call's index, "w" the item's whole
    text, "m" the call's name, "d" the call's id, "a" the response's id, "c" when it was created, "l" the model, "s" the
    stem of ids, "h" the head, "g" a signature, "r" the reason, "o" the items that are done, "u" the usage as JSON; and
    of tokens "x" those of the prompt, "p" those of the response, "q" those of its reasoning, "y" all. All texts are
    JSON-escaped.
    opening, head, finish: frames of the whole response. fields: (kind, channel) -> the bit of the text's field.
    shown: how many calls are shown; None: all.
    call_id: the id of a call, unless somebody decides it. closing, closing_usage: the last frames, with counts or with
    a usage as JSON.
    reasons: each reason of a parser for which the response ends with one of these frames, and nothing that Python must
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
        call_id: _Parts | None = None,
        closing: _Parts | None = None,
        closing_usage: _Parts | None = None,
        reasons: dict[str | None, tuple[str, str]] | None = None,
    ) -> Script: ...
