from collections.abc import Callable

DEBUG: bool

class MisfitError(Exception):
    """A value cannot be copied. `path` is the place of the fault, with the innermost key first."""

    problem: str
    path: list[str]
    def __init__(self, problem: str) -> None: ...

def plain_copy(value: object, convert: Callable[[object], object], /) -> object:
    """A copy that has only dicts with text keys, lists, text, numbers, booleans and None, at most 100 levels deep.

    convert(item) turns an item of any other type into one of these, or into something nearer to them.
    Raises MisfitError for a value with more levels, and whatever convert raises.
    """
