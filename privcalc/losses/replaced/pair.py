"""Poisson sampling where a record is replaced: the pair of two opposite records.

Fix a sample T of the other records, and let R, W and W' be the event's outputs on T, on T with the
record, and on T with the other record in its place. The coin of that place comes up with
probability q, so that the two outputs are (1 - q) R + q W and (1 - q) R + q W'. Let G(y) be the
largest W(A) over (randomised) sets of outcomes A with R(A) <= y, for the pair that dominates adding
a record. Then W(A) <= G(R(A)) and, by the complement of A, W'(A) >= 1 - G(1 - R(A)), hence for
every a >= 0

    H_a = sup_A P(A) - a Q(A) <= max_y (1 - q) (1 - a) y + q G(y) - a q (1 - G(1 - y)).

Nothing but these two inequalities ties W to W', and one triple attains both, for every y by the
same sets A = [0, y]: R uniform on [0, 1], W of density G'(y), which falls, and W' of density
G'(1 - y), which grows. So P = (1 - q) R + q W and Q = (1 - q) R + q W' of that triple, where the
likelihood ratio falls in y, have the right side as their profile, for all a. Averaging over T keeps
the bound (H_a is jointly convex). The pair dominates every step, hence adaptive compositions (Zhu,
Dong, Wang 2022, Theorem 10); it is symmetric.

In words: take the log-ratio X = log dW/dR in falling order of its R-quantiles, and X' = log dW'/dR
the other way round. Where noise of a symmetric density is added to a number, and a larger output
never has a smaller ratio X, that is W = R + 1 against W' = R - 1: two records that pull as far as
they may in opposite directions, which exist. (Lebeda, Regehr, Kamath, Steinke 2024 leave open
whether the opposite pair is the worst for Gaussian noise in several dimensions; the argument above
needs no dimension, since W and W' are bounded by their tests against R alone.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.errors import UnsupportedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.closed.gaussian import GaussianLaw
from privcalc.losses.closed.laplace import LaplaceLaw
from privcalc.losses.lattice.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.log_ratio import MOST_UNITS
from privcalc.losses.replaced.atoms import replaced_atoms
from privcalc.losses.replaced.gaussian import ReplacedGaussianLaw
from privcalc.losses.replaced.laplace import ReplacedLaplaceLaw
from privcalc.losses.replaced.lattice import ReplacedLatticeLaw
from privcalc.losses.sampled.law import sampled
from privcalc.losses.term import Term
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw


def replaced(
    event: LossLaw, reverse: LossLaw, q: float, *, exact: bool, opposite: bool
) -> LossLaw | Term:
    """Return the law of a Poisson-sampled event for replacing a record.

    A record that has no influence may be replaced, too: then (P, Q) is the pair for removing one,
    which a mechanism attains where no more is known.

    Noise of which the distance is less exact than the pair has room for is enclosed by that at the
    ends: the profile grows with G, and G with the distance.

    Args:
        event: the event's law for adding a record.
        reverse: its law for removing one.
        q: sampling probability, 0 <= q < 1.
        exact: whether q is exact, and not rounded (then at most 1/2).
        opposite: whether a mechanism that fits the event's description has two records whose
            outputs are W and W'.

    Raises:
        UnsupportedError: the law of X is known by its tails only.
    """
    if q == 0.0:
        return AtomicLaw((0.0,), (1.0,), lower_masses=(1.0,))
    if isinstance(event, GaussianLaw | LaplaceLaw) and event.error > MOST_UNITS * UNIT:
        below, above = (replaced(end, end, q, exact=exact, opposite=opposite) for end in event.ends)
        return Term(Term.of(above).upper, Term.of(below).lower)
    upper: LossLaw
    lower: LossLaw
    if isinstance(event, GaussianLaw):
        upper = lower = ReplacedGaussianLaw(event, q)
    elif isinstance(event, LaplaceLaw):
        upper = lower = ReplacedLaplaceLaw(event, q)
    elif isinstance(event, DiscreteGaussianLaw):
        upper = lower = ReplacedLatticeLaw(event, q)
    elif isinstance(event, AtomicLaw) and event.log_ratio() is not None:
        upper = replaced_atoms(event, q, exact=exact, above=True)
        lower = replaced_atoms(event, q, exact=exact, above=False) if opposite else upper
    else:
        raise UnsupportedError(
            "replacing a record of a Poisson sample is not available for this mechanism: its"
            " privacy loss is known by bounds only; pass --relation add-or-remove-one"
        )
    if opposite:
        return upper if upper == lower else Term(upper, lower)
    return Term(upper, sampled(event, q, remove=True, exact=exact, reverse=reverse))
