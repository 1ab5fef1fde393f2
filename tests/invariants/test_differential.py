"""Ours against the real openai-harmony: conversations that it renders, and streams that its strict parser accepts.

What we read otherwise on purpose is listed in divergences.py and tested in test_divergences.py.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

openai_harmony = pytest.importorskip("openai_harmony")

from divergences import CHANNEL, CONSTRAIN, MESSAGE, TERMINATORS, VOCAB, divergences  # noqa: E402
from official import Read, comparable, encoding, marked, ours, plain, theirs  # noqa: E402

START = VOCAB.control["<|start|>"]

# -- conversations that openai-harmony renders -------------------------------------------------------------------------

SCRAPS = [
    "Hi",
    " you",
    "<|end|>",
    "<|start|>assistant",
    "<|",
    "|>",
    "<",
    "今天很好",
    "😀",
    "👩‍👧",
    "\0",
    "\r\n",
    '{"a": 1}',
]
TEXTS = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(SCRAPS), max_size=8).map("".join))
NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,20}", fullmatch=True)
FUNCTIONS = NAMES.map(lambda name: f"functions.{name}")
BUILTINS = st.sampled_from(["python", "browser.search", "container.exec"])
RECIPIENTS = st.one_of(st.none(), FUNCTIONS, BUILTINS, st.sampled_from(["assistant", "get_weather"]))
CONTENT_TYPES = st.sampled_from([None, "json", "code", "xml", "<|constrain|>json", "<|constrain|>xml"])
CHANNELS = st.sampled_from([None, "analysis", "commentary", "final"])
ROLES = st.sampled_from(["user", "system", "developer"])


def looks_unmarked(message: Read) -> bool:
    """`<|start|>assistant json<|message|>`: one word after the role, which we take for text (section 5)."""
    return message.content_type in ("json", "code", "xml") and message.channel is None and message.recipient is None


ASSISTANTS = st.builds(Read, st.just("assistant"), CHANNELS, RECIPIENTS, CONTENT_TYPES, TEXTS).filter(
    lambda message: not looks_unmarked(message)
)
OTHERS = st.builds(Read, ROLES, CHANNELS, st.sampled_from([None, "assistant"]), st.none(), TEXTS)
TOOLS = st.builds(Read, st.one_of(FUNCTIONS, BUILTINS), CHANNELS, st.just("assistant"), st.none(), TEXTS)


def rendered(message: Read) -> list[int]:
    """Its ids, by openai-harmony."""
    roles = openai_harmony.Role
    if message.author in ("assistant", "user", "system", "developer", "tool"):
        author = openai_harmony.Author(role=roles(message.author))
    else:
        author = openai_harmony.Author.new(roles.TOOL, message.author)
    made = openai_harmony.Message.from_author_and_content(author, message.text)
    made.channel, made.recipient, made.content_type = message.channel, message.recipient, message.content_type
    return encoding().render(made)


@given(st.lists(st.one_of(ASSISTANTS, ASSISTANTS, OTHERS, TOOLS), max_size=4))
def test_rendered_conversations_are_read_back(conversation):
    ids = [tid for message in conversation for tid in rendered(message)]
    assert ours(ids, start="") == [comparable(message) for message in conversation]


@given(st.lists(st.one_of(OTHERS, TOOLS), max_size=2), st.lists(ASSISTANTS, min_size=1, max_size=3))
def test_completions_are_read_after_their_prompt(conversation, completion):
    header = marked("<|start|>assistant")
    prompt = [tid for message in conversation for tid in rendered(message)] + header
    ids = [tid for message in completion for tid in rendered(message)][len(header) :]
    expected = [comparable(message) for message in completion]
    assert ours(ids, prompt=prompt) == expected
    assert ours(ids) == expected


# -- streams that it accepts -------------------------------------------------------------------------------------------

WORDS = [
    "assistant",
    "user",
    "tool",
    "analysis",
    "commentary",
    "final",
    "Final",
    "final?",
    "foo",
    "functions.f",
    "python",
]
WORDS += [
    " to=functions.f",
    " to=python",
    " to=assistant",
    " to=f",
    " to=",
    " json",
    " code",
    " functions.g",
    " python",
    " x",
]
WORDS += ["\u00a0", " ", "\n", "<", "é", "😀", "browser.search", "to=g", "<|channel|>", "a b c"]
OTHER_CONTROL = [VOCAB.control[name] for name in ("<|endoftext|>", "<|startoftext|>", "<|reserved_200017|>")]
MARKERS = [CHANNEL, CONSTRAIN, MESSAGE, START, *OTHER_CONTROL]


def some_of(rng: random.Random, texts: list[str]) -> list[int]:
    return plain(rng.choice(texts))


def random_header(rng: random.Random, first: bool) -> list[int]:
    """Mostly well formed, with odd words here and there; sometimes anything."""
    if rng.random() < 0.3:
        steps = range(rng.randint(0, 6))
        return [tid for _ in steps for tid in ([rng.choice(MARKERS)] if rng.random() < 0.3 else some_of(rng, WORDS))]
    ids = (
        [] if first else some_of(rng, ["assistant"] * 6 + ["user", "tool", "functions.f", "foo", "assistantassistant"])
    )
    if rng.random() < 0.2:
        ids += some_of(rng, [" to=functions.f", " to=python", " to=assistant", " foo"])
    if rng.random() < 0.85:
        ids += [CHANNEL, *some_of(rng, ["analysis", "commentary", "final", "final", "foo", "Final"])]
        if rng.random() < 0.3:
            ids += some_of(rng, WORDS)
    if rng.random() < 0.3:
        ids += [*some_of(rng, [" ", ""]), CONSTRAIN, *some_of(rng, ["json", "code", "x"])]
    return ids


def random_body(rng: random.Random) -> list[int]:
    """Text, single bytes that seldom make characters, and seldom a control id."""
    ids: list[int] = []
    for _ in range(rng.randint(0, 5)):
        kind = rng.random()
        if kind < 0.03:
            ids.append(rng.choice(MARKERS))
        elif kind < 0.5:
            ids.append(rng.randrange(256))
        else:
            ids += some_of(rng, SCRAPS)
    return ids


def random_stream(rng: random.Random) -> list[int]:
    ids: list[int] = []
    last = rng.randint(0, 3)
    for k in range(last + 1):
        ids += [*([START] if k else []), *random_header(rng, k == 0)]
        if rng.random() < 0.97:
            ids.append(MESSAGE)
        ids += random_body(rng)
        if k < last or rng.random() < 0.8:
            ids.append(rng.choice(sorted(TERMINATORS)))
    return ids


@given(st.randoms(use_true_random=False))
def test_accepted_streams_are_read_alike(rng):
    ids = random_stream(rng)
    messages, _ = theirs(ids)
    if messages is not None and not divergences(ids):
        expected = [comparable(message) for message in messages]
        assert [comparable(message) for message in ours(ids)] == expected
        from_start = [comparable(message) for message in ours([*marked("<|start|>assistant"), *ids], start="")]
        assert from_start == expected


def test_enough_streams_are_compared():
    """The property above says something: one stream in ten is accepted, free of divergences, and not empty."""
    rng = random.Random(0)
    streams = [random_stream(rng) for _ in range(300)]
    accepted = [(ids, messages) for ids in streams if (messages := theirs(ids)[0]) is not None]
    compared = [messages for ids, messages in accepted if not divergences(ids)]
    assert len([messages for messages in compared if any(message.text for message in messages)]) >= 30


# -- characters in pieces ----------------------------------------------------------------------------------------------

A = Read("assistant", "final", None, None, "a")
FINAL = marked("<|channel|>final<|message|>")
# tokens that are no characters by themselves, and some that are
BYTES = st.one_of(st.integers(0, 255), st.sampled_from([84083, 1857, 4046, 9552, 2203, 12194]), st.integers(0, 199997))


@given(st.lists(BYTES, max_size=20), st.sampled_from([[], [*sorted(TERMINATORS)][:1]]))
def test_text_equals_its_final_text(body, end):
    messages, _ = theirs([*FINAL, *body, *end])
    (message,) = ours([*FINAL, *body, *end])
    assert messages == [message]
    assert message.text == b"".join(map(VOCAB.token_bytes, body)).decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("body", "deltas", "text"),
    [
        ([1857], "\ufffd", "\ufffd\ufffd"),  # A3, and the beginning of a character that the end cuts off
        ([4046], "\ufffd", "\ufffd京赛车"),  # 97 and three characters
        ([9552, 12194], " \ufffd", " \ufffdHi"),  # a space and half an emoji, then Hi
    ],
)
def test_its_deltas_lose_text_that_its_messages_have(body, deltas, text):
    """Section 1: our deltas together equal the final text."""
    ids = [*FINAL, *body]
    messages, official_deltas = theirs(ids)
    assert official_deltas == deltas
    assert messages == ours(ids) == [A._replace(text=text)]


def test_an_unknown_id_costs_one_character():
    """Section 1. It gives up the rest of the message."""
    ids = [*FINAL, *plain("a"), 201089, *plain(" then")]
    assert theirs(ids)[0] == [A._replace(text="a\ufffd")]
    assert ours(ids) == [A._replace(text="a\ufffd then")]
