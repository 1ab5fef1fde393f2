"""A declared name with more around it: the list of docs/tags.md, section 4, and rule 3.6 of docs/harmony.md."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["find_name", "names_tool", "unquoted"]

JOINTS = "[._:/-]"


def find_name(written: str, tools: Sequence[str], numbered: bool = False) -> str:
    """The first declared name of the list; empty: there is none. numbered: may digits follow it, as in an id?"""
    kind = rf"\A(function|tool)s?{JOINTS}(?=.)" + (r"|\Afunctions" if numbered else "")
    bare = re.sub(kind, "", written, flags=re.S)
    found = [written, bare]
    if twice := re.fullmatch(r"(?s)(.*):\1", bare):
        found.append(twice[1])
    elif numbered:
        without = re.sub(r"[0-9]+\Z", "", bare)
        found += [without, re.sub(rf"{JOINTS}\Z", "", without)]
    return next((name for name in found if name and name in tools), "")


def names_tool(written: str, tools: Sequence[str] | None) -> bool:
    """Is this the name of a declared tool, perhaps with more around it?"""
    return bool(find_name(written, tools or ()))


def unquoted(recipient: str) -> str:
    """Without quotes around it, and then without `(` or `()` at its end."""
    if len(recipient) > 2 and recipient[0] == recipient[-1] and recipient[0] in "\"'`":
        recipient = recipient[1:-1]
    return re.sub(r"(?s)(.)\(\)\Z|(.)\(\Z", r"\1\2", recipient)
