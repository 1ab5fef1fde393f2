"""DeepSeek: R1, V3 and V3.1 with control tokens, the search agent of V3.1, and the DSML of V3.2 and V4."""

from .spec import Format


def _printed(marker: str) -> tuple[str, ...]:
    """The marker as in the tokenizer, and as pages print it: with ASCII bars, ASCII underscores, or both."""
    ascii_bars = marker.replace("｜", "|")
    return marker, ascii_bars, *(form.replace("▁", "_") for form in (marker, ascii_bars) if "▁" in form)


DEEPSEEK = Format(
    name="deepseek",
    think=("<think>", "</think>"),
    section=(
        (
            *_printed("<｜tool▁calls▁begin｜>"),
            "<｜tool calls begin｜>",
            "<｜tool\\_calls\\_begin｜>",
            "<｜tool▁calls｜>",
        ),
        _printed("<｜tool▁calls▁end｜>"),
    ),
    call=(_printed("<｜tool▁call▁begin｜>"), _printed("<｜tool▁sep｜>"), _printed("<｜tool▁call▁end｜>")),
    wrapped="read",
    name_as="function",
    control=True,
    stops=(*_printed("<｜end▁of▁sentence｜>"), "<|EOT|>"),
    turns=("<｜User｜>", "<｜Assistant｜>"),
    drop=("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>", "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),
)

DEEPSEEK_SEARCH = DEEPSEEK._replace(
    name="deepseek_search",
    think=(_printed("<｜search▁begin｜>"), _printed("<｜search▁end｜>")),
    drop=(*DEEPSEEK.drop, "<think>", "</think>"),
)


# The mark as V3.2 and V4 write it, as V4.1 does, with ASCII bars as in re-hosted models, and garbled. A server that
# strips special tokens leaves no mark.
_MARKS = (
    "｜DSML｜",
    "｜DSML｜ ",
    "｜｜DSML｜｜",
    "｜｜DSML｜｜ ",
    "‖DSML‖",
    "‖DSML‖ ",
    "|DSML|",
    "|DSML| ",
    "||DSML||",
    "||DSML|| ",
)
_BLOCKS = ("tool_calls", "function_calls", "calls", "toolcalls", "tool", "tool_call")


def _marked(*forms: str, marks: tuple[str, ...] = _MARKS) -> tuple[str, ...]:
    return tuple(form.replace("D", mark, 1) for mark in marks for form in forms)


DSML = Format(
    name="dsml",
    think=("<think>", "</think>"),
    section=(
        (*_marked(*(f"<D{block}>" for block in _BLOCKS)), "<tool_calls>", "<function_calls>"),
        (*_marked(*(f"</D{block}>" for block in _BLOCKS)), "</tool_calls>", "</function_calls>"),
    ),
    call=((*_marked('<Dinvoke name="'), '<invoke name="'), '">', (*_marked("</Dinvoke>"), "</invoke>")),
    pair=(
        (*_marked('<Dparameter name="'), '<parameter name="'),
        '">',
        "",
        (*_marked("</Dparameter>"), "</parameter>"),
    ),
    wrapped="read",
    empty_call='"/>',
    untyped="json",
    typed={
        '" string="true">': "string",
        '" string="True">': "string",
        '" string="false">': "json",
        '" string="False">': "json",
    },
    bare="declared",
    stops=("<｜end▁of▁sentence｜>",),
    turns=("<｜User｜>", "<｜Assistant｜>"),
    encoding="dsml",
)

# The same, but the mark is another one.
_GCML = ("｜GCML｜", "|GCML|")
GIGACHAT35 = DSML._replace(
    name="gigachat35",
    section=(_marked("<Dtool_calls>", marks=_GCML), _marked("</Dtool_calls>", marks=_GCML)),
    call=(_marked('<Dinvoke name="', marks=_GCML), '">', _marked("</Dinvoke>", marks=_GCML)),
    pair=(_marked('<Dparameter name="', marks=_GCML), '">', "", _marked("</Dparameter>", marks=_GCML)),
    stops=("</s>",),
    turns=(),
    drop=("<|message_sep|>",),
    encoding="",
)
