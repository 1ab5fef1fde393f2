"""The chunks of one choice of Chat Completions, in SGLang's own form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...completion import CallDelta
from ...emit.common.payload import to_json
from .reader import Reader

__all__ = ["ChatChunks"]


class ChatChunks:
    """SGLang keeps one for each choice, in place of its own parser. call_id: makes the id of a call that begins."""

    def __init__(
        self, reader: Reader, call_id: Callable[[CallDelta], str], request: Any, id: str, created: int, index: int
    ) -> None:
        self.reader, self._call_id = reader, call_id
        chunk = {"id": id, "object": "chat.completion.chunk", "created": created, "model": request.model}
        self._begin = f'data: {to_json(chunk)[:-1]},"choices":[{{"index":{index},"delta":'
        self._streams_reasoning = request.stream_reasoning
        self._reasoning = ""  # reasoning that is kept until the end, unless it is streamed
        self.called = False
        """Has there been a call?"""

    def step(
        self,
        content: dict[str, Any],
        finish_reason_type: str | None,
        logprobs: dict[str, Any] | None,
        usage: dict[str, Any] | None,
    ) -> list[str]:
        """The chunks for a step. The first one has the log probabilities."""
        delta = self.reader.step(content, finish_reason_type)
        deltas: list[str] = []
        reasoning = delta.reasoning
        if not self._streams_reasoning:
            self._reasoning += reasoning
            over = delta.content or delta.calls or finish_reason_type is not None
            reasoning = self._reasoning if over else ""
            self._reasoning = "" if over else self._reasoning
        if reasoning:
            deltas.append(f'{{"reasoning_content":{to_json(reasoning)}}}')
        if delta.content:
            deltas.append(f'{{"reasoning_content":null,"content":{to_json(delta.content)}}}')
        if delta.calls:
            self.called = True
            calls = ",".join(map(self._call, delta.calls))
            deltas.append(f'{{"role":null,"content":null,"reasoning_content":null,"tool_calls":[{calls}]}}')
        if logprobs is None and usage is None:
            return [f"{self._begin}{fields}{_END}" for fields in deltas]
        if logprobs is not None and not deltas:
            deltas.append('{"reasoning_content":null}')
        return [self._with(fields, None if at else logprobs, usage) for at, fields in enumerate(deltas)]

    def _call(self, call: CallDelta) -> str:
        begins = call.name is not None
        id = to_json(self._call_id(call)) if begins else "null"
        function = f'{{"name":{to_json(call.name) if begins else "null"},"arguments":{to_json(call.arguments)}}}'
        return f'{{"id":{id},"index":{call.index},"type":"function","function":{function}}}'

    def _with(self, delta: str, logprobs: dict[str, Any] | None, usage: dict[str, Any] | None) -> str:
        usage_field = "" if usage is None else f',"usage":{to_json(usage)}'
        rest = f'"logprobs":{to_json(logprobs)},"finish_reason":null,"matched_stop":null}}]{usage_field}}}'
        return f"{self._begin}{delta},{rest}\n\n"


_END = ',"logprobs":null,"finish_reason":null,"matched_stop":null}]}\n\n'
