"""The streams over which record_transitions.py watches the machines."""

from __future__ import annotations

from typing import Any

import corpus_format
import corpus_format_tags
import random_streams
import random_tags
import streams
import tag_streams
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream.formats import Format


def read(parser: hs.Parser, stream: Any, finish: str | None) -> None:
    """Whole, and unit by unit."""
    for pieces in ([stream], [stream[at : at + 1] for at in range(len(stream))]):
        parser.reset()
        streams.run(parser, pieces, finish)


def corpora() -> None:
    for case in corpus_format.read_cases():
        parser = hs.Parser("harmony", tools=case.tools, start=case.start)
        for stream in (case.stream, streams.to_ids(case.stream)) if isinstance(case.stream, bytes) else (case.stream,):
            read(parser, stream, case.finish)
    for tag_case in corpus_format_tags.read_cases():
        for _, stream, vocab in tag_streams.forms(tag_case.stream, tag_case.options.format):
            read(tag_case.options.parser(vocab), stream, tag_case.options.finish)
    # No row of ours has calls in JSON without a section around them, so no case of the corpus does.
    own = Format("own", call=("<call>", ">", "</call>"), wrapped=True)
    read(hs.Parser(own), b'a<call>{"name": "f", "arguments": {', None)


def at_random(examples: int) -> None:
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    quick = settings(
        max_examples=examples, database=None, deadline=None, derandomize=True, suppress_health_check=checks
    )

    @quick
    @given(random_streams.options, st.one_of(random_streams.id_streams, random_streams.byte_streams))
    def harmony(options: random_streams.Options, stream: Any) -> None:
        read(options.parser(), stream, options.finish)

    @quick
    @given(st.data())
    def tags(data: st.DataObject) -> None:
        options, vocabulary = data.draw(random_tags.options()), data.draw(random_tags.vocabularies)
        read(options.parser(), data.draw(random_tags.texts(options.format)), options.finish)
        vocab = tag_streams.tokens(options.format, vocabulary).vocab
        read(options.parser(vocab), data.draw(random_tags.id_streams(options.format, vocabulary)), options.finish)

    harmony()
    tags()
