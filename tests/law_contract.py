"""The contract of privacy-loss laws: what each clause of `privcalc/losses/law.py` promises.

A clause compares two things that a law says, or one of them with the truth (`tests/law_truths.py`),
and yields a line for each breach. All comparisons are in 50 digits, and no tolerance is added to
the errors that a law states; only masses below FAINT may be lost to underflow, as is documented.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import wraps
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
from mpmath import mp, mpc, mpf

from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import UNIT, few_bits
from tests.law_truths import DIGITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from privcalc.losses.law import LossLaw
    from privcalc.renyi.curve import RenyiCurve
    from tests.law_truths import Truth

_P = ParamSpec("_P")
_T = TypeVar("_T")

# Masses below may be lost to underflow.
FAINT = mpf("1e-299")
ORDERS = (2.0**-10, 0.25, 1.0, 3.5, 20.0)
ABSCISSAS = (0.0625, 9.0)
# Q(L = -inf) has no stated error: it is as exact as P(L = inf), or as any mass.
LOWER_UNITS = 64.0
LOG_ERROR = -46.0
# log_ratio states no errors either.
RATIO_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Subject:
    """A law under test.

    Attributes:
        law: the law.
        truth: what it is the law of, or None.
        opposite: the law of the other order of the neighbours, or None.
        own: whether it is the pair's own law, and not an upper bound.
        lower: where it is an upper bound, the law that proves lower ends, or None.
    """

    law: LossLaw
    truth: Truth | None = None
    opposite: LossLaw | None = None
    own: bool = True
    lower: LossLaw | None = None

    @property
    def exact(self) -> Truth | None:
        """Return the truth of the law itself, and not only of what it bounds."""
        return self.truth if self.own else None


class Row(NamedTuple):
    """The tails at one loss."""

    above_p: Any
    above_q: Any
    below_p: Any
    below_q: Any
    error: Any
    shift: Any

    def least(self, name: str) -> Any:
        """Return a lower bound of a mass."""
        return max(mpf(0), getattr(self, name) * (1 - self.error) - FAINT)

    def most(self, name: str) -> Any:
        """Return an upper bound of a mass."""
        return getattr(self, name) * (1 + self.error) + FAINT


# What was asked of the laws at hand, by their identity: laws of many atoms are slow to hash.
_seen: dict[int, dict[Any, Any]] = {}


def _remembered(
    make: Callable[Concatenate[LossLaw, _P], _T],
) -> Callable[Concatenate[LossLaw, _P], _T]:
    """Ask a law the same only once in one run of the clauses."""

    @wraps(make)
    def ask(law: LossLaw, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        known = _seen.setdefault(id(law), {})
        key = make, args
        if key not in known:
            known[key] = make(law, *args, **kwargs)
        found: _T = known[key]
        return found

    return ask


@_remembered
def row(law: LossLaw, loss: float) -> Row:
    """Ask for the tails at one loss alone, where the stated errors are smallest."""
    found = law.tails(np.array([loss]))
    error = float(np.broadcast_to(np.asarray(found.error, dtype=float), (1,))[0])
    masses = (found.above_p, found.above_q, found.below_p, found.below_q)
    return Row(*(mpf(float(x[0])) for x in masses), mpf(error), mpf(float(found.shift)))


@_remembered
def thresholds(law: LossLaw) -> tuple[float, ...]:
    """Return losses at which a law is looked at: spread, at atoms and next to them, and far out."""
    scale = np.geomspace(1e-30, 690.0, 150)
    grid = np.concatenate([-scale[::-1], [0.0], scale])
    with np.errstate(all="ignore"):
        tails = law.tails(grid)
    inside = np.flatnonzero((tails.above_p > 1e-100) & (tails.below_p > 1e-100))
    found = {0.0}
    if len(inside):
        picked = grid[inside[np.unique(np.linspace(0, len(inside) - 1, 9).astype(int))]]
        found |= {float(x) for x in picked}
        # Short cells, too.
        found |= {float(x) * (1.0 + 2.0**-20) for x in picked[::3]}
        low, high = float(grid[inside[0]]), float(grid[inside[-1]])
        found |= {float(x) for x in np.linspace(low, high, 7)}
    places = [*law.anchors[:3], *law.anchors[-3:]]
    if math.isfinite(law.max_loss):
        places.append(law.max_loss)
        places.append(law.max_loss * (1.0 - 2.0**-30))
    for x in places:
        found |= {x, math.nextafter(x, math.inf), math.nextafter(x, -math.inf)}
    return tuple(sorted(x for x in found if abs(x) <= 700.0))


def epsilons(law: LossLaw) -> tuple[float, ...]:
    """Return the thresholds that are an epsilon."""
    return tuple(x for x in thresholds(law) if x >= 0.0)


def _text(x: Any) -> str:
    return str(mp.nstr(x, 25))


# --- tails -----------------------------------------------------------------------------------


def tails_and_truth(subject: Subject) -> Iterator[str]:
    """Compare each tail: that of losses displaced by at most `shift`, to the relative `error`."""
    law, truth = subject.law, subject.exact
    if truth is None:
        return
    for loss in thresholds(law):
        seen = row(law, loss)
        loose = seen.shift > 0
        far, near = mpf(loss) + seen.shift, mpf(loss) - seen.shift
        least = (*truth.above(far), *truth.below(near, included=not loose))
        most = (*truth.above(near, included=loose), *truth.below(far))
        for name, low, high in zip(Row._fields[:4], least, most, strict=True):
            if low > seen.most(name) or high < seen.least(name):
                yield (
                    f"{name} at {loss!r}: {_text(getattr(seen, name))} to {_text(seen.error)}, and"
                    f" the truth is {_text(low)} .. {_text(high)}"
                )


def cells_and_truth(subject: Subject) -> Iterator[str]:
    """Compare the masses between neighbouring losses."""
    law, truth = subject.law, subject.exact
    if truth is None:
        return
    for low, high in pairwise(thresholds(law)):
        found = law.tails(np.array([low, high]))
        if found.between_p is None or found.between_q is None or found.between_error is None:
            return
        error, shift = float(found.between_error[0]), mpf(found.shift)
        if not error < 1.0:
            continue
        inner = _cell(truth, mpf(low) + shift, mpf(high) - shift, included=shift == 0)
        outer = _cell(truth, mpf(low) - shift, mpf(high) + shift, included=True, whole=shift > 0)
        for k, name in enumerate("pq"):
            mass = mpf(float((found.between_p, found.between_q)[k][0]))
            least, most = mass * (1 - mpf(error)) - FAINT, mass * (1 + mpf(error)) + FAINT
            if inner[k] > most or outer[k] < least:
                yield (
                    f"between_{name} of {low!r} .. {high!r}: {_text(mass)} to {error!r}, and the"
                    f" truth is {_text(inner[k])} .. {_text(outer[k])}"
                )


def _cell(
    truth: Truth, low: Any, high: Any, *, included: bool, whole: bool = False
) -> tuple[Any, Any]:
    """Return the masses of low < L <= high, or < high, or with the left end too."""
    if not low < high:
        return mpf(0), mpf(0)
    up, down = truth.above(low, included=whole), truth.above(high, included=not included)
    left, right = truth.below(low, included=not whole), truth.below(high, included=included)
    # The difference of the smaller numbers keeps more digits.
    use = up[0] < right[0], up[1] < right[1]
    return tuple(up[k] - down[k] if use[k] else right[k] - left[k] for k in range(2))  # type: ignore[return-value]


def tails_add_up(subject: Subject) -> Iterator[str]:
    """Check that everything sums to 1, and that tails fall and rise."""
    law = subject.law
    lost, below = mpf(law.infinity_mass), mpf(law.lower_infinity_mass)
    lost_error = lost * mpf(law.infinity_mass_error)
    below_error = below * (mpf(law.infinity_mass_error) + LOWER_UNITS * UNIT)
    rows = [(loss, row(law, loss)) for loss in thresholds(law)]
    for loss, seen in rows:
        sums = (
            (seen.above_p, seen.below_p, lost, lost_error),
            (seen.above_q, seen.below_q, below, below_error),
        )
        for name, (up, down, rest, error) in zip("PQ", sums, strict=True):
            off = abs(up + down + rest - 1)
            if subject.own and off > (up + down) * seen.error + error + FAINT:
                yield f"the masses of {name} about {loss!r} miss 1 by {_text(off)}"
    for (one, before), (other, after) in pairwise(rows):
        if mpf(one) + before.shift >= mpf(other) - after.shift:
            continue
        for name in ("above_p", "above_q"):
            if after.least(name) > before.most(name):
                yield f"{name} rises from {one!r} to {other!r}"
        for name in ("below_p", "below_q"):
            if before.least(name) > after.most(name):
                yield f"{name} falls from {one!r} to {other!r}"


def masses_and_losses(subject: Subject) -> Iterator[str]:
    """Check that P-masses are e^l times Q-masses, cell by cell."""
    law = subject.law
    rows = [(loss, row(law, loss)) for loss in thresholds(law)]
    for (low, before), (high, after) in pairwise(rows):
        p, q = (_difference(before, after, name) for name in "pq")
        left, right = mp.exp(mpf(low) - before.shift), mp.exp(mpf(high) + after.shift)
        if left * q[0] > p[1] + FAINT * (1 + left):
            yield f"P is below e^{low!r} Q on {low!r} .. {high!r}: {_text(p[1])}, {_text(q[0])}"
        if p[0] > right * (q[1] + FAINT):
            yield f"P is above e^{high!r} Q on {low!r} .. {high!r}: {_text(p[0])}, {_text(q[1])}"
        found = law.tails(np.array([low, high]))
        if found.between_p is None or found.between_q is None or found.between_error is None:
            continue
        error = mpf(float(found.between_error[0]))
        if not error < 1:
            continue
        wide = mp.exp(mpf(low) - found.shift), mp.exp(mpf(high) + found.shift)
        masses = [mpf(float(x[0])) for x in (found.between_p, found.between_q)]
        if wide[0] * masses[1] * (1 - error) > (masses[0] + FAINT) * (1 + error):
            yield f"between_p is below e^{low!r} between_q on {low!r} .. {high!r}"
        if masses[0] * (1 - error) > wide[1] * (masses[1] + FAINT) * (1 + error):
            yield f"between_p is above e^{high!r} between_q on {low!r} .. {high!r}"
        for mass, (least, most), name in zip(masses, (p, q), "pq", strict=True):
            if found.shift == 0 and (
                mass * (1 - error) > most + FAINT or (mass + FAINT) * (1 + error) < least
            ):
                yield f"between_{name} of {low!r} .. {high!r} is no difference of tails"


def _difference(before: Row, after: Row, name: str) -> tuple[Any, Any]:
    """Bound the mass between two losses by the tails above and below."""
    above, below = f"above_{name}", f"below_{name}"
    least = max(before.least(above) - after.most(above), after.least(below) - before.most(below))
    most = min(before.most(above) - after.least(above), after.most(below) - before.least(below))
    return max(mpf(0), least), most


def opposite_direction(subject: Subject) -> Iterator[str]:
    """Check that the other order has P and Q exchanged and all losses turned round."""
    law, other = subject.law, subject.opposite
    if other is None or not subject.own:
        return
    for loss in thresholds(law):
        seen, mirrored = row(law, loss), row(other, -loss)
        gap = float(2 * (seen.shift + mirrored.shift) + mpf(2) ** -1000)
        near = row(other, math.nextafter(-loss - gap, -math.inf))
        far = row(other, math.nextafter(-loss + gap, math.inf))
        for mine, theirs in (("above_p", "below_q"), ("above_q", "below_p")):
            if near.least(theirs) > seen.most(mine) or far.most(theirs) < seen.least(mine):
                yield f"{mine} at {loss!r} is not {theirs} of the other order"
    mass, mirrored_mass = mpf(law.lower_infinity_mass), mpf(other.infinity_mass)
    error = LOWER_UNITS * UNIT + law.infinity_mass_error + other.infinity_mass_error
    if abs(mass - mirrored_mass) > mirrored_mass * error + FAINT:
        yield f"Q(L = -inf) is {law.lower_infinity_mass!r}, P(L = inf) {other.infinity_mass!r}"


# --- profiles --------------------------------------------------------------------------------


def finite_delta(law: LossLaw, epsilon: float) -> tuple[Any, Any]:
    """Bound the finite part of delta by the tails.

    delta is the largest P(S) - e^eps Q(S): at least that of the displaced set, and at most
    that and the displacement times the mass.
    """
    seen = row(law, epsilon)
    a = mp.exp(mpf(epsilon))
    low = seen.least("above_p") - a * seen.most("above_q")
    high = seen.most("above_p") - a * seen.least("above_q")
    return max(mpf(0), low), max(mpf(0), high) + seen.shift


def profile_and_tails(subject: Subject) -> Iterator[str]:
    """Check that a profile is that of the tails, falls, and is convex in e^epsilon."""
    law = subject.law
    rows = []
    for epsilon in epsilons(law):
        low, high = finite_delta(law, epsilon)
        found = law.profile(epsilon)
        if found is not None:
            if found[0] > high or found[1] < low - FAINT:
                yield f"profile at {epsilon!r}: {found}, and tails {_text(low)} .. {_text(high)}"
            low, high = max(low, mpf(found[0])), min(high, mpf(found[1]))
        rows.append((mp.exp(mpf(epsilon)), low, high))
    for before, after in pairwise(rows):
        if after[1] > before[2] + FAINT:
            yield f"delta rises to {_text(after[0])}"
    for (a, _, one), (b, low, _), (c, _, other) in zip(rows, rows[1:], rows[2:], strict=False):
        if low > (one * (c - b) + other * (b - a)) / (c - a) + FAINT:
            yield f"delta is not convex at {_text(b)}"


def profile_and_truth(subject: Subject) -> Iterator[str]:
    """Check the profile; of what is an upper bound only that it is one."""
    law, truth = subject.law, subject.truth
    if truth is None:
        return
    for epsilon in epsilons(law):
        true = max(mpf(0), truth.profile(mpf(epsilon)))
        found = law.profile(epsilon)
        if subject.own:
            if found is not None and not mpf(found[0]) <= true <= mpf(found[1]) + FAINT:
                yield f"profile at {epsilon!r}: {found}, and the truth is {_text(true)}"
            low, high = finite_delta(law, epsilon)
            if not low - FAINT <= true <= high + FAINT:
                yield f"tails at {epsilon!r}: {_text(low)} .. {_text(high)}, truth {_text(true)}"
            continue
        whole = true + truth.infinity_mass
        if whole > _whole_delta(law, epsilon)[1] + FAINT:
            yield f"the upper bound at {epsilon!r} is below {_text(whole)}"
        if subject.lower is not None and _whole_delta(subject.lower, epsilon)[0] > whole + FAINT:
            yield f"the lower bound at {epsilon!r} is above {_text(whole)}"


def _whole_delta(law: LossLaw, epsilon: float) -> tuple[Any, Any]:
    """Bound delta by profile or tails, mass at infinity and all."""
    found = law.profile(epsilon)
    low, high = finite_delta(law, epsilon)
    if found is not None:
        low, high = max(low, mpf(found[0])), min(high, mpf(found[1]))
    mass, error = mpf(law.infinity_mass), mpf(law.infinity_mass_error)
    return low + mass * (1 - error), high + mass * (1 + error)


def bounds_in_order(subject: Subject) -> Iterator[str]:
    """Check that a law for lower ends has no larger profile than the one for upper ends."""
    if subject.lower is None:
        return
    for epsilon in sorted({*epsilons(subject.law), *epsilons(subject.lower)}):
        low, _ = _whole_delta(subject.lower, epsilon)
        _, high = _whole_delta(subject.law, epsilon)
        if low > high + FAINT:
            yield f"at {epsilon!r} the lower law has {_text(low)}, the upper one {_text(high)}"


# --- cumulants -------------------------------------------------------------------------------


# Farther out the oscillation is too fast for the quadrature of the truth.
FARTHEST = 8.0


def contours(subject: Subject) -> Iterator[tuple[float, Any, Any]]:
    """Yield abscissas and contours where there are any, with a few nodes."""
    law, truth = subject.law, subject.truth
    smooth = truth is not None and truth.density is not None and truth.closed is None
    if law.max_loss == -math.inf:
        return
    for c in ABSCISSAS:
        try:
            log_mgf, _, variance = law.cumulants(c)
            if not (math.isfinite(log_mgf) and log_mgf < 300.0 and variance > 0.0):
                continue
            t_max = few_bits(min(6.0 / math.sqrt(variance), FARTHEST if smooth else 1e6))
            contour = law.on_contour(c, t_max, LOG_ERROR)
        except NotCertifiedError:
            continue
        yield c, contour, np.array([0.0, t_max / 16.0, t_max / 4.0, t_max])


def dropped(subject: Subject, c: float) -> Any:
    """Bound what a law leaves out of M(c), by Cauchy and Schwarz."""
    law, truth = subject.law, subject.truth
    if law.log_dropped_mass == -math.inf or truth is None:
        return mpf(0)
    return mp.sqrt(truth.moment(mpf(2 * c)) * mp.exp(mpf(law.log_dropped_mass)))


def contour_and_truth(subject: Subject) -> Iterator[str]:
    """Check K(c + it), and what is said of |phi| beyond t."""
    law, truth = subject.law, subject.exact
    if truth is None:
        return
    for c, contour, t in contours(subject):
        values, errors = contour.log_mgf(t)
        whole = mp.re(truth.moment(mpf(c)))
        for node, value, error in zip(t, values, errors, strict=True):
            if not math.isfinite(error):
                continue
            true = truth.moment(mpc(c, float(node)))
            share = dropped(subject, c) / abs(true)
            if share > mpf("1e-6"):
                continue
            gap = mpc(complex(value)) - mp.log(true)
            turns = mp.nint(mp.im(gap) / (2 * mp.pi))
            gap -= mpc(0, 1) * 2 * mp.pi * turns
            if abs(gap) > mpf(float(error)) + 2 * share:
                yield f"K({c!r} + {float(node)!r}i): off by {_text(abs(gap))}, stated {error!r}"
        for node in t[2:]:
            bound = mpf(contour.modulus_supremum(float(node)))
            if bound >= 1:
                continue
            for factor in (1.0, 1.3, 2.9):
                seen = abs(truth.moment(mpc(c, float(node) * factor))) / whole
                if seen > bound + 2 * dropped(subject, c) / whole:
                    yield f"|phi| at {float(node) * factor!r} above its bound from {node!r} on"


def renyi_and_truth(subject: Subject) -> Iterator[str]:
    """Check both bounds on K at real orders."""
    law, truth = subject.law, subject.exact
    if truth is None:
        return
    lower, upper = law.renyi(np.array(ORDERS))
    for c, low, high in zip(ORDERS, lower, upper, strict=True):
        moment = mp.re(truth.moment(mpf(c)))
        if not moment > 0:
            continue
        true = mp.log(moment)
        if not (mpf(float(low)) <= true <= mpf(float(high))):
            yield f"K({c!r}) in {float(low)!r} .. {float(high)!r}, and the truth is {_text(true)}"


def renyi_and_tails(subject: Subject) -> Iterator[str]:
    """Check K against the sum over cells of losses: mass times e^{cl} at either end."""
    law = subject.law
    if law.max_loss == -math.inf:
        return
    lower, upper = law.renyi(np.array(ORDERS))
    bounds = _partition(law)
    for k, c in enumerate(ORDERS):
        least = mp.fsum(p[0] * mp.exp(c * low) for p, low, _ in bounds if low > -mp.inf)
        most = mp.fsum(p[1] * mp.exp(c * high) for p, _, high in bounds)
        if mpf(float(lower[k])) > mp.log(most):
            yield f"K({c!r}) >= {float(lower[k])!r}, and by tails at most {_text(mp.log(most))}"
        if least > 0 and mpf(float(upper[k])) < mp.log(least):
            yield f"K({c!r}) <= {float(upper[k])!r}, and by tails at least {_text(mp.log(least))}"


CELLS = 120


@_remembered
def _partition(law: LossLaw) -> list[tuple[tuple[Any, Any], Any, Any]]:
    """Return cells of losses with bounds on their P-masses."""
    inner = thresholds(law)
    low, high = min(inner), max(inner)
    points = sorted({*inner, *(float(x) for x in np.linspace(low, high, CELLS))})
    rows = [row(law, loss) for loss in points]
    first, last = rows[0], rows[-1]
    cells = [((first.least("below_p"), first.most("below_p")), mpf("-inf"), mpf(low) + first.shift)]
    for (a, before), (b, after) in pairwise(zip(points, rows, strict=True)):
        p = _difference(before, after, "p")
        cells.append((p, mpf(a) - before.shift, mpf(b) + after.shift))
    top = mpf(law.max_loss) * (1 + mpf(law.max_loss_error)) if law.max_loss < math.inf else mp.inf
    rest = last.least("above_p"), last.most("above_p")
    cells.append(
        (rest, mpf(high) - last.shift, max(top, mpf(high)) if rest[1] > FAINT else mpf(high))
    )
    return cells


def renyi_and_contour(subject: Subject) -> Iterator[str]:
    """Check that K on the contour at t = 0 is where the real bounds have it."""
    law = subject.law
    for c, contour, t in contours(subject):
        values, errors = contour.log_mgf(t[:1])
        lower, upper = law.renyi(np.array([c]))
        value, error = mpf(float(values[0].real)), mpf(float(errors[0]))
        lost = mpf(0)
        if law.log_dropped_mass > -math.inf:
            twice = float(law.renyi(np.array([2 * c]))[1][0])
            lost = 2 * mp.exp(mpf(twice) / 2 + mpf(law.log_dropped_mass) / 2)
        if not mp.isfinite(error):
            continue
        if value + error + lost < mpf(float(lower[0])) or value - error > mpf(float(upper[0])):
            yield f"K({c!r}) = {_text(value)} and bounds {float(lower[0])!r}, {float(upper[0])!r}"
        estimate = law.cumulants(c)[0]
        if abs(mpf(estimate) - value) > error + 1e-7 * (1 + abs(value)):
            yield f"K({c!r}) = {_text(value)} and the estimate {estimate!r}"


def renyi_is_convex(subject: Subject) -> Iterator[str]:
    """Check that K is convex and that divergences grow with the order."""
    orders = np.array(ORDERS)
    lower, upper = ([mpf(float(x)) for x in end] for end in subject.law.renyi(orders))
    for k in range(len(ORDERS) - 1):
        if lower[k] > upper[k]:
            yield f"K({ORDERS[k]!r}) has bounds in the wrong order"
        if lower[k] / ORDERS[k] > upper[k + 1] / ORDERS[k + 1]:
            yield f"the divergence falls after order {ORDERS[k] + 1!r}"
    for a, b, c in zip(
        range(len(ORDERS)), range(1, len(ORDERS)), range(2, len(ORDERS)), strict=False
    ):
        width = mpf(ORDERS[c]) - ORDERS[a]
        chord = (upper[a] * (ORDERS[c] - ORDERS[b]) + upper[c] * (ORDERS[b] - ORDERS[a])) / width
        if lower[b] > chord:
            yield f"K is not convex at {ORDERS[b]!r}"


def order_limits(subject: Subject) -> Iterator[str]:
    """Check what a law says of D_a / a at all orders, and of the Gaussian that covers it."""
    law = subject.law
    c = np.array(ORDERS)
    lower, _ = law.renyi(c)
    concentration = getattr(law, "concentration", None)
    limits = [math.inf] * len(c) if concentration is None else concentration(c)
    _, mu = getattr(law, "gaussian_range", (0.0, math.inf))
    for order, low, limit in zip(ORDERS, lower, limits, strict=True):
        if not low > 0.0:
            continue
        share = mpf(float(low)) / (mpf(order) * (order + 1))
        if share > mpf(float(limit)):
            yield f"D_a / a is {_text(share)} at order {order + 1!r}, and {limit!r} at most"
        if share > mpf(mu) ** 2 / 2:
            yield f"{mu!r}-GDP has no divergence as large as at order {order + 1!r}"


# --- ends and the rest -----------------------------------------------------------------------


def largest_loss(subject: Subject) -> Iterator[str]:
    """Check the supremum of the finite losses: beyond it nothing, just below it something."""
    law, truth = subject.law, subject.exact
    top, error = law.max_loss, law.max_loss_error
    if truth is not None:
        true = truth.max_loss
        if truth.unbounded or not (mp.isfinite(true) and math.isfinite(top)):
            if mpf(top) != (mp.inf if truth.unbounded else true):
                yield f"max_loss is {top!r}, and the truth is {_text(true)}"
        elif abs(mpf(top) - true) > mpf(error) * abs(mpf(top)):
            yield f"max_loss is {top!r} to {error!r}, and the truth is {_text(true)}"
    if not abs(top) < 690.0:
        return
    slack = error * abs(top)
    start = math.nextafter(top + slack, math.inf)
    beyond = math.nextafter(start + 2.0 * float(row(law, start).shift), math.inf)
    seen = row(law, beyond)
    if seen.above_p > FAINT or seen.above_q > FAINT:
        yield f"there is mass above {beyond!r}, and max_loss is {top!r}"
    if beyond >= 0.0:
        found = law.profile(beyond)
        if found is not None and found[0] > 0.0:
            yield f"the profile at {beyond!r} is at least {found[0]!r}, and max_loss is {top!r}"
    before = top - slack - float(row(law, top).shift) * 2.0 - abs(top) * 1e-3
    if subject.own and before < top and not row(law, before).above_p > 0:
        yield f"there is no mass above {before!r}, and max_loss is {top!r}"


def infinite_masses(subject: Subject) -> Iterator[str]:
    """Check P(L = inf) and Q(L = -inf)."""
    law, truth = subject.law, subject.exact
    if truth is None:
        return
    pairs = (
        ("P(L = inf)", law.infinity_mass, truth.infinity_mass, law.infinity_mass_error),
        (
            "Q(L = -inf)",
            law.lower_infinity_mass,
            truth.lower_infinity_mass,
            law.infinity_mass_error + LOWER_UNITS * UNIT,
        ),
    )
    for name, mass, true, error in pairs:
        if abs(mpf(mass) - true) > mpf(error) * mpf(mass) + FAINT:
            yield f"{name} is {mass!r} to {error!r}, and the truth is {_text(true)}"


def anchors_and_lattice(subject: Subject) -> Iterator[str]:
    """Check that anchors are losses in order, and that a lattice holds all losses."""
    law, truth = subject.law, subject.exact
    anchors = law.anchors
    if len(anchors) > 64 or not all(a < b for a, b in pairwise(anchors)):
        yield f"{len(anchors)} anchors, or not in order"
    if not all(math.isfinite(x) for x in anchors):
        yield "an anchor is infinite"
    if truth is not None and anchors and len(truth.atoms) <= 64:
        for loss, p, q in truth.atoms:
            gap = min(abs(mpf(x) - loss) for x in anchors)
            if min(p, q) > 1e-6 and gap > 1e-9 * abs(loss) + mpf("1e-40"):
                yield f"no anchor at the atom {_text(loss)}"
    if law.lattice is None:
        return
    origin, step = (mpf(x.numerator) / x.denominator for x in law.lattice)
    for loss, _, _ in truth.atoms if truth is not None else ():
        place = (loss - origin) / step
        if abs(place - mp.nint(place)) > mpf("1e-40"):
            yield f"the loss {_text(loss)} is not on the lattice"
    for loss in thresholds(law):
        place = origin + step * mp.floor((mpf(loss) - origin) / step)
        left, right = (row(law, float(place + step * share)) for share in (0.25, 0.75))
        if _difference(left, right, "p")[0] > 0:
            yield f"mass between two points of the lattice next to {loss!r}"


def truncation(subject: Subject) -> Iterator[str]:
    """Check that a truncated law leaves out no more than it says."""
    law, truth = subject.law, subject.exact
    if truth is None:
        return
    for log_mass in (-5.0, -60.0):
        cut = law.truncated(log_mass)
        if cut.log_dropped_mass > log_mass + 1e-6:
            yield f"truncated({log_mass!r}) drops e^{cut.log_dropped_mass!r}"
        if cut.log_dropped_mass == -math.inf:
            continue
        c = 2.0**-12
        try:
            values, errors = cut.on_contour(c, 1.0, -80.0).log_mgf(np.zeros(1))
        except NotCertifiedError:
            continue
        # By Hoelder's inequality with a large exponent.
        power = mpf(2) ** 12
        most = mp.re(truth.moment(mpf(c) * power)) ** (1 / power)
        most *= mp.exp(mpf(cut.log_dropped_mass) * (1 - 1 / power))
        missing = truth.moment(mpf(c)) - mp.exp(mpf(float(values[0].real)))
        slack = 2 * mpf(float(errors[0]))
        if not -slack <= missing <= most + slack:
            yield f"truncated({log_mass!r}) misses {_text(missing)}, and says e^{log_mass!r}"


def ratio_of_densities(subject: Subject) -> Iterator[str]:
    """Check that log_ratio is the law of -L, under P and under Q."""
    law = subject.law
    ratio = law.log_ratio()
    if ratio is None:
        return
    totals = []
    for tilt, alone in ((0, ratio.without_only), (1, ratio.with_only)):
        atoms = mp.fsum(mpf(atom[1 + tilt]) for atom in ratio.atoms)
        smooth = mp.fsum(_piece_mass(piece, tilt, mp.inf) for piece in ratio.pieces)
        totals.append(atoms + smooth + mpf(alone))
    if max(abs(total - 1) for total in totals) > RATIO_TOLERANCE:
        yield f"log_ratio has the masses {_text(totals[0])} and {_text(totals[1])}"
    for loss in thresholds(law):
        seen = row(law, loss)
        x = -mpf(loss)
        for tilt, name in enumerate(("above_p", "above_q")):
            smooth = mp.fsum(_piece_mass(piece, tilt, x) for piece in ratio.pieces)
            at = [
                mp.fsum(mpf(a[1 + tilt]) for a in ratio.atoms if _before(a[0], x, k, seen))
                for k in (0, 1)
            ]
            low, high = at[0] + smooth, at[1] + smooth
            tolerance = RATIO_TOLERANCE * (1 + abs(x))
            if low > seen.most(name) + tolerance or high < seen.least(name) - tolerance:
                yield f"log_ratio has another {name} at {loss!r}"


def _before(place: float, x: Any, loose: int, seen: Row) -> bool:
    """Say whether an atom of X is certainly, or possibly, below x."""
    gap = seen.shift + RATIO_TOLERANCE * abs(x)
    return mpf(place) <= x + gap if loose else mpf(place) < x - gap


def _piece_mass(piece: Any, tilt: int, x: Any) -> Any:
    """Integrate e^{tilt x} times a density piece up to x."""
    high = min(mpf(piece.high), x)
    slope, bend = mpf(piece.slope) + tilt, mpf(piece.curvature)
    if bend:
        mean, sd = slope / bend, 1 / mp.sqrt(bend)
        size = mp.exp(mpf(piece.constant) + slope * mean / 2) * sd * mp.sqrt(2 * mp.pi)
        return size * mp.ncdf((high - mean) / sd)
    low = mpf(piece.low)
    if high <= low:
        return mpf(0)
    size = mp.exp(mpf(piece.constant) + slope * low)
    return size * (mp.expm1(slope * (high - low)) / slope if slope else high - low)


CLAUSES: tuple[Callable[[Subject], Iterator[str]], ...] = (
    tails_and_truth,
    cells_and_truth,
    tails_add_up,
    masses_and_losses,
    opposite_direction,
    profile_and_tails,
    profile_and_truth,
    bounds_in_order,
    contour_and_truth,
    renyi_and_truth,
    renyi_and_tails,
    renyi_and_contour,
    renyi_is_convex,
    order_limits,
    largest_loss,
    infinite_masses,
    anchors_and_lattice,
    truncation,
    ratio_of_densities,
)


def without_truth(subject: Subject) -> Subject:
    """Leave only what a law says of itself."""
    return replace(subject, truth=None)


def curve_breaches(curve: RenyiCurve) -> list[str]:
    """Return what is wrong with a Renyi curve that stands for a law."""
    c = np.array(ORDERS)
    upper, lower = curve.upper(c), curve.lower(c)
    found = []
    limit = curve.limit
    with np.errstate(all="ignore"):
        rates = upper / c
    for k in range(len(c) - 1):
        if curve.convex and rates[k] > rates[k + 1] * (1.0 + 1e-12):
            found.append(f"the divergence falls after order {c[k] + 1!r}")
    for k, order in enumerate(ORDERS):
        if lower is not None and lower[k] > upper[k]:
            found.append(f"bounds in the wrong order at {order + 1!r}")
        if lower is not None and lower[k] > order * limit:
            found.append(f"the divergence at {order + 1!r} is above its limit")
        xi, rho = curve.line(c[k : k + 1])
        if lower is not None and lower[k] / order > xi + float(rho[0]) * (order + 1.0):
            found.append(f"the divergence at {order + 1!r} is above the line that covers it")
    return found


def breaches(
    subject: Subject, clauses: tuple[Callable[[Subject], Iterator[str]], ...] = CLAUSES
) -> list[str]:
    """Return every breach of the contract, with the name of the clause."""
    _seen.clear()
    with mp.workdps(DIGITS), np.errstate(all="ignore"):
        return [f"{clause.__name__}: {line}" for clause in clauses for line in clause(subject)]
