"""Parameters that are no doubles: 300 random questions about Gumbel noise, against 50 digits."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.relation import Relation
from privcalc.reporting.questions import read_number
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from privcalc.bounds import Bound

# Two of them each time: delta at an epsilon, and epsilon at a delta.
QUESTIONS = 150
SEED = 1
DELTAS = ("0", "1e-300", "1e-30", "1e-12", "1e-6", "0.00001", "1/60000", "0.01")


def number(text: str) -> Fraction:
    """Return the number that was written."""
    return Fraction(text)


def real(value: Fraction) -> Any:
    """Return a rational to all digits."""
    return mpf(value.numerator) / value.denominator


def delta_at(eta: Any, epsilon: Any) -> Any:
    """Return delta of a mechanism whose range is eta: of two outcomes with the middle losses.

    The losses t and t - eta with t = (epsilon + eta) / 2, which are the worst.
    """
    if epsilon >= eta:
        return mpf(0)
    t = (epsilon + eta) / 2
    # Masses under the other data set, from sum q = 1 and sum q e^loss = 1.
    up = -mp.expm1(t - eta) / (mp.exp(t) - mp.exp(t - eta))
    return up * (mp.exp(t) - mp.exp(epsilon))


def epsilon_at(eta: Any, delta: Any) -> Any:
    """Solve (1 - e^{(epsilon - eta)/2})^2 = delta (1 - e^-eta) for epsilon >= 0."""
    root = mp.sqrt(delta * -mp.expm1(-eta))
    return mp.mpf(0) if root >= 1 else max(mpf(0), eta + 2 * mp.log1p(-root))


def decimal(rng: random.Random, low: float, high: float) -> str:
    """Return a decimal, a whole number or a ratio."""
    kind = rng.randrange(3)
    if kind == 0:
        return str(rng.randint(1, 20))
    if kind == 1:
        return f"{rng.randint(1, 30)}/{rng.randint(1, 30)}"
    return f"{rng.uniform(low, high):.{rng.randint(1, 8)}g}"


def near(rng: random.Random, eta: Fraction) -> list[str]:
    """Return epsilons: 0, in between, and doubles and decimals on both sides of the range."""
    digits = rng.randint(3, 15)
    inside = f"{rng.uniform(0.0, 1.0) * float(eta):.{digits}g}"
    beside = f"{float(eta):.{digits}g}"
    return ["0", inside, beside, f"{float(eta) * (1 - 10 ** -rng.uniform(3, 15)):.15g}", f"{eta}"]


def contains(bound: Bound | None, low: Any, high: Any) -> bool:
    """Say whether a bracket holds the truth at both ends of what may be meant."""
    assert bound is not None
    assert bound.lower is not None
    if bound.exact is not None:
        return bool(real(bound.exact) == low == high)
    return bool(mpf(bound.lower) <= low and high <= mpf(bound.upper))


@pytest.mark.slow
@pytest.mark.parametrize(
    "questions", [QUESTIONS // 3, pytest.param(QUESTIONS, marks=pytest.mark.slow)]
)
def test_gumbel_questions_contain_the_truth(questions: int) -> None:
    """Whatever scale, sensitivity, group, relation and place: the rational range is what counts."""
    rng = random.Random(SEED)
    with mp.workdps(50):
        for _ in range(questions):
            scale, sensitivity = decimal(rng, 0.1, 20.0), decimal(rng, 0.1, 3.0)
            records, monotone = rng.choice([1, 1, 2, 3, 7]), rng.random() < 0.5
            relation = rng.choice(list(Relation)[:2])
            step = 1 if monotone and relation is Relation.ADD_OR_REMOVE_ONE else 2
            eta = step * records * number(sensitivity) / number(scale)
            if eta > 300 or eta > 150 * records * step:
                continue
            text = (
                f"noisy-max:noise=gumbel,scale={scale},sensitivity={sensitivity},"
                f"candidates={rng.randint(2, 9)}{',monotone=true' if monotone else ''}"
                f"{f'@group:k={records}' if records > 1 else ''}"
            )
            tree = parse(text).tree
            epsilon = rng.choice(near(rng, eta))
            written = read_number("--epsilon", epsilon)
            found = compose(tree, relation=relation, epsilons=[written]).answers[0]
            truth = delta_at(real(eta), real(number(epsilon)))
            assert contains(found.bound, truth, truth), (text, epsilon)
            delta = rng.choice(DELTAS)
            wanted = read_number("--delta", delta)
            found = compose(tree, relation=relation, deltas=[wanted]).answers[0]
            truth = epsilon_at(real(eta), real(number(delta)))
            assert contains(found.bound, truth, truth), (text, delta)
