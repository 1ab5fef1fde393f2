"""Plans for the parts of a request beyond sampling, in the format that the model writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...agent.steering import Plan, call_plan, grammar_plan, spelling
from ...formats import Format, HeaderFormat
from ...prompt import Prompt
from ...regions import Region
from ..refused import Refused
from ..requests.request import ApiRequest
from ..requests.tool_choices import tool_name

__all__ = ["plan_of"]

_NONE = Plan()
_LONGEST = 200
"""The most characters of a note about a schema in a warning."""
_FINAL = "<|end|><|start|>assistant<|channel|>final<|message|>"


def plan_of(request: ApiRequest, row: Format | HeaderFormat, prompt: Prompt, engine: Any) -> Plan | None:
    """The plan. None leaves the engine's generation unchanged. Raises `Refused` if this model cannot do what
    is asked.
    """
    plan = _harmony(request, prompt, engine) if isinstance(row, HeaderFormat) else _tags(request, row, prompt, engine)
    if request.output is not None and request.choice != "required":  # a required call has the form of its tool
        plan = _formed(request, row, prompt, engine, plan)
    elif request.choice == "auto" and any(map(_is_strict, request.tools)):
        plan = _with_grammar(plan, grammar_plan(prompt, request.tools, engine, parallel=request.parallel))
    if request.strict is not None and request.choice != "none":
        if plan.grammar is None:
            _pass_over_strict(request, request.strict)
        else:
            _pass_over_what_is_lost(request, plan.wider)
        request.strict = None  # an answer of several generations says it once
    if not getattr(prompt, "continues", True):
        plan = _without_continuing(request, plan, prompt)
    return None if plan._replace(closes=_NONE.closes) == _NONE else plan


def _without_continuing(request: ApiRequest, plan: Plan, prompt: Prompt) -> Plan:
    """The plan for an engine that cannot continue an answer about pictures: a budget of reasoning is passed over.

    Raises `Refused` for a plan that needs the engine to continue.
    """
    what = "This model's engine does not support {} beside pictures."
    if plan.first or plan.after_reasoning:
        raise Refused(400, what.format("a call that must come"), param="tool_choice", code="unsupported_parameter")
    if plan.form is not None and prompt.parser().region is not Region.CONTENT:
        raise Refused(400, what.format("the form of an answer after reasoning"), code="unsupported_parameter")
    if plan.budget is not None:
        refusal = Refused(400, what.format("a budget of reasoning"), code="unsupported_parameter")
        request.unsupported.meet("thinking_token_budget", refusal, adds=True)
    return plan._replace(budget=None)


def _pass_over_strict(request: ApiRequest, where: str) -> None:
    what = "tools.strict is not supported: this model's engine takes no grammar, so arguments may be anything."
    refusal = Refused(400, what, param=f"{where}.strict", code="unsupported_parameter")
    request.unsupported.meet("tools.strict", refusal, adds=True)


def _pass_over_what_is_lost(request: ApiRequest, wider: Sequence[str]) -> None:
    """wider: as in `Plan`. It may also be about the form of the answer, which is not meant here."""
    marks = ["the arguments of tools", *(f"tool {tool_name(tool)!r}" for tool in request.tools if _is_strict(tool))]
    for lost in wider:
        if any(mark in lost for mark in marks):
            short = lost if len(lost) <= _LONGEST else f"{lost[:_LONGEST]}…"
            what = f"tools.strict is not supported for this schema: {short}. Leave that out of the schema, or strict."
            refusal = Refused(400, what, param="tools", code="unsupported_parameter")
            request.unsupported.meet(f"tools.strict ({short})", refusal, adds=True)


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


def _with_grammar(plan: Plan, constrained: Plan | None) -> Plan:
    return plan if constrained is None else plan._replace(grammar=constrained.grammar, wider=constrained.wider)


def _is_strict(tool: Any) -> bool:
    function = tool.get("function", tool)
    return isinstance(function, dict) and function.get("strict") is True


def _formed(request: ApiRequest, row: Format | HeaderFormat, prompt: Prompt, engine: Any, plan: Plan) -> Plan:
    """The plan, extended so that the answer gets its form."""
    param = {"chat": "response_format", "responses": "text.format", "messages": "output_config.format"}[request.api]
    assert request.output is not None
    calls_in_answer = isinstance(row, Format)
    if request.tools and (calls_in_answer or any(map(_is_strict, request.tools))):
        # One grammar must cover the answer and the calls.
        form = request.output
        answer = form["json_schema"]["schema"] if form["type"] == "json_schema" else {"type": "object"}
        made = grammar_plan(
            prompt, request.tools, engine, choice=request.choice, parallel=request.parallel, answer=answer
        )
        if made is None and calls_in_answer:
            why = "this model's calls are part of its answer, and its engine takes no grammar that has both"
            what = f"{param} cannot be combined with tools: {why}."
            raise Refused(400, what, param=param, code="unsupported_parameter")
        if made is not None:
            return _with_grammar(plan, made)
    fields = getattr(engine, "form_fields", lambda _: None)(request.output)
    if fields is None:
        what = f"{param}: this model's engine cannot constrain its output. Say in a message what form you need instead."
        raise Refused(400, what, param=param, code="unsupported_parameter")
    return plan._replace(form=dict(fields))
