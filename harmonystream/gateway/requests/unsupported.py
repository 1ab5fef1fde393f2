"""Decides about an option that the gateway cannot honour: it is passed over, or the request is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..refused import Refused

__all__ = ["HEADER", "RULES", "Rule", "Unsupported", "rule_of"]

Rule = Literal["auto", "ignore", "refuse"]
RULES = ("auto", "ignore", "refuse")
HEADER = "x-unsupported"
"""The header with which a request chooses its own rule."""
SHOWN = 16
"""The most names in the warning and in the log."""


@dataclass
class Unsupported:
    """The options of one request that the gateway cannot honour.

    rule: "auto" passes over an option that only adds to a request, and refuses one that changes the meaning of the
    answer. "ignore" passes over all of them. "refuse" refuses all of them. passed: the names of the options that were
    passed over.
    """

    rule: Rule = "auto"
    passed: list[str] = field(default_factory=list)

    def meet(self, name: str, refusal: Refused, *, adds: bool) -> None:
        """Pass over an option and note it, or raise the refusal. adds: does the option only add to the request?"""
        if self.rule == "refuse" or (self.rule == "auto" and not adds):
            raise refusal
        self.passed.append(name)

    def listed(self) -> list[str]:
        """The names, for the log and the warning."""
        more = len(self.passed) - SHOWN
        return [*self.passed[:SHOWN], *([f"and {more} more"] if more > 0 else [])]

    def warning(self) -> str:
        """The value of the header `warning`."""
        names = ", ".join(self.listed())
        text = "".join(one if " " <= one <= "~" and one not in '"\\' else "?" for one in names)
        return f'199 harmonystream "not supported, passed over: {text}"'


def rule_of(word: str) -> Rule:
    """The rule with this name. Raises ValueError if there is none."""
    if word not in RULES:
        raise ValueError(f"must be one of {', '.join(RULES)}")
    return word  # type: ignore[return-value]
