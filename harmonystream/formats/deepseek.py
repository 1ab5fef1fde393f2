"""DeepSeek: R1, V3 and V3.1 with control tokens, the search agent of V3.1, and the DSML of V3.2 and V4."""

from .spec import Format


def _bars(marker: str) -> tuple[str, str]:
    """As the tokenizer has it, and with ASCII bars, as pages print it."""
    return marker, marker.replace("｜", "|")


DEEPSEEK = Format(
    name="deepseek",
    think=("<think>", "</think>"),
    section=(
        (
            *_bars("<｜tool▁calls▁begin｜>"),
            "<｜tool_calls_begin｜>",
            "<｜tool calls begin｜>",
            "<｜tool\\_calls\\_begin｜>",
            "<｜tool▁calls｜>",
        ),
        _bars("<｜tool▁calls▁end｜>"),
    ),
    call=(_bars("<｜tool▁call▁begin｜>"), _bars("<｜tool▁sep｜>"), _bars("<｜tool▁call▁end｜>")),
    name_as="function",
    control=True,
    stops=(*_bars("<｜end▁of▁sentence｜>"), "<|EOT|>"),
    turns=("<｜User｜>", "<｜Assistant｜>"),
    drop=("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>", "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),
)

DEEPSEEK_SEARCH = DEEPSEEK._replace(
    name="deepseek_search",
    think=("<｜search▁begin｜>", "<｜search▁end｜>"),
    drop=(*DEEPSEEK.drop, "<think>", "</think>"),
)


# The mark as V3.2 and V4 write it and as V4.1 does, with ASCII bars as in re-hosted models, garbled, and as a server
# leaves it that strips special tokens.
_MARKS = ("｜DSML｜", "｜DSML｜ ", "|DSML|", "｜｜DSML｜｜", "｜｜DSML｜｜ ", "‖DSML‖", "||DSML||", "")
_BLOCKS = (
    *("｜DSML｜function_calls", "｜DSML｜tool_calls", "｜DSML｜ calls", "|DSML|function_calls", "|DSML|tool_calls"),
    *("｜｜DSML｜｜ calls", "‖DSML‖tool_calls", "||DSML||tool_calls", "tool_calls"),
)


def _marked(form: str) -> tuple[str, ...]:
    return tuple(form.replace("D", mark, 1) for mark in _MARKS)


DSML = Format(
    name="dsml",
    think=("<think>", "</think>"),
    section=(
        (
            *(f"<{block}>" for block in _BLOCKS),
            "<｜DSML｜toolcalls>",
            "<｜DSML｜tool>",
        ),  # these two are closed properly
        tuple(f"</{block}>" for block in _BLOCKS),
    ),
    call=(_marked('<Dinvoke name="'), '">', _marked("</Dinvoke>")),
    pair=(_marked('<Dparameter name="'), '">', "", _marked("</Dparameter>")),
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
