"""Streams without markup: the last part of section 5 of docs/harmony.md. Part of reference.py."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from reference_header import CHANNELS, WHITESPACE, Char, Header, Symbol, Word, characters, is_assistant, next_word
from reference_headerless import is_prefix_of_assistants


def still_looks_like_a_role_part(header: Header, symbol: Symbol, tools: Sequence[str] | None) -> bool:
    """Whether the header may go on with `symbol`, a byte or an inert id. After a marker it may go on with anything."""
    if len(header.segments) > 1:
        return True
    written = tuple(each.value if each.kind == "byte" else None for each in (*header.segments[0][1], symbol))
    return may_be_a_role_part(written, header.role_open, None if tools is None else tuple(tools))


@lru_cache(1 << 15)  # tests read the same headers again and again
def may_be_a_role_part(written: tuple[int | None, ...], role_open: bool, tools: tuple[str, ...] | None) -> bool:
    """`written`: the header's bytes; None for an inert id."""
    symbols = [Symbol("inert" if value is None else "byte", value or 0, 0, 0) for value in written]
    complete, incomplete = split_incomplete(symbols)
    chars = [char.text for char in characters(complete)]
    if not incomplete:
        return fits(chars, role_open, tools)
    endings = [white for white in sorted(WHITESPACE) if white.encode().startswith(incomplete)]
    endings = [*endings[:1], "\N{REPLACEMENT CHARACTER}"]  # what the character may become; all others are alike here
    return any(fits([*chars, ending], role_open, tools) for ending in endings)


def split_incomplete(symbols: Sequence[Symbol]) -> tuple[Sequence[Symbol], bytes]:
    """Cut off a last character of which valid bytes are still missing."""
    for size in (3, 2, 1):
        tail = symbols[-size:]
        if len(tail) == size and all(symbol.kind == "byte" for symbol in tail):
            data = bytes(symbol.value for symbol in tail)
            try:
                data.decode()
            except UnicodeDecodeError as error:
                if error.start == 0 and error.reason == "unexpected end of data":
                    return symbols[:-size], data
    return symbols, b""


def fits(chars: Sequence[str], role_open: bool, tools: Sequence[str] | None) -> bool:
    """An optional role word, an optional channel, any number of to=X; after a to=X one more word (or several, for tools
    with spaces). Only the last word may be unfinished: it must be able to become one that fits."""
    listed = [Char(char, 0) for char in chars]
    stage, extra = "role", 1 + max((len(tool.split()) - 1 for tool in tools or ()), default=0)
    word = next_word(listed, 0)
    while word:
        stage = next_stage(stage, word, role_open)
        extra -= stage == "extra"
        if stage == "broken" or extra < 0:
            return False
        word = next_word(listed, word.end)
    return True


def next_stage(stage: str, word: Word, role_open: bool) -> str:
    """The stage after `word`."""
    text = word.text
    if role_open:
        is_role = not text.startswith("to=")
    else:
        is_role = is_assistant(text) or (word.at_end and is_prefix_of_assistants(text))
    is_channel = text in CHANNELS or (word.at_end and any(channel.startswith(text) for channel in CHANNELS))
    is_recipient = text.startswith("to=") or (word.at_end and "to=".startswith(text))
    if stage == "after a lone to=":
        return "recipient"
    if stage == "role" and is_role:
        return "channel"
    if stage in ("role", "channel") and is_channel:
        return "before recipient"
    if stage != "extra" and is_recipient:
        return "after a lone to=" if text == "to=" else "recipient"
    return "extra" if stage in ("recipient", "extra") else "broken"
