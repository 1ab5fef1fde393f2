"""Regions and usage are what the native core counts in."""

from __future__ import annotations

import harmonystream as hs


def test_the_numbers_are_part_of_the_interface():
    assert [(region.name, region.value) for region in hs.Region] == [
        ("START", 0),
        ("HEADER", 1),
        ("REASONING", 2),
        ("CONTENT", 3),
        ("ARGUMENTS", 4),
        ("SUPPRESSED", 5),
        ("DONE", 6),
    ]


def test_usage_has_a_field_for_each_region_in_its_order():
    assert hs.Usage._fields == tuple(region.name.lower() for region in hs.Region)
    assert hs.Usage(1, 2, 3, 4, 5, 6, 7).total == 28
