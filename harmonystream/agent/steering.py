"""A steered generation: where a request needs more than sampling, text is put into the model's output.

An engine only continues a prompt. Some requests end the reasoning at a budget, make the model call a tool, or constrain
the answer but not the text before it. For these, the generation is stopped at the right token, and a new one continues
the output so far.
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
from ..formats.fields import Marker
from ..grammars import grammar, noting
from ..prompt import Prompt
from ..regions import Region
from ..stop_strings import StopStrings, StopTexts
from .outcome import Steered

__all__ = ["Plan", "call_plan", "grammar_plan", "spelling", "steered"]

MOST_CLOSES = 4
"""How often the reasoning of an answer is ended. A model that begins it again and again would cost as many requests."""
BYTES = 4
"""How many bytes of text count as a token, if an engine gives no ids."""

_Generate = Callable[[Prompt, Sampling], AsyncIterator[Any]]


class Plan(NamedTuple):
    """The plan for a generation. Texts may contain markers.

    first: the beginning of the output. after_reasoning: text that follows the first reasoning. budget: the most tokens
    of reasoning; None sets no limit. closes: texts that end reasoning that is too long, one for each time; the last one
    is repeated. form: fields of the engine's request that apply from the beginning of the answer's text. grammar: makes
    the fields that constrain a whole output, from the prompt before that output. wider: where it allows more than the
    schemas, each with its tool, place and keyword.
    """

    first: str = ""
    after_reasoning: str = ""
    budget: int | None = None
    closes: tuple[str, ...] = ("",)
    form: Mapping[str, Any] | None = None
    grammar: Callable[[Prompt], Mapping[str, Any]] | None = None
    wider: tuple[str, ...] = ()

    @property
    def how(self) -> Steered | None:
        """How the output is constrained. None if it is not."""
        if self.grammar is not None:
            return "grammar"
        return "call_begun" if self.first or self.after_reasoning else "form" if self.form is not None else None


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

    stops: strings that end the generation. With ids, they count only in content; with text, everywhere. on_end: called
    with the `Finished`. Items that `generate` yields as one `Arrived` are also yielded as one.
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
                pieces, end = course.take(item.items if together else (item,))
                if together and len(pieces) > 1:
                    yield Arrived(pieces)
                else:
                    for one in pieces:
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
    """The plan that makes the model call a tool. It is a grammar if the engine takes one, and else the beginning of a
    call.

    names: of the tools that it may call. tools: the same tools, as `hs.grammar` takes them.
    """
    row = prompt.format
    assert row is not None  # a prompt's parser needs its format, too
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
    """The plan that constrains a whole output with a grammar. None if the engine takes no grammar, or cannot express
    this one.

    choice, answer: as in `hs.grammar`.
    """
    fields_of = getattr(engine, "grammar_fields", None)
    if fields_of is None or prompt.format is None:
        return None
    row = format_of(prompt.format)

    lost: list[str] = []

    def fields(strict: bool | None, prompt: Prompt, lost: list[str] | None = None) -> Any:
        made = grammar(
            row, tools, choice=choice, parallel=parallel, strict=strict, answer=answer, prompt=prompt, exact=False
        )
        return fields_of(made if lost is None else noting(made, lost), prompt.vocab)

    refused = ""
    for strict in (None, False):  # if the engine's backend refuses the schemas, arguments may be any object
        try:
            lost.clear()
            if fields(strict, prompt, lost) is None:
                return None
        except GrammarError as error:
            refused = str(error)
            continue
        if strict is False:
            lost = [f"the arguments of tools may be any object: {refused}"]
        if isinstance(row, HeaderFormat):
            closer = "<|end|><|start|>assistant"
        else:
            closer = "" if row.think is None else f"\n{spelling(row.think[1], prompt)}"
        return Plan(closes=(closer,), grammar=partial(fields, strict), wider=tuple(dict.fromkeys(lost)))
    return None


def _begun_call(prompt: Prompt, row: str | Format | HeaderFormat, names: Sequence[str]) -> Plan:
    if isinstance(row, HeaderFormat):
        # The model writes the dot after `functions`, because one token has the dot and the first letters of the name.
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
    """The beginning of a call. If the format needs no opener, these are the first characters of the call itself."""
    opener = row.section[0] if row.section is not None else row.call[0] if row.call is not None else ()
    if spelled := spelling(opener, prompt):
        return spelled
    key = next((key for key, role in row.members.items() if role == "name"), "")
    return "[" if row.body == "python" else f'{{"{key}": "'


def _joined(pieces: Sequence[Any]) -> list[Any]:
    """The same items, with neighbouring ids joined into one."""
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
    """The marker's spelling in the prompt, or else its first spelling. "" if it has none."""
    spellings = (marker,) if isinstance(marker, str) else marker
    shown = next((one for one in spellings if one and one in prompt.text), None)
    return shown if shown is not None else "" if "" in spellings or not spellings else spellings[0]


class _Course:
    """The output so far, and what the plan needs next. One parser reads the output, for the plan and for stop strings.

    is_stopped: was the engine stopped so that the plan can go on? The plan's next text may be empty.
    """

    def __init__(self, prompt: Prompt, sampling: Sampling, plan: Plan, stops: Sequence[str]) -> None:
        self._prompt, self._sampling, self._plan = prompt, sampling, plan
        self._parser = prompt.parser()
        vocab = self._parser.vocab
        self._stops = StopStrings(stops, vocab) if stops else None  # for text
        self._id_stops = StopTexts(stops, vocab, (Region.CONTENT,)) if stops else None
        self.is_stopped = False
        self._ids: list[int] = []
        self._texts: list[str] = []
        self._next = plan.first  # text to write before the engine continues
        self._as_text: bool | None = None if prompt.ids is not None else True  # None: nothing has arrived yet
        self._reasoned = self._parser.region is Region.REASONING
        self._closed = 0  # how often the reasoning was ended
        self._pending = plan.after_reasoning
        self._formed = False
        self._looks = (
            plan._replace(first="", closes=_NONE.closes, grammar=None) != _NONE
        )  # does the plan need anything later?
        self._prompt_tokens: int | None = None  # for text: the engine's count
        self._counted = self._counted_size = 0  # tokens that are counted, and the number of their ids or characters

    @property
    def left(self) -> int:
        """How many tokens may still be written."""
        ids = self._counted + len(self._ids) - self._counted_size if self._ids else 0
        return self._sampling.max_tokens - ids - sum(map(len, self._texts)) // BYTES

    def prompt(self) -> Prompt:
        """The prompt, followed by the output so far."""
        prompt = self._prompt
        if prompt.ids is not None and not self._as_text:
            return prompt.continue_with(self._ids)
        spelled = "" if prompt.vocab is None else prompt.vocab.decode(self._ids)
        return prompt.continue_with("".join(self._texts) or spelled)

    def sampling(self) -> Sampling:
        extra = self._sampling.extra
        if self._formed and self._plan.form is not None:
            extra = {**extra, **self._plan.form}
        if self._plan.grammar is not None:
            with suppress(GrammarError):  # the engine has not kept to it, so the grammar allows nothing after this
                extra = {**extra, **self._plan.grammar(self.prompt())}
        return replace(self._sampling, max_tokens=self.left, extra=extra)

    def forced(self) -> list[int] | str | None:
        """The output that is written without the engine. "" or [] if there is none."""
        text, self._next, self.is_stopped = self._next, "", False
        made = self._feed_forced(text)
        while self._look():  # the new output may lead to more
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
        self._counted += len(ids)
        self._counted_size += len(ids)
        self._parser.feed(ids)
        if self._id_stops is not None:
            self._id_stops.skip(len(ids))
        return ids

    def take(self, items: Sequence[Any]) -> tuple[list[Any], Finished | None]:
        """The items to pass on, and the end, if it is among them or a stop string causes one."""
        passed: list[Any] = []
        for item in items:
            if isinstance(item, Finished):
                self.count(item.usage)
                if self._id_stops is None:
                    return passed, item
                passed += _joined(self._id_stops.end(self._parser.finish()))
                found = self._id_stops.found
                return passed + self.rest(), item if found is None else replace(item, reason=None, stop=found)
            if isinstance(item, str):
                passed += self._take_text(item)
            elif isinstance(item, Sampled):
                passed += self._take_ids(item.ids, item.logprobs)
            else:
                passed += self._take_ids([item] if isinstance(item, int) else item, None)
            if (found := self._found) is not None:
                self.count(None)
                return passed, Finished(stop=found)
            if self.is_stopped:
                return passed + self.rest(), None
        return passed, None

    def rest(self) -> list[Any]:
        """Items that were held back because they might have become a stop string."""
        if self._stops is None or self._id_stops is None:
            return []
        return _joined([*self._id_stops.rest(), *self._stops.rest()])

    @property
    def _found(self) -> str | None:
        """The stop string, once one is found."""
        if self._stops is None or self._id_stops is None:
            return None
        return self._id_stops.found or self._stops.found

    def _take_ids(self, ids: Sequence[int], logprobs: Any) -> list[Any]:
        self._as_text = False
        stops, feed = self._id_stops, self._parser.feed
        if not self._looks and stops is None:
            self._ids += ids
            return [ids if logprobs is None else Sampled(ids, logprobs)]
        passed: list[Any] = []
        at = 0
        for at, tid in enumerate(ids):
            self._ids.append(tid)
            events = feed(tid)
            if stops is not None:
                one = tid if logprobs is None else Sampled([tid], [logprobs[at]])
                passed += stops.take(tid, one, events)
                if stops.found is not None:
                    break
            if self._looks and self._look():
                self.is_stopped = True
                break
        if stops is not None:
            return _joined(passed)
        ids = ids[: at + 1]
        return [ids if logprobs is None else Sampled(ids, logprobs[: at + 1])]

    def _take_text(self, text: str) -> list[str]:
        if self._as_text is None and self._ids:  # the forced output was ids, but this engine gives text
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
        """Does the plan need something here? Then `_next` has the text, which is empty if only the request changes."""
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
        """A generation has ended. usage: the engine's counts; None if it was stopped."""
        size = len(self._ids) or self._text_size()
        written, self._counted_size = size - self._counted_size, size
        counted = None if usage is None else usage.get("completion_tokens")
        self._counted += counted if isinstance(counted, int) else written if self._ids else written // BYTES
        if self._prompt_tokens is None:
            read = None if usage is None else usage.get("prompt_tokens")
            self._prompt_tokens = read if isinstance(read, int) else len(self._prompt.text) // BYTES

    def _text_size(self) -> int:
        return sum(map(len, self._texts))

    def usage(self) -> dict[str, int]:
        """The usage of all generations. Ids count where the engine has not counted them, and of text four bytes count
        as a token.
        """
        if self._as_text or self._prompt.ids is None:
            forced = max(self._text_size() - self._counted_size, 0) // BYTES
            return chat_usage(self._prompt_tokens or 0, self._counted + forced)
        return chat_usage(len(self._prompt.ids), self._counted + len(self._ids) - self._counted_size)
