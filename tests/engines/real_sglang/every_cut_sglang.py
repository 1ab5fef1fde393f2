"""Outputs of each format in SGLang's application, cut at every token, stopped at many places, and broken by errors.

Prints what is worse with our plug-ins than with SGLang's own parsers, and fails if anything is that nothing explains.
tests/support, tests/reference and tests must be on the path.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from functools import partial
from pathlib import Path

from asgi_clients import chat, chat_stream, messages, responses
from host_cases import FORMATS, Answers, answers, cases, closes, given, report
from scripted_sglang import STOCK, Server

ROUTES = {  # streamed and whole
    "Chat": (chat_stream, chat),
    "Messages": (partial(messages, streams=True), partial(messages, streams=False)),
    "Responses": (partial(responses, streams=True), partial(responses, streams=False)),
}
EXPLAINED = [
    closes("SGLang's parser"),
    (
        r"(glm|llama3), .*, streamed, .*stock alone is right: less: .*, and not .*: \d+}?'",
        "a number is cut, which may go on: SGLang sends what there is of it",
    ),
    (
        r"Messages, .*streamed is not whole: calls: .*'\{\}'\),?\) whole",
        "a call is cut, and SGLang's whole Messages leave out arguments that are not JSON",
    ),
]


def asked(format: str, kind: str, every: int, stops: int) -> Answers:
    with tempfile.TemporaryDirectory() as directory:
        host = Server(Path(directory), FORMATS[format], kind)
        return answers(host, ROUTES, list(cases(format, stops=stops))[::every])


def main() -> int:
    logging.disable(logging.CRITICAL)
    options, left = given(format for format, family in FORMATS.items() if family in STOCK), 0
    for format in options.formats:
        found = {kind: asked(format, kind, options.every, options.stops) for kind in ("stock", "ours", "frames")}
        left += report(format, found.pop("stock"), found, EXPLAINED)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
