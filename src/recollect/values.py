"""Frozen values that are cheap to define and to make.

A frozen dataclass with slots takes 0.7 ms to define, because each of its methods is compiled on the spot; a
command-line call would pay that for every class, used or not. Making one costs a guarded assignment for each field.
`@value` makes a real dataclass (`fields`, `replace` and `asdict` work, type checkers know it as frozen) with a
constructor that fills the instance in one step, and takes the other methods from one shared place.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")
MANY = 1000


class _Frozen:
    def __setattr__(self, name: str, content: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__.values()))

    def __repr__(self) -> str:
        shown = (name for name, field in self.__dataclass_fields__.items() if field.repr)  # type: ignore[attr-defined]
        content = ", ".join(f"{name}={self.__dict__[name]!r}" for name in shown)
        return f"{type(self).__qualname__}({content})"


_SHARED = ("__setattr__", "__delattr__", "__eq__", "__hash__", "__repr__")


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """Makes a class with annotated fields a frozen value."""
    cls.__doc__ = cls.__doc__ or cls.__name__  # else `dataclass` works out a signature to show
    made = dataclass(init=False, repr=False, eq=False)(cls)
    for name in _SHARED:
        setattr(made, name, _Frozen.__dict__[name])
    made.__init__ = _first(made)  # type: ignore[method-assign]
    return made


def _first(cls: type[Any]) -> Any:
    """A constructor that makes the real one when the class is first used; most calls use few of the classes."""

    def make(self: Any, *given: Any, **named: Any) -> None:
        cls.__init__ = _constructor(cls)
        cls.__init__(self, *given, **named)

    return make


def widened(original: Any, cls: type[T], **more: Any) -> T:
    """The fields of a value and some more, as a value of a class that has them all."""
    made = cls.__new__(cls)
    object.__setattr__(made, "__dict__", {**original.__dict__, **more})
    return made


@contextmanager
def making_many(count: int) -> Iterator[None]:
    """While thousands of values are made, which never refer to one another in a circle, nobody looks for circles: the
    collector would walk over all of them again and again, a tenth of the time."""
    pause = count >= MANY and gc.isenabled()
    if pause:
        gc.disable()
    try:
        yield
    finally:
        if pause:
            gc.enable()


def _constructor(cls: type[Any]) -> Any:
    """`def __init__(self, a, b=…): self.__dict__.update(a=a, b=b)`, with defaults and factories as declared."""
    names: dict[str, Any] = {"absent": MISSING}
    takes, keeps = ["self"], []
    for field in fields(cls):
        name = field.name
        keep = name
        if field.default is not MISSING:
            names[f"default_{name}"] = field.default
            takes.append(f"{name}=default_{name}")
        elif field.default_factory is not MISSING:
            names[f"make_{name}"] = field.default_factory
            takes.append(f"{name}=absent")
            keep = f"make_{name}() if {name} is absent else {name}"
        else:
            takes.append(name)
        keeps.append(f"{name}={keep}")
    # Our own field names and nothing else: what a dataclass does too.
    exec(f"def __init__({', '.join(takes)}):\n    self.__dict__.update({', '.join(keeps)})", names)  # noqa: S102
    return names["__init__"]
