"""The contract of laws fails as soon as one error that a law states is taken away.

Both ways: the unit of rounding of one module is set to zero, and one number that a law states.
Parameters are exact doubles, so that nothing but the error in question is at stake.
"""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

import tests.losses.contract.law_contract
from privcalc.numerics.work import allowance
from privcalc.record import replace
from privcalc.spec.parse import parse
from tests.losses.contract.law_cases import directions
from tests.losses.contract.law_contract import CLAUSES, breaches

if TYPE_CHECKING:
    from pathlib import Path

    from privcalc.losses.law import LossLaw, Tails
    from privcalc.numerics.arrays import Array
    from tests.losses.contract.law_views import Subject

# Module, constant, specification, the clause that notices.
CONSTANTS = (
    ("noise.gaussian", "UNIT", "gaussian:sigma=0.75", "tails_and_truth"),
    ("noise.laplace", "UNIT", "laplace:scale=0.75", "profile_and_truth"),
    ("choices.bounded_range", "UNIT", "exponential:epsilon=0.5", "profile_and_truth"),
    ("noise.discrete_gaussian", "UNIT", "discrete-gaussian:sigma=1.25", "tails_and_truth"),
    ("noise.discrete_gaussian", "UNIT", "discrete-gaussian:sigma=1.25", "tails_and_truth"),
    ("atomic.atoms", "LOSS_ULPS", "rr:p=0.25", "largest_loss"),
    ("atomic.atoms", "UNIT", "staircase:epsilon=0.5", "tails_and_truth"),
    ("atomic.atoms", "UNIT", "rr:p=0.25", "renyi_and_truth"),
    ("atomic.exact", "UNIT", "pmf:file={}", "infinite_masses"),
    (
        "noise.unequal_gaussians",
        "UNIT",
        "gaussian-pair:mean=0,deviation=1.25,other_mean=0.5,other_deviation=1",
        "renyi_and_truth",
    ),
    ("sampled.tails", "UNIT", "laplace:scale=0.75@poisson:q=0.25", "largest_loss"),
    ("sampled.tails", "UNIT", "discrete-gaussian:sigma=1.25@poisson:q=0.25", "largest_loss"),
    ("sampled.tails", "UNIT", "gaussian:sigma=0.75@poisson:q=0.25", "profile_and_truth"),
    ("quadrature", "UNIT", "gaussian:sigma=0.75@poisson:q=0.25", "contour_and_truth"),
    ("atomic.power", "UNIT", "pure:epsilon=0.5@poisson:q=0.25@group:k=3", "profile_and_truth"),
    ("choices.noisy_max", "UNIT", "noisy-max:sigma=4,candidates=5", "profile_and_tails"),
)
# Specification, what its law states, the clause that notices.
STATED = (
    ("gaussian:sigma=0.75", "error", "tails_add_up"),
    ("gaussian:sigma=0.75", "between_error", "masses_and_losses"),
    ("gaussian:sigma=0.75", "contour", "contour_and_truth"),
    ("laplace:scale=0.75", "shift", "tails_and_truth"),
    ("laplace:scale=0.75", "max_loss_error", "largest_loss"),
    ("rr:p=0.25", "shift", "tails_and_truth"),
    ("discrete-gaussian:sigma=1.25", "between_error", "cells_and_truth"),
    ("laplace:scale=0.75@poisson:q=0.25", "renyi", "renyi_and_truth"),
    ("gaussian:sigma=0.75@poisson:q=0.25", "profile", "profile_and_truth"),
    ("gaussian:sigma=2@poisson:q=0.25@group:k=3", "renyi", "renyi_and_truth"),
    ("gaussian:sigma=2@poisson:q=0.25@group:k=3", "error", "tails_add_up"),
    ("discrete-gaussian:sigma=1.25@wor:n=4,m=1", "error", "tails_and_truth"),
    ("pmf:file={}", "infinity_mass_error", "infinite_masses"),
    ("noisy-max:sigma=4,candidates=5", "profile", "profile_and_tails"),
)


class Bold:
    """A law that states one error as zero."""

    def __init__(self, law: Any, term: str) -> None:
        """Take the law, and what it is bold about."""
        self.law = law
        self.term = term

    def __getattr__(self, name: str) -> Any:
        """Answer as the law does."""
        if name.endswith("_error") and name == self.term:
            return 0.0
        return getattr(self.law, name)

    def tails(self, losses: Array) -> Tails:
        """Return the tails, perhaps as if they were exact."""
        found: Tails = self.law.tails(losses)
        if self.term == "between_error" and found.between_error is not None:
            return replace(found, between_error=np.where(found.between_error < 1.0, 0.0, np.inf))
        if self.term == "error":
            return replace(found, error=0.0)
        return replace(found, shift=0.0) if self.term == "shift" else found

    def profile(self, epsilon: float) -> Any:
        """Return the profile, where there is one, or its middle."""
        found = self.law.profile(epsilon)
        return found if found is None or self.term != "profile" else (0.5 * sum(found),) * 2

    def renyi(self, c: Array) -> Any:
        """Return bounds on K, or their middle."""
        low, high = self.law.renyi(c)
        return (low, high) if self.term != "renyi" else (0.5 * (low + high),) * 2

    def on_contour(self, c: float, t_max: float, log_error: float) -> Any:
        """Return a contour, perhaps one without errors."""
        contour = self.law.on_contour(c, t_max, log_error)
        return Exact(contour) if self.term == "contour" else contour


class Exact:
    """A contour that states no errors."""

    def __init__(self, contour: Any) -> None:
        """Take the contour."""
        self.contour = contour

    def __getattr__(self, name: str) -> Any:
        """Answer as the contour does."""
        return getattr(self.contour, name)

    def log_mgf(self, t: Array) -> Any:
        """Return K as if it were exact."""
        value, error = self.contour.log_mgf(t)
        return value, 0.0 * error


def subjects(text: str, directory: Path) -> list[Subject]:
    """Return the laws of a specification, whose file has a mass at infinity of 2/5."""
    path = directory / "pmf.csv"
    path.write_text("first other\n0.3 0.5\n0.3 0.5\n0.4 0\n")
    tree = parse(text.format(path)).tree
    found = [subject for each in directions(tree) for subject in each.subjects]
    assert found
    return found


def lines(found: list[Subject], clause: str) -> list[str]:
    """Return the breaches of one clause."""
    one = getattr(tests.losses.contract.law_contract, clause)
    assert one in CLAUSES
    return [line for subject in found for line in breaches(subject, (one,))]


@pytest.mark.few(3)
@pytest.mark.parametrize("case", CONSTANTS, ids=lambda case: f"{case[0]}-{case[1]}-{case[2]}")
def test_a_constant_of_zero_is_noticed(
    case: tuple[str, str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounding that one module does not count."""
    module, name, text, clause = case
    # Laws are remembered for one question.
    with allowance(math.inf):
        assert not lines(subjects(text, tmp_path), clause)
    monkeypatch.setattr(importlib.import_module(f"privcalc.losses.{module}"), name, 0.0)
    with allowance(math.inf):
        assert lines(subjects(text, tmp_path), clause)


@pytest.mark.few(4)
@pytest.mark.parametrize(("text", "term", "clause"), STATED)
def test_a_stated_error_of_zero_is_noticed(
    text: str, term: str, clause: str, tmp_path: Path
) -> None:
    """A law that claims to be exact in one respect."""
    found = subjects(text, tmp_path)
    assert not lines(found, clause)
    bold = [replace(each, law=cast("LossLaw", Bold(each.law, term))) for each in found]
    assert lines(bold, clause)
