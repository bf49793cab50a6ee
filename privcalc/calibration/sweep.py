"""Calibrations along a range of another parameter: the noise for every batch, at equal privacy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.accounting.calibrate import Calibration, calibrate
from privcalc.bounds import TOLERANCE
from privcalc.calibration.holes import COUNTS, unknown
from privcalc.errors import DomainError, NotCertifiedError, UsageError
from privcalc.record import record
from privcalc.spec.entry import brief_text, snake_case, word_text
from privcalc.spec.registry import entry
from privcalc.spec.tree import (
    COUNT,
    Hole,
    Leaf,
    Repeated,
    Wrapped,
    filled,
    names,
    owner,
    value_at,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.calibration.target import CalibrationTarget
    from privcalc.relation import Relation
    from privcalc.spec.entry import Parameter
    from privcalc.spec.tree import Node, Path

# Values of a sweep are rounded to so many digits, to be read.
DIGITS = 6
MOST_POINTS = 10_000


@record
class Swept:
    """One point of a sweep.

    Attributes:
        parameter: spelling of the parameter that was swept.
        value: what was put there.
        calibration: the value of the hole that meets the target, or None where there is none.
        reason: why there is none, or "".
    """

    parameter: str
    value: float | int
    calibration: Calibration | None
    reason: str = ""


def sweep(
    tree: Node,
    target: CalibrationTarget,
    name: str,
    *,
    low: float,
    high: float,
    count: int,
    relation: Relation | None = None,
    tolerance: float = TOLERANCE,
    ratio: Sequence[float] = (),
) -> Iterator[Swept]:
    """Calibrate for each of several values of another parameter, evenly spaced over the logarithm.

    All that can be wrong with the question is found before this returns; the points are worked out
    as they are asked for, each from where the last two point to.

    Args:
        tree: the specification, with a hole.
        target: what has to be met at every point.
        name: the other parameter, in any spelling, or `count`; it is written exactly once.
        low: first value, > 0.
        high: last value, above it.
        count: how many, at least 2; whole numbers that coincide after rounding are asked once.
        relation: as for `calibrate`.
        tolerance: as for `calibrate`.
        ratio: as for `calibrate`.

    Raises:
        DomainError: the range is empty, or not within that of the parameter.
        UsageError: the parameter is not there once, is no number, or is the hole.
        UnsupportedError: the place of the hole.
    """
    target.check()
    unknown(tree, ratio)
    path, parameter = _swept(tree, name)
    values = _values(parameter, low, high, count)

    def points() -> Iterator[Swept]:
        solved: list[tuple[float, float]] = []
        for value in values:
            reason, found = "", None
            try:
                found = calibrate(
                    filled(tree, {path: value}),
                    target,
                    relation=relation,
                    tolerance=tolerance,
                    ratio=ratio,
                    start=_ahead(solved, value),
                )
            except (DomainError, NotCertifiedError) as error:
                reason = str(error)
            else:
                solved = [*solved[-1:], (float(value), float(found.sufficient))]
            yield Swept(parameter.spelling, value, found, reason)

    return points()


def _swept(tree: Node, name: str) -> tuple[Path, Parameter]:
    """Find the parameter that a sweep names."""
    wanted = snake_case(name)
    found = []
    for long_name in names(tree):
        for path in written(tree, long_name):
            parameter = _parameter(owner(tree, path), long_name)
            if wanted in parameter.spellings:
                found.append((path, parameter))
    if not found:
        known = ", ".join(dict.fromkeys(_spellings(tree)))
        if not known:
            raise UsageError(
                f"nothing is called {name} here, and nothing but the free parameter could be"
                " swept: a sweep is over a number of the specification"
            )
        raise UsageError(f"nothing is called {name} here; a sweep can be over {known}")
    if len(found) > 1:
        raise UsageError(
            f"{name} is written {len(found)} times; a sweep needs a parameter that is written once"
        )
    path, parameter = found[0]
    if isinstance(value_at(tree, path), Hole):
        raise UsageError(f"{name} is the free parameter; sweep another parameter")
    if parameter.kind not in ("number", "integer"):
        raise UsageError(f"{name} takes {parameter.takes}; a sweep needs a number")
    return path, parameter


def _parameter(node: Leaf | Wrapped | Repeated, long_name: str) -> Parameter:
    if isinstance(node, Repeated):
        return COUNTS
    parameter = entry(node.name).parameter(long_name)
    if parameter is None:
        raise AssertionError("the tree was checked")
    return parameter


def _spellings(tree: Node) -> Iterator[str]:
    for long_name in names(tree):
        for path in written(tree, long_name):
            parameter = _parameter(owner(tree, path), long_name)
            number = parameter.kind in ("number", "integer")
            if number and not isinstance(value_at(tree, path), Hole):
                yield COUNT if parameter is COUNTS else word_text(parameter.spelling)


def _values(parameter: Parameter, low: float, high: float, count: int) -> tuple[float | int, ...]:
    if not 0.0 < low < high < math.inf:
        raise DomainError(
            f"a sweep goes from one number > 0 to a larger one, got {brief_text(low)} to"
            f" {brief_text(high)}"
        )
    if not 2 <= count <= MOST_POINTS:
        raise DomainError(f"a sweep has 2 to {MOST_POINTS} points, got {count}")
    ratio = (high / low) ** (1.0 / (count - 1))
    inner = [float(f"{low * ratio**i:.{DIGITS}g}") for i in range(1, count - 1)]
    values: list[float | int] = [low, *inner, high]
    if parameter.kind == "integer":
        values = sorted({round(value) for value in values})
    for end in (values[0], values[-1]):
        if not parameter.contains(end):
            raise DomainError(
                f"{parameter.spelling} must be {parameter.range_text}, got {brief_text(end)}"
            )
    return tuple(dict.fromkeys(values))


def _ahead(solved: list[tuple[float, float]], value: float) -> float | None:
    """Return where the line through the last solutions, in logs, comes to; None without any."""
    if not solved or solved[-1][1] <= 0.0:
        return None
    if len(solved) == 1 or solved[0][1] <= 0.0:
        return solved[-1][1]
    (x0, y0), (x1, y1) = solved
    slope = math.log(y1 / y0) / math.log(x1 / x0)
    return y1 * math.exp(min(max(slope * math.log(value / x1), -20.0), 20.0))
