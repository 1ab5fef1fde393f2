"""Each deviation has a shortest stream that shows it; strict mode raises there, lenient mode goes on."""

from __future__ import annotations

import pytest
from streams import to_ids, token_ids

import harmonystream as hs
from harmonystream.deviations import CODES, EXPECTED

CALL = "<|channel|>commentary to=functions.f json<|message|>{}<|call|>"
FINAL = "<|start|>assistant<|channel|>final<|message|>ok<|return|>"

# code -> (stream after <|start|>assistant, position it is noted at in id mode)
SHORTEST = {
    "repeated-channel": "<|channel|>commentary<|channel|>final<|message|>ok<|return|>",
    "conflicting-recipients": " to=functions.f<|channel|>commentary to=functions.g json<|message|>{}<|call|>",
    "empty-recipient": "<|channel|>commentary to=<|message|>ok<|end|>",
    "bare-content-type": "<|channel|>final json<|message|>{}<|return|>",
    "repeated-content-type": "<|channel|>final<|constrain|>json<|constrain|>code<|message|>{}<|return|>",
    "loose-spacing": "<|channel|>commentary to= functions.f<|message|>{}<|call|>",
    "glued-suffix": "<|channel|>commentary to=functions.fjson<|message|>{}<|call|>",
    "misspelt-channel": "<|channel|>commentary?<|message|>ok<|return|>",
    "unknown-channel": "<|channel|>other<|message|>ok<|return|>",
    "empty-channel": "<|channel|><|message|>ok<|return|>",
    "unmarked-channel": "final<|message|>ok<|return|>",
    "ignored-word": "<|channel|>commentary to=functions.f json really<|message|>{}<|call|>",
    "missing-role": "<|channel|>final<|message|>a<|end|><|start|><|channel|>final<|message|>ok<|return|>",
    "unknown-role": "<|channel|>final<|message|>a<|end|><|start|>narrator<|channel|>final<|message|>ok<|return|>",
    "doubled-role": "<|channel|>final<|message|>a<|end|>" + FINAL.replace("assistant", "assistantassistant"),
    "doubled-start": "<|channel|>final<|message|>a<|end|><|start|>" + FINAL,
    "text-between-messages": CALL + "so" + FINAL,
    "stray-terminator": CALL + "<|return|>",
    "missing-start": CALL + "<|channel|>final<|message|>ok<|return|>",
    "missing-end": "<|channel|>analysis<|message|>hm" + FINAL,
    "abandoned-header": "<|channel|>analysis" + FINAL,
    "missing-message": "<|channel|>final ok<|return|>",
    "header-too-long": "<|channel|>final" + " x" * 126,
    "no-markup": "Hello",
    "text-to-assistant": "<|channel|>commentary to=assistant<|message|>ok<|return|>",
    "stray-control": "<|channel|>final<|message|>o<|message|>k<|return|>",
    "end-of-text": "<|channel|>final<|message|>ok<|endoftext|>",
    "unknown-id": "<|channel|>final<|message|>�<|return|>",  # replaced by an id below
    "repeated-recipient": "<|channel|>commentary to=functions.f to=functions.f<|message|>{}<|call|>",
    "bare-recipient": "<|channel|>commentary functions.f<|message|>{}<|call|>",
    "foreign-role": FINAL.replace("assistant", "user"),
    "call-without-tools": CALL,
    "invalid-utf8": "<|channel|>final<|message|>�<|return|>",  # replaced by an id below
    "unfinished-header": "<|channel|>ana",
    "after-end": CALL + "<|endoftext|>more",
}
UNKNOWN_ID, LONE_BYTE = 300_000, token_ids()[b"\xff"]


def ids_of(code: str) -> list[int]:
    if code == "unknown-id":
        return [*to_ids(b"<|channel|>final<|message|>"), UNKNOWN_ID, *to_ids(b"<|return|>")]
    if code == "invalid-utf8":
        return [*to_ids(b"<|channel|>final<|message|>"), LONE_BYTE, *to_ids(b"<|return|>")]
    return to_ids(SHORTEST[code].encode())


def options(code: str) -> dict[str, object]:
    start = "" if code == "foreign-role" else "auto"
    return {"tools": [] if code == "call-without-tools" else ["f"], "start": start}


TAGS_ONLY = {
    *("stray-closer", "repeated-opener", "missing-opener", "missing-closer", "misspelt-closer", "other-body"),
    *(
        "ignored-text",
        "missing-value",
        "wrapped-arguments",
        "misspelt-name",
        "call-syntax",
        "call-in-reasoning",
        "held-too-long",
    ),
    *("value-type", "ignored-member", "fenced-call", "invalid-json"),  # in test_deviations_tags.py
}


def test_every_code_has_its_example():
    assert list(SHORTEST) == [code for code in CODES[1:] if code not in TAGS_ONLY]
    assert set(EXPECTED) < set(CODES)


@pytest.mark.parametrize("code", SHORTEST)
def test_lenient_notes_it_and_goes_on(code):
    parser = hs.Parser(**options(code))
    parser.feed(ids_of(code))
    parser.finish()
    codes = [deviation.code for deviation in parser.deviations]
    assert codes.count(code) == 1
    assert parser.deviation_count == len(codes)


@pytest.mark.parametrize("code", SHORTEST)
@pytest.mark.parametrize("one_by_one", [False, True])
def test_strict_raises_for_those_that_have_an_expectation(code, one_by_one):
    parser = hs.Parser(strict=True, **options(code))
    ids = ids_of(code)
    pieces = [[tid] for tid in ids] if one_by_one else [ids]
    if code not in EXPECTED:
        assert [event for piece in pieces for event in parser.feed(piece)] or code == "unfinished-header"
        assert type(parser.finish()[-1]) is hs.StreamEnd
        return
    with pytest.raises(hs.errors.ParseError) as caught:
        for piece in pieces:
            parser.feed(piece)
        parser.finish()
    error = caught.value
    assert (error.code, error.expected) == (code, EXPECTED[code])
    assert 0 <= error.position <= len(ids)
    assert error.state in ("START", "HEADER", "BODY", "DONE")
    with pytest.raises(hs.errors.ParseError) as again:
        parser.feed([1])
    assert (again.value.code, again.value.position) == (code, error.position)
    with pytest.raises(hs.errors.ParseError):
        parser.finish()
    parser.reset()
    assert parser.finish() == (hs.StreamEnd(None),)


def test_an_error_carries_what_was_parsed_before_it():
    parser = hs.Parser(strict=True)
    with pytest.raises(hs.errors.ParseError) as caught:
        parser.feed(to_ids(b"<|channel|>analysis<|message|>hm<|end|>oops"))
    assert [type(event).__name__ for event in caught.value.events] == ["MessageStart", "ReasoningDelta", "MessageEnd"]
    assert caught.value.position == 5


@pytest.mark.parametrize(
    "text",
    [
        "<|channel|>analysis<|message|>hm<|end|>" + FINAL,
        CALL,
        " to=functions.f<|channel|>commentary json<|message|>{}<|call|>",
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
        "<|channel|>final <|constrain|>json<|message|>{}<|return|>",
        "<|channel|>analysis to=python code<|message|>1<|call|>",
        "<|channel|>commentary to=bare<|message|>{}<|end|>" + FINAL,
        "<|channel|>comment to=bare<|message|>{}<|call|>",
    ],
)
def test_strict_accepts_what_the_model_was_trained_to_write(text):
    parser = hs.Parser(strict=True)
    parser.feed(to_ids(text.encode()))
    parser.finish()
    assert parser.deviations == ()


def test_the_first_sixteen_are_kept_and_all_are_counted():
    parser = hs.Parser()
    parser.feed(to_ids(b"<|channel|>final<|message|>") + [200008] * 40)
    assert len(parser.deviations) == 16
    assert parser.deviation_count == 40
    assert parser.deviations[0] == hs.Deviation("stray-control", 3)
    assert parser.deviations[15].position == 18


@pytest.mark.parametrize("code", [code for code in SHORTEST if code in EXPECTED and code != "unknown-id"])
def test_where_strict_mode_stops_does_not_depend_on_the_cut(code):
    text = SHORTEST[code].encode()
    stops = set()
    for size in (1, 2, 3, 7, len(text)):
        parser = hs.Parser(strict=True, **options(code))
        with pytest.raises(hs.errors.ParseError) as caught:
            for at in range(0, len(text), size):
                parser.feed_text(text[at : at + size])
            parser.finish()
        stops.add((caught.value.code, caught.value.position, caught.value.state, parser.position, parser.usage))
    assert len(stops) == 1
