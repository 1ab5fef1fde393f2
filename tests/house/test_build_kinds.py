"""setup.py: release builds and debug builds never share C code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = Path("harmonystream", "_native", "core")
PROBE = """
from harmonystream._native.core.build cimport DEBUG_BUILD

DEBUG = bool(DEBUG_BUILD)


def twice(int n):
    return 2 * n
"""


def build(tree: Path, debug: bool) -> str:
    """Build the tree's one module in place, and import it; returns its DEBUG."""
    environment = {name: value for name, value in os.environ.items() if name != "HARMONYSTREAM_DEBUG"}
    environment |= {"HARMONYSTREAM_DEBUG": "1"} if debug else {}
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    code = "from harmonystream._native.core import probe; assert probe.twice(2) == 4; print(probe.DEBUG)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tree, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def small_tree(tree: Path) -> None:
    """A tree with this setup.py, and one small module."""
    for folder in (tree / "ext" / CORE, tree / CORE, tree / "harmonystream" / "data"):
        folder.mkdir(parents=True)
    for package in ("harmonystream", "harmonystream/_native", CORE):
        (tree / package / "__init__.py").touch()
    shutil.copy(ROOT / "setup.py", tree)
    ranks = Path("harmonystream", "data", "o200k_base.tokens")
    shutil.copy(ROOT / ranks, tree / ranks)
    shutil.copy(ROOT / "ext" / CORE / "build.pxd", tree / "ext" / CORE)
    (tree / "ext" / CORE / "probe.pyx").write_text(PROBE)


def test_an_editable_install_leaves_what_the_next_build_needs(tmp_path):
    small_tree(tmp_path)
    lines = ("[project]", 'name = "harmonystream"', 'version = "0"')
    packages = ("[tool.setuptools]", 'packages.find.include = ["harmonystream*"]')
    (tmp_path / "pyproject.toml").write_text("\n".join((*lines, *packages)))
    command = [sys.executable, "-W", "ignore", "setup.py", "--quiet", "editable_wheel"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    made = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.suffix in (".c", ".o", ".obj")}
    assert len(made) == 2
    assert build(tmp_path, debug=False) == "False"
    assert made == {path: path.stat().st_mtime_ns for path in made}


def test_a_tree_that_is_not_compiled_says_what_to_do(tmp_path):
    shutil.copytree(ROOT / "harmonystream", tmp_path / "harmonystream", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    done = subprocess.run([sys.executable, "-c", "import harmonystream"], cwd=tmp_path, capture_output=True, text=True)
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"ImportError: {tmp_path / 'harmonystream'} is a source tree that has not been compiled")
    assert f"Run `make build` in {tmp_path}." in said


def test_a_release_build_never_reuses_the_c_code_of_a_debug_build(tmp_path):
    small_tree(tmp_path)
    debug, release = (tmp_path / top / "ext" / CORE / "probe.c" for top in ("", "build/cython"))
    assert build(tmp_path, debug=True) == "True"
    assert (debug.is_file(), release.is_file()) == (True, False)
    assert "__Pyx_TraceLine(" in debug.read_text(encoding="utf-8")
    traced = debug.read_bytes()

    assert build(tmp_path, debug=False) == "False"
    assert "__Pyx_TraceLine(" not in release.read_text(encoding="utf-8")
    assert debug.read_bytes() == traced

    assert build(tmp_path, debug=True) == "True"  # and back


def test_other_flags_build_everything_anew(tmp_path):
    small_tree(tmp_path)
    build(tmp_path, debug=False)
    setup = (tmp_path / "setup.py").read_text(encoding="utf-8")
    assert setup.count('"auto_pickle": False') == 1
    (tmp_path / "setup.py").write_text(setup.replace('"auto_pickle": False', '"auto_pickle": True'), encoding="utf-8")
    made = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.suffix in (".c", ".o", ".obj")}
    build(tmp_path, debug=False)
    assert len(made) == 2
    assert all(path.stat().st_mtime_ns > before for path, before in made.items())
