"""Many steps of fixed-size batches: both ends of the game, alone and in sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import privcalc
from privcalc.accounting.compose import compose
from privcalc.bounds import Proof
from privcalc.spec.parse import parse

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
]


@pytest.mark.slow
def test_few_steps_to_two_parts_of_a_thousand() -> None:
    """Their game is bounded as closely from above as from below."""
    lower, upper = ends("gaussian:sigma=2@wor:n=60000,m=256@1000", 1e-6)
    assert lower <= upper <= 1.002 * lower


@pytest.mark.slow
@pytest.mark.parametrize(("text", "low", "high"), ROWS)
def test_the_game_to_three_digits(text: str, low: float, high: float) -> None:
    """The bracket holds the game, and is a part of a thousand wide, or hardly more."""
    lower, upper = ends(text, 1e-6)
    assert lower <= high
    assert upper >= low
    assert upper - lower <= 1.3e-3 * upper


@pytest.mark.slow
@pytest.mark.few(1)
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


@pytest.mark.slow
def test_a_sample_of_everything_is_no_sample() -> None:
    """With m = n, and nearly so with m next to n."""
    whole = ends("gaussian:sigma=3@wor:n=100,m=100@20", 1e-6)
    plain = ends("gaussian:sigma=3@20", 1e-6)
    assert whole == plain
    near = ends("gaussian:sigma=3@wor:n=100,m=89@20")
    assert near[0] < plain[0]
    assert near[1] > 0.8 * plain[0]


@pytest.mark.slow
@pytest.mark.parametrize("event", ["laplace:scale=5", "discrete-gaussian:sigma=4"])
def test_other_noise_keeps_the_glued_pair(event: str) -> None:
    """What is proved of triples is proved of Gaussian noise."""
    method = privcalc.compose(f"{event}@wor:q=0.02@200", delta=DELTA).to_dict()["method"]
    assert method["proof"] != Proof.GAME.words


@pytest.mark.slow
def test_a_budget_is_decided_by_the_game(run: Callable[..., Outcome]) -> None:
    """Where the glued pair leaves it open."""
    text = "gaussian:sigma=4@wor:n=60000,m=1024@3000"
    found = run("compose", text, "--delta", "1e-5", "--max-epsilon", "0.9", "--tolerance", "1e-2")
    assert found.status == 0


@pytest.mark.slow
@pytest.mark.parametrize("inner", ["gaussian:sigma=0.7071067811865476@2", "gdp:mu=2"])
def test_answers_to_one_batch_may_depend_on_one_another(inner: str) -> None:
    """No game is played with their sum: an attack costs more than it would say."""
    found = privcalc.compose(f"{inner}@wor:n=2,m=1@2", epsilon=1.0).delta
    single = privcalc.compose("gaussian:sigma=0.5@wor:n=2,m=1@2", epsilon=1.0).delta
    assert found is not None
    assert single is not None
    # What an attack on two answers to each of two batches reaches, the second chosen in view of the
    # first: 0.3708 by 400,000 samples, with a standard error of 0.0006.
    assert single.upper < 0.3708 - 5.0 * 0.0006
    assert found.upper >= 0.3708 - 3.0 * 0.0006


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
