"""What SGLang's processes run at their start. Its own classes are in tests/engines/real_sglang."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from harmonystream.integrations.sglang.plugin import check_version, register


@pytest.mark.parametrize("named", [None, "", "other", "harmonystream_other, another", "harmonystream_frames"])
def test_nothing_is_imported_unless_the_plug_in_is_named(named, monkeypatch):
    monkeypatch.delenv("SGLANG_PLUGINS", raising=False)
    if named is not None:
        monkeypatch.setenv("SGLANG_PLUGINS", named)
    register()
    assert "harmonystream.integrations.sglang.detectors" not in sys.modules


@pytest.mark.parametrize("named", ["other, harmonystream", "harmonystream,harmonystream_frames"])
def test_a_plug_in_that_is_named_needs_sglang(named, monkeypatch):
    monkeypatch.setenv("SGLANG_PLUGINS", named)
    with pytest.raises(ImportError):
        register()


def test_the_module_of_the_plug_in_imports_no_other():
    found = "print([m for m in sys.modules if m.endswith(('.hooks', '.frames', '.adapter', '.detectors'))])"
    code = f"import sys, harmonystream.integrations.sglang.plugin; {found}"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.strip() == "[]"


@pytest.mark.parametrize("version", ["0.5.23", "0.5.23.post1", "0.5.23rc1"])
def test_the_tested_release_is_taken_silently(version, caplog):
    check_version(version)
    assert not caplog.records


@pytest.mark.parametrize("version", ["0.5.24", "0.6.0", "1.0.0", "dev", "0.5.22", "0.4.10.post2"])
def test_another_or_unnamed_release_is_taken_with_a_warning(version, caplog):
    with caplog.at_level(logging.WARNING, "sglang.harmonystream"):
        check_version(version)
    assert version in caplog.text and "0.5.23" in caplog.text
