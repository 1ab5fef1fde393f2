"""What a request asks of a generation beyond sampling, for the format that the model writes."""

from __future__ import annotations

from typing import Any

from ...agent.steering import Plan, call_plan, spelling
from ...formats import Format, HeaderFormat
from ...prompt import Prompt
from ..refused import Refused
from ..requests.request import ApiRequest
from ..requests.tool_choices import tool_name

__all__ = ["plan_of"]

_NONE = Plan()
_FINAL = "<|end|><|start|>assistant<|channel|>final<|message|>"


def plan_of(request: ApiRequest, row: Format | HeaderFormat, prompt: Prompt, engine: Any) -> Plan | None:
    """The plan; None if the engine's generation is taken as it is. Raises `Refused` for what this model cannot do."""
    if request.tools and isinstance(row, Format) and row.call is None and row.section is None:
        raise Refused(400, "This model cannot call tools.", param="tools", code="unsupported_parameter")
    plan = _harmony(request, prompt, engine) if isinstance(row, HeaderFormat) else _tags(request, row, prompt, engine)
    if request.output is not None and request.choice != "required":  # a call that must come has the form of its tool
        plan = plan._replace(form=_form(request, row, engine))
    return None if plan._replace(closes=_NONE.closes) == _NONE else plan


def _call(request: ApiRequest, prompt: Prompt, engine: Any) -> Plan:
    return call_plan(prompt, list(map(tool_name, request.tools)), request.tools, engine, parallel=request.parallel)


def _harmony(request: ApiRequest, prompt: Prompt, engine: Any) -> Plan:
    if request.choice == "required":
        return _call(request, prompt, engine)._replace(budget=request.budget)
    closes = ("<|end|><|start|>assistant", _FINAL) if request.tools else (_FINAL,)
    return Plan(budget=request.budget, closes=closes)


def _tags(request: ApiRequest, row: Format, prompt: Prompt, engine: Any) -> Plan:
    budget = request.budget if row.think is not None else None
    closer = "" if row.think is None else f"\n{spelling(row.think[1], prompt)}" + ("" if row.control else "\n\n")
    if request.choice != "required":
        return Plan(budget=budget, closes=(closer,))
    plan = _call(request, prompt, engine)
    return plan._replace(budget=budget) if plan.after_reasoning or plan.grammar else plan


def _form(request: ApiRequest, row: Format | HeaderFormat, engine: Any) -> dict[str, Any]:
    param = {"chat": "response_format", "responses": "text.format", "messages": "output_config.format"}[request.api]
    if request.tools and isinstance(row, Format):
        what = f"{param} cannot be combined with tools: this model's calls are part of its answer."
        raise Refused(400, what, param=param, code="unsupported_parameter")
    fields = getattr(engine, "form_fields", lambda _: None)(request.output)
    if fields is None:
        what = f"{param}: this model's engine cannot constrain its output. Say in a message what form you need instead."
        raise Refused(400, what, param=param, code="unsupported_parameter")
    return dict(fields)
