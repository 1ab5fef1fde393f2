"""`make quick`: a changed file names the tests that it concerns."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def concerned():
    spec = importlib.util.spec_from_file_location("concerned", ROOT / "tests" / "concerned.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("ext/harmonystream/_native/core/utf8.pyx", {"tests/native/core/test_utf8.py"}),
        ("ext/harmonystream/_native/core/utf8.pxd", {"tests/native/core"}),
        ("harmonystream/emit/columns.py", {"tests/emit/test_columns.py"}),
        ("harmonystream/emit/__init__.py", {"tests/emit"}),
        ("harmonystream/regions.py", {"tests/test_regions.py"}),
        ("tests/emit/test_columns.py", {"tests/emit/test_columns.py"}),
        ("docs/batch.md", {"tests/house/test_docs.py"}),
        ("LICENSE", set()),
    ],
)
def test_a_file_and_its_tests(concerned, changed, expected):
    native = set(concerned.SLICE.values()) if changed.startswith("ext/") else set()
    assert concerned.tests_of(changed) == expected | native


def test_a_machine_has_its_own_corpus_and_the_wire_none(concerned):
    room = "ext/harmonystream/_native"
    tags = {"tests/native/tags/test_raw.py", concerned.SLICE["tags"]}
    harmony = {"tests/native/harmony/test_headers.py", concerned.SLICE["harmony"]}
    assert concerned.tests_of(f"{room}/tags/raw.pyx") == tags
    assert concerned.tests_of(f"{room}/harmony/headers.pyx") == harmony
    assert concerned.tests_of(f"{room}/wire/sse.pyx") == {
        f"tests/native/wire/test_sse{part}.py" for part in ("", "_alone")
    }


def test_a_whole_file_stands_for_its_tests(concerned):
    names = ["tests/support/streams.py", "ext/harmonystream/_native/tags/raw.pyx"]
    own = "tests/native/tags/test_raw.py"
    assert concerned.concerned(names) == sorted([own, *concerned.ALWAYS, *concerned.CORPUS.values()])


def test_a_folder_stands_for_its_files(concerned):
    names = ["harmonystream/emit/__init__.py", "harmonystream/emit/columns.py"]
    assert concerned.concerned(names) == sorted(["tests/emit", *concerned.ALWAYS])


def test_every_path_exists(concerned):
    sources = [path for top in ("ext", "harmonystream", "docs") for path in (ROOT / top).rglob("*.*") if path.is_file()]
    named = concerned.concerned([path.relative_to(ROOT).as_posix() for path in sources])
    assert [name for name in named if not (ROOT / name.partition("::")[0]).exists()] == []


def test_what_has_changed_is_what_git_says(concerned, tmp_path):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    (tmp_path / "kept").write_text("1")
    (tmp_path / "edited").write_text("1")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    (tmp_path / "edited").write_text("2")
    (tmp_path / "new").write_text("1")
    assert concerned.changed(tmp_path) == ["edited", "new"]
