"""Compositions and truths that the tests of the split share."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privcalc.engine.certified import bracket
from privcalc.engine.composition import Composition
from privcalc.engine.inversion.solve import TailSplit
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.sampled.law import SampledLaw, sampled

if TYPE_CHECKING:
    from privcalc.bounds import Bound
    from privcalc.engine.certified import Certified
    from privcalc.engine.inversion.solve import Inversion
    from privcalc.losses.law import LossLaw

TRUTHS: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[2] / "oracles" / "rare_sampling.json").read_text()
)


def rare(sigma: float, q: float) -> SampledLaw:
    """Return the law of a sampled Gaussian, removing a record."""
    law = sampled(GaussianLaw(1.0 / sigma), q, remove=True)
    assert isinstance(law, SampledLaw)
    return law


def uses(sigma: float, q: float, count: int) -> Composition:
    """Return so many uses of one sampled Gaussian."""
    return Composition.of([(rare(sigma, q), count)])


def written(law: list[Any]) -> LossLaw:
    """Return a law of the stored pairs."""
    if law[0] == "gaussian":
        return GaussianLaw(float(law[1]))
    return rare(*law)


def holds(bound: Bound, digits: str) -> bool:
    """Say whether a bracket holds a number that is written as these digits, rounded."""
    number = Decimal(digits)
    half = Decimal(1).scaleb(int(number.as_tuple().exponent)) / 2
    lower = Decimal(bound.lower or 0.0)
    return lower <= number + half and number - half <= Decimal(bound.upper)


def tuned(composition: Composition, **change: float) -> TailSplit:
    """Return the split with other abscissas, steps or levels than it would take."""
    found = TailSplit(composition)
    for name, value in change.items():
        setattr(found, name, value)
    return found


def delta_by(way: Inversion, epsilon: float, tolerance: float) -> Certified:
    """Bracket delta at an epsilon by one way to invert alone."""
    return bracket(way.near(epsilon, tolerance), epsilon, tolerance)
