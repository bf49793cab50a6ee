"""A mechanism that is run again until its result is accepted."""

from __future__ import annotations

import math
import random
from itertools import product
from pathlib import Path

import pytest

import privcalc
from privcalc.accounting.compose import compose
from privcalc.spec.parse import parse
from tests.truths import hockey_stick


def _published(
    pairs: list[tuple[float, float]], accepted: tuple[float, ...], gamma: float
) -> list[tuple[float, float]]:
    """Return what is published under both neighbours, from the definition: runs one by one.

    Each outcome is accepted with a chance of its own, which is part of the result.
    """
    columns = []
    for column in zip(*pairs, strict=True):
        p = sum(mass * chance for mass, chance in zip(column, accepted, strict=True))
        again, found, nothing = 1.0, [0.0] * len(column), 0.0
        # (1 - gamma)^n is below 1e-16 after so many runs.
        for _ in range(math.ceil(-37.0 / math.log1p(-gamma))):
            found = [
                x + again * mass * chance
                for x, mass, chance in zip(found, column, accepted, strict=True)
            ]
            nothing += again * (1.0 - p) * gamma
            again *= (1.0 - p) * (1.0 - gamma)
        columns.append([*found, nothing])
    return list(zip(*columns, strict=True))


def _ends(
    text: str, *, delta: float | None = None, epsilon: float | None = None
) -> tuple[float, float]:
    deltas, epsilons = ([] if each is None else [each] for each in (delta, epsilon))
    bound = compose(parse(text).tree, deltas=deltas, epsilons=epsilons).answers[0].bound
    assert bound is not None
    return bound.lower or 0.0, bound.upper


@pytest.mark.dear("1.0-0.1]", "0.5-0.5]")
@pytest.mark.dear("1.0-0.01]")
@pytest.mark.parametrize(("epsilon", "gamma"), [(1.0, 0.1), (1.0, 0.01), (4.99, 0.01), (0.5, 0.5)])
def test_a_pure_mechanism(epsilon: float, gamma: float) -> None:
    """It costs e + log((e^e + gamma) / (1 + gamma e^e)), and no less."""
    truth = epsilon + math.log((math.exp(epsilon) + gamma) / (1 + gamma * math.exp(epsilon)))
    low, high = _ends(f"pure:epsilon={epsilon}@select:runs=until,gamma={gamma}", delta=0.0)
    assert low <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= high
    assert high - low < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sigma", "gamma", "delta", "least", "most"),
    [
        # Explicit rules of acceptance, and the bound on a fine grid.
        (4, 0.01, 1e-6, 1.6601903, 1.6602154),
        pytest.param(4, 0.1, 1e-6, 1.3667417, 1.3667570, marks=pytest.mark.slow),
        pytest.param(1, 0.01, 1e-5, 6.8440547, 6.8441345, marks=pytest.mark.slow),
    ],
)
def test_gaussian_noise(sigma: int, gamma: float, delta: float, least: float, most: float) -> None:
    """Both ends are within a per cent of what is known."""
    low, high = _ends(f"gaussian:sigma={sigma}@select:runs=until,gamma={gamma}", delta=delta)
    assert low <= most
    assert least <= high
    assert high - low < 0.012 * high


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 7))]
)
def test_no_rule_costs_more(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rules of acceptance of a few outcomes, and some with coins, in both orders."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(seed)
    columns = [[rng.uniform(0.02, 1.0) for _ in range(4)] for _ in range(2)]
    pairs = list(zip(*[[x / sum(column) for x in column] for column in columns], strict=True))
    Path("x.txt").write_text("\n".join(f"{p!r} {q!r}" for p, q in pairs), encoding="utf-8")
    gamma = rng.choice([0.02, 0.1, 0.5])
    rules = [*product((0.0, 1.0), repeat=4)]
    rules += [tuple(rng.choice((0.0, rng.random(), 1.0)) for _ in range(4)) for _ in range(60)]
    published = [_published(pairs, rule, gamma) for rule in rules]
    for epsilon in (0.0, 0.3, 0.9, 1.7):
        a = math.exp(epsilon)
        worst = max(
            hockey_stick(rows, a)
            for found in published
            for rows in (found, [(q, p) for p, q in found])
        )
        low, high = _ends(f"pmf:file=x.txt@select:runs=until,gamma={gamma}", epsilon=epsilon)
        assert worst <= high * (1 + 1e-9) + 1e-12
        assert low <= high


@pytest.mark.slow
def test_what_is_not_said() -> None:
    """The command select is for numbers of runs, gamma is needed, and groups are put inside."""
    with pytest.raises(privcalc.PrivcalcError, match="runs=until is no number of runs"):
        privcalc.select("pure:epsilon=1", runs="until:gamma=0.1", delta=1e-6)
    with pytest.raises(privcalc.PrivcalcError, match="until runs take gamma"):
        privcalc.compose("pure:epsilon=1@select:runs=until", delta=1e-6)
    one = _ends("pure:epsilon=0.5@group:k=2@select:runs=until,gamma=0.1", delta=0.0)
    other = _ends("pure:epsilon=0.5@select:runs=until,gamma=0.1@group:k=2", delta=0.0)
    assert one == other
