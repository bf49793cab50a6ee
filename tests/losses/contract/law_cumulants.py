"""Clauses on K: on contours and at real orders, against the truth, the tails and each other."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import mp, mpc, mpf

from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import few_bits
from tests.losses.contract.law_densities import DIGITS
from tests.losses.contract.law_views import (
    FAINT,
    ORDERS,
    Subject,
    difference,
    remembered,
    row,
    shown,
    thresholds,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.losses.law import LossLaw

ABSCISSAS = (0.0625, 9.0)
LOG_ERROR = -46.0
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
            bound = mpf(contour.modulus_supremum(float(node)))
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
    law = subject.law
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
