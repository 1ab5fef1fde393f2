"""What a program calls before LMDeploy makes its server. LMDeploy's own classes are in tests/engines/real_lmdeploy."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from harmonystream.integrations.lmdeploy import check_version, register


def test_without_lmdeploy_there_is_nothing_to_register():
    with pytest.raises(ImportError):
        register()


def test_importing_it_imports_no_parser():
    found = "print([m for m in sys.modules if m.endswith('lmdeploy.parsers')])"
    code = f"import sys, harmonystream.integrations.lmdeploy; {found}"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.strip() == "[]"


@pytest.mark.parametrize("version", ["0.18.0", "0.18.0.post1", "0.18.3rc1"])
def test_the_tested_release_is_taken_silently(version, caplog):
    check_version(version)
    assert not caplog.records


@pytest.mark.parametrize("version", ["0.19.0", "1.0", "dev", "0.17.9", "0.9.1"])
def test_another_or_unnamed_release_is_taken_with_a_warning(version, caplog):
    with caplog.at_level(logging.WARNING, "lmdeploy.harmonystream"):
        check_version(version)
    assert version in caplog.text and "0.18" in caplog.text
