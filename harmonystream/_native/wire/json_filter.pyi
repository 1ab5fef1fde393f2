from typing import final

DEBUG: bool
TEXT_KEY: str
BROKEN_KEY: str
__pyx_capi__: dict[str, object]

@final
class Arguments:
    """Makes one JSON object of a call's text, piece by piece.

    feed() and end() return the text that may be sent. What has been sent is always the beginning of an object that
    strict readers accept, jiter among them. After a complete call it is a whole object. A text that is an object passes
    byte for byte, without the whitespace before it.
    Any other text becomes one string. Its key is `text_key` if the text does not begin with "{". Otherwise its key is
    "INVALID_JSON", and it comes after the members that were sent before the error. Control characters in strings are
    escaped. A number that readers would take for infinity, such as 1e999, is the largest that they can read.

    Sent text cannot be taken back, so these bytes wait: a comma until something follows it, a number, literal or escape
    until it ends, and the last brace until the end.
    """
    def __new__(cls, text_key: str = "input") -> Arguments: ...
    def feed(self, text: str, /) -> str:
        """More of the call's text."""
    def end(self, complete: bool = True) -> str:
        """The rest. The JSON of a call that was cut stays open; strings that were made here do not."""
    @property
    def sent(self) -> str:
        """All that may be sent so far."""
    @property
    def state(self) -> tuple[bool, str]:
        """For of(): is everything in a string by now, and then all that may be sent, or else all that was read."""
    @staticmethod
    def of(text_key: str, in_text: bool, text: str, /) -> Arguments:
        """The filter with this state."""
