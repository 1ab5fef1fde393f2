"""Deviations from a format, by code: what was found, and what would have been well formed."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CODES", "EXPECTED", "Deviation"]


class Deviation(NamedTuple):
    """One repair of what a model wrote.

    code: what was wrong, such as "missing-end". docs/bad-input.md has an example of each code.
    position: the token (text mode: byte), from 0, at which it was found. For a header, it is the header's beginning.
    """

    code: str
    position: int


# In the order of `enum Deviation` in ext/harmonystream/_native/core/types.pxd; strict mode raises for the first part.
_STRICT = {
    "repeated-channel": "one <|channel|> in a header",
    "conflicting-recipients": "one recipient in a header",
    "empty-recipient": "a name after to=",
    "bare-content-type": "a recipient, or <|constrain|> before the content type",
    "repeated-content-type": "one content type in a header",
    "loose-spacing": "no space after to= or <|constrain|>",
    "glued-suffix": "a space or <|constrain|> between the tool's name and json",
    "misspelt-channel": "analysis, commentary or final",
    "unknown-channel": "analysis, commentary or final",
    "empty-channel": "a channel name after <|channel|>",
    "unmarked-channel": "<|channel|> before the channel name",
    "ignored-word": "<|message|> after the content type",
    "missing-role": "a role after <|start|>",
    "unknown-role": "assistant, user, system, developer or a tool's name",
    "doubled-role": "one role",
    "doubled-start": "a role after <|start|>",
    "text-between-messages": "<|start|>",
    "stray-terminator": "<|start|>",
    "missing-start": "<|start|>",
    "missing-end": "<|end|>, <|call|> or <|return|>",
    "abandoned-header": "<|message|>, or the end of the call's name",
    "missing-message": "<|message|>",
    "header-too-long": "<|message|> within 256 bytes",
    "no-markup": "a header: to=, <|channel|> or <|message|>",
    "text-to-assistant": "no recipient for text on this channel",
    "stray-control": "text or a terminator",
    "end-of-text": "<|end|>, <|call|> or <|return|>",
    "unknown-id": "an id of the vocabulary",
    "stray-closer": "a closer only where something is open",
    "repeated-opener": "one opener",
    "missing-opener": "the opener of the section, key or value",
    "missing-closer": "the closer of the value, call or section",
    "misspelt-closer": "the value's closer as it is spelled",
    "other-body": "arguments as the format writes them",
    "ignored-text": "a key, or the call's closer",
    "missing-value": "a value after the key",
    "wrapped-arguments": "the tool's parameters as keys",
    "misspelt-name": "the name of a declared tool, with nothing around it",
    "call-syntax": "name=literal, as Python writes arguments",
}
_LENIENT = (
    "repeated-recipient",
    "bare-recipient",
    "foreign-role",
    "call-without-tools",
    "invalid-utf8",
    "unfinished-header",
    "after-end",
    "call-in-reasoning",
    "held-too-long",
    "value-type",
    "ignored-member",
    "fenced-call",
    "invalid-json",
)

CODES = ("", *_STRICT, *_LENIENT)
EXPECTED = _STRICT
