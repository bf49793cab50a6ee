"""Posterior samples of regressions, against the normal laws of random data sets."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.convert import ConversionQuery, on_data
from privcalc.bounds import Bound
from privcalc.errors import DomainError, PrivcalcError
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.asked import delta, deltas
from tests.asked import epsilon as asked_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Data = list[tuple[np.ndarray[Any, Any], float]]

EPSILONS = [0.0, 0.05, 0.3, 1.0, 2.5]


def profile(p: tuple[Any, Any], q: tuple[Any, Any], epsilon: Any) -> Any:
    """Return delta of two normal laws (mean, variance), from the roots of log p/q - epsilon.

    Without roots no loss is above epsilon >= 0.
    """
    (a, v), (b, w) = p, q
    square = (1 / w - 1 / v) / 2
    linear = a / v - b / w
    rest = (b * b / w - a * a / v) / 2 + mp.log(w / v) / 2 - epsilon

    def mass(mean: Any, variance: Any, low: Any, high: Any) -> Any:
        deviation = mp.sqrt(variance)
        return mp.ncdf((high - mean) / deviation) - mp.ncdf((low - mean) / deviation)

    inner = linear * linear - 4 * square * rest
    if inner <= 0:
        return mpf(0)
    root = mp.sqrt(inner)
    ends = sorted(((-linear - root) / (2 * square), (-linear + root) / (2 * square)))
    inside = mass(a, v, *ends) - mp.exp(epsilon) * mass(b, w, *ends)
    return inside if square < 0 else 1 - mp.exp(epsilon) - inside


def posterior(data: Data, at: Any, gamma: float, ridge: float) -> tuple[Any, Any]:
    """Return the law of at^T theta."""
    d = len(at)
    h, moment = mp.eye(d) * mpf(ridge), mp.zeros(d, 1)
    for x, y in data:
        row = mp.matrix(x.tolist())
        h, moment = h + row * row.T, moment + row * y
    row, inverse = mp.matrix(at.tolist()), h**-1
    return (row.T * inverse * moment)[0], (row.T * inverse * row)[0] / gamma


def exact(data: Data, record: tuple[Any, float], gamma: float, ridge: float, epsilon: Any) -> Any:
    """Return the larger delta of both orders of the data without a record and with it.

    The two densities differ along the features of the record only.
    """
    pair = [posterior(each, record[0], gamma, ridge) for each in (data, [*data, record])]
    return max(profile(p, q, epsilon) for p, q in (pair, pair[::-1]))


def draw(rng: random.Random, d: int, norm: float, response: float) -> tuple[Any, float]:
    """Draw a record; many are as large as they may be."""
    x = np.array([rng.gauss(0.0, 1.0) for _ in range(d)])
    x *= norm * rng.choice([1.0, 1.0, 0.3]) / np.linalg.norm(x) * (1.0 - 1e-12)
    return x, response * rng.choice([-1.0, 1.0, rng.uniform(-1, 1)])


@pytest.mark.parametrize("epsilon", EPSILONS[1:4])
def test_the_lower_end_is_that_of_one_record(epsilon: float) -> None:
    """No record next to one, with the largest features and response."""
    found = delta("ops:gamma=2,lambda=8,n=50,row_norm=2,response=1.5", epsilon)
    true = exact([], (np.array([2.0]), 1.5), 2.0, 8.0, mpf(epsilon))
    assert found.lower is not None
    assert found.lower <= true
    assert found.lower == pytest.approx(float(true), rel=1e-9)


def answers_on(text: str, content: str, file: Path) -> list[Bound]:
    """Return the brackets of delta on the data of a file."""
    file.write_text(content)
    asked = ConversionQuery(to="dp", epsilons=tuple(EPSILONS))
    found = [each.result["delta"] for each in on_data(parse(text).tree, str(file), asked).answers]
    assert all(isinstance(each, Bound) for each in found)
    return [each for each in found if isinstance(each, Bound)]


@pytest.mark.slow
def test_no_neighbour_of_the_data_costs_more(tmp_path: Path) -> None:
    """Every record of some data gone, and others that come; a line for each use."""
    rng, gamma, ridge = random.Random(9), 0.5, 4.0
    data = [draw(rng, 2, 1.0, 1.0) for _ in range(8)]
    x = np.array([row for row, _ in data])
    theta = np.linalg.solve(x.T @ x + ridge * np.eye(2), x.T @ np.array([y for _, y in data]))
    least = float(np.linalg.eigvalsh(x.T @ x)[0])
    text = f"ops:gamma={gamma},lambda={ridge},n=8"
    line = f"{least * 0.999999:.12f} {float(np.linalg.norm(theta)) * 1.000001:.12f}\n"
    found, anywhere = answers_on(text, line, tmp_path / "data.txt"), deltas(text, EPSILONS)
    for epsilon, bound, other in zip(EPSILONS, found, anywhere, strict=True):
        costs = [
            exact(data[:i] + data[i + 1 :], data[i], gamma, ridge, mpf(epsilon)) for i in range(8)
        ]
        costs += [
            exact(data, draw(rng, 2, 1.0, 1.0), gamma, ridge, mpf(epsilon)) for _ in range(20)
        ]
        assert max(costs) <= bound.upper <= other.upper


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ops:gamma=1e9,lambda=200,n=10", "take another gamma or lambda"),
        ("ops:gamma=1,lambda=1e-9,n=10", "next to everything"),
        ("ops:gamma=1,lambda=1", "needs n"),
        # With M = 1e-4 and r about 1, half the square of (gamma M)^(1/2) r is 5000.
        ("ops:gamma=1e8,lambda=1e4,n=10", "every point of the profile is above epsilon 700"),
    ],
)
def test_refusals(text: str, words: str) -> None:
    """What is too much or too little, and what is left out."""
    with pytest.raises(PrivcalcError, match=words):
        asked_epsilon(text, 1e-5)


@pytest.mark.slow
def test_relations_and_wrappers(run: Callable[..., Outcome]) -> None:
    """Zeroing a record out is removing it; replacing is refused; samples and groups are not."""
    text = "ops:gamma=1,lambda=200,n=100"
    assert asked_epsilon(text, 1e-5) == asked_epsilon(text, 1e-5, Relation.REPLACE_SPECIAL)
    refused = run("compose", text, "--delta", "1e-5", "--relation", "replace-one")
    assert refused.status == 2
    assert "a record that is there or not" in refused.stderr
    for wrapped in ("@poisson:q=0.1@3", "@group:k=2", "@2+gaussian:sigma=9"):
        assert run("compose", text + wrapped, "--delta", "1e-5").status == 0


@pytest.mark.parametrize("content", ["1\n", "1 2 3\n", "-1 2\n", "1 -1/2\n"])
def test_lines_of_other_numbers_are_refused(content: str, tmp_path: Path) -> None:
    """Each line has an eigenvalue and a norm, neither below 0, or is named."""
    with pytest.raises(DomainError, match=r"data\.txt, line 2: expected the least eigenvalue"):
        answers_on("ops:gamma=1,lambda=50,n=10", f"# e theta\n{content}", tmp_path / "data.txt")
