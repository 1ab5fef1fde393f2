"""No answer is lost behind a broken header, no control marker reaches the output, and no shortcut changes what is read.

The cases are made from the rows, for each of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random

import pytest
from random_tags import first
from reference_tags_text import can_be_control, holds_objects, may_lack, spellings_of
from streams import run
from tag_streams import TAG_FORMATS, controls_of, tokens

import harmonystream as hs
from harmonystream.formats import Format, format_of

ANSWER = "\nThe answer is 42."
PUNCTUATION = "\"'{}:,[]()<>=|"


def row_of(name: str) -> Format:
    row = format_of(name)
    assert isinstance(row, Format)
    return row


def calls_of(row: Format) -> Iterator[tuple[str, int, int, str]]:
    """Whole calls as the row writes them: before the header's name, where the name ends, what opens it, the rest."""
    section = [first(one) for one in row.section] if row.section else ["", ""]
    tags = [first(row.call[0]), first(row.call[2])] if row.call else ["", ""]
    if row.wrapped:
        opener = section[0] + (tags[0] if not row.section or holds_objects(row) else "")
        closer = (tags[1] if not row.section or holds_objects(row) else "") + section[1]
        keys = {says: key for key, says in reversed(list(row.members.items()))}
        if row.members == {"*": "call"}:
            body = '{"f": {"x": 1}}'
        else:
            body = f'{{"{keys["name"]}": "f", "{keys["arguments"]}": {{"x": 1}}}}'
        yield (
            opener,
            len(opener),
            len(opener) + body.index("f") + 1 + bool(section[1] or tags[1]),
            f"{opener}\n{body}\n{closer}",
        )
    if row.call and not (row.wrapped and not row.section and may_lack(row.call[1])):
        head = f"{section[0]}{tags[0]}f{first(row.call[1])}"
        yield section[0] + tags[0], len(section[0]), len(head), f"{head}{tags[1]}{section[1]}"


def broken(text: str, begin: int, stop: int) -> Iterator[str]:
    """A mark that is missing or doubled, at each place."""
    for at in range(begin, min(stop, len(text))):
        if text[at] in PUNCTUATION:
            yield text[:at] + text[at + 1 :]
            yield text[:at] + text[at] + text[at:]


def whole(name: str, text: str) -> hs.Completion:
    return hs.parse(text, name)


@pytest.mark.parametrize("name", TAG_FORMATS)
def test_no_answer_is_lost_behind_a_broken_header(name):
    row = row_of(name)
    for opener, begin, stop, call in calls_of(row):
        if not opener:
            continue
        for text in broken(call, begin, stop):
            for padding in ("", "x" * 2000):
                for more in ("", f"\n{call}"):
                    done = whole(name, f"Hi.\n{text}{ANSWER}{padding}{more}")
                    said = done.content + done.reasoning + "".join(one.arguments for one in done.tool_calls)
                    assert said.startswith("Hi."), (text, done)
                    assert ANSWER.strip() + padding in said, (text, done)
                    if more and not (row.section and may_lack(row.section[1])):
                        assert done.tool_calls and done.tool_calls[-1].name == "f", (text, done)


def bodies_of(row: Format) -> Iterator[str]:
    """Whole calls with arguments as JSON, between whose closers and what is before them no newline is."""
    for _, _, stop, call in calls_of(row):
        if '"x"' in call:
            yield call.replace("\n", "").replace(": 1}", ': "one"}')
        elif not row.pair and not row.element:
            yield call[:stop] + '{"x": "one"}' + call[stop:]


@pytest.mark.parametrize("name", TAG_FORMATS)
def test_no_answer_is_lost_behind_a_broken_string(name):
    """One quote is missing or doubled in a call: the answer after it is shown, and a later call is read."""
    row = row_of(name)
    for call in bodies_of(row):
        for at in (at for at, char in enumerate(call) if char == '"'):
            for text in (call[:at] + call[at + 1 :], call[:at] + '"' + call[at:]):
                for more in ("", f"\n{call}"):
                    done = hs.parse(f"Hi.\n{text}{ANSWER}{more}", name)
                    assert ANSWER.strip() in done.content, (text, done)
                    if more:
                        assert done.tool_calls[-1].arguments == '{"x": "one"}', (text, done)


THINKING = [name for name in TAG_FORMATS if (think := row_of(name).think) and not first(think[1])[0].isalpha()]


@pytest.mark.parametrize("name", THINKING)
def test_sentences_around_thoughts_and_stray_closers_have_a_gap(name):
    random, (opener, closer) = Random(name), map(first, row_of(name).think or ())
    for _ in range(50):
        text, said, thought = "", ["Hi."], []
        for at in range(random.randint(1, 4)):
            gaps = ["\n" * random.randint(0, 2) for _ in range(4)]
            text += f"{gaps[0]}{opener}{gaps[1]}T{at}.{gaps[2]}{closer}{gaps[3]}S{at}."
            said, thought = [*said, f"S{at}."], [*thought, f"T{at}."]
        done = hs.parse(f"Hi.{text}\n{closer}{gaps[3]}Bye.", name)
        assert (done.content.split(), done.reasoning.split()) == ([*said, "Bye."], thought), text


def closers_of(row: Format) -> list[str]:
    """The closers of calls and sections that look like tags, without a bar."""
    closers = {first(pair[-1]) for pair in (row.section, row.call) if pair}
    return sorted(one for one in closers if one.startswith("</") and not {"|", "｜"} & {*one})


@pytest.mark.parametrize("name", [name for name in TAG_FORMATS if closers_of(row_of(name))])
def test_a_closer_in_a_sentence_is_text(name):
    random, row = Random(name), row_of(name)
    for closer in closers_of(row):
        if row.section and row.bare == "no" and closer == first((row.call or [""])[-1]):
            continue  # it is text everywhere outside of a section
        for _ in range(20):
            before = random.choice(["The", "One writes", "- 1, 2:", "«"])
            after = random.choice([" tag ends it.", ".", ", then", ": so", "` is code", '" it said', "» is", "’ is"])
            fence = f"Look:\n```xml\n{closer}\n```\nSo."
            for text in (f"{before} {closer}{after}", f"Hi.\n{before}{closer}{after}", fence):
                at = random.randint(0, len(text))
                parser = hs.Parser(name, tools=["f"])
                events = [*parser.feed_text(text[:at]), *parser.feed_text(text[at:]), *parser.finish("stop")]
                content = "".join(event.text for event in events if isinstance(event, hs.ContentDelta))
                assert (content, parser.deviations) == (text, ()), (text, at)
        for text in (f"Hi.\n{closer}\nBye.", f"Hi. {closer}", f"Hi. {closer} Bye.", f"{closer} bye"):
            done = hs.parse(text, name, tools=["f"])
            assert closer not in done.content, text
            assert [deviation.code for deviation in done.deviations] == ["stray-closer"], text


@pytest.mark.parametrize("name", [name for name in THINKING if first((row_of(name).think or [""])[1]).startswith("</")])
def test_no_answer_is_lost_behind_a_misspelt_closer_of_thoughts(name):
    random, opener = Random(name), first((row_of(name).think or [""])[0])
    for _ in range(50):
        word = random.choice(["think", "thinking", "thought", "thoughts", "reasoning"])
        word = random.choice([word, word.upper(), word.title()])
        blanks = [" " * random.randint(0, 1) for _ in range(3)]
        closer = f"<{blanks[0]}{random.choice(['/', '//', chr(92) + '/'])}{blanks[1]}{word}{blanks[2]}>"
        gaps = ["\n" * random.randint(0, 2) for _ in range(2)]
        done = hs.parse(f"{opener}\nHm.{gaps[0]}{closer}{gaps[1]}{ANSWER.strip()}", name)
        assert (done.reasoning, done.content) == ("Hm.", ANSWER.strip()), closer


@pytest.mark.parametrize("value", ["</function_calls>", "a) </function_calls> isn't so", '<function_calls>g(y="a")'])
def test_a_written_string_that_quotes_a_closer_goes_on(value):
    done = hs.parse(f"<function_calls>f(x='{value}</function_calls>')</function_calls>{ANSWER}", "olmo3")
    assert json.loads(done.tool_calls[0].arguments) == {"x": f"{value}</function_calls>"}
    assert (done.content, done.tool_calls[0].complete) == (ANSWER.strip(), True)


def test_a_string_that_a_closer_ends_is_cut():
    done = hs.parse("<function_calls>f(x='rm one)</function_calls>" + ANSWER, "olmo3")
    assert (done.content, done.tool_calls[0].arguments) == (ANSWER.strip(), '{"x": "rm one)')
    assert not done.tool_calls[0].complete


@pytest.mark.parametrize("name", ["functionary", "deepseek", "kimi_k2", "plamo3", "qwen3_coder", "minimax_m3"])
def test_no_answer_is_lost_after_a_raw_body(name):
    row = row_of(name)
    assert row.call
    head, tail = "".join(first(one[0]) for one in (row.section, row.call) if one), first(row.call[2])
    head += f"f{first(row.call[1])}"
    done = hs.parse(f'{head}{{"x": "one"}}{ANSWER}', name)
    assert (done.content, done.tool_calls[0].arguments) == (ANSWER.strip(), '{"x": "one"}')
    assert done.tool_calls[0].complete
    done = hs.parse(f'{head}{{"x": "one"}} so{tail}{ANSWER}', name)
    assert (done.content, done.tool_calls[0].arguments) == (ANSWER.strip(), '{"x": "one"}')
    assert done.tool_calls[0].complete and "ignored-text" in [one.code for one in done.deviations]
    done = hs.parse(f'{head}{{"x": "one"}}, "y": "two"}}{tail}{ANSWER}', name)
    assert (done.content, done.tool_calls[0].complete) == (ANSWER.strip(), False)


@pytest.mark.parametrize(
    "value", ["</tool_call>", "}</tool_call>", "}</tool_call> and more", "<tool_call>{}</tool_call>"]
)
def test_a_string_that_quotes_a_closer_goes_on(value):
    """Its own quote comes, before JSON goes on; or it has the opener, too."""
    long = value + "x" * (2000 if value.startswith("<tool_call>") else 1000)
    for said in (value, long):
        text = json.dumps({"name": "f", "arguments": {"x": said}})
        done = hs.parse(f"<tool_call>{text}</tool_call>{ANSWER}", "hermes")
        assert (json.loads(done.tool_calls[0].arguments), done.content) == ({"x": said}, ANSWER.strip())


def test_one_missing_quote():
    text = 'Hi.\n<tool_call>\n{"name: "f", "arguments": {"x": 1}}\n</tool_call>\nThe answer is 42.'
    assert hs.parse(text, "hermes").content == text
    assert hs.parse(text + '\n<tool_call>{"name": "g"}</tool_call>', "hermes").tool_calls[0].name == "g"
    parser = hs.Parser("hermes")
    assert parser.feed_text(text[: text.index("f") + 1])[-1].text.endswith('{"name: "f')


def test_what_is_held_at_the_end_is_shown():
    cut = 'Hi.\n<tool_call>\n{"name": "f'
    done = hs.parse(cut, "hermes")
    assert (done.content, [one.code for one in done.deviations]) == (cut, ["unfinished-header"])
    done = hs.parse("Hi.\n<tool_call>\n", "hermes")
    assert (done.content, [one.code for one in done.deviations]) == ("Hi.", ["unfinished-header"])


def states(row: Format) -> Iterator[tuple[str, str]]:
    """Texts that leave the machine in each state, by the name of the state."""
    yield "start", ""
    yield "content", "Hi. "
    yield "line", "Hi.\n"
    yield "fence", "So:\n```\n"
    if row.think:
        yield "reasoning", f"{first(row.think[0])}Hm. "
        yield "answer", f"{first(row.think[0])}Hm.{first(row.think[1])}"
    for _, _, stop, call in calls_of(row):
        yield "header", call[: max(1, stop - 2)]
        yield "body", call[:stop]
        yield "after", call


@pytest.mark.parametrize("name", TAG_FORMATS)
@pytest.mark.parametrize("vocabulary", ["added", "ordinary"])
def test_a_control_marker_never_reaches_the_output(name, vocabulary):
    """Inside arguments, markers of thoughts and of what is dropped are text: what a program's text says of them."""
    row = row_of(name)
    some = tokens(name, vocabulary)
    controls = sorted(controls_of(row, some.vocab))
    kinds = spellings_of(row)
    texts = {one for kind in ("think_open", "think_close", "drop", "answer_open") for one in kinds.get(kind, ())}
    assert controls or not can_be_control(row) & set(some.names)
    named = {one for kind in kinds.values() for one in kind if one in some.vocab.control} - set(controls)
    for start in ("auto", "answer", "reasoning"):
        for where, before in states(row):
            for control in [*controls, *sorted(named)]:
                parser = hs.Parser(name, some.vocab, check_stops=False, start=start)
                stream = some.encode(before.encode()) + some.encode(control.encode()) + some.encode(b" Bye")
                events = run(parser, [stream])
                said = [event[1] for event in events if event[0] in ("ContentDelta", "ReasoningDelta")]
                if control not in named and (where != "body" or control not in texts):
                    said += [event[2] for event in events if event[0] == "ToolCallDelta"]
                assert all(control not in text for text in said), (where, start, control, events)
