"""The public surface, compared with surface.txt: it changes on purpose, or not at all.

`python tests/house/test_surface.py` writes the file anew.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import harmonystream as hs
from harmonystream import _moved

FILE = Path(__file__).with_name("surface.txt")
ROOMS = sorted(name for name in hs.__all__ if isinstance(getattr(hs, name), ModuleType))


def parameters_of(thing: Any) -> str:
    """The names of the parameters, with a star before the first that takes no position, and = after those left out."""
    try:
        given = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return "…"
    shown, starred = [], False
    for each in given:
        if each.name == "self":
            continue
        if each.kind is each.VAR_POSITIONAL:
            starred = True
        elif each.kind is each.KEYWORD_ONLY and not starred:
            shown.append("*")
            starred = True
        star = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        shown.append(f"{star}{each.name}{'=' if each.default is not each.empty else ''}")
    return ", ".join(shown)


def of_class(kind: type) -> Iterator[str]:
    inherited = {name for base in kind.__mro__ if base.__module__ == "builtins" for name in vars(base)}
    for name in sorted(dir(kind)):
        if name[0] == "_" or name in inherited:
            continue
        value = getattr(kind, name)
        yield f"    .{name}({parameters_of(value)})" if inspect.isroutine(value) else f"    .{name}"


def of_name(path: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        yield f"{path}({parameters_of(value)})"
        yield from of_class(value)
    elif callable(value) and not isinstance(value, ModuleType):
        yield f"{path}({parameters_of(value)})"
    else:
        yield path


def surface() -> Iterator[str]:
    """Each public name once: at the top, or else in its module."""
    known = set()
    for name in sorted(set(hs.__all__) - set(ROOMS)):
        value = getattr(hs, name)
        known.add(id(value))
        yield from of_name(name, value)
    for module in sorted((*ROOMS, "emit")):
        found = import_module(f"harmonystream.{module}")
        for name in sorted(found.__all__):
            value = getattr(found, name)
            if id(value) not in known or not callable(value):
                yield from of_name(f"{module}.{name}", value)


def test_the_surface_is_the_one_that_is_written_down():
    assert list(surface()) == FILE.read_text(encoding="utf-8").splitlines()


def test_dir_lists_the_public_names_and_no_more():
    listed = [name for name in dir(hs) if name[:2] != "__"]
    assert listed == sorted(name for name in hs.__all__ if name[:2] != "__")
    assert [name for name in listed if name not in ROOMS and isinstance(getattr(hs, name), ModuleType)] == []


@pytest.mark.parametrize("name", sorted(_moved.ROOMS))
def test_a_name_that_has_moved_is_found_and_warns(name):
    with pytest.warns(DeprecationWarning, match=rf"harmonystream\.{name} is harmonystream\.{_moved.ROOMS[name]}"):
        old = getattr(hs, name)
    assert old is getattr(getattr(hs, _moved.ROOMS[name]), name)
    assert name in getattr(hs, _moved.ROOMS[name]).__all__
    assert name not in hs.__all__


def test_modules_can_be_called_as_the_functions_that_had_their_names():
    with pytest.warns(DeprecationWarning, match=r"harmonystream\.formats\(\) is harmonystream\.formats\.names\(\)"):
        assert hs.formats() == hs.formats.names()  # type: ignore[operator]
    with pytest.warns(DeprecationWarning, match=r"harmonystream\.events\(\) is harmonystream\.iter_events\(\)"):
        events = hs.events(["<|channel|>final<|message|>Hi"])  # type: ignore[operator]
    assert [type(event).__name__ for event in events] == ["MessageStart", "ContentDelta", "MessageEnd", "StreamEnd"]


def test_arguments_that_were_renamed_are_taken_and_warn():
    with pytest.warns(DeprecationWarning, match=r"finish= of parse_many\(\) is finish_reason="):
        hs.columns.parse_many(([], [0]), finish="stop")  # type: ignore[call-arg]
    with pytest.warns(DeprecationWarning, match=r"reason= of iter_events\(\) is finish_reason="):
        assert list(hs.iter_events([], reason="length"))[-1].reason == "length"
    with pytest.warns(DeprecationWarning, match="created_at= of __init__"):
        hs.ResponsesStream(id="r", model="m", created_at=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="got finish= and finish_reason=, which are one"):
        hs.columns.parse_many(([], [0]), finish="stop", finish_reason="stop")  # type: ignore[call-arg]


def test_nothing_that_is_public_warns():
    code = "import harmonystream as hs\nfor name in hs.__all__: getattr(hs, name)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


if __name__ == "__main__":
    warnings.simplefilter("error")
    FILE.write_text("".join(f"{line}\n" for line in surface()), encoding="utf-8")


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_lists_its_own_names_alone(room):
    module = getattr(hs, room)
    assert [name for name in dir(module) if not name.startswith("_")] == sorted(module.__all__)
