"""An endpoint of Chat Completions around an engine that gives raw token ids. Here a recording takes its place.
uvicorn raw_ids_server:app    (after: pip install 'harmonystream[prompt,starlette]' fastapi uvicorn)"""

import json
import time

from fastapi import FastAPI, Request, Response

import harmonystream as hs
from harmonystream.emit import refusal
from harmonystream.integrations.starlette import EventStreamResponse, whole_response

MODEL = "openai/gpt-oss-20b"
app = FastAPI()
engine = hs.engines.Recorded()  # yours has generate(prompt, sampling), which yields ids until it is closed


@app.post("/v1/chat/completions")
async def chat(request: Request):
    try:
        body = json.loads(await request.body())
        prompt = hs.render(body["messages"], tools=body.get("tools") or [], model=MODEL)
        most = body.get("max_completion_tokens") or body.get("max_tokens") or 4096
        sampling = hs.engines.Sampling(max_tokens=most)
        id, now = hs.new_id("chatcmpl"), int(time.time())
        stream = hs.ChatStream(prompt.parser(), id=id, model=MODEL, created=now)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return Response(json.dumps(refusal(error)), 400, media_type="application/json")
    tokens = engine.generate(prompt, sampling)
    if body.get("stream"):
        return EventStreamResponse(tokens, stream)
    return await whole_response(tokens, stream, receive=request.receive)
