"""From a Renyi curve to (epsilon, delta): the best order for a conversion.

Every order proves a bound (`one_order.py`), so that the search for the best one needs no
certificate; the order infinity is among them, as losses never exceed the curve's limit.

Curves are often minima of several bounds, or known at a few orders only: they have kinks, and the
objective has several local minima. So orders that are spread over the whole range come first, then
the best local minima are narrowed down.

`ManyEpsilons` does the same for many epsilons at once, which share the orders of a grid; near the
best of these the minimum of a parabola is followed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privcalc.errors import DomainError, NotCertifiedError
from privcalc.numerics.enclosure import Enclosure, exp, log, log1mexp, log1p
from privcalc.numerics.rounding import non_negative
from privcalc.numerics.work import OutOfWorkError, left, spend
from privcalc.record import record
from privcalc.renyi.one_order import (
    balle_epsilon,
    balle_log_delta,
    classic_epsilon,
    classic_log_delta,
    joint_epsilon,
    joint_log_delta,
)

if TYPE_CHECKING:
    from privcalc.losses.law import RenyiCurve
    from privcalc.numerics.rounding import Array

# Mironov 2017; Balle et al. 2020; the joint range of one order (Asoodeh et al. 2021), which is its
# trade-off function.
CONVERSIONS = ("classic", "balle", "trade_off")


@record
class Converted:
    """A certified upper end, and how it was reached.

    Attributes:
        value: epsilon, or log of the finite part of delta (-infinity where that is 0).
        order: the Renyi order it follows from; infinity where it is the largest loss.
        conversion: one of CONVERSIONS.
    """

    value: float
    order: float
    conversion: str


def curve_epsilon(
    curve: RenyiCurve, delta: float, conversion: str = "trade_off", *, infinite_mass: float = 0.0
) -> Converted:
    """Return a certified upper bound on epsilon at delta, at the best order.

    Args:
        curve: the Renyi curve, of any real order above 1.
        delta: the finite part of delta, in (0, 1): what is left of delta when the mass at infinite
            loss is taken off.
        conversion: one of CONVERSIONS; each is at least as good as those before it.
        infinite_mass: upper bound on the mass at infinite loss, which the curve excludes; 0 for
            a curve that bounds whole distributions. Only the last conversion depends on it, and it
            is wrong if that is too small.

    Raises:
        DomainError: delta is out of range.
        NotCertifiedError: no order has a finite certified bound, or no outcome a finite loss.
    """
    if not 0.0 < delta < 1.0:
        raise DomainError(f"delta must be > 0 and < 1, got {delta!r}")
    _refuse_all_lost(infinite_mass)
    log_delta = float(log(delta).lower())
    convert: Conversion = {
        "classic": partial(classic_epsilon, log_delta=log_delta),
        "balle": partial(balle_epsilon, log_delta=log_delta),
        "trade_off": partial(joint_epsilon, log_delta=log_delta, infinite_mass=infinite_mass),
    }[conversion]
    limit = epsilon_at_infinity(curve.limit, delta if conversion == "trade_off" else 0.0)
    value, order = _best(curve, convert, limit)
    return Converted(non_negative(value), order, conversion)


def curve_log_delta(
    curve: RenyiCurve, epsilon: float, conversion: str = "trade_off", *, infinite_mass: float = 0.0
) -> Converted:
    """Return a certified upper bound on log of the finite part of delta at epsilon >= 0.

    Arguments and errors as in `curve_epsilon`.
    """
    if not 0.0 <= epsilon < math.inf:
        raise DomainError(f"epsilon must be >= 0 and finite, got {epsilon!r}")
    _refuse_all_lost(infinite_mass)
    convert: Conversion = {
        "classic": partial(classic_log_delta, epsilon=epsilon),
        "balle": partial(balle_log_delta, epsilon=epsilon),
        "trade_off": partial(joint_log_delta, epsilon=epsilon, infinite_mass=infinite_mass),
    }[conversion]
    limit = float(log_delta_at_infinity(curve.limit, epsilon))
    if conversion != "trade_off" and limit > -math.inf:
        limit = math.inf
    value, order = _best(curve, convert, limit)
    return Converted(min(0.0, value), order, conversion)


def _refuse_all_lost(infinite_mass: float) -> None:
    if infinite_mass >= 1.0:
        raise NotCertifiedError("all outcomes may have an infinite loss")


def _best(curve: RenyiCurve, convert: Conversion, limit: float) -> tuple[float, float]:
    """Return the least value and its order, of which infinity proves the limit."""
    value, c = search(curve, convert)
    if limit <= value:
        value, c = limit, math.inf
    if not value < math.inf:
        raise NotCertifiedError("no Renyi order gives a finite upper end")
    return value, c + 1.0


def epsilon_at_infinity(limit: float, delta: float) -> float:
    """Return the epsilon that the largest loss proves: limit + log(1 - delta), rounded up.

    (1 - e^{epsilon - l})_+ <= 1 - e^{epsilon - limit} for all l <= limit; take expectations.
    """
    if math.isinf(limit) or delta == 0.0:
        return limit
    return min(limit, float((limit + log1p(-delta)).upper()))


def log_delta_at_infinity(limit: float, epsilon: Array | float) -> Array:
    """Return log(1 - e^{epsilon - limit}), rounded up: the counterpart of `epsilon_at_infinity`."""
    if math.isinf(limit):
        return np.full(np.shape(epsilon), limit)
    with np.errstate(all="ignore"):
        found = log1mexp(Enclosure(limit) - epsilon).upper()
    return np.where(limit <= np.asarray(epsilon), -np.inf, found)


# Orders minus 1 that come first, larger ones only while the largest is best. Sums over whole orders
# are exact there: of those each up to 8, then steps of a factor 1.26, 1.4, and 4.
ROUGH = (
    np.unique(np.append(2.0 ** np.arange(-20.0, 0.0), np.floor(2.0 ** np.arange(0.0, 7.0, 1 / 3)))),
    np.floor(2.0 ** np.arange(7.0, 12.0, 0.5)),
    2.0 ** np.arange(12.0, 22.0, 2.0),
)
# Where each may cost a millisecond, every other one from here on comes first: the best of these are
# narrowed down, and it is those that little work is for.
SMALL = 2.0**-6
# Points on each side of a minimum, and how often they are narrowed; at first around two minima.
SIDE, NARROWINGS = 4, 9
# Where a parabola foretells its own minimum so well, relatively, it is at the minimum to about the
# power 4/3 of this: its error is of third order in the width, that of the minimum of fourth.
FORETOLD = 1e-9
MOST_CORNERS = 200
# Work for each narrowing, in addition to that of the orders.
PER_NARROWING = 1e4

# Maps orders minus 1 and K there to certified epsilons or log deltas.
Conversion: TypeAlias = Callable[["Array", "Array"], "Array"]


def search(curve: RenyiCurve, convert: Conversion) -> tuple[float, float]:
    """Minimise convert(c, K(c)): return the least value and its c; infinity where there is none.

    It ends with the best so far where the work that is allowed is done.

    Raises:
        OutOfWorkError: no value was found before that.
    """
    c: Array = np.empty(0)
    values: Array = np.empty(0)
    try:
        for part in (np.append(_first(curve), corners(curve)), *ROUGH[1:]):
            c, values = _joined(curve, convert, (c, values), part)
            if (values < math.inf).any() and int(np.argmin(values)) < len(c) - 1:
                break
        if not curve.cheap and int(np.argmin(values)) == 0:
            c, values = _joined(curve, convert, (c, values), ROUGH[0][ROUGH[0] < SMALL])
        for narrowing in range(NARROWINGS):
            if not (values < math.inf).any() or left() <= 0.0:
                break
            spend(PER_NARROWING)
            place = int(np.argmin(values))
            lowest, foretold = _lowest(c, values, place)
            # Curves that are sums over whole orders have their kinks there.
            near = [math.floor(c[place]), math.ceil(c[place]), lowest]
            new = np.append(between(c, values, 1 if narrowing else 2), near)
            c, values = _joined(curve, convert, (c, values), new[new > 0.0])
            found = values[c == near[2]]
            if np.any(np.abs(found - foretold) <= FORETOLD * (1e-3 + np.abs(foretold))):
                break
    except OutOfWorkError:
        if not (values < math.inf).any():
            raise
    if not (values < math.inf).any():
        return math.inf, math.inf
    place = int(np.argmin(values))
    return float(values[place]), float(c[place])


def _first(curve: RenyiCurve) -> Array:
    """Return the orders minus 1 that come first."""
    return ROUGH[0] if curve.cheap else ROUGH[0][ROUGH[0] >= SMALL][::-2]


def _joined(
    curve: RenyiCurve, convert: Conversion, known: tuple[Array, Array], new: Array
) -> tuple[Array, Array]:
    """Return the orders minus 1 with new ones, increasing, and the values."""
    c, values = known
    new = np.setdiff1d(new, c)
    if not new.size:
        return known
    more = convert(new, bounds(curve, new))
    place = np.argsort(np.append(c, new), kind="stable")
    more = np.where(np.isnan(more), np.inf, more)
    return np.append(c, new)[place], np.append(values, more)[place]


def bounds(curve: RenyiCurve, c: Array) -> Array:
    """Return bounds on K; infinity where there is none."""
    k = curve.upper(c)
    return np.where(np.isnan(k), np.inf, k)


def corners(curve: RenyiCurve) -> Array:
    """Return the corners of a curve; of many, some that are evenly spread."""
    found = np.array(curve.corners)
    thinned = found[:: 1 + len(found) // MOST_CORNERS]
    return thinned[thinned > 0.0]


def between(c: Array, values: Array, wanted: int) -> Array:
    """Return new points around the best local minima, evenly spread over the logarithm.

    Each neighbouring interval is divided into SIDE + 1, so that the bracket shrinks by as much.
    """
    padded = np.concatenate([[np.inf], values, [np.inf]])
    local = (values <= padded[:-2]) & (values <= padded[2:]) & (values < np.inf)
    positions = np.flatnonzero(local)
    positions = positions[np.argsort(values[positions], kind="stable")][:wanted]
    fractions = np.arange(1, SIDE + 1) / (SIDE + 1.0)
    new = []
    for position in positions:
        if position > 0:
            new.append(c[position - 1] * (c[position] / c[position - 1]) ** fractions)
        if position + 1 < len(c):
            new.append(c[position] * (c[position + 1] / c[position]) ** fractions)
    return np.concatenate(new) if new else np.empty(0)


def _lowest(c: Array, values: Array, place: int) -> tuple[Array, Array]:
    """Return where the parabola around the best value has its minimum, and what it is; or nan."""
    around = slice(place - 1, place + 2) if 0 < place < len(c) - 1 else [place] * 3
    with np.errstate(all="ignore"):
        return vertex(c[around], values[around])


def vertex(x: Array, values: Array) -> tuple[Array, Array]:
    """Return where parabolas through three points each have their minimum, and what it is.

    Args:
        x: the points, increasing along the first axis.
        values: the values there.

    Returns:
        x, which is nan where there is no minimum between the outer points, and the value.
    """
    down, up = x[1] - x[0], x[2] - x[1]
    fall, rise = (values[0] - values[1]) / down, (values[2] - values[1]) / up
    curvature = (fall + rise) / (down + up)
    slope = (rise * down - fall * up) / (down + up)
    move = -0.5 * slope / curvature
    inside = (curvature > 0.0) & (move > -down) & (move < up)
    return np.where(inside, x[1] + move, np.nan), values[1] + 0.5 * slope * move


def vertices(x: Array, values: Array) -> Array:
    """Return the vertex at the least of each row of values; x fits the columns."""
    best = np.clip(values.argmin(axis=1), 1, len(x) - 2) + np.array([[-1], [0], [1]])
    return vertex(x[best], values[np.arange(len(values)), best])[0]


# Orders minus 1 of the grid for many questions: steps of a factor 1.33, and what is as good as 1.
GRID: Array = 2.0 ** np.append([-40.0, -30.0], np.linspace(-20.0, 21.0, 100))
# Maps orders minus 1, K there and epsilons, of one shape, to certified log deltas.
ManyConversion: TypeAlias = Callable[["Array", "Array", "Array"], "Array"]

# Of so many orders of the grid one is looked at first, and how often the parabola around the best
# order is followed.
FEWER, LOOKS = 4, 3
# Epsilons that are worked on at once.
CHUNK = 256
# What a positive delta below the range of doubles is raised to.
TINY = 1e-300


def _lowest_three(c: Array, values: Array) -> tuple[Array, Array]:
    """Return the three rows around the least value of each column."""
    rows = np.clip(values.argmin(axis=0), 1, len(c) - 2) + np.array([[-1], [0], [1]])
    return np.take_along_axis(c, rows, axis=0), np.take_along_axis(values, rows, axis=0)


class ManyEpsilons:
    """Upper ends of delta from one curve."""

    def __init__(self, curve: RenyiCurve, convert: ManyConversion) -> None:
        """Take the curve and a conversion that goes element by element."""
        self._curve, self._convert = curve, convert
        corners = np.array(curve.corners)
        self._c = np.union1d(GRID, corners[corners > 0.0]) if len(corners) else GRID
        self._k = bounds(curve, self._c)

    @np.errstate(all="ignore")
    def deltas(self, epsilons: Array) -> Array:
        """Return proved upper ends of the finite part of delta, shape (n,); at most 1."""
        logs = self.log_deltas(epsilons)
        deltas = np.clip(exp(logs).upper(), TINY, 1.0)
        return np.where(logs == -np.inf, 0.0, deltas)

    @np.errstate(all="ignore")
    def log_deltas(self, epsilons: Array) -> Array:
        """Return proved upper ends of the log of the finite part of delta, shape (n,)."""
        parts = [self._part(epsilons[i : i + CHUNK]) for i in range(0, len(epsilons), CHUNK)]
        limit = log_delta_at_infinity(self._curve.limit, epsilons)
        least: Array = np.minimum(np.concatenate([*parts, np.zeros(0)]), limit)
        return np.minimum(least, 0.0)

    def _part(self, epsilons: Array) -> Array:
        """Return what the best orders prove at each epsilon, found on some of the grid first."""
        some = slice(None, None, FEWER)
        rough = self._values(self._c[some, None], self._k[some, None], epsilons)
        first = np.clip((rough.argmin(axis=0) - 1) * FEWER, 0, len(self._c) - 2 * FEWER - 1)
        place = first + np.arange(2 * FEWER + 1)[:, None]
        values = self._values(self._c[place], self._k[place], epsilons)
        c, values = _lowest_three(self._c[place], values)
        for _ in range(LOOKS):
            new = vertex(c, values)[0]
            new = np.where(np.isfinite(new), new, c[1])
            found = self._values(new, bounds(self._curve, new), epsilons)
            c, values = np.insert(c, 1, new, axis=0), np.insert(values, 1, found, axis=0)
            order = np.argsort(c, axis=0, kind="stable")
            c, values = (np.take_along_axis(each, order, axis=0) for each in (c, values))
            c, values = _lowest_three(c, values)
        least: Array = values.min(axis=0)
        return least

    def _values(self, c: Array, k: Array, epsilons: Array) -> Array:
        """Return what orders prove at each epsilon, a column for each."""
        c, k, epsilons = np.broadcast_arrays(c, k, epsilons)
        found = self._convert(c, k, epsilons)
        return np.where(np.isnan(found), np.inf, found)
