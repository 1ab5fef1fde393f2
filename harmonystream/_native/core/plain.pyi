from collections.abc import Callable

DEBUG: bool

class MisfitError(Exception):
    """What is wrong with a value. `path` says where in it, the innermost key first: it is collected on the way out."""

    problem: str
    path: list[str]
    def __init__(self, problem: str) -> None: ...

def plain_copy(value: object, convert: Callable[[object], object], /) -> object:
    """A copy made of dicts with text keys, lists, text, numbers, booleans and None alone, at most 100 levels deep.

    convert(item) turns an item of any other type into one of these, or into something nearer to them.
    Raises MisfitError for what nests deeper, and passes on what convert raises.
    """
