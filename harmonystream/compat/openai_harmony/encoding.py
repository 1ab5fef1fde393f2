"""The encoding of gpt-oss: text and ids, prompts, and the messages of a completion."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Literal

from ...prompt.harmony_text import Developer, HarmonyMessage, System, render_messages
from ...prompt.typescript import FunctionType, Namespace
from ...prompt.writer import Writer
from ...vocab import Vocab, o200k_harmony
from ...vocabs.spellings import any_of
from .chat import (
    Content,
    Conversation,
    DeveloperContent,
    Message,
    Role,
    SystemContent,
    TextContent,
    ToolNamespaceConfig,
)
from .parser import HarmonyError, StreamableParser

__all__ = [
    "HarmonyEncoding",
    "HarmonyEncodingName",
    "RenderConversationConfig",
    "RenderOptions",
    "load_harmony_encoding",
]


class HarmonyEncodingName(str, Enum):
    """The available encodings."""

    HARMONY_GPT_OSS = "HarmonyGptOss"

    def __str__(self) -> str:
        return self.value


@dataclass
class RenderConversationConfig:
    """auto_drop_analysis: leave out the analysis before an answer."""

    auto_drop_analysis: bool = True


@dataclass
class RenderOptions:
    """conversation_has_function_tools: a system message says where calls of functions go."""

    conversation_has_function_tools: bool = False


def load_harmony_encoding(name: str | HarmonyEncodingName) -> HarmonyEncoding:
    """The encoding of gpt-oss, from this package's own data. Raises HarmonyError for another name."""
    if str(name) != HarmonyEncodingName.HARMONY_GPT_OSS.value:
        raise HarmonyError(f"unknown encoding {str(name)!r}; there is {HarmonyEncodingName.HARMONY_GPT_OSS.value!r}")
    return HarmonyEncoding(o200k_harmony())


class HarmonyEncoding:
    """Made by `load_harmony_encoding`. Encoding text needs the extra `prompt`."""

    def __init__(self, vocab: Vocab) -> None:
        self._vocab = vocab

    @property
    def name(self) -> str:
        return HarmonyEncodingName.HARMONY_GPT_OSS.value

    @cached_property
    def special_tokens_set(self) -> set[str]:
        return set(self._vocab.control)

    # --- prompts ---

    def render_conversation_for_completion(
        self, conversation: Conversation, next_turn_role: Role, config: RenderConversationConfig | None = None
    ) -> list[int]:
        """The prompt after which the model writes the next message."""
        return self._render(conversation, config, next_role=Role(next_turn_role).value)

    def render_conversation_for_training(
        self, conversation: Conversation, config: RenderConversationConfig | None = None
    ) -> list[int]:
        """The whole conversation. A final answer at its end is closed with `<|return|>`."""
        return self._render(conversation, config, training=True)

    def render_conversation(
        self, conversation: Conversation, config: RenderConversationConfig | None = None
    ) -> list[int]:
        """The conversation, unchanged."""
        return self._render(conversation, config)

    def render(self, message: Message, render_options: RenderOptions | None = None) -> list[int]:
        """One message."""
        has_functions = render_options is not None and render_options.conversation_has_function_tools
        writer = Writer(self._vocab)
        render_messages([_harmony_message(message)], writer, calls_functions=has_functions)
        return writer.ids

    def _render(
        self,
        conversation: Conversation,
        config: RenderConversationConfig | None,
        *,
        next_role: str | None = None,
        training: bool = False,
    ) -> list[int]:
        drop = config is None or config.auto_drop_analysis
        messages = [_harmony_message(message) for message in conversation]
        writer = Writer(self._vocab)
        render_messages(messages, writer, next_role=next_role, training=training, auto_drop_analysis=drop)
        return writer.ids

    # --- completions ---

    def parse_messages_from_completion_tokens(
        self, tokens: Sequence[int], role: Role | None = None, *, strict: bool = True, recover: bool = False
    ) -> list[Message]:
        """The messages of a whole completion. strict, recover: as in StreamableParser."""
        parser = StreamableParser(self, role, strict=strict, recover=recover)
        for token in tokens:
            parser.process(token)
        return parser.process_eos().messages

    # --- text ---

    def encode(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = frozenset(),
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> list[int]:
        """The ids of a text. Special tokens that are allowed become control ids. Special tokens that are neither
        allowed nor disallowed are encoded as text. Raises HarmonyError for one that is disallowed.
        """
        allowed = self.special_tokens_set if allowed_special == "all" else set(allowed_special)
        refused = self.special_tokens_set - allowed if disallowed_special == "all" else set(disallowed_special)
        if refused and (match := re.search(any_of(refused), text)):
            raise HarmonyError(
                f"Encountered text corresponding to disallowed special token {match[0]!r}: allow it by "
                "allowed_special, or encode it as text by disallowed_special=()"
            )
        if not allowed:
            return self._vocab.encode(text)
        ids: list[int] = []
        for i, piece in enumerate(re.split(f"({any_of(allowed)})", text)):
            if i % 2:
                ids.append(self._vocab.control[piece])
            else:
                ids += self._vocab.encode(piece)
        return ids

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """The text of ids. Raises HarmonyError for an id that does not exist."""
        return self._bytes(tokens).decode("utf-8", errors=errors)

    def decode_utf8(self, tokens: Sequence[int]) -> str:
        """The text of ids. Raises HarmonyError where it is not UTF-8, and for an id that does not exist."""
        try:
            return self._bytes(tokens).decode("utf-8")
        except UnicodeDecodeError as error:
            raise HarmonyError(f"Invalid utf-8: {error}") from None

    def _bytes(self, tokens: Iterable[int]) -> bytes:
        try:
            return b"".join(map(self._vocab.token_bytes, tokens))
        except KeyError as error:
            raise HarmonyError(f"Invalid token for decoding: {error.args[0]}") from None

    def is_special_token(self, token: int) -> bool:
        return self._vocab.is_control(token)

    def stop_tokens(self) -> list[int]:
        """The ids that end a message."""
        return [self._vocab.control[name] for name in ("<|end|>", "<|call|>", "<|return|>")]

    def stop_tokens_for_assistant_actions(self) -> list[int]:
        """The ids that end a generation."""
        return [self._vocab.control[name] for name in ("<|return|>", "<|call|>")]


def _harmony_message(message: Message) -> HarmonyMessage:
    return HarmonyMessage(
        message.author.role.value,
        tuple(_harmony_content(part) for part in message.content),
        message.author.name,
        message.channel,
        message.recipient,
        message.content_type,
    )


def _harmony_content(content: Content) -> str | System | Developer:
    match content:
        case TextContent():
            return content.text
        case SystemContent(channel_config=channels, reasoning_effort=effort):
            return System(
                content.model_identity,
                content.knowledge_cutoff,
                content.conversation_start_date,
                None if effort is None else effort.value.lower(),
                _namespaces(content.tools),
                () if channels is None else tuple(channels.valid_channels),
                channels is not None and channels.channel_required,
            )
        case DeveloperContent():
            return Developer(content.instructions, _namespaces(content.tools))
    raise HarmonyError(f"a message has a content that is neither text, system nor developer: {content!r}")


def _namespaces(tools: dict[str, ToolNamespaceConfig] | None) -> tuple[Namespace, ...]:
    return tuple(
        Namespace(
            tool.name,
            tuple(FunctionType(each.name, each.description, each.parameters) for each in tool.tools),
            tool.description,
        )
        for tool in (tools or {}).values()
    )
