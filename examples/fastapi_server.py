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
from harmonystream.emit import call_ids_of, refusal, refuse_stored
from harmonystream.integrations.starlette import EventStreamResponse, stopping, whole_response

app = FastAPI()
LINES = (files(hs) / "data" / "demo.jsonl").read_text("utf-8").splitlines()
TURNS = [turn["ids"] for turn in map(json.loads, LINES) if "ids" in turn]  # it calls a tool, then it answers
TOOLS, SECONDS_PER_TOKEN = ["get_forecast"], 0.02  # a real server: body.get("tools") or [], so that [] means no tools


async def model(messages, choices):  # a real one would read them, and stop when this is closed
    answers = any(kind in json.dumps(messages) for kind in ('"tool"', '"function_call_output"', '"tool_result"'))
    for token in TURNS[answers]:
        for choice in range(choices):
            yield choice, token
        await asyncio.sleep(SECONDS_PER_TOKEN)


def streams_of(path, body):
    name, now, tool_choice, n = body.get("model", "recorded"), int(time.time()), body.get("tool_choice"), body.get("n")
    options = {"model": name, "taken": call_ids_of(body.get("messages") or body.get("input"))}
    if path == "/v1/responses":
        shown = {"request": body, "reasoning": "summary"}  # five clients show nothing else
        return [hs.ResponsesStream(tools=TOOLS, id=hs.new_id("resp"), created=now, **shown, **options)]
    if path == "/v1/messages":
        return [hs.MessagesStream(tools=TOOLS, id=hs.new_id("msg"), tool_choice=tool_choice, **options)]
    if n not in (None, 1, 2, 3, 4):
        raise ValueError("n is 1 to 4")
    options |= {"tool_choice": tool_choice, "parallel_tool_calls": body.get("parallel_tool_calls")}
    options["include_usage"] = (body.get("stream_options") or {}).get("include_usage", False)
    parsers = [hs.Parser(tools=TOOLS) for _ in range(n or 1)]
    return hs.ChatStream.several(parsers, id=hs.new_id("chatcmpl"), created=now, **options)


@app.post("/v1/chat/completions")
@app.post("/v1/responses")
@app.post("/v1/messages")
async def answer(request: Request):
    try:
        refuse_stored(body := json.loads(await request.body()))
        streams = streams_of(request.url.path, body)
        source = model(body.get("messages") or body.get("input"), len(streams))
        source = stopping(source, body.get("stop") or body.get("stop_sequences"), streams)
    except (AttributeError, TypeError, ValueError) as error:
        return Response(json.dumps(refusal(error)), 400, media_type="application/json")
    if body.get("stream"):
        return EventStreamResponse(source, streams, reason="stop")
    return await whole_response(source, streams, reason="stop", receive=request.receive)


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]) if len(sys.argv) > 1 else 8000, access_log=False)
