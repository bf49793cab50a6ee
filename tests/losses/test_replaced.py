"""The pair of two opposite records of a Poisson sample, against densities, outcomes, mechanisms."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from privcalc.accounting.compose import compose
from privcalc.engine.certified import SingleUse, bracket
from privcalc.errors import UnsupportedError
from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.laplace import LaplaceLaw
from privcalc.losses.law import Term
from privcalc.losses.sampled.replaced import ReplacedNoise, replaced
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.oracles.opposite import composed_epsilon, hockey_stick, renyi

if TYPE_CHECKING:
    from privcalc.bounds import Bound
    from privcalc.losses.law import LossLaw

REPLACE = Relation.REPLACE_ONE
LAWS: dict[str, Any] = {"gaussian": GaussianLaw, "laplace": LaplaceLaw}


def asked(text: str, engine: str = "auto", relation: Relation = REPLACE, **query: float) -> Bound:
    """Return the bracket of one question under replace-one."""
    lists: Any = {f"{name}s": [value] for name, value in query.items()}
    return compose(parse(text).tree, relation=relation, engine=engine, **lists).answers[0].proved


def pair_of(noise: str, moved: float, q: float) -> tuple[LossLaw, LossLaw]:
    """Return lists below and above the pair of two opposite records."""
    law = LAWS[noise](moved)
    return ends_of(replaced(law, law, q, exact=True, opposite_records=True))


def ends_of(found: LossLaw | Term) -> tuple[LossLaw, LossLaw]:
    """Return both laws of a term, or one that is both."""
    found = Term.of(found)
    assert found.lower is not None
    assert found.upper is not None
    return found.lower, found.upper


def one_use(laws: tuple[LossLaw, LossLaw], epsilon: float) -> tuple[float, float]:
    """Return both ends of delta."""
    low, high = (bracket(SingleUse(law), epsilon, 0.0).bound for law in laws)
    assert low.lower is not None
    # What is moved to infinity counts, too.
    return low.lower, high.upper + laws[1].infinity_mass


@pytest.mark.few(3)
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("moved", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("q", [0.001, 0.1, 0.7, 0.999])
def test_one_use_is_the_integral_of_the_densities(noise: str, moved: float, q: float) -> None:
    """Brackets hold the hockey stick of the densities, and are narrow."""
    laws = pair_of(noise, moved, q)
    top = laws[1].max_loss if noise == "laplace" else 3.0 * moved
    for share in (0.0, 0.05, 0.3, 0.9):
        epsilon = share * top
        truth = hockey_stick(noise, moved, q, epsilon)
        low, high = one_use(laws, epsilon)
        assert low <= truth <= high
        # Just below the largest loss rounding of lists is all that there is.
        assert high - low <= 1e-4 * truth + 1e-11


@pytest.mark.parametrize("moved", [40.0, 300.0])
def test_renyi_divergences_beyond_the_range_of_doubles(moved: float) -> None:
    """Where M overflows, bounds by the sample from which the record is removed remain."""
    q, c = 0.01, np.array([3.0, 100.0])
    lower, upper = ReplacedNoise(GaussianLaw(moved), q).renyi(c)
    # (P / Q)^a Q is at least about q^a W^a R^-c and at most (1 - q)^-c times E_R (P / R)^a.
    full = GaussianLaw(moved).renyi(c)[0] + (c + 1.0) * math.log(q)
    assert np.all(lower <= upper)
    assert np.all(lower >= full * (1.0 - 1e-6) - 1e-6)
    assert np.all(upper <= lower * (1.0 + 2e-4) - c * math.log1p(-q) + 1.0)


@pytest.mark.slow
def test_the_figure_of_a_thousand_steps() -> None:
    """DP-SGD under replace-one: both ends agree with sums on a lattice."""
    bound = asked("gaussian:sigma=1@poisson:q=0.01@1000", delta=1e-5)
    low, high = composed_epsilon(1.0, 0.01, 1000, 1e-5)
    assert bound.lower is not None
    assert low <= bound.upper
    assert bound.lower <= high
    assert high - bound.lower < 3e-6
    assert bound.upper - bound.lower <= 3e-6


def test_noise_on_integers_has_the_loss_of_its_outcomes() -> None:
    """One use of discrete Gaussian noise, outcome by outcome."""
    variance, shift, q = Fraction(9, 4), 2, 0.1
    law = DiscreteGaussianLaw(variance, shift)
    laws = ends_of(replaced(law, law, q, exact=True, opposite_records=True))
    x = np.arange(-60, 61)
    weights = np.exp(-(x**2) / (2.0 * float(variance)))
    weights /= weights.sum()
    moved = [np.exp(-((x - s) ** 2) / (2.0 * float(variance))) for s in (shift, -shift)]
    first, other = ((1.0 - q) * weights + q * each / each.sum() for each in moved)
    for epsilon in (0.0, 0.03, 0.4, 1.5):
        truth = float(np.maximum(first - math.exp(epsilon) * other, 0.0).sum())
        low, high = one_use(laws, epsilon)
        assert low <= truth * (1.0 + 1e-12)
        assert high >= truth * (1.0 - 1e-12)
        assert high - low <= 1e-9 * truth


def at(corners: list[tuple[Fraction, Fraction]], y: float) -> float:
    """Return G(y)."""
    return float(np.interp(y, [float(x) for x, _ in corners], [float(g) for _, g in corners]))


def test_samples_of_everybody_and_of_nobody() -> None:
    """At q = 1 the two outputs are twice as far apart, at q = 0 they are the same."""
    whole, double = (
        asked("gaussian:sigma=2@poisson:q=1@50", delta=1e-5),
        asked("gaussian:sigma=1@50", delta=1e-5),
    )
    assert (whole.lower, whole.upper) == (double.lower, double.upper)
    near = asked("gaussian:sigma=2@poisson:q=0.99999999@50", delta=1e-5)
    # What q is off by changes 1 - q far more.
    assert near.upper == pytest.approx(double.upper, rel=1e-4)
    assert near.lower is not None
    assert near.lower <= double.upper
    nobody = asked("gaussian:sigma=2@poisson:q=0@3", delta=1e-5)
    assert (nobody.lower, nobody.upper) == (0.0, 0.0)
    with pytest.raises(UnsupportedError, match="leave out"):
        asked("bernoulli-pair:p=0.1,other_p=0.3@poisson:q=1", delta=1e-5)


def test_groups_of_replaced_records_are_a_chain() -> None:
    """Several records replaced: from above only, and no more than replacing them all at once."""
    bound = asked("gaussian:sigma=2@poisson:q=0.1@50@group:k=2", delta=1e-5)
    single = asked("gaussian:sigma=2@poisson:q=0.1@50", delta=1e-5)
    assert bound.lower is None
    assert bound.upper > single.upper


@pytest.mark.slow
@pytest.mark.dear("2.0-0.01-gaussian]")
@pytest.mark.dear("2.0-0.01-gaussian]")
@pytest.mark.parametrize(("moved", "q", "noise"), [(0.3, 0.6, "laplace"), (2.0, 0.01, "gaussian")])
def test_renyi_divergences_are_those_of_the_densities(noise: str, moved: float, q: float) -> None:
    """K at real orders, from cells, against quadrature."""
    below, above = pair_of(noise, moved, q)
    if noise == "gaussian":
        below = above = ReplacedNoise(GaussianLaw(moved), q)
    for order in (2, 5):
        c = np.array([order - 1.0])
        (low,), (high,) = below.renyi(c)[0], above.renyi(c)[1]
        truth = renyi(noise, moved, q, order)
        assert low <= truth * (1 + 1e-20)
        assert high >= truth * (1 - 1e-20)
        assert high - low <= 3e-6 * truth
