"""The epsilons that still need a bracket of delta, and the brackets found so far."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.engine.certified import CLOSED, DELTA_FLOOR, Certified
from privcalc.engine.source import brackets
from privcalc.errors import DisagreementError
from privcalc.record import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from privcalc.engine.source import Source

LATTICE = "fft"
# What the FFT engine reaches, more or less, and a contour that is no worse than that.
GOOD = 1e-5
# Where widths are relative to a mass, no lattice is made for what is already as narrow as this,
# relatively or itself.
SPARED, FAINT = 1e-6, 1e-50


class Work:
    """The brackets found so far, and the epsilons that are still pending, increasing."""

    def __init__(
        self,
        mass: Bound,
        tolerance: float,
        width: float,
        epsilons: Iterable[float],
        *,
        of_mass: bool,
        sharper: bool = False,
    ) -> None:
        """Put all epsilons on the list; for the rest see `ManyDeltas`.

        Where a Renyi curve may be sharper than the laws, the two are about different pairs: upper
        ends hold, lower ones are of the laws, and what lies above a curve's upper end is dropped.
        """
        self.tolerance = tolerance
        self.pending = sorted({float(epsilon) for epsilon in epsilons})
        self._mass = mass
        self._width = width
        self._of_mass = of_mass
        self._sharper = sharper
        self._found: dict[float, Certified] = {}
        self._relative: dict[float, float] = {}

    def close(self, largest: float) -> None:
        """Settle the epsilons at which no finite loss counts."""
        for epsilon in [e for e in self.pending if e >= largest and e not in self._found]:
            self._found[epsilon] = Certified(self._mass, CLOSED)
            self.settle(epsilon)

    def ask(self, source: Source, epsilons: list[float], width: float) -> list[float]:
        """Keep what a source proves, and settle brackets of at most this relative width.

        Returns those epsilons.
        """
        if not epsilons:
            return []
        asked = np.array(epsilons)
        found = brackets(source, asked, self.tolerance)
        floors = np.zeros(len(asked))
        if self._of_mass:
            masses = source.estimates(asked)[1]
            # Far from where a source is good it estimates anything.
            floors = np.where((masses > 0.0) & (masses < 1.0 + GOOD), masses, 0.0)
        return [
            epsilon
            for epsilon, each, mass in zip(list(epsilons), found, floors, strict=True)
            if each is not None
            and self.keep(epsilon, each.with_bound(each.bound.plus(self._mass)), width, float(mass))
        ]

    def keep(self, epsilon: float, found: Certified, width: float = 0.0, mass: float = 0.0) -> bool:
        """Intersect a bracket with what was found before, and say whether that is enough.

        It is if its width is at most `width`, or what the question asks, of delta or of a mass
        above it.
        """
        known = self._found.get(epsilon)
        merged = found if known is None else self._merged(known, found)
        self._found[epsilon] = merged
        wish, size = max(width, self._width), max(merged.bound.upper, mass)
        self._relative[epsilon] = merged.bound.width / size if size > 0.0 else 0.0
        enough = merged.bound.width <= max(wish * size, DELTA_FLOOR) or wish == math.inf
        if enough:
            self.settle(epsilon)
            self._vanish(epsilon, merged)
        return enough

    def below(self, epsilon: float, found: Certified) -> None:
        """Take a bracket by a curve that says more than the laws do: it need not meet theirs."""
        self._found[epsilon] = found

    def _merged(self, known: Certified, found: Certified) -> Certified:
        """Return the intersection, or the smaller of two upper ends where there is none."""
        if self._sharper and (known.bound.lower is None or found.bound.lower is None):
            return min(known, found, key=lambda each: each.bound.upper)
        return known.merged(found)

    @property
    def known(self) -> bool:
        """Say whether there is a bracket anywhere."""
        return bool(self._found)

    def pivot(self) -> tuple[float, bool]:
        """Return the epsilon to look at next, and whether a contour is good there.

        Where there are such epsilons, it is one of them.
        """
        good = [
            epsilon
            for epsilon in self.pending
            if self.relative(epsilon) <= GOOD and self._found[epsilon].engine != LATTICE
        ]
        group = good or self.pending
        return group[len(group) // 2], bool(good)

    def around(self, epsilon: float) -> list[float]:
        """Return what is pending with nothing settled on the way there: its neighbours."""
        settled = [each for each in self._found if each not in self.pending and each != epsilon]
        low = max((each for each in settled if each < epsilon), default=-math.inf)
        high = min((each for each in settled if each > epsilon), default=math.inf)
        return [each for each in self.pending if low < each < high]

    def spared(self, epsilon: float) -> bool:
        """Say whether what is not known there is too little, itself or relatively, for a lattice.

        It is for widths that are relative to a mass.
        """
        found = self._found.get(epsilon)
        known = found is not None and found.bound.width <= FAINT
        return known or self.relative(epsilon) <= SPARED

    def relative(self, epsilon: float) -> float:
        """Return how wide the bracket found so far is, relatively; infinity for none."""
        return self._relative.get(epsilon, math.inf)

    def settle(self, epsilon: float) -> None:
        """Take an epsilon off the list, if it is on it."""
        if epsilon in self.pending:
            self.pending.remove(epsilon)

    def settle_within(self, width: float) -> None:
        """Take off the list all that is known to a relative width."""
        self.pending = [each for each in self.pending if not self.relative(each) <= width]

    def _vanish(self, epsilon: float, found: Certified) -> None:
        """Settle all larger epsilons where delta has come down to the mass at infinity.

        delta lies between this mass and its value at a smaller epsilon.
        """
        bound = Bound(found.bound.upper, self._mass.lower)
        if bound.within_tolerance(self._width, DELTA_FLOOR):
            for larger in [e for e in self.pending if e > epsilon]:
                self._found[larger] = replace(found, bound=bound, terms={})
                self.settle(larger)

    def sharpened(self, epsilons: Sequence[float]) -> list[Certified]:
        """Return the brackets in the order asked for, made monotone.

        delta(e) <= delta(e') for e >= e': an upper end holds to the right, a lower one to the left.

        Raises:
            DisagreementError: two brackets contradict each other.
        """
        for epsilon in epsilons:
            # Nothing may be known here but what the mass at infinity and the neighbours tell.
            open_ = Certified(Bound(1.0, self._mass.lower), CLOSED)
            self._found.setdefault(float(epsilon), open_)
        order = sorted(self._found)
        uppers = np.minimum.accumulate([self._found[e].bound.upper for e in order])
        lowers = [self._found[e].bound.lower for e in order]
        least = np.array([-math.inf if low is None else low for low in lowers])
        least = np.maximum.accumulate(least[::-1])[::-1]
        for epsilon, upper, lower in zip(order, uppers, least, strict=True):
            if lower > upper and not self._sharper:
                raise DisagreementError(
                    f"the brackets of delta near epsilon {epsilon!r} contradict those elsewhere:"
                    f" at most {upper!r}, at least {lower!r}"
                )
            known = -math.inf < lower <= upper
            bound = Bound(float(upper), float(lower) if known else None)
            self._found[epsilon] = self._found[epsilon].with_bound(bound)
        return [self._found[float(epsilon)] for epsilon in epsilons]
