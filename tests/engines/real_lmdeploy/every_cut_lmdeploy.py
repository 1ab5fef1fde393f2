"""Outputs of each format in LMDeploy's application, cut at every token, stopped at many places, and broken by errors.

Prints what is worse with our parsers than with LMDeploy's own, and fails if anything is that nothing explains.
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
from scripted_lmdeploy import STOCK, Server

ROUTES = {  # streamed and whole
    "Chat": (chat_stream, chat),
    "Messages": (partial(messages, streams=True), partial(messages, streams=False)),
    "Responses": (partial(responses, streams=True), partial(responses, streams=False)),
}
EXPLAINED = [
    (
        "Messages, .*streamed is not whole: calls: .*raw_arguments",
        "a call is cut, and LMDeploy's whole Messages put arguments that are not JSON into an object of its own",
    ),
    closes("LMDeploy's parser"),
    (
        "harmony, .*: stop string: .*content='One moment",
        "LMDeploy does not stop at words of several tokens, and its parser shows no message before a call",
    ),
]


def asked(format: str, kind: str, every: int, stops: int) -> Answers:
    with tempfile.TemporaryDirectory() as directory:
        host = Server(Path(directory), FORMATS[format], kind)
        return answers(host, ROUTES, list(cases(format, stops=stops))[::every])


def main() -> int:
    logging.getLogger("lmdeploy").setLevel("CRITICAL")
    options, left = given(format for format, family in FORMATS.items() if family in STOCK), 0
    stock = {format: asked(format, "stock", options.every, options.stops) for format in options.formats}
    for format in options.formats:  # after all of stock: our parsers take the place of LMDeploy's for good
        left += report(format, stock[format], {"ours": asked(format, "ours", options.every, options.stops)}, EXPLAINED)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
