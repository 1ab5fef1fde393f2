"""What programs ask of models of pydantic, for our dataclasses. pydantic itself is not needed for it."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Model"]


class Model:
    """The base of dataclasses that replace pydantic's models. It has the methods that other programs call."""

    _parts: ClassVar[Mapping[str, Any]] = {}
    """Of fields that are not plain: what makes their value of what model_dump() has made of it."""

    def model_dump(
        self,
        *,
        mode: str = "python",
        include: Any = None,
        exclude: Any = None,
        exclude_none: bool = False,
        exclude_defaults: bool = False,
        **_: Any,
    ) -> dict[str, Any]:
        """The fields as a dict, including nested ones. mode: "json" has values in place of enumerations."""
        made = {}
        usual = type(self).__dict__
        for one in fields(self):  # type: ignore[arg-type]
            value = getattr(self, one.name)
            if (include is not None and one.name not in include) or (exclude is not None and one.name in exclude):
                continue
            if (exclude_none and value is None) or (
                exclude_defaults and one.name in usual and usual[one.name] == value
            ):
                continue
            made[one.name] = _dumped(value, {"mode": mode, "exclude_none": exclude_none})
        return made

    def model_dump_json(self, *, indent: int | None = None, **options: Any) -> str:
        """model_dump() as JSON."""
        made = self.model_dump(**{**options, "mode": "json"})
        separators = None if indent else (",", ":")
        return json.dumps(made, indent=indent, ensure_ascii=False, separators=separators)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values in the fields of `update`, which are not checked."""
        made = copy.deepcopy(self) if deep else copy.copy(self)
        for name, value in (update or {}).items():
            setattr(made, name, value)
        return made

    @classmethod
    def model_validate(cls, obj: Any, **_: Any) -> Self:
        """Of a dict, as model_dump() makes it. One that is there already stays as it is.

        Raises ValueError for anything else, and for a dict that lacks a field.
        """
        if isinstance(obj, cls):
            return obj
        if not isinstance(obj, Mapping):
            raise ValueError(f"a {cls.__name__} is made of a dict, not of {type(obj).__name__}")
        known = {one.name for one in fields(cls)}  # type: ignore[arg-type]
        given = {name: value for name, value in obj.items() if name in known}
        for name, made in cls._parts.items():
            if given.get(name) is not None:
                given[name] = made(given[name])
        try:
            return cls(**given)
        except TypeError as error:
            raise ValueError(f"not a {cls.__name__}: {error}") from None

    @classmethod
    def model_validate_json(cls, json_data: str | bytes, **_: Any) -> Self:
        """An object from JSON. Raises ValueError."""
        return cls.model_validate(json.loads(json_data))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """For a field of a model of pydantic's whose type is this class."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            cls.model_validate,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda value, info: value.model_dump(mode=info.mode, exclude_none=info.exclude_none), info_arg=True
            ),
        )


def _dumped(value: Any, options: dict[str, Any]) -> Any:
    if isinstance(value, Enum):
        return value.value if options["mode"] == "json" else value
    if isinstance(value, Model):
        return value.model_dump(**options)
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _dumped(getattr(value, one.name), options) for one in fields(value)}
    if isinstance(value, list):
        return [_dumped(item, options) for item in value]
    if isinstance(value, dict):
        return {key: _dumped(item, options) for key, item in value.items()}
    return value
