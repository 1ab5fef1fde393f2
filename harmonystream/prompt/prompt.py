"""A rendered prompt, and the parser that starts where it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .._native.core.vocab import Vocab
from .._native.stream.parser import Parser
from ..errors import PromptError
from ..formats import Format, HeaderFormat

__all__ = ["Prompt"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered prompt.

    text: the prompt with its markers spelled out, for engines that take text.
    ids: the same as token ids, in which no text of a user, tool or document is a control token. None if there is no
    vocabulary that can encode.
    format: the format in which the model answers. None if it is not known.
    stop_ids, stops: where generation should stop, as ids and as text.
    vocab, tools: as they were given to `render`.
    begun: how many of `ids`, or of the characters of `text` if there are no ids, are the beginning of the answer. They
    are at the end. Whoever writes a part of the answer for the model says so here, as the gateway does for a forced
    call. An engine continues the prompt in either case; one that plays a recording has to know.
    look: finds what `dropped` gives.
    """

    text: str
    ids: list[int] | None
    format: Format | HeaderFormat | None
    stop_ids: tuple[int, ...] = ()
    stops: tuple[str, ...] = ()
    vocab: Vocab | None = field(default=None, repr=False)
    tools: list[dict[str, Any]] | None = field(default=None, repr=False)
    begun: int = 0
    look: Callable[[], tuple[str, ...]] | None = field(default=None, repr=False, compare=False)

    @property
    def dropped(self) -> tuple[str, ...]:
        """What the messages and tools have and the prompt does not, such as `"message 3: tool_calls[1]"`.

        Templates leave out more than earlier reasoning: some write one call of several, no calls at all, or no content
        beside calls. The messages are those that `normalize` gives. Each look renders the conversation once more.
        """
        return () if self.look is None else self.look()

    def parser(self, **options: Any) -> Parser:
        """A parser for what the model generates after this prompt. `options` are those of `Parser`.

        Raises `PromptError` if the format is not known: pass `format=` or `model=` to `render`.
        """
        if self.format is None:
            raise PromptError("it is not known which format the model writes: pass format= or model= to render()")
        prompt = self.text if self.ids is None else self.ids
        given = {"vocab": self.vocab, "tools": self.tools, "prompt": prompt, **options}
        return Parser(self.format, given.pop("vocab"), **given)
