"""A rendered prompt, and the parser that starts where it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from .._native.core.vocab import Vocab
from .._native.stream.parser import Parser
from ..errors import PromptError
from ..formats import Format, HeaderFormat
from .dropping import Looked

__all__ = ["Look", "Prompt"]

Look: TypeAlias = Callable[["Looked | None"], "tuple[str, ...]"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered prompt.

    text: the prompt with its markers spelled out, for engines that take text.
    ids: the prompt as token ids. No text of a user, tool or document becomes a control token. None without a vocabulary
    that can encode.
    format: the format in which the model answers. None if it is not known.
    stop_ids, stops: where generation should stop, as ids and as strings.
    vocab, tools: as they were given to `render`.
    begun: how much of the prompt's end is the beginning of the answer, counted in `ids`, or in characters of `text` if
    there are no ids. Code that writes a part of the answer for the model sets this, as the gateway does for a forced
    call. An engine continues the prompt in either case, but one that plays a recording needs the number.
    look: finds the value of `dropped`. It may remember the shapes of messages.
    """

    text: str
    ids: list[int] | None
    format: Format | HeaderFormat | None
    stop_ids: tuple[int, ...] = ()
    stops: tuple[str, ...] = ()
    vocab: Vocab | None = field(default=None, repr=False)
    tools: list[dict[str, Any]] | None = field(default=None, repr=False)
    begun: int = 0
    look: Look | None = field(default=None, repr=False, compare=False)

    @property
    def dropped(self) -> tuple[str, ...]:
        """The parts of the messages and tools that the prompt does not contain, such as `"message 3: tool_calls[1]"`.

        Templates leave out more than earlier reasoning. Some write only one of several calls, no calls at all, or no
        content beside calls. The messages are numbered as `normalize` returns them. Each use renders the conversation
        once more.
        """
        return () if self.look is None else self.look(None)

    def continue_with(self, output: str | Sequence[int]) -> Prompt:
        """This prompt, followed by what the model has written so far, as ids or as text.

        With text the result has no ids. Raises `PromptError` for ids if this prompt has none.
        """
        if isinstance(output, str):
            begun = self.begun if self.ids is None else len(self._spell(self.ids[len(self.ids) - self.begun :]))
            return replace(self, text=self.text + output, ids=None, begun=begun + len(output))
        if self.ids is None:
            raise PromptError("a prompt without ids cannot be continued with ids: pass vocab= to render()")
        text = self.text + self._spell(output)
        return replace(self, text=text, ids=[*self.ids, *output], begun=self.begun + len(output))

    def _spell(self, ids: Sequence[int]) -> str:
        return "" if self.vocab is None else self.vocab.decode(ids)

    def parser(self, **options: Any) -> Parser:
        """A parser for what the model generates after this prompt. `options` are those of `Parser`.

        Raises `PromptError` if the format is unknown. In this case, pass `format=` or `model=` to `render`.
        """
        if self.format is None:
            raise PromptError("it is not known which format the model writes: pass format= or model= to render()")
        prompt = self.text if self.ids is None else self.ids
        given = {"vocab": self.vocab, "tools": self.tools, "prompt": prompt, **options}
        return Parser(self.format, given.pop("vocab"), **given)
