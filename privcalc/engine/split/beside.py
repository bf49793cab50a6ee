"""Rare samples beside few listed losses: their delta, at epsilon less each of the sums of those.

With masses p_j at the sums l_j of all listed losses, and delta_S of everything else,

    delta(epsilon) = sum p_j delta_S(epsilon - l_j),

as (1 - e^{epsilon - l - s})_+ is the payoff of s at epsilon - l. All terms are positive. One
contour for all may have a peak far above delta: just above a sum delta is what rare samples add to
it, for which the contour tilts by much more than any of the terms needs.

Where the l_j are off by less than r, delta_S at epsilon - l_j + r is a lower bound, and at
epsilon - l_j - r an upper one, as it does not grow. Sums beyond the last one that is looked at cost
no more than that one; those above the first no more than their mass.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.bounds import Proof
from privcalc.engine.certified import PAD
from privcalc.engine.composition import Composition
from privcalc.engine.finite.outcomes import enumerate_outcomes
from privcalc.engine.source import Deltas, bracket
from privcalc.engine.split.choice import Search
from privcalc.engine.split.parts import Parts
from privcalc.engine.split.solve import DROP, made_at, solved
from privcalc.engine.split.total import PLAIN, Split
from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.certified import Certified
    from privcalc.engine.split.choice import Tuning
    from privcalc.numerics.arrays import Array

# Sums of listed losses, and those of them that may matter.
MOST_SUMS, MOST_TERMS = 2000, 12
# Part of the error of all that each term may make; relative errors are at most this.
SHARE, MOST_RELATIVE = 0.2, 0.01
# What is so much smaller than the largest term, in logarithms, need not be known to find epsilon.
SMALL = 7.0
TOO_MANY = "too many sums of the listed losses matter"


@record
class Sums:
    """Samples, and the sums of all listed losses beside them.

    Attributes:
        parts: everything else, which is split.
        losses: the sums, decreasing.
        masses: their P-masses.
        loss_error: absolute error of each sum, at most.
        mass_error: relative error of each mass, at most.
        dropped: P-mass left out, at most.
    """

    parts: Parts
    losses: Array
    masses: Array
    loss_error: float
    mass_error: float
    dropped: float

    @classmethod
    def of(cls, composition: Composition) -> Sums | None:
        """Return them; None where there are none, or too many."""
        if composition.curves:
            return None
        listed = [(law, n) for law, n in composition if isinstance(law, AtomicLaw)]
        others = [(law, n) for law, n in composition if not isinstance(law, AtomicLaw)]
        if not listed or not others or any(law.atom_count > MOST_SUMS for law, _ in listed):
            return None
        parts = Parts.of(Composition.of(others))
        if parts is None or not parts.remove:
            return None
        found = enumerate_outcomes(Composition.of(listed))
        if found is None or len(found.losses) > MOST_SUMS:
            return None
        order = np.argsort(-found.losses, kind="stable")
        order = order[found.masses[order] > 0.0]
        error = float(found.mass_error.max(initial=0.0))
        lost = found.dropped + sum(n * math.exp(law.log_truncated_mass) for law, n in listed)
        return cls(parts, found.losses[order], found.masses[order], found.loss_error, error, lost)


class SumSearch:
    """Where the terms of the mixture matter, by the estimates of `choice.py`."""

    coarse_first: ClassVar[bool] = True

    def __init__(self, sums: Sums) -> None:
        """Tabulate the samples."""
        self.sums = sums
        self._search = Search(sums.parts)
        # Of each sum and all smaller ones.
        left = np.cumsum(sums.masses[::-1])[::-1]
        self._rows = list(
            zip(sums.losses.tolist(), sums.masses.tolist(), left.tolist(), strict=True)
        )

    def epsilon(self, log_delta: float, allowed: float) -> float:
        """Return about the epsilon at which the largest term is that.

        Raises:
            NotCertifiedError: too many terms may be the largest.
        """
        found, tried = 0.0, 0
        for loss, mass, left in self._rows:
            if math.log(mass) <= log_delta:
                continue
            log_term = self._log_term(found - loss) if found > loss else 0.0
            if math.log(left) + log_term < log_delta:
                break
            if math.log(mass) + log_term < log_delta:
                continue
            tried += 1
            if tried > MOST_TERMS:
                raise NotCertifiedError(TOO_MANY)
            found = max(found, loss + self._search.epsilon(log_delta - math.log(mass), allowed))
        return found

    def log_delta(self, epsilon: float, relative: float) -> float:
        """Return about the log of the largest term."""
        del relative
        found = -math.inf
        for loss, mass, left in self._rows:
            if math.log(left) <= found:
                break
            log_term = self._log_term(epsilon - loss)
            found = max(found, math.log(mass) + log_term)
            if math.log(left) + log_term < found - SMALL:
                break
        return found

    def make(
        self, epsilon: float, log_delta: float, relative: float, tuning: Tuning, room: float = 0.0
    ) -> Mixture:
        """Prepare the terms that matter at an epsilon where delta is about e^{log_delta}.

        Raises:
            NotCertifiedError: there are too many of them.
        """
        log_error, most = log_delta - room + math.log(SHARE * relative), math.log(MOST_RELATIVE)
        chosen, outside = self._chosen(epsilon, log_error)
        terms = []
        for loss, mass, above, log_term in chosen:
            at, allowed = epsilon - loss, log_error - math.log(above)
            scale = max(log_term, allowed - most)
            precise = math.exp(min(allowed - scale, most))
            choice = self._search.at(at, DROP * precise * math.exp(scale), tuning.move)
            split = Split.make(self.sums.parts, choice, at, scale, precise, tuning=tuning)
            terms.append(Shifted(loss, mass, above, split))
        error = self.sums.mass_error + UNIT * (len(self._rows) + 64.0)
        return Mixture(tuple(terms), log_delta, self.sums.loss_error, error, outside)

    def _chosen(
        self, epsilon: float, log_error: float
    ) -> tuple[list[tuple[float, float, float, float]], float]:
        """Return the terms that matter, and the mass of larger sums.

        Each has its loss, its mass, that which its upper bound is for, and the log of the samples'
        delta, about.

        Raises:
            NotCertifiedError: there are too many of them.
        """
        least = log_error - math.log(len(self._rows))
        outside = self.sums.dropped
        terms = list[tuple[float, float, float, float]]()
        for loss, mass, left in self._rows:
            if not terms and math.log(mass) < least:
                outside += mass
                continue
            log_term = self._log_term(epsilon - loss)
            # All that is left costs no more than if it had this loss.
            last = math.log(left) + log_term < log_error - 1.0
            terms.append((loss, mass, left if last else mass, log_term))
            if last:
                break
            if len(terms) > MOST_TERMS:
                raise NotCertifiedError(TOO_MANY)
        return terms, outside

    def _log_term(self, epsilon: float) -> float:
        """Return about the log of the samples' delta, at least that of no samples."""
        if epsilon == 0.0:
            epsilon = 1e-12
        found = min(self._search.at(epsilon, 0.0).log_delta, 0.0)
        return max(found, math.log(-math.expm1(epsilon))) if epsilon < 0.0 else found


@record
class Shifted:
    """A term of the mixture.

    Attributes:
        loss: the sum.
        mass: its mass ...
        above: ... and with that of all smaller sums, where it stands for them in upper bounds.
        split: the samples, near epsilon less the sum.
    """

    loss: float
    mass: float
    above: float
    split: Split


@record
class Mixture:
    """A source: the terms that matter, near the epsilon that they were made for.

    Attributes:
        terms: largest sums first.
        log_delta: about, there.
        loss_error: absolute error of each sum, at most.
        mass_error: relative error of each mass, at most, with what products and sums round.
        outside: P-mass of sums that are left out.
    """

    terms: tuple[Shifted, ...]
    log_delta: float
    loss_error: float
    mass_error: float
    outside: float

    proof: ClassVar[Proof] = Proof.BULK_AND_TAIL
    pad: ClassVar[float] = PAD

    @property
    def fastest(self) -> float:
        """Return how fast the largest term's logarithm changes with epsilon."""
        return max(each.split.fastest for each in self.terms)

    @property
    def deviation(self) -> float:
        """Return the change of epsilon that is felt."""
        return 2.0 / self.fastest

    @np.errstate(all="ignore")
    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Bracket delta; the difference of epsilon and a sum is rounded once."""
        scale = self.log_delta if log_scale is None else log_scale
        value, lower, upper = (np.zeros(len(epsilons)) for _ in range(3))
        names: dict[str, Array] = {}
        for each in self.terms:
            moved = self.loss_error + 2.0 * UNIT * (np.abs(epsilons) + abs(each.loss))
            at = epsilons - each.loss
            below = each.split.deltas(at + moved * MARGIN, scale)
            beyond = each.split.deltas(at - moved * MARGIN, scale)
            value = value + each.mass * 0.5 * (below.value + beyond.value)
            lower = lower + each.mass * np.maximum(below.lower, 0.0)
            upper = upper + each.above * beyond.upper
            for name, size in beyond.terms.items():
                names[name] = names.get(name, 0.0) + each.above * size
        upper = upper + self.outside * exp_bound(1e-9 - scale)
        scales: Array = np.full(len(epsilons), scale)
        down, up = 1.0 - self.mass_error, (1.0 + self.mass_error) * MARGIN
        return Deltas(scales, lower * down, upper * up, value, names)

    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf), without error bound."""
        value, beyond = np.zeros(len(epsilons)), np.zeros(len(epsilons))
        for each in self.terms:
            found, further = each.split.estimates(epsilons - each.loss, log_scale)
            value, beyond = value + each.mass * found, beyond + each.mass * further
        return value, beyond


def applies(composition: Composition) -> bool:
    """Say whether there is such a mixture."""
    return Sums.of(composition) is not None


def beside_epsilon(
    composition: Composition,
    delta_low: float,
    delta_high: float,
    tolerance: float,
    tuning: Tuning = PLAIN,
) -> Certified:
    """Bracket epsilon by the mixture; see `split_epsilon`."""
    return solved(_mixed(composition), (delta_low, delta_high), tolerance, tuning)


def beside_delta(
    composition: Composition, epsilon: float, tolerance: float, tuning: Tuning = PLAIN
) -> Certified:
    """Bracket delta at an epsilon by the mixture; see `split_epsilon`."""
    source = made_at(_mixed(composition), epsilon, tolerance, 0.0, tuning)
    return bracket(source, epsilon, tolerance)


def _mixed(composition: Composition) -> SumSearch:
    sums = Sums.of(composition)
    if sums is None:
        raise NotCertifiedError("there are no few sums of listed losses beside samples")
    return SumSearch(sums)
