from typing import final

DEBUG: bool
TEXT_KEY: str
BROKEN_KEY: str

@final
class Arguments:
    """Makes one JSON object of a call's text, piece by piece.

    feed() and end() return what may be sent. After every piece, all that was sent is a beginning of an object that
    strict readers accept, jiter among them; of a complete call, it is an object. A text that is an object passes byte
    for byte, without the whitespace before it.
    Any other text is kept whole, as a string: under `text_key` if it does not begin with "{", else under
    "INVALID_JSON", behind what was sent of it. Control characters in strings are escaped.

    Held back, so that nothing has to be taken back: a comma until something follows it, a number, literal or escape
    until it ends, the last brace until the end.
    """
    def __new__(cls, text_key: str = "input") -> Arguments: ...
    def feed(self, text: str, /) -> str:
        """More of the call's text."""
    def end(self, complete: bool = True) -> str:
        """The rest. The JSON of a call that was cut stays open; strings that were made here do not."""
    @property
    def sent(self) -> str:
        """All that may be sent so far."""
