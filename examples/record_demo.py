"""Writes harmonystream/data/demo.jsonl, the recording that `harmonystream demo` plays.

The conversation is invented. Its ids are what gpt-oss would have to generate to say it, by the tokenizer of gpt-oss:

    pip install 'harmonystream[prompt]'
    python examples/record_demo.py
"""

from __future__ import annotations

import json
from pathlib import Path

from harmonystream.compat.openai_harmony import HarmonyEncodingName, load_harmony_encoding

DATA = Path(__file__).parent.parent / "harmonystream" / "data"

QUESTION = "明天在成都要带雨伞吗? Should I take an umbrella tomorrow?"

FIRST = (
    "<|channel|>analysis<|message|>"
    "The question comes in Chinese and in English: will it rain in 成都 tomorrow? The weather must not be guessed, and "
    "there is a tool for it, get_forecast. First one line for the user, so that they see that something happens; then "
    "the call, with the city and the day."
    "<|end|><|start|>assistant<|channel|>commentary<|message|>"
    "我先查一下成都明天的天气 ☔ One moment, I am looking up the forecast."
    "<|end|><|start|>assistant<|channel|>commentary to=functions.get_forecast <|constrain|>json<|message|>"
    '{"city": "成都", "day": "tomorrow", "hourly": false}'
    "<|call|>"
)

RESULT = '{"morning": "毛毛雨", "afternoon": "阵雨", "low": 11, "high": 17, "rain": 0.8}'

SECOND = (
    "<|channel|>analysis<|message|>"
    "80 % chance of rain, drizzle first and showers later, so: yes. Both languages, briefly."
    "<|end|><|start|>assistant<|channel|>final<|message|>"
    "要带伞 🌂 明天早上有毛毛雨，下午有阵雨，气温 11–17 °C，降雨概率 80%。\n\n"
    "Yes, take one. It drizzles in the morning, and after lunch there are showers. The pandas 🐼 will not mind, the "
    "tea houses 🫖 are dry, and 火锅 🌶️ is at its best in such weather."
    "<|return|>"
)


def recording() -> str:
    """The file's text: the user's messages, and the ids that the model generated, turn by turn."""
    encoding = load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)
    lines: list[dict[str, object]] = [
        {"user": QUESTION},
        {"ids": encoding.encode(FIRST, allowed_special="all")},
        {"tool": "get_forecast", "result": RESULT},
        {"ids": encoding.encode(SECOND, allowed_special="all")},
    ]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


if __name__ == "__main__":
    (DATA / "demo.jsonl").write_text(recording(), encoding="utf-8")
