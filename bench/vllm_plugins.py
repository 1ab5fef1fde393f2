"""`python -m bench.vllm_plugins`, in the environment of `make engines-vllm`: vLLM's outputs to SSE in three ways.

"vLLM" is its generator with its own parsers, "parsers" the same generator with ours, and "frames" our plug-in in its
place. No engine and no server run. The outputs are there before the clock starts.

A second table has vLLM's own parser of gpt-oss alone, over openai-harmony's StreamableParser and over the one of
`harmonystream.compat.openai_harmony`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
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
HEAD_DROP_IN = ("µs per token", "openai-harmony", "drop-in", "drop-in : openai-harmony")
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


def measured() -> Iterator[Row]:
    for name, stream in streams_of():
        message = replace(stream, name=name, framed=True, whole=False).merged().message()
        readers = {kind: Plugged(message, kind) for kind in KINDS}
        for kind, reader in readers.items():
            if problem := reader.check()[0].wrong(message["expected"]):
                print(f"{name}, {kind}: {problem} wrong", file=sys.stderr)
        took = medians({kind: reader.read for kind, reader in readers.items()}, 7, 4.0)
        vllm, parsers, frames = (took[kind] / 1000 for kind in KINDS)
        cells = (f"{vllm:.1f}", f"{parsers:.1f}", f"{frames:.2f}", f"{parsers / vllm:.2f}", f"{vllm / frames:.0f}")
        yield Row((name, *cells))


@contextmanager
def dropped_in() -> Iterator[None]:
    """Within it, what vLLM's parser takes from openai-harmony is our drop-in."""
    import vllm.parser.harmony as harmony

    from harmonystream.compat import openai_harmony as ours

    encoding = ours.load_harmony_encoding(ours.HarmonyEncodingName.HARMONY_GPT_OSS)
    mine = {
        "get_streamable_parser_for_assistant": lambda: ours.StreamableParser(encoding, ours.Role.ASSISTANT),
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

    def read(self) -> float:
        with dropped_in():
            return super().read()

    def check(self) -> Any:
        with dropped_in():
            return super().check()


def measured_drop_in() -> Iterator[Row]:
    for name, stream in streams_of()[-2:]:
        message = replace(stream, name=name, framed=False, whole=False).message()
        readers = {"theirs": Reader(message), "ours": DroppedIn(message)}
        for kind, reader in readers.items():
            if problem := reader.check()[0].wrong(message["expected"]):
                print(f"{name}, {kind}: {problem} wrong", file=sys.stderr)
        took = medians({kind: reader.read for kind, reader in readers.items()}, 7, 4.0)
        theirs, ours = took["theirs"] / 1000, took["ours"] / 1000
        yield Row((name, f"{theirs:.1f}", f"{ours:.1f}", f"{ours / theirs:.2f}"))


def main() -> None:
    pin()
    for _, stream in streams_of():
        parser_class(stream.format)  # remembered: afterwards our parser of gpt-oss takes the place of vLLM's
    show(HEAD, measured(), markdown=True)
    show(HEAD_DROP_IN, measured_drop_in(), markdown=True)


if __name__ == "__main__":
    main()
