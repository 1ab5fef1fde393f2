"""The tools of a Python file, as the command line and the gateway's settings name one."""

from __future__ import annotations

from pathlib import Path

import pytest

from harmonystream.tools.files import load_tools


def names_in(folder: Path, text: str) -> list[str]:
    file = folder / "mine.py"
    file.write_text(text, "utf-8")
    return [tool.name for tool in load_tools(file)]


def test_the_tools_of_a_file_are_those_that_it_calls_so_or_else_its_functions(tmp_path):
    function = "def f(a: int) -> int:\n    return a\n\ndef _own(): ...\n"
    assert names_in(tmp_path, function + "from os import getcwd\n") == ["f"]
    made = "import harmonystream as hs\n" + function + "def g(): ...\ntools = hs.Tools(g)\n"
    assert names_in(tmp_path, made) == ["g"]


def test_a_dataclass_of_the_file_is_an_argument(tmp_path):
    text = """
from __future__ import annotations
from dataclasses import dataclass
import harmonystream as hs

@dataclass
class Place:
    city: str

def f(place: Place) -> str:
    return place.city

tools = hs.Tools(f)
"""
    assert names_in(tmp_path, text) == ["f"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tools = [1]", "has neither `tools`, a harmonystream.Tools, nor a public function"),
        ("", "has neither `tools`"),
        ("x = 1\n1/0", "mine.py, line 2: ZeroDivisionError: division by zero"),
        ("x = 1\n\ndef f(:", "mine.py, line 3: invalid syntax"),
        ("import nothing_of_this_name", "mine.py, line 1: ModuleNotFoundError: No module named"),
        ("def f(a: object()): ...", "mine.py"),
    ],
)
def test_a_file_that_cannot_be_used_names_itself_and_the_line(tmp_path, text, said):
    with pytest.raises(ValueError) as raised:
        names_in(tmp_path, text)
    assert said in str(raised.value)
    assert str(tmp_path) in str(raised.value)


def test_a_missing_file_and_one_that_is_not_python(tmp_path):
    with pytest.raises(ValueError, match=r"other\.py: there is no such file of tools"):
        load_tools(tmp_path / "other.py")
    (tmp_path / "tools.txt").write_text("")
    with pytest.raises(ValueError, match=r"its name ends in \.py"):
        load_tools(tmp_path / "tools.txt")
