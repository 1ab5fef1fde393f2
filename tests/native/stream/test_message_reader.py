"""The reader below `compat.openai_harmony`; tests/compat compares what it reads with openai-harmony itself."""

from __future__ import annotations

import gc
import weakref

import pytest

from harmonystream._native.stream.message_reader import MessageReader
from harmonystream.vocab import from_bytes, o200k_harmony

ROLES = {name: name for name in ("user", "assistant", "system", "developer", "tool")}
HEADER = [200005, 17196, 200008]  # <|channel|>final<|message|>


def reader(role="assistant", recover=False, make=lambda header, text: (header.channel, text), **options):
    return MessageReader(o200k_harmony(), role, True, recover, ROLES, make, LookupError, **options)


def test_the_classes_of_the_caller_are_used():
    one = reader()
    for tid in [*HEADER, 12194]:
        assert one.process(tid) is one
    assert (one.current_role, one.current_channel, one.current_content) == ("assistant", "final", "Hi")
    assert one.process_eos().messages == [("final", "Hi")]
    with pytest.raises(LookupError, match="expecting start"):
        one.process(12194)
    assert one.reading == ("ExpectStart", None, [])


def test_its_lists_are_the_callers():
    one = reader()
    for tid in [*HEADER, 12194, 200007]:
        one.process(tid)
    one.messages.clear()
    one.tokens.clear()
    assert (len(one.messages), len(one.tokens)) == (1, 5)


def test_what_make_message_raises_is_raised_and_the_reader_goes_on():
    def refuse(header, text):
        raise ZeroDivisionError(text)

    one = reader(make=refuse)
    for tid in [*HEADER, 12194]:
        one.process(tid)
    with pytest.raises(ZeroDivisionError, match="Hi"):
        one.process(200007)
    assert one.reading == ("ExpectStart", None, [])
    assert one.process(200006).reading[0] == "Header"


def test_a_long_message_is_not_joined_anew_for_each_question():
    one = reader()
    for tid in HEADER:
        one.process(tid)
    for i in range(3000):
        one.process(12194)
        if i % 1000 == 0:
            assert one.current_content == "Hi" * (i + 1)
    assert one.process_eos().messages == [("final", "Hi" * 3000)]


def test_a_vocabulary_without_the_markers_is_refused():
    with pytest.raises(KeyError, match="start"):
        MessageReader(from_bytes([b"a"], {}), None, True, False, ROLES, print, LookupError)


def test_it_does_not_keep_itself_alive():
    class Reader(MessageReader):
        pass

    one = Reader(o200k_harmony(), "assistant", True, False, ROLES, lambda header, text: None, LookupError)
    gone = weakref.ref(one)
    one.itself = one
    del one
    gc.collect()
    assert gone() is None
