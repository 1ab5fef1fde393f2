"""Our Harmony prompts beside those of openai-harmony or oss-harmony, on many random conversations.

The two packages have one import name, so that each run sees one of them: the Makefile says which (`check-renderers`).
With --record, the ids of the first conversations become the data of tests/prompt/test_harmony_text.py.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT), str(ROOT / "tests" / "support")]
import rank_file  # noqa: E402
from harmony_chats import Chats, ours, theirs  # noqa: E402

os.environ.setdefault("TIKTOKEN_ENCODINGS_BASE", rank_file.folder())

RECORDED = 80


def main() -> None:
    import openai_harmony

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dialect", choices=("openai", "oss"))
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--record", type=Path)
    args = parser.parse_args()
    encoding = openai_harmony.load_harmony_encoding(openai_harmony.HarmonyEncodingName.HARMONY_GPT_OSS)
    package = f"{args.dialect}-harmony"
    recorded, tokens, differ, seconds = [], 0, 0, [0.0, 0.0]
    chats = Chats(args.seed)
    for i in range(args.count):
        chat = chats.chat()
        begin = time.perf_counter()
        mine = ours(chat, args.dialect).ids
        middle = time.perf_counter()
        other = theirs(encoding, chat)
        seconds = [seconds[0] + middle - begin, seconds[1] + time.perf_counter() - middle]
        tokens += len(other)
        if mine != other:
            differ += 1
            print(f"conversation {i}: {encoding.decode(mine)!r}\n  {package}: {encoding.decode(other)!r}")
        if i < RECORDED:
            recorded.append(other)
    print(f"{package} {version(package)}: {args.count} conversations, {tokens} tokens, {differ} differ")
    print(f"{seconds[0] / tokens * 1e6:.2f} µs a token here, {seconds[1] / tokens * 1e6:.2f} there (JSON included)")
    if args.record:
        data = {"package": package, "version": version(package), "seed": args.seed, "ids": recorded}
        args.record.write_text(json.dumps(data, separators=(",", ":")) + "\n", encoding="utf-8")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
