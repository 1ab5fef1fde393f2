"""Reads one choice of SGLang step by step: which ids are new, where a stop string ends them, and what they add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from sglang.srt.entrypoints.openai.chat_encoding_adapters import select_new_output_ids
from sglang.srt.runtime_context import get_serving

from ..._native.stream.parser import Parser
from ...completion import Delta
from ...text_limit import TextLimit, beginning
from ..counters import count_repairs
from ..deltas import Deltas
from ..model import HIDDEN, Model, joined, parser_for

__all__ = ["Prompt", "Reader"]

Prompt: TypeAlias = "Sequence[int] | str | None"


class Reader:
    """tools: those that may be called. None: calls are read, but hidden. prompt: ids or text. None if unknown.

    separate: is reasoning a field of its own? Otherwise it is part of the content, between the format's markers.
    request: SGLang's own request object, of any API.
    """

    def __init__(
        self,
        model: Model,
        tools: list[dict[str, Any]] | None,
        prompt: Sequence[int] | str | None,
        separate: bool,
        request: Any,
    ) -> None:
        self.parser: Parser = parser_for(model, HIDDEN if tools is None else tools, prompt)
        self._deltas = Deltas(self.parser, model.format)
        self._model, self._separate, self._hides = model, separate, tools is None
        self._trims = not getattr(request, "no_stop_trim", False)
        stop = getattr(request, "stop", None) or ()
        self._stops = [stop] if isinstance(stop, str) else list(stop)
        self._special = getattr(request, "skip_special_tokens", True) is False
        self._limit: TextLimit | None = None
        if self._trims and self._stops:
            self._limit = TextLimit(model.vocab, special=self._special)
        self._incremental = get_serving().incremental_streaming_output
        self._ids = self._characters = 0  # how much of the output was read
        self._held = ""  # text that may begin a stop string
        self._thinking = self.parser.region.name == "REASONING"

    def step(self, content: dict[str, Any], finish_reason_type: str | None) -> Delta:
        """The delta of one of the engine's chunks. finish_reason_type: None unless it is the last chunk."""
        ids = self.take(content, finish_reason_type)
        return self.read(ids, last=finish_reason_type is not None, finish=content["meta_info"].get("finish_reason"))

    def take(self, content: dict[str, Any], finish_reason_type: str | None) -> Sequence[int]:
        """The ids that one of the engine's chunks adds, for the parser."""
        about = content["meta_info"]
        ids: Sequence[int] = select_new_output_ids(
            output_ids=content.get("output_ids") or [],
            num_consumed_tokens=self._ids,
            completion_tokens=about["completion_tokens"],
            finish_reason_type=finish_reason_type,
            incremental=self._incremental,
        )
        self._ids += len(ids)
        last = finish_reason_type is not None
        matched = (about.get("finish_reason") or {}).get("matched") if last and self._trims else None
        if self._limit is None:
            return self.before(ids, matched)
        if isinstance(matched, str):  # the engine's text has what came before the last output
            return self.before([*self._limit.rest(), *ids], matched)
        ids = self._limit.take(ids, self._new_text(content["text"], last=last), last=last)
        if matched in self._model.markup.stops and matched not in ids[-1:]:
            ids.append(matched)  # SGLang's text never has this token
        return ids

    def before(self, ids: Sequence[int], matched: int | str | None) -> Sequence[int]:
        """The ids before the stop token or stop string that SGLang has found at their end.

        A token that ends the format's messages is kept, because it shows how the message ends.
        """
        if isinstance(matched, str):
            return self._before_text(ids, matched.encode())
        if matched is not None and ids and ids[-1] == matched and matched not in self._model.markup.stops:
            return ids[:-1]
        return ids

    def _before_text(self, ids: Sequence[int], stop: bytes) -> list[int]:
        vocab = self._model.vocab
        hidden = [tid not in vocab or (vocab.is_control(tid) and not self._special) for tid in ids]
        texts = [b"" if hides else vocab.token_bytes(tid) for tid, hides in zip(ids, hidden)]
        size = b"".join(texts).find(stop)
        if size < 0:
            return list(ids)
        kept: list[int] = []
        for tid, text in zip(ids, texts):
            if len(text) > size:
                return kept + beginning(vocab, tid, size)
            size -= len(text)
            kept.append(tid)
        return kept

    def _new_text(self, text: str, *, last: bool) -> str:
        """The new text, without a possible beginning of a stop string, which SGLang would send."""
        new = self._held + text if self._incremental else text[self._characters :]
        end = len(new) if last else len(new) - max(_begun(new, stop) for stop in self._stops)
        self._characters, self._held = self._characters + end, new[end:]
        return new[:end]

    @property
    def called(self) -> bool:
        """Has a whole output ended with complete calls, so that a client may run them?"""
        return self.parser.finish_reason == "tool_calls"

    def read(self, ids: Sequence[int], *, last: bool, finish: dict[str, Any] | None) -> Delta:
        """The delta of ids. finish: SGLang's reason, if they are the last ids."""
        delta = self._deltas.feed(ids)
        if last:
            stopped = isinstance((finish or {}).get("matched"), str)  # the model has not stopped by itself
            delta = joined(delta, self._deltas.finish(None if stopped else finish))
            count_repairs(self.parser)
        if self._hides and delta.calls:
            delta = delta._replace(calls=())
        return delta if self._separate else self._unseparated(delta, last=last)

    def _unseparated(self, delta: Delta, *, last: bool) -> Delta:
        text = ""
        if delta.reasoning:
            text = delta.reasoning
            if not self._thinking:
                text = self._marker(self._model.markup.reasoning_start) + text
            self._thinking = True
        if self._thinking and (delta.content or delta.calls):
            text += self._marker(self._model.markup.reasoning_end)
            self._thinking = False
        return Delta("", text + delta.content, delta.calls)

    def _marker(self, ids: tuple[int, ...]) -> str:
        return self._model.vocab.token_bytes(ids[0]).decode() if ids else ""


def _begun(text: str, stop: str) -> int:
    """How much of a stop string is at the end of the text."""
    sizes = range(min(len(text), len(stop) - 1), 0, -1)
    return next((size for size in sizes if text.endswith(stop[:size])), 0)
