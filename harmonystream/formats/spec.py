"""The language in which a format is described. Descriptions are data, which the native core compiles for a
vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Literal, NamedTuple, TypeVar

from ..errors import suggestion
from .fields import Marker, as_lists, read_fields

Row = TypeVar("Row", bound=tuple[Any, ...])

NAME_ALIASES: Mapping[str, Literal["alias"]] = {
    "tool_name": "alias",
    "tool": "alias",
    "function": "alias",
    "function_name": "alias",
}
"""Keys that models write in place of `name` in a wrapped call, as in the APIs of other vendors."""

CHECKS: list[Callable[[Any], object]] = []
"""Checks of each new row. The core, which compiles rows, adds its own when it is imported. So the built-in rows cost
nothing at the import; tests compile them.
"""


def checked(row: type[Row]) -> type[Row]:
    """Has each new row looked at, also those of `_replace`, so that a mistake is shown where it is made."""
    plain_new, plain_make = row.__new__, row._make  # type: ignore[attr-defined]

    @wraps(plain_new)
    def new(cls: type[Row], *fields: Any, **named: Any) -> Row:
        known: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
        if unknown := [name for name in named if name not in known]:
            raise TypeError(f"{cls.__name__} has no field {unknown[0]!r}; {suggestion(unknown[0], known)}")
        if not fields and known[0] not in named:
            raise TypeError(f"{cls.__name__} needs a {known[0]}: {cls.__name__}({known[0]}=..., and the markers)")
        made: Row = plain_new(cls, *fields, **named)
        for check in CHECKS:
            check(made)
        return made

    @wraps(plain_make)
    def make(cls: type[Row], fields: Any) -> Row:
        return new(cls, *fields)

    for name, method in (("__new__", new), ("_make", classmethod(make))):
        setattr(row, name, method)
    return row


class HeaderFormat(NamedTuple):
    """Messages with headers, as in Harmony. The machine knows the grammar, and this row names its markers.

    name: as passed to `Parser`. markers: maps each marker's purpose to its spelling, which is also its name in a
    vocabulary.
    required: the markers that a vocabulary must have as control ids.
    stops: the spellings at which generation should stop.
    """

    name: str
    markers: Mapping[str, str]
    required: frozenset[str]
    stops: frozenset[str] = frozenset()


@checked
class Format(NamedTuple):
    """How a model writes reasoning and tool calls with tags: one row.

    Format(name="acme", think=("<think>", "</think>"), call=("<run ", ">", "</run>"), stops=("<|done|>",)) reads
    `<think>Hm.</think><run f>{"a": 1}</run>`. Only `name` and some markers are needed. The table in docs/formats.md
    explains each field, and docs/tags.md specifies them. A marker is a string, or a tuple of spellings that mean the
    same.

    Raises `FormatError` for a field of the wrong type, and for fields that do not fit together.
    """

    name: str
    """The format's name, as passed to `Parser`: 1 to 16 ASCII characters."""
    think: tuple[Marker, Marker] | None = None
    """The opener and the closer of reasoning. None if the model does not reason."""
    section: tuple[Marker, Marker] | None = None
    """The opener and the closer around all calls of one turn. None if there are none.

    If all calls are wrapped JSON or Python calls, "" as the opener means that an answer may begin with a call, and ""
    as the closer means that the end of the calls is enough.
    """
    call: tuple[Marker, Marker, Marker] | None = None
    """Opener, end of the name, closer. None if all calls are wrapped JSON or Python calls.

    With "" as the end of the name, the name ends before the next marker or `{`. With "" as the closer, the call ends
    with its JSON.
    """
    pair: tuple[Marker, Marker, Marker, Marker] | None = None
    """Key opener, end of the key, value opener ("" if the key's end is one), value closer. None if the body is JSON."""
    element: tuple[Marker, Marker, Marker] | None = None
    """For tags with the names of arguments, as in <city>Rome</city>: the text before the name, the end of the tag, and
    the text before the name in a closer. An element that contains elements is an object or an array. None if there are
    none.
    """
    item: str = "item"
    """The name of an element that is an item of an array."""
    wrapped: bool | Literal["read"] = False
    """{"name": ..., "arguments": ...}, or an array of those, may follow the outer opener. "read": they are read, but
    models of this format should not write them, so grammars do not have them.
    """
    members: Mapping[str, Literal["name", "alias", "arguments", "id", "other", "call"]] = {
        "name": "name",
        "arguments": "arguments",
        "parameters": "arguments",
        "args": "arguments",
        "input": "arguments",
        "id": "id",
        "type": "other",
        **NAME_ALIASES,
    }
    """Maps the keys of a wrapped call to "name", "alias", "arguments", "id" or "other". An alias may hold the name if
    the key of the name is missing, or an object with the name and the arguments. "*" -> "call": each key is a name.
    """
    between: str = ""
    """The text that may separate two wrapped calls outside of an array, such as ";"."""
    body: Literal["json", "python", "object"] = "json"
    """How arguments without tags are written: "json", "python" as in `[f(a=1, b="x")]`, or "object" as in `f{a:1}`."""
    quote: Marker = ""
    """The text that opens and closes a string, if `body` is "object"."""
    bare: Literal["any", "no", "declared"] = "any"
    """Calls outside a section: "any", "no", or "declared" (only what cannot be prose)."""
    name_as: Literal["plain", "function", "call", "id"] = "plain"
    """"plain"; "function": the word `function`, then the name (DeepSeek-V3); "call": `call:`, then the name (Gemma);
    "id": an id with the name in it (Kimi)."""
    call_id: Marker = ""
    """The text between a call's name and its id, which ends where the name would. "" if ids do not follow names."""
    empty_call: str = ""
    """An end of the name that also closes the call, such as "/>"."""
    newlines: Literal["keep", "strip"] = "keep"
    """"strip": one newline at either end of a value is layout. "keep": it belongs to the value."""
    untyped: Literal["string", "json"] = "string"
    """The type of a value without a schema: "string", or "json" if it is valid JSON."""
    typed: Mapping[str, Literal["string", "json"]] = {}
    """Ends of a key that determine the value's type, "string" or "json"."""
    value_type: tuple[Marker, Marker] | None = None
    """The opener and the closer around a value's type, between the key and the value. None if there are none."""
    cdata: tuple[Marker, Marker] | None = None
    """The opener and the closer of verbatim text in a value: ("<![CDATA[", "]]>"). None if there are none."""
    control: bool = False
    """True if the markers are control tokens. Then their characters in other tokens are text."""
    stops: tuple[str, ...] = ()
    """The stops of a generation. They are never shown."""
    turns: tuple[str, ...] = ()
    """The markers that begin another turn of the conversation."""
    drop: tuple[str, ...] = ()
    """Markers without a meaning, which are never shown."""
    keep: tuple[str, ...] = ()
    """Control tokens that are shown as text."""
    fenced: Literal["text", "call"] = "text"
    """A call at the beginning of a Markdown fence: "text" if the model only shows it, or "call"."""
    mention: Literal["text", "think"] = "text"
    """`<think>` inside a line, quoted or without its closer, or in a fence: "text" if the answer only mentions it, or
    "think".
    """
    after_call: Literal["same", "content"] = "same"
    """The text after a call in open reasoning: "same" for reasoning, or "content"."""
    encoding: Literal["", "dsml"] = ""
    """How prompts are written if models have no chat template: "dsml". "": with the model's template."""
    think_label: str = ""
    """The rest of the line after the opener of reasoning, such as the name of a channel. It is never shown."""
    answer: tuple[str, ...] = ()
    """Markers that begin the answer. They are never shown, and end open reasoning."""
    bare_line: Literal["text", "call"] = "text"
    """A line that begins with a call of a declared tool, without an opener: "text", or a "call"."""
    attribute: Marker = ""
    """Text after a call's name that may come before the name's end. It and the rest up to the end are ignored: '"
    index="'.
    """

    def to_dict(self) -> dict[str, Any]:
        """The fields that differ from their defaults, ready for JSON or TOML: tuples are lists."""
        defaults, given = self._field_defaults, self._asdict().items()
        return {name: as_lists(value) for name, value in given if name == "name" or value != defaults[name]}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Format:
        """The row with these fields, as `to_dict` returns them or as a file has them: lists instead of tuples.

        Raises `FormatError` for a field that is unknown, missing or of the wrong type, and for fields that do not fit
        together.
        """
        return cls(**read_fields(fields, cls._fields))

    @classmethod
    def from_response_template(cls, template: Mapping[str, Any], name: str = "template") -> Format:
        """The row for a tokenizer's `response_template`, as in transformers and in `tokenizer_config.json`.

        name: the row's. The template's regular expressions are read as the fixed texts that they match, and never run.

        Raises `FormatError` for a template that is not valid, and for one that describes more than a row can express.
        The error has the reason.
        """
        from .response_template import fields_of_template

        return cls(name=name, **fields_of_template(template))
