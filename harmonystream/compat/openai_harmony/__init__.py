"""openai-harmony's API over this package: `from harmonystream.compat import openai_harmony`.

Programs for openai-harmony 0.0.8 run over it unchanged. `StreamableParser` reads the same messages, token by token, in
native code, and nothing is downloaded. `recover=True` raises nothing: whatever the model writes is read as well as can
be. Rendering needs the extra `harmonystream[prompt]`; reading needs nothing.

A `StreamableParser` that is given the encoding of openai-harmony itself gives that package's own `Message`, `Role` and
`HarmonyError`. So a host whose code names those classes can take the parser alone.
"""

from __future__ import annotations

from .chat import (
    Author,
    ChannelConfig,
    Content,
    Conversation,
    DeveloperContent,
    Message,
    ReasoningEffort,
    Role,
    SystemContent,
    TextContent,
    ToolDescription,
    ToolNamespaceConfig,
)
from .encoding import (
    HarmonyEncoding,
    HarmonyEncodingName,
    RenderConversationConfig,
    RenderOptions,
    load_harmony_encoding,
)
from .parser import HarmonyError, StreamableParser, StreamState

__all__ = [
    "Author",
    "ChannelConfig",
    "Content",
    "Conversation",
    "DeveloperContent",
    "HarmonyEncoding",
    "HarmonyEncodingName",
    "HarmonyError",
    "Message",
    "ReasoningEffort",
    "RenderConversationConfig",
    "RenderOptions",
    "Role",
    "StreamState",
    "StreamableParser",
    "SystemContent",
    "TextContent",
    "ToolDescription",
    "ToolNamespaceConfig",
    "load_harmony_encoding",
]
