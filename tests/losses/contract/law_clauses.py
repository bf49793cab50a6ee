"""Clauses of the contract of laws: tails, profiles, ends and cumulants against the truth."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from mpmath import mp, mpc, mpf

from privcalc.errors import NotCertifiedError
from privcalc.losses.law import LineLaw
from privcalc.numerics.rounding import UNIT, few_bits
from tests.losses.contract.law_densities import DIGITS
from tests.losses.contract.law_views import (
    FAINT,
    LOWER_UNITS,
    ORDERS,
    Row,
    Subject,
    difference,
    epsilons,
    finite_delta,
    remembered,
    row,
    shown,
    thresholds,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.losses.law import LossLaw
    from tests.losses.contract.law_truth import Truth


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
                    f"{name} at {loss!r}: {shown(getattr(seen, name))} to {shown(seen.error)}, and"
                    f" the truth is {shown(low)} .. {shown(high)}"
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
                    f"between_{name} of {low!r} .. {high!r}: {shown(mass)} to {error!r}, and the"
                    f" truth is {shown(inner[k])} .. {shown(outer[k])}"
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
    return tuple(up[k] - down[k] if use[k] else right[k] - left[k] for k in range(2))


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
                yield f"the masses of {name} about {loss!r} miss 1 by {shown(off)}"
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
        p, q = (difference(before, after, name) for name in "pq")
        left, right = mp.exp(mpf(low) - before.shift), mp.exp(mpf(high) + after.shift)
        if left * q[0] > p[1] + FAINT * (1 + left):
            yield f"P is below e^{low!r} Q on {low!r} .. {high!r}: {shown(p[1])}, {shown(q[0])}"
        if p[0] > right * (q[1] + FAINT):
            yield f"P is above e^{high!r} Q on {low!r} .. {high!r}: {shown(p[0])}, {shown(q[1])}"
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


def profile_and_tails(subject: Subject) -> Iterator[str]:
    """Check that a profile is that of the tails, falls, and is convex in e^epsilon."""
    law = subject.law
    rows = []
    for epsilon in epsilons(law):
        low, high = finite_delta(law, epsilon)
        # What says more of one use than the law does is below its tails.
        found = None if law.properties.exact_profile else law.profile(epsilon)
        if found is not None:
            if found[0] > high or found[1] < low - FAINT:
                yield f"profile at {epsilon!r}: {found}, and tails {shown(low)} .. {shown(high)}"
            low, high = max(low, mpf(found[0])), min(high, mpf(found[1]))
        rows.append((mp.exp(mpf(epsilon)), low, high))
    for before, after in pairwise(rows):
        if after[1] > before[2] + FAINT:
            yield f"delta rises to {shown(after[0])}"
    for (a, _, one), (b, low, _), (c, _, other) in zip(rows, rows[1:], rows[2:], strict=False):
        if low > (one * (c - b) + other * (b - a)) / (c - a) + FAINT:
            yield f"delta is not convex at {shown(b)}"


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
                yield f"profile at {epsilon!r}: {found}, and the truth is {shown(true)}"
            low, high = finite_delta(law, epsilon)
            if not low - FAINT <= true <= high + FAINT:
                yield f"tails at {epsilon!r}: {shown(low)} .. {shown(high)}, truth {shown(true)}"
            continue
        whole = true + truth.infinity_mass
        if whole > _whole_delta(law, epsilon)[1] + FAINT:
            yield f"the upper bound at {epsilon!r} is below {shown(whole)}"
        if subject.lower is not None and _whole_delta(subject.lower, epsilon)[0] > whole + FAINT:
            yield f"the lower bound at {epsilon!r} is above {shown(whole)}"


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
            yield f"at {epsilon!r} the lower law has {shown(low)}, the upper one {shown(high)}"


def largest_loss(subject: Subject) -> Iterator[str]:
    """Check the supremum of the finite losses: beyond it nothing, just below it something."""
    law, truth = subject.law, subject.exact
    top, error = law.max_loss, law.max_loss_error
    if truth is not None:
        true = truth.max_loss
        if truth.unbounded or not (mp.isfinite(true) and math.isfinite(top)):
            if mpf(top) != (mp.inf if truth.unbounded else true):
                yield f"max_loss is {top!r}, and the truth is {shown(true)}"
        elif abs(mpf(top) - true) > mpf(error) * abs(mpf(top)) + ROOM:
            yield f"max_loss is {top!r} to {error!r}, and the truth is {shown(true)}"
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
    # What is that near a largest loss may be too faint for doubles, unless it is an atom.
    known = top in law.atom_locations if truth is None else truth.above(mpf(before))[0] > FAINT
    if subject.own and before < top and known and not row(law, before).above_p > 0:
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
            yield f"{name} is {mass!r} to {error!r}, and the truth is {shown(true)}"


def anchors_and_lattice(subject: Subject) -> Iterator[str]:
    """Check that anchors are losses in order, and that a lattice holds all losses."""
    law, truth = subject.law, subject.exact
    anchors = law.atom_locations
    if len(anchors) > 64 or not all(a < b for a, b in pairwise(anchors)):
        yield f"{len(anchors)} anchors, or not in order"
    if not all(math.isfinite(x) for x in anchors):
        yield "an anchor is infinite"
    if truth is not None and anchors and len(truth.atoms) <= 64:
        for loss, p, q in truth.atoms:
            gap = min(abs(mpf(x) - loss) for x in anchors)
            if min(p, q) > 1e-6 and gap > 1e-9 * abs(loss) + mpf("1e-15"):
                yield f"no anchor at the atom {shown(loss)}"
    if law.lattice is None:
        return
    origin, step = (mpf(x.numerator) / x.denominator for x in law.lattice)
    for loss, _, _ in truth.atoms if truth is not None else ():
        place = (loss - origin) / step
        if abs(place - mp.nint(place)) > mpf("1e-40"):
            yield f"the loss {shown(loss)} is not on the lattice"
    for loss in thresholds(law):
        place = origin + step * mp.floor((mpf(loss) - origin) / step)
        left, right = (row(law, float(place + step * share)) for share in (0.25, 0.75))
        if difference(left, right, "p")[0] > 0:
            yield f"mass between two points of the lattice next to {loss!r}"


def truncation(subject: Subject) -> Iterator[str]:
    """Check that a truncated law leaves out no more than it says."""
    law, truth = subject.law, subject.exact
    if truth is None or not isinstance(law, LineLaw):
        return
    for log_mass in (-5.0, -60.0):
        cut = law.truncated(log_mass)
        if cut.log_truncated_mass > log_mass + 1e-6:
            yield f"truncated({log_mass!r}) drops e^{cut.log_truncated_mass!r}"
        if cut.log_truncated_mass == -math.inf:
            continue
        c = 2.0**-12
        try:
            values, errors = cut.on_contour(c, 1.0, -80.0).log_mgf(np.zeros(1))
        except NotCertifiedError:
            continue
        # By Hoelder's inequality with a large exponent.
        power = mpf(2) ** 12
        most = mp.re(truth.moment(mpf(c) * power)) ** (1 / power)
        most *= mp.exp(mpf(cut.log_truncated_mass) * (1 - 1 / power))
        missing = truth.moment(mpf(c)) - mp.exp(mpf(float(values[0].real)))
        if mp.isnan(most) or mp.isnan(missing):
            continue
        slack = 2 * mpf(float(errors[0]))
        if not -slack <= missing <= most + slack:
            yield f"truncated({log_mass!r}) misses {shown(missing)}, and says e^{log_mass!r}"


ABSCISSAS = (0.0625, 9.0)
LOG_ERROR = -46.0
# Farther out the oscillation is too fast for the quadrature of the truth.
FARTHEST = 8.0


def contours(subject: Subject) -> Iterator[tuple[float, Any, Any]]:
    """Yield abscissas and contours where there are any, with a few nodes."""
    law, truth = subject.law, subject.truth
    smooth = truth is not None and truth.density is not None and truth.closed is None
    if law.max_loss == -math.inf or not isinstance(law, LineLaw):
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
    law, truth = cast("LineLaw", subject.law), subject.truth
    if law.log_truncated_mass == -math.inf or truth is None:
        return mpf(0)
    return mp.sqrt(truth.moment(mpf(2 * c)) * mp.exp(mpf(law.log_truncated_mass)))


def contour_and_truth(subject: Subject) -> Iterator[str]:
    """Check K(c + it), and what is said of |phi| beyond t."""
    truth = subject.exact
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
                yield f"K({c!r} + {float(node)!r}i): off by {shown(abs(gap))}, stated {error!r}"
        for node in t[2:]:
            bound = mpf(math.exp(contour.log_decay(float(node))))
            if bound >= 1:
                continue
            for factor in (1.0, 1.3, 2.9):
                seen = abs(truth.moment(mpc(c, float(node) * factor))) / whole
                if seen > bound + 2 * dropped(subject, c) / whole:
                    yield f"|phi| at {float(node) * factor!r} above its bound from {node!r} on"


# Of the logarithm of a number near 1.
ROOM = mpf(10) ** (5 - DIGITS)


def renyi_and_truth(subject: Subject) -> Iterator[str]:
    """Check both bounds on K at real orders; the truth has DIGITS digits of M, which is near 1."""
    law, truth = subject.law, subject.exact
    if truth is None:
        return
    lower, upper = law.renyi(np.array(ORDERS))
    for c, low, high in zip(ORDERS, lower, upper, strict=True):
        moment = mp.re(truth.moment(mpf(c)))
        if not moment > 0:
            continue
        true = mp.log(moment)
        if not (mpf(float(low)) - ROOM <= true <= mpf(float(high)) + ROOM):
            yield f"K({c!r}) in {float(low)!r} .. {float(high)!r}, truth {shown(true)}"


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
            yield f"K({c!r}) >= {float(lower[k])!r}, and by tails at most {shown(mp.log(most))}"
        if least > 0 and mpf(float(upper[k])) < mp.log(least):
            yield f"K({c!r}) <= {float(upper[k])!r}, and by tails at least {shown(mp.log(least))}"


CELLS = 60


@remembered
def _partition(law: LossLaw) -> list[tuple[tuple[Any, Any], Any, Any]]:
    """Return cells of losses with bounds on their P-masses."""
    inner = thresholds(law)
    low, high = min(inner), max(inner)
    points = sorted({*inner, *(float(x) for x in np.linspace(low, high, CELLS))})
    rows = [row(law, loss) for loss in points]
    first, last = rows[0], rows[-1]
    cells = [((first.least("below_p"), first.most("below_p")), mpf("-inf"), mpf(low) + first.shift)]
    for (a, before), (b, after) in pairwise(zip(points, rows, strict=True)):
        p = difference(before, after, "p")
        cells.append((p, mpf(a) - before.shift, mpf(b) + after.shift))
    top = mpf(law.max_loss) * (1 + mpf(law.max_loss_error)) if law.max_loss < math.inf else mp.inf
    rest = last.least("above_p"), last.most("above_p")
    cells.append(
        (rest, mpf(high) - last.shift, max(top, mpf(high)) if rest[1] > FAINT else mpf(high))
    )
    return cells


def renyi_and_contour(subject: Subject) -> Iterator[str]:
    """Check that K on the contour at t = 0 is where the real bounds have it."""
    law = cast("LineLaw", subject.law)
    for c, contour, t in contours(subject):
        values, errors = contour.log_mgf(t[:1])
        lower, upper = law.renyi(np.array([c]))
        value, error = mpf(float(values[0].real)), mpf(float(errors[0]))
        lost = mpf(0)
        if law.log_truncated_mass > -math.inf:
            twice = float(law.renyi(np.array([2 * c]))[1][0])
            lost = 2 * mp.exp(mpf(twice) / 2 + mpf(law.log_truncated_mass) / 2)
        if not mp.isfinite(error):
            continue
        if value + error + lost < mpf(float(lower[0])) or value - error > mpf(float(upper[0])):
            yield f"K({c!r}) = {shown(value)} and bounds {float(lower[0])!r}, {float(upper[0])!r}"
        estimate = law.cumulants(c)[0]
        if abs(mpf(estimate) - value) > error + 1e-7 * (1 + abs(value)):
            yield f"K({c!r}) = {shown(value)} and the estimate {estimate!r}"


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
            yield f"D_a / a is {shown(share)} at order {order + 1!r}, and {limit!r} at most"
        if share > mpf(mu) ** 2 / 2:
            yield f"{mu!r}-GDP has no divergence as large as at order {order + 1!r}"
