"""Events: immutable values, told apart by their type."""

from __future__ import annotations

import copy
import gc
import pickle
import types
from typing import get_args

import pytest

import harmonystream as hs

EXAMPLES = [
    hs.MessageStart("assistant", "final", None, "json", 0, 3),
    hs.MessageEnd("tool", None, "assistant", None, 4, 5),
    hs.ReasoningDelta("hm", 3, 4),
    hs.ContentDelta("ok", "final", 3, 4),
    hs.ToolCallStart(0, "f", None, "function", 7, 7),
    hs.ToolCallDelta(0, "{}", 7, 8),
    hs.ToolCallEnd(0, True, False, 8, 8),
    hs.ValueStart(0, ("files", 2, "text"), 8, 8),
    hs.ValueDelta(0, ("files", 2, "text"), "hi", 8, 8),
    hs.ValueEnd(0, ("files", 2, "text"), True, 8, 8),
    hs.StreamEnd("stop", 9, 9),
]
names = [type(event).__name__ for event in EXAMPLES]


def values(event):
    return tuple(getattr(event, name) for name in event.__match_args__)


def test_the_union_has_them_all():
    assert set(get_args(hs.Event)) == {type(event) for event in EXAMPLES}


@pytest.mark.parametrize("event", EXAMPLES, ids=names)
def test_an_event_is_a_value(event):
    kind = type(event)
    same = kind(*values(event))
    by_name = kind(**dict(zip(kind.__match_args__, values(event))))
    assert event == same == by_name
    assert hash(event) == hash(same)
    assert {event: 1}[same] == 1
    assert event != kind(*values(event)[:-1], 99)
    assert (event == values(event)) is False
    assert eval(repr(event), vars(hs)) == event


@pytest.mark.parametrize("event", EXAMPLES, ids=names)
def test_an_event_survives_copies(event):
    assert copy.copy(event) == event
    assert copy.deepcopy(event) == event
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(event, protocol)) == event


@pytest.mark.parametrize("event", EXAMPLES, ids=names)
def test_an_event_cannot_change(event):
    for name in event.__match_args__:
        with pytest.raises(AttributeError):
            setattr(event, name, getattr(event, name))
    with pytest.raises(AttributeError):
        event.other = 1
    with pytest.raises(TypeError, match="immutable"):
        event.__init__(*values(event))
    for made in hs.Parser().finish():
        with pytest.raises(TypeError, match="immutable"):
            made.__init__("length")
    with pytest.raises(TypeError):
        type("Sub", (type(event),), {})


def test_events_of_different_types_differ():
    assert hs.ReasoningDelta("x") != hs.ContentDelta("x")
    assert len({hs.ReasoningDelta("x"), hs.ContentDelta("x")}) == 2


def test_matching_by_type():
    match hs.Parser(start="answer").feed(12194):
        case (hs.MessageStart(channel=channel), hs.ContentDelta(text=text, start=0, stop=1)):
            assert (channel, text) == ("final", "Hi")
        case other:
            pytest.fail(repr(other))


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [(hs.ContentDelta, ()), (hs.ContentDelta, (None,)), (hs.ContentDelta, (b"x",)), (hs.ToolCallDelta, ("0", "x"))],
)
def test_wrong_fields_are_refused(kind, arguments):
    with pytest.raises(TypeError):
        kind(*arguments)


def test_the_collector_need_not_know_events():
    assert not any(gc.is_tracked(event) for event in EXAMPLES)


def test_a_tuple_that_is_held_never_changes():
    """feed() uses its last tuple again only when nobody else has it."""
    parser = hs.Parser(start="answer")
    parser.feed(12194)
    kept = [parser.feed(tid) for tid in (12194, 11, 12194, 11)]
    parser.feed(2375)
    assert [events[0].text for events in kept] == ["Hi", ",", "Hi", ","]
    assert len({id(events) for events in kept}) == 4
    assert hash(kept[0]) == hash((kept[0][0],))
    first = parser.feed(12194)[0]
    parser.feed(11)
    assert first == hs.ContentDelta("Hi", "final", 6, 7)


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (hs.ReasoningDelta, "text"),
        (hs.ContentDelta, "text"),
        (hs.ContentDelta, "channel"),
        (hs.ToolCallDelta, "arguments"),
    ],
)
def test_the_text_of_a_delta_is_a_slot(kind, field):
    """The interpreter reads slots without a call."""
    assert type(vars(kind)[field]) is types.MemberDescriptorType
