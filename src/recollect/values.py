"""Frozen values that are cheap to define.

A frozen dataclass with slots takes 0.7 ms to define, because each of its methods is compiled on the spot; a
command-line call would pay that for every class, used or not. `@value` makes a real dataclass (constructor, `fields`,
`replace` and `asdict` work, type checkers know it as frozen) and takes the other methods from one shared place.
"""

from dataclasses import FrozenInstanceError, dataclass
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


class _Frozen:
    __dataclass_fields__: dict[str, Any]

    def __setattr__(self, name: str, content: Any) -> None:
        """The constructor sets each field once; after that nothing may."""
        state = self.__dict__
        if name in state or name not in self.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        state[name] = content

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__.values()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={content!r}" for name, content in self.__dict__.items())
        return f"{type(self).__qualname__}({fields})"


_SHARED = ("__setattr__", "__delattr__", "__eq__", "__hash__", "__repr__")


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """Makes a class with annotated fields a frozen value."""
    made = dataclass(repr=False, eq=False)(cls)
    for name in _SHARED:
        setattr(made, name, _Frozen.__dict__[name])
    return made
