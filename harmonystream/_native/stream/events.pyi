from typing import ClassVar, Literal, final

DEBUG: bool

@final
class MessageStart:
    """A message opens: its header is read. `channel`, `recipient` and `content_type` are None where the header has none,
    and in formats with tags.

    start, stop: the range of generated tokens (text mode: bytes of UTF-8) that an event covers, here the header.
    """

    __match_args__: ClassVar[
        tuple[
            Literal["role"],
            Literal["channel"],
            Literal["recipient"],
            Literal["content_type"],
            Literal["start"],
            Literal["stop"],
        ]
    ] = ("role", "channel", "recipient", "content_type", "start", "stop")
    def __init__(
        self,
        role: str,
        channel: str | None = None,
        recipient: str | None = None,
        content_type: str | None = None,
        start: int = 0,
        stop: int = 0,
    ) -> None: ...
    @property
    def role(self) -> str: ...
    @property
    def channel(self) -> str | None: ...
    @property
    def recipient(self) -> str | None: ...
    @property
    def content_type(self) -> str | None: ...
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...

@final
class MessageEnd:
    """The message that opened last is over; its fields come again. start, stop: the range of its terminator, empty where
    it has none.
    """

    __match_args__: ClassVar[
        tuple[
            Literal["role"],
            Literal["channel"],
            Literal["recipient"],
            Literal["content_type"],
            Literal["start"],
            Literal["stop"],
        ]
    ] = ("role", "channel", "recipient", "content_type", "start", "stop")
    def __init__(
        self,
        role: str,
        channel: str | None = None,
        recipient: str | None = None,
        content_type: str | None = None,
        start: int = 0,
        stop: int = 0,
    ) -> None: ...
    @property
    def role(self) -> str: ...
    @property
    def channel(self) -> str | None: ...
    @property
    def recipient(self) -> str | None: ...
    @property
    def content_type(self) -> str | None: ...
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...

@final
class ReasoningDelta:
    """More of the model's reasoning. start, stop: the tokens (text mode: bytes) from the first to the last of the text."""

    __match_args__: ClassVar[tuple[Literal["text"], Literal["start"], Literal["stop"]]] = ("text", "start", "stop")
    def __init__(self, text: str, start: int = 0, stop: int = 0) -> None: ...
    @property
    def text(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...

@final
class ContentDelta:
    """More text for the user. In Harmony, `channel` is "commentary" in a preamble and "final" in the answer. start, stop:
    as in ReasoningDelta.
    """

    __match_args__: ClassVar[tuple[Literal["text"], Literal["channel"], Literal["start"], Literal["stop"]]] = (
        "text",
        "channel",
        "start",
        "stop",
    )
    def __init__(self, text: str, channel: str | None = None, start: int = 0, stop: int = 0) -> None: ...
    @property
    def text(self) -> str: ...
    @property
    def channel(self) -> str | None: ...
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...

@final
class ToolCallStart:
    """A tool call opens. `index` counts from 0 in the stream. `id` is the model's own, or None. `kind`: "function";
    "builtin" for a tool that Harmony's models were trained with; "other" for one that was not declared. start, stop:
    the range of what opened the call, empty where that is a message's header.
    """

    __match_args__: ClassVar[
        tuple[Literal["index"], Literal["name"], Literal["id"], Literal["kind"], Literal["start"], Literal["stop"]]
    ] = ("index", "name", "id", "kind", "start", "stop")
    def __init__(
        self,
        index: int,
        name: str,
        id: str | None = None,
        kind: Literal["function", "builtin", "other"] = "function",
        start: int = 0,
        stop: int = 0,
    ) -> None: ...
    @property
    def index(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def id(self) -> str | None: ...
    @property
    def kind(self) -> Literal["function", "builtin", "other"]: ...
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...

@final
class ToolCallDelta:
    """More of a call's arguments: JSON as the model wrote it, or made of its keys and values in formats with tags. start,
    stop: as in ReasoningDelta.
    """

    __match_args__: ClassVar[tuple[Literal["index"], Literal["arguments"], Literal["start"], Literal["stop"]]] = (
        "index",
        "arguments",
        "start",
        "stop",
    )
    def __init__(self, index: int, arguments: str, start: int = 0, stop: int = 0) -> None: ...
    @property
    def index(self) -> int: ...
    @property
    def arguments(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...

@final
class ToolCallEnd:
    """A call is over. `complete`: it was neither cut nor unreadable; `balanced`: its arguments are one balanced JSON
    value. Run a call only if it is both. The range is empty.
    """

    __match_args__: ClassVar[
        tuple[Literal["index"], Literal["complete"], Literal["balanced"], Literal["start"], Literal["stop"]]
    ] = ("index", "complete", "balanced", "start", "stop")
    def __init__(self, index: int, complete: bool, balanced: bool, start: int = 0, stop: int = 0) -> None: ...
    @property
    def index(self) -> int: ...
    @property
    def complete(self) -> bool: ...
    @property
    def balanced(self) -> bool: ...
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...

@final
class ValueStart:
    """A string that the parser watches begins in the call `index`. `path` is its place: a tuple of keys and positions. The
    ranges of the three events about watched strings are empty.
    """

    __match_args__: ClassVar[
        tuple[
            Literal["index"],
            Literal["path"],
            Literal["start"],
            Literal["stop"],
        ]
    ] = ("index", "path", "start", "stop")
    def __init__(
        self,
        index: int,
        path: tuple[str | int, ...],
        start: int = 0,
        stop: int = 0,
    ) -> None: ...
    @property
    def index(self) -> int: ...
    @property
    def path(self) -> tuple[str | int, ...]: ...
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...

@final
class ValueDelta:
    """More of a watched string, decoded: what JSON's escapes stand for."""

    __match_args__: ClassVar[
        tuple[
            Literal["index"],
            Literal["path"],
            Literal["text"],
            Literal["start"],
            Literal["stop"],
        ]
    ] = ("index", "path", "text", "start", "stop")
    def __init__(
        self,
        index: int,
        path: tuple[str | int, ...],
        text: str,
        start: int = 0,
        stop: int = 0,
    ) -> None: ...
    @property
    def index(self) -> int: ...
    @property
    def path(self) -> tuple[str | int, ...]: ...
    @property
    def text(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...

@final
class ValueEnd:
    """A watched string is over. `complete`: its closing quote was written."""

    __match_args__: ClassVar[
        tuple[
            Literal["index"],
            Literal["path"],
            Literal["complete"],
            Literal["start"],
            Literal["stop"],
        ]
    ] = ("index", "path", "complete", "start", "stop")
    def __init__(
        self,
        index: int,
        path: tuple[str | int, ...],
        complete: bool,
        start: int = 0,
        stop: int = 0,
    ) -> None: ...
    @property
    def index(self) -> int: ...
    @property
    def path(self) -> tuple[str | int, ...]: ...
    @property
    def complete(self) -> bool: ...
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...

@final
class StreamEnd:
    """The stream is over. `reason`: tool_calls, stop, length or the engine's own word; None if nothing shows why."""

    __match_args__: ClassVar[tuple[Literal["reason"], Literal["start"], Literal["stop"]]] = ("reason", "start", "stop")
    def __init__(self, reason: str | None = None, start: int = 0, stop: int = 0) -> None: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...
