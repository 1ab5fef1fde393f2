"""Profiles for the property tests, chosen by HYPOTHESIS_PROFILE.

`ci` (the default) is quick and tries the same examples every time; `deep` tries forty times as many, and new ones.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

QUICK = 200

settings.register_profile("ci", deadline=None, derandomize=True, max_examples=QUICK, print_blob=True)
settings.register_profile(
    "deep", deadline=None, max_examples=40 * QUICK, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
