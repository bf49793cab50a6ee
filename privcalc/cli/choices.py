"""What the options of a plain question are read as: choices, and budgets to compare with."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from privcalc.errors import UsageError
from privcalc.relation import Relation
from privcalc.reporting.questions import read_delta, read_epsilon

if TYPE_CHECKING:
    from privcalc.reporting.budget import Budget

Format = StrEnum(
    "Format", ["TABLE", "JSON", "CSV", "MARKDOWN", "GITHUB", "JUNIT", "GITLAB", "STATEMENT"]
)
ColorMode = StrEnum("ColorMode", ["AUTO", "ALWAYS", "NEVER"])
# Engines that can be forced, and those of them that prove what they answer.
Engine = StrEnum("Engine", ["AUTO", "CONTOUR", "FFT", "RDP", "AFA"])
ProvedEngine = StrEnum("ProvedEngine", ["AUTO", "CONTOUR", "FFT", "RDP"])
# JSON Schemas that are shipped, and shells with completions.
SchemaName = StrEnum("SchemaName", ["RESULT", "SPEC", "ERROR", "CERTIFICATE"])
Shell = StrEnum("Shell", ["BASH", "ZSH", "FISH"])


class Target(StrEnum):
    """Languages into which a guarantee can be put."""

    DP = "dp"
    PROFILE = "profile"
    RDP = "rdp"
    ZCDP = "zcdp"
    GDP = "gdp"
    TRADEOFF = "tradeoff"
    RISK = "risk"
    DP_EVENT = "dp-event"


class RelationName(StrEnum):
    """Neighbouring relations, with dashes."""

    ADD_OR_REMOVE_ONE = "add-or-remove-one"
    REPLACE_ONE = "replace-one"
    REPLACE_SPECIAL = "replace-special"


def relation_named(name: RelationName | None) -> Relation | None:
    """Return the relation that an option names."""
    return None if name is None else Relation(name.value.replace("-", "_"))


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
) -> Budget | None:
    """Read the budget options, each as it was written; None where there is none.

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
    if all(text is None for text in given.values()):
        return None
    from privcalc.reporting.budget import Budget

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
    if estimate:
        raise UsageError(
            "--engine afa gives an estimate without certificate; a budget check needs a proof"
        )
    return budget
