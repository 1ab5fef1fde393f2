"""An extension of griffe: the reference shows the parameters that a docstring explains as a list.

The docstrings explain a parameter as `name: text`, one after the other in a paragraph. Markdown would join these lines.
The signature of a native class is that of its `__new__`, which is shown as the class's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe


class Parameters(griffe.Extension):
    """Turns such paragraphs into lists, and gives native classes an `__init__`."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Called when the package has been read, before names are resolved."""
        for thing in objects_of(pkg):
            if thing.is_class and "__new__" in thing.members and "__init__" not in thing.members:
                made = thing.members["__new__"]
                if isinstance(made, griffe.Function):
                    made.name = "__init__"
                    thing.set_member("__init__", made)
                    thing.del_member("__new__")
            if thing.docstring is not None:
                thing.docstring.value = with_lists(thing.docstring.value, names_of(thing))


def objects_of(thing: griffe.Object) -> Iterator[griffe.Object]:
    """Modules, classes and functions, at any depth."""
    yield thing
    for member in list(thing.members.values()):
        if isinstance(member, griffe.Object):
            yield from objects_of(member)


def names_of(thing: griffe.Object) -> list[str]:
    """What a docstring may explain: parameters, and for a class its fields, too."""
    made = thing.members.get("__init__") if thing.is_class else thing
    found = [name for name in thing.members if not name.startswith("_")] if thing.is_class else []
    functions = [made, *(made.overloads or ())] if isinstance(made, griffe.Function) else []
    found += [parameter.name for function in functions for parameter in function.parameters]
    return [name for name in dict.fromkeys(found) if name not in ("self", "cls")]


def with_lists(text: str, names: list[str]) -> str:
    """The docstring with a list in place of each paragraph that begins with `name: `."""
    if not names:
        return text
    name = "(?:" + "|".join(sorted(map(re.escape, names), key=len, reverse=True)) + ")"
    entry = re.compile(rf"(?:^|(?<=[.?!;)] ))({name}(?:, {name})*): ", re.MULTILINE)
    return "\n\n".join(as_list(paragraph, entry) for paragraph in re.split(r"\n[ \t]*\n", text))


def as_list(paragraph: str, entry: re.Pattern[str]) -> str:
    """One item for each name, or the paragraph as it is."""
    lines = "\n".join(line.strip() for line in paragraph.splitlines())
    if entry.match(lines) is None:
        return paragraph
    _, *pieces = entry.split(lines)
    explained = zip(pieces[::2], (" ".join(piece.split()) for piece in pieces[1::2]))
    return "\n".join(f"- {', '.join(f'`{name}`' for name in names.split(', '))}: {text}" for names, text in explained)
