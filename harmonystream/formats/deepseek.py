"""DeepSeek: R1, V3 and V3.1 with control tokens, the search agent of V3.1, and the DSML of V3.2 and V4."""

from .spec import Format

DEEPSEEK = Format(
    name="deepseek",
    think=("<think>", "</think>"),
    section=(
        (
            "<｜tool▁calls▁begin｜>",
            "<｜tool_calls_begin｜>",
            "<｜tool calls begin｜>",
            "<｜tool\\_calls\\_begin｜>",
            "<｜tool▁calls｜>",
        ),
        "<｜tool▁calls▁end｜>",
    ),
    call=("<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
    name_as="function",
    control=True,
    stops=("<｜end▁of▁sentence｜>", "<|EOT|>"),
    turns=("<｜User｜>", "<｜Assistant｜>"),
    drop=("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>", "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),
)

DEEPSEEK_SEARCH = DEEPSEEK._replace(
    name="deepseek_search",
    think=("<｜search▁begin｜>", "<｜search▁end｜>"),
    drop=(*DEEPSEEK.drop, "<think>", "</think>"),
)


def _dsml(*forms: str) -> tuple[str, ...]:
    """Each form as V3.2 writes it, as V4.1 does, and with ASCII bars as in re-hosted models."""
    return tuple(form.replace("D", mark) for form in forms for mark in ("｜DSML｜", "｜DSML｜ ", "|DSML|"))


DSML = Format(
    name="dsml",
    think=("<think>", "</think>"),
    section=(_dsml("<Dfunction_calls>", "<Dtool_calls>"), _dsml("</Dfunction_calls>", "</Dtool_calls>")),
    call=(_dsml('<Dinvoke name="'), '">', _dsml("</Dinvoke>")),
    pair=(_dsml('<Dparameter name="'), '">', "", _dsml("</Dparameter>")),
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
