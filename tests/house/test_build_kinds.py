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


def test_a_release_build_never_reuses_the_c_code_of_a_debug_build(tmp_path):
    for folder in (tmp_path / "ext" / CORE, tmp_path / CORE, tmp_path / "harmonystream" / "data"):
        folder.mkdir(parents=True)
    for package in ("harmonystream", "harmonystream/_native", CORE):
        (tmp_path / package / "__init__.py").touch()
    shutil.copy(ROOT / "setup.py", tmp_path)
    ranks = Path("harmonystream", "data", "o200k_base.tokens")
    shutil.copy(ROOT / ranks, tmp_path / ranks)
    shutil.copy(ROOT / "ext" / CORE / "build.pxd", tmp_path / "ext" / CORE)
    (tmp_path / "ext" / CORE / "probe.pyx").write_text(PROBE)

    debug, release = (tmp_path / top / "ext" / CORE / "probe.c" for top in ("", "build/cython"))
    assert build(tmp_path, debug=True) == "True"
    assert (debug.is_file(), release.is_file()) == (True, False)
    assert "__Pyx_TraceLine(" in debug.read_text(encoding="utf-8")
    traced = debug.read_bytes()

    assert build(tmp_path, debug=False) == "False"
    assert "__Pyx_TraceLine(" not in release.read_text(encoding="utf-8")
    assert debug.read_bytes() == traced

    assert build(tmp_path, debug=True) == "True"  # and back
