"""Asks Qwen3 behind vLLM, and shows reasoning, answer and calls as they come.
python qwen3_behind_vllm.py http://localhost:8000 'Rain in Bergen?'    (after: pip install 'harmonystream[engines]')"""

import asyncio
import sys

import harmonystream as hs

TOOL = {
    "name": "get_forecast",
    "description": "The weather forecast of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


async def main(url: str, question: str) -> None:
    prompt = hs.render(question, tools=[TOOL], model="Qwen/Qwen3-8B")
    engine = hs.engines.Completions(url)
    output = engine.generate(prompt, hs.engines.Sampling(max_tokens=2048))
    async for event in hs.iter_events(output, prompt.parser()):
        match event:
            case hs.ReasoningDelta(text=text) | hs.ContentDelta(text=text):
                print(text, end="", flush=True)
            case hs.ToolCallStart(name=name):
                print(f"\n{name} ", end="")
            case hs.ToolCallDelta(arguments=text):
                print(text, end="", flush=True)
            case hs.StreamEnd(reason=reason):
                print(f"\n[{reason}]")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
