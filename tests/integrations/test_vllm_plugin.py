"""What vLLM's processes run at their start, with stand-ins for vLLM's two registries of parsers."""

from __future__ import annotations

import logging
import subprocess
import sys
from importlib.metadata import entry_points
from types import ModuleType

import pytest

import harmonystream as hs
from harmonystream.integrations.parser_names import names
from harmonystream.integrations.vllm.plugin import check_version, register_parsers


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
    register_parsers()
    register_parsers()  # vLLM may load a plug-in twice
    for registry, kind in zip(registries, ("tools", "reasoning")):
        assert set(registry.known) == {"harmonystream", *(f"harmonystream_{format}" for format in hs.formats())}
        assert all(name == f"{key}_{kind}" for key, (_, name) in registry.known.items())


def test_a_name_leads_to_its_format():
    assert names()["harmonystream"] is None
    assert {format for format in names().values() if format} == set(hs.formats())


def test_registering_loads_no_parser():
    code = "import sys, harmonystream.integrations.vllm.plugin as p; print([m for m in sys.modules if 'vllm.' in m])"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.strip() == "['harmonystream.integrations.vllm.plugin']"


@pytest.mark.parametrize("version", ["0.33.0", "0.33.2rc1", "0.33.0+cpu"])
def test_the_tested_release_is_taken_silently(version, caplog):
    check_version(version)
    assert not caplog.records


@pytest.mark.parametrize("version", ["0.34.0", "1.0", "dev"])
def test_a_newer_or_unnamed_release_is_taken_with_a_warning(version, caplog):
    with caplog.at_level(logging.WARNING, "vllm.harmonystream"):
        check_version(version)
    assert version in caplog.text and "0.33" in caplog.text


@pytest.mark.parametrize("version", ["0.32.9", "0.9.1"])
def test_an_older_release_is_refused(version):
    with pytest.raises(ImportError, match=r"need vLLM 0\.33 or newer"):
        check_version(version)


@pytest.mark.parametrize("group", ["vllm.general_plugins", "vllm.endpoint_plugins"])
def test_the_entry_points_name_what_is_there(group):
    """Those of an installed distribution, which a checkout that is only on the path is not."""
    for point in entry_points(group=group):
        if point.name.startswith("harmonystream"):
            assert point.module.startswith("harmonystream.integrations.vllm.")
