"""The truncated negative binomial numbers of runs: their shape, and log(1 / gamma), rounded up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import UnsupportedError
from privcalc.numerics.enclosure import Enclosure

if TYPE_CHECKING:
    from privcalc.selection.runs.protocol import Runs

# Families of the truncated negative binomial law D(eta, gamma).
SHAPED = ("geometric", "logarithmic", "tnb")
_SHAPES = {"geometric": 1.0, "logarithmic": 0.0}


def shape(runs: Runs) -> float:
    """Return eta.

    Raises:
        UnsupportedError: the number of runs is of another family.
    """
    if runs.family not in SHAPED:
        raise UnsupportedError(f"{runs.family} numbers of runs have no shape")
    known = _SHAPES.get(runs.family)
    return float(runs.parameters["shape"]) if known is None else known


def log_gamma_cost(runs: Runs) -> float:
    """Return an upper bound on log(1 / gamma).

    phi'(q) = E[K] (gamma / (gamma + (1 - gamma) (1 - q)))^{eta+1}, so that the quotient of
    phi'(1) and phi'(0) is gamma^-{eta+1}, whatever parameter was given or solved for.
    """
    _, high = runs.log_derivative(np.ones(1), np.zeros(1))
    low, _ = runs.log_derivative(np.zeros(1), np.ones(1))
    return float(((Enclosure(high) - low) / (1.0 + Enclosure(shape(runs)))).upper()[0])
