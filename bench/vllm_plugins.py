"""`python -m bench.vllm_plugins`, in the environment of `make engines-vllm`: vLLM's outputs to SSE in three ways.

"vLLM" is its generator with its own parsers, "parsers" the same generator with ours, and "frames" our plug-in in its
place. No engine and no server run. The outputs are there before the clock starts.

A second table has vLLM's own parser of gpt-oss alone, over openai-harmony's StreamableParser, over the one of
`harmonystream.compat.openai_harmony` (the drop-in), and over one that only repeats what the drop-in returned: what is
left then is vLLM's own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from bench import streams
from bench.clock import medians, pin
from bench.families import OF_FORMAT
from bench.report import Row, show
from bench.rivals.with_vllm import Framer, Reader, parser_class, server, tokenizer
from bench.streams import Stream

KINDS = ("vLLM", "parsers", "frames")
HEAD_DROP_IN = (
    *("µs per token", "openai-harmony", "drop-in", "repeated", "drop-in : openai-harmony"),
    *("repeated : openai-harmony", "difference"),
)
HEAD = ("µs per token", *KINDS, "parsers : vLLM", "vLLM : frames")


def ours(format: str) -> Any:
    """The class that vLLM composes of our names."""
    from vllm.parser import ParserManager
    from vllm.plugins import load_general_plugins

    load_general_plugins()
    name = f"harmonystream_{format}"
    return ParserManager.get_parser(
        tool_parser_name=name,
        reasoning_parser_name=name,
        enable_auto_tools=True,
        is_harmony=format == "harmony",
        tokenizer=tokenizer(),
    )


class Plugged(Framer):
    def __init__(self, stream: dict[str, Any], kind: str) -> None:
        super().__init__(stream)
        if kind == "vLLM":
            return
        self._server = server(ours(stream["format"]))
        if kind == "frames":
            from harmonystream.integrations.vllm.frames import install

            config = SimpleNamespace(model_type="qwen3")
            self._server.model_config = SimpleNamespace(hf_config=config, hf_overrides=None, hf_text_config=config)
            install(SimpleNamespace(openai_serving_chat=self._server))


def streams_of() -> list[tuple[str, Stream]]:
    hermes = OF_FORMAT["hermes"]
    return [
        ("Hermes, a call of 1,000 tokens", streams.call(hermes, 1000)),
        ("Hermes, a call of 16,000 tokens", streams.call(hermes, 16_000)),
        ("Hermes, content of 1,000 tokens", streams.content(hermes, 1000)),
        ("Qwen3-Coder, a call of 1,000 tokens", streams.call(OF_FORMAT["qwen3_coder"], 1000)),
        ("gpt-oss, content of 1,000 tokens", streams.content(streams.HARMONY, 1000)),
        ("gpt-oss, a call of 1,000 tokens", streams.call(streams.HARMONY, 1000)),
    ]


def times(name: str, message: dict[str, Any], readers: dict[str, Any]) -> list[float]:
    """Microseconds per token of each. Of what one reads wrongly there is a line."""
    for kind, reader in readers.items():
        if problem := reader.check()[0].wrong(message["expected"]):
            print(f"{name}, {kind}: {problem} wrong", file=sys.stderr)
    took = medians({kind: reader.read for kind, reader in readers.items()}, 7, 4.0)
    return [each / 1000 for each in took.values()]


def measured() -> Iterator[Row]:
    for name, stream in streams_of():
        message = replace(stream, name=name, framed=True, whole=False).merged().message()
        vllm, parsers, frames = times(name, message, {kind: Plugged(message, kind) for kind in KINDS})
        cells = (f"{vllm:.1f}", f"{parsers:.1f}", f"{frames:.2f}", f"{parsers / vllm:.2f}", f"{vllm / frames:.0f}")
        yield Row((name, *cells))


class Repeated:
    """Stands for a StreamableParser that takes no time: it repeats what ours returned for the same ids."""

    def __init__(self, ids: list[int]) -> None:
        parser = drop_in()
        self._steps, messages = [], []
        for tid in ids:
            parser.process(tid)
            if len(parser.messages) > len(messages):
                messages = list(parser.messages)
            self._steps.append((parser.current_channel, parser.current_recipient, parser.last_content_delta, messages))
        self.begin()

    def begin(self) -> Repeated:
        self._rest = iter(self._steps)
        self.current_channel = self.current_recipient = self.last_content_delta = None
        self.messages: list[Any] = []
        return self

    def process(self, tid: int) -> None:
        self.current_channel, self.current_recipient, self.last_content_delta, self.messages = next(self._rest)

    def process_eos(self) -> None: ...


def drop_in() -> Any:
    from harmonystream.compat import openai_harmony as ours

    encoding = ours.load_harmony_encoding(ours.HarmonyEncodingName.HARMONY_GPT_OSS)
    return ours.StreamableParser(encoding, ours.Role.ASSISTANT)


@contextmanager
def dropped_in(make: Callable[[], Any]) -> Iterator[None]:
    """Within it, what vLLM's parser takes from openai-harmony is our drop-in. make: returns its StreamableParser."""
    import vllm.parser.harmony as harmony

    from harmonystream.compat import openai_harmony as ours

    encoding = ours.load_harmony_encoding(ours.HarmonyEncodingName.HARMONY_GPT_OSS)
    mine = {
        "get_streamable_parser_for_assistant": make,
        "get_encoding": lambda: encoding,
        **{name: getattr(ours, name) for name in ("HarmonyError", "Message", "Role")},
    }
    theirs = {name: getattr(harmony, name) for name in mine}
    vars(harmony).update(mine)
    try:
        yield
    finally:
        vars(harmony).update(theirs)


class DroppedIn(Reader):
    """vLLM's own HarmonyParser, over our drop-in."""

    def __init__(self, stream: dict[str, Any], make: Callable[[], Any]) -> None:
        super().__init__(stream)
        self._parser = make

    def read(self) -> float:
        with dropped_in(self._parser):
            return super().read()

    def check(self) -> Any:
        with dropped_in(self._parser):
            return super().check()


def measured_drop_in() -> Iterator[Row]:
    for name, stream in streams_of()[-2:]:
        message = replace(stream, name=name, framed=False, whole=False).message()
        repeated = Repeated([*message["opening"], *message["body"], *message["closing"]])
        readers = {
            "theirs": Reader(message),
            "ours": DroppedIn(message, drop_in),
            "repeated": DroppedIn(message, repeated.begin),
        }
        theirs, *others = times(name, message, readers)
        ours, floor = (each / theirs for each in others)
        shown = (f"{each:.1f}" for each in (theirs, *others))
        yield Row((name, *shown, f"{ours:.2f}", f"{floor:.2f}", f"{ours - floor:.2f}"))


def main() -> None:
    pin()
    for _, stream in streams_of():
        parser_class(stream.format)  # remembered: afterwards our parser of gpt-oss takes the place of vLLM's
    show(HEAD, measured(), markdown=True)
    show(HEAD_DROP_IN, measured_drop_in(), markdown=True)


if __name__ == "__main__":
    main()
