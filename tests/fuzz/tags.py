"""Streams of tag formats, built in or the user's own: every cut gives what one feed of the whole gives."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from streams import EventTuple, merge, without_ranges

import harmonystream as hs
from fuzz import oracles, rows, streaming, tag_oracles

Case = dict[str, Any]
STARTS = ("auto", "auto", "content", "reasoning", "answer")
HOLDS = (1 << 20, 1024, 1025, 4096)
ONE_BY_ONE = 100  # longest stream that is fed unit by unit
SMALL_HOLD = 1024
DEFAULTS = {"trim": "seams", "max_hold": 1 << 20}


def decode_options(options: bytes) -> Case:
    """All but the first byte: how the parser is made and fed."""
    return {
        "tools": tuple(rows.TOOLS)[options[1] % len(rows.TOOLS)],
        "start": STARTS[options[1] // 8 % len(STARTS)],
        "strict": options[2] % 4 == 3,
        "empty_args": "" if options[2] & 4 else "{}",
        "trim": "none" if options[2] & 8 else "seams",
        "max_hold": HOLDS[options[2] >> 4 & 3],
        "reason": ("stop", "length", None, None)[options[3] % 4],
        "cuts": sorted({options[4], options[5]}),
        "turn": options[6] % 16,
        "prompted": options[7] if options[7] >= 0xC0 else 0,
    }


def decode(options: bytes, payload: bytes) -> Case:
    """A built-in row."""
    name = rows.BUILT_IN[options[0] % len(rows.BUILT_IN)]
    how = rows.HOWS[options[3] // 4 % len(rows.HOWS)]
    return {"row": name, "how": how, "stream": rows.built_in(name).read(payload)} | decode_options(options)


def decode_raw(options: bytes, payload: bytes) -> Case:
    """A built-in row, and a payload that is the text, for dictionaries."""
    return decode(options, b"") | {"how": ("text", "str", "bytes")[options[0] // 16 % 3], "stream": [payload]}


def decode_row(options: bytes, payload: bytes) -> Case:
    """A row of the user's; the stream's pieces are those of the row with the same options and nothing odd."""
    fields = rows.decode_row(payload[: rows.ROW_SIZE])
    case = {"row": fields, "how": rows.HOWS[options[0] % len(rows.HOWS)], "stream": []} | decode_options(options)
    with suppress(TypeError, AttributeError, hs.errors.FormatError):  # refused, so it has no pieces
        case["stream"] = rows.alphabet_of(fields).read(payload[rows.ROW_SIZE :])
    return case


def check(row: Any, how: str, stream: Sequence[Any], prompted: int, **options: Any) -> None:
    alphabet = rows.alphabet_of(row)
    vocab = alphabet.vocab(how)
    units = rows.units(alphabet, how, stream)
    tools = rows.TOOLS[options.pop("tools")]
    made: Case = {"format": rows.row_of(row), "vocab": vocab, "tools": tools}
    made |= {key: options.pop(key) for key in ("start", "strict", "empty_args", "trim", "max_hold")}
    if prompted:
        size = len(units) * (prompted & 63) // 63
        made["prompt"], units = given_prompt(units[:size], how), units[size:]
        del made["start"]
    Stream(made, how, units, **options).check()
    if rows.is_plain(stream) and not prompted and options["turn"] & 8 and alphabet.is_unmarked:
        check_as_text(alphabet, stream, made, options["reason"])


def check_user(row: Any, how: str, stream: Sequence[Any], **options: Any) -> None:
    if rows.is_accepted(row):
        check(row, how, stream, **options)


def given_prompt(units: Any, how: str) -> Any:
    return units.decode("utf-8", "surrogateescape") if how == "str" else units


def check_as_text(alphabet: rows.Alphabet, stream: Sequence[Any], made: Case, reason: str | None) -> None:
    """Where no token is a marker, ids and text say the same."""
    logs = []
    for how in ("text", "bytes", "split"):
        parser = hs.Parser(**made | {"vocab": alphabet.vocab(how)}, check_stops=False)
        log, _ = oracles.replay(parser, [rows.units(alphabet, how, stream)], reason, how == "text")
        logs.append((without_ranges(log), [code for code, _ in parser.deviations]))
    assert logs[0] == logs[1]
    assert logs[0] == logs[2]


def looks(parser: hs.Parser) -> tuple[Any, ...]:
    return parser.region, parser.position, parser.calls, parser.role, parser.usage, parser.deviations


class Stream:
    """One case, ready to be fed."""

    def __init__(self, made: Case, how: str, units: Any, reason: str | None, cuts: list[int], turn: int) -> None:
        self.made, self.units, self.reason, self.cuts, self.turn = made, units, reason, cuts, turn
        self.text_mode = how in ("text", "str")
        self.as_str = how == "str"

    def parser(self, **other: Any) -> hs.Parser:
        return hs.Parser(**{"check_stops": False, **self.made, **other})

    def replay(self, parser: hs.Parser, pieces: Any) -> tuple[list[EventTuple], hs.errors.ParseError | None]:
        return oracles.replay(parser, pieces, self.reason, self.text_mode)

    def check(self) -> None:
        """`turn` chooses among the checks."""
        parser, whole = self.parser(), self.units
        if self.as_str:
            whole = streaming.without_surrogates(whole.decode("utf-8", "surrogateescape"))
        log, error = self.replay(parser, [whole])
        expected = tag_oracles.outcome(parser, log, error)
        tag_oracles.check_order(log, error is None)
        if error is None:
            oracles.check_counts(parser, len(whole))
            assert parser.finish(self.reason) == ()
            row = self.made["format"]
            tag_oracles.check_pairs(row, log, parser, self.spelled(), self.made["empty_args"])
            tag_oracles.check_written(row, log, self.spelled(), self.made["empty_args"])
        else:
            oracles.check_failed(parser, error, whole, self.text_mode)
        if self.made["strict"]:
            lenient, _ = self.replay(self.parser(strict=False), [whole])
            oracles.check_strict(log, error, lenient)
        self.check_cut(expected)
        if self.turn & 4:
            parser.reset()
            assert tag_oracles.outcome(parser, *self.replay(parser, [whole])) == expected
        if self.turn & 1 and error is None:
            self.check_parse(whole, log)
        if self.turn & 2 and error is None and not self.text_mode:
            self.check_labels(parser)

    def spelled(self) -> bytes:
        if self.text_mode:
            return bytes(self.units)
        vocab = self.made["vocab"]
        return b"".join(vocab.token_bytes(tid) for tid in self.units if tid in vocab)

    def pieces(self) -> list[Any]:
        stream = self.units.decode("utf-8", "surrogateescape") if self.as_str else self.units
        if not self.turn & 1 or len(stream) > ONE_BY_ONE:
            return streaming.cut(stream, self.cuts)
        if self.text_mode:
            return [stream[i : i + 1] for i in range(len(stream))]
        return list(stream)

    def check_cut(self, expected: Any) -> None:
        """Another cut; after a piece, a fork and a parser made from the state go on as the stream itself does."""
        pieces = self.pieces()
        other = self.parser()
        if not pieces or not self.turn & 2:
            assert tag_oracles.outcome(other, *self.replay(other, pieces)) == expected
            return
        at = len(pieces) * self.cuts[-1] // 256 + 1
        feed = other.feed_text if self.text_mode else other.feed
        events: list[hs.Event] = []
        try:
            for piece in pieces[:at]:
                events += feed(piece)
        except hs.errors.ParseError as raised:
            events += raised.events
        state = other.to_bytes()
        kept = {"vocab": self.made["vocab"], "tools": self.made["tools"], "format": self.made["format"]}
        for copy in (other.fork(), hs.Parser.from_bytes(state, **kept), other):
            assert copy.to_bytes() == state
            assert looks(copy) == looks(other)
            log, error = self.replay(copy, pieces[at:])
            assert tag_oracles.outcome(copy, merge([*oracles.as_tuples(events), *log]), error) == expected

    def check_parse(self, whole: Any, log: list[EventTuple]) -> None:
        """The collected output is what the events say."""
        options = {key: value for key, value in self.made.items() if key not in ("empty_args", "trim", "max_hold")}
        if self.made["empty_args"] != "{}" or any(self.made[key] != value for key, value in DEFAULTS.items()):
            return
        made = hs.parse(whole, finish_reason=self.reason, **options)
        assert made.reasoning == oracles.texts(log, "ReasoningDelta")
        assert made.content == oracles.texts(log, "ContentDelta")
        assert [call.arguments for call in made.tool_calls] == [text for _, _, text in tag_oracles.arguments(log)]

    def check_labels(self, parser: hs.Parser) -> None:
        """One label per token, and as many of each as the stream counted."""
        if self.reason is not None or any(self.made[key] != value for key, value in DEFAULTS.items()):
            return
        kept = {key: self.made[key] for key in ("format", "vocab", "tools", "start", "prompt") if key in self.made}
        oracles.check_labels(hs.label(self.units, **kept), parser, len(self.units))
