"""Spans of requests: one for each, a child of the client's, the parent of the engine's, without what was said."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from command import ENV
from gateways import ANSWER, GPT_OSS, chunk, gateway, ids_of, script_of
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from upstream import DROP

from harmonystream.gateway.limits import Limits

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def spans():
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    exporter.provider = provider
    yield exporter
    provider.shutdown()


def one(exporter):
    """The span that has ended, which may be a moment after the answer."""
    deadline = time.monotonic() + 10
    while not exporter.get_finished_spans() and time.monotonic() < deadline:
        time.sleep(0.002)
    (span,) = exporter.get_finished_spans()
    exporter.clear()
    return span


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_has_a_span_between_the_clients_and_the_engines(spans, stream):
    with gateway(script_of(ANSWER), app_options={"trace": spans.provider}) as made:
        made.http.headers["traceparent"] = f"00-{TRACE}-{PARENT}-01"
        made.http.headers["tracestate"] = "a=b"
        answer = made.post("messages", stream=stream)
        assert answer.status_code == 200
        span = one(spans)
        sent = made.engines[0].headers[-1]
    context = span.get_span_context()
    assert (f"{context.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, PARENT)
    assert sent["traceparent"] == f"00-{TRACE}-{context.span_id:016x}-01"
    assert sent["tracestate"] == "a=b"
    assert (span.name, span.kind, span.status.is_ok) == (f"chat {GPT_OSS}", SpanKind.SERVER, True)
    assert [event.name for event in span.events] == ["first_token"]
    said = dict(span.attributes)
    assert said.pop("harmonystream.request_id") == answer.headers["x-request-id"]
    assert said.pop("gen_ai.usage.input_tokens") > 50
    assert said == {
        "http.response.status_code": 200,
        "harmonystream.api": "messages",
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": GPT_OSS,
        "gen_ai.usage.output_tokens": 14,
        "gen_ai.usage.reasoning.output_tokens": 1,
        "gen_ai.response.finish_reasons": ("stop",),
        "harmonystream.deviations": 0,
    }


def test_refusals_and_failures(spans):
    half = [chunk(ids_of("<|channel|>final<|message|>Half")), DROP]
    with gateway(half, app_options={"trace": spans.provider, "limits": Limits(retries=0)}) as made:
        made.post("chat", thread="t")
        refused = one(spans)
        assert (refused.name, refused.attributes["error.type"]) == ("chat", "thread_unsupported_request")
        assert (refused.attributes["http.response.status_code"], refused.status.is_ok) == (400, True)
        made.post("chat", stream=True)
        failed = one(spans)
        assert (failed.attributes["error.type"], failed.status.is_ok) == ("engine_unavailable", False)


WITHOUT = "import sys; sys.modules['opentelemetry'] = None; "


def run(script):
    return subprocess.run([sys.executable, "-c", WITHOUT + script], env=ENV, capture_output=True, text=True, timeout=60)


def test_opentelemetry_is_loaded_only_where_it_is_asked_for():
    done = run("from harmonystream.gateway import app; app(); print('made'); app(trace=True)")
    assert done.stdout == "made\n"
    assert done.stderr.strip().splitlines()[-1].startswith("ModuleNotFoundError: import of opentelemetry halted")
    done = run("from harmonystream.cli import main; sys.exit(main(['serve', '--trace']))")
    assert (done.returncode, "pip install 'harmonystream[otel]'" in done.stderr) == (2, True)
