"""Preferred Networks' PLaMo 3, whose markers are several tokens each."""

from .spec import Format


def _mark(*words: str) -> str:
    return "".join(f"<|plamo:{word}:plamo|>" for word in words)


PLAMO3 = Format(
    name="plamo3",
    think=(_mark("begin_think"), _mark("end_think")),
    section=(_mark("begin_tool_requests"), _mark("end_tool_requests")),
    call=(
        _mark("begin_tool_request", "begin_tool_name"),
        _mark("end_tool_name", "begin_tool_arguments") + "<|plamo:constrain|>json<|plamo:msg|>",
        _mark("end_tool_arguments", "end_tool_request"),
    ),
    wrapped="read",
    stops=("<|plamo:tag|>",),
)
