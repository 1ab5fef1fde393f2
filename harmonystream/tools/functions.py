"""Functions and classes as tools. pydantic reads the signature, and the docstring adds descriptions."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from .binding import annotated
from .mending import Misfit, mended
from .schema import simplified

try:
    import docstring_parser
    from pydantic import TypeAdapter, ValidationError
    from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
    from pydantic.fields import FieldInfo
    from pydantic.json_schema import GenerateJsonSchema
except ImportError as error:
    raise ImportError(
        "a tool made from a function or a class needs pydantic and docstring-parser: "
        "pip install 'harmonystream[tools]', or give the tool its name and its parameters"
    ) from error

if TYPE_CHECKING:
    from .binding import Bound

__all__ = ["Signature", "TypeCheck", "class_fields", "function_fields"]


class _Schemas(GenerateJsonSchema):
    """pydantic's schemas without the titles that it derives from names, because these do not help a model."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


class Signature:
    """A function's parameters: their JSON Schema, and a check that binds a call's arguments to them.

    context: the name of the parameter that gets the context, which the model does not see.

    Raises TypeError if the function cannot be called with one JSON object.
    """

    def __init__(self, function: Callable[..., Any], context: str | None) -> None:
        self._check = TypeCheck(_echo(function, context, _documented(function)[1]), f"{_name(function)}()")
        self.parameters: Mapping[str, Any] = self._check.schema

    def bind(self, arguments: dict[str, Any]) -> Bound:
        bound: Bound = self._check.checked(arguments)
        return bound


def _echo(function: Callable[..., Any], context: str | None, described: Mapping[str, str]) -> Callable[..., Bound]:
    """A function with the same parameters that returns its arguments. It checks them without running the tool."""
    try:
        signature = inspect.signature(function)
        hints = get_type_hints(annotated(function), include_extras=True)
    except (NameError, TypeError, ValueError) as error:
        raise TypeError(f"{_name(function)}() cannot be a tool: its signature cannot be read: {error}") from error
    parameters = []
    by_place = False  # does it have parameters that cannot be passed by name?
    for parameter in signature.parameters.values():
        if parameter.name == context:
            if parameter.kind is parameter.POSITIONAL_ONLY:
                raise TypeError(f"{_name(function)}() cannot be a tool: its Context has no name to give it by")
            continue
        annotation = hints.get(parameter.name, Any)
        if parameter.kind is parameter.VAR_POSITIONAL:  # it is a list in the schema
            if context is not None:
                raise TypeError(f"{_name(function)}() cannot be a tool: it has a Context and *{parameter.name}")
            by_place, annotation = True, list[annotation]  # type: ignore[valid-type]
            parameter = parameter.replace(kind=parameter.KEYWORD_ONLY, default=())
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            by_place = True
            parameter = parameter.replace(kind=parameter.POSITIONAL_OR_KEYWORD)
        text = _text_beside(annotation) or described.get(parameter.name)
        if text and parameter.kind != parameter.VAR_KEYWORD and not _has_description(annotation):
            annotation = Annotated[annotation, FieldInfo(description=text)]
        parameters.append(parameter.replace(annotation=annotation))

    def echo(*args: Any, **kwargs: Any) -> Bound:
        if not by_place:
            return args, kwargs
        bound = echo_signature.bind(*args, **kwargs)
        bound.apply_defaults()
        whole = inspect.BoundArguments(signature, bound.arguments)
        return whole.args, whole.kwargs

    echo.__name__ = echo.__qualname__ = _name(function)
    echo_signature = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    echo.__signature__ = echo_signature  # type: ignore[attr-defined]
    echo.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return echo


def _has_description(annotation: Any) -> bool:
    if get_origin(annotation) is not Annotated:
        return False
    return any(isinstance(extra, FieldInfo) and extra.description for extra in get_args(annotation)[1:])


def _text_beside(annotation: Any) -> str | None:
    """The description in an annotation such as `Annotated[str, "the city"]`. None if there is none."""
    if get_origin(annotation) is not Annotated:
        return None
    return next((extra for extra in get_args(annotation)[1:] if isinstance(extra, str)), None)


def _name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", None) or getattr(annotated(function), "__name__", None)
    return name if isinstance(name, str) and name != "__call__" else type(function).__name__


def _documented(function: object) -> tuple[str, dict[str, str]]:
    """The description of the function and of each parameter, from the docstring."""
    text = inspect.getdoc(function)
    if text is None:
        return "", {}
    try:
        parsed = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return text, {}
    return (parsed.description or "").strip(), {param.arg_name: param.description or "" for param in parsed.params}


def function_fields(function: Callable[..., Any], described: bool) -> dict[str, Any]:
    """The fields of `Tool` for a function. described: does the caller have a description?"""
    own = function if inspect.isroutine(function) else annotated(function)
    return {
        "name": _name(function),
        "description": "" if described else _documented(own)[0],
        "function": function,
    }


def class_fields(declared: type, function: Callable[..., Any] | None) -> dict[str, Any]:
    """The fields of `Tool` for a class. If there is a function, it is called with an object of the class."""
    check = TypeCheck(declared, declared.__name__)
    parameters = dict(check.schema)
    if parameters.get("type") != "object":
        raise TypeError(f"{declared.__name__} cannot be a tool: a call's arguments are a JSON object")
    description = parameters.pop("description", "")

    def bind(arguments: dict[str, Any]) -> Bound:
        return (check.checked(arguments),), {}

    bound = {} if function is None else {"bind": bind}
    return {"name": declared.__name__, "description": description, "parameters": parameters, **bound}


class TypeCheck:
    """Checks JSON values against a type that pydantic knows. It makes the same repairs as for a JSON Schema.

    schema: the JSON Schema of the values. Raises TypeError for a type that pydantic does not know.
    """

    def __init__(self, declared: Any, name: str) -> None:
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(declared)
            self.schema = simplified(self._adapter.json_schema(schema_generator=_Schemas))
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            raise TypeError(f"{name} cannot be a tool: {error.message}") from error

    def checked(self, value: Any) -> Any:
        """The object for the value. Raises ValueError, with a message for the model."""
        try:
            try:
                return self._validated(value)
            except ValidationError:
                return self._validated(mended(value, self._misfits))
        except RecursionError:
            raise ValueError("it is nested too deeply") from None

    def _validated(self, value: Any) -> Any:
        return self._adapter.validate_json(json.dumps(value))  # as JSON, a string may become a date even in strict mode

    def _misfits(self, value: Any) -> list[Misfit]:
        try:
            self._validated(value)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            return [Misfit(one["loc"], one["msg"], one["type"].endswith(_ABOUT_TYPES)) for one in found]
        return []


_ABOUT_TYPES = ("_type", "_parsing", "_error", "_attributes_type", "_from_float")
"""The endings of the names of pydantic's errors about types."""
