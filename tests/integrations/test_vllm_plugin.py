"""What vLLM's processes run at their start, with stand-ins for vLLM's two registries of parsers."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest

import harmonystream as hs
from harmonystream.integrations.parser_names import names
from harmonystream.integrations.vllm.fits import check_version
from harmonystream_plugins import FORMATS, register_vllm


class Registry:
    def __init__(self) -> None:
        self.known: dict[str, tuple[str, str]] = {}

    def register_lazy_module(self, name: str, module_path: str, class_name: str) -> None:
        self.known[name] = (module_path, class_name)


@pytest.fixture
def registries(monkeypatch: pytest.MonkeyPatch) -> list[Registry]:
    made = []
    for module, name in (("vllm.tool_parsers", "ToolParserManager"), ("vllm.reasoning", "ReasoningParserManager")):
        stand_in = ModuleType(module)
        made.append(Registry())
        setattr(stand_in, name, made[-1])
        monkeypatch.setitem(sys.modules, module, stand_in)
    monkeypatch.setitem(sys.modules, "vllm", ModuleType("vllm"))
    return made


def test_every_format_has_a_pair(registries):
    register_vllm()
    register_vllm()  # vLLM may load a plug-in twice
    for registry, kind in zip(registries, ("tools", "reasoning")):
        assert set(registry.known) == {"harmonystream", *(f"harmonystream_{format}" for format in hs.formats.names())}
        assert all(name == f"{key}_{kind}" for key, (_, name) in registry.known.items())


def test_a_name_leads_to_its_format():
    assert names()["harmonystream"] is None
    assert {format for format in names().values() if format} == set(hs.formats.names())


def test_the_formats_of_the_plugins_are_all_formats():
    assert sorted(FORMATS) == sorted(hs.formats.names()), "write a new format into harmonystream_plugins.FORMATS, too"


def test_a_process_that_does_not_ask_imports_one_small_module():
    code = (
        "import sys, harmonystream_plugins as p; p.register_sglang();"
        "print([m for m in sys.modules if m.startswith('harmonystream')])"
    )
    environment = {name: value for name, value in os.environ.items() if name != "SGLANG_PLUGINS"}
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    assert run.stdout.strip() == "['harmonystream_plugins']"


@pytest.mark.parametrize("version", ["0.32.0", "0.33.0", "0.33.2rc1", "0.33.0+cpu"])
def test_the_tested_release_is_taken_silently(version, caplog):
    check_version(version)
    assert not caplog.records


@pytest.mark.parametrize("version", ["0.34.0", "1.0", "dev", "0.31.9", "0.9.1"])
def test_another_or_unnamed_release_is_taken_with_a_warning(version, caplog):
    with caplog.at_level(logging.WARNING, "vllm.harmonystream"):
        check_version(version)
    assert version in caplog.text and "0.33" in caplog.text


def test_the_entry_points_name_what_is_there():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [value for points in project["entry-points"].values() for value in points.values()]
    assert len(named) == 4
    for value in named:
        assert callable(EntryPoint("", value, "").load())
