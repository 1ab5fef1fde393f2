"""Headers: the words and separators that the grammar knows (docs/harmony.md, 3), each by itself."""

from __future__ import annotations

import pytest

import harmonystream as hs

WHITESPACE = "\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
NOT_WHITESPACE = "\u200b\u180e\u2060\ufeff\u001c\u001f_.-"


def header(text, **options):
    events = hs.Parser(**options).feed_text(text + "<|message|>")
    return events[0].role, events[0].channel, events[0].recipient, events[0].content_type


@pytest.mark.parametrize("space", WHITESPACE, ids=[f"U+{ord(c):04X}" for c in WHITESPACE])
def test_every_whitespace_separates(space):
    expected = ("assistant", "commentary", "functions.f", "json")
    assert header(f"<|channel|>commentary{space}to=functions.f{space}json") == expected
    assert header(f"{space}to=functions.f{space}json<|channel|>{space}commentary{space}") == expected
    assert header(f"<|channel|>commentary to=functions.f<|constrain|>{space}json") == expected


@pytest.mark.parametrize("mark", NOT_WHITESPACE, ids=[f"U+{ord(c):04X}" for c in NOT_WHITESPACE])
def test_other_characters_belong_to_the_word(mark):
    assert header(f"<|channel|>commentary to=functions.a{mark}b json")[2] == f"functions.a{mark}b"


@pytest.mark.parametrize("word", ["json", "code", "text", "python", "markdown", "response"])
def test_content_types(word):
    assert header(f"<|channel|>final {word}") == ("assistant", "final", None, word)
    assert header(f"<|channel|>commentary to=functions.f {word}") == ("assistant", "commentary", "functions.f", word)
    assert header(f"<|channel|>final <|constrain|>{word}") == ("assistant", "final", None, word)


@pytest.mark.parametrize(
    ("word", "channel"),
    [
        ("analysis", "analysis"),
        ("Analysis:", "analysis"),
        ("––commentary", "commentary"),
        ("commentary?", "commentary"),
        ("comment", "commentary"),
        ("commentaries", "commentary"),
        ("final.", "final"),
        ("finalx", "final"),
        ("fin", "fin"),
        ("??", "??"),
        ("思考", "思考"),
    ],
)
def test_channel_words(word, channel):
    assert header(f"<|channel|>{word}") == ("assistant", channel, None, None)


@pytest.mark.parametrize(
    ("author", "role"),
    [
        ("assistant", "assistant"),
        ("assistantassistant", "assistant"),
        ("user", "user"),
        ("system", "system"),
        ("developer", "developer"),
        ("tool", "tool"),
        ("functions.f to=assistant", "functions.f"),
        ("python to=assistant", "python"),
        ("browser.search to=assistant", "browser.search"),
        ("known", "known"),
        ("narrator to=assistant", "narrator"),
        ("narrator", "assistant"),
        ("", "assistant"),
    ],
)
def test_authors(author, role):
    assert header(f"<|start|>{author}<|channel|>final", start="", tools=["known"])[0] == role


def test_a_header_of_256_bytes_is_whole_and_one_of_257_is_not():
    for size, recipient in [(256, True), (257, False)]:
        text = "<|channel|>commentary to=functions."
        text += "f" * (size - len(text) + len("<|channel|>") - 1)
        start = hs.Parser().feed_text(text + "<|message|>{}")[0]
        assert (start.recipient is not None) is recipient
        codes = [deviation.code for deviation in hs.parse(text + "<|message|>{}").deviations]
        assert ("header-too-long" in codes) is not recipient
