"""Attack rates of a relation: the worse direction at every point."""

from __future__ import annotations

from functools import cache, reduce
from typing import TYPE_CHECKING

from privcalc.accounting.answer import Method
from privcalc.accounting.directions import profile_of
from privcalc.bounds import Bound
from privcalc.engine.certified import DELTA_FLOOR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from privcalc.accounting.answer import Row, Value
    from privcalc.accounting.directions import Directions
    from privcalc.engine.terms import Realized

DEFAULT_RATES = (1e-6, 1e-4, 0.001, 0.01, 0.1)
DEFAULT_PRIORS = (0.01, 0.5)


def attack_rates(
    directions: Directions,
    false_positive_rates: Sequence[float],
    priors: Sequence[float],
) -> tuple[dict[str, Value], Method]:
    """Bracket what attacks achieve at most; see `tradeoff/function.py` for what each number means.

    Args:
        directions: the compositions.
        false_positive_rates: those of the attack, or the success of a guess without the output.
        priors: probabilities that the record is there.
    """
    from privcalc.tradeoff.function import advantage, bayes_success, trade_off

    rates = tuple(false_positive_rates) or DEFAULT_RATES
    tolerance, engine = directions.tolerance, directions.engine
    pairs = []
    for present, absent in directions.pairs:
        with_record = without = _profile(present, tolerance, engine)
        if absent is not present:
            without = _profile(absent, tolerance, engine)
        pairs.append((with_record, without))
    curve = trade_off(directions.parts, rates, tolerance, engine=engine)
    gap = reduce(Bound.maximum, [advantage(with_record) for with_record, _ in pairs])
    result: dict[str, Value] = {
        "advantage": gap,
        "tpr_at_fpr": tuple(
            _entry("fpr", rate, "tpr", power)
            for rate, power in zip(rates, curve.worst.power, strict=True)
        ),
        "bayes_success": tuple(
            _entry(
                "prior",
                prior,
                "success",
                reduce(Bound.maximum, [bayes_success(*pair, prior) for pair in pairs]),
            )
            for prior in tuple(priors) or DEFAULT_PRIORS
        ),
        "reconstruction": tuple(
            _entry("baseline", rate, "success", power)
            for rate, power in zip(rates, curve.worst.power, strict=True)
        ),
    }
    met = gap.within_tolerance(tolerance, DELTA_FLOOR) and all(
        power.within_tolerance(tolerance, DELTA_FLOOR) for power in curve.worst.power
    )
    return result, Method(curve.proof, met, notes=curve.notes)


def _profile(part: Realized, tolerance: float, engine: str) -> Callable[[float], Bound]:
    """Return what brackets delta at one epsilon after another."""
    from privcalc.tradeoff.gaussian import gaussian_delta, gaussian_mu

    mu = gaussian_mu(part) if engine == "auto" else None
    if mu is not None:
        return lambda epsilon: gaussian_delta(mu, epsilon)
    solver = profile_of(part, tolerance, engine)

    @cache
    def solved(epsilon: float) -> Bound:
        return solver([epsilon])[0][1]

    return solved


def _entry(given: str, at: float, name: str, bound: Bound) -> Row:
    return {given: at, name: bound}
