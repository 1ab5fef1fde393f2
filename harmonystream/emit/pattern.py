"""What `Batch.open_sse` asks of a pattern, an emitter that has not started, for the responses that it opens."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, TypeAlias

from .._native.wire.script import Script
from .._native.wire.sse import SseWriter
from .payload import Payload, checked

__all__ = ["Pattern", "Plain"]

Plain: TypeAlias = "tuple[str, str | None, bool]"


class Pattern(SseWriter):
    """An emitter of which others are made: its options, and what each of the others has of its own."""

    _time: ClassVar[str | None] = None
    """The attribute that says when the response was created."""
    _all: Any = None
    """The streams of all choices, if there are several."""

    @staticmethod
    def _seconds(created: Any, /) -> Any:
        """The time as the constructor takes it, of an API that has one."""
        raise NotImplementedError

    def _script(self) -> Script | None:
        raise NotImplementedError

    def _shape(self) -> tuple[Payload, Script | None, str | None, Plain | None]:
        """For streams with the same options: the attributes that have them, the script, the name of the time, and what
        _plainly() says.
        """
        kind: Any = type(self)
        api = next(one for one in kind.__mro__ if "_plainly" in vars(one))
        if kind.__init__ is not api.__init__:
            raise TypeError(f"a {kind.__name__} is no pattern: its constructor would not run for each response")
        if self._all is not None:
            raise ValueError("one of several choices is no pattern: make the streams of each response with several()")
        fields = {name: value for name, value in self.__dict__.items() if name not in ("id", self._time)}
        made = {name for name in fields if isinstance(getattr(kind, name, None), cached_property)}
        return {name: fields[name] for name in fields.keys() - made}, self._script(), self._time, self._plainly()

    def _plainly(self) -> Plain | None:
        """If _constants() are the id, the time, the id without a prefix, and a head that is the same for all: the
        prefix, the head, and whether only an id of letters and digits is such a one. None: ask _constants().
        """
        return None

    def _identify(self, id: str, created: Any) -> None:
        """Of a stream that was made by a pattern."""
        self.id = checked("id", id)
        if self._time is not None:
            setattr(self, self._time, self._seconds(created))
        elif created is not None:
            raise TypeError("this API says no time: leave `created` out")
