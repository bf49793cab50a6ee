"""The holes of a specification: their names, the direction of the cost, their range and grid.

A grid is the values that a search may return, whole numbers or decimals of ten significant digits.
Both are numbered by integers in increasing order, so that two of them can be neighbours. A decimal
of ten digits is what a printed value is, and reading it again gives the same double.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, cast

from privcalc.errors import DomainError, UnsupportedError, UsageError
from privcalc.exact import LARGEST as LARGEST_DOUBLE
from privcalc.record import record
from privcalc.spec.entry import MAX_INTEGER, Parameter, brief_text, number_text
from privcalc.spec.registry import entry, few, wrappers_in
from privcalc.spec.tree import (
    COUNT,
    HOLE,
    Leaf,
    Repeated,
    filled,
    holes,
    names,
    owner,
    value_at,
    written,
)
from privcalc.wrappers.base import Wrapper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.spec.tree import Node, Path, Wrapped

DIGITS = 10


class WholeNumbers:
    """Every integer is its own number."""

    def value(self, index: int) -> int:
        """Return the integer itself."""
        return index

    def below(self, value: float) -> int:
        """Round down."""
        return math.floor(value)

    def above(self, value: float) -> int:
        """Round up."""
        return math.ceil(value)


class Decimals:
    """Positive decimals of at most ten digits: m 10^(e - 9) with 10^9 <= m < 10^10.

    They are numbered by 9 10^9 e + m, which is one more for the next decimal, also where e changes.
    """

    _first: int = 10 ** (DIGITS - 1)
    _each: int = 9 * 10 ** (DIGITS - 1)

    def value(self, index: int) -> float:
        """Return the double that is nearest to the decimal."""
        exponent, rest = divmod(index - self._first, self._each)
        return float(f"{rest + self._first}e{exponent - DIGITS + 1}")

    def below(self, value: float) -> int:
        """Return the number of the largest decimal that is at most a positive number."""
        return self._index(value, ROUND_FLOOR)

    def above(self, value: float) -> int:
        """Return the number of the least decimal that is at least a positive number."""
        return self._index(value, ROUND_CEILING)

    def _index(self, value: float, rounding: str) -> int:
        # A decimal that was read is meant, and not the double that it became.
        decimal = Context(prec=DIGITS, rounding=rounding).create_decimal(repr(float(value)))
        exponent = decimal.adjusted()
        digits = int(decimal.scaleb(DIGITS - 1 - exponent))
        return self._each * exponent + digits


# What numbers values, and finds the numbers of the values below and above a given one.
Grid = WholeNumbers | Decimals


def exact_product(value: float, factor: float) -> float:
    """Return the double nearest to the product of two decimals, as they are written."""
    return float(Decimal(repr(value)) * Decimal(repr(factor)))


# Beyond these, decimals leave the range of normal doubles.
SMALLEST, LARGEST = 1e-300, 1e300
COUNTS = Parameter(
    COUNT,
    "number of uses",
    kind="integer",
    minimum=1.0,
    maximum=float(MAX_INTEGER),
    # What was released before is a part of what is released.
    cost="increases",
)


@record
class FreeParameter:
    """One hole.

    Attributes:
        path: where it is.
        parameter: what is to be written there.
        minimum: least value, given what is written with it.
        maximum: largest value.
        words: the parameter and what it belongs to: `sigma of gaussian`, `a count`.
    """

    path: Path
    parameter: Parameter
    minimum: float
    maximum: float
    words: str


@record
class Unknown:
    """A number t that is wanted: the values of the holes are t, or t times their ratios.

    Attributes:
        tree: the specification with its holes.
        holes: in the order of the text.
        ratio: one factor for each, or () for a single hole.
        sign: 1 where the cost increases with t, -1 where it decreases.
        grid: the numbers that t may be.
        lowest: number of the least t on the grid.
        highest: number of the largest.
    """

    tree: Node
    holes: tuple[FreeParameter, ...]
    ratio: tuple[float, ...]
    sign: int
    grid: Grid
    lowest: int
    highest: int

    @property
    def name(self) -> str:
        """The spelling of the parameter; of several, each once: `sigma`, `sigma and scale`."""
        return " and ".join(dict.fromkeys(hole.parameter.spelling for hole in self.holes))

    def called(self, other: str) -> str:
        """Return the name, and what it belongs to where another number has the same name."""
        return self.holes[0].words if self.name == other else self.name

    @property
    def whole(self) -> bool:
        """Whether t is a whole number."""
        return isinstance(self.grid, WholeNumbers)

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be said of the direction."""
        return tuple(
            dict.fromkeys(h.parameter.cost_note for h in self.holes if h.parameter.cost_note)
        )

    def values(self, t: float) -> tuple[float | int, ...]:
        """Return the value of each hole."""
        if not self.ratio:
            return (t,)
        return tuple(exact_product(t, factor) for factor in self.ratio)

    def tree_at(self, t: float) -> Node:
        """Return the specification with the holes filled.

        Raises:
            DomainError: a value is out of its range.
        """
        given = {}
        for hole, value in zip(self.holes, self.values(t), strict=True):
            known = hole.parameter
            if not math.isfinite(value):
                raise DomainError(f"{known.spelling} is too large for a double")
            if not known.contains(value):
                raise DomainError(
                    f"{known.spelling} must be {known.range_text}, got {brief_text(value)}"
                )
            given[hole.path] = value
        return filled(self.tree, given)

    def words(self, t: float) -> str:
        """Return the values as messages have them: `sigma=2`, `sigma=2,4`, `count=7`."""
        return f"{self.name}={','.join(few([number_text(value) for value in self.values(t)]))}"

    @property
    def cheap_end(self) -> float | int | None:
        """The t that costs least, where the range has such an end; 0 is not on the grid."""
        ends = [
            (hole.minimum if self.sign > 0 else hole.maximum)
            for hole in self.holes
            if not (hole.parameter.open_minimum if self.sign > 0 else hole.parameter.open_maximum)
        ]
        if len(ends) < len(self.holes) or not all(map(math.isfinite, ends)) or self.ratio:
            return None
        return int(ends[0]) if self.whole else ends[0]


def unknown(tree: Node, ratio: Sequence[float]) -> Unknown:
    """Read the holes of a specification.

    Args:
        tree: the specification.
        ratio: one positive factor for each hole, where there are several.

    Raises:
        UsageError: there is no hole, or there are several that do not go together.
        DomainError: no values in this ratio are in range.
        UnsupportedError: the cost is not known to move one way with the value.
    """
    found = tuple(_hole(tree, path) for path in holes(tree))
    if not found:
        raise UsageError(
            "nothing to calibrate; write _ for the value that is wanted, as in sigma=_"
        )
    _check_ratio(found, tuple(ratio))
    factors = ratio or (1.0,)
    integer = found[0].parameter.kind == "integer"
    grid: Grid = WholeNumbers() if integer else Decimals()
    ends = [_ends(hole, factor) for hole, factor in zip(found, factors, strict=True)]
    low, high = max(low for low, _ in ends), min(high for _, high in ends)
    if ratio and max(low, SMALLEST) > min(high, LARGEST):
        shown = ":".join(map(number_text, ratio))
        words = " and ".join(hole.words for hole in found)
        raise DomainError(f"no {words} in the ratio {shown} are in range")
    lowest = grid.above(low if integer else max(low, SMALLEST))
    highest = grid.below(high if integer else min(high, LARGEST))
    first = found[0]
    if first.parameter.open_minimum and grid.value(lowest) <= first.minimum:
        lowest += 1
    if first.parameter.open_maximum and grid.value(highest) >= first.maximum:
        highest -= 1
    sign = 1 if first.parameter.cost == "increases" else -1
    return Unknown(tree, found, tuple(ratio), sign, grid, lowest, highest)


def _ends(hole: FreeParameter, factor: float) -> tuple[float, float]:
    """Return the t between which t times the factor is in range, and a double that is not 0.

    A quotient is off by one unit, which may lead beyond the largest double; to the smallest one
    everything above its half is rounded.
    """
    # The t is what is written where there is no ratio, and 0 may be written.
    if factor == 1.0:
        return hole.minimum, hole.maximum
    most = math.nextafter(LARGEST_DOUBLE / factor, 0.0)
    low = max(hole.minimum / factor, math.ulp(0.0) / factor)
    return low, min(hole.maximum / factor, most)


def _hole(tree: Node, path: Path) -> FreeParameter:
    for end in range(1, len(path)):
        _check_around(owner(tree, path[:end]), path[end - 1])
    node = owner(tree, path)
    if isinstance(node, Repeated):
        return FreeParameter(path, COUNTS, 1.0, float(MAX_INTEGER), "a count")
    known = entry(node.name)
    parameter = known.parameter(str(path[-1]))
    if parameter is None:
        raise AssertionError("the tree was checked")
    needed = [name for name in parameter.cost_needs if name in dict(node.parameters)]
    against = [name for name in parameter.cost_unless if name in dict(node.parameters)]
    if not parameter.cost or against or (parameter.cost_needs and not needed):
        others = [
            p.spelling
            for p in known.parameters
            if p.cost and not p.cost_needs and not p.cost_unless
        ]
        hint = f"; calibrate {' or '.join(others)} instead" if others else ""
        raise UnsupportedError(
            f"the privacy cost is not known to move one way with {parameter.spelling} of"
            f" {known.spelling}, so that no value could be called the right one{hint}"
        )
    low, high = _range(node, parameter)
    return FreeParameter(path, parameter, low, high, f"{parameter.spelling} of {known.spelling}")


def _check_around(node: Node, step: str | int) -> None:
    """Refuse a hole within a specification with which the cost of `node` may move either way."""
    if not isinstance(node, Leaf):
        return
    known = entry(node.name)
    parameter = known.parameter(str(step))
    given = dict(node.parameters)
    for name in parameter.cost_unless if parameter else ():
        if name in given:
            raise UnsupportedError(
                f"with {name} the privacy cost is not known to move one way with what is in"
                f" {parameter.spelling if parameter else step} of {known.spelling}, so that no"
                f" value could be called the right one; calibrate {name} instead"
            )


def _range(node: Leaf | Wrapped, parameter: Parameter) -> tuple[float, float]:
    """Return the range of a value, given those that are written with it."""
    low = -math.inf if parameter.minimum is None else parameter.minimum
    high = math.inf if parameter.maximum is None else parameter.maximum
    if parameter.kind == "integer":
        high = min(high, float(MAX_INTEGER))
    values = dict(node.parameters)
    for smaller, larger in entry(node.name).ordered:
        smaller_value, larger_value = values.get(smaller), values.get(larger)
        if parameter.name == smaller and isinstance(larger_value, int | float):
            high = min(high, larger_value)
        if parameter.name == larger and isinstance(smaller_value, int | float):
            low = max(low, smaller_value)
    return low, high


def _check_ratio(found: tuple[FreeParameter, ...], ratio: tuple[float, ...]) -> None:
    named = few([hole.words for hole in found], "{} others")
    listed = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    if len(found) == 1 and not ratio:
        return
    if len(found) == 1:
        raise UsageError(f"a ratio is for several free parameters, and {listed} is the only one")
    if not ratio:
        raise UsageError(
            f"{len(found)} free parameters, {listed}: fill all but one, or give the ratio of their"
            f" values, as in --ratio {','.join(few('1' * len(found)))}"
        )
    if len(ratio) != len(found):
        raise UsageError(
            f"{len(ratio)} ratios for {len(found)} free parameters, {listed}: one for each"
        )
    if not all(0.0 < factor < math.inf for factor in ratio):
        raise UsageError("ratios must be > 0")
    if any(hole.parameter.kind == "integer" for hole in found):
        raise UsageError(f"values in fixed ratio are no whole numbers: {listed} cannot be filled")
    if len({hole.parameter.cost for hole in found}) > 1:
        words = " and ".join(
            dict.fromkeys(f"{hole.parameter.cost} with {hole.words}" for hole in found)
        )
        raise UsageError(
            f"in fixed ratio all free parameters must move the cost the same way: it {words}"
        )


# What noise is called; other values that lower the cost, such as the order of a proof, are none.
NOISE = frozenset({"standard_deviation", "scale", "noise_multiplier"})


def noise(tree: Node) -> dict[Path, float]:
    """Return the parameters of mechanisms that lower the cost as they grow, with their values.

    None where trying other values takes its time.
    """
    found: dict[Path, float] = {}
    if any(issubclass(each.factory, Wrapper) and each.factory.slow for each in wrappers_in(tree)):
        return found
    for name in names(tree):
        for path in written(tree, name):
            leaf, value = owner(tree, path), value_at(tree, path)
            if not isinstance(leaf, Leaf) or isinstance(value, bool | int):
                continue
            if isinstance(value, float) and name in NOISE:
                found[path] = value
    return found


def emptied(tree: Node, paths: dict[Path, float]) -> Node:
    """Return a specification with holes in place of these values."""
    return filled(tree, dict.fromkeys(paths, cast("float", HOLE)))
