"""Messages as openai-harmony has them, as dataclasses: the same names, builders and dicts, and pydantic's methods."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from ...prompt.builtin import BUILTIN
from ...prompt.harmony_text import CHANNELS, CUTOFF, IDENTITY
from .model import Model

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "Author",
    "ChannelConfig",
    "Content",
    "Conversation",
    "DeveloperContent",
    "Message",
    "ReasoningEffort",
    "Role",
    "SystemContent",
    "TextContent",
    "ToolDescription",
    "ToolNamespaceConfig",
]


class Role(str, Enum):
    """Who says a message."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    DEVELOPER = "developer"
    TOOL = "tool"


class ReasoningEffort(str, Enum):
    """How much the model thinks."""

    LOW = "Low"
    MEDIUM = "Medium"
    HIGH = "High"


@dataclass
class Author(Model):
    """A role and, of a tool, its name. Raises ValueError for a role that does not exist."""

    role: Role
    name: str | None = None

    def __post_init__(self) -> None:
        self.role = Role(self.role)

    @classmethod
    def new(cls, role: Role, name: str) -> Self:
        return cls(role, name)


class Content(Model):
    """A part of a message."""

    def to_dict(self) -> dict[str, Any]:
        raise NotImplementedError


@dataclass
class TextContent(Content):
    """Plain text."""

    text: str

    def to_dict(self) -> dict[str, Any]:
        return {"type": "text", "text": self.text}


@dataclass
class ToolDescription(Model):
    """A function; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any] | None = None

    @classmethod
    def new(cls, name: str, description: str, parameters: dict[str, Any] | None = None) -> Self:
        return cls(name, description, parameters)


@dataclass
class ChannelConfig(Model):
    """The channels that the system message names."""

    valid_channels: list[str]
    channel_required: bool

    @classmethod
    def require_channels(cls, channels: list[str]) -> Self:
        return cls(channels, True)


@dataclass
class ToolNamespaceConfig(Model):
    """Functions under one name, or a built-in tool that its description explains."""

    name: str
    description: str | None = None
    tools: list[ToolDescription] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tools = [ToolDescription(**tool) if isinstance(tool, Mapping) else tool for tool in self.tools]

    @staticmethod
    def browser() -> ToolNamespaceConfig:
        return _builtin("browser")

    @staticmethod
    def python() -> ToolNamespaceConfig:
        return _builtin("python")


def _builtin(name: str) -> ToolNamespaceConfig:
    namespace = BUILTIN[name]
    tools = []
    for tool in namespace.functions:
        parameters = dict(tool.parameters or {})
        if required := parameters.pop("required", ()):
            parameters["required"] = list(required)
        tools.append(ToolDescription(tool.name, tool.description, parameters))
    return ToolNamespaceConfig(name, namespace.description, tools)


class _WithTools(Content):
    """A content that declares tools, by the name of their namespace."""

    tools: dict[str, ToolNamespaceConfig] | None

    def __post_init__(self) -> None:
        if self.tools is not None:
            self.tools = {
                name: ToolNamespaceConfig(**tool) if isinstance(tool, Mapping) else tool
                for name, tool in self.tools.items()
            }

    @classmethod
    def new(cls) -> Self:
        return cls()

    def with_tools(self, ns_config: ToolNamespaceConfig) -> Self:
        self.tools = {**(self.tools or {}), ns_config.name: ns_config}
        return self

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Self:
        return cls(**{key: value for key, value in raw.items() if key != "type"})


@dataclass
class SystemContent(_WithTools):
    """The system message. None leaves a line out."""

    model_identity: str | None = IDENTITY
    reasoning_effort: ReasoningEffort | None = ReasoningEffort.MEDIUM
    conversation_start_date: str | None = None
    knowledge_cutoff: str | None = CUTOFF
    channel_config: ChannelConfig | None = field(default_factory=lambda: ChannelConfig.require_channels(list(CHANNELS)))
    tools: dict[str, ToolNamespaceConfig] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reasoning_effort is not None:
            self.reasoning_effort = ReasoningEffort(self.reasoning_effort)
        if isinstance(self.channel_config, Mapping):
            self.channel_config = ChannelConfig(**self.channel_config)

    def with_model_identity(self, model_identity: str) -> Self:
        self.model_identity = model_identity
        return self

    def with_reasoning_effort(self, reasoning_effort: ReasoningEffort) -> Self:
        self.reasoning_effort = reasoning_effort
        return self

    def with_conversation_start_date(self, conversation_start_date: str) -> Self:
        self.conversation_start_date = conversation_start_date
        return self

    def with_knowledge_cutoff(self, knowledge_cutoff: str) -> Self:
        self.knowledge_cutoff = knowledge_cutoff
        return self

    def with_channel_config(self, channel_config: ChannelConfig) -> Self:
        self.channel_config = channel_config
        return self

    def with_required_channels(self, channels: list[str]) -> Self:
        return self.with_channel_config(ChannelConfig.require_channels(channels))

    def with_browser_tool(self) -> Self:
        return self.with_tools(ToolNamespaceConfig.browser())

    def with_python_tool(self) -> Self:
        return self.with_tools(ToolNamespaceConfig.python())

    def to_dict(self) -> dict[str, Any]:
        return {**_as_dict(self), "type": "system_content"}


@dataclass
class DeveloperContent(_WithTools):
    """The developer message: instructions, and the functions that may be called."""

    instructions: str | None = None
    tools: dict[str, ToolNamespaceConfig] | None = None

    def with_instructions(self, instructions: str) -> Self:
        self.instructions = instructions
        return self

    def with_function_tools(self, tools: Sequence[ToolDescription]) -> Self:
        return self.with_tools(ToolNamespaceConfig("functions", None, list(tools)))

    def to_dict(self) -> dict[str, Any]:
        return {**_as_dict(self), "type": "developer_content"}


def _as_dict(value: Any) -> Any:
    """A dataclass as a dict without the fields that are None; enumerations as their values. A schema stays as it is."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        items = ((item.name, getattr(value, item.name)) for item in fields(value))
        return {name: _as_dict(item) for name, item in items if item is not None}
    if isinstance(value, list):
        return [_as_dict(item) for item in value]
    if isinstance(value, dict):
        return {key: _as_dict(item) for key, item in value.items()}
    return value


_CONTENTS: dict[str, type[SystemContent] | type[DeveloperContent]] = {
    "system_content": SystemContent,
    "developer_content": DeveloperContent,
}


@dataclass
class Message(Model):
    """One message of a conversation."""

    _parts: ClassVar[Mapping[str, Any]] = {
        "author": Author.model_validate,
        "content": lambda parts: [_part(part) for part in parts],
    }

    author: Author
    content: list[Content] = field(default_factory=list)
    channel: str | None = None
    recipient: str | None = None
    content_type: str | None = None

    @classmethod
    def from_author_and_content(cls, author: Author, content: str | Content) -> Self:
        return cls(author, [TextContent(content) if isinstance(content, str) else content])

    @classmethod
    def from_role_and_content(cls, role: Role, content: str | Content) -> Self:
        return cls.from_author_and_content(Author(role), content)

    @classmethod
    def from_role_and_contents(cls, role: Role, contents: Sequence[Content]) -> Self:
        return cls(Author(role), list(contents))

    def adding_content(self, content: str | Content) -> Self:
        self.content.append(TextContent(content) if isinstance(content, str) else content)
        return self

    def with_channel(self, channel: str) -> Self:
        self.channel = channel
        return self

    def with_recipient(self, recipient: str) -> Self:
        self.recipient = recipient
        return self

    def with_content_type(self, content_type: str) -> Self:
        self.content_type = content_type
        return self

    def to_dict(self) -> dict[str, Any]:
        rest = {"channel": self.channel, "recipient": self.recipient, "content_type": self.content_type}
        return {
            "role": self.author.role,
            "name": self.author.name,
            "content": [part.to_dict() for part in self.content],
            **{key: value for key, value in rest.items() if value is not None},
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Raises KeyError for a message without a role or content, ValueError for a content of an unknown type."""
        raw = data["content"]
        parts = [{"type": "text", "text": raw}] if isinstance(raw, str) else raw
        return cls(
            Author(Role(data["role"]), data.get("name")),
            [_content(part) for part in parts],
            data.get("channel"),
            data.get("recipient"),
            data.get("content_type"),
        )


def _content(raw: Mapping[str, Any]) -> Content:
    kind = raw.get("type")
    if kind == "text":
        return TextContent(raw["text"])
    if kind not in _CONTENTS:
        raise ValueError(f"unknown content: {raw!r}")
    return _CONTENTS[kind].from_dict(raw)


def _part(raw: Any) -> Content:
    """A content, or what model_dump() has made of one: it has no type, so its fields decide."""
    if isinstance(raw, Content):
        return raw
    if not isinstance(raw, Mapping):
        raise ValueError(f"a content is made of a dict, not of {type(raw).__name__}")
    if "type" in raw:
        return _content(raw)
    kinds: tuple[type[Content], ...] = (TextContent, SystemContent, DeveloperContent)
    for kind in kinds:
        if raw.keys() <= {one.name for one in fields(kind)}:  # type: ignore[arg-type]
            return kind.model_validate(raw)
    raise ValueError(f"unknown content: {raw!r}")


@dataclass
class Conversation(Model):
    """Messages in order."""

    _parts: ClassVar[Mapping[str, Any]] = {
        "messages": lambda messages: [Message.model_validate(message) for message in messages]
    }

    messages: list[Message] = field(default_factory=list)

    @classmethod
    def from_messages(cls, messages: Sequence[Message]) -> Self:
        """Raises ValueError for what is not a message, such as the content of one."""
        conversation = cls(list(messages))
        for message in conversation:
            if not hasattr(message, "author"):
                raise ValueError(f"a conversation is made of messages, and {message!r} is not one")
        return conversation

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def to_dict(self) -> dict[str, Any]:
        return {"messages": [message.to_dict() for message in self.messages]}

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, payload: str) -> Self:
        return cls([Message.from_dict(message) for message in json.loads(payload)["messages"]])
