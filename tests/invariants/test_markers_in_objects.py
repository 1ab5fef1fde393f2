"""A marker of the row in an object with a call is read as docs/tags.md, 5 specifies, as an id and as text."""

from __future__ import annotations

import pytest
from broken_calls import OPTIONS, parts_of
from fuzz import rows, targets
from test_name_aliases import WRAPPED, around, keys

PLACES = ('"x": "one{}two"', '"x": ["one{}"], "n": 1', '"x{}": "one"', '"x": {}1', '"x": "\\{}"')


@pytest.mark.parametrize("name", WRAPPED)
def test_markers_are_read_as_specified(name):
    before, after = around(name)
    named, key = keys(name)
    for marker in rows.built_in(name).markers:
        for place in PLACES:
            arguments = "{" + place.replace("{}", marker.decode()) + "}"
            text = f'{before}{{"{named}": "f", "{key}": {arguments}}}{after}Hi.'
            for how in ("text", "control", "plain", "split"):
                case = {"row": name, "how": how, "stream": parts_of(name, text), "tools": "one", "reason": "stop"}
                targets.check("tagpage", case | OPTIONS)


@pytest.mark.parametrize("name", WRAPPED)
def test_an_object_that_ends_after_a_comma_without_arguments_is_not_complete(name):
    before, after = around(name)
    named, key = keys(name)
    if named == "f":
        return
    for inside in ("}", f'}}{key}": {{"x": 1}}}}'):
        case = {"row": name, "how": "text", "tools": "one", "reason": "stop"}
        case["stream"] = parts_of(name, f'{before}{{"{named}": "f", {inside}{after}')
        targets.check("tagpage", case | OPTIONS)
