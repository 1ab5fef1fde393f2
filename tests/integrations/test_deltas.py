"""Deltas that part the texts of several messages, beside the chunks of ChatStream."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream.formats import format_of
from harmonystream.integrations.deltas import Deltas
from harmonystream.integrations.model import joined

HARMONY = format_of("harmony")
HEADERS = (
    "<|channel|>analysis<|message|>",
    "<|channel|>commentary<|message|>",
    "<|channel|>final<|message|>",
    "<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
)
MESSAGES = st.lists(st.tuples(st.sampled_from(HEADERS), st.sampled_from(["", "a", "b c"])), min_size=1, max_size=5)


@given(MESSAGES, st.lists(st.integers(0, 400), max_size=5).map(sorted))
def test_streamed_and_whole_they_say_what_the_chunks_say(messages, places):
    text = "<|end|><|start|>assistant".join(header + said for header, said in messages) + "<|end|>"
    places = [0, *(place % len(text) for place in places), len(text)]
    cuts = [text[a:b] for a, b in zip(sorted(places), sorted(places)[1:])]
    deltas, said = Deltas(hs.Parser(), HARMONY), hs.inside.Delta("", "", ())
    for cut in cuts:
        deltas = Deltas(deltas.parser, HARMONY, deltas.seen)  # as a server goes on with a stream that was moved
        said = joined(said, deltas.feed(cut))
    said = joined(said, deltas.finish())
    whole = Deltas(hs.Parser(), HARMONY).whole(text)
    assert (said.reasoning, said.content) == (whole.reasoning, whole.content)
    stream = hs.ChatStream(hs.Parser(), id="1", model="1", created=0)
    stream.start()
    stream.feed_text(text)
    stream.finish("stop")
    message = stream.response()["choices"][0]["message"]
    assert (whole.reasoning, whole.content) == (message.get("reasoning") or "", message["content"] or "")
    calls = {call.index: "" for call in said.calls}
    for call in said.calls:
        calls[call.index] += call.arguments
    assert list(calls.values()) == [call["function"]["arguments"] for call in message.get("tool_calls", ())]
    assert [call.name for call in whole.calls] == ["f"] * len(calls)
