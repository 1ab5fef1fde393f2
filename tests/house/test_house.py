"""The rules of the house that a machine can check."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import harmonystream

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "harmonystream"
EXT = ROOT / "ext" / "harmonystream"
NATIVE = sorted(path.relative_to(EXT).with_suffix("").as_posix() for path in EXT.rglob("*.pyx"))
PURE = sorted(path.relative_to(PACKAGE).with_suffix("").as_posix() for path in PACKAGE.rglob("*.py"))
UNTESTED = {  # modules without a test file of their own, and what tests them
    "_version": "tests/house/test_house.py",
    "__main__": "tests/cli/test_cli.py",
    "deviations": "tests/invariants/test_deviations.py",
    "events": "tests/native/stream/test_events.py",
    **dict.fromkeys(
        (f"_native/stream/{name}" for name in ("many", "arrow_in", "arrow_out")), "tests/test_parsing_many.py"
    ),
    "emit/arguments": "tests/emit/test_messages.py",
    **dict.fromkeys(  # polars, too, is in test_columns_in_data_engines.py
        (f"integrations/{name}" for name in ("daft", "datasets", "ray", "spark")),
        "tests/engines/real/test_real_data_engines.py",
    ),
    "integrations/polars": "tests/integrations/test_columns_in_data_engines.py",
    "integrations/model": "tests/integrations/test_vllm_output.py",
    "integrations/vllm/direct": "tests/integrations/test_vllm_direct.py",
    "integrations/vllm/output": "tests/integrations/test_vllm_output.py",
    "integrations/vllm/plugin": "tests/integrations/test_vllm_plugin.py",
    **dict.fromkeys(  # what needs vLLM is tested in its own server, by `make engines-vllm`
        (f"integrations/vllm/{name}" for name in ("parsers", "unified", "harmony")),
        "tests/engines/real_vllm/test_vllm_names.py",
    ),
    **dict.fromkeys(  # and what needs SGLang in its own application, by `make engines-sglang`
        (f"integrations/sglang/{name}" for name in ("adapter", "chunks", "hooks", "reader")),
        "tests/engines/real_sglang/test_sglang_chat.py",
    ),
    "integrations/sglang/detectors": "tests/engines/real_sglang/test_sglang_text.py",
    "integrations/sglang/frames": "tests/engines/real_sglang/test_sglang_frames.py",
    "integrations/sglang/plugin": "tests/integrations/test_sglang_plugin.py",
    **dict.fromkeys(  # and LMDeploy in its own, by `make engines-lmdeploy`
        (f"integrations/lmdeploy/{name}" for name in ("__main__", "parsers")),
        "tests/engines/real_lmdeploy/test_lmdeploy_chat.py",
    ),
    "integrations/engine_releases": "tests/integrations/test_lmdeploy_plugin.py",
    "integrations/parser_names": "tests/integrations/test_vllm_plugin.py",
    "integrations/vllm/derender": "tests/engines/real_vllm/test_vllm_derender.py",
    "integrations/vllm/frames": "tests/engines/real_vllm/test_vllm_frames.py",
    "integrations/vllm/frames_responses": "tests/engines/real_vllm/test_vllm_frames.py",
    "cli/paint": "tests/cli/test_show.py",
    "_encoders": "tests/test_vocab_encode.py",
    "prompt/builtin": "tests/prompt/test_harmony_text.py",
    "prompt/chat_form": "tests/prompt/test_template.py",
    "prompt/gguf": "tests/prompt/test_sources.py",
    "prompt/parts": "tests/prompt/test_messages_normalized.py",
    "prompt/prompt": "tests/prompt/test_rendering.py",
    "prompt/reader": "tests/prompt/test_messages_normalized.py",
    "prompt/tool_definitions": "tests/prompt/test_rendering.py",
    "prompt/typescript_template": "tests/prompt/test_harmony_prompts.py",
    "prompt/writer": "tests/prompt/test_harmony_text.py",
    "cli/parse": "tests/cli/test_cli.py",
    "gateway/plans": "tests/gateway/test_steering.py",
    "gateway/inspector": "tests/gateway/test_inspection.py",
    "gateway/limits": "tests/gateway/test_admission.py",
    "gateway/visit": "tests/gateway/test_metrics.py",
    "gateway/demo": "tests/gateway/test_answering.py",
    "gateway/app": "tests/gateway/test_answering.py",
    **dict.fromkeys(
        (f"gateway/{name}" for name in ("asked", "checks", "contents", "refused", "tool_choices")),
        "tests/gateway/test_options.py",
    ),
    **dict.fromkeys(
        (f"gateway/{name}_api" for name in ("chat", "responses", "messages")), "tests/gateway/test_options.py"
    ),
    "cli/formats": "tests/cli/test_cli_formats.py",
    "cli/demo": "tests/cli/test_cli_terminal.py",
    # The rows of the formats are data.
    **dict.fromkeys(
        (f"formats/{path.stem}" for path in (PACKAGE / "formats").glob("*.py") if path.stem not in ("spec", "models")),
        "tests/formats/test_templates.py",
    ),
}
SOURCES = [path for top in ("harmonystream", "tests", "bench", "examples") for path in (ROOT / top).rglob("*.py")]

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


@pytest.mark.parametrize("module", [*NATIVE, *(name for name in PURE if not name.endswith("__init__"))])
def test_every_module_has_its_test_file(module):
    """The tests mirror the sources: the same path, and `test_` before the name."""
    path = Path(module.removeprefix("_"))
    if module in UNTESTED:
        assert (ROOT / UNTESTED[module]).is_file()
        return
    assert list((ROOT / "tests" / path.parent).glob(f"test_{path.name.lstrip('_')}*.py"))


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


def test_setup_is_short():
    assert len((ROOT / "setup.py").read_text(encoding="utf-8").splitlines()) <= 75


@pytest.mark.parametrize(("limit", "pattern"), [(400, "*.py"), (520, "*.p[yx][xd]")])
def test_files_are_small(limit, pattern):
    files = [path for path in tracked() if path.match(pattern)]
    assert files
    sizes = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert {name: size for name, size in sizes.items() if size > limit} == {}


def test_functions_are_short():
    long = {}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno - node.lineno >= 50:
                long[f"{relative(path)}:{node.name}"] = node.end_lineno - node.lineno + 1
    assert long == {}


def native_functions(text: str) -> dict[str, int]:
    """The functions and methods of a Cython file, and how many lines each has."""
    found, lines = {}, text.splitlines()
    for at, line in enumerate(lines):
        if match := re.match(r"( *)(?:cdef|cpdef|def) (?!class ).*?(\w+)\(", line):
            end = at + 1
            while end < len(lines) and (
                not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > len(match[1])
            ):
                end += 1
            found[match[2]] = len("\n".join(lines[at:end]).rstrip().splitlines())
    return found


def test_native_functions_are_short():
    sizes = {
        f"{relative(path)}:{name}": size
        for path in EXT.rglob("*.p[yx][xd]")
        for name, size in native_functions(path.read_text(encoding="utf-8")).items()
    }
    assert len(sizes) > 500
    assert {name: size for name, size in sizes.items() if size > 80} == {}


def test_native_lines_have_at_most_120_columns():
    long = {
        f"{relative(path)}:{number}": len(line)
        for path in EXT.rglob("*.p[yx][xd]")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120
    }
    assert long == {}


def test_a_native_function_is_measured_whole():
    text = "cdef int one(int a) except -1:\n    a\n\n    b\n\n\ncdef class C:\n    def two(self):\n        return 1\n"
    assert native_functions(text) == {"one": 4, "two": 2}


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


def test_make_has_every_verb():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    verbs = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    assert verbs >= {
        "build",
        "demo",
        "serve",
        "test",
        "bench",
        "fuzz",
        "cov",
        "docs",
        "lint",
        "types",
        "clean",
        "quick",
        "lock",
    }
