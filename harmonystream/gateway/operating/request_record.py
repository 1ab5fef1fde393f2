"""One request while it is answered, and what the log and the metrics get when it has ended."""

from __future__ import annotations

import json
import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...agent.outcome import Steered
from ...agent.steering import BYTES
from ...emit import new_id
from ...engines import Finished
from ..limits import Quota
from ..requests.unsupported import Unsupported
from .metrics import Metrics
from .tracing import Spans

__all__ = ["RequestRecord", "log"]

log = logging.getLogger("harmonystream.gateway")
_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
_TRACE = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


_REASONS = frozenset(("stop", "length", "tool_calls", "content_filter", "error", "timeout", "abort"))


def _known(reason: str | None) -> str:
    """The reason if it is a known one. An engine may send any word, but a metric's label must not have any word."""
    return reason if reason in _REASONS else "stop" if reason is None else "other"


class RequestRecord:
    """A request. Its end is recorded once.

    id: the client's own `x-request-id`, or a new one. answer: the answer's part of the log, once there is an answer.
    """

    def __init__(self, api: str, headers: Mapping[str, str], metrics: Metrics, spans: Spans | None = None) -> None:
        own = headers.get("x-request-id", "")
        self.id = own if _ID.fullmatch(own) else new_id("req")
        self.api = api
        self.owner = ""
        self.model = ""
        self.status = 200
        self.stream = False
        self.error: str | None = None
        self.complete = False  # has the answer been completed?
        self.read: Callable[[], tuple[Sequence[Any], int]] = lambda: ((), 0)
        """What has been read: streams, or rounds of server-side tools, the last one first; and the prompts' tokens."""
        self.estimate = 0
        """The tokens of an answer in text that the engine does not count, as the response has them."""
        self.ends: list[Callable[[], None]] = []  # called at the end, in reverse order
        self.unsupported = Unsupported()
        self.is_in = False  # does it have its turn?
        self.ran_tools = False  # may tools have run here for it?
        self.quota: Quota | None = None
        self.response_id: str | None = None
        """The id of a response that is made in the background."""
        self.stored: bool | None = None
        """False: it was to be stored, and is not."""
        self._counted = {"prompt_tokens": 0, "completion_tokens": 0}  # counts from the engines
        self._trace = headers.get("traceparent", "")
        self._metrics = metrics
        self._span = None if spans is None else spans.begin(api, headers)
        self._began = time.monotonic()
        self._first: float | None = None
        self._ended = False
        self.steered: Steered | None = None
        """What keeps its first generation to what it asks."""
        self.answer: dict[str, Any] = {}
        self.contents: dict[str, Any] = {}
        """What was asked and answered, where the log has it."""

    @property
    def engine_headers(self) -> dict[str, str]:
        """Headers for the request to the engine."""
        if self._span is not None:
            return {"x-request-id": self.id, **self._span.headers}
        trace = {"traceparent": self._trace} if _TRACE.fullmatch(self._trace) else {}
        return {"x-request-id": self.id, **trace}

    @property
    def has_begun(self) -> bool:
        """Has a token arrived?"""
        return self._first is not None

    def begin_again(self) -> None:
        """Start again: the answer failed before anything of it was sent, and is made once more."""
        self._first = None
        self._counted = dict.fromkeys(self._counted, 0)
        self.read, self.estimate = lambda: ((), 0), 0
        self.steered = None
        self.unsupported.passed.clear()

    def is_not_stored(self) -> None:
        """Note that the response should be stored but cannot be stored now."""
        self.stored = False

    def warnings(self) -> list[str]:
        """The values of the header `warning`."""
        made = [self.unsupported.warning()] if self.unsupported.passed else []
        return [*made, '199 harmonystream "the response is not stored"'] if self.stored is False else made

    def first_token(self) -> None:
        self._first = time.monotonic()
        self._metrics.first.labels(self.api, self.model).observe(self._first - self._began)
        if self._span is not None:
            self._span.first_token()

    def count(self, end: Finished, same_prompt: bool = False) -> None:
        """Count a generation that an engine has ended. same_prompt: another choice has counted its prompt."""
        for name in ("completion_tokens",) if same_prompt else self._counted:
            number = (end.usage or {}).get(name)
            self._counted[name] += number if isinstance(number, int) else 0

    def answered(self) -> int:
        """Note that the answer is complete. Returns how many tokens it used."""
        self.complete = True
        streams, prompt_tokens = self.read()
        model, metrics = self.model, self._metrics
        counts = [stream.parser.usage for stream in streams if not stream.in_text]
        written, reasoning = sum(one.total for one in counts), sum(one.reasoning for one in counts)
        if any(stream.in_text for stream in streams):  # the parser has counted bytes; the engine has the tokens
            prompt_tokens = self._counted["prompt_tokens"] or prompt_tokens
            written = self._counted["completion_tokens"] or self.estimate
            written = written or sum(one.parser.usage.total // BYTES for one in streams)
        for kind, count in (("prompt", prompt_tokens), ("completion", written), ("reasoning", reasoning)):
            metrics.tokens.labels(self.api, model, kind).inc(count)
        if self._first is not None and written > 1:
            metrics.each.labels(self.api, model).observe((time.monotonic() - self._first) / (written - 1))
        codes = Counter(one.code for stream in streams for one in stream.parser.deviations)
        for code, count in codes.items():
            metrics.deviations.labels(model, code).inc(count)
        reasons = [_known(stream.parser.finish_reason) if self.error is None else "error" for stream in streams]
        for stream, reason in zip(streams, reasons):
            metrics.finishes.labels(self.api, model, reason).inc()
            self._count_calls(stream.parser.calls, reason)
        self.answer = {"prompt_tokens": prompt_tokens, "completion_tokens": written, "reasoning_tokens": reasoning}
        self.answer |= {"finish": reasons[0] if reasons else None, "deviations": dict(codes)}
        return int(prompt_tokens + written)

    def left(self) -> int:
        """How many tokens an incomplete answer used."""
        if self.complete:
            return 0
        streams, prompt_tokens = self.read()
        written = sum(one.parser.usage.total // (BYTES if one.in_text else 1) for one in streams)
        return int(prompt_tokens + written)

    def _count_calls(self, calls: int, reason: str) -> None:
        """Count calls. If the answer was cut off, the last call counts as cut."""
        cut = min(calls, int(reason not in ("stop", "tool_calls")))
        self._metrics.calls.labels(self.model, "complete").inc(calls - cut)
        self._metrics.calls.labels(self.model, "cut").inc(cut)

    def end(self, status: int | None = None) -> None:
        """End the request. status: if it is not 200."""
        if self._ended:
            return
        self._ended = True
        while self.ends:  # each holds this record: the cycles would hold what the request holds
            self.ends.pop()()
        self.status = status or self.status
        seconds = time.monotonic() - self._began
        outcome = self.outcome
        metrics = self._metrics
        metrics.requests.labels(self.api, self.model, str(self.status)).inc()
        metrics.outcomes.labels(self.api, self.model, outcome).inc()
        if self.complete:
            metrics.seconds.labels(self.api, self.model).observe(seconds)
        fields = {"request": self.id, "api": self.api, "model": self.model, "key": self.owner, "stream": self.stream}
        fields |= {"status": self.status, "outcome": outcome, "error": self.error, "seconds": round(seconds, 4)}
        if self._first is not None:
            fields["first_token_seconds"] = round(self._first - self._began, 4)
        if self.unsupported.passed:
            fields["passed_over"] = self.unsupported.listed()
        if self.stored is False:
            fields["stored"] = False
        if self.steered is not None:
            fields["steered"] = self.steered
        fields |= self.answer
        log.info("%s", json.dumps({**fields, **self.contents}))
        if self._span is not None:
            self._span.end(fields)

    @property
    def outcome(self) -> str:
        if self.error is not None:
            return "failed" if self.status == 200 or self.status >= 500 else "refused"
        return "ok" if self.complete else "gone"
