"""Conversations rendered by the chat templates of PyPI's packages, read back in the rows that their names lead to.

`make check-templates` fetches the packages (llama-cpp-python, trl, axolotl, unsloth) and passes their archives. A name
that leads to no row is printed. So is each turn that comes back as something else, or that the row's grammar does not
take, and then the command fails, unless the template is in KNOWN or in REFUSED, with the reason.
"""

from __future__ import annotations

import ast
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT), str(ROOT / "tests" / "support")]

from round_trips import refused, round_trips  # noqa: E402

import harmonystream as hs  # noqa: E402

# Files that are not named after their model -> the model.
MODELS = {
    "Cohere2MoE": "command-a",
    "cohere2": "command-r7b",
    "deepseekv3": "deepseek-v3",
    "glm4moe": "glm-4.5",
    "gptoss": "gpt-oss",
    "llama3_2_vision": "llama-3.2",
    "mistral_v2v3": "mistral-7b-instruct-v0.3",
    "mistral_v3_tekken": "mistral-nemo",
    "mistral_v7_tekken": "mistral-small",
    "nemotron_3_5_lightning": "nemotron-3-nano",
    "qwen2_5_vl": "qwen2.5",
    "qwen_25": "qwen2.5",
    "qwen25": "qwen2.5",
    "llama31": "llama-3.1",
}

RESULTS_FIRST = "it writes the tool's results before the text that the message has beside its calls"
ONE_CALL = "it writes the first of several calls"
KNOWN = {
    "GigaChat3-10B-A1.8B": ONE_CALL,
    "GigaChat3.1-10B-A1.8B": ONE_CALL,
    "NVIDIA-Nemotron-Nano-v2": "it opens the last message's thoughts, and writes its answer there without a closer",
    **dict.fromkeys(("deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "deepseek_r1_distill"), "`think` has no stops"),
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": "it is DeepSeek-R1's; the distilled models were taught no calls",
    **dict.fromkeys(
        [
            *("gemma4", "gemma4_unified", "gemma4_v3", "gemma4_v4", "gemma4_v5", "google-gemma-4-31B-it"),
            *("gemma-4", "gemma-4-edge", "gemma4_thinking"),
        ],
        RESULTS_FIRST,
    ),
}

# Templates of whose turns the grammar takes some not, and why.
REFUSED = {
    **dict.fromkeys(("LFM2.5-8B-A1B", "lfm2_2_5", "lfm2_2_5_v2"), "it does not escape quotes in strings of Python"),
    "Reka-Edge": "llguidance's JSON has letters without \\u",
    "llama4": "it writes an empty section before a call in JSON",
}


def files_of(archive: Path) -> Iterator[tuple[str, str]]:
    """The names and texts of its files with templates."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as files:
            for name in files.namelist():
                if name.endswith((".jinja", "chat_templates.py")):
                    yield name, files.read(name).decode()
        return
    with tarfile.open(archive) as members:
        for member in members:
            file = members.extractfile(member) if member.name.endswith(".jinja") else None
            if file is not None:
                yield member.name, file.read().decode()


def in_python(source: str) -> Iterator[tuple[str, str]]:
    """The templates that a module assigns to names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                continue
            if isinstance(value, str) and "{%" in value and "messages" in value:
                yield node.targets[0].id.removesuffix("_template"), value


def templates(archive: Path) -> Iterator[tuple[str, str]]:
    for path, text in files_of(archive):
        if path.endswith(".py"):
            yield from in_python(text)
        elif "training" not in path:
            yield Path(path).stem, text


def row_of(name: str) -> str | None:
    model = MODELS.get(name, re.sub(r"(?<=\d)_(?=\d)", ".", name))
    try:
        return hs.format_for(model)
    except hs.errors.FormatError:
        return None


def main() -> int:
    counts, kept = {"read": 0, "known": 0, "wrong": 0}, {"asked": 0, "refused": 0}
    unnamed = []
    for archive in map(Path, sys.argv[1:]):
        for name, source in sorted(templates(archive)):
            row = row_of(name)
            if row is None or row == "harmony":  # Harmony's prompts are compared in chat_templates.py
                unnamed += [name] * (row is None)
                continue
            count, failed = round_trips(source, row)
            kind = "read" if not failed else "known" if name in KNOWN else "wrong"
            counts[kind] += 1
            print(f"{archive.name.partition('-')[0]}, {name}, {row}: {count - len(failed)} of {count} turns", end="")
            print(f" ({KNOWN[name]})" if kind == "known" else "")
            asked, left = refused(source, row)
            kept["asked"] += asked
            kept["refused"] += len(left)
            if left and name not in REFUSED:
                counts["wrong"] += 1
            for trip in [*(failed[:3] if kind == "wrong" else ()), *(left[:2] if name not in REFUSED else ())]:
                print(f"  {trip.where}: {trip.problem}\n    said   {trip.said}\n    output {trip.output!r}")
    print(f"no row: {', '.join(sorted(set(unnamed)))}")
    print(f"templates: {counts}")
    print(f"grammars: {kept['refused']} of {kept['asked']} turns are refused ({', '.join(REFUSED)})")
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
