"""``dataclass`` of the standard library, which writes the methods of a class when they are needed first.

For every class it writes the text of six methods and has Python compile each: a third to a whole millisecond, and
there are 270 classes behind a forecast, many of which a command never uses. Here the standard library finishes a class
when one of its methods is called, or its fields or its signature are read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

#: What `dataclasses` adds to a class: what its instances call, and what is read of the class itself.
_METHODS = ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__")
_FACTS = ("__dataclass_fields__", "__dataclass_params__", "__match_args__", "__signature__")

_LOCK = RLock()


class _Fact:
    """What is read of a class, and is not there before the class is finished."""

    def __init__(self, name: str, finish: Callable[[], None]) -> None:
        self.name, self.finish = name, finish

    def __get__(self, instance: object, owner: type) -> Any:
        self.finish()
        if self.name == "__signature__":  # inspect looks for one, and then reads that of ``__init__``
            raise AttributeError(self.name)
        return getattr(owner, self.name)


def _method(cls: type, name: str, finish: Callable[[], None]) -> Any:
    """Return what finishes the class and goes on with its method."""

    def method(self: object, *args: object, **kwargs: object) -> Any:
        finish()
        return getattr(cls, name)(self, *args, **kwargs)

    method.__name__ = name
    return method


def _deferred(cls: type, options: dict[str, Any]) -> type:
    """Put into a class what finishes it."""
    places: dict[str, Any] = {}

    def finish() -> None:
        with _LOCK:  # what another thread begins is whole when this one goes on
            if places:
                for name, place in places.items():
                    if cls.__dict__.get(name) is place:
                        delattr(cls, name)
                places.clear()
                dataclasses.dataclass(**options)(cls)

    eq, frozen = options.get("eq", True), options.get("frozen", False)
    left_out = {
        "__eq__": not eq,
        "__hash__": not (eq and frozen) or "__eq__" in cls.__dict__,
        "__setattr__": not frozen,
        "__delattr__": not frozen,
    }
    for name in _METHODS:
        if not left_out.get(name, False) and name not in cls.__dict__:
            places[name] = _method(cls, name, finish)
    places |= {name: _Fact(name, finish) for name in _FACTS}
    if eq and not frozen and "__hash__" not in cls.__dict__:
        cls.__hash__ = None  # type: ignore[assignment]
    for name, place in places.items():
        setattr(cls, name, place)
    return cls


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: Any) -> Any:
        """Make a dataclass as `dataclasses.dataclass` does, at its first use.

        Parameters
        ----------
        cls : type
        **options : bool
            Those of the standard library; with ``slots``, which makes another class, ``order`` or ``unsafe_hash``, and
            where a class is not begun by an ``__init__`` that is written here, it is made at once.

        Examples
        --------
        >>> @dataclass(frozen=True)
        ... class Point:
        ...     x: float
        ...     y: float = 0.0
        >>> Point(1.0), Point(1.0) == Point(1.0, 0.0), dataclasses.replace(Point(1.0), x=2.0)
        (Point(x=1.0, y=0.0), True, Point(x=2.0, y=0.0))
        """
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        own = "__init__" in vars(cls) or not options.get("init", True)  # which would begin nothing
        at_once = own or any(options.get(name) for name in ("slots", "order", "unsafe_hash"))
        return dataclasses.dataclass(cls, **options) if at_once else _deferred(cls, options)
