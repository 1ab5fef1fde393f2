"""Serves a recorded model under three APIs. Needs fastapi and uvicorn. python examples/fastapi_server.py [port]
curl -N localhost:8000/v1/chat/completions -d '{"stream": true}'    (or /v1/responses, or /v1/messages)"""

import asyncio
import json
import sys
import time
from importlib.resources import files

import uvicorn
from fastapi import FastAPI, Request, Response

import harmonystream as hs
from harmonystream.integrations.starlette import EventStreamResponse, whole_response

app = FastAPI()
LINES = (files(hs) / "data" / "demo.jsonl").read_text("utf-8").splitlines()
TURNS = [turn["ids"] for turn in map(json.loads, LINES) if "ids" in turn]  # it calls a tool, then it answers
TOOLS, SECONDS_PER_TOKEN = ["get_forecast"], 0.02


async def model(messages, choices):  # a real one would read them, and be told to stop when this is closed
    answers = any(kind in json.dumps(messages) for kind in ('"tool"', '"function_call_output"', '"tool_result"'))
    for token in TURNS[answers]:
        for choice in range(choices):
            yield choice, token
        await asyncio.sleep(SECONDS_PER_TOKEN)


def streams_of(path, body):
    name, now, tool_choice, n = body.get("model", "recorded"), int(time.time()), body.get("tool_choice"), body.get("n")
    if path == "/v1/responses":
        return [hs.ResponsesStream(tools=TOOLS, id=hs.new_id("resp"), model=name, created_at=now, request=body)]
    if path == "/v1/messages":
        return [hs.MessagesStream(tools=TOOLS, id=hs.new_id("msg"), model=name, tool_choice=tool_choice)]
    if n not in (None, 1, 2, 3, 4):
        raise ValueError("n is 1 to 4")
    options = {"tool_choice": tool_choice, "parallel_tool_calls": body.get("parallel_tool_calls")}
    options["include_usage"] = (body.get("stream_options") or {}).get("include_usage", False)
    parsers = [hs.Parser(tools=TOOLS) for _ in range(n or 1)]
    return hs.ChatStream.several(parsers, id=hs.new_id("chatcmpl"), model=name, created=now, **options)


@app.post("/v1/chat/completions")
@app.post("/v1/responses")
@app.post("/v1/messages")
async def answer(request: Request):
    try:
        streams = streams_of(request.url.path, body := json.loads(await request.body()))
    except (AttributeError, TypeError, ValueError) as error:
        refusal = {"type": "invalid_request_error", "message": f"Bad request: {error}", "param": None, "code": None}
        return Response(json.dumps({"type": "error", "error": refusal}), 400, media_type="application/json")
    source = model(body.get("messages") or body.get("input"), len(streams))
    if body.get("stream"):
        return EventStreamResponse(source, streams, reason="stop", usage={})  # the parsers count what is missing
    return await whole_response(source, streams, reason="stop", usage={})


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]) if len(sys.argv) > 1 else 8000, access_log=False)
