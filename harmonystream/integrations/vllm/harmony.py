"""gpt-oss. vLLM has one parser for it, whatever name the command line has. Our subclass replaces that parser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import vllm.parser
import vllm.parser.harmony as stock
from openai_harmony import Message, Role
from vllm.entrypoints.openai.parser.harmony_utils import get_encoding
from vllm.parser.abstract_parser import DelegatingParser

from ...compat.openai_harmony import StreamableParser, StreamState
from ...formats import HeaderFormat
from ..model import Model, model_of
from .unified import HarmonystreamParser

__all__ = ["HarmonystreamHarmonyParser", "install"]


def install() -> None:
    """Put our subclass where vLLM looks for its parser of gpt-oss. Called when one of our names is used."""
    stock.HarmonyParser = vllm.parser.HarmonyParser = HarmonystreamHarmonyParser


class HarmonystreamHarmonyParser(HarmonystreamParser, stock.HarmonyParser):  # type: ignore[misc]
    """Chat reads deltas, as for all models. Responses reads parts of messages (`process_chunk`, `flush`)."""

    def __init__(self, tokenizer: Any, tools: Any = None, *args: Any, **kwargs: Any) -> None:
        DelegatingParser.__init__(self, tokenizer, tools, *args, **kwargs)
        self.model = self._one_model()
        self._tools = tools
        self._parser: StreamableParser | None = None
        self._num_processed_messages = self._num_counted_tokens = self._num_reasoning_tokens = 0
        self._current_message_tokens: list[int] = []

    def _one_model(self) -> Model:
        """If the command line names no reasoning parser, vLLM uses its own one for gpt-oss, which reads nothing."""
        model = model_of(self.model_tokenizer, "harmony")
        for parser in (self._tool_parser, self._reasoning_parser):
            other = getattr(parser, "model", model)
            if not isinstance(other.format, HeaderFormat):
                raise TypeError(f"gpt-oss writes harmony, and not {other.format.name}: name harmonystream_harmony")
        return model

    # --- Responses ---

    @property
    def _harmony_parser(self) -> StreamableParser:
        if self._parser is None:
            self._parser = StreamableParser(get_encoding(), Role.ASSISTANT, recover=True)
        return self._parser

    def process_chunk(self, token_ids: Sequence[int]) -> Any:
        """The segments of these ids, one for each, as in vLLM's own parser.

        Two kinds are repaired, because vLLM's server would stop at them or send nothing. A message without a channel,
        or with an unknown channel, becomes the answer. A call without arguments gets `{}`.
        """
        result = super().process_chunk(token_ids)
        result.segments = [good for segment in result.segments for good in _repaired(segment)]
        return result

    def flush(self) -> list[Any]:
        """The segments that the end of the output completes. A message that is cut off inside its header is left out,
        but an output has one message at least: vLLM takes one without messages for a cut one, even after an error.
        """
        cut = self._harmony_parser.state is StreamState.HEADER
        empty = not self._harmony_parser.messages
        segments = super().flush()
        if cut:
            return [stock.Segment("final", None, "", _nothing())] if empty else []
        return [good for segment in segments for good in _repaired(segment, whole=False)]

    @staticmethod
    def _is_reasoning_token(token_id: int, channel: str | None, recipient: str | None) -> bool:
        """vLLM's own method also counts the arguments of calls."""
        return channel == "analysis" and recipient is None and not get_encoding().is_special_token(token_id)


def _nothing() -> Any:
    return Message.from_role_and_content(Role.ASSISTANT, "").with_channel("final")


def _repaired(segment: Any, *, whole: bool = True) -> Iterator[Any]:
    """whole: has the model ended the message?"""
    message = segment.completed_message
    if segment.recipient is None and segment.channel not in _CHANNELS and (segment.delta or message is not None):
        segment = segment._replace(channel="final")
    if message is None:
        yield segment
        return
    if message.recipient is None and message.channel not in _CHANNELS:
        message.channel = "final"
    if whole and message.recipient is not None and not _text_of(message):
        message.content[0].text = "{}"
        yield segment._replace(channel=message.channel, recipient=message.recipient, delta="{}", completed_message=None)
    yield segment


_CHANNELS = ("analysis", "commentary", "final")


def _text_of(message: Any) -> str:
    text: str = message.content[0].text
    return text
