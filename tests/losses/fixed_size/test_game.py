"""The game from above and from below, against triples and strategies on a grid of the plane."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from privcalc.errors import NotCertifiedError
from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.fixed_size import laws
from privcalc.losses.fixed_size.game import Game, parabolas
from privcalc.losses.fixed_size.laws import Choice, Played
from privcalc.losses.fixed_size.strategies import Strategies, law_below, time_values_of
from privcalc.losses.fixed_size.triples import curvature, poisson_values, time_values
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.sampled.replaced import glued
from privcalc.record import replace
from tests.truths import triples

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.fixed_size.game import Kernel
    from privcalc.numerics.rounding import Array

LOG_DELTA = math.log(1e-5)


def above(q: float, mu: float, uses: int, part: float = 0.1, intervals: int = 10) -> Played:
    """Play from above."""
    scale = Choice(q, mu, uses).scale(LOG_DELTA, part, 20_000)
    assert scale is not None
    played = Game(q, mu, scale, intervals)
    values = played.value(uses)
    return Played(scale, played.circle.step, values, left_out=played.left_out(uses))


def below(q: float, mu: float, uses: int, part: float = 0.03) -> Played:
    """Play from below."""
    scale = Choice(q, mu, uses).scale(LOG_DELTA, part, 60_000)
    assert scale is not None
    played = Strategies(q, mu, scale)
    return Played(scale, played.circle.step, played.value(uses), played.turns(uses))


def chords(game: Game, w: Array) -> Callable[[Array], Array]:
    """Return V, of which w is known, between the points of one turn around 0."""
    circle = game.circle
    half = circle.size // 2
    points = circle.step * np.arange(-half, half)
    values = np.roll(w, half)[: 2 * half] * np.exp((circle.lam + 1.0) * points)

    def value(x: Array) -> Array:
        found: Array = np.interp(x, np.exp(points), values)
        return found

    return value


def after(game: Game, steps: int) -> Array:
    """Return w after so many single steps."""
    circle = game.circle
    places = circle.step * np.arange(circle.size)
    w = np.exp(-circle.lam * places) - np.exp(-(circle.lam + 1.0) * places)
    for _ in range(steps):
        w = game._block(w, 1)
    found: Array = w
    return found


@pytest.fixture(scope="module")
def played() -> tuple[Game, list[Array]]:
    """A game with W after 0, 3 and 12 steps."""
    scale = Choice(0.05, 1.0, 60).scale(LOG_DELTA, 0.05, 20_000)
    assert scale is not None
    game = Game(0.05, 1.0, scale, 10)
    return game, [after(game, steps) for steps in (0, 3, 12)]


def excess(played: tuple[Game, list[Array]], sides: triples.Sides, shift: int) -> float:
    """Return by how much one step of a triple is above the bound, relatively, at most."""
    game, known = played
    worst = -math.inf
    for w in known:
        bound = chords(game, game._block(w, 1))
        value = chords(game, w)
        for multiple in (-6, -2, 0, 1):
            place = (multiple * 20 + shift) * game.circle.step
            x = math.exp(place)
            truth = triples.mean_of(value, game.q, sides, x)
            most = float(bound(np.array([x]))[0])
            worst = max(worst, truth / most - 1.0)
    return worst


@pytest.mark.dear("0.0-False]")
@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("y", [0.0, 0.15, 0.5, 0.85, 1.0])
def test_a_step_of_either_family_is_below(
    played: tuple[Game, list[Array]], y: float, *, mirrored: bool
) -> None:
    """For W after several steps, at points of the lattice."""
    sides = triples.family(y, 1.0, mirrored=mirrored)
    assert excess(played, sides, 0) < 1e-6


@pytest.mark.slow
def test_a_step_of_any_triple_is_below(played: tuple[Game, list[Array]]) -> None:
    """Triangles at random, none of whose sides is longer than 1."""
    rng = np.random.default_rng(3)
    for _ in range(6):
        sides = triples.random_sides(rng, 1.0)
        assert excess(played, sides, int(rng.integers(20))) < 1e-6


def test_the_rest_of_a_block_grows_with_the_moment(
    played: tuple[Game, list[Array]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left of the sum over k counts m for every other step: a constant goes through them.

    Where steps gain nothing but a constant, D of them gain D m^(D - 1) times it.
    """
    game, (_, _, w) = played
    circle = game.circle
    gained = np.full(circle.size, float(w.max()))
    monkeypatch.setattr(game, "_gained", lambda *_: gained)
    block = game._block(w, 9)
    law = game.base.total
    least = 9.0 * law**8 * float(gained[0])
    assert block.min() >= least * (1.0 - 1e-9)
    # S of a constant is m - m_B of it, so that the whole is at least that of single steps.
    rise = (game.moment - law) * 36.0 * law**7 * float(gained[0])
    assert block.min() >= (least + 0.9 * rise) * (1.0 - 1e-9)


@pytest.mark.slow
def test_what_is_cut_off_is_counted() -> None:
    """Losses of R beyond the last step of a kernel count as if they told everything."""
    q, mu, uses = 0.05, 1.0, 10
    scale = Choice(q, mu, uses).scale(LOG_DELTA, 0.2, 4000)
    assert scale is not None
    for part in (0.4, 0.7, 1.0):
        game = Game(q, mu, replace(scale, reach=part * scale.reach), 4)
        last = math.ceil(part * scale.reach / game.circle.step) * game.circle.step
        u = np.arange(-12.0, 40.0, 1e-4)
        density = np.exp(-0.5 * u * u) * 1e-4 / math.sqrt(2.0 * math.pi)
        ratio = 1.0 - q + q * np.exp(mu * u - 0.5 * mu * mu)
        omega = float(density @ np.maximum(ratio - math.exp(last), 0.0))
        assert uses * omega <= game.left_out(uses) * (1.0 + 1e-6)
        assert game.left_out(uses) <= 1.2 * uses * omega + 1e-15


@pytest.mark.slow
@pytest.mark.few(2)
@pytest.mark.parametrize("part", [0.3, 0.45, 0.6])
def test_games_that_cut_off_much_are_above(part: float) -> None:
    """What is cut off is in the bound, whether much or little."""
    q, mu, uses = 0.1, 1.0, 40
    scale = Choice(q, mu, uses).scale(LOG_DELTA, 0.1, 20_000)
    assert scale is not None
    game = Game(q, mu, replace(scale, reach=part * scale.reach), 8)
    top = Played(scale, game.circle.step, game.value(uses), left_out=game.left_out(uses))
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        truth = triples.composed_delta(q, (mu, 0.0, mu), uses, epsilon, 0.002)
        assert truth <= top.above(epsilon) * (1.0 + 1e-3)
    least = replace(scale, reach=0.1, lam=0.3)
    assert Game(q, mu, least, 4).left_out(uses) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("q", "mu", "uses"), [(0.1, 1.0, 40), (0.02, 0.5, 300)])
def test_constant_triples_are_below_the_game(q: float, mu: float, uses: int) -> None:
    """Of random triples, each used all the time, and of the three that strategies play."""
    top, bottom = above(q, mu, uses), below(q, mu, uses)
    epsilon = top.scale.epsilon * 1.05
    rng = np.random.default_rng(8)
    three = [(mu, mu, mu), (mu, 0.0, mu), (0.0, mu, mu)]
    for sides in [*three, *(triples.random_sides(rng, mu) for _ in range(4))]:
        delta = triples.composed_delta(q, sides, uses, epsilon, 0.002 * q * mu * 10.0)
        assert delta <= top.above(epsilon) * (1.0 + 1e-3)
        if sides in three:
            assert bottom.below(epsilon) >= delta * (1.0 - 2e-2)
    assert bottom.below(epsilon) <= top.above(epsilon) <= 1.15 * bottom.below(epsilon)


@pytest.mark.slow
def test_two_steps_by_brute_force() -> None:
    """V_2 of the best of many triples, each step, at a few likelihood ratios in between."""
    q, mu, epsilon = 0.3, 1.0, 0.9
    sides = [
        triples.family(y, mu, mirrored=way) for y in (0.0, 0.3, 0.6, 1.0) for way in (False, True)
    ]
    losses = np.linspace(-3.0, 3.0, 301)
    second = np.full(len(losses), -np.inf)
    for each in sides:
        mass, ratio = triples.plane(q, each, 0.08)
        values = [
            float(mass @ np.maximum(math.exp(x) * ratio - math.exp(epsilon), 0.0)) for x in losses
        ]
        second = np.maximum(second, values)
    grid = np.exp(losses)
    best = max(
        triples.mean_of(lambda x: np.interp(x, grid, second), q, each, 1.0) for each in sides
    )
    scale = Choice(q, mu, 2).scale(math.log(best), 0.02, 20_000)
    assert scale is not None
    game = Game(q, mu, scale, 10)
    top = Played(scale, game.circle.step, game.value(2)).above(epsilon)
    plays = Strategies(q, mu, scale)
    bottom = Played(scale, plays.circle.step, plays.value(2), plays.turns(2)).below(epsilon)
    assert bottom <= best * (1.0 + 2e-3)
    assert best <= top * (1.0 + 2e-3)
    assert top <= bottom * 1.05


def test_laws_below_have_profiles_below() -> None:
    """At points between those of the lattice, too, where chords are above a convex function."""
    points = np.linspace(-2.0, 2.0, 161)
    mu = 0.7

    def values(losses: Array) -> Array:
        return poisson_values(0.4, mu, losses)[0]

    masses = law_below(points, values(points))
    x = np.exp(points[::2])
    fine = np.linspace(-1.9, 1.9, 977)
    found = np.interp(np.exp(fine), x, time_values_of(x, masses))
    assert (found <= values(fine)).all()
    assert masses.sum() == pytest.approx(1.0)
    assert float(masses @ x) == pytest.approx(1.0, rel=1e-4)


def member(q: float, mu: float, tau: float, losses: Array) -> tuple[Array, Array]:
    """Return time values of family + from below and from above, nearly the same."""
    if tau == 0.0:
        return poisson_values(q, mu, losses)
    return time_values(q, mu, tau * tau, losses, fine=0.004, under=0.004)


@pytest.mark.slow
@pytest.mark.few(2)
@pytest.mark.dear("0.3-1.5-3e-06")
@pytest.mark.parametrize(
    ("q", "mu", "missed"), [(0.1, 1.0, 1e-6), (0.01, 0.5, 0.0), (0.3, 1.5, 3e-6), (0.02, 1.0, 2e-7)]
)
def test_parabolas_over_chords_are_above_time_values(q: float, mu: float, missed: float) -> None:
    """Between the nodes of wide intervals, at losses of all sizes; chords alone are not."""
    count = 3
    up = q * mu * np.geomspace(0.05, 60.0, 40)
    losses = np.concatenate([-up[::-1], up])
    taus = np.arange(count + 2) / count
    nodes = [member(q, mu, tau, losses) for tau in taus.tolist()]
    below, above = (np.array([node[i] for node in nodes]) for i in (0, 1))
    bounds = np.array(
        [
            curvature(q, mu, losses, (i / count) ** 2, ((i + 1) / count) ** 2)
            for i in range(count + 1)
        ]
    )
    bends = parabolas(below, above, bounds, losses < 0.0, 1.0 / count)
    astray = 0.0
    for i in range(count):
        for p in (0.1, 0.3, 0.5, 0.7, 0.9):
            truth = member(q, mu, (i + p) / count, losses)[0]
            chord = (1.0 - p) * above[i] + p * above[i + 1]
            assert (truth <= chord + bends[i] * p * (1.0 - p) + 1e-12).all()
            astray = max(astray, float((truth - chord)[losses < 0.0].max()))
    assert astray >= missed


@pytest.mark.parametrize("falls", [True, False])
def test_parabolas_need_the_bound_on_curvature(*, falls: bool) -> None:
    """Waves over a line that is all that nodes show are below, also where the secants are lines."""
    count, height = 4, 0.01
    width = 1.0 / count

    def wave(taus: Array) -> Array:
        found: Array = 2.0 + (-1.0 if falls else 1.0) * taus
        found += height * np.sin(math.pi * taus / width)
        return found

    nodes = wave(np.arange(count + 2) * width)[:, None]
    bound = np.full((count + 1, 1), height * (math.pi / width) ** 2)
    bends = parabolas(nodes, nodes, bound, np.array([not falls]), width)[:, 0]
    p = np.linspace(0.0, 1.0, 101)
    for i in range(count):
        chord = (1.0 - p) * nodes[i, 0] + p * nodes[i + 1, 0]
        assert (wave((i + p) * width) <= chord + bends[i] * p * (1.0 - p) + 1e-12).all()
    assert bends[1:].max() < 30.0 * height


def test_the_moment_is_that_of_removing_or_more() -> None:
    """E_Q Y^(lam + 1) of R by a sum over the line, and a little more."""
    q, mu = 0.05, 1.2
    scale = Choice(q, mu, 20).scale(LOG_DELTA, 0.05, 8000)
    assert scale is not None
    game = Game(q, mu, scale, 4)
    u = np.arange(-12.0, 40.0, 1e-3)
    density = np.exp(-0.5 * u * u) * 1e-3 / math.sqrt(2.0 * math.pi)
    ratio = 1.0 - q + q * np.exp(mu * u - 0.5 * mu * mu)
    truth = float(density @ ratio ** (scale.lam + 1.0))
    assert truth < game.moment < truth * 1.05
    # What constants become in the steps of a block that are left.
    one = np.ones(game.circle.size)
    assert game._rest(30, 4, one) >= math.comb(30, 4) * truth**26


@pytest.mark.slow
@pytest.mark.slow
def test_a_game_adds_the_bends_to_its_chords(monkeypatch: pytest.MonkeyPatch) -> None:
    """What its kernels are made of is above all members between nodes, which chords alone are not,
    near a = 1 by parabolas and far from it by what time values rise.
    """
    kept: list[Array] = []
    spread = Game._spread

    def remember(self: Game, values: Array) -> Kernel:
        kept.append(values)
        return spread(self, values)

    monkeypatch.setattr(Game, "_spread", remember)
    q, mu, count = 0.1, 1.0, 3
    scale = Choice(q, mu, 20).scale(LOG_DELTA, 0.3, 20_000)
    assert scale is not None
    game = Game(q, mu, scale, count)
    near, far = np.abs(game._points) < 1.0, np.abs(game._points) < 3.0
    astray = [0.0, 0.0]
    for i in range(count):
        plain = member(q, mu, (i + 0.5) / count, game._points[far])[0]
        for way, truth in enumerate((plain, game._x[far] * plain[::-1])):
            nodes, bends, flat = (
                np.atleast_2d(each)[:, far] for each in kept[3 * way : 3 * way + 3]
            )
            chord = 0.5 * (nodes[i] + nodes[i + 1])
            assert (truth <= chord + 0.25 * bends[i] + flat[0] + 1e-12).all()
            beyond = (truth - chord - flat[0])[near[far]]
            astray[way] = max(astray[way], float(beyond.max()))
    assert min(astray) > 1e-7


def test_games_that_are_too_long_are_refused() -> None:
    """A billion steps of a moment above 1 leave the range of doubles."""
    scale = Choice(0.1, 1.0, 20).scale(LOG_DELTA, 0.5, 400)
    assert scale is not None
    assert Game(0.1, 1.0, scale, 2).value(1).max() <= 1.0 + 1e-6
    for game in (Game(0.1, 1.0, scale, 2), Strategies(0.1, 1.0, scale)):
        with pytest.raises(NotCertifiedError, match="too large for its game"):
            game.value(10**9)
    # Beyond all games delta is at least 0.
    assert Played(scale, 0.01, np.ones(100)).below(1e6) == 0.0


def test_steps_out_of_reach_have_no_game() -> None:
    """Where samples are nearly all, a game is no better than what is known of each step."""
    step = laws.Step(0.9999, 1.5, 0.0)
    assert not step.in_reach(10)
    assert laws.equal_law(step) is None
    pair = glued(GaussianLaw(1.5), 0.25)
    members = laws.FixedSizePairs(pair, step, pair, pair)
    assert laws.FixedSizePairs.together([(members, 10)]) is None


def test_a_member_of_an_infinite_order() -> None:
    """It is asked for where mass may be infinite elsewhere, and is one of the three."""
    step, single, other = laws.Step(0.06, 0.061, 0.0), GaussianLaw(0.061), GaussianLaw(0.06)
    members = laws.FixedSizePairs(glued(single, 0.06), step, single, other)
    with np.errstate(invalid="raise"):
        assert members.member(math.inf) in (single, other, laws.equal_law(step))


def test_without_a_circle_a_game_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Delta is between 0 and 1, tails are those of one pair, and nothing is certain to be lost."""
    step, pair = laws.Step(0.1234, 0.77, 0.0), glued(GaussianLaw(0.77), 0.1234)
    monkeypatch.setattr(laws, "ORDERS", np.array([1e9]))
    above = laws.FixedSizeUses(pair, step, 7)
    below = laws.FixedSizeUses(pair, step, 7, upper=False)
    for epsilon in (0.1, 3.0):
        assert above.bounds(epsilon) == (1.0, 1.0)
        assert below.bounds(epsilon) == (0.0, 0.0)
    assert above.guess(LOG_DELTA) == 0.0
    assert above.listed is None
    with pytest.raises(NotCertifiedError, match="out of reach"):
        above.tails(np.array([0.1, 0.5]))
    assert below.listed == AtomicLaw((0.0,), (1.0,), loss_units=0.0, lower_masses=(1.0,))
