"""Where the machines' states are assigned, and the diagrams of them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "ext" / "harmonystream" / "_native"
ASSIGNING = {"tags/transitions.pyx", "harmony/message_transitions.pyx"}
RESTORING = {"stream/snapshot.pyx"}  # reads it from a blob

TARGET = r"[\w.\[\]]+"
ASSIGNMENT = re.compile(
    rf"^\s*\(?(?:{TARGET}\s*[,=]\s*)*(?:\w+\.)+state\b(?:\s*,[^=()]*)?\)?\s*[-+|&^]?=(?!=)|&\s*(?:\w+\.)+state\b",
    re.MULTILINE,
)

sys.path.insert(0, str(ROOT / "docs"))
import state_diagrams  # noqa: E402


def assigning(path: Path) -> bool:
    code = "\n".join(line.split("#")[0] for line in path.read_text(encoding="utf-8").splitlines())
    return ASSIGNMENT.search(code) is not None


@pytest.mark.parametrize(
    "code",
    [
        "s.state = TEXT",
        "s.state=TEXT",
        "s.state |= 1",
        "a, s.state, s.sink = 1, 2",
        "(a,\n s.state,\n b) = c",
        "f(&s.state)",
    ],
)
def test_such_code_assigns_a_state(code):
    assert ASSIGNMENT.search(code)


@pytest.mark.parametrize(
    "code", ["if s.state == TEXT:", "s.error_state = s.state", "f(s.state, n == 1)", "before = s.state"]
)
def test_such_code_does_not(code):
    assert not ASSIGNMENT.search(code)


def test_one_file_of_each_machine_assigns_its_state():
    files = {path.relative_to(NATIVE).as_posix() for path in NATIVE.rglob("*.p*") if assigning(path)}
    assert files == ASSIGNING | RESTORING


@pytest.mark.parametrize("page", state_diagrams.PAGES)
def test_the_diagrams_are_those_of_the_tables(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert text.count(state_diagrams.BEGIN) == text.count(state_diagrams.END) == 1
    assert state_diagrams.drawn(page, text) == text


def test_each_arrow_of_a_table_is_drawn():
    diagram = state_diagrams.mermaid("A", (("A", "f", "B", "one"), ("A", "g", "B", "two"), ("B", "f", "A", "one")))
    assert diagram.splitlines() == [
        "stateDiagram-v2",
        "    [*] --> A",
        "    A --> B: one, or two",
        "    B --> A: one",
    ]
    assert state_diagrams.mermaid("A", (("A", "f", "B", "one"),)).splitlines() == [
        "stateDiagram-v2",
        "    [*] --> B: one",
        "    B --> [*]",
    ]
