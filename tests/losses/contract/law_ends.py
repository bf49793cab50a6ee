"""Clauses on the ends of a law: largest loss, masses at infinity, atoms, truncation, ratios."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import mp, mpf

from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import UNIT
from tests.losses.contract.law_views import (
    FAINT,
    LOWER_UNITS,
    RATIO_TOLERANCE,
    Subject,
    difference,
    row,
    shown,
    thresholds,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def largest_loss(subject: Subject) -> Iterator[str]:
    """Check the supremum of the finite losses: beyond it nothing, just below it something."""
    law, truth = subject.law, subject.exact
    top, error = law.max_loss, law.max_loss_error
    if truth is not None:
        true = truth.max_loss
        if truth.unbounded or not (mp.isfinite(true) and math.isfinite(top)):
            if mpf(top) != (mp.inf if truth.unbounded else true):
                yield f"max_loss is {top!r}, and the truth is {shown(true)}"
        elif abs(mpf(top) - true) > mpf(error) * abs(mpf(top)):
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
            if min(p, q) > 1e-6 and gap > 1e-9 * abs(loss) + mpf("1e-40"):
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
    if truth is None:
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
    # A density is e to a polynomial, whose terms are rounded.
    size = max([abs(piece.constant) for piece in ratio.pieces], default=0.0)
    allowed = mpf(RATIO_TOLERANCE + 16.0 * UNIT * size)
    if max(abs(total - 1) for total in totals) > allowed:
        yield f"log_ratio has the masses {shown(totals[0])} and {shown(totals[1])}"
    # Sums of the masses of the first atoms, by their places.
    atoms = sorted(ratio.atoms)
    places = [mpf(atom[0]) for atom in atoms]
    sums = [list(accumulate((mpf(atom[k]) for atom in atoms), initial=mpf(0))) for k in (1, 2)]
    for loss in thresholds(law):
        seen = row(law, loss)
        x = -mpf(loss)
        # How many atoms are below x for certain, and possibly.
        gap = seen.shift + RATIO_TOLERANCE * abs(x)
        counts = bisect_left(places, x - gap), bisect_right(places, x + gap)
        for tilt, name in enumerate(("above_p", "above_q")):
            smooth = mp.fsum(_piece_mass(piece, tilt, x) for piece in ratio.pieces)
            low, high = (sums[tilt][count] + smooth for count in counts)
            tolerance = allowed * (1 + abs(x))
            if low > seen.most(name) + tolerance or high < seen.least(name) - tolerance:
                yield f"log_ratio has another {name} at {loss!r}"


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
