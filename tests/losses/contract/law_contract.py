"""The contract of privacy-loss laws: what each clause of `privcalc/losses/law.py` promises.

A clause compares two things that a law says, or one of them with the truth (`law_truth.py`),
and yields a line for each breach. All comparisons are in 50 digits, and no tolerance is added to
the errors that a law states; only masses below FAINT may be lost to underflow, as is documented.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from mpmath import mp

from tests.losses.contract.law_clauses import (
    anchors_and_lattice,
    bounds_in_order,
    cells_and_truth,
    contour_and_truth,
    infinite_masses,
    largest_loss,
    masses_and_losses,
    opposite_direction,
    order_limits,
    profile_and_tails,
    profile_and_truth,
    renyi_and_contour,
    renyi_and_tails,
    renyi_and_truth,
    renyi_is_convex,
    tails_add_up,
    tails_and_truth,
    truncation,
)
from tests.losses.contract.law_densities import DIGITS
from tests.losses.contract.law_views import ORDERS, Subject, asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from privcalc.losses.law import RenyiCurve

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
)


def curve_breaches(curve: RenyiCurve) -> list[str]:
    """Return what is wrong with a Renyi curve that stands for a law."""
    c = np.array(ORDERS)
    upper, lower = curve.upper(c), curve.lower(c)
    found = []
    limit = curve.limit
    with np.errstate(all="ignore"):
        rates = upper / c
    # A bound that no pair attains may be the nearer one at a larger order.
    loose = 1e-12 if lower is not None else 0.01
    if any(one > other * (1.0 + loose) for one, other in pairwise(rates)):
        found.append("the divergence falls with the order")
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
    asked.clear()
    with mp.workdps(DIGITS), np.errstate(all="ignore"):
        return [f"{clause.__name__}: {line}" for clause in clauses for line in clause(subject)]
