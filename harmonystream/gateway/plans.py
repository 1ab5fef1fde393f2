"""What a request asks of a generation beyond sampling, for the format that the model writes."""

from __future__ import annotations

from typing import Any

from ..formats import Format, HeaderFormat
from ..formats.spec import Marker
from ..prompt import Prompt
from ..regions import Region
from .asked import Asked
from .refused import Refused
from .steering import Plan
from .tool_choices import tool_name

__all__ = ["plan_of"]

_NONE = Plan()
_FINAL = "<|end|><|start|>assistant<|channel|>final<|message|>"


def plan_of(asked: Asked, row: Format | HeaderFormat, prompt: Prompt, engine: Any) -> Plan | None:
    """The plan; None if the engine's generation is taken as it is. Raises `Refused` for what this model cannot do."""
    if asked.tools and isinstance(row, Format) and row.call is None and row.section is None:
        raise Refused(400, "This model cannot call tools.", param="tools", code="unsupported_parameter")
    plan = _harmony(asked) if isinstance(row, HeaderFormat) else _tags(asked, row, prompt)
    if asked.output is not None:
        plan = plan._replace(form=_form(asked, row, engine))
    return None if plan._replace(closes=_NONE.closes) == _NONE else plan


def _harmony(asked: Asked) -> Plan:
    if asked.choice == "required":
        # The dot after `functions` is left to the model: it is one token with the name's first letters.
        call = "<|start|>assistant<|channel|>commentary to=functions"
        if len(asked.tools) == 1:
            call += f".{tool_name(asked.tools[0])} <|constrain|>json<|message|>"
        return Plan("<|channel|>analysis<|message|>", call, asked.budget, ("<|end|>",))
    closes = ("<|end|><|start|>assistant", _FINAL) if asked.tools else (_FINAL,)
    return Plan(budget=asked.budget, closes=closes)


def _tags(asked: Asked, row: Format, prompt: Prompt) -> Plan:
    budget = asked.budget if row.think is not None else None
    closer = "" if row.think is None else f"\n{_spelling(row.think[1], prompt)}" + ("" if row.control else "\n\n")
    if asked.choice != "required":
        return Plan(budget=budget, closes=(closer,))
    call = _opening(row, prompt)
    if prompt.parser().region is Region.REASONING:
        return Plan("", call if row.control else f"\n\n{call}", budget, (closer.rstrip("\n"),))
    return Plan(first=call)


def _opening(row: Format, prompt: Prompt) -> str:
    """What a call begins with; of a row that needs no opener, the first characters of the call itself."""
    opener = row.section[0] if row.section is not None else row.call[0] if row.call is not None else ()
    if spelled := _spelling(opener, prompt):
        return spelled
    key = next((key for key, role in row.members.items() if role == "name"), "")
    return "[" if row.body == "python" else f'{{"{key}": "'


def _spelling(marker: Marker, prompt: Prompt) -> str:
    """The one that the prompt shows to the model, or else the first; "" if there may be none."""
    spellings = (marker,) if isinstance(marker, str) else marker
    shown = next((one for one in spellings if one and one in prompt.text), None)
    return shown if shown is not None else "" if "" in spellings or not spellings else spellings[0]


def _form(asked: Asked, row: Format | HeaderFormat, engine: Any) -> dict[str, Any]:
    param = {"chat": "response_format", "responses": "text.format", "messages": "output_config.format"}[asked.api]
    if asked.tools and isinstance(row, Format):
        what = f"{param} cannot be combined with tools: this model's calls are part of its answer."
        raise Refused(400, what, param=param, code="unsupported_parameter")
    fields = getattr(engine, "form_fields", lambda _: None)(asked.output)
    if fields is None:
        what = f"{param}: this model's engine cannot constrain its output. Say in a message what form you need instead."
        raise Refused(400, what, param=param, code="unsupported_parameter")
    return dict(fields)
