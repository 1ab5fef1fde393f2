from collections.abc import Callable
from typing import Any, final

from typing_extensions import Self, disjoint_base

from harmonystream._native.core.vocab import Vocab

DEBUG: bool

@final
class Header:
    """A message's author, channel and recipient."""
    @property
    def role(self) -> Any: ...
    @property
    def name(self) -> str | None: ...
    @property
    def channel(self) -> str | None: ...
    @property
    def recipient(self) -> str | None: ...
    @property
    def content_type(self) -> str | None: ...

@disjoint_base
class MessageReader:
    """Reads the messages of a Harmony conversation token by token, as openai-harmony's StreamableParser does.

    role: the author of the first message, whose header has begun; None: a `<|start|>` is expected. roles: name -> what
    `current_role` returns. make_message: called with a Header and a text when a message has ended. error: the class of
    what is raised for tokens that are not Harmony; recover: nothing is raised.
    """
    def __init__(
        self,
        vocab: Vocab,
        role: Any,
        strict: bool,
        recover: bool,
        roles: dict[str, Any],
        make_message: Callable[[Header, str], Any],
        error: type[Exception],
    ) -> None: ...
    def process(self, token: int, /) -> Self:
        """Reads one token id, and returns the reader. Raises HarmonyError if the token is invalid here."""
    def process_eos(self) -> Self:
        """The stream has ended: so has the open message. Raises HarmonyError inside a header."""
    @property
    def last_content_delta(self) -> str | None: ...
    @property
    def current_content(self) -> str:
        """The text of the open message so far."""
    @property
    def current_role(self) -> Any:
        """The open message's author; in a header the role that was given; else None."""
    @property
    def current_channel(self) -> str | None:
        """The open message's channel, or None."""
    @property
    def current_recipient(self) -> str | None:
        """The open message's recipient, or None."""
    @property
    def current_content_type(self) -> str | None:
        """The open message's content type as it is written, such as `<|constrain|>json`, or None."""
    @property
    def messages(self) -> list[Any]:
        """The messages that have ended, in a list of the caller's own."""
    @property
    def tokens(self) -> list[int]:
        """All ids that were fed."""
    @property
    def reading(self) -> tuple[str, Header | None, list[int]]:
        """(state, open Header or None, ids of the header so far)."""
