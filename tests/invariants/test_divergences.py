"""What we read otherwise than openai-harmony's strict parser: both readings of a stream, side by side.

Sections are those of docs/harmony.md.
"""

from __future__ import annotations

import pytest

import harmonystream as hs

pytest.importorskip("openai_harmony")

from divergences import MESSAGE, PREDICATES, VOCAB, divergences
from official import Read, marked, ours, plain, theirs

A = Read("assistant", "final", None, None, "a")
AFTER_A = "<|channel|>final<|message|>a<|end|><|start|>"
LONG = "x" * 300

# predicate, stream, theirs, ours
DIVERGING = [
    (
        "control_in_body",
        "<|channel|>final<|message|>a<|message|>b<|reserved_200017|>c",
        [A._replace(text="a<|message|>b<|reserved_200017|>c")],
        [A._replace(text="abc")],
    ),
    (
        "control_in_body",
        "<|channel|>analysis<|message|>b<|start|>assistant<|channel|>final<|message|>a<|return|>",
        [A._replace(channel="analysis", text="b<|start|>assistant<|channel|>final<|message|>a")],
        [A._replace(channel="analysis", text="b"), A],
    ),
    (
        "control_in_body",
        "<|channel|>analysis<|message|>b<|channel|>final<|message|>a<|return|>",
        [A._replace(channel="analysis", text="b<|channel|>final<|message|>a")],
        [A._replace(channel="analysis", text="b"), A],
    ),
    (
        "control_in_body",
        "<|channel|>final<|message|>a<|endoftext|>b<|return|>",
        [A._replace(text="a<|endoftext|>b")],
        [A],
    ),
    (
        "control_in_header",
        AFTER_A + "<|start|>assistant to=f<|message|>b",
        [A, Read("<|start|>assistant", None, "f", None, "b")],
        [A, Read("assistant", None, "f", None, "b")],
    ),
    ("control_in_header", "<|endoftext|><|message|>a", [Read("assistant", None, "<|endoftext|>", None, "a")], []),
    (
        "unicode_space_in_header",
        " to=f<|channel|>final\u00a0json<|message|>a",
        [A._replace(recipient="f\u00a0json")],
        [A._replace(recipient="f", content_type="json")],
    ),
    (
        "header_too_long",
        f"<|channel|>final to=f {LONG}<|message|>a",
        [A._replace(recipient="f", content_type=LONG)],
        [A._replace(recipient="f", text=LONG + "a")],
    ),
    (
        "several_channels",
        "<|channel|>commentary to=assistant<|channel|>final<|message|>a",
        [A._replace(channel="commentary", recipient="assistant<|channel|>final")],
        [A._replace(recipient="assistant")],
    ),
    ("misspelt_channel", "<|channel|>final?<|message|>a", [A._replace(channel="final?")], [A]),
    ("misspelt_channel", "<|channel|>Final<|message|>a", [A._replace(channel="Final")], [A]),
    (
        "misspelt_channel",
        "<|channel|>comment<|message|>a",
        [A._replace(channel="comment")],
        [A._replace(channel="commentary")],
    ),
    (
        "misspelt_channel",
        "<|channel|>to=f<|message|>a",
        [A._replace(channel="to=f")],
        [A._replace(channel=None, recipient="f")],
    ),
    (
        "spelled_marker_in_header",
        [*plain(" to=f<|channel|>final"), MESSAGE, *plain("a")],
        [A._replace(recipient="f")],
        [A._replace(channel=None, recipient="f<|channel|>final")],
    ),
    (
        "unmarked_words",
        " functions.f<|message|>a",
        [A._replace(channel=None, recipient="functions.f")],
        [A._replace(channel=None, text=" functions.fa")],
    ),
    (
        "unmarked_words",
        AFTER_A + "assistant functions.f<|message|>b",
        [A, Read("assistant", None, "functions.f", None, "b")],
        [A, Read("assistant", None, None, None, "functions.fb")],
    ),
    (
        "unknown_author",
        AFTER_A + "assistantassistant to=f<|message|>b",
        [A, Read("assistantassistant", None, "f", None, "b")],
        [A, Read("assistant", None, "f", None, "b")],
    ),
    (
        "unknown_author",
        AFTER_A + "to=f<|message|>b",
        [A, Read("to=f", None, None, None, "b")],
        [A, Read("assistant", None, "f", None, "b")],
    ),
    (
        "unknown_author",
        AFTER_A + "lookup to=f<|message|>b",
        [A, Read("lookup", None, "f", None, "b")],
        [A, Read("assistant", None, "f", None, "b")],
    ),
    (
        "word_as_recipient",
        "<|channel|>final <|constrain|>json<|message|>a",
        [A._replace(recipient="<|constrain|>json")],
        [A._replace(content_type="json")],
    ),
    (
        "word_as_recipient",
        "<|channel|>final json<|message|>a",
        [A._replace(recipient="json")],
        [A._replace(content_type="json")],
    ),
    (
        "word_as_recipient",
        "<|channel|>final lookup json<|message|>a",
        [A._replace(recipient="lookup", content_type="json")],
        [A._replace(content_type="lookup")],
    ),
    (
        "space_behind_to",
        "<|channel|>final to= f<|message|>a",
        [A._replace(recipient="", content_type="f")],
        [A._replace(recipient="f")],
    ),
    (
        "loose_constrain",
        "<|channel|>final<|constrain|>to=f<|message|>a",
        [A._replace(recipient="<|constrain|>to=f")],
        [A._replace(recipient="f")],
    ),
    (
        "loose_constrain",
        "<|channel|>final to=f<|constrain|><|message|>a",
        [A._replace(recipient="f", content_type="<|constrain|>")],
        [A._replace(recipient="f")],
    ),
]


@pytest.mark.parametrize(("name", "stream", "official", "expected"), DIVERGING)
def test_divergences(name, stream, official, expected):
    ids = marked(stream) if isinstance(stream, str) else stream
    assert divergences(ids) == {name}
    assert theirs(ids)[0] == official
    assert ours(ids) == expected


def test_every_divergence_has_an_example():
    assert {name for name, *_ in DIVERGING} == set(PREDICATES)


def test_what_others_say_is_suppressed():
    """Section 4: a tool result or a user's turn that the model makes up is no output."""
    ids = marked(AFTER_A + "functions.f to=assistant<|channel|>commentary<|message|>b<|end|><|start|>user<|message|>c")
    others = [Read("functions.f", "commentary", "assistant", None, "b"), Read("user", None, None, None, "c")]
    assert theirs(ids)[0] == [A, *others]
    assert ours(ids) == [A, *(message._replace(text="") for message in others)]


def test_text_for_the_assistant_itself_is_content():
    """Section 4: both read the recipient `assistant`; to us it makes no call."""
    ids = marked("<|channel|>commentary to=assistant<|message|>a<|end|>")
    assert theirs(ids)[0] == ours(ids) == [A._replace(channel="commentary", recipient="assistant")]
    assert hs.parse(ids).content == "a"
    assert hs.parse(ids).tool_calls == ()


def test_the_constrain_marker_is_no_part_of_the_content_type():
    ids = marked("<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>")
    call = Read("assistant", "commentary", "functions.f", "json", "{}")
    assert theirs(ids)[0] == [call._replace(content_type="<|constrain|>json")]
    assert ours(ids) == [call]


REFUSED = {
    "<|channel|>final<|message|>a<|end|><|return|>": [A],
    "<|channel|>final<|message|>a<|end|>\n<|start|>assistant<|message|>b": [A, A._replace(channel=None, text="b")],
    "<|channel|>final<|message|>a<|end|><|start|>lookup<|message|>b": [A, A._replace(channel=None, text="b")],
    "<|channel|> final<|message|>a": [A],
    "<|channel|><|message|>a": [A._replace(channel=None)],
    "<|channel|>final to=f to=g<|message|>a": [A._replace(recipient="g")],
    "<|channel|>final to=f json now<|message|>a": [A._replace(recipient="f", content_type="json")],
    "final to=f<|message|>a": [A._replace(recipient="f")],
    "Hello there": [A._replace(channel=None, text="Hello there")],
    "<|channel|>final": [],
    "": [],
}


@pytest.mark.parametrize("stream", REFUSED)
def test_streams_that_it_refuses(stream):
    assert theirs(marked(stream))[0] is None
    assert ours(marked(stream)) == REFUSED[stream]


def test_half_a_character_in_a_header():
    """It refuses the header; to us the byte is one U+FFFD."""
    ids = [*marked("<|channel|>final to=f"), 172, MESSAGE, *plain("a")]
    assert VOCAB.token_bytes(172) == b"\xf0"
    assert theirs(ids)[0] is None
    assert ours(ids) == [A._replace(recipient="f\ufffd")]
