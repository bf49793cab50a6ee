"""Records do what frozen dataclasses do."""

from __future__ import annotations

import copy
import dataclasses
from typing import ClassVar

import pytest

from privcalc.record import field, record, replace


@record
class Point:
    """A field without and one with a default, and a constant that is no field."""

    dimension: ClassVar[int] = 2
    x: float
    y: float = 1.0

    @property
    def sum(self) -> float:
        """Something derived."""
        return self.x + self.y


@record
class Named(Point):
    """Further fields, one made anew, one that does not compare."""

    labels: dict[str, int] = field(factory=dict)
    note: str | None = field(default=None, compare=False)


@record
class Checked:
    """What is refused is refused however the record was made."""

    size: int

    def __post_init__(self) -> None:
        """Refuse a negative size."""
        if self.size < 0:
            raise ValueError("negative")


class Computed:
    """A base with a default in the form of a property."""

    @property
    def width(self) -> float:
        """What most have."""
        return 1.0


@record
class Wide(Computed):
    """One that knows better."""

    width: float


@record
class Nothing:
    """No field at all."""


@dataclasses.dataclass(frozen=True)
class Twin:
    """What a dataclass makes of `Point`."""

    dimension: ClassVar[int] = 2
    x: float
    y: float = 1.0


@pytest.mark.parametrize(
    ("positional", "named"),
    [((1.0,), {}), ((1.0, 2.0), {}), ((), {"y": 3.0, "x": 1.0}), ((1.0,), {"y": 0.0})],
)
def test_made_and_shown_as_a_dataclass_is(
    positional: tuple[float, ...], named: dict[str, float]
) -> None:
    """The same arguments give the same fields, and the same words for them."""
    found, twin = Point(*positional, **named), Twin(*positional, **named)
    assert (found.x, found.y) == (twin.x, twin.y)
    assert repr(found) == repr(twin).replace("Twin", "Point")


@pytest.mark.parametrize(
    ("positional", "named"),
    [((), {}), ((1.0, 2.0, 3.0), {}), ((1.0,), {"x": 1.0}), ((1.0,), {"z": 1.0})],
)
def test_wrong_arguments_are_refused(
    positional: tuple[float, ...], named: dict[str, float]
) -> None:
    """Missing, too many, twice, unknown: a TypeError each, the first time and later."""
    for _ in range(2):
        with pytest.raises(TypeError):
            Point(*positional, **named)


def test_equal_and_hashed_by_the_fields_that_compare() -> None:
    """Records of another class differ, whatever their fields."""
    assert Point(1.0) == Point(1.0, 1.0)
    assert hash(Point(1.0)) == hash(Point(1.0, 1.0))
    assert Point(1.0) != Point(2.0)
    assert Point(1.0) != Named(1.0)
    assert Named(1.0, note="a") == Named(1.0, note="b")
    assert Named(1.0, labels={"a": 1}) != Named(1.0)
    assert Nothing() == Nothing()
    assert len({Nothing(), Nothing(), Checked(1), Checked(1), Checked(2)}) == 3


def test_frozen() -> None:
    """Nothing is set or deleted; properties work."""
    point = Point(1.0)
    with pytest.raises(AttributeError, match="frozen"):
        point.x = 2.0  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        del point.x
    assert point.sum == 2.0


def test_defaults_are_made_anew() -> None:
    """Two records never share what a factory makes; a subclass has the fields of its base first."""
    first, other = Named(1.0), Named(1.0)
    assert first.labels is not other.labels
    assert Named(1.0, 2.0, {"a": 1}, "note").note == "note"


def test_field_in_place_of_a_property() -> None:
    """What is given is what is read, and has to be given."""
    assert Wide(2.0).width == 2.0
    assert Computed().width == 1.0
    with pytest.raises(TypeError):
        Wide()  # type: ignore[call-arg]


def test_replaced_and_copied() -> None:
    """Checks run again on what `replace` makes."""
    assert replace(Named(1.0, note="a"), y=5.0).y == 5.0
    assert replace(Named(1.0, note="a"), y=5.0).note == "a"
    assert copy.deepcopy(Named(1.0, labels={"a": 1})) == Named(1.0, labels={"a": 1})
    with pytest.raises(ValueError, match="negative"):
        Checked(-1)
    with pytest.raises(ValueError, match="negative"):
        replace(Checked(1), size=-1)


def test_matched_by_place() -> None:
    """`match` takes the fields in order."""
    match Point(1.0, 2.0):
        case Point(x, y):
            assert (x, y) == (1.0, 2.0)
