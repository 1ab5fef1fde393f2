"""Outputs of each format in vLLM's server, cut at every token, stopped at many places, and broken by errors.

Prints what is worse with our plug-ins than with vLLM's own parsers, and fails if anything is that nothing explains.
tests/support, tests/reference and tests must be on the path.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

from host_cases import FORMATS, Answers, answers, cases, closes, given, report
from vllm_answers import chat, chat_stream, messages, responses
from vllm_servers import Server

ROUTES = {  # streamed and whole
    "Chat": (lambda host, **more: chat_stream(host, **more)[0], lambda host, **more: chat(host, **more)[0]),
    "Messages": (messages, partial(messages, streams=False)),
    "Responses": (partial(responses, streams=True), partial(responses, streams=False)),
}
EXPLAINED = [
    closes("vLLM's parser"),
    (
        "frames, Chat, .*, stop string .*reason: 'stop' streamed, 'tool_calls' whole",
        "a stop string has cut a call, and vLLM's whole answers say tool_calls whenever there is a call",
    ),
    (
        "names, Messages, .*stop string .*reason: 'tool_use' streamed, 'stop_sequence' whole",
        "a stop string follows complete calls: vLLM's streams say tool_use, and whole answers name the stop string",
    ),
    (
        "Messages, .*stop string .*streamed is not whole: calls: .*INVALID_JSON",
        "a stop string in a marker leaves a part of it behind the arguments, and vLLM's streams send it as it is",
    ),
]


def asked(format: str, kind: str, every: int, stops: int) -> Answers:
    with tempfile.TemporaryDirectory() as directory:
        host = Server(Path(directory), FORMATS[format], kind)
        try:
            return answers(host, ROUTES, list(cases(format, stops=stops))[::every])
        finally:
            host.stop()


def main() -> int:
    options, left = given(FORMATS), 0
    for format in options.formats:
        found = {kind: asked(format, kind, options.every, options.stops) for kind in ("stock", "names", "frames")}
        left += report(format, found.pop("stock"), found, EXPLAINED)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
