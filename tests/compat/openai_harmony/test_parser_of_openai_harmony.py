"""The parser of the drop-in, beside openai-harmony's own: every answer after every token."""

from __future__ import annotations

import json
from typing import Any

import openai_harmony as official
import pytest
from harmony_chats import Chats, theirs
from hypothesis import given
from hypothesis import strategies as st
from official import encoding, marked

from harmonystream.compat import openai_harmony as ours
from harmonystream.vocab import o200k_harmony

ENCODING = ours.load_harmony_encoding("HarmonyGptOss")
CONTROL = o200k_harmony().control
MARKERS = [CONTROL[f"<|{name}|>"] for name in ("start", "message", "channel", "constrain", "end", "call", "return")]
# Bytes of half characters, tokens that end or begin inside one, and special tokens that mean nothing.
PIECES = [161, 225, 222, 124, 187, 105548, 147, 654, 199999, 200018, 201088]
WORDS = [
    *("assistant", "user", "tool", "final", "analysis", " to=", "functions", ".f", " json", " ", "\n", "Hi", "{}"),
    *("commentary", "\u00a0", "\u2003", "\x0b", "<", "伞", " to=assistant", " bogus", "developer", "to="),
]
TOKENS = st.one_of(
    st.sampled_from(MARKERS), st.sampled_from(MARKERS[:5]), st.sampled_from(PIECES), st.sampled_from(WORDS)
)
HEADERS = st.sampled_from(
    [
        "<|channel|>final<|message|>",
        "<|channel|>analysis<|message|>",
        " to=functions.f<|channel|>commentary <|constrain|>json<|message|>",
        "<|start|>assistant<|channel|>commentary to=functions.f<|constrain|>json<|message|>",
        "<|start|>functions.f to=assistant<|channel|>commentary<|message|>",
        "<|start|>user<|message|>",
    ]
)
STREAMS = st.lists(st.one_of(TOKENS, HEADERS), max_size=24)
ROLES = st.sampled_from([None, "assistant", "assistant", "tool", "user"])


def ids_of(stream: list[int | str]) -> list[int]:
    return [tid for piece in stream for tid in ([piece] if isinstance(piece, int) else marked(piece))]


def answers(parser: Any) -> dict[str, Any]:
    """Everything that a parser says of itself. The ids of its content are compared as text: there are many for one."""
    data = parser.state_data
    return {
        "state": parser.state.value,
        "content ids": encoding().decode(data.pop("content_tokens", [])),
        "state data": data,
        "role": parser.current_role and parser.current_role.value,
        "channel": parser.current_channel,
        "recipient": parser.current_recipient,
        "content type": parser.current_content_type,
        "content": parser.current_content,
        "delta": parser.last_content_delta,
        "messages": [json.loads(message.to_json()) for message in parser.messages],
        "tokens": parser.tokens,
    }


def made(package: Any, role: str | None, **options: Any) -> Any:
    given = ENCODING if package is ours else encoding()
    return package.StreamableParser(given, None if role is None else package.Role(role), **options)


def beside(ids: list[int], role: str | None, strict: bool) -> bool:
    """Feeds both, and compares after each token. False: both have refused one."""
    one, other = made(ours, role, strict=strict), made(official, role, strict=strict)
    assert answers(one) == answers(other)
    for tid in [*ids, None]:
        try:
            other.process_eos() if tid is None else other.process(tid)
        except official.HarmonyError as error:
            with pytest.raises(ours.HarmonyError) as raised:
                one.process_eos() if tid is None else one.process(tid)
            assert str(raised.value).partition(":")[0] == str(error).partition(":")[0]
            assert answers(one) == answers(other)
            return False
        one.process_eos() if tid is None else one.process(tid)
        assert answers(one) == answers(other), tid
    return True


@given(STREAMS, ROLES, st.booleans())
def test_every_answer_after_every_token_is_that_of_openai_harmony(stream, role, strict):
    beside(ids_of(stream), role, strict)


def test_whole_conversations_are_read_as_openai_harmony_reads_them():
    chats = Chats(seed=41)
    read = sum(beside(theirs(encoding(), chats.chat()._replace(kind="plain"))[:400], None, True) for _ in range(40))
    assert read > 5


HEADER = marked("<|channel|>final<|message|>")


def test_a_completion_is_parsed_whole():
    ids = marked("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hi!<|return|>")
    mine = ENCODING.parse_messages_from_completion_tokens(ids, ours.Role.ASSISTANT)
    other = encoding().parse_messages_from_completion_tokens(ids, official.Role.ASSISTANT)
    assert [message.to_dict() for message in mine] == [message.to_dict() for message in other]
    for ids in ([], HEADER[:2], [*HEADER, *MARKERS[-2:]]):
        with pytest.raises(ours.HarmonyError):
            ENCODING.parse_messages_from_completion_tokens(ids, ours.Role.ASSISTANT)


def test_an_encoding_of_openai_harmony_gives_its_classes():
    """A host that has imported openai-harmony's classes can take this parser alone."""
    parser = ours.StreamableParser(encoding(), role=official.Role.ASSISTANT)
    for tid in [*HEADER, 12194]:
        assert parser.process(tid) is parser
    assert parser.current_role is official.Role.ASSISTANT
    parser.process_eos()
    assert parser.messages == [
        official.Message.from_role_and_content(official.Role.ASSISTANT, "Hi").with_channel("final")
    ]
    with pytest.raises(official.HarmonyError):
        parser.process(12194)


def test_an_id_that_does_not_exist_is_the_replacement_character():
    """openai-harmony says nothing more of a message after such an id."""
    parser = made(ours, "assistant")
    deltas = [parser.process(tid).last_content_delta for tid in [*HEADER, 300_000, 12194, 13]]
    assert deltas[3:] == ["\ufffd", "Hi", "."]
    assert parser.process_eos().messages[0].content[0].text == "\ufffdHi."


# --- recover ---


def recovered(ids: list[int], role: str | None = "assistant") -> list[tuple[str, str | None, str | None, str]]:
    parser = made(ours, role, recover=True)
    for tid in ids:
        parser.process(tid)
    messages = parser.process_eos().messages
    return [(each.author.role.value, each.channel, each.recipient, each.content[0].text) for each in messages]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("<|channel|>final<|message|>a<|end|>b", [("assistant", "final", None, "a"), ("assistant", None, None, "b")]),
        ("<|channel|>final<|message|>a<|end|><|end|><|return|>", [("assistant", "final", None, "a")]),
        (
            "<|channel|>analysis<|message|>a<|end|><|channel|>final<|message|>b",
            [("assistant", "analysis", None, "a"), ("assistant", "final", None, "b")],
        ),
        ("<|channel|><|message|>a", [("assistant", None, None, "a")]),
        ("<|channel|>final a b to=c d<|message|>e", [("assistant", "final", "c", "e")]),
        ("<|channel|>final", [("assistant", "final", None, "")]),
        (
            "<|message|>a<|end|><|start|>bogus<|message|>b",
            [("assistant", None, None, "a"), ("assistant", None, "bogus", "b")],
        ),
        ("<|message|>a<|end|><|start|><|message|>b", [("assistant", None, None, "a"), ("assistant", None, None, "b")]),
    ],
)
def test_recover_reads_what_openai_harmony_refuses(text, read):
    assert not beside(marked(text), "assistant", True)
    assert recovered(marked(text)) == read


@given(STREAMS, ROLES)
def test_recover_raises_nothing_and_its_deltas_are_the_text(stream, role):
    parser = made(ours, role, recover=True)
    told, text = "", []
    for tid in [*ids_of(stream), None]:
        before, open_before = len(parser.messages), parser.state
        _ = parser.process_eos() if tid is None else parser.process(tid)
        told += parser.last_content_delta or ""
        assert parser.state is not ours.StreamState.CONTENT or parser.current_content == told
        if len(parser.messages) > before:
            text.append(parser.messages[-1].content[0].text)
            if open_before is ours.StreamState.CONTENT:  # half a character at the end is told by the message alone
                assert text[-1] in (told, told + "\ufffd")
            told = ""
    assert text == [message.content[0].text for message in parser.messages]


@given(STREAMS, ROLES)
def test_recover_reads_the_same_where_nothing_is_wrong(stream, role):
    ids = ids_of(stream)
    parser = made(official, role, strict=False)
    try:
        for tid in ids:
            parser.process(tid)
        messages = parser.process_eos().messages
    except official.HarmonyError:
        return
    expected = [(each.author.role.value, each.channel, each.recipient, each.content[0].text) for each in messages]
    mine = iter(recovered(ids, role))  # with what they drop: a message that ends in its header and has no author
    assert all(message in mine for message in expected)


# --- errors of the caller ---


@pytest.mark.parametrize("token", [1.5, "a", None, b"x"])
def test_a_token_is_an_int(token):
    with pytest.raises(TypeError, match="integer"):
        made(ours, "assistant").process(token)


@pytest.mark.parametrize("token", [-1, 2**32, 2**70])
def test_a_token_is_in_range(token):
    with pytest.raises(OverflowError):
        made(ours, "assistant").process(token)


def test_the_encoding_is_one_of_harmony():
    with pytest.raises(TypeError, match="load_harmony_encoding"):
        ours.StreamableParser("HarmonyGptOss", None)
    with pytest.raises(ValueError, match="bogus"):
        ours.StreamableParser(ENCODING, "bogus")
