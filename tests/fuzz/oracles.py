"""What must hold of any stream, however broken. Logs are merged lists of tuples (class name, fields…, start, stop)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from streams import TEXT_FIELD, EventTuple, merge

import harmonystream as hs

Piece = Sequence[int] | str | bytes
FIELDS = {cls: attrgetter(*cls.__match_args__) for cls in hs.Event.__args__}
REGIONS = tuple(region.name.lower() for region in hs.Region)


def as_tuples(events: Iterable[hs.Event]) -> list[EventTuple]:
    return [(type(event).__name__, *FIELDS[type(event)](event)) for event in events]


def replay(
    parser: hs.Parser, pieces: Sequence[Piece], reason: str | None, text_mode: bool
) -> tuple[list[EventTuple], hs.errors.ParseError | None]:
    """The merged log of the pieces, and the error that ended it in strict mode. Any other error is a bug."""
    feed = parser.feed_text if text_mode else parser.feed
    events: list[hs.Event] = []
    error = None
    try:
        for piece in pieces:
            events += feed(piece)
        events += parser.finish(reason)
    except hs.errors.ParseError as raised:
        assert parser.strict
        error = raised
        events += raised.events
    return merge(as_tuples(events)), error


def outcome(parser: hs.Parser, log: list[EventTuple], error: hs.errors.ParseError | None) -> tuple[Any, ...]:
    """All that another cut of the same stream must have in common with this one."""
    end = parser.position if error is None else (error.code, error.position, error.state)
    message = (parser.role, parser.channel, parser.recipient, parser.content_type)
    return log, end, parser.usage, parser.deviations, parser.deviation_count, parser.region, parser.calls, message


def check_order(log: Sequence[EventTuple], position: int, whole: bool) -> None:
    """Messages and calls nest and end, calls are numbered, ranges stay in the stream. `whole`: up to the StreamEnd."""
    message: EventTuple | None = None
    call: object = None
    calls = 0
    ended = False
    for event in log:
        kind = event[0]
        assert not ended, f"{event} after StreamEnd"
        assert event[-1] <= position, f"{event} is beyond {position}"
        if kind == "MessageStart":
            assert message is None, f"{event} inside a message"
            message, call = event, None
        elif kind == "StreamEnd":
            assert message is None and event[-2:] == (position, position), f"{event} at {position}"
            ended = True
        else:
            assert message is not None, f"{event} outside of a message"
            if kind == "MessageEnd":
                assert call in (None, "closed") and event[1:5] == message[1:5], f"{event} ends {message}"
                message = None
            elif kind == "ToolCallStart":
                assert call is None and event[1] == calls and message[1] == "assistant", f"{event} is call {calls}"
                call, calls = event[1], calls + 1
            elif kind == "ToolCallEnd":
                assert event[1] == call, f"{event} ends call {call}"
                call = "closed"
            else:
                check_delta(event, message, call)
    assert ended == whole and message is None


def check_delta(event: EventTuple, message: EventTuple, call: object) -> None:
    assert message[1] == "assistant", f"{event} in a message that is suppressed"
    if event[0] == "ToolCallDelta":
        assert event[1] == call, f"{event} in call {call}"
    else:
        assert call is None, f"{event} in call {call}"
        expected = ("ReasoningDelta",) if message[2] == "analysis" else ("ContentDelta", message[2])
        assert expected == (event[0], *event[2:-2]), f"{event} in {message}"


def check_counts(parser: hs.Parser, fed: int) -> None:
    usage = parser.usage
    counts = [getattr(usage, region) for region in REGIONS]
    assert min(counts) >= 0 and sum(counts) == usage.total == parser.position == fed, f"{usage} of {fed}"


def check_labels(labels: bytes, parser: hs.Parser, fed: int) -> None:
    """One label per token, and as many of each as the stream counted."""
    assert len(labels) == fed
    count = Counter(labels)
    assert [count[region] for region in hs.Region] == [getattr(parser.usage, region) for region in REGIONS]


def texts(log: Sequence[EventTuple], *kinds: str) -> str:
    """The deltas of these kinds (or all), joined."""
    found = [event for event in log if event[0] in TEXT_FIELD and (not kinds or event[0] in kinds)]
    return "".join(str(event[TEXT_FIELD[str(event[0])]]) for event in found)


def check_no_markup(log: Sequence[EventTuple], ordinary: bytes) -> None:
    """Control ids leave no trace: what looks like a marker was spelled by ordinary tokens."""
    if b"<" not in ordinary:
        fields = [str(field) for event in log for field in event if isinstance(field, str)]
        assert "<|" not in "".join(fields), f"a marker in {fields}"


def check_failed(parser: hs.Parser, error: hs.errors.ParseError, piece: Piece, text_mode: bool) -> None:
    """After its error, a strict parser only repeats it."""
    for again in (parser.finish, lambda: parser.feed_text(piece) if text_mode else parser.feed(piece)):
        try:
            again()
        except hs.errors.ParseError as repeated:
            assert (repeated.code, repeated.position, repeated.events) == (error.code, error.position, ())
        else:
            raise AssertionError(f"{parser!r} went on after {error!r}")


def check_strict(
    strict: Sequence[EventTuple], error: hs.errors.ParseError | None, lenient: Sequence[EventTuple]
) -> None:
    """Strict mode says the same, up to its error, which ends what is open."""
    if error is None:
        assert strict == lenient
        return
    strict = list(strict)
    while strict and strict[-1][0] in ("ToolCallEnd", "MessageEnd"):
        strict.pop()
    whole, last = strict[:-1], strict[-1:]
    assert whole == lenient[: len(whole)]
    for event in last:
        twin = lenient[len(whole)]
        field = TEXT_FIELD.get(str(event[0]))
        if field is None:
            assert event == twin
        else:
            assert event[0] == twin[0] and str(twin[field]).startswith(str(event[field]))
