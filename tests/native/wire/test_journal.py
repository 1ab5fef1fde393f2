"""What a writer remembers for Python. tests/native/wire/test_sse.py has its verbs."""

from __future__ import annotations

from wire_chat import stream_of

import harmonystream as hs
from harmonystream.events import ContentDelta, MessageStart

HEADER = hs.vocab.o200k_harmony().encode("<|channel|>final<|message|>", control=True)
TEXT = hs.vocab.o200k_harmony().encode('Say "hi".\n')


def test_the_journal_has_what_python_was_not_told() -> None:
    stream = stream_of(hs.Parser())
    stream.start()
    stream.feed([*HEADER, *TEXT])
    events, filter = stream._journal()
    assert [type(event) for event in events] == [MessageStart, ContentDelta]
    assert (events[0].channel, events[1].text, filter) == ("final", 'Say "hi".\n', None)


def test_what_is_told_again_begins_where_it_was_told_last() -> None:
    stream = stream_of(hs.Parser())
    stream.start()
    for piece in (HEADER, *TEXT):
        stream.feed(piece)
        stream._catch_up()
    stream.feed(TEXT)
    (event,), _ = stream._journal()
    assert event.text == 'Say "hi".\n'


def test_text_that_was_taken_is_not_told() -> None:
    stream = stream_of(hs.Parser())
    stream.start()
    stream.feed([*HEADER, *TEXT])
    assert stream._take("content") == 'Say "hi".\n'
    stream.feed(TEXT)
    assert stream.response()["choices"][0]["message"]["content"] == 'Say "hi".\n'


def test_a_forked_parser_knows_the_open_message() -> None:
    stream = stream_of(hs.Parser())
    stream.start()
    stream.feed([*HEADER, *TEXT])
    assert stream.parser.fork().channel == stream.parser.channel == "final"
