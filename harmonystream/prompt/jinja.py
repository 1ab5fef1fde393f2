"""The Jinja dialect of chat templates, sandboxed and bounded. Templates get what transformers gives them, and
no more.
"""

from __future__ import annotations

import json
import re
from contextvars import ContextVar
from datetime import date, datetime
from functools import cache, wraps
from types import BuiltinMethodType, MethodType
from typing import Any, NamedTuple

from ..errors import PromptError
from ..vocabs.encoders import required
from . import bounds
from .marks import StandIns
from .plainly import METHODS, as_read

__all__ = ["compiled", "parsed", "run"]

MAX_SOURCE = 2_000_000
MAX_INDENT = 32
"""The most spaces of an indent in `tojson`. A separator may be as long."""


class _Run(NamedTuple):
    """One rendering: the current day, and the stand-ins for characters in its strings."""

    today: date | None
    stand_ins: StandIns


_RUN: ContextVar[_Run] = ContextVar("harmonystream_template_run")


# --- what templates may use ---------------------------------------------------------------------------------------


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON without the HTML escapes that Jinja's own filter would add."""
    if indent is not None and not (isinstance(indent, int) and 0 <= indent <= MAX_INDENT):
        raise bounds.Bound(f"tojson's indent must be a whole number from 0 to {MAX_INDENT}")
    if separators is not None and any(len(separator) > MAX_INDENT for separator in separators):
        raise bounds.Bound(f"tojson's separators must have at most {MAX_INDENT} characters")
    bounds.measure(value, node=4 + sum(map(len, separators or ())), level=indent or 0)
    text = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    if ensure_ascii:
        for table in _RUN.get().stand_ins:
            for mark, meant in table.items():  # the character behind a stand-in is ASCII, and is not escaped
                text = text.replace(f"\\u{mark:04x}", chr(mark) if meant.isascii() else f"\\u{ord(meant):04x}")
    return text


def _trim(value: Any, chars: str | None = None) -> str:
    """Jinja's filter, which treats stand-ins as the characters behind them."""
    return METHODS["strip"](str(value), _RUN.get().stand_ins.shown, chars)  # type: ignore[no-any-return]


def _replaced(filter_: Any) -> Any:
    @wraps(filter_)
    def replaced(context: Any, value: Any, old: str, new: str, count: int | None = None) -> Any:
        if not (shown := _RUN.get().stand_ins.shown):
            return filter_(context, value, old, new, count)
        return METHODS["replace"](str(value), shown, old, new, -1 if count is None else count)

    return replaced


def _from_json(text: str) -> Any:
    return json.loads(text)


def _strftime_now(format: str) -> str:
    if len(format) > bounds.MAX_FORMAT:
        raise bounds.Bound(f"strftime_now's format must have at most {bounds.MAX_FORMAT} characters")
    return (_RUN.get().today or datetime.now()).strftime(format)


class _Dict:
    """`dict` without its attributes, because a template could reach the interpreter through them."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args)


@cache
def _environment() -> Any:
    jinja2 = required("jinja2", "prompt")
    if _version(jinja2.__version__) < (3, 1, 6):
        raise ImportError(
            f"jinja2 {jinja2.__version__} has known ways out of its sandbox: pip install 'harmonystream[prompt]'"
        )
    made = _environment_class()(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.loopcontrols", _generation_class()],
        finalize=bounds.weigh,
    )
    made.tick, made.concat_checked, made.concat = bounds.tick, bounds.concat, bounds.join_checked
    made.as_read = lambda value: as_read(value, _RUN.get().stand_ins.shown)
    made.filters["tojson"] = _to_json
    made.filters["from_json"] = _from_json
    made.filters["sum"] = _sum()
    made.filters["trim"] = _trim
    made.filters["replace"] = _replaced(made.filters["replace"])
    made.filters.update({name: bounds.bounded_filter(name, filter_) for name, filter_ in made.filters.items()})
    made.tests.update({name: _ticking(test) for name, test in made.tests.items()})
    made.globals["raise_exception"] = _raise
    made.globals["strftime_now"] = _strftime_now
    made.globals["dict"] = _Dict()
    made.globals["namespace"] = _namespace_class()
    del made.globals["lipsum"]
    return made


def _namespace_class() -> type:
    runtime, sandbox = required("jinja2.utils", "prompt"), required("jinja2.sandbox", "prompt")

    def check(name: str, value: Any) -> None:
        if name.startswith("_"):
            raise sandbox.SecurityError(f"a template may not store {name!r}")
        if isinstance(value, str):
            bounds.check_size(len(value))

    class Namespace(runtime.Namespace):  # type: ignore[misc, name-defined]
        """`namespace()`. Its fields cannot begin with an underscore, or hold more than a prompt may."""

        def __init__(*args: Any, **kwargs: Any) -> None:
            self, args = args[0], args[1:]
            fields = dict(*args, **kwargs)
            for name, value in fields.items():
                check(name, value)
            runtime.Namespace.__init__(self, fields)

        def __setitem__(self, name: str, value: Any) -> None:
            check(name, value)
            runtime.Namespace.__setitem__(self, name, value)

        def __repr__(self) -> str:
            return "<Namespace>"  # Jinja's own text contains the fields, and so has no bound

    return Namespace


def _environment_class() -> type:
    sandbox = required("jinja2.sandbox", "prompt")
    formatting = _formatting(sandbox)

    def reading(method: Any) -> Any:
        """The string's method that treats stand-ins as the characters behind them. None if there are no stand-ins."""
        shown = _RUN.get().stand_ins.shown
        made = METHODS.get(method.__name__) if shown else None
        if made is None:
            return None
        bounded = bounds.bounded_method(method) or method  # the bounded method refuses what would take too long

        @wraps(method)
        def read(*args: Any, **kwargs: Any) -> Any:
            bounds.check_made(bounded(*args, **kwargs))
            return made(method.__self__, shown, *args, **kwargs)

        return read

    class Environment(sandbox.ImmutableSandboxedEnvironment):  # type: ignore[misc, name-defined]
        intercepted_binops = frozenset({"+", "*", "**", "%"})

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            bounds.check_operator(operator, left, right)
            return super().call_binop(context, operator, left, right)

        def call(self, context: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
            bounds.tick()
            bounds.check_numbers((*args, *kwargs.values()))
            return bounds.check_made(super().call(context, obj, *args, **kwargs))

        def wrap_str_format(self, value: Any) -> Any:
            """Jinja calls this with each attribute that a template reads. Methods of strings get their bounds here."""
            if not isinstance(value, (MethodType, BuiltinMethodType)) or not isinstance(value.__self__, str):
                return None
            return formatting(self, value) or reading(value) or bounds.bounded_method(value)

        def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
            """Lists may change: a template's input is rebuilt for each prompt, so no list of the caller changes."""
            if isinstance(obj, bytes):
                return attr in ("decode", "hex")
            return (type(obj) is list and attr in ("append", "pop")) or bool(
                super().is_safe_attribute(obj, attr, value)
            )

        def _parse(self, source: str, name: str | None, filename: str | None) -> Any:
            return _bounded(super()._parse(source, name, filename))

    return Environment


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def _raise(message: str) -> None:
    raise required("jinja2", "prompt").TemplateError(message)


def _formatting(sandbox: Any) -> Any:
    """The bounded forms of `str.format` and `format_map`. None for other methods."""

    class Plain(bounds.BoundedFields, sandbox.SandboxedFormatter):  # type: ignore[misc]
        pass

    class Escaping(bounds.BoundedFields, sandbox.SandboxedEscapeFormatter):  # type: ignore[misc]
        pass

    def formatting(environment: Any, method: Any) -> Any:
        if method.__name__ not in ("format", "format_map"):
            return None
        text = method.__self__

        @wraps(method)
        def checked(*args: Any, **kwargs: Any) -> Any:
            if method.__name__ == "format_map":
                (kwargs,), args = args, ()
            made = Escaping(environment, escape=text.escape) if hasattr(text, "escape") else Plain(environment)
            return type(text)(made.vformat(text, args, kwargs))

        return checked

    return formatting


def _sum() -> Any:
    filters = required("jinja2.filters", "prompt")
    return required("jinja2", "prompt").pass_environment(bounds.bounded_sum(filters.make_attrgetter))


def _ticking(test: Any) -> Any:
    @wraps(test)
    def ticking(*args: Any, **kwargs: Any) -> Any:
        bounds.tick()
        return test(*args, **kwargs)

    return ticking


def _generation_class() -> type:
    """`{% generation %}`, which marks the model's text for training. Here it is only its content."""
    ext, nodes = required("jinja2.ext", "prompt"), required("jinja2.nodes", "prompt")

    class Generation(ext.Extension):  # type: ignore[misc, name-defined]
        tags = {"generation"}  # noqa: RUF012

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.Scope(body).set_lineno(line)

    return Generation


def _bounded(tree: Any) -> Any:
    """The template's tree with a tick in every loop and macro, and with a `~` that checks sizes."""
    nodes, visitor = required("jinja2.nodes", "prompt"), required("jinja2.visitor", "prompt")

    def call(name: str, args: list[Any], line: int) -> Any:
        return nodes.Call(nodes.EnvironmentAttribute(name), args, [], None, None).set_lineno(line)

    class Bounds(visitor.NodeTransformer):  # type: ignore[misc, name-defined]
        def visit_For(self, node: Any) -> Any:  # noqa: N802
            self.generic_visit(node)
            node.body.insert(0, nodes.ExprStmt(call("tick", [], node.lineno)).set_lineno(node.lineno))
            return node

        visit_Macro = visit_For  # noqa: N815
        visit_CallBlock = visit_For  # noqa: N815

        def visit_Compare(self, node: Any) -> Any:  # noqa: N802
            self.generic_visit(node)
            node.expr = call("as_read", [node.expr], node.lineno)
            for operand in node.ops:
                operand.expr = call("as_read", [operand.expr], node.lineno)
            return node

        def visit_Concat(self, node: Any) -> Any:  # noqa: N802
            self.generic_visit(node)
            return call("concat_checked", node.nodes, node.lineno)

    return Bounds().visit(tree)


# --- compiling and running ----------------------------------------------------------------------------------------


def compiled(source: str, name: str) -> Any:
    """The template, compiled. Raises `PromptError` with the line of a syntax error."""
    jinja2 = required("jinja2", "prompt")
    if len(source) > MAX_SOURCE:
        raise PromptError(f"the template {name} has more than {MAX_SOURCE} characters")
    try:
        return _environment().from_string(source)
    except jinja2.TemplateSyntaxError as error:
        raise PromptError(f"the template {name} is wrong at line {error.lineno}: {error.message}") from error
    except (RecursionError, MemoryError, ValueError) as error:
        raise PromptError(f"the template {name} cannot be compiled: {error}") from error


def parsed(source: str) -> Any:
    """The template's tree, for finding the variables that it reads."""
    return _environment().parse(source)


def run(
    template: Any, name: str, variables: dict[str, Any], *, today: date | None, stand_ins: StandIns | None = None
) -> str:
    """The output of a compiled template. Raises `PromptError` with the line for any failure in it."""
    token = _RUN.set(_Run(today, stand_ins or StandIns()))
    parts: list[str] = []
    size = 0
    try:
        with bounds.limited():
            for part in template.generate(**variables):
                size += len(part)
                bounds.check_size(size)
                bounds.tick()
                parts.append(part)
    except Exception as error:  # a template is a program, so it may raise anything
        raise PromptError(f"the template {name} fails{_line_of(error)}: {_message(error)}") from error
    finally:
        _RUN.reset(token)
    return "".join(parts)


def _line_of(error: BaseException) -> str:
    """The line in the template. Jinja's frames have its line numbers, under the file name `<template>`."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" at line {line}" if line is not None else ""


def _message(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    return text if len(text) <= 500 else text[:500] + "…"
