"""Streams of ids and of text: every cut, strict or lenient, gives what one feed of the whole gives."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from reference import interpret
from streams import EventTuple, items_of_ids, items_of_text, merge, prefix_items, without_ranges

import harmonystream as hs
from fuzz import oracles, tokens

Case = dict[str, Any]
ONE_BY_ONE = 48  # longest stream that is fed unit by unit
LONG = 4096  # from so many ids on, one feed gives up the GIL; it is slow, so the option is one that is seldom drawn
LONG_SIGN = 0x9D
SLOW = 32  # longest stream for the reference


def decode_options(options: bytes) -> Case:
    """Six of the eight bytes: how the parser is made."""
    return {
        "tools": tokens.TOOLS[options[0] % len(tokens.TOOLS)],
        "start": tokens.STARTS[options[1] % len(tokens.STARTS)],
        "strict": options[2] % 4 == 3,
        "empty_args": "" if options[2] & 4 else "{}",
        "reason": tokens.REASONS[options[3] % len(tokens.REASONS)],
        "cuts": sorted({options[4], options[5]}),
        "turn": options[6] % 8,
    }


def decode_ids(options: bytes, payload: bytes) -> Case:
    ids = tokens.read_ids(payload)
    if options[7] == LONG_SIGN and ids:
        ids += ids[-1:] * LONG
    return decode_options(options) | {"ids": ids}


def decode_text(options: bytes, payload: bytes) -> Case:
    data = payload if options[7] & 1 else tokens.spelled(tokens.read_ids(payload))
    return decode_options(options) | {"text": data, "as_str": bool(options[7] & 2)}


def decode_header(options: bytes, payload: bytes) -> Case:
    """A header and the beginning of its body; a payload of the same table, but repetition is what reaches the cap."""
    ids = [tid for tid in tokens.read_ids(payload)[:400] if tid < tokens.EMPTY or tid in tokens.CONTROL.values()]
    if options[7] & 1:
        ids = [tokens.CONTROL["<|start|>"], *ids]
    return decode_options(options) | {"ids": ids, "start": "" if options[7] & 1 else "auto", "strict": False}


def decode_prompt(options: bytes, payload: bytes) -> Case:
    """The prompt is the first part of the payload."""
    case = decode_options(options) | {"form": ("ids", "str", "bytes")[options[7] % 3]}
    del case["start"]
    size = len(payload) * options[1] // 255
    return case | {"prompt": tokens.read_ids(payload[:size]), "ids": tokens.read_ids(payload[size:])}


def decode_reference(options: bytes, payload: bytes) -> Case:
    ids = tokens.read_ids(payload)[:SLOW]
    case = decode_options(options) | {"ids": ids, "text_mode": bool(options[7] & 1)}
    return {key: case[key] for key in ("ids", "text_mode", "tools", "start", "reason", "empty_args")}


def cut(stream: Any, cuts: Sequence[int]) -> list[Any]:
    """Pieces of a stream; a cut of 0 to 255 is a place between its two ends."""
    places = [0, *(len(stream) * place // 255 for place in cuts), len(stream)]
    return [stream[start:stop] for start, stop in pairwise(places)]


def check_ids(ids: list[int], turn: int, cuts: list[int], reason: str | None, **made: Any) -> hs.Parser:
    """`made` is how the parser is made."""
    parser = check_stream(ids, ids, False, turn, cuts, reason, made)
    if turn & 1 and not made["strict"] and reason is None:
        where = {key: made[key] for key in ("tools", "start", "prompt") if key in made}
        oracles.check_labels(hs.label(ids, vocab=tokens.vocab(), **where), parser, len(ids))
    return parser


def check_text(text: bytes, as_str: bool, turn: int, cuts: list[int], reason: str | None, **made: Any) -> None:
    stream = text.decode("utf-8", "surrogateescape") if as_str else text
    check_stream(stream, without_surrogates(stream) if as_str else text, True, turn, cuts, reason, made)


def without_surrogates(text: str) -> bytes:
    """A lone surrogate, here one for each stray byte, counts as one U+FFFD."""
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text).encode()


def units(stream: Any) -> list[Any]:
    """The smallest pieces: ids, characters or bytes."""
    return stream if isinstance(stream, list) else [stream[i : i + 1] for i in range(len(stream))]


def check_stream(
    stream: Any, plain: Any, text_mode: bool, turn: int, cuts: list[int], reason: str | None, made: Case
) -> hs.Parser:
    """`plain` is the stream as ids or bytes, for what is compared with it. `turn` chooses among the checks."""
    vocab = tokens.vocab()
    parser = hs.Parser("harmony", vocab, **made)
    log, error = oracles.replay(parser, [plain], reason, text_mode)
    expected = oracles.outcome(parser, log, error)
    oracles.check_order(log, max(parser.position, log[-1][-1] if log else 0), error is None)
    if error is None:
        oracles.check_counts(parser, len(plain))
        assert parser.finish(reason) == ()
    else:
        oracles.check_failed(parser, error, plain, text_mode)
    prompt = made.get("prompt", [])
    if not text_mode and isinstance(prompt, list):  # in text, the names of inert ids are text
        oracles.check_no_markup(log, tokens.ordinary([*prompt, *plain]))
    if parser.strict:
        lenient = hs.Parser("harmony", vocab, **made | {"strict": False})
        oracles.check_strict(log, error, oracles.replay(lenient, [plain], reason, text_mode)[0])

    pieces = units(stream) if turn & 1 and len(stream) <= ONE_BY_ONE else cut(stream, cuts)
    other = hs.Parser("harmony", vocab, **made)
    if turn & 2 and pieces:
        check_copies(other, pieces, reason, text_mode, expected, made["tools"])
    else:
        assert oracles.outcome(other, *oracles.replay(other, pieces, reason, text_mode)) == expected
    if turn & 4 and error is None:
        check_parse(plain, log, reason, made)
    if turn & 4:
        parser.reset()
        assert oracles.outcome(parser, *oracles.replay(parser, [plain], reason, text_mode)) == expected
    return parser


def check_parse(plain: Any, log: list[EventTuple], reason: str | None, made: Case) -> None:
    """The collected output is what the events say."""
    options = {key: value for key, value in made.items() if key != "empty_args"}
    whole = hs.parse(plain, vocab=tokens.vocab(), finish_reason=reason, **options)
    assert whole.reasoning == oracles.texts(log, "ReasoningDelta")
    assert whole.content == oracles.texts(log, "ContentDelta")
    assert len(whole.tool_calls) == sum(event[0] == "ToolCallStart" for event in log)
    if made["empty_args"] == "{}":
        assert "".join(call.arguments for call in whole.tool_calls) == oracles.texts(log, "ToolCallDelta")


def check_copies(
    parser: hs.Parser,
    pieces: list[Any],
    reason: str | None,
    text_mode: bool,
    expected: tuple[Any, ...],
    tools: list[str] | None,
) -> None:
    """After the first piece, a fork and a parser made from the state go on as the stream itself does."""
    feed = parser.feed_text if text_mode else parser.feed
    try:
        before = oracles.as_tuples(feed(pieces[0]))
    except hs.errors.ParseError:
        before = None
    state = parser.to_bytes()
    copies = (parser.fork(), hs.Parser.from_bytes(state, parser.vocab, tools=tools), parser)
    for copy in copies:
        assert copy.to_bytes() == state
        log, error = oracles.replay(copy, pieces[1:], reason, text_mode)
        if before is None:
            assert (error.code, error.position, error.state) == expected[1]
        else:
            assert oracles.outcome(copy, merge([*before, *log]), error) == expected


def check_header(ids: list[int], turn: int, cuts: list[int], reason: str | None, **made: Any) -> None:
    """The same header as ids and as spelled text, if ordinary tokens spell no part of a marker."""
    parser = check_ids(ids, turn, cuts, reason, **made)
    if tokens.can_be_spelled(ids):
        twin = hs.Parser("harmony", tokens.vocab(), **made)
        spelled, _ = oracles.replay(twin, [tokens.spelled(ids)], reason, True)
        parser.reset()
        log, _ = oracles.replay(parser, [ids], reason, False)
        assert without_ranges(spelled) == without_ranges(log)


def check_prompt(
    ids: list[int], prompt: list[int], form: str, turn: int, cuts: list[int], reason: str | None, **made: Any
) -> None:
    """A prompt as ids and as text leads to the same place, and the stream goes on from there."""
    data = tokens.spelled(prompt)
    text = data.decode("utf-8", "surrogateescape")
    given: Any = {"ids": prompt, "bytes": data, "str": text}[form]
    try:
        parser = check_ids(ids, turn, cuts, reason, prompt=given, **made)
    except ValueError as error:
        assert form != "ids" and "ends inside a marker" in str(error)
        return
    whole = data == text.encode("utf-8", "replace")  # no stray byte, which as text is a U+FFFD of three
    if form != "ids" and whole and tokens.can_be_spelled(prompt):
        parser.reset()
        twin = hs.Parser("harmony", tokens.vocab(), prompt=prompt, **made)
        assert oracles.replay(twin, [ids], reason, False)[0] == oracles.replay(parser, [ids], reason, False)[0]


def check_reference(
    ids: list[int], text_mode: bool, tools: list[str] | None, start: str, reason: str | None, empty_args: str
) -> None:
    """Equal to the slow interpreter of docs/harmony.md, ranges and counts included."""
    vocab = tokens.vocab()
    stream: Any = tokens.spelled(ids) if text_mode else ids
    items = items_of_text(stream) if text_mode else items_of_ids(stream, vocab)
    result = interpret(items, tools=tools, prefix=prefix_items(start), finish=reason, empty_args=empty_args)
    parser = hs.Parser("harmony", vocab, tools=tools, start=start, empty_args=empty_args)
    log, _ = oracles.replay(parser, [stream], reason, text_mode)
    assert log == result.events
    assert {region: getattr(parser.usage, region) for region in oracles.REGIONS} == result.usage
