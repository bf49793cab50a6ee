"""The Renyi curve of a sampled specification: its columns, and what is said of it."""

from __future__ import annotations

from math import isinf, isnan, log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privcalc.accounting.amplification import Amplification
    from privcalc.bounds import Bound
    from privcalc.render.report import Quantity


def columns(curve: Amplification) -> dict[str, Quantity]:
    """Put the columns into the form of the output contract; what does not apply is left out."""
    from privcalc.render.report import OneSided

    def column(values: tuple[float, ...], *, is_upper: bool = True) -> Quantity:
        return [OneSided(value, is_upper) for value in values]

    found: dict[str, Quantity] = {"orders": list(curve.orders), "base": column(curve.base)}
    if curve.lower is not None:
        found["lower"] = column(curve.lower, is_upper=False)
    if curve.tight is not None:
        found["tight"] = column(curve.tight)
    found["upper"] = column(curve.upper)
    if curve.exact is not None:
        found["exact"] = list(curve.exact)
    if curve.phase_transition_order is not None:
        found["phase_transition_order"] = curve.phase_transition_order
    return found


def remarks(curve: Amplification) -> tuple[tuple[str, str], ...]:
    """Say which theorem each column is, and where the curve bends."""
    return (*curve.reasons.items(), ("transition", _transition(curve)))


def _transition(curve: Amplification) -> str:
    """Say where sampling stops helping much."""
    order = curve.phase_transition_order
    if order is not None:
        gain = -log(curve.sampling_probability)
        return f"about order {order:.4g}; beyond it sampling takes off about log(1/q) = {gain:.4g}"
    if curve.sampling_probability == 1.0:
        return "none: every record is in the sample"
    if isinf(min(curve.base)):
        if curve.exact is not None and not isinf(min(curve.exact, key=_upper).upper):
            return "none: divergences are infinite without sampling"
        return "none: divergences are infinite"
    return "none: sampling helps at every order"


def _upper(bound: Bound) -> float:
    return bound.upper


def details(curve: Amplification) -> tuple[str, ...]:
    """Return the bounds of the literature that a better one has replaced, for -v."""
    lines: list[str] = []
    if curve.published is not None:
        lines += ["upper as published (Zhu 2023, Theorem 2.3.1):"]
        lines += _listed(curve.orders, curve.published)
    if curve.shortened is not None:
        theorem = "2.5.8" if curve.tight is None else "2.3.7"
        lines += [f"sum shortened to 50 terms at either end (Zhu 2023, Theorem {theorem}):"]
        lines += _listed(curve.orders, curve.shortened)
    return tuple(lines)


def _listed(orders: tuple[float, ...], values: tuple[float, ...]) -> list[str]:
    from privcalc.render.report import OneSided
    from privcalc.render.words import number, one_sided

    return [
        f"  order {number(order)}: {one_sided(OneSided(value))}"
        for order, value in zip(orders, values, strict=True)
        if not isnan(value)
    ]
