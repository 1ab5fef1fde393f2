"""Metrics for Prometheus. Labels have only configured names, and never a client's input."""

from __future__ import annotations

import os
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

__all__ = ["Metrics"]

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_PER_TOKEN = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)


_RESERVED = 1 << 20
"""The bytes of each shared metrics file."""


def _reserve(folder: str | None) -> None:
    """Reserve the disk space for this process's files of metrics. They are mapped, and a process that writes to a
    mapped file on a full disk dies of SIGBUS. Raises OSError if there is no space.
    """
    if folder is None or not hasattr(os, "posix_fallocate"):
        return
    for kind in ("counter", "histogram", "gauge_livesum", "gauge_livemostrecent"):
        with open(os.path.join(folder, f"{kind}_{os.getpid()}.db"), "ab") as file:
            os.posix_fallocate(file.fileno(), 0, _RESERVED)


class Metrics:
    """The metrics of one gateway, in a registry of their own.

    If PROMETHEUS_MULTIPROC_DIR is set, `text` has the sums over all processes that share the folder.
    """

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self) -> None:
        _reserve(os.environ.get("PROMETHEUS_MULTIPROC_DIR"))
        self.registry = CollectorRegistry()

        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"harmonystream_{name}", about, labels, registry=self.registry)

        def histogram(name: str, about: str, buckets: Any, *labels: str) -> Histogram:
            return Histogram(f"harmonystream_{name}", about, labels, buckets=buckets, registry=self.registry)

        def gauge(name: str, about: str, of_all: Any = "livesum") -> Gauge:
            return Gauge(f"harmonystream_{name}", about, registry=self.registry, multiprocess_mode=of_all)

        of = ("api", "model")
        self.requests = counter("requests", "Requests that have ended, by HTTP status.", *of, "status")
        self.outcomes = counter("outcomes", "How requests have ended: ok, refused, failed, gone.", *of, "outcome")
        self.finishes = counter("finishes", "Answers by their finish reason.", *of, "reason")
        self.seconds = histogram("request_duration_seconds", "From a request to the end of its answer.", _SECONDS, *of)
        self.first = histogram("time_to_first_token_seconds", "From a request to its first token.", _SECONDS, *of)
        self.each = histogram("time_per_output_token_seconds", "Between tokens, on average.", _PER_TOKEN, *of)
        self.waited = histogram("queue_time_seconds", "How long requests wait for their turn.", _SECONDS)
        self.tokens = counter("tokens", "Tokens: prompt, completion, and reasoning as a part of that.", *of, "kind")
        self.deviations = counter("deviations", "Repairs of what a model wrote, by code.", "model", "code")
        self.calls = counter("tool_calls", "Tool calls: complete, or cut by the end of the answer.", "model", "outcome")
        self.steered = counter(
            "steered", "Generations that were kept to something, by how: grammar, call_begun, form.", "model", "how"
        )
        self.runs = counter("tool_runs", "Runs of tools in the gateway: ok, or the kind of error.", "model", "outcome")
        self.engine_errors = counter(
            "engine_errors", "Attempts at a generation that failed.", "model", "engine", "kind"
        )
        self.running = gauge("requests_running", "Requests that are being answered.")
        self.waiting = gauge("requests_waiting", "Requests that wait for their turn.")
        self.workers = gauge("workers", "Processes that answer requests.")
        self.stored = gauge("stored_responses", "Responses that are kept for previous_response_id.", "livemostrecent")

    def admitted(self, running: int, waiting: int) -> None:
        """Record how many requests are being answered, and how many wait."""
        self.running.set(running)
        self.waiting.set(waiting)

    def text(self) -> bytes:
        """The metrics in Prometheus's text format."""
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self.registry)
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
