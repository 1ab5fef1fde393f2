"""Profiles for the property tests, chosen by HYPOTHESIS_PROFILE.

`ci` (the default) is quick and tries the same examples every time; `deep` tries forty times as many, and new ones.
With TESTS_WITHOUT=packages, tests are skipped if a package that they import is not installed.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

QUICK = 200

settings.register_profile("ci", deadline=None, derandomize=True, max_examples=QUICK, print_blob=True)
settings.register_profile(
    "deep", deadline=None, max_examples=40 * QUICK, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

if os.environ.get("TESTS_WITHOUT") == "packages":  # some have no wheels for the newest Pythons

    class Module(pytest.Module):
        """A module of tests, which is skipped if a package that it imports is not installed."""

        def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
            try:
                return super().collect()
            except (self.CollectError, RuntimeError) as error:
                if "ModuleNotFoundError" in str(error) or "package to be installed" in str(error):
                    raise pytest.skip.Exception(str(error)[-200:], allow_module_level=True) from None
                raise

    def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
        return Module.from_parent(parent, path=module_path)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call() -> Generator[None, None, None]:
        try:
            return (yield)
        except ImportError as error:  # its own, or as the library says it
            missing = error if isinstance(error, ModuleNotFoundError) else error.__cause__
            if isinstance(missing, ModuleNotFoundError) and not (missing.name or "").startswith("harmonystream"):
                pytest.skip(str(error))
            raise
