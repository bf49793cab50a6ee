"""Formulas of textbooks, for comparison: what each would have said, and when it holds.

None of them is ever an answer here: something tighter is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.record import record
from privcalc.spec.tree import Leaf, Repeated

if TYPE_CHECKING:
    from privcalc.spec.tree import Node


@record
class Classical:
    """One formula.

    Attributes:
        name: what it is called, with its source.
        epsilon: what it gives.
        condition: when it holds.
    """

    name: str
    epsilon: float
    condition: str


def basic(count: int, epsilon: float) -> float:
    """Return k epsilon (Dwork, McSherry, Nissim, Smith 2006)."""
    return count * epsilon


def advanced(count: int, epsilon: float, slack: float) -> float:
    """Return (2 k log(1/delta'))^{1/2} epsilon + k epsilon (e^epsilon - 1).

    Dwork, Rothblum, Vadhan 2010; Dwork, Roth 2014, Theorem 3.20.
    """
    return math.sqrt(2.0 * count * -math.log(slack)) * epsilon + (
        count * epsilon * math.expm1(min(epsilon, 700.0))
    )


def advanced_tanh(count: int, epsilon: float, slack: float) -> float:
    """Return the same with the exact mean loss k epsilon tanh(epsilon / 2) as drift.

    The loss of randomized response has this mean and lies in [-epsilon, epsilon]; Azuma's
    inequality does the rest (Kairouz, Oh, Viswanath 2015, before their Theorem 3.3).
    """
    return math.sqrt(2.0 * count * -math.log(slack)) * epsilon + (
        count * epsilon * math.tanh(epsilon / 2.0)
    )


def concentrated(rho: float, delta: float) -> float:
    """Return rho + 2 (rho log(1/delta))^{1/2} (Bun, Steinke 2016, Proposition 1.3)."""
    return rho + 2.0 * math.sqrt(rho * -math.log(delta))


def gaussian(mu: float, delta: float) -> float:
    """Return (2 log(1.25/delta))^{1/2} mu (Dwork, Roth 2014, Theorem A.1)."""
    return math.sqrt(2.0 * math.log(1.25 / delta)) * mu


def comparisons(tree: Node, delta: float) -> tuple[Classical, ...]:
    """Return what the textbook formulas say of a specification at a delta; often nothing.

    Known are: k uses of a pure or (epsilon, delta) guarantee, one Gaussian, and zCDP guarantees.
    """
    if not 0.0 < delta < 1.0:
        return ()
    count, leaf = 1, tree
    if isinstance(tree, Repeated) and isinstance(tree.count, int):
        count, leaf = tree.count, tree.event
    if not isinstance(leaf, Leaf):
        return ()
    values = {key: value for key, value in leaf.parameters if isinstance(value, int | float)}
    if leaf.name in ("pure", "approx"):
        return _composition(count, values["epsilon"], values.get("delta", 0.0), delta)
    if leaf.name == "zcdp":
        return _zcdp(count * values["rho"], values.get("xi", 0.0), delta)
    if leaf.name == "gaussian":
        noise = values.get("noise_multiplier")
        if noise is None:
            noise = values["standard_deviation"] / values.get("sensitivity", 1.0)
        rho = count / (2.0 * noise * noise)
        lines = list(_zcdp(rho, 0.0, delta))
        if count == 1:
            epsilon = gaussian(1.0 / noise, delta)
            holds = "for epsilon < 1" + ("" if epsilon < 1.0 else ": it does not hold here")
            name = "classical Gaussian calibration (Dwork, Roth 2014, Theorem A.1)"
            lines.append(Classical(name, epsilon, holds))
        return tuple(lines)
    return ()


def _composition(count: int, epsilon: float, each: float, delta: float) -> tuple[Classical, ...]:
    """Compare k uses of (epsilon, each); what delta leaves beyond k each is the slack."""
    spent = count * each
    lines = []
    if spent <= delta:
        lines.append(
            Classical("basic composition", basic(count, epsilon), f"delta >= {count} x {each:g}")
        )
    slack = delta - spent
    if slack > 0.0:
        holds = f"with {slack:.6g} of delta as slack"
        lines += [
            Classical(
                "advanced composition (Dwork, Roth 2014, Theorem 3.20)",
                advanced(count, epsilon, slack),
                holds,
            ),
            Classical(
                "advanced composition with the mean loss k epsilon tanh(epsilon / 2)",
                advanced_tanh(count, epsilon, slack),
                holds,
            ),
            Classical(
                "zCDP with rho = k epsilon^2 / 2 (Bun, Steinke 2016)",
                concentrated(count * epsilon * epsilon / 2.0, slack),
                holds,
            ),
        ]
    return tuple(lines)


def _zcdp(rho: float, xi: float, delta: float) -> tuple[Classical, ...]:
    name = "zCDP closed form (Bun, Steinke 2016, Proposition 1.3)"
    return (Classical(name, xi + concentrated(rho, delta), "for every rho"),)
