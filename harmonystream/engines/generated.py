"""A generation in the chunks of OpenAI's `/v1/completions`, with ids or text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .._native.core.vocab import Vocab
from ..errors import EngineError
from .base import IDS, Finished, Output, Sampled, are_ids, usage_of
from .http import EventSource, loads, object_of
from .logprobs import token_logprobs

if TYPE_CHECKING:
    import aiohttp

__all__ = ["Generated", "chat_logprobs", "end_of"]

_FIRST, _BETWEEN, _LAST = b"data: {", b"\n\ndata: ", b"}\n\n"
"""Most pieces consist of whole events of one line each."""
_DONE = b"[DONE]"


class Generated(EventSource):
    """A generation. `take` returns the items of the server's chunks, and at last `Finished`.

    vocab: for ids with log probabilities, with `most` alternatives. None if there are none.
    """

    _has_other_form = False
    """Does the server send chunks in another form, which `_formed` converts?"""

    def __init__(self, response: aiohttp.ClientResponse, vocab: Vocab | None, most: int) -> None:
        super().__init__(response)
        self._vocab, self._most = vocab, most
        self._as_text: bool | None = None  # does the server send text? None: nothing has arrived
        self._plain_ids = False  # are there ids, and is nothing else needed?
        self._end: Finished | None = None

    def take(self, piece: bytes) -> list[Output]:
        """The items of bytes that arrived together. Raises EngineError. If items came before the error, the next wait
        raises it.

        The whole way from the socket to a token's id is in this function, because each call would add much to its cost.
        """
        items: list[Output] = []
        events: list[bytes] = []
        if self.is_between and piece.startswith(_FIRST) and piece.endswith(_LAST) and _DONE not in piece:
            events = piece[6:].split(_BETWEEN)
        try:
            for data in events if events and piece.count(b"\n") == 2 * len(events) else self._events(piece):
                try:
                    chunk = loads(data)
                except ValueError:
                    chunk = None
                if type(chunk) is not dict or chunk.get("error"):
                    chunk = object_of(data)  # this raises the exact error
                if self._has_other_form:
                    chunk = self._formed(chunk)
                if (usage := chunk.get("usage")) and self._end is not None:
                    self._end = Finished(self._end.reason, usage_of(usage), self._end.stop)
                choices = chunk.get("choices")
                if type(choices) is not list:
                    raise EngineError(f"the engine sent a chunk without choices: {chunk!s:.200}", "protocol")
                for choice in choices:
                    if type(choice) is not dict:
                        raise EngineError(f"the engine sent a choice that is not an object: {chunk!s:.200}", "protocol")
                    if choice.get("index"):  # only one choice was requested
                        continue
                    ids: Any = choice.get("token_ids")
                    one = self._plain_ids and type(ids) is list and len(ids) == 1 and type(ids[0]) is int
                    item = ids if one and 0 <= ids[0] < IDS else self._output(choice)
                    if item:
                        items.append(item)
                    if choice.get("finish_reason") is not None:
                        self._end = end_of(choice, usage)
                    break
            if self.ended:
                items.append(self._finished())
        except EngineError as error:
            self.fail(error)
            if not items:
                raise
        return items

    def _formed(self, chunk: dict[str, Any]) -> dict[str, Any]:
        return chunk

    def _finished(self) -> Finished:
        if self._end is None:
            raise EngineError(f"{self.url}: the stream ended before the generation did", "connection")
        return self._end

    def logprobs(self, choice: Mapping[str, Any]) -> Any:
        """The log probabilities of a choice, as `token_logprobs` takes them."""
        return choice.get("logprobs")

    def _output(self, choice: Mapping[str, Any]) -> list[int] | str | Sampled | None:
        """The output that a choice adds: its ids if it has them, unless the stream began with text."""
        ids, text = choice.get("token_ids"), choice.get("text")
        if ids is not None and not self._as_text:
            if not are_ids(ids):
                raise EngineError(f"the engine sent token_ids that are not ids: {str(ids)[:200]}", "protocol")
            if ids:
                self._as_text, self._plain_ids = False, self._vocab is None
            if self._vocab is None or not ids:
                return ids
            return Sampled(ids, token_logprobs(self.logprobs(choice), ids, self._vocab, self._most))
        if text and self._as_text is False:
            raise EngineError("the engine sent ids, and then text without ids", "protocol")
        if text is not None and not isinstance(text, str):
            raise EngineError(f"the engine sent text that is not a string: {str(text)[:200]}", "protocol")
        if text:
            self._as_text = True
        return text


def end_of(choice: Mapping[str, Any], usage: Any) -> Finished:
    stop = choice.get("stop_reason", choice.get("matched_stop"))  # the latter is SGLang's name
    return Finished(str(choice["finish_reason"]), usage_of(usage), stop if isinstance(stop, str) else None)


def chat_logprobs(choice: Mapping[str, Any], name_of: Callable[[Mapping[str, Any]], str]) -> Any:
    """The log probabilities of a choice of Chat Completions, in the form that `/v1/completions` has.

    name_of: the name of an alternative, such as "token_id:7".
    """
    logprobs = choice.get("logprobs")
    entries = _objects(logprobs.get("content")) if isinstance(logprobs, dict) else None
    if entries is None:
        return logprobs
    return {
        "token_logprobs": [one.get("logprob") for one in entries],
        "top_logprobs": [
            {name_of(top): top.get("logprob") for top in _objects(one.get("top_logprobs")) or ()} for one in entries
        ],
    }


def _objects(value: Any) -> list[dict[str, Any]] | None:
    """The value, if it is a list of objects."""
    return value if isinstance(value, list) and all(isinstance(one, dict) for one in value) else None
