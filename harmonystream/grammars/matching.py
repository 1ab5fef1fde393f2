"""Uses a grammar in a decode loop, to find which tokens may come next. Needs llguidance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Protocol

from .._native.core.vocab import Vocab
from .._native.stream.parser import Parser
from ..checks import check_vocab
from ..errors import GrammarError, VocabError, missing_extra
from ..formats import Format, HeaderFormat

__all__ = ["Matcher"]

_MOST_KEPT = 4
_tokenizers: dict[tuple[int, tuple[int, ...]], Any] = {}


class LarkGrammar(Protocol):
    """The part of a grammar that a matcher reads. `Grammar` has it."""

    @property
    def row(self) -> Format | HeaderFormat: ...
    def lark(self, vocab: Vocab | None = None) -> str: ...


class Matcher:
    """Follows one output of a grammar, token by token.

    grammar: a `Grammar`. Its own `matcher` makes the same object.
    vocab: the model's. Its control tokens are markers, and match no text.
    stop_ids: ids that end the generation. None: those of the format.

    The first matcher for a vocabulary takes about a second for 200,000 tokens. Raises GrammarError if llguidance does
    not accept the grammar, or if nothing in the vocabulary ends an output.
    """

    def __init__(self, grammar: LarkGrammar, vocab: Vocab, stop_ids: Sequence[int] | None = None) -> None:
        check_vocab(vocab, none=False)
        row = grammar.row
        stops = Parser(row, vocab, check_stops=False).stop_ids if stop_ids is None else tuple(stop_ids)
        if not stops:
            raise GrammarError(f"the vocabulary has no token that ends an output of {row.name!r}: pass stop_ids")
        self._matcher = _llguidance().LLMatcher(_tokenizer(vocab, stops), grammar.lark(vocab), log_level=0)
        self._check()

    def allowed(self) -> bytes:
        """A bit for each id: may it come next? Id 0 is the lowest bit of the first byte.

        Stop ids are allowed where the output may end, and after its end only they are.
        """
        made: bytes = self._matcher.compute_bitmask()
        return made

    def take(self, token: int) -> None:
        """Take the next id. Raises GrammarError if it was not allowed."""
        if not self._matcher.is_stopped() and not self._matcher.consume_token(token):
            raise GrammarError(f"the grammar does not allow token {token} here")

    @property
    def may_end(self) -> bool:
        """Is the output so far a complete one?"""
        return bool(self._matcher.is_accepting())

    def fork(self) -> Matcher:
        """An independent copy, at the same place."""
        made = Matcher.__new__(Matcher)
        made._matcher = self._matcher.deep_copy()
        return made

    def _check(self) -> None:
        if error := self._matcher.get_error():
            raise GrammarError(f"llguidance does not take this grammar: {error}")


def _llguidance() -> Any:
    try:
        return import_module("llguidance")
    except ImportError as error:
        raise missing_extra("grammar", error) from error


class _Tokens:
    """The tokenizer for llguidance. Control tokens begin with a byte that no text has."""

    bos_token_id = None

    def __init__(self, vocab: Vocab, stops: tuple[int, ...]) -> None:
        self._vocab = vocab
        self.greedy: Callable[[str], list[int]] | None = None
        self.eos_token_id = stops[0]
        self.special_token_ids: list[int] = []
        self.tokens: list[bytes] = []
        for tid in range(max(len(vocab), max(stops) + 1)):
            data = vocab.token_bytes(tid) if tid in vocab else b""
            if tid not in vocab or tid in stops or vocab.is_control(tid):
                self.special_token_ids.append(tid)
                data = b"\xff<%d %b>" % (tid, data)
            self.tokens.append(data)

    def __call__(self, text: bytes) -> list[int]:
        """The tokens that the model would use for a text that must come next."""
        try:
            return self._vocab.encode(text.decode())
        except VocabError:  # the vocabulary cannot encode
            return [] if self.greedy is None else self.greedy(text.decode())


def _tokenizer(vocab: Vocab, stops: tuple[int, ...]) -> Any:
    key = (vocab.fingerprint, stops)
    made = _tokenizers.get(key)
    if made is None:
        llguidance = _llguidance()
        while len(_tokenizers) >= _MOST_KEPT:
            _tokenizers.pop(next(iter(_tokenizers)), None)
        tokens = _Tokens(vocab, stops)
        made = llguidance.LLTokenizer(llguidance.TokenizerWrapper(tokens), eos_token=list(stops))
        tokens.greedy = made.greedy_tokenize
        _tokenizers[key] = made
    return made
