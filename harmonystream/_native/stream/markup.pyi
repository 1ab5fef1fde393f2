from collections.abc import Iterable
from typing import Literal, SupportsIndex, final

from typing_extensions import Buffer, Self

from harmonystream._native.core.vocab import Vocab
from harmonystream._native.stream.parser import Parser
from harmonystream.formats.spec import Format, HeaderFormat

DEBUG: bool

@final
class Markup:
    """A format's markers in a vocabulary, and questions that engines ask about prompts and outputs.

    format, vocab: as Parser has them. Raises FormatError, VocabError or TypeError as Parser does, and ValueError
    without a vocabulary. Make one for each model and keep it: it reads the whole vocabulary once.

    reasoning_start, reasoning_end, call_start, call_end: the ids that are such a marker by themselves, ascending; ()
    if the format has none, or the vocabulary spells it in several tokens. Harmony has headers, so it has no starts, and
    `<|end|>` ends its reasoning. stops: Parser's stop_ids.
    """
    def __new__(cls, format: str | Format | HeaderFormat = "harmony", vocab: Vocab | None = None) -> Self: ...
    @property
    def reasoning_start(self) -> tuple[int, ...]: ...
    @property
    def reasoning_end(self) -> tuple[int, ...]: ...
    @property
    def call_start(self) -> tuple[int, ...]: ...
    @property
    def call_end(self) -> tuple[int, ...]: ...
    @property
    def stops(self) -> tuple[int, ...]: ...
    def is_ordinary(self, tid: int, /) -> bool:
        """Is it a token of text that cannot begin a marker? False for control ids and for unknown ids."""
    def where(
        self, prompt: SupportsIndex | Iterable[SupportsIndex] | Buffer | str | bytes, /
    ) -> Literal["content", "reasoning", "answer", "call"]:
        """Where a prompt leaves the model: "content" (nothing is open), "reasoning", "answer" (reasoning is over), or
        "call" (in a call's arguments; Harmony only).

        prompt: ids or text; its end is enough. Parser(prompt=prompt) begins there.
        """
    def find_reasoning_end(
        self,
        ids: SupportsIndex | Iterable[SupportsIndex] | Buffer,
        /,
        *,
        start: str = "auto",
        prompt: SupportsIndex | Iterable[SupportsIndex] | Buffer | str | bytes | None = None,
    ) -> int | None:
        """The number of these ids, an output from its beginning, after which reasoning is over. None if it is not over.

        What comes after them is an answer or a call. Without any reasoning, that begins with the delta that has the
        first word. In Harmony reasoning is over where the header of another message ends; more may follow later.
        start, prompt: as Parser has them. In a loop `parser.region` is cheaper than asking again.
        """

def where_of(parser: Parser) -> Literal["content", "reasoning", "answer", "call"]:
    """`Markup.where` of a parser that has read nothing since its prompt."""
