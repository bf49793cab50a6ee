"""Published figures on Renyi divergences under sampling, and on what conversions leave."""

from __future__ import annotations

import math
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest

from privcalc.accounting.compose import compose
from privcalc.accounting.realize import realize
from privcalc.accounting.subsample import SampleSize, Subsampled, subsample
from privcalc.errors import NotCertifiedError
from privcalc.relation import Relation
from privcalc.renyi.conversion.optimum import best_epsilon
from privcalc.renyi.curve import RenyiCurve, SumCurve
from privcalc.renyi.of_law import LawCurve
from privcalc.renyi.sampled import poisson
from privcalc.spec.parse import parse
from tests.oracles.rdp_peers import CONFIGURATIONS, DELTAS, load
from tests.oracles.rdp_peers import ask as ask_peer
from tests.renyi.renyi_curves import FIGURE

if TYPE_CHECKING:
    from privcalc.accounting.amplification import Amplification
    from privcalc.spec.tree import Node

GAUSSIAN5, GAUSSIAN1 = "gaussian:sigma=5", "gaussian:sigma=1"
LAPLACE2, LAPLACE05 = "laplace:scale=2", "laplace:scale=0.5"
ANSWER6, ANSWER9 = "rr:p=0.6", "rr:p=0.9"
RATE = 0.001

# (order, tight, general bound as published) at q = 0.001 (Zhu, Wang 2019, the curves).
CURVES = {
    GAUSSIAN5: [
        (2, "4.081077e-8", "4.081077e-8"),
        (8, "1.632836e-7", "1.812588e-7"),
        (32, "6.537832e-7", "1.007142e-6"),
        (128, "2.625585e-6", "8.164929e-6"),
        (512, "3.318728", "3.320878"),
    ],
    LAPLACE2: [
        (2, "2.217740e-7", "2.217740e-7"),
        (32, "3.557052e-6", "4.097677e-6"),
        (512, "5.867427e-5", "1.632278e-4"),
    ],
    ANSWER6: [
        (2, "1.666667e-7", "1.666667e-7"),
        (32, "2.671038e-6", "3.150778e-6"),
        (512, "4.357232e-5", "1.358365e-4"),
    ],
    GAUSSIAN1: [
        (2, "1.718280e-6", "1.718280e-6"),
        (8, "6.987942e-6", "7.316107e-6"),
        (32, "8.869414", "8.904853"),
        (128, "57.03785", "57.04650"),
    ],
    LAPLACE05: [
        (2, "3.932135e-6", "3.932135e-6"),
        (32, "6.619199e-5", "7.689330e-5"),
        (512, "1.979338e-3", "3.392766e-3"),
    ],
    ANSWER9: [
        (2, "7.111086e-6", "7.111086e-6"),
        (32, "1.221350e-4", "1.462536e-4"),
        (512, "3.658078e-3", "5.469881e-3"),
    ],
}
# epsilon at delta 1e-8 after 1000, 10000 and 60000 rounds: tight, and by the published bound.
ROUNDS = (1_000, 10_000, 60_000)
EPSILONS = {
    GAUSSIAN5: ((0.060961, 0.123597, 0.302339), (0.094678, 0.226462, 0.455001)),
    LAPLACE2: ((0.091750, 0.288381, 0.708317), (0.132264, 0.349901, 0.783942)),
    ANSWER6: ((0.079224, 0.249572, 0.612980), (0.121770, 0.316497, 0.697677)),
    GAUSSIAN1: ((1.547260, 1.657094, 2.267282), (1.549624, 1.680725, 2.362016)),
    LAPLACE05: ((0.411694, 1.253642, 3.097352), (0.475550, 1.337253, 3.191737)),
    ANSWER9: ((0.555754, 1.696678, 4.220755), (0.635829, 1.800774, 4.338390)),
}


def tree_of(text: str) -> Node:
    """Read a specification."""
    return parse(text).tree


def digits(text: str) -> float:
    """Return half a unit of the last digit of a printed number."""
    mantissa, _, exponent = text.partition("e")
    return 0.5 * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


@cache
def columns(text: str, rate: float, orders: tuple[float, ...]) -> Amplification:
    """Return the columns of `subsample`."""
    return subsample(tree_of(text), SampleSize(sampling_probability=rate), orders).curve


def base_of(text: str) -> RenyiCurve:
    """Return the Renyi curve of a symmetric specification."""
    return realize(tree_of(text), Relation.ADD_OR_REMOVE_ONE)["both"].upper.renyi_curve()


@pytest.mark.parametrize("text", CURVES)
def test_curves(text: str) -> None:
    """The tight sum and the published bound to all digits; ours is never above the latter."""
    orders = tuple(float(order) for order, _, _ in CURVES[text])
    found = columns(text, RATE, orders)
    assert found.tight is not None
    assert found.published is not None
    assert found.exact is not None
    for i, (_, tight, general) in enumerate(CURVES[text]):
        assert found.tight[i] == pytest.approx(float(tight), abs=digits(tight))
        assert found.published[i] == pytest.approx(float(general), abs=digits(general))
        assert found.tight[i] <= found.upper[i] <= found.published[i]
        assert found.exact[i].upper <= found.tight[i]
        assert found.exact[i].upper == pytest.approx(found.tight[i], rel=1e-10)


@pytest.mark.parametrize(
    "text",
    [pytest.param(text, marks=() if text == LAPLACE05 else pytest.mark.slow) for text in EPSILONS],
)
def test_epsilon_after_rounds(text: str) -> None:
    """Real orders give what whole ones gave, or slightly less; so does the bound without law."""
    base, (tight, general) = base_of(text), EPSILONS[text]
    for rounds, reference, published in zip(ROUNDS, tight, general, strict=True):
        found = subsample(
            tree_of(text), SampleSize(sampling_probability=RATE), [2.0], deltas=[1e-8], count=rounds
        )
        [each] = found.accounted
        # At the edge of the phase transition a real order is worth some per cent.
        assert reference * 0.96 <= each.rdp_classic <= reference + 5.1e-7
        assert each.answer.bound is not None
        assert (each.answer.bound.lower or 0.0) < each.rdp_best <= each.rdp_classic
        any_mechanism = SumCurve(((_General(base, RATE), rounds),))
        ours = best_epsilon(any_mechanism, 1e-8, "classic", infinite_mass=0.0).value
        assert ours <= published + 5.1e-7


class _General:
    """The general bound as a curve."""

    cheap = False
    convex = False
    piecewise = False
    corners = ()
    limit = math.inf

    def __init__(self, base: RenyiCurve, rate: float) -> None:
        self.base, self.rate = base, rate

    def line(self, c: Any) -> Any:
        """Return a line at infinity."""
        return math.inf, np.zeros(len(c))

    def upper(self, c: Any) -> Any:
        """Return K."""
        found = np.full(len(c), np.inf)
        near = c < 600.0
        found[near] = poisson.general_bound(self.base, self.rate, c[near] + 1.0) * c[near]
        return found

    def lower(self, c: Any) -> Any:
        """Return None."""
        del c


@pytest.mark.few(4)
@pytest.mark.parametrize("sigma", [0.5, 1.0, 5.0])
@pytest.mark.parametrize("rate", [0.01, 0.3])
@pytest.mark.parametrize("order", [2, pytest.param(3, marks=pytest.mark.slow), 7])
def test_removing_is_worse_for_gaussians(sigma: float, rate: float, order: int) -> None:
    """Quadrature of both moments (Abadi et al. 2016): removing dominates, and ours contain them."""
    mpmath.mp.dps = 30
    s, q = mpmath.mpf(sigma), mpmath.mpf(rate)

    def moment(power: int) -> Any:
        def integrand(z: Any) -> Any:
            ratio = 1 - q + q * mpmath.exp((2 * z - 1) / (2 * s * s))
            return mpmath.npdf(z, 0, s) * ratio**power

        ends = [-12 * s, 0, 0.5, 1, order * 0.5, order, order + 12 * s]
        return mpmath.quad(integrand, sorted({mpmath.mpf(x) for x in ends}))

    remove, add = moment(order), moment(1 - order)
    assert add <= remove
    tree = tree_of(f"gaussian:sigma={sigma}@poisson:q={rate}")
    laws = realize(tree, Relation.ADD_OR_REMOVE_ONE)
    for name, true in (("remove", remove), ("add", add)):
        [(law, _)] = laws[name].upper.terms
        lower, upper = law.renyi(np.array([order - 1.0]))
        assert lower[0] * (1 - 1e-12) <= float(mpmath.log(true)) <= upper[0] * (1 + 1e-12)
        assert upper[0] <= lower[0] * (1.0 + 1e-6)


@pytest.mark.parametrize(("sigma", "rounds", "exact", "classic", "balle"), FIGURE)
def test_gaussian_without_sampling(
    sigma: int, rounds: int, exact: float, classic: float, balle: float
) -> None:
    """Gaussian noise at delta 1e-4: exact, and what two conversions make of its Renyi curve."""
    tree = tree_of(f"gaussian:sigma={sigma}@{rounds}")
    bound = compose(tree, deltas=[1e-4]).answers[0].bound
    assert bound is not None
    assert bound.upper == pytest.approx(exact, abs=5.1e-7)
    curve = realize(tree, Relation.ADD_OR_REMOVE_ONE)["both"].upper.renyi_curve()
    for conversion, value in (("classic", classic), ("balle", balle)):
        ours = best_epsilon(curve, 1e-4, conversion, infinite_mass=0.0).value
        assert value * (1.0 - 2e-5) <= ours <= value + 5.1e-7


@pytest.mark.parametrize(
    ("rounds", "remove", "add", "classic", "balle"),
    [
        (200, 0.26912564, 0.23246810, 0.44643, 0.31587),
        (600, 0.47522590, 0.43484802, 0.67191, 0.52625),
        (1000, 0.62203038, 0.57969092, 0.85939, 0.68619),
        (1500, 0.77164543, 0.72760550, 1.04811, 0.84860),
    ],
)
def test_sampled_gaussian(
    rounds: int, remove: float, add: float, classic: float, balle: float
) -> None:
    """Gaussian noise on samples: both directions, and two conversions, at real orders."""
    tree = tree_of(f"gaussian:sigma=2@poisson:q=0.01@{rounds}")
    answer = compose(tree, deltas=[1e-5]).answers[0]
    found = {each.adjacency: each.bound for each in answer.directions}
    for name, value in (("remove", remove), ("add", add)):
        bound = found[name]
        assert bound is not None
        assert bound.upper == pytest.approx(value, abs=3e-7)
    curve = realize(tree, Relation.ADD_OR_REMOVE_ONE)["remove"].upper.renyi_curve()
    for conversion, value in (("classic", classic), ("balle", balle)):
        ours = best_epsilon(curve, 1e-5, conversion, infinite_mass=0.0).value
        assert value * (1.0 - 4e-3) <= ours <= value + 5.1e-6


def poisson_pair(tmp: Any) -> str:
    """Write counts with a Poisson law of mean 0.5 without the record and 0.1 with it."""
    mpmath.mp.dps = 40
    rows = []
    for mean in ("0.5", "0.1"):
        mu = mpmath.mpf(mean)
        row = [mpmath.exp(-mu) * mu**k / mpmath.factorial(k) for k in range(25)]
        rows.append([mpmath.nstr(p, 35, min_fixed=1, max_fixed=0) for p in row])
        total = sum(mpmath.mpf(p) for p in rows[-1])
        rows[-1].append(mpmath.nstr(1 - total, 20))
    file = tmp / "counts.csv"
    file.write_text("".join(f"{p} {q}\n" for p, q in zip(*rows, strict=True)))
    return str(file)


def test_counts_are_refused_the_tight_sum(tmp_path: Any) -> None:
    """Poisson laws of means 0.5 and 0.1: adding costs more than the tight sum says (1.0387)."""
    mpmath.mp.dps = 40
    found = subsample(
        tree_of(f"pmf:file={poisson_pair(tmp_path)}"), SampleSize(sampling_probability=0.3), [2.0]
    ).curve
    assert found.tight is None
    assert "differ" in found.reasons["tight"]
    assert found.exact is not None
    assert found.lower is not None
    rate = mpmath.mpf("0.3")
    moments = []
    for power in (2, -1):
        total = mpmath.mpf(0)
        for k in range(60):
            r = mpmath.exp(mpmath.mpf("0.4")) * mpmath.mpf("0.2") ** k
            weight = mpmath.exp(-mpmath.mpf("0.5")) * mpmath.mpf("0.5") ** k / mpmath.factorial(k)
            total += weight * (1 - rate + rate * r) ** power
        moments.append(float(total))
    assert moments == pytest.approx([1.0339, 1.0387], abs=5e-5)
    assert math.exp(found.exact[0].upper) == pytest.approx(moments[1], rel=1e-9)
    assert math.exp(found.lower[0]) == pytest.approx(moments[0], rel=1e-9)
    assert found.upper[0] >= found.exact[0].upper


def test_two_outcomes_are_refused_the_tight_sum() -> None:
    """Yes with probability 0.2 or 0.3: the two directions differ."""
    found = subsample(
        tree_of("bernoulli-pair:p=0.3,other_p=0.2"),
        SampleSize(sampling_probability=0.1),
        [2.0, 3.0, 7.5],
    ).curve
    assert found.tight is None
    assert found.exact is not None
    for order, bound in zip(found.orders, found.exact, strict=True):
        worst = max(
            0.7 * (0.9 + 0.1 * 0.8 / 0.7) ** power + 0.3 * (0.9 + 0.1 * 0.2 / 0.3) ** power
            for power in (order, 1.0 - order)
        )
        assert bound.upper * (order - 1.0) == pytest.approx(math.log(worst), rel=1e-9)


def test_noisy_screening_of_votes() -> None:
    """8192 screenings of 300 sampled votes cost 1.0422 (order 24), by the two-point pairs alone.

    The votes of a class change by one; the count is compared with 210 after noise of deviation 85.
    Both orders of each neighbouring pair, and both roles under sampling, are two directions of two
    pairs.
    """
    from scipy.special import ndtr

    threshold, deviation, rate, uses = 210.0, 85.0, 0.25, 8192
    passes = [float(ndtr((t - threshold) / deviation)) for t in range(301)]
    fails = [float(ndtr((threshold - t) / deviation)) for t in range(301)]
    orders = np.arange(16.0, 40.0)
    worst = np.zeros(len(orders))
    for t in range(0, 300, 3):
        for a, b in ((t, t + 1), (t + 1, t)):
            tree = f"bernoulli-pair:p={passes[a]:.15g},other_p={passes[b]:.15g}@poisson:q={rate}"
            assert fails[a] > 0.0
            laws = realize(tree_of(tree), Relation.ADD_OR_REMOVE_ONE)
            for part in laws.values():
                [(law, _)] = part.upper.terms
                worst = np.maximum(worst, LawCurve(law).upper(orders - 1.0))
    epsilons = (uses * worst - math.log(1e-5)) / (orders - 1.0)
    assert epsilons.min() == pytest.approx(1.0422, abs=2e-4)
    assert orders[int(epsilons.argmin())] == 24.0


def test_curves_alone_need_the_renyi_engine() -> None:
    """An engine that needs a privacy loss says so; auto answers."""
    tree = tree_of("zcdp:rho=0.1+laplace:scale=10@5")
    for engine in ("contour", "fft"):
        with pytest.raises(NotCertifiedError, match="use --engine rdp"):
            compose(tree, deltas=[1e-5], engine=engine)
    found = compose(tree, deltas=[1e-5]).answers[0]
    assert found.method.engine == "rdp"
    assert found.method.order is not None


def test_one_question_has_one_answer() -> None:
    """The same call gives the same object."""

    def ask() -> Subsampled:
        return subsample(tree_of(GAUSSIAN5), SampleSize(sampling_probability=RATE), [2.0, 8.5])

    assert ask() == ask()


# Epsilon at delta 1e-5 from the best real order, converted as in Balle et al. 2020.
BEST_ORDERS = (2.101322, 2.824958, 2.596642, 0.190406, 36.790341)


@pytest.mark.parametrize(
    "index", [0, *(pytest.param(index, marks=pytest.mark.slow) for index in (1, 2, 3, 4))]
)
def test_best_order_of_noisy_descent(index: int) -> None:
    """The best real order to 1e-5, the default not above it, and neither above a peer's grid."""
    noise, rate, rounds = CONFIGURATIONS[index]
    tree = tree_of(f"gaussian:sigma={noise!r}@poisson:q={rate!r}@{rounds}")
    curve = realize(tree, Relation.ADD_OR_REMOVE_ONE)["remove"].upper.renyi_curve()
    balle = best_epsilon(curve, 1e-5, "balle", infinite_mass=0.0).value
    assert balle == pytest.approx(BEST_ORDERS[index], abs=1e-5)
    for delta, peer in zip(DELTAS, load()[index], strict=True):
        [answer] = compose(tree, deltas=[delta], engine="rdp").answers
        exact = compose(tree, deltas=[delta]).answers[0].bound
        assert answer.bound is not None
        assert exact is not None
        assert exact.lower is not None
        assert exact.lower < answer.bound.upper <= peer
        if delta == 1e-5:
            assert answer.bound.upper <= balle


@pytest.mark.slow
@pytest.mark.skipif(find_spec("dp_accounting") is None, reason="needs dp-accounting")
@pytest.mark.parametrize("index", range(5))
def test_the_peer_still_says_so(index: int) -> None:
    """The stored second opinions are those of the library."""
    assert ask_peer(*CONFIGURATIONS[index]) == pytest.approx(load()[index], rel=1e-9)
