"""The order of the native rooms, read from every cimport: core <- harmony, tags <- stream <- wire, and no circle."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

EXT = Path(__file__).resolve().parents[2] / "ext"
NATIVE = EXT / "harmonystream" / "_native"
MODULES = sorted({path.relative_to(NATIVE).with_suffix("").as_posix() for path in NATIVE.rglob("*.p[yx][xd]")})
MAY_USE = {
    "core": {"core"},
    "harmony": {"core", "harmony"},
    "tags": {"core", "tags"},
    "stream": {"core", "harmony", "tags", "stream"},
    "wire": {"core", "stream", "wire"},
}
"""A room -> the rooms whose modules it may cimport."""

CIMPORT = re.compile(r"^\s*(?:from\s+(harmonystream[\w.]+)\s+cimport\b|cimport\s+(harmonystream[\w.]+))", re.MULTILINE)
RELATIVE = re.compile(r"^\s*from\s+\.[\w.]*\s+cimport\b|^\s*include\s", re.MULTILINE)


def cimports(module: str) -> set[str]:
    """The modules that this one's header and source cimport."""
    paths = [path for suffix in (".pxd", ".pyx") if (path := (NATIVE / module).with_suffix(suffix)).is_file()]
    names = [one or other for path in paths for one, other in CIMPORT.findall(path.read_text(encoding="utf-8"))]
    return {name.removeprefix("harmonystream._native.").replace(".", "/") for name in names} - {module}


def circle(uses: dict[str, set[str]]) -> list[str]:
    """Modules that cimport each other in a circle; empty if there is none."""
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_module_lies_in_a_room():
    assert {module.partition("/")[0] for module in MODULES} == set(MAY_USE)
    assert all(module.count("/") == 1 for module in MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_uses_its_room_and_those_before_it(module):
    used = cimports(module)
    assert used <= set(MODULES)
    allowed = MAY_USE[module.partition("/")[0]]
    assert {name for name in used if name.partition("/")[0] not in allowed} == set()


def test_no_module_uses_itself_by_way_of_others():
    assert circle({module: cimports(module) for module in MODULES}) == []


def test_a_circle_would_be_found():
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set()})) == {"a", "b", "c"}


def test_cimports_are_spelled_as_this_test_reads_them():
    """In full, with `cimport` at the beginning of a line: no relative ones, and no included files."""
    found = {path.name: match[0] for path in EXT.rglob("*.p[yx][xd]") if (match := RELATIVE.search(path.read_text()))}
    assert found == {}
    assert sum(len(cimports(module)) for module in MODULES) > 2 * len(MODULES)


def test_the_core_uses_little_of_python():
    """It makes no event, so from the package it needs errors, schemas, files, and rows for `Vocab.missing()`."""
    imports = re.compile(r"^\s*from (harmonystream\.[\w.]+) import", re.MULTILINE)
    used = {name for path in (NATIVE / "core").glob("*.p[yx][xd]") for name in imports.findall(path.read_text())}
    assert used <= {f"harmonystream.{name}" for name in ("errors", "_schema", "formats", "vocabs.files")}


def test_no_two_headers_structs_have_one_name():
    """Of two, a star import hides one, and GCC 14 refuses what then passes between them."""
    struct = re.compile(r"^(?:cdef|ctypedef) (?:packed )?(?:struct|union) (\w+)", re.MULTILINE)
    names = [name for path in NATIVE.rglob("*.pxd") for name in struct.findall(path.read_text(encoding="utf-8"))]
    assert len(names) > 30
    assert {name for name in names if names.count(name) > 1} == set()
