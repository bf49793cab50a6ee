"""Records: frozen classes of plain data, as `dataclass(frozen=True)` makes them, but loaded fast.

A question loads some eighty such classes. `dataclass` writes and compiles six functions for each as
it is defined, which took as long as loading half of numpy. Records share all methods but
`__init__`, and that is compiled when the first instance is made: most classes have none.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")
_C = TypeVar("_C", bound=type)
_NO_DEFAULT = object()


class Field:
    """What a field has besides its type: a default, or what makes one, and whether it compares."""

    def __init__(
        self, default: object, factory: Callable[[], object] | None, *, compare: bool
    ) -> None:
        """Keep all three."""
        self.default, self.factory, self.compare = default, factory, compare


def field(
    *, default: object = None, factory: Callable[[], object] | None = None, compare: bool = True
) -> Any:  # noqa: ANN401  (stands for a value of any type)
    """Declare a default: the same for all records, or made anew for each (`factory=dict`).

    `compare` is whether records that differ here only differ.
    """
    return Field(default, factory, compare=compare)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: _C) -> _C:
    """Make a record of a class: its annotated names are its fields, after those of its bases.

    Methods that the class has itself are left alone; `__post_init__` is called where there is one.
    """
    fields: dict[str, bool] = {}
    for base in reversed(cls.__mro__[1:]):
        fields |= base.__dict__.get("__record_fields__", {})
    for name, kind in cls.__annotations__.items():
        if not str(kind).startswith("ClassVar"):
            given = cls.__dict__.get(name)
            fields[name] = given.compare if isinstance(given, Field) else True
            if isinstance(getattr(cls, name, None), property):
                # A base computes what is a field here; hide that, or it would be read instead.
                setattr(cls, name, _NO_DEFAULT)
    compared = [name for name, compare in fields.items() if compare]
    key = staticmethod(attrgetter(*compared)) if compared else staticmethod(type)
    own = {"__record_fields__": fields, "__record_key__": key, "__match_args__": tuple(fields)}
    for name, value in (own | _SHARED).items():
        if name not in cls.__dict__:
            setattr(cls, name, value)
    return cls


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: _C) -> _C:
    """Make a record of which the fields may be set: the state of a search."""
    cls.__setattr__ = object.__setattr__  # type: ignore[assignment]
    if "__hash__" not in cls.__dict__:
        cls.__hash__ = _hash_now  # type: ignore[assignment]
    return record(cls)


def replace(old: _T, **changes: object) -> _T:
    """Return a record like another, but for some of its fields."""
    made: Any = type(old)
    new: _T = made(**{name: getattr(old, name) for name in made.__record_fields__} | changes)
    return new


def _first(self: object, *args: object, **kwargs: object) -> None:
    """Write the `__init__` of a class, and call it from now on."""
    cls: Any = next(c for c in type(self).__mro__ if c.__dict__.get("__init__") is _first)
    cls.__init__ = _written(cls)
    cls.__init__(self, *args, **kwargs)


def _written(cls: Any) -> object:  # noqa: ANN401  (a class that `record` has seen)
    arguments, lines, known = ["self"], ["fields = self.__dict__"], {}
    for name in cls.__record_fields__:
        argument, value = name, name
        if getattr(cls, name, _NO_DEFAULT) is not _NO_DEFAULT:
            given = getattr(cls, name)
            made = given.factory if isinstance(given, Field) else None
            known[f"_{name}"] = made or (given.default if isinstance(given, Field) else given)
            argument = f"{name}=_{name}"
            if made is not None:
                value = f"_{name}() if {name} is _{name} else {name}"
        arguments.append(argument)
        lines.append(f"fields[{name!r}] = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    text = f"def __init__({', '.join(arguments)}):\n " + "\n ".join(lines)
    exec(text, known)  # noqa: S102  (names of fields, and nothing of a user's)
    return known["__init__"]


def _repr(self: Any) -> str:  # noqa: ANN401
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__record_fields__)
    return f"{type(self).__qualname__}({shown})"


def _eq(self: Any, other: Any) -> Any:  # noqa: ANN401
    if type(self) is not type(other):
        return NotImplemented
    return self.__record_key__(self) == self.__record_key__(other)


def _hash(self: Any) -> int:  # noqa: ANN401
    """Hash a record once: exact numbers take long."""
    known: int | None = self.__dict__.get("__record_hash__")
    if known is None:
        known = self.__dict__["__record_hash__"] = hash(self.__record_key__(self))
    return known


def _hash_now(self: Any) -> int:  # noqa: ANN401
    return hash(self.__record_key__(self))


def _frozen(self: object, name: str, *_: object) -> None:
    raise AttributeError(f"{type(self).__name__} is frozen: {name}")


_SHARED = {
    "__init__": _first,
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _frozen,
    "__delattr__": _frozen,
}
