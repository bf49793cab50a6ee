"""Read the options of a budget check; refuse a budget that nothing is compared with."""

from __future__ import annotations

from privcalc.errors import UsageError
from privcalc.reporting.budget import Budget
from privcalc.reporting.questions import read_delta, read_epsilon


def read_budget(
    max_epsilon: str | None,
    max_delta: str | None,
    *,
    deltas: bool,
    epsilons: bool,
    estimate: bool = False,
    max_rho: str | None = None,
    max_mu: str | None = None,
    max_advantage: str | None = None,
) -> Budget:
    """Read the budget options, each as it was written.

    Args:
        max_epsilon: needs a delta.
        max_delta: needs an epsilon.
        deltas: whether any delta was given.
        epsilons: whether any epsilon was given.
        estimate: whether the engine gives an estimate only.
        max_rho: of concentrated differential privacy.
        max_mu: of Gaussian differential privacy.
        max_advantage: of membership attacks, a probability.
    """
    given = {
        "epsilon": max_epsilon,
        "delta": max_delta,
        "rho": max_rho,
        "mu": max_mu,
        "advantage": max_advantage,
    }
    read = {"delta": read_delta, "advantage": read_delta}
    budget = Budget(
        *(
            None if text is None else read.get(name, read_epsilon)(f"--max-{name}", text)
            for name, text in given.items()
        )
    )
    if budget.max_epsilon is not None and not deltas:
        raise UsageError("--max-epsilon needs the delta at which it holds: add --delta D")
    if budget.max_delta is not None and not epsilons:
        raise UsageError("--max-delta needs the epsilon at which it holds: add --epsilon E")
    if budget and estimate:
        raise UsageError(
            "--engine afa gives an estimate without certificate; a budget check needs a proof"
        )
    return budget
