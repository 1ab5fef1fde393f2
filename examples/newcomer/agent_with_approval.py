"""An agent that asks before it writes a file. Here a recording takes the model's place; a server's URL does as well.
python agent_with_approval.py    (after: pip install 'harmonystream[prompt,tools,engines]')"""

import json
import sys
from pathlib import Path

import harmonystream as hs

CALL = json.dumps({"path": "note.txt", "text": "Buy tea."})
RECORDED = [
    {"text": f"<|channel|>commentary to=functions.write_note<|message|>{CALL}<|call|>"},
    {"text": "<|channel|>final<|message|>That is done.<|return|>"},
]


def ask(pending: hs.tools.PendingCall) -> bool:
    return input(f"{pending.tool.name}({dict(pending.arguments)}) - run it? [y/n] ").startswith("y")


tools = hs.Tools()


@tools.add(approve=ask)
def write_note(path: str, text: str) -> str:
    """Writes text to a file."""
    Path(path).write_text(text, encoding="utf-8")
    return "written"


if __name__ == "__main__":
    engine = sys.argv[1] if len(sys.argv) > 1 else hs.engines.Recorded(RECORDED)
    for event in hs.agent_loop_sync(engine, "Note: buy tea.", tools=tools, model="openai/gpt-oss-20b"):
        match event:
            case hs.agent.ToolRunEnd(call=call, result=result):
                print(call.name, "gave", result.text)
            case hs.agent.LoopEnd(error=None, text=text):
                print(text)
            case hs.agent.LoopEnd(error=error):
                print("The engine failed:", error)
