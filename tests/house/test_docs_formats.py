"""docs/formats.md: its tables against the rows, and what it says of our outcomes."""

from __future__ import annotations

import re

import pytest
from test_docs import rows, text_of

import harmonystream as hs
from harmonystream.formats.models import models_of

PROPERTIES = {"s": "string", "i": "integer", "n": "number", "b": "boolean", "o": "object", "l": "array"}
TOOL = {"name": "f", "parameters": {"properties": {key: {"type": kind} for key, kind in PROPERTIES.items()}}}
DIFFERENCES = rows("docs/formats.md", 6)


def shown(done: hs.Completion) -> str:
    """An outcome as the page has it."""
    said = [f"{name} `{text}`" for name, text in (("reasoning", done.reasoning), ("content", done.content)) if text]
    for call in done.tool_calls:
        said.append(f"call {call.name} `{call.arguments}`" + ("" if call.complete else ", cut"))
    return ", ".join(said).replace("\n", "↵") or "nothing"


@pytest.mark.parametrize(("row", "example", "ours"), [row[:3] for row in DIFFERENCES])
def test_we_do_what_the_page_says(row, example, ours):
    source = example[1:-1].replace("↵", "\n")
    output = source.removeprefix("… | ")
    start = "content" if output == source else "reasoning"
    assert shown(hs.parse(output, row.strip("`"), tools=[TOOL], start=start)) == ours


def test_the_table_of_differences_is_there():
    assert len(DIFFERENCES) >= 25
    vllm, sglang = (sum(row[column] == "as we" for row in DIFFERENCES) for column in (3, 4))
    said = f"vLLM reads {vllm} of the {len(DIFFERENCES)} as we do, SGLang {sglang}."
    assert said in " ".join(text_of("docs/formats.md").split())
    assert all("as we" not in row[3] or "as we" not in row[4] for row in DIFFERENCES)


def test_every_row_is_listed_with_its_models():
    first = text_of("docs/formats.md").split("\n## Python calls")[0]  # a field of a row may have a format's name
    listed = {cells[0].strip("`"): cells[1] for cells in rows("docs/formats.md", 3) if f"| {cells[1]} |" in first}
    told = {name: models.partition(":")[0] for name, models in listed.items() if name in hs.formats.names()}
    assert list(told.items()) == [(name, models_of(name)) for name in hs.formats.names()]


def test_the_readme_lists_some_of_them():
    listed = [(name.strip("`"), models) for name, models in rows("README.md", 2)]
    listed = [pair for pair in listed if pair[0] in hs.formats.names()]
    assert listed == [(name, models_of(name)) for name in hs.formats.names() if name in dict(listed)]
    assert {"harmony", "hermes", "qwen3_coder", "deepseek", "glm", "kimi_k2"} <= set(dict(listed))


def test_every_field_of_a_row_is_explained():
    table = text_of("docs/formats.md").split("| field | default | meaning |")[1].split("\n\n")[0]
    named = [name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])]
    assert named == list(hs.Format._fields)
