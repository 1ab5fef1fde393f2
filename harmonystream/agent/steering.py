"""A generation that is steered: text is put into the model's mouth where a request asks for more than sampling.

An engine only continues a prompt. To end the reasoning at a budget, to make the model call a tool, or to constrain the
answer and nothing before it, the generation is stopped at the right token, and another continues what was said so far.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from ..engines import EngineError, Finished, Sampled, Sampling
from ..engines.base import Arrived, chat_usage
from ..errors import GrammarError
from ..formats import Format, HeaderFormat, format_of
from ..formats.spec import Marker
from ..grammars import grammar
from ..prompt import Prompt
from ..regions import Region
from ..stop_strings import StopStrings, said_by

__all__ = ["Plan", "call_plan", "grammar_plan", "spelling", "steered"]

MOST_CLOSES = 4
"""How often the reasoning of an answer is ended: a model that begins it again and again would cost as many requests."""
BYTES = 4
"""Bytes of text that count as a token, where an engine gives no ids."""

_Generate = Callable[[Prompt, Sampling], AsyncIterator[Any]]


class Plan(NamedTuple):
    """What is done to a generation. Texts may have markers.

    first: what the output begins with. after_reasoning: what follows the first reasoning. budget: how many tokens of
    reasoning there may be; None: any number. closes: what ends the reasoning then, each time that it is too long; the
    last one is repeated. form: fields of the engine's request that hold from where the answer's text begins. grammar:
    the fields that constrain a whole output; it takes the prompt that the output follows.
    """

    first: str = ""
    after_reasoning: str = ""
    budget: int | None = None
    closes: tuple[str, ...] = ("",)
    form: Mapping[str, Any] | None = None
    grammar: Callable[[Prompt], Mapping[str, Any]] | None = None


_NONE = Plan()


async def steered(
    generate: _Generate,
    prompt: Prompt,
    sampling: Sampling,
    plan: Plan = _NONE,
    stops: Sequence[str] = (),
    on_end: Callable[[Finished], None] | None = None,
) -> AsyncGenerator[Any, None]:
    """The items of a generation with this plan: ids or text, then `Finished`. Raises what the engine raises.

    stops: strings in content that end the generation; of text, in all of it. on_end: called with the `Finished`. What
    `generate` yields as one `Arrived` is yielded as one.
    """
    course = _Course(prompt, sampling, plan, stops)

    def finished(end: Finished) -> Finished:
        end = replace(end, usage=course.usage())
        if on_end is not None:
            on_end(end)
        return end

    while (forced := course.forced()) is not None:
        if forced:
            yield forced
        if course.left < 1:
            yield finished(Finished("length"))
            return
        async with aclosing(generate(course.prompt(), course.sampling())) as items:  # type: ignore[type-var]
            async for item in items:
                together = type(item) is Arrived
                said, end = course.take(item.items if together else (item,))
                if together and len(said) > 1:
                    yield Arrived(said)
                else:
                    for one in said:
                        yield one
                if end is not None:
                    yield finished(end)
                    return
                if course.is_stopped:
                    break
        course.count(None)
        if not course.is_stopped:
            for one in course.rest():
                yield one
            yield finished(Finished())
            return


def call_plan(
    prompt: Prompt, names: Sequence[str], tools: Sequence[Any], engine: Any, *, parallel: bool = True
) -> Plan:
    """What makes the model call a tool: a grammar, if the engine takes one, or else the beginning of a call.

    names: of the tools that it may call. tools: the same tools, as `hs.grammar` takes them.
    """
    row = prompt.format
    assert row is not None  # the parser of a prompt needs its format, too
    constrained = grammar_plan(prompt, tools, engine, choice="required", parallel=parallel)
    return _begun_call(prompt, row, names) if constrained is None else constrained


def grammar_plan(
    prompt: Prompt,
    tools: Sequence[Any],
    engine: Any,
    *,
    choice: str = "auto",
    parallel: bool = True,
    answer: Mapping[str, Any] | None = None,
) -> Plan | None:
    """What keeps a whole output to a grammar. None: the engine takes none, or cannot keep what the tools have.

    choice, answer: as in `hs.grammar`.
    """
    fields_of = getattr(engine, "grammar_fields", None)
    if fields_of is None or prompt.format is None:
        return None
    row = format_of(prompt.format)

    def fields(strict: bool | None, prompt: Prompt) -> Any:
        made = grammar(row, tools, choice=choice, parallel=parallel, strict=strict, answer=answer, prompt=prompt)
        return fields_of(made, prompt.vocab)

    for strict in (None, False):  # arguments whose schemas cannot be kept may be any object
        try:
            if fields(strict, prompt) is None:
                return None
        except GrammarError:
            continue
        if isinstance(row, HeaderFormat):
            closer = "<|end|><|start|>assistant"
        else:
            closer = "" if row.think is None else f"\n{spelling(row.think[1], prompt)}"
        return Plan(closes=(closer,), grammar=partial(fields, strict))
    return None


def _begun_call(prompt: Prompt, row: str | Format | HeaderFormat, names: Sequence[str]) -> Plan:
    if isinstance(row, HeaderFormat):
        # The dot after `functions` is left to the model: it is one token with the name's first letters.
        call = "<|start|>assistant<|channel|>commentary to=functions"
        if len(names) == 1:
            call += f".{names[0]} <|constrain|>json<|message|>"
        return Plan("<|channel|>analysis<|message|>", call, None, ("<|end|>",))
    row = format_of(row)
    assert isinstance(row, Format)
    call = _opening(row, prompt)
    if prompt.parser().region is not Region.REASONING:
        return Plan(first=call)
    closer = "" if row.think is None else f"\n{spelling(row.think[1], prompt)}"
    return Plan("", call if row.control else f"\n\n{call}", None, (closer.rstrip("\n"),))


def _opening(row: Format, prompt: Prompt) -> str:
    """What a call begins with; of a row that needs no opener, the first characters of the call itself."""
    opener = row.section[0] if row.section is not None else row.call[0] if row.call is not None else ()
    if spelled := spelling(opener, prompt):
        return spelled
    key = next((key for key, role in row.members.items() if role == "name"), "")
    return "[" if row.body == "python" else f'{{"{key}": "'


def _joined(pieces: Sequence[Any]) -> list[Any]:
    """The same items, ids that follow each other as one."""
    found: list[Any] = []
    for piece in pieces:
        last = found[-1] if found else None
        if isinstance(piece, str):
            found.append(piece)
        elif isinstance(piece, Sampled):
            if isinstance(last, Sampled):
                piece = Sampled([*last.ids, *piece.ids], [*(last.logprobs or ()), *(piece.logprobs or ())])
                found.pop()
            found.append(piece)
        else:
            ids = [piece] if isinstance(piece, int) else piece
            if isinstance(last, list):
                last += ids
            else:
                found.append(list(ids))
    return found


def spelling(marker: Marker, prompt: Prompt) -> str:
    """The one that the prompt shows to the model, or else the first; "" if there may be none."""
    spellings = (marker,) if isinstance(marker, str) else marker
    shown = next((one for one in spellings if one and one in prompt.text), None)
    return shown if shown is not None else "" if "" in spellings or not spellings else spellings[0]


class _Course:
    """What has been said, and what the plan asks for next. One parser reads it, for the plan and for stop strings.

    is_stopped: has the engine been stopped, because the plan has something else to say, which may be nothing?
    """

    def __init__(self, prompt: Prompt, sampling: Sampling, plan: Plan, stops: Sequence[str]) -> None:
        self._prompt, self._sampling, self._plan = prompt, sampling, plan
        self._parser = prompt.parser()
        self._stops = StopStrings(stops, self._parser.vocab) if stops else None
        self.is_stopped = False
        self._ids: list[int] = []
        self._texts: list[str] = []
        self._next = plan.first  # what is forced before the engine goes on
        self._as_text: bool | None = None if prompt.ids is not None else True  # None: nothing has come yet
        self._reasoned = self._parser.region is Region.REASONING
        self._closed = 0  # how often the reasoning was ended
        self._pending = plan.after_reasoning
        self._formed = False
        self._looks = (
            plan._replace(first="", closes=_NONE.closes, grammar=None) != _NONE
        )  # does the plan ask for anything later?
        self._prompt_tokens: int | None = None  # of text: as the engine has counted them
        self._counted = self._counted_size = 0  # tokens of text, and the characters that they stand for

    @property
    def left(self) -> int:
        """How many tokens there may still be."""
        said = len(self._ids) + sum(map(len, self._texts)) // BYTES
        return self._sampling.max_tokens - said

    def prompt(self) -> Prompt:
        """The prompt, and all that was said after it."""
        ids = None if self._prompt.ids is None or self._as_text else [*self._prompt.ids, *self._ids]
        said = "".join(self._texts) or self._spelled()
        begun = len(said) if ids is None else len(self._ids)
        return replace(self._prompt, ids=ids, text=self._prompt.text + said, begun=begun)

    def _spelled(self) -> str:
        vocab = self._prompt.vocab
        return "" if vocab is None else b"".join(map(vocab.token_bytes, self._ids)).decode("utf-8", "replace")

    def sampling(self) -> Sampling:
        extra = self._sampling.extra
        if self._formed and self._plan.form is not None:
            extra = {**extra, **self._plan.form}
        if self._plan.grammar is not None:
            with suppress(GrammarError):  # the engine has not kept it, so nothing can follow that it allows
                extra = {**extra, **self._plan.grammar(self.prompt())}
        return replace(self._sampling, max_tokens=self.left, extra=extra)

    def forced(self) -> list[int] | str | None:
        """What is said without the engine; "" or [] if there is nothing. It is part of the output."""
        text, self._next, self.is_stopped = self._next, "", False
        made = self._feed_forced(text)
        while self._look():  # what was said may ask for more
            more, self._next = self._next, ""
            made = made + self._feed_forced(more)  # type: ignore[operator]
            if not more:
                break
        return made

    def _feed_forced(self, text: str) -> list[int] | str:
        vocab = self._prompt.vocab
        if self._as_text or vocab is None:
            self._texts.append(text)
            if text:
                self._parser.feed_text(text)
            return text
        ids = vocab.encode(text, control=True) if text else []
        self._ids += ids
        self._parser.feed(ids)
        return ids

    def take(self, items: Sequence[Any]) -> tuple[list[Any], Finished | None]:
        """What of these items is said, and the end, if they have it or a stop string makes one."""
        said: list[Any] = []
        for item in items:
            if isinstance(item, Finished):
                self.count(item.usage)
                return said + self.rest(), item
            if isinstance(item, str):
                said += self._take_text(item)
            elif isinstance(item, Sampled):
                said += self._take_ids(item.ids, item.logprobs)
            else:
                said += self._take_ids([item] if isinstance(item, int) else item, None)
            if self._stops is not None and self._stops.found is not None:
                self.count(None)
                return said, Finished(stop=self._stops.found)
            if self.is_stopped:
                return said + self.rest(), None
        return said, None

    def rest(self) -> list[Any]:
        """What was held back, because it might have become a stop string."""
        return [] if self._stops is None else _joined(self._stops.rest())

    def _take_ids(self, ids: Sequence[int], logprobs: Any) -> list[Any]:
        self._as_text = False
        parser, stops, feed = self._parser, self._stops, self._parser.feed
        if not self._looks and stops is None:
            self._ids += ids
            return [ids if logprobs is None else Sampled(ids, logprobs)]
        said: list[Any] = []
        at = 0
        for at, tid in enumerate(ids):
            region = parser.region
            self._ids.append(tid)
            feed(tid)
            if stops is not None:
                said += self._sieved(tid, None if logprobs is None else logprobs[at], region)
                if stops.found is not None:
                    break
            if self._looks and self._look():
                self.is_stopped = True
                break
        if stops is not None:
            return _joined(said)
        ids = ids[: at + 1]
        return [ids if logprobs is None else Sampled(ids, logprobs[: at + 1])]

    def _sieved(self, tid: int, logprob: Any, region: Region) -> list[Any]:
        """The tokens that can be said after this one, because they are not part of a stop string."""
        stops, vocab = self._stops, self._parser.vocab
        assert stops is not None
        one = tid if logprob is None else Sampled([tid], [logprob])
        if vocab.is_control(tid):
            return [*stops.rest(), one]
        return stops.take(said_by(vocab, tid), one) if stops.holds or region is Region.CONTENT else [one]

    def _take_text(self, text: str) -> list[str]:
        if self._as_text is None and self._ids:  # what was forced was ids: this engine speaks in text
            raise EngineError("the engine answered ids with text", "protocol")
        self._as_text = True
        at = len(text)
        if self._looks:
            for at, character in enumerate(text, 1):  # noqa: B007
                self._parser.feed_text(character)
                if self._look():
                    self.is_stopped = True
                    break
        self._texts.append(text[:at])
        return [text[:at]] if self._stops is None else self._stops.take(text[:at].encode(errors="replace"), text[:at])

    def _look(self) -> bool:
        """Does the plan ask for something here? Then `_next` says what, which may be nothing but another request."""
        region = self._parser.region
        if region is Region.REASONING:
            self._reasoned = True
            budget = self._plan.budget
            if budget is None or self._reasoning < budget or self._closed == MOST_CLOSES:
                return False
            closes = self._plan.closes
            self._next = closes[min(self._closed, len(closes) - 1)]
            self._closed += 1
            return bool(self._next)
        if self._pending and self._reasoned:
            self._next, self._pending = self._pending, ""
            return True
        if self._plan.form is None or self._formed or region is not Region.CONTENT:
            return False
        self._formed = self._parser.channel in (None, "final")
        return self._formed

    @property
    def _reasoning(self) -> int:
        counted = self._parser.usage.reasoning
        return counted // BYTES if self._as_text else counted

    def count(self, usage: Mapping[str, Any] | None) -> None:
        """A generation has ended. usage: what the engine has counted; None: it was stopped."""
        written = self._text_size() - self._counted_size
        self._counted_size = self._text_size()
        counted = None if usage is None else usage.get("completion_tokens")
        self._counted += counted if isinstance(counted, int) else written // BYTES
        if self._prompt_tokens is None:
            read = None if usage is None else usage.get("prompt_tokens")
            self._prompt_tokens = read if isinstance(read, int) else len(self._prompt.text) // BYTES

    def _text_size(self) -> int:
        return sum(map(len, self._texts))

    def usage(self) -> dict[str, int]:
        """The usage of it all. Of text that the engine was stopped in, or that was forced, four bytes are a token."""
        if self._as_text or self._prompt.ids is None:
            forced = max(self._text_size() - self._counted_size, 0) // BYTES
            return chat_usage(self._prompt_tokens or 0, self._counted + forced)
        return chat_usage(len(self._prompt.ids), len(self._ids))
