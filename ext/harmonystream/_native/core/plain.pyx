# Data of requests, copied: dicts and lists all the way down.

from harmonystream._native.core.build cimport DEBUG_BUILD

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    MAX_DEPTH = 100


class MisfitError(Exception):
    """A value cannot be copied. `path` is the place of the fault, with the innermost key first."""

    def __init__(self, problem):
        super().__init__(problem)
        self.problem = problem
        self.path = []

    def __str__(self):
        return "".join(reversed(self.path)) + " " + self.problem


cdef inline bint is_scalar(object value):
    cdef object kind = type(value)
    return kind is str or value is None or kind is int or kind is bool or kind is float


cdef object copied(object value, int room, object convert):
    """`room`: levels that may still be entered. What `convert` gives counts as a level, so that it comes to an end."""
    cdef dict made
    cdef list items
    cdef Py_ssize_t i
    if is_scalar(value):
        return value
    if room == 0:
        raise MisfitError(f"nests more than {MAX_DEPTH} deep")
    if type(value) is dict:
        made = {}
        for key, item in (<dict>value).items():
            if not is_scalar(item):
                try:
                    item = copied(item, room - 1, convert)
                except MisfitError as misfit:
                    misfit.path.append(f".{key}")
                    raise
            made[key if type(key) is str else str(key)] = item
        return made
    if type(value) is list:
        items = list(<list>value)
        for i in range(len(items)):
            if not is_scalar(items[i]):
                try:
                    items[i] = copied(items[i], room - 1, convert)
                except MisfitError as misfit:
                    misfit.path.append(f"[{i}]")
                    raise
        return items
    return copied(convert(value), room - 1, convert)


def plain_copy(value, convert, /):
    """A copy that has only dicts with text keys, lists, text, numbers, booleans and None, at most 100 levels deep.

    convert(item) turns an item of any other type into one of these, or into something nearer to them.
    Raises MisfitError for a value with more levels, and whatever convert raises.
    """
    return copied(value, MAX_DEPTH, convert)
