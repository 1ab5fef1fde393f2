"""What is shipped: a source archive and a wheel, built from a dirty tree and used from outside it."""

from __future__ import annotations

import configparser
import email
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import harmonystream

ROOT = Path(__file__).resolve().parents[2]
VERSION = harmonystream.__version__
NAME = f"harmonystream-{VERSION}"
GRAFTED = ("LICENSES", "bench", "docs", "examples", "ext", "harmonystream", "harmonystream_plugins", "tests")
TOP = {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "MANIFEST.in", "Makefile", "NOTICE", "README.md", "SECURITY.md"}
TOP |= {"mkdocs.yml", "setup.py"}
GENERATED = (".c", ".html", ".so", ".pyd", ".pyc", ".pyo")

pytestmark = [pytest.mark.slow, pytest.mark.release]

EXTRAS = {
    "cli",
    "engines",
    "gateway",
    "grammar",
    "harmony",
    "mcp",
    "otel",
    "prompt",
    "starlette",
    "store",
    "tiktoken",
    "tokenizers",
    "tools",
}


# Every source is built. C code, and with ccache the compiler's answer, of a source that has not changed since the last
# build come from caches by their hash: `make build` fills the same ones.
ENV = {"CYTHON_CACHE_DIR": str(ROOT / "build" / "cython-cache"), **os.environ}
if shutil.which("ccache") and shutil.which("cc"):
    ENV = {"CC": "ccache cc", **ENV}


def run(*command: object, cwd: Path) -> str:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=ENV, text=True, **pipes)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """The checkout as it lies there, generated files included, but for environments, caches and build directories."""
    copy = tmp_path_factory.mktemp("tree") / "harmonystream"
    ignored = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, copy, ignore=ignored)
    return copy


@pytest.fixture(scope="module")
def dist(tree) -> Path:
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", tree.parent, tree, cwd=tree.parent)  # offline
    return tree.parent


@pytest.fixture(scope="module")
def sources(tree) -> set[str]:
    """Every file of the tree that somebody wrote."""
    paths = (path for top in GRAFTED for path in (tree / top).rglob("*"))
    return {path.relative_to(tree).as_posix() for path in paths if path.is_file() and path.suffix not in GENERATED}


@pytest.fixture(scope="module")
def wheel(dist) -> Path:
    (path,) = dist.glob("*.whl")
    return path


def test_the_source_archive_has_what_was_written_and_no_more(dist, sources):
    with tarfile.open(dist / f"{NAME}.tar.gz") as archive:
        names = {member.name.removeprefix(NAME + "/") for member in archive.getmembers() if member.isfile()}
    info = {name for name in names if name.startswith("harmonystream.egg-info/")}
    assert names - info == sources | TOP | {"pyproject.toml", "PKG-INFO", "setup.cfg"}


def test_the_wheel_has_modules_stubs_and_data_and_no_more(wheel, sources):
    package = {name for name in sources if name.startswith(("harmonystream/", "harmonystream_plugins/"))}
    package.remove("harmonystream/README.md")  # a map for those who have the sources
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    native = {name.removeprefix("ext/")[:-4] for name in sources if name.startswith("ext/") and name.endswith(".pyx")}
    info = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "top_level.txt", "licenses/LICENSE")
    info += ("licenses/LICENSES/MIT.txt", "licenses/NOTICE")
    expected = package | {f"{name}{suffix}" for name in native} | {f"{NAME}.dist-info/{x}" for x in info}
    assert set(zipfile.ZipFile(wheel).namelist()) == expected


def test_the_wheel_is_small_and_has_no_debug_sections(wheel):
    """More than half of the file is the embedded vocabulary, which hardly compresses; the limit is 3 MiB in all."""
    assert wheel.stat().st_size <= 3 << 20
    archive = zipfile.ZipFile(wheel)
    native = [name for name in archive.namelist() if name.endswith((".so", ".pyd"))]
    assert native
    assert [name for name in native if b".debug_info" in archive.read(name)] == []


def test_the_metadata(wheel):
    archive = zipfile.ZipFile(wheel)
    metadata = email.message_from_bytes(archive.read(f"{NAME}.dist-info/METADATA"))
    assert (metadata["Name"], metadata["Version"]) == ("harmonystream", VERSION)
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License-Expression"] == "Apache-2.0 AND MIT"
    assert set(metadata.get_all("Provides-Extra", [])) == EXTRAS
    assert [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line] == []
    entry_points = configparser.ConfigParser()
    entry_points.read_string(archive.read(f"{NAME}.dist-info/entry_points.txt").decode())
    assert {group: list(entry_points[group]) for group in entry_points.sections()} == {
        "console_scripts": ["harmonystream"],
        "sglang.srt.plugins": ["harmonystream"],
        "vllm.general_plugins": ["harmonystream"],
        "vllm.endpoint_plugins": ["harmonystream_derender", "harmonystream_frames"],
    }
    assert entry_points["console_scripts"]["harmonystream"] == "harmonystream.cli:main"


def test_the_wheel_works_in_an_empty_environment(wheel, tmp_path):
    venv.create(tmp_path / "venv", with_pip=False)
    (python,) = [*(tmp_path / "venv").glob("bin/python"), *(tmp_path / "venv").glob("Scripts/python.exe")]
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    assert run(python, "-I", ROOT / "tests" / "wheel_smoke.py", cwd=tmp_path) == f"harmonystream {VERSION} works\n"


def test_a_damaged_rank_file_stops_the_build(tree, tmp_path):
    copy = tmp_path / "tree"
    shutil.copytree(tree, copy, ignore=shutil.ignore_patterns("tests", "*.so", "*.c"))
    ranks = copy / "harmonystream" / "data" / "o200k_base.tokens"
    ranks.write_bytes(ranks.read_bytes().replace(b"!", b"?", 1))
    command = [sys.executable, "setup.py", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=copy, text=True, capture_output=True)
    assert done.returncode == 1
    assert "o200k_base.tokens is missing or damaged (expected sha256 1bc812ae" in done.stderr
    assert not list(copy.rglob("*.so"))
