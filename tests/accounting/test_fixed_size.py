"""Many steps of fixed-size batches: both ends of the game, alone and in sums."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

import privcalc
from privcalc.accounting.compose import compose
from privcalc.bounds import Proof
from privcalc.spec.parse import parse
from tests.pairs import bracket

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

DELTA = 1e-5


def ends(text: str, tolerance: float = 1e-2) -> tuple[float, float]:
    """Return the bracket of epsilon at DELTA."""
    bound = privcalc.compose(text, delta=DELTA, tolerance=tolerance).epsilon
    assert bound is not None
    assert bound.lower is not None
    return bound.lower, bound.upper


# What the game is, by a prototype with other kernels, and what the glued pair gave.
ROWS = [
    ("gaussian:sigma=4@wor:n=60000,m=1024@3000", 0.88385, 0.88393),
    ("gaussian:sigma=1@wor:n=60000,m=256@14063", 3.07636, 3.07643),
    ("gaussian:sigma=2@wor:n=60000,m=256@14063", 1.03962, 1.03964),
    ("gaussian:sigma=2@wor:n=60000,m=1024@1000", 1.12211, 1.12242),
    ("gaussian:sigma=1.5@wor:n=60000,m=512@5000", 1.87852, 1.87864),
    ("gaussian:sigma=6@wor:n=60000,m=1024@1000", 0.30895, 0.30896),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "low", "high"), ROWS)
def test_the_game_to_three_digits(text: str, low: float, high: float) -> None:
    """The bracket holds the game, and is a part of a thousand wide, or hardly more."""
    lower, upper = ends(text, 1e-6)
    assert lower <= high
    assert upper >= low
    assert upper - lower <= 1.3e-3 * upper


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("gaussian:sigma=2@wor:q=0.02@100", "gaussian:sigma=1.8@wor:q=0.02@100"),
        ("gaussian:sigma=2@wor:n=1000,m=20@100", "gaussian:sigma=2@wor:n=1000,m=23@100"),
        ("gaussian:sigma=2@wor:n=1000,m=20@100", "gaussian:sigma=2@wor:n=850,m=20@100"),
        ("gaussian:sigma=2@wor:q=0.02@100", "gaussian:sigma=2@wor:q=0.02@130"),
    ],
)
def test_epsilon_grows(less: str, more: str) -> None:
    """With m and the number of steps, and as sigma and n fall."""
    assert ends(less)[1] < ends(more)[0]


def test_a_sample_of_everything_is_no_sample() -> None:
    """With m = n, and nearly so with m next to n."""
    whole = ends("gaussian:sigma=3@wor:n=100,m=100@20", 1e-6)
    plain = ends("gaussian:sigma=3@20", 1e-6)
    assert whole == plain
    near = ends("gaussian:sigma=3@wor:n=100,m=89@20")
    assert near[0] < plain[0]
    assert near[1] > 0.8 * plain[0]


@pytest.mark.slow
def test_sums_take_the_game_as_one_pair() -> None:
    """With other noise, and with another kind of step, both ends are near."""
    for rest in ("gaussian:sigma=12@3", "laplace:scale=20@2"):
        lower, upper = ends(f"gaussian:sigma=2@wor:q=0.02@200 + {rest}")
        alone = ends("gaussian:sigma=2@wor:q=0.02@200")
        assert lower > alone[0]
        assert upper - lower < 2e-2 * upper


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "delta", "width"),
    [
        ("gaussian:sigma=4.42@wor:n=60000,m=32@17471", 1.56e-11, 1.3e-3),
        ("gaussian:sigma=11@wor:n=60000,m=32@9246", 1.74e-10, 1.3e-3),
        ("gaussian:sigma=1.28@wor:n=60000,m=256@3580", 4.59e-7, 2e-3),
        ("gaussian:sigma=1.3@wor:n=60000,m=32@14947", 3.75e-12, 2.5e-2),
    ],
)
def test_rare_records_of_small_deltas(text: str, delta: float, width: float) -> None:
    """Large losses of single steps are cut off, and the tilt is no steeper than they allow."""
    low, high = bracket(text, delta=delta)
    assert high - low < width * high


@pytest.mark.parametrize("event", ["laplace:scale=5", "discrete-gaussian:sigma=4"])
def test_other_noise_keeps_the_glued_pair(event: str) -> None:
    """What is proved of triples is proved of Gaussian noise."""
    method = privcalc.compose(f"{event}@wor:q=0.02@200", delta=DELTA).to_dict()["method"]
    assert method["proof"] != Proof.GAME.words


def test_a_budget_is_decided_by_the_game(run: Callable[..., Outcome]) -> None:
    """Where the glued pair leaves it open."""
    text = "gaussian:sigma=4@wor:n=60000,m=1024@3000"
    found = run("compose", text, "--delta", "1e-5", "--max-epsilon", "0.9", "--tolerance", "1e-2")
    assert found.status == 0


def adaptive_attack(epsilon: float, n: int) -> tuple[float, float]:
    """Return delta of two batches, q = 1/2, of two answers each at distance 2^(1/2), and its error.

    The second answer to the first batch depends on the first: the record's first value stands out,
    or its second, or all three are apart. What the second batch is asked depends on the likelihood
    ratio of the first.
    """
    rng = np.random.default_rng(11)
    mu = math.sqrt(2.0)
    drawn = rng.random((2, n)) < 0.5
    noise = rng.normal(size=(2, 3, n))
    # The first answer: under P the mean is mu where the record is in the batch, under Q it is 0.
    y = noise[0, 0] + mu * drawn[0]
    first = np.exp(mu * y - 1.0)
    late = np.log(first)
    only_second, both = late < -1.3, (late >= -1.3) & (late < -0.5)
    # The second: c = 0, a and b as places in the plane.
    half, high = 0.5 * mu, math.sqrt(0.75) * mu
    a = np.where(only_second, 0.0, mu), np.zeros(n)
    b = np.where(only_second, mu, np.where(both, half, 0.0)), np.where(both, high, 0.0)
    at = [noise[0, 1 + i] + drawn[0] * a[i] for i in range(2)]

    def ratio(place: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        inner = at[0] * place[0] + at[1] * place[1]
        found: np.ndarray = np.exp(inner - 0.5 * (place[0] ** 2 + place[1] ** 2))
        return found

    x = (1.0 + first * ratio(a)) / (1.0 + ratio(b))
    # The second batch: both answers alike, a distance 2.
    less = x <= math.exp(epsilon)
    z = noise[1, 0] + 2.0 * (drawn[1] & less)
    moved = np.exp(2.0 * z - 2.0)
    second = np.where(less, 0.5 + 0.5 * moved, 1.0 / (0.5 + 0.5 * moved))
    values = np.maximum(1.0 - math.exp(epsilon) / (x * second), 0.0)
    return float(values.mean()), float(values.std()) / math.sqrt(n)


@pytest.mark.slow
@pytest.mark.parametrize("inner", ["gaussian:sigma=0.7071067811865476@2", "gdp:mu=2"])
def test_answers_to_one_batch_may_depend_on_one_another(inner: str) -> None:
    """No game is played with their sum: an attack costs more than it would say."""
    found = privcalc.compose(f"{inner}@wor:n=2,m=1@2", epsilon=1.0).delta
    single = privcalc.compose("gaussian:sigma=0.5@wor:n=2,m=1@2", epsilon=1.0).delta
    assert found is not None
    assert single is not None
    mean, error = adaptive_attack(1.0, 400_000)
    assert mean - 5.0 * error > single.upper
    assert mean - 3.0 * error <= found.upper


@pytest.mark.slow
def test_little_noise_far_out() -> None:
    """Rates at the end of the range, and deltas that are no events: answers, as of one pair."""
    low, high = bracket("gaussian:sigma=20@wor:q=1e-6@100", delta=1e-10)
    assert 0.98 * high <= low
    low, high = bracket("gaussian:sigma=0.861@wor:q=8.853e-4@24", delta=1e-40)
    assert 0.999 * high <= low


@pytest.mark.slow
def test_a_profile_has_both_ends() -> None:
    """21 epsilons share a few games; lower ends are no less than those of one pair in all steps."""
    spec = "gaussian:sigma=1@wor:n=60000,m=256@14063"
    profile = compose(parse(spec).tree).answers[0].profile
    assert len(profile) == 21
    for _, bound in profile:
        assert bound.lower is not None
        assert bound.upper > bound.lower > 0.5 * bound.upper
    for epsilon in (0.0, 1.0, 3.0):
        bound = dict(profile)[epsilon]
        (remove,) = compose(
            parse("gaussian:sigma=1@poisson:q=256/60000@14063").tree, epsilons=[epsilon]
        ).answers
        assert remove.bound is not None
        assert remove.bound.lower is not None
        assert bound.lower is not None
        assert bound.lower >= remove.bound.lower * (1.0 - 1e-6)
