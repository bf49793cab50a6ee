"""The mollified contour: atoms, lattices and Laplace noise, used a few times or many."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.realize import default_relation, realize
from privcalc.engine.composition import Composition
from privcalc.engine.contour.answer import scale_at
from privcalc.engine.mollified import answer as mollified
from privcalc.engine.mollified import cells, payoff
from privcalc.engine.mollified.laws import prepared
from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.atomic.phases import NearOne, tilted
from privcalc.losses.lattice.sampled_atoms import sampled_atoms
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from privcalc.bounds import Bound
    from privcalc.engine.mollified.sum import MollifiedSum

Number = Any
# Truths from enumeration of all outcomes in extended precision, expansions of Laplace sums in 50
# digits, and contours over the atoms themselves in extended precision, at two abscissas.
TRUTHS: list[tuple[str, float, dict[str, str]]] = [
    (
        "discrete-gaussian:sigma=2@poisson:q=0.01@1000",
        1e-06,
        {"remove": "0.720916056740211", "add": "0.665531416833374"},
    ),
    (
        "discrete-gaussian:sigma=0.5@poisson:q=0.3@4",
        1e-06,
        {"remove": "18.0584306992972", "add": "1.41472228436952"},
    ),
    (
        "discrete-gaussian:sigma=2@poisson:q=0.01@100000",
        1e-06,
        {"remove": "8.98484724878859", "add": "8.88291463784203"},
    ),
    ("laplace:scale=1@3", 0.01, {"both": "2.921500621653"}),
    ("gaussian:sigma=5@400+rr:p=0.52@400", 1e-12, {"both": "38.9809100098318"}),
]
MORE: list[tuple[str, float, dict[str, str]]] = [
    (
        "discrete-gaussian:sigma=2@poisson:q=0.3@3",
        1e-05,
        {"remove": "1.43473873345742", "add": "0.649827559016708"},
    ),
    (
        "discrete-gaussian:sigma=0.5@poisson:q=0.3@8",
        0.001,
        {"remove": "14.153746605817", "add": "2.53592432600485"},
    ),
    (
        "discrete-gaussian:sigma=1@poisson:q=0.3@1000",
        1e-06,
        {"remove": "112.168473967026", "add": "82.7197307688098"},
    ),
    (
        "discrete-gaussian:sigma=5@poisson:q=0.3@10000",
        1e-06,
        {"remove": "46.3105144708508", "add": "45.6199572008084"},
    ),
    ("laplace:scale=1@10", 1e-05, {"both": "9.98996231115063"}),
    ("gaussian:sigma=5@25+rr:p=0.52@25", 1e-05, {"both": "4.76481293013329"}),
    (
        "discrete-gaussian:sigma=1@poisson:q=0.01@4",
        1e-05,
        {"remove": "0.274075075555743", "add": "0.0311335053417056"},
    ),
    (
        "discrete-gaussian:sigma=2@poisson:q=0.1@4",
        1e-06,
        {"remove": "0.701218228181212", "add": "0.258935291718294"},
    ),
    (
        "discrete-gaussian:sigma=5@poisson:q=0.1@3",
        1e-06,
        {"remove": "0.158853414598802", "add": "0.105125106852204"},
    ),
    (
        "discrete-gaussian:sigma=5@poisson:q=0.3@2",
        0.0001,
        {"remove": "0.266643710330107", "add": "0.197436316252628"},
    ),
    (
        "discrete-gaussian:sigma=0.5@poisson:q=0.1@10",
        1e-06,
        {"remove": "14.7865079409354", "add": "0.985590461664744"},
    ),
    (
        "discrete-gaussian:sigma=50@poisson:q=0.01@1000",
        1e-06,
        {"remove": "0.0205493154670386", "add": "0.0205041304682169"},
    ),
    ("laplace:scale=1@10", 0.001, {"both": "9.52130812704746"}),
    ("laplace:scale=10@12", 0.001, {"both": "0.798771481904258"}),
]


def compositions(text: str) -> dict[str, Composition]:
    """Return the composition of each direction."""
    tree = parse(text).tree
    return {name: each.upper for name, each in realize(tree, default_relation(tree)).items()}


@np.errstate(all="ignore")
def epsilon(composition: Composition, delta: float, tolerance: float = 1e-9) -> Bound:
    """Bracket epsilon."""
    return mollified.mollified_epsilon(composition, delta, delta, tolerance).bound


def holds(bound: Bound, truth: str, width: float) -> None:
    """Assert that a bracket holds a truth of so many digits, and is narrow."""
    assert bound.lower is not None
    digits = len(truth.replace(".", "").lstrip("0"))
    half = mpf(truth) * mpf(10) ** (1 - digits)
    assert bound.lower <= mpf(truth) + half
    assert mpf(truth) - half <= bound.upper
    assert bound.width <= width * bound.upper


@pytest.mark.parametrize(("text", "delta", "truths"), TRUTHS)
def test_the_truth_is_inside(text: str, delta: float, truths: dict[str, str]) -> None:
    """Brackets hold independent truths, to a relative width of 1e-9 or near an atom 5e-9."""
    found = compositions(text)
    assert found.keys() == truths.keys()
    for name, truth in truths.items():
        holds(epsilon(found[name], delta), truth, 5e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "delta", "truths"), MORE)
def test_more_truths_are_inside(text: str, delta: float, truths: dict[str, str]) -> None:
    """The same for the costly ones."""
    found = compositions(text)
    for name, truth in truths.items():
        holds(epsilon(found[name], delta), truth, 1e-8)


class TestPayoff:
    """The theorem of `payoff.py`."""

    @pytest.mark.parametrize("tau", ["1e-3", "0.1", "1"])
    def test_the_gap_lies_between_0_and_g(self, tau: str) -> None:
        """0 <= f_tau - f <= G in 40 digits, with f_tau by its closed form."""
        with mp.workdps(40):
            t = mpf(tau)
            for k in range(-40, 41):
                x = t * mpf(k) / 4
                smooth = mp.ncdf(x / t + t / 2) - mp.exp(-x) * mp.ncdf(x / t - t / 2)
                true = max(mpf(0), 1 - mp.exp(-x))
                gap = t / mp.sqrt(2 * mp.pi) * mp.exp(-x / 2 - x * x / (2 * t * t))
                assert -(mpf(10) ** -35) <= smooth - true <= gap * (1 + mpf(10) ** -30)

    def test_the_transforms(self) -> None:
        """Both transforms by quadrature at a complex point, and the factor between them."""
        with mp.workdps(25):
            t, z = mpf("0.3"), mp.mpc("1.5", "2.5")
            points = [-6, -2, -0.5, 0, 0.5, 2, 6, 40]

            def smooth(x: Number) -> Number:
                payoff_at = mp.ncdf(x / t + t / 2) - mp.exp(-x) * mp.ncdf(x / t - t / 2)
                return payoff_at * mp.exp(-z * x)

            def gap(x: Number) -> Number:
                return t / mp.sqrt(2 * mp.pi) * mp.exp(-x / 2 - x * x / (2 * t * t) - z * x)

            common = mp.exp(t * t * z * (z + 1) / 2)
            assert abs(mp.quad(smooth, points) / (common / (z * (z + 1))) - 1) < 1e-12
            assert abs(mp.quad(gap, points) / (common * payoff.gap_factor(0.3)) - 1) < 1e-12


def random_law(rng: random.Random, most: int = 6) -> AtomicLaw:
    """Return a law with a few atoms of masses that add up to 1."""
    size = rng.randint(2, most)
    weights = [rng.randint(1, 2**20) for _ in range(size)]
    losses = tuple(rng.uniform(-1.0, 1.5) for _ in range(size))
    total = 2 ** math.ceil(math.log2(sum(weights)))
    weights[0] += total - sum(weights)
    return AtomicLaw(losses, tuple(weight / total for weight in weights), loss_units=0.0)


def enumerated(composition: Composition, at: float) -> Fraction | Number:
    """Return delta at an epsilon by going through all multisets of outcomes, in 40 digits."""
    sums = {mpf(0): mpf(1)}
    for law, count in composition:
        assert isinstance(law, AtomicLaw)
        for _ in range(count):
            following: dict[Number, Number] = {}
            for (have, mass), (loss, p) in itertools.product(
                sums.items(), zip(law.losses, law.masses, strict=True)
            ):
                key = have + mpf(loss)
                following[key] = following.get(key, mpf(0)) + mass * mpf(p)
            sums = following
    return mp.fsum(mass * (1 - mp.exp(at - loss)) for loss, mass in sums.items() if loss > at)


def random_composition(rng: random.Random) -> Composition:
    """Return one or two laws, used a few times."""
    return Composition.of(
        [(random_law(rng, 4), rng.randint(2, 5)) for _ in range(rng.choice((1, 2)))]
    )


@pytest.mark.parametrize(
    "seed", [0, 3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 16))]
)
def test_random_atoms_against_enumeration(seed: int) -> None:
    """Delta at random epsilons, and at the very losses of outcomes, in 40 digits."""
    rng = random.Random(seed)
    composition = random_composition(rng)
    law, count = composition.terms[0]
    assert isinstance(law, AtomicLaw)
    with mp.workdps(40):
        for at, width in ((rng.uniform(0.1, 2.0), 1e-6), (abs(count * law.losses[0]), 1e-3)):
            # Beyond the mean of the tilted loss for every tilt there is no saddle.
            if at >= 0.9 * composition.max_loss().upper:
                continue
            with np.errstate(all="ignore"):
                bound = mollified.mollified_delta(composition, at, 1e-7).bound
            truth = enumerated(composition, at)
            assert bound.lower is not None
            assert bound.lower <= truth <= bound.upper
            assert bound.width <= width * bound.upper


def test_many_laws_at_once() -> None:
    """Nine laws, each used once or twice: every product with one of them rounds, too."""
    rng = random.Random(4)
    composition = Composition.of([(random_law(rng, 2), rng.choice((1, 1, 2))) for _ in range(9)])
    with mp.workdps(40), np.errstate(all="ignore"):
        bound = mollified.mollified_delta(composition, 1.25, 1e-8).bound
        truth = enumerated(composition, 1.25)
        assert bound.lower is not None
        assert bound.lower <= truth <= bound.upper
        assert bound.width <= 1e-6 * bound.upper


class TestCells:
    """Bounds on |phi| over cells."""

    @pytest.mark.parametrize("text", ["rr:p=0.7", "laplace:scale=0.7", "discrete-gaussian:sigma=2",
                                      "gaussian:sigma=3"])  # fmt: skip
    def test_a_cell_is_bounded(self, text: str) -> None:
        """No point of a fine grid inside a cell is above its bound."""
        [composition] = compositions(text).values()
        [(law, _)] = composition.terms
        block = prepared(law.on_contour(0.8, 0.0, -30.0), 1)
        for width in (0.01, 0.3, 2.0):
            starts = width * np.arange(200)
            bounds = block.cell_bounds(starts, width, uniform=True)
            inside, _ = block.powers(starts, width / 16, 17, 1)
            inside = np.abs(inside)
            bounds = np.maximum(bounds, math.log(1e-290))
            inside = np.maximum(inside, 1e-300)
            assert (np.log(inside).max(axis=1) <= bounds + 1e-12).all()
            again = block.cell_bounds(starts, width, uniform=False)
            assert np.allclose(np.maximum(again, math.log(1e-290)), bounds, rtol=1e-9, atol=1e-9)

    def test_random_atoms(self) -> None:
        """The same for random atoms, whose bounds are sharp where cells are small."""
        rng = random.Random(5)
        for _ in range(20):
            law = random_law(rng)
            block = prepared(law.on_contour(rng.uniform(0.1, 5.0), 0.0, -30.0), 1)
            width = 10.0 ** rng.uniform(-2.0, 0.5)
            starts = width * np.arange(100)
            bounds = block.cell_bounds(starts, width, uniform=True)
            inside, error = block.powers(starts, width / 16, 17, 1)
            assert (np.log(np.abs(inside)).max(axis=1) <= bounds + 1e-12).all()
            assert error.max() < 1e-11

    def test_what_is_skipped_is_charged(self) -> None:
        """The sum over the nodes left out, evaluated, is below the charge."""
        [composition] = compositions("rr:p=0.7@400+rr:p=0.6@300").values()
        laws = [(prepared(law.on_contour(0.7, 0.0, -30.0), n), n) for law, n in composition]
        nodes = cells.Nodes(0.011, 3000.0, 1e-3, 1e-9, 0.9)
        blocks = cells.choose_blocks(laws, nodes)
        everything = np.arange(round((blocks.end / blocks.step - 0.5) / blocks.size + 0.5))
        every = everything * (blocks.size * blocks.step)
        left_out = np.setdiff1d(np.rint(every / blocks.step), np.rint(blocks.starts / blocks.step))
        assert 0 < len(left_out) < len(every)
        starts = left_out * blocks.step
        t = starts[:, None] + blocks.step * np.arange(blocks.size)
        product = np.exp(-0.5 * (1e-3 * t) ** 2)
        for law, count in laws:
            product = product * np.abs(law.powers(starts, blocks.step, blocks.size, count)[0])
        assert float((product / (math.pi * t**2)).sum()) * blocks.step <= blocks.skipped <= 1e-9
        assert float(product.sum()) * blocks.step / math.pi <= blocks.gap_skipped


class TestLaws:
    """What the engine asks of laws, in 40 digits."""

    @pytest.mark.parametrize("t", [0.0, 0.3, 40.0, 3e4])
    @pytest.mark.parametrize("text", ["laplace:scale=0.7", "rr:p=0.3", "staircase:epsilon=0.7",
                                      "discrete-gaussian:sigma=1.5"])  # fmt: skip
    def test_powers(self, text: str, t: float) -> None:
        """phi^count and K(c) within their errors."""
        [composition] = compositions(text).values()
        [(law, _)] = composition.terms
        c = 0.75
        block = prepared(law.on_contour(c, 0.0, -30.0), 3)
        found, error = block.powers(np.array([t]), 0.25, 4, 3)
        at, at_error = block.log_mgf_at
        with mp.workdps(40):
            base = moment(text, mp.mpc(c))
            assert abs(mp.log(base.real) - at) <= at_error
            for k in range(4):
                z = mp.mpc(c, t + 0.25 * k)
                truth = (moment(text, z) / base * mp.expj(-(t + 0.25 * k) * block.centre)) ** 3
                assert abs(truth - mp.mpc(complex(found[0, k]))) <= error[0, k]
        assert error.max() < 1e-8

    @pytest.mark.parametrize("remove", [True, False])
    def test_the_outcomes_of_a_sampled_discrete_gaussian(self, remove: bool) -> None:
        """Losses and masses within their units, and little left out."""
        variance, q = Fraction(9, 4), 0.125
        law = sampled_atoms(variance, 1, q, -60.0, remove=remove)
        assert law is not None
        with mp.workdps(40):
            v = mpf(9) / 4
            norm = mp.nsum(lambda k: mp.exp(-k * k / (2 * v)), [-mp.inf, mp.inf])
            places = range(-40, 42)
            r = {k: mp.exp(-(mpf(k) ** 2) / (2 * v)) / norm for k in places}
            w = {k: mp.exp(-((mpf(k) - 1) ** 2) / (2 * v)) / norm for k in places}
            mixed = {k: mpf(1) * 7 / 8 * r[k] + w[k] / 8 for k in places}
            first = -(len(law.losses) - 2) // 2
            total = mpf(0)
            for index, (loss, mass) in enumerate(zip(law.losses, law.masses, strict=True)):
                k = first + index
                p, other = (mixed[k], r[k]) if remove else (r[k], mixed[k])
                assert abs(mass / p - 1) <= 32 * mpf(2) ** -53
                truth = mp.log(p / other)
                assert abs(loss - truth) <= law.loss_units * mpf(2) ** -53 * abs(truth)
                total += p
            assert 1 - total <= mp.exp(-60)

    def test_near_one(self) -> None:
        """M - 1 of rare large losses keeps its relative accuracy, with a mass at infinity."""
        losses = np.array([-1e-4, 3e-3, 0.7])
        masses = np.array([0.96, 0.0399, 1e-6])
        infinity = float(1 - sum(Fraction(float(p)) for p in masses))
        near = NearOne.of(losses, masses, 2.0, (infinity, 1e-17), (0.0, 4.0))
        value, error = near.log_mgf(np.array([0.0, 0.5, 30.0]))
        with mp.workdps(40):
            for index, t in enumerate((0.0, 0.5, 30.0)):
                z = mp.mpc(2.0, t)
                terms = [mpf(float(p)) * mp.exp(z * mpf(float(x)))
                         for x, p in zip(losses, masses, strict=True)]  # fmt: skip
                truth = mp.log(mp.fsum(terms))
                assert abs(truth - mp.mpc(complex(value[index]))) <= error[index]
                assert error[index] < 1e-15 * (1.0 + t)


def moment(text: str, z: Number) -> Number:
    """Return M(z) of a few mechanisms in high precision."""
    name, value = text.split(":", 1)[0], mpf(text.split("=", 1)[1])
    if name == "laplace":
        e = 1 / value
        u = z + mpf(1) / 2
        return mp.exp(-e / 2) * (mp.cosh(e * u) + mp.sinh(e * u) / (2 * u))
    if name == "discrete-gaussian":
        v, places = value**2, range(-60, 61)
        norm = mp.fsum(mp.exp(-(mpf(k) ** 2) / (2 * v)) for k in places)
        return mp.fsum(
            mp.exp(-(mpf(k) ** 2) / (2 * v)) / norm * mp.exp(z * (1 - 2 * k) / (2 * v))
            for k in places
        )
    if name == "rr":
        p = 1 - value
        loss = mp.log(p / (1 - p))
        return p * mp.exp(z * loss) + (1 - p) * mp.exp(-z * loss)
    # A staircase has the losses epsilon, 0 and -epsilon.
    law = compositions(text)["both"].terms[0][0]
    assert isinstance(law, AtomicLaw)
    e = value
    exact = {1: e, 0: mpf(0), -1: -e}
    masses = {
        round(loss / float(e)): mpf(m) for loss, m in zip(law.losses, law.masses, strict=True)
    }
    return mp.fsum(m * mp.exp(z * exact[k]) for k, m in masses.items())


def proved(source: MollifiedSum, at: float) -> tuple[float, float]:
    """Return both ends of delta at an epsilon, in the units of the line."""
    found = source.deltas(np.array([at]))
    return float(found.lower[0]), float(found.upper[0])


class TestHonesty:
    """The same bracket by other lines; a term that is left out is noticed."""

    @pytest.mark.parametrize("text", ["laplace:scale=1@3", "rr:p=0.7@30+rr:p=0.6@30",
                                      "discrete-gaussian:sigma=2@poisson:q=0.3@3"])  # fmt: skip
    def test_brackets_of_other_lines_meet(self, text: str) -> None:
        """Another abscissa, another tau: the brackets of delta have a point in common."""
        composition = next(iter(compositions(text).values()))
        at = 0.6 if "discrete" in text else 2.5
        c, log_scale, _ = scale_at(composition, at)
        ends = []
        for shift, coarse in ((1.0, 1.0), (0.7, 1.0), (1.4, 1.0), (1.0, 2.0), (1.0, 0.5)):
            with np.errstate(all="ignore"):
                aim = mollified.Aim(c * shift, at, log_scale, 1e-6, c, coarse)
                ends.append(proved(mollified.mollified_sum(composition, aim), at))
        assert max(low for low, _ in ends) <= min(high for _, high in ends)
        assert min(high - low for low, high in ends) < 1e-4

    def test_without_the_gap_a_lower_end_is_false(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Delta next to an atom lies between the two sums, and below the first."""
        law = AtomicLaw((0.5, -0.5), (0.625, 0.375), loss_units=0.0)
        composition = Composition.of([(law, 3)])
        monkeypatch.setattr("privcalc.engine.mollified.sum.gap_factor", lambda _: 0.0)
        with mp.workdps(40), np.errstate(all="ignore"):
            at = 0.5
            bound = mollified.mollified_delta(composition, at, 1e-3).bound
            assert bound.lower is not None
            assert enumerated(composition, at) < bound.lower

    def test_without_the_aliasing_a_lower_end_is_false(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """On a line whose step is too long the sum is above delta by what is charged."""
        law = AtomicLaw((0.5, -0.5), (0.625, 0.375), loss_units=0.0)
        composition = Composition.of([(law, 3)])
        monkeypatch.setattr(mollified, "best_step", lambda *_: (2.0, 3.0))
        truth = enumerated(composition, 0.7)
        aim = mollified.Aim(0.5, 0.7, 0.0, 1e-6, 1.0, 1.0)
        with np.errstate(all="ignore"):
            low, high = proved(mollified.mollified_sum(composition, aim), 0.7)
            assert low <= truth <= high
            monkeypatch.setattr("privcalc.engine.mollified.sum.aliasings", lambda *_: 0.0)
            low, _ = proved(mollified.mollified_sum(composition, aim), 0.7)
        assert low > truth

    def test_without_the_slope_a_cell_is_not_bounded(self) -> None:
        """Half of the bound's distance from the middle is not enough for all cells."""
        rng = random.Random(8)
        missed = 0
        for _ in range(20):
            law = random_law(rng)
            losses, masses = np.array(law.losses), np.array(law.masses)
            phases, *_ = tilted(losses, masses, 1.0, loss_units=0.0, mass_units=1.0)
            starts = 0.8 * np.arange(50)
            inside = np.log(np.abs(phases.blocks(starts, 0.05, 17))).max(axis=1)
            bounds = phases.cell_bounds(starts, 0.8, uniform=False)
            # The cell of half the width around the same middle.
            half = phases.cell_bounds(starts + 0.2, 0.4, uniform=False)
            assert (inside <= bounds + 1e-12).all()
            missed += int((inside > half + 1e-12).sum())
        assert missed > 0


def test_so_few_nodes_that_everything_is_smoothed_are_refused() -> None:
    """Losses of that size want a tau whose gap overflows; an error says so."""
    tree = parse("bernoulli-pair:p=0.032,other_p=0.165@166952017").tree
    for laws in realize(tree, default_relation(tree)).values():
        with pytest.raises(NotCertifiedError, match="smooths over"):
            mollified.mollified_delta(laws.upper, 0.022, 1e-14)
