"""Samples of fixed size, and sampled Laplace noise: densities with edges beside atoms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.realize import default_relation, realize
from privcalc.engine.inversion.decaying import DECAYING
from privcalc.engine.inversion.edged import EdgedBlocks
from privcalc.engine.inversion.smoothed import SMOOTHED
from privcalc.engine.planner import certified_epsilon
from privcalc.losses.sampled.cut import FarSums
from privcalc.losses.sampled.glued import GluedContour, GluedDensityLaw
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition

Number = Any
STEP = 0.25


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


def composition(text: str, direction: str) -> Composition:
    """Return the composition of one direction."""
    tree = parse(text).tree
    return realize(tree, default_relation(tree))[direction].upper


def laplace(scale: str) -> Any:
    """Return the profile of Laplace noise at a = e^epsilon >= 1."""
    e = 1 / mpf(scale)
    return lambda a: max(mpf(0), 1 - mp.sqrt(a) * mp.exp(-e / 2))


def gaussian(sigma: str) -> Any:
    """Return the profile of Gaussian noise."""
    mu = 1 / mpf(sigma)

    def profile(a: Number) -> Number:
        e = mp.log(a)
        return mp.ncdf(mu / 2 - e / mu) - a * mp.ncdf(-mu / 2 - e / mu)

    return profile


def by_parts(profile: Any, q: str, top: Number, turns: int) -> Any:
    """Return M(s) of the glued pair from the profile alone.

    M(s) = 1 + s (s + 1) int_1^inf (a^(s - 1) + a^(-s - 2)) H(a) da, H(a) = q h(1 + (a - 1) / q):
    two integrations by parts of E f(dP / dQ) with f convex, on either side of a = 1, and symmetry.
    With 1 + (a - 1) / q = e^b, da = q e^b db, by Gauss-Legendre in 25 digits.
    """
    rate = mpf(q)
    nodes = [mpf(float(x)) for x in np.polynomial.legendre.leggauss(24)[0]]
    for _ in range(3):
        for i, x in enumerate(nodes):
            value, slope = legendre(24, x)
            nodes[i] = x - value / slope
    weights = [2 / ((1 - x * x) * legendre(24, x)[1] ** 2) for x in nodes]
    logs, terms = [], []
    half = top / (2 * turns)
    for i in range(turns):
        for x, w in zip(nodes, weights, strict=True):
            b = half * (2 * i + 1 + x)
            logs.append(mp.log1p(rate * mp.expm1(b)))
            terms.append(half * w * rate * mp.exp(b) * rate * profile(mp.exp(b)))

    def mgf(s: Number) -> Number:
        pairs = zip(terms, logs, strict=True)
        return 1 + s * (s + 1) * mp.fsum(
            w * (mp.exp((s - 1) * b) + mp.exp(-(s + 2) * b)) for w, b in pairs
        )

    return mgf


def legendre(n: int, x: Number) -> tuple[Number, Number]:
    """Return P_n and its derivative."""
    before, value = mpf(1), x
    for k in range(2, n + 1):
        before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
    return value, n * (x * value - before) / (x * x - 1)


CASES = [
    ("laplace:scale=2@wor:q=0.1@2", laplace, "2", "0.1", 0.5),
    ("laplace:scale=0.4@wor:q=0.7@2", laplace, "0.4", "0.7", 2.5),
    ("gaussian:sigma=1.5@wor:q=0.05@2", gaussian, "1.5", "0.05", 9.0),
]


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("case", "c"),
    # Each case once, each abscissa at least once; the other pairs are slow tests.
    [
        pytest.param(
            case, c, id=f"{c}-{case[0]}", marks=[pytest.mark.slow] * ((c > 1.0) is not (i == 1))
        )
        for i, case in enumerate(CASES)
        for c in (0.5, 6.0)
    ],
)
def test_the_transform_of_the_profile(case: tuple[Any, ...], c: float) -> None:
    """M on the real line and on shifted ones is that of the profile, within the errors said."""
    text, profile, parameter, q, top = case
    law: Any = composition(text, "replace").terms[0][0]
    blocks = EdgedBlocks.of(law, c, 1)
    turn = blocks._turn
    with mp.workdps(25):
        mgf = by_parts(profile(parameter), q, mpf(top), 60)
        at = mgf(mpf(c))
        for t in (0.0, 1.0, 0.3 * turn, 0.99 * turn, 1.01 * turn, 5.3 * turn):
            truth = complex(mgf(mp.mpc(c, t)) / at)
            found, wrong = blocks.powers(np.array([t]), STEP, 1, 1)
            assert abs(found[0, 0] - truth) <= wrong[0, 0] + 1e-15
            assert wrong[0, 0] <= 2e-11
            cubed, wrong = blocks.powers(np.array([t]), STEP, 1, 3)
            assert abs(cubed[0, 0] - truth**3) <= wrong[0, 0] + 1e-15
        value, error = law.on_contour(c, 4.0, -32.0).log_mgf(np.array([0.0, 4.0]))
        for t, found, wrong in zip((0, 4), value, error, strict=True):
            assert abs(found - complex(mp.log(mgf(mp.mpc(c, t))))) <= wrong + 1e-15
            assert wrong <= 1e-12


def sampled_profile(profile: Any, q: str, direction: str) -> Any:
    """Return the profile of a sample at every a > 0."""
    rate = mpf(q)

    def above(a: Number) -> Number:
        return rate * profile(1 + (a - 1) / rate)

    def remove(a: Number) -> Number:
        if a >= 1:
            return above(a)
        inner = 1 + (a - 1) / rate
        if inner <= 0:
            return 1 - a
        return rate * (1 - inner + inner * profile(1 / inner))

    def symmetric(a: Number) -> Number:
        return above(a) if a >= 1 else 1 - a + a * above(1 / a)

    if direction == "replace":
        return symmetric
    if direction == "remove":
        return remove
    return lambda a: 1 - a + a * remove(1 / a)


def twice(profile: Any, ends: list[Number], epsilon: Number) -> Number:
    """Return delta of two uses, from the profile H of one alone.

    Q(dP / dQ > a) = -H'(a), so dP has the density a H''(a) in a, and an atom where H' jumps; delta
    is E_P H(e^{epsilon - L}).

    Args:
        profile: H at every a > 0.
        ends: where H is not smooth.
        epsilon: of both uses.
    """
    a0 = mp.exp(epsilon)
    total = mpf(0)
    gap = mpf(10) ** -12
    for end in ends:
        jump = mp.diff(profile, end, direction=1, h=gap) - mp.diff(
            profile, end, direction=-1, h=gap
        )
        total += jump * end * profile(a0 / end)
    breaks = sorted({*ends, *(a0 / end for end in ends if ends[0] < a0 / end < ends[-1])})
    density = lambda a: mp.diff(profile, a, 2) * a * profile(a0 / a)  # noqa: E731
    return total + mp.quad(density, breaks)


def two_uses(text: str, direction: str, epsilon: str, profile: Any, ends: list[Number]) -> None:
    """Assert that a bracket of two uses holds the epsilon of a delta."""
    with mp.workdps(30):
        delta = float(twice(profile, ends, mpf(epsilon)))
    bound = SMOOTHED.epsilon(composition(text, direction), delta, delta, 1e-9).bound
    assert bound.lower is not None
    assert bound.lower <= float(epsilon) * (1 + 1e-12)
    assert float(epsilon) * (1 - 1e-12) <= bound.upper
    assert bound.width <= 1e-8 * bound.upper


@pytest.mark.dear("laplace:scale=2@wor:q=0.1@2-re")
@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("text", "direction", "epsilon"),
    [
        ("laplace:scale=2@poisson:q=0.1@2", "remove", "0.07"),
        ("laplace:scale=2@poisson:q=0.1@2", "add", "0.05"),
        ("laplace:scale=2@wor:q=0.1@2", "replace", "0.083"),
        ("laplace:scale=0.5@poisson:q=0.8@2", "add", "2.1"),
    ],
)
def test_two_uses(text: str, direction: str, epsilon: str) -> None:
    """Deltas of two uses by integration of the profile of one, in 30 digits."""
    scale, q = (each.split("=")[1] for each in text.split("@")[:2])
    with mp.workdps(30):
        profile = sampled_profile(laplace(scale), q, direction)
        e, rate = 1 / mpf(scale), mpf(q)
        low, high = 1 + rate * mp.expm1(-e), 1 + rate * mp.expm1(e)
        ends = {
            "remove": [low, high],
            "add": [1 / high, 1 / low],
            "replace": [1 / high, mpf(1), high],
        }[direction]
    two_uses(text, direction, epsilon, profile, ends)


@pytest.mark.parametrize(
    ("text", "direction", "delta", "truth"),
    [
        (
            "gaussian:sigma=8,sensitivity=2@wor:n=60000,m=256@14063",
            "replace",
            1e-5,
            "0.4936965191158168",
        ),
        ("laplace:scale=5@poisson:q=0.01@100", "remove", 1e-5, "0.05698224111"),
        ("laplace:scale=5@poisson:q=0.01@100", "add", 1e-5, "0.05574444698"),
    ],
)
def test_truths(text: str, direction: str, delta: float, truth: str) -> None:
    """The cells of the note on mixed laws, from the profile alone or by another engine."""
    bound = certified_epsilon(composition(text, direction), delta, 1e-9).bound
    assert bound.lower is not None
    last = 10.0 ** -len(truth.split(".")[1])
    assert bound.lower - last <= float(truth) <= bound.upper + last
    assert bound.width <= 1e-9 * bound.upper


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "text",
    [
        "gaussian:sigma=1@wor:n=60000,m=256@10000",
        "gaussian:sigma=0.8@wor:q=0.02@25",
        "laplace:scale=1@wor:q=0.01@40",
    ],
)
def test_both_contours_and_the_lattice_agree(text: str) -> None:
    """Brackets of the two contours, and of the FFT, meet."""
    known = composition(text, "replace")
    bounds = [
        DECAYING.epsilon(known, 1e-6, 1e-6, 1e-6).bound,
        SMOOTHED.epsilon(known, 1e-6, 1e-6, 1e-8).bound,
        certified_epsilon(known, 1e-6, 1e-4, engine="fft").bound,
    ]
    assert max(b.lower or 0.0 for b in bounds) <= min(b.upper for b in bounds)
    assert bounds[1].width <= 1e-7 * bounds[1].upper


TEXTS = [
    ("laplace:scale=2@wor:q=0.1@2", "replace"),
    ("laplace:scale=0.5@poisson:q=0.3@2", "remove"),
    ("gaussian:sigma=0.7@wor:q=0.2@2", "replace"),
]


def moduli(blocks: EdgedBlocks, most: float) -> tuple[Any, Any]:
    """Return |phi| on a fine grid."""
    t = np.linspace(most / 6000.0, most, 6000)
    return t, np.abs(blocks.powers(t, STEP, 1, 1)[0][:, 0])


@pytest.mark.parametrize(("text", "direction"), TEXTS)
def test_bounds_on_cells(text: str, direction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They hold near and far, and everywhere beyond; without atoms or edges they do not."""
    law: Any = composition(text, direction).terms[0][0]
    blocks = EdgedBlocks.of(law, 3.0, 1)
    t, size = moduli(blocks, 3.0 * blocks._turn)

    def holds() -> bool:
        for width in (0.02 * t[-1], 0.002 * t[-1]):
            starts = np.arange(0.0, t[-1], width)
            bounds = np.exp(blocks.cell_bounds(starts, width, uniform=True))
            cell = np.minimum((t / width).astype(int), len(starts) - 1)
            if not (size <= bounds[cell] * (1 + 1e-9) + 1e-12).all():
                return False
        later = np.maximum.accumulate(size[::-1])[::-1]
        if not (later <= np.exp(blocks.beyond(t)) * (1 + 1e-9)).all():
            return False
        far = 1e5 * t[:40]
        there = np.abs(blocks.powers(far, STEP, 1, 1)[0][:, 0])
        return bool((there <= np.exp(blocks.beyond(far)) * (1 + 1e-9)).all())

    assert holds()
    monkeypatch.setattr(blocks, "_variation", 0.0)
    assert not holds()
    monkeypatch.undo()
    monkeypatch.setattr(blocks, "_atoms_mass", 0.0)
    assert not holds()
    monkeypatch.undo()
    nothing = lambda *_, uniform: np.full(1, -50.0)  # noqa: ARG005, E731
    monkeypatch.setattr(type(blocks._atoms), "cell_bounds", nothing)
    assert not holds()


@pytest.mark.parametrize(("text", "direction"), TEXTS)
def test_bounds_beyond_a_point(text: str, direction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain contour's supremum is above |phi| at all later t; not without its terms."""
    law: Any = composition(text, direction).terms[0][0]
    contour = law.on_contour(3.0, 1.0, -30.0)
    t, size = moduli(EdgedBlocks.of(law, 3.0, 1), 200.0)
    later = np.maximum.accumulate(size[::-1])[::-1]
    chosen = [300, 1200, 5000]

    def holds() -> bool:
        return all(later[i] <= contour.modulus_supremum(float(t[i])) * (1 + 1e-9) for i in chosen)

    assert holds()
    atoms, variation = contour.far()
    monkeypatch.setattr(contour, "far", lambda: (atoms, 0.0))
    assert not holds()
    if "laplace" in text:
        monkeypatch.setattr(contour, "far", lambda: (0.0, variation))
        assert not holds()


@pytest.mark.parametrize("text", ["gaussian:sigma=0.7@wor:q=0.2@2", "gaussian:sigma=2@wor:q=0.5@2"])
def test_a_cut(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is cut is missing from M, and charged; the loss 0 keeps its mass."""
    law = composition(text, "replace").terms[0][0].truncated(math.log(1e-3))
    assert isinstance(law, GluedDensityLaw)
    high, q = law.parts()[0].high, law.up.q
    mu = law.up.ratio.pieces[0].deviation
    c = 1.5

    def f(x: Number) -> Number:
        return mp.npdf(x, -(mpf(mu) ** 2) / 2, mu)

    def one(x: Number) -> Number:
        return 1 + mpf(q) * mp.expm1(x)

    with mp.workdps(30):
        kept = mp.quad(lambda x: f(x) * (one(x) ** (c + 1) + one(x) ** -c), [0, high / 2, high])
        dropped = mp.quad(lambda x: f(x) * (1 + one(x)), [high, high + 5, high + 40])
        still = 1 - mp.quad(lambda x: f(x) * (1 + one(x)), [0, high / 2, high]) - dropped
        truth = float(mp.log(kept + still))
    low, most = law.middle
    assert low <= float(still) * (1 + 1e-15)
    assert float(still) * (1 - 1e-15) <= most <= low + 1e-13
    assert float(dropped) <= math.exp(law.log_truncated_mass)

    def off() -> float:
        value, error = law.on_contour(c, 1.0, -32.0).log_mgf(np.zeros(1))
        return abs(float(value[0].real) - truth) - float(error[0])

    assert off() <= 1e-15
    monkeypatch.setattr(GluedDensityLaw, "outside", lambda _: (0.0, 0.0))
    assert off() > 1e-6


def test_long_rows_after_short_ones() -> None:
    """What is prepared for short rows does not serve those that go on beyond it."""
    law: Any = composition("laplace:scale=2@wor:q=0.1@2", "replace").terms[0][0]
    edged, starts = law.edged(3.0), np.array([110.0])
    used, fresh = (FarSums(edged, 60.0, -12.0) for _ in range(2))
    used.densities(starts, 1.0, 1)
    for found, other in zip(
        used.densities(starts, 1.0, 900), fresh.densities(starts, 1.0, 900), strict=True
    ):
        assert (found == other).all()


def test_errors_that_do_not_count_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A half without its error, and lines without theirs."""
    law: Any = composition("laplace:scale=2@wor:q=0.1@2", "replace").terms[0][0]
    exact = law.on_contour(3.0, 60.0, -32.0)
    t = np.linspace(0.0, 60.0, 7)

    def differs(contour: GluedContour) -> bool:
        value, error = contour.minus_one(t)
        truth, slack = exact.minus_one(t)
        return bool((np.abs(value - truth) > error + slack).any())

    rough = law.on_contour(3.0, 60.0, -3.0)
    assert not differs(rough)
    far = FarSums(law.edged(3.0), 60.0, -3.0)
    fine = FarSums(law.edged(3.0), 60.0, -32.0)
    starts = np.array([60.0, 100.0])
    (value, wrong), (truth, slack) = (each.densities(starts, 1.0, 4) for each in (far, fine))
    off = np.abs(value - truth)
    assert (off <= (wrong + slack)[:, None]).all()
    assert (off > slack[:, None]).any()
    monkeypatch.setattr("privcalc.losses.quadrature.MARGIN", 0.0)
    assert differs(rough)


@pytest.mark.dear("laplace:scale=2.57@poisson:q=0")
@pytest.mark.parametrize(
    ("text", "delta"),
    [
        ("laplace:scale=102@poisson:q=0.137@236000+laplace:scale=8.45@1000", 1.49e-8),
        ("laplace:scale=17@poisson:q=0.000104@314000+laplace:scale=192@poisson:q=0.01@194", 1e-18),
        ("laplace:scale=2.57@poisson:q=0.00025@50+laplace:scale=9.8@poisson:q=0.04@50", 1e-3),
    ],
)
def test_many_uses_multiply_small_errors(text: str, delta: float) -> None:
    """What nodes for long phases know of M - 1 at t = 0 would be 1e-14, and uses multiply that."""
    both = composition(text, "remove")
    plain = DECAYING.epsilon(both, delta, delta, 1e-10).bound
    found = SMOOTHED.epsilon(both, delta, delta, 1e-10).bound
    assert found.lower is not None
    assert plain.lower is not None
    assert found.upper - found.lower < 1e-9 * found.upper
    assert found.lower <= plain.upper
    assert plain.lower <= found.upper
