"""The rules of the house that a machine can check."""

from __future__ import annotations

import importlib
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import harmonystream

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "harmonystream"
EXT = ROOT / "ext" / "harmonystream"
NATIVE = sorted(path.relative_to(EXT).with_suffix("").as_posix() for path in EXT.rglob("*.pyx"))
GENERATED = (".c", ".so", ".pyd", ".pyc")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tracked() -> list[Path]:
    """The files of a checkout; in an unpacked source archive, all but what a build leaves there."""
    if (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]
    paths = (path for path in ROOT.rglob("*") if not any(part[0] == "." for part in path.relative_to(ROOT).parts))
    return [path for path in paths if path.is_file() and path.suffix not in GENERATED]


def run(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_no_two_test_files_have_one_name():
    """pytest imports each by its name alone, and refuses the second."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


@pytest.mark.release
@pytest.mark.parametrize("module", NATIVE)
def test_native_modules_are_release_builds(module):
    assert importlib.import_module(f"harmonystream.{module.replace('/', '.')}").DEBUG is False


@pytest.mark.parametrize("module", NATIVE)
def test_native_modules_have_stubs(module):
    assert (PACKAGE / f"{module}.pyi").is_file()


def test_importing_the_package_loads_nothing_third_party():
    loaded = run(
        "import sys; before = set(sys.modules); import harmonystream\n"
        "new = {name for name in set(sys.modules) - before if getattr(sys.modules[name], '__file__', None)}\n"
        "print(*sorted({name.partition('.')[0] for name in new}))"
    ).split()
    assert "harmonystream" in loaded
    assert [name for name in loaded if name != "harmonystream" and name not in sys.stdlib_module_names] == []


def test_importing_the_package_loads_nothing_slow():
    slow = {"asyncio", "dataclasses", "inspect", "importlib.metadata", "json", "logging", "pathlib", "urllib"}
    emitters = {f"harmonystream.{name}" for name in ("_native.wire", "emit")}
    loaded = set(run("import harmonystream, sys; print(*sys.modules)").split())
    before = set(run("import sys; print(*sys.modules)").split())  # a site may load anything
    assert (loaded - before) & (slow | emitters) == set()


def test_the_version_is_the_newest_in_the_changelog():
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == harmonystream.__version__


def test_native_lines_have_at_most_120_columns():
    long = {
        f"{relative(path)}:{number}": len(line)
        for path in EXT.rglob("*.p[yx][xd]")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120
    }
    assert long == {}


def test_the_readme_of_the_native_sources_names_every_file_and_only_functions_that_exist():
    text = (ROOT / "ext" / "README.md").read_text(encoding="utf-8")
    sources = {
        path.relative_to(EXT / "_native").as_posix(): path.read_text("utf-8") for path in EXT.rglob("*.p[yx][xd]")
    }
    named = set(re.findall(r"`(\w+/\w+\.p(?:yx|xd))`", text))
    assert len(sources) > 60
    assert named - sources.keys() == set()
    assert {name[:-4] for name in sources} - {name[:-4] for name in named} == set()
    for row in (line for line in text.splitlines() if line.startswith("| ") and "`, `" in line):
        files = re.findall(r"`(\w+/\w+)\.p(?:yx|xd)`", row)
        code = "".join(sources.get(name + end, "") for name in files for end in (".pyx", ".pxd"))
        for function in re.findall(r"`(\w+)\(\)`", row) if files else ():
            assert re.search(rf"\bc?p?def\b.*\b{function}\(", code), f"{function}() is in none of {files}"


def test_no_file_names_a_machine_path():
    machine_path = re.compile(r"(?<![\w.~/])/(?:root|home|Users|work)/\w+")
    found = {}
    for path in tracked():
        text = path.read_bytes().decode("utf-8", "replace")
        if match := machine_path.search(text):
            found[relative(path)] = match[0]
    assert found == {}


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="git knows what is tracked")
def test_no_generated_file_is_tracked():
    assert [relative(path) for path in tracked() if path.suffix in GENERATED] == []


@pytest.mark.skipif(not (ROOT / ".ci").exists(), reason="a source archive has no .ci")
def test_the_entry_of_ci_can_be_run():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_the_lock_has_every_package_that_the_tests_need():
    groups = pytest.importorskip("tomllib").loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    wanted, seen = ["dev"], set()
    for group in wanted:
        wanted += [each["include-group"] for each in groups[group] if isinstance(each, dict)]
        seen |= {re.match(r"[\w.-]+", each)[0] for each in groups[group] if isinstance(each, str)}
    locked = set(re.findall(r"^([\w.-]+)==", (ROOT / "tests" / "lock.txt").read_text("utf-8"), re.MULTILINE))
    assert len(seen) > 20
    assert seen - locked == set()


@pytest.mark.skipif(not (ROOT / ".github").exists(), reason="a source archive has no .github")
def test_a_release_needs_one_version_in_tag_tree_and_changelog():
    check = runpy.run_path(str(ROOT / ".github" / "check_release.py"))["problems"]
    changelog = "# Changelog\n\n## 1.2.0 (2026-11-24)\n\n## 1.1.0 (2026-01-01)\n"
    assert check("v1.2.0", "1.2.0", changelog) == []
    assert len(check("v1.1.0", "1.2.0", changelog)) == 1
    assert len(check("v1.3.0", "1.3.0", changelog)) == 1
    assert len(check("v1.2.0", "1.2.0", changelog.replace(" (2026-11-24)", ""))) == 1
