"""Holds openai-harmony's StreamableParser against the conformance cases, over the line protocol:

harmonystream conformance --format harmony --against 'python tests/peers/openai_harmony_answers.py'
"""

from __future__ import annotations

import json
import sys
from typing import Any

from openai_harmony import HarmonyEncodingName, Role, StreamableParser, load_harmony_encoding

ENCODING = load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The events that a user of the parser makes of what it says after each token."""
    if request["input"] != "ids" or request["format"] != "harmony" or request["start"] != "auto":
        return {"skip": "it reads Harmony's ids, from the beginning of the assistant's turn"}
    parser = StreamableParser(ENCODING, Role.ASSISTANT)
    rows: list[list[Any]] = []
    calls, called = 0, False
    try:
        for tid in (tid for piece in request["pieces"] for tid in piece):
            before = len(parser.messages)
            parser.process(tid)
            text, channel, recipient = parser.last_content_delta or "", parser.current_channel, parser.current_recipient
            if parser.state.name == "CONTENT" and parser.current_role == Role.ASSISTANT:
                if recipient is not None and recipient != "assistant":
                    if not called:
                        rows.append(["call", calls, recipient.removeprefix("functions.")])
                        called = True
                    rows.append(["arguments", calls, text])
                else:
                    rows.append(["reasoning", text] if channel == "analysis" else ["content", text, channel])
            if len(parser.messages) > before:
                calls, called = calls + called, False
    except Exception as error:
        return {"error": str(error)}
    return {"events": rows, "without": ["end", "finish"]}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
