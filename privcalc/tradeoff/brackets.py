"""What a trade-off function is stated as: brackets of beta and of the power at type I errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.bounds import Bound, Proof
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@record
class Curve:
    """A trade-off function at given type I errors.

    Attributes:
        beta: least type II error of any test, at each alpha.
        power: largest power (true positive rate), 1 - beta, at each alpha; without a lower end
            where only an upper bound of the profile is known.
        proof: what proved most of the brackets.
        notes: what limited them, in sentences.
    """

    beta: tuple[Bound, ...]
    power: tuple[Bound, ...]
    proof: Proof = Proof.CLOSED_FORM
    notes: tuple[str, ...] = ()

    def reached(self, power: Sequence[float], beta: Sequence[float]) -> Curve:
        """Return the same where some test has at least these powers, and at most these betas."""
        found = [_reached(*each) for each in zip(self.beta, self.power, power, beta, strict=True)]
        return replace(self, beta=tuple(b for b, _ in found), power=tuple(p for _, p in found))


def limit(alpha: float, mass: Bound, lower_mass: float | None) -> tuple[Bound, Bound]:
    """Return beta and power of the tests that never reject Q wrongly (alpha 0), or always do (1).

    Without type I error a test rejects only what Q never shows. That much it rejects at any
    alpha; where P is all of it (mass 1), there is nothing left.

    Args:
        alpha: 0, 1, or any if `mass` is certain.
        mass: P-mass of what Q never shows.
        lower_mass: a lower bound of the same; None where only upper bounds are known.
    """
    if alpha == 1.0:
        return Bound(0.0, 0.0), Bound(1.0, 1.0)
    if lower_mass is None:
        power = Bound(max(mass.upper, alpha))
        beta = complement(power)
        return Bound(one_minus(alpha), beta.lower), power
    power = Bound(max(mass.upper, alpha), max(lower_mass, alpha))
    return complement(power), power


def complement(bound: Bound) -> Bound:
    """Return 1 minus a number in [0, 1], rounded outward; an unknown end becomes 0 or 1."""
    lower, upper = 1.0 - bound.upper, 1.0 - (bound.lower or 0.0)
    if bound.upper != 0.0:
        lower = max(0.0, math.nextafter(lower, -1.0))
    if bound.lower:
        upper = min(1.0, math.nextafter(upper, 2.0))
    if bound.upper >= 1.0:
        lower = 0.0
    if (bound.lower or 0.0) >= 1.0:
        upper = 0.0
    return Bound(upper, lower)


def one_minus(alpha: float) -> float:
    """Return 1 - alpha, rounded up; for alpha >= 1/2 and for 0 the difference is exact."""
    rest = 1.0 - alpha
    return rest if alpha >= 0.5 or alpha == 0.0 else math.nextafter(rest, 1.0)


def _reached(beta: Bound, power: Bound, least: float, most: float) -> tuple[Bound, Bound]:
    """Intersect with what tests reach: at least this power, and at most this beta."""
    beta = beta.intersection(Bound(most, 0.0)).intersection(complement(Bound(1.0, least)))
    power = power.intersection(Bound(1.0, least)).intersection(complement(beta))
    return beta, power


def worst_of(curves: Mapping[str, Curve]) -> Curve:
    """Return the least beta and the largest power of several directions, at each alpha.

    The proof is that of the direction that is the worse most often; notes say whose they are.
    """
    parts = list(curves.values())
    powers, betas = list(parts[0].power), list(parts[0].beta)
    for curve in parts[1:]:
        powers = [a.maximum(b) for a, b in zip(powers, curve.power, strict=True)]
        betas = [_minimum(a, b) for a, b in zip(betas, curve.beta, strict=True)]
    tops = [power.upper for power in powers]
    often = max(
        parts,
        key=lambda curve: sum(p.upper == top for p, top in zip(curve.power, tops, strict=True)),
    )
    notes = [
        f"{name}: {note}" if len(parts) > 1 else note
        for name, curve in curves.items()
        for note in curve.notes
    ]
    return Curve(tuple(betas), tuple(powers), often.proof, tuple(notes))


def _minimum(a: Bound, b: Bound) -> Bound:
    return Bound(min(a.upper, b.upper), min(a.lower or 0.0, b.lower or 0.0))
