"""Serves a recorded model under the three APIs. Needs harmonystream[starlette], fastapi and uvicorn.
python examples/fastapi_server.py
curl -N localhost:8000/v1/chat/completions -d '{"stream": true}'    (or /v1/responses, or /v1/messages)
"""

import asyncio
import json
import sys
import time
import uuid
from collections.abc import AsyncIterator
from importlib.resources import files

import uvicorn
from fastapi import FastAPI, Request, Response

import harmonystream as hs
from harmonystream.integrations.starlette import EventStreamResponse, whole_response

app = FastAPI()
LINES = (files(hs) / "data" / "demo.jsonl").read_text("utf-8").splitlines()
TURNS = [turn["ids"] for turn in map(json.loads, LINES) if "ids" in turn]  # it calls a tool, then it answers
SECONDS_PER_TOKEN = 0.02


async def model(turn: int) -> AsyncIterator[int]:
    """A real one would take the messages, and be told to stop when this is closed."""
    for token in TURNS[turn]:
        yield token
        await asyncio.sleep(SECONDS_PER_TOKEN)


@app.post("/v1/chat/completions")
@app.post("/v1/responses")
@app.post("/v1/messages")
async def answer(request: Request) -> Response:
    body = json.loads(await request.body())
    name, now, id = body.get("model", "recorded"), int(time.time()), uuid.uuid4().hex
    said = json.dumps(body.get("messages", body.get("input", "")))
    turn = int(any(kind in said for kind in ('"tool"', '"function_call_output"', '"tool_result"')))
    parser, stop, used = hs.Parser(tools=["get_forecast"]), len(TURNS[turn]), {}
    if request.url.path == "/v1/chat/completions":
        usage = bool((body.get("stream_options") or {}).get("include_usage"))
        stream = hs.ChatStream(parser, id=f"chatcmpl-{id}", model=name, created=now, include_usage=usage)
        used = {"prompt_tokens": 0, "completion_tokens": stop, "total_tokens": stop}
    elif request.url.path == "/v1/responses":
        stream = hs.ResponsesStream(parser, id=f"resp_{id}", model=name, created_at=now, request=body)
    else:
        stream = hs.MessagesStream(parser, id=f"msg_{id}", model=name)
    if body.get("stream"):
        return EventStreamResponse(model(turn), stream, reason="stop", usage=used)
    whole = await whole_response(model(turn), stream, reason="stop", usage=used)
    return Response(json.dumps(whole), media_type="application/json")


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]) if len(sys.argv) > 1 else 8000, access_log=False)
