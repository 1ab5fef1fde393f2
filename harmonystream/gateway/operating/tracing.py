"""Spans of OpenTelemetry, one for each request. The package is loaded only if spans are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["RequestSpan", "Spans"]


class Spans:
    """Makes spans. provider: OpenTelemetry's TracerProvider. None uses the process's provider.

    Raises ImportError without `opentelemetry-api`.
    """

    def __init__(self, provider: Any = None) -> None:
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._trace, self._carry = trace, TraceContextTextMapPropagator()
        self._tracer = trace.get_tracer("harmonystream.gateway", tracer_provider=provider)

    def begin(self, api: str, headers: Mapping[str, str]) -> RequestSpan:
        """A span that begins now, as a child of the span in the request's `traceparent`."""
        parent = self._carry.extract({name: headers[name] for name in ("traceparent", "tracestate") if name in headers})
        span = self._tracer.start_span(api, context=parent, kind=self._trace.SpanKind.SERVER)
        carried: dict[str, str] = {}
        self._carry.inject(carried, self._trace.set_span_in_context(span, parent))
        return RequestSpan(span, carried, self._trace.StatusCode.ERROR)


class RequestSpan:
    """The span of a request. headers: for the request to the engine."""

    def __init__(self, span: Any, headers: Mapping[str, str], failed: Any) -> None:
        self._span, self._failed = span, failed
        self.headers = headers

    def first_token(self) -> None:
        self._span.add_event("first_token")

    def end(self, logged: Mapping[str, Any]) -> None:
        """End the span. It gets OpenTelemetry's attributes for generative AI.

        logged: the request's line in the log, without contents. The counts are in it if there is an answer.
        """
        span, model = self._span, logged["model"]
        if not span.is_recording():
            return
        if model:
            span.update_name(f"chat {model}")
            span.set_attribute("gen_ai.operation.name", "chat")
            span.set_attribute("gen_ai.request.model", model)
        values = {
            "http.response.status_code": logged["status"],
            "harmonystream.api": logged["api"],
            "harmonystream.request_id": logged["request"],
            "gen_ai.usage.input_tokens": logged.get("prompt_tokens"),
            "gen_ai.usage.output_tokens": logged.get("completion_tokens"),
            "gen_ai.usage.reasoning.output_tokens": logged.get("reasoning_tokens"),
            "gen_ai.response.finish_reasons": [logged["finish"]] if "finish" in logged else None,
            "harmonystream.deviations": sum(logged["deviations"].values()) if "deviations" in logged else None,
            "error.type": logged["error"],
        }
        for name, value in values.items():
            if value is not None:
                span.set_attribute(name, value)
        if logged["outcome"] == "failed":
            span.set_status(self._failed)
        elif logged["outcome"] == "gone":
            span.add_event("client_gone")
        span.end()
