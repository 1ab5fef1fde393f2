"""The language in which a format is described. Descriptions are data, which the native core compiles for a
vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

Marker: TypeAlias = str | tuple[str, ...]


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


class Format(NamedTuple):
    """How a model writes reasoning and tool calls with tags: one row.

    docs/formats.md explains the fields, and docs/tags.md specifies them. A marker is a string, or a tuple of spellings
    that mean the same.
    """

    name: str
    """As passed to `Parser`: 1 to 16 ASCII characters."""
    think: tuple[Marker, Marker] | None = None
    """The opener and the closer of reasoning; None: the model has none."""
    section: tuple[Marker, Marker] | None = None
    """The opener and the closer around all calls of one go; None: there are none.

    Where calls are nothing but wrapped JSON or Python calls, "" as an opener says that an answer may begin with one,
    and "" as a closer that the end of the calls is enough.
    """
    call: tuple[Marker, Marker, Marker] | None = None
    """Opener, end of the name, closer; None: calls are wrapped JSON or Python calls only.

    "" as an end of the name: it ends before the next marker or `{`. "" as the closer: the call ends with its JSON.
    """
    pair: tuple[Marker, Marker, Marker, Marker] | None = None
    """Key opener, end of the key, value opener ("" if the key's end is one), value closer; None: the body is JSON."""
    element: tuple[Marker, Marker, Marker] | None = None
    """Of tags that are named after arguments, as in <city>Rome</city>: what is before the name, the end of the tag, and
    what is before the name in a closer. An element with elements in it is an object or an array; None: there are none.
    """
    item: str = "item"
    """The name of an element that is an item of an array."""
    wrapped: bool = False
    """{"name": ..., "arguments": ...}, or an array of those, may follow the outer opener."""
    members: Mapping[str, str] = {
        "name": "name",
        "arguments": "arguments",
        "parameters": "arguments",
        "args": "arguments",
        "input": "arguments",
        "id": "id",
        "type": "other",
    }
    """Keys of a wrapped call -> "name", "arguments", "id" or "other"; "*" -> "call": each key is a name."""
    between: str = ""
    """What may part two wrapped calls outside of an array, such as ";"."""
    body: str = "json"
    """How arguments without tags are written: "json", "python" as in `[f(a=1, b="x")]`, or "object" as in `f{a:1}`."""
    quote: Marker = ""
    """What opens and closes a string where `body` is "object"."""
    bare: str = "any"
    """Calls outside a section: "any", "no", or "declared" (only what cannot be prose)."""
    name_as: str = "plain"
    """"plain"; "function": the word `function`, then the name (DeepSeek-V3); "call": `call:`, then the name (Gemma);
    "id": an id with the name in it (Kimi)."""
    call_id: Marker = ""
    """What is between the name of a call and its id, which ends where the name would; "": ids do not follow names."""
    empty_call: str = ""
    """An end of the name that closes the call as well, such as "/>"."""
    newlines: str = "keep"
    """"strip": one newline at either end of a value is layout; "keep": it belongs to the value."""
    untyped: str = "string"
    """The type of a value without a schema: "string", or "json" if it is valid JSON."""
    typed: Mapping[str, str] = {}
    """Ends of a key that say the value's type, "string" or "json"."""
    value_type: tuple[Marker, Marker] | None = None
    """The opener and the closer around a value's type, between the key and the value; None: there are none."""
    cdata: tuple[Marker, Marker] | None = None
    """The opener and the closer of text in a value that is read as it is: ("<![CDATA[", "]]>"); None: there is none."""
    control: bool = False
    """The markers are control tokens: their characters in other tokens are text."""
    stops: tuple[str, ...] = ()
    """Where generation should stop; never shown."""
    turns: tuple[str, ...] = ()
    """The markers that begin another turn of the conversation."""
    drop: tuple[str, ...] = ()
    """Markers that mean nothing and are never shown."""
    keep: tuple[str, ...] = ()
    """Control tokens whose text is text."""
    fenced: str = "text"
    """A call that is the first thing in a Markdown fence: "text", for the model shows it, or "call"."""
    mention: str = "text"
    """`<think>` inside a line, quoted or without its closer, or in a fence: "text", for the answer speaks of it, or
    "think"."""
    after_call: str = "same"
    """What follows a call in open reasoning: the "same", reasoning, or "content"."""
    encoding: str = ""
    """How prompts are written where models come without a chat template: "dsml"; "": by the model's template."""
    think_label: str = ""
    """What may follow the opener of reasoning as the rest of its line, such as the name of a channel; never shown."""
    answer: tuple[str, ...] = ()
    """Markers that begin the answer: never shown, and open thoughts end there."""
    bare_line: str = "text"
    """A line that begins with a call of a declared tool and has no opener: "text", or a "call"."""
    attribute: Marker = ""
    """What may follow the name of a call before its end, and is not read with what comes after it: '" index="'."""

    def to_dict(self) -> dict[str, Any]:
        """The fields that differ from their defaults, ready for JSON or TOML: tuples are lists."""
        from .files import fields_of

        return fields_of(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Format:
        """The row with these fields, as `to_dict` returns them or as a file has them: lists instead of tuples.

        Raises `FormatError` for a field that is unknown, missing or of the wrong type. A `Parser` raises
        `FormatError` when it compiles a row whose markers clash.
        """
        from .files import row_of_fields

        return row_of_fields(fields)

    @classmethod
    def from_response_template(cls, template: Mapping[str, Any], name: str = "template") -> Format:
        """The row for a tokenizer's `response_template`, as in transformers and in `tokenizer_config.json`.

        name: the row's. The template's regular expressions are read as the fixed texts that they match, and never run.

        Raises `FormatError` for a template that is not valid, and for one that describes more than a row can express.
        The error has the reason.
        """
        from .response_template import row_of_template

        return row_of_template(template, name)
