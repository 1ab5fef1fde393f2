"""The id after the name of a call (docs/tags.md, 4)."""

from __future__ import annotations

import pytest

import harmonystream as hs
from harmonystream.formats import format_of


@pytest.mark.parametrize(
    ("output", "calls"),
    [
        ("[TOOL_CALLS]f[CALL_ID]a1B2c3D4e[ARGS]{}", [("f", "a1B2c3D4e")]),
        ("[TOOL_CALLS]f [CALL_ID] 7 [ARGS] {}[TOOL_CALLS]g[ARGS]{}", [("f", "7"), ("g", None)]),
        ("[TOOL_CALLS]f[CALL_ID]é{}", [("f", "é")]),
        ("[TOOL_CALLS]f[CALL_ID][ARGS]{}", [("f", None)]),
        (f"[TOOL_CALLS]f[CALL_ID]{'x' * 256}[ARGS]{{}}", [("f", "x" * 256)]),
        (f"[TOOL_CALLS]f[CALL_ID]{'x' * 257}[ARGS]{{}}", []),
        ("[TOOL_CALLS]f[CALL_ID]a b[ARGS]{}", []),
        ("[TOOL_CALLS][CALL_ID]a[ARGS]{}", []),
        ("[TOOL_CALLS]f[CALL_ID]a[CALL_ID]b[ARGS]{}", []),
    ],
)
def test_an_id_after_the_name(output, calls):
    done = hs.parse(output, "mistral")
    assert [(call.name, call.id) for call in done.tool_calls] == calls
    assert done.content == ("" if calls else output)


def test_an_id_before_pairs():
    """With pairs, the key's end ends a name that has no end of its own, but no id."""
    closed = hs.Format("closed", call=("<run f=", ">", "</run>"), call_id=("#", "::"), pair=("<k=", ">", "", "</k>"))
    (call,) = hs.parse("<run f=f::1><k=s>a</k></run>", closed).tool_calls
    assert (call.name, call.id, call.arguments) == ("f", "1", '{"s": "a"}')
    opened = closed._replace(name="opened", call=("<run>", "", "</run>"))
    text = "<run>f#1<k=s>a</k></run>"
    assert hs.parse(text, opened, tools=["f"]).tool_calls[0].id == "1"
    assert hs.parse("<run>fs>a</k></run>", opened, tools=["f"]).tool_calls[0].arguments == '{"s": "a"}'
    text = "<run>f#1s>a</k></run>"
    assert hs.parse(text, opened, tools=["f"]).content == text


@pytest.mark.parametrize("fields", [{"call": None, "wrapped": False}, {"name_as": "id"}, {"name_as": "function"}])
def test_a_row_that_cannot_have_ids_after_names(fields):
    with pytest.raises(hs.errors.FormatError, match="call_id needs a call and name_as='plain'"):
        hs.Parser(format_of("mistral")._replace(bare_line="text", **fields))
