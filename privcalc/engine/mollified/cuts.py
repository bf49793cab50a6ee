"""Where to cut a law with rare losses in two: a choice, of which no proof takes notice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import ClassVar

    from privcalc.engine.composition import Composition
    from privcalc.numerics.arrays import Array

# A law with more losses is not cut, nor one with fewer uses.
MOST_LOSSES, FEWEST_USES = 200, 2
# Abscissas on which peaks are compared.
LEAST_C, MOST_C, ABSCISSAS = 1e-2, 1e6, 150
# Halvings of the interval in which epsilon is sought.
HALVINGS = 40
# Beyond this e^x - 1 is e^x.
LARGE = 30.0


@record
class Cut:
    """Where a law may be cut.

    Attributes:
        index: of the law among the terms.
        law: itself.
        count: how often it is used.
        loss: the largest near loss.
        near: log of the transform of the uses without rare losses, on the abscissas.
        far: the same of those with one.
    """

    index: int
    law: AtomicLaw
    count: int
    loss: float
    near: Array
    far: Array


@record
class Search:
    """Peaks of the integrands of every cut, without bound: all choices are free.

    Attributes:
        composition: truncated laws.
        cuts: where it may be cut.
        whole: log of its transform on the abscissas.
    """

    composition: Composition
    cuts: tuple[Cut, ...]
    whole: Array

    abscissas: ClassVar[Array] = np.geomspace(LEAST_C, MOST_C, ABSCISSAS)

    @classmethod
    def of(cls, composition: Composition) -> Search:
        """Tabulate.

        Raises:
            NotCertifiedError: there is nothing to cut.
        """
        listed = [
            (index, law, count)
            for index, (law, count) in enumerate(composition)
            if type(law) is AtomicLaw and count >= FEWEST_USES and 2 <= law.outcomes <= MOST_LOSSES
        ]
        if not listed or composition.curves:
            raise NotCertifiedError("no part of the loss has listed outcomes that are rare")
        parts = []
        for law, count in composition:
            logs = [law.cumulants(float(c))[0] for c in cls.abscissas]
            parts.append(count * np.array(logs))
        whole = np.sum(parts, axis=0)
        cuts = tuple(
            cut
            for index, law, count in listed
            for cut in cls._cuts(index, law, count, whole - parts[index])
        )
        return cls(composition, cuts, whole)

    @classmethod
    @np.errstate(all="ignore")
    def _cuts(cls, index: int, law: AtomicLaw, count: int, others: Array) -> Iterator[Cut]:
        losses, masses = law.columns
        order = np.argsort(losses)
        losses = losses[order]
        exponents = np.log(masses[order]) + np.multiply.outer(cls.abscissas, losses)
        near = np.logaddexp.accumulate(exponents, axis=1)
        far = np.logaddexp.accumulate(exponents[:, ::-1], axis=1)[:, ::-1]
        for i in range(len(losses) - 1):
            if losses[i] == losses[i + 1]:
                continue
            grown = count * np.logaddexp(0.0, far[:, i + 1] - near[:, i])
            some = np.where(grown < LARGE, np.log(np.expm1(np.minimum(grown, LARGE))), grown)
            at = others + count * near[:, i]
            yield Cut(index, law, count, float(losses[i]), at, at + some)

    def gain(self, epsilon: float) -> float:
        """Return by how much the peaks are lower than that of one contour, in logarithms."""
        return self.peak(self.whole, epsilon)[0] - self.best(epsilon)[0]

    def log_bound(self, epsilon: float) -> float:
        """Return about an upper bound on log delta."""
        return min(0.0, self.best(epsilon)[0])

    def epsilon(self, log_delta: float) -> float:
        """Return about an upper bound on epsilon."""
        high = 1e-3
        while self.best(high)[0] > log_delta:
            high *= 2.0
            if not high < 1e6:
                raise NotCertifiedError("the losses of the rare outcomes are too large")
        low = 0.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.best(middle)[0] > log_delta else (low, middle)
            if high - low < 1e-3 * high:
                break
        return high

    def peak(self, tabulated: Array, epsilon: float) -> tuple[float, float]:
        """Return the log of the least peak of a transform on the abscissas, and where it is."""
        c = self.abscissas
        peaks = tabulated - c * epsilon - np.log(c) - np.log1p(c)
        best = int(np.nanargmin(peaks))
        return float(peaks[best]), float(c[best])

    def best(self, epsilon: float) -> tuple[float, Cut]:
        """Return the peak of the best cut, and that cut."""
        peaks = [
            max(self.peak(cut.near, epsilon)[0], self.peak(cut.far, epsilon)[0])
            for cut in self.cuts
        ]
        best = int(np.argmin(peaks))
        return peaks[best], self.cuts[best]
