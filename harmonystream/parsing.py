"""parse() reads a whole output, and iter_events() reads a stream."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Literal, overload

from ._moved import renamed
from ._native.core.vocab import Vocab
from ._native.stream.parser import Parser
from ._native.stream.whole import whole
from .completion import Completion
from .events import Event
from .formats import Format, HeaderFormat

__all__ = ["iter_events", "parse"]


def parse(
    output: Any,
    format: str | Format | HeaderFormat = "harmony",
    vocab: Vocab | None = None,
    *,
    tools: Iterable[Any] | None = None,
    start: str = "auto",
    prompt: Any = None,
    strict: bool = False,
    trim: Literal["seams", "none"] = "seams",
    empty_args: str = "{}",
    max_hold: int = 1 << 20,
    finish_reason: str | None = None,
) -> Completion:
    """Parse a whole output at once: token ids (anything that `Parser.feed` takes), or text as str or bytes.

    finish_reason: why the engine stopped, such as "stop" or "length", in any engine's words.
    All other options are those of `Parser`. The result equals that of streaming in any pieces.

    Raises what `Parser` raises for its options, TypeError or ValueError for an output that cannot be ids or text, and
    `ParseError` in strict mode only.
    """
    parser = Parser(
        format,
        vocab,
        tools=tools,
        start=start,
        prompt=prompt,
        strict=strict,
        trim=trim,
        empty_args=empty_args,
        max_hold=max_hold,
        check_stops=False,  # the output is complete, so nothing waits for its end
    )
    return whole(parser, output, finish_reason)


@overload
def iter_events(
    source: AsyncIterable[Any],
    format: Parser | Format | HeaderFormat | str = "harmony",
    vocab: Vocab | None = None,
    *,
    finish_reason: Any = None,
    **options: Any,
) -> AsyncIterator[Event]: ...
@overload
def iter_events(
    source: Iterable[Any],
    format: Parser | Format | HeaderFormat | str = "harmony",
    vocab: Vocab | None = None,
    *,
    finish_reason: Any = None,
    **options: Any,
) -> Iterator[Event]: ...
@renamed(reason="finish_reason")
def iter_events(
    source: Any,
    format: Parser | Format | HeaderFormat | str = "harmony",
    vocab: Vocab | None = None,
    *,
    finish_reason: Any = None,
    **options: Any,
) -> Any:
    """The events of a stream, each as soon as its tokens have arrived, and then the events of the stream's end.

    source: an iterable, or an async iterable; then the events are an async iterator. It yields token ids (an int, or
    anything else that Parser.feed takes), or text (str, bytes). A str or bytes instead of a source is one piece of
    text. The items of an engine's `generate` are accepted, too: `Finished` ends the stream, with its reason.
    format: a format's name or row, with `vocab` and the options of Parser; or a parser that has read nothing.
    finish_reason: the engine's reason for stopping, or a function that is called when the source has ended.

    Raises what Parser() raises, immediately. Exceptions of the source and of the parser are raised while the events are
    read, and the stream then has no end.
    """
    if "parser" in options:
        raise TypeError("a parser is passed in place of the format: iter_events(source, parser)")
    if not isinstance(format, Parser):
        parser = Parser(format, vocab, **options)
    elif vocab is not None or options:
        raise TypeError("a parser has its vocabulary and its options: give them to Parser()")
    else:
        parser = format
    if parser.position or parser.finished:
        raise ValueError(f"this parser has read up to {parser.position}: give iter_events() a fresh one")
    if isinstance(source, (str, bytes)):
        source = (source,)
    if hasattr(source, "__aiter__"):
        return _events_async(source, parser, finish_reason)
    if not hasattr(source, "__iter__"):
        raise TypeError(f"source is an iterable of token ids or text, not {type(source).__name__}")
    return _events(source, parser, finish_reason)


def _events(source: Iterable[Any], parser: Parser, reason: Any) -> Iterator[Event]:
    for item in source:
        if _is_end(item):
            reason = item.reason if reason is None else reason
            break
        yield from _fed(parser, item)
    yield from parser.finish(_called(reason))


async def _events_async(source: AsyncIterable[Any], parser: Parser, reason: Any) -> AsyncIterator[Event]:
    async for item in source:
        if _is_end(item):
            reason = item.reason if reason is None else reason
            break
        for event in _fed(parser, item):
            yield event
    for event in parser.finish(_called(reason)):
        yield event


def _is_end(item: Any) -> bool:
    """Is it an engine's `Finished`?"""
    return type(item) is not int and hasattr(item, "reason") and hasattr(item, "usage")


def _fed(parser: Parser, item: Any) -> tuple[Event, ...]:
    if isinstance(item, (str, bytes)):
        return parser.feed_text(item)
    return parser.feed(getattr(item, "ids", item))  # an engine's `Sampled` has ids


def _called(reason: Any | Callable[[], Any]) -> Any:
    return reason() if callable(reason) else reason
