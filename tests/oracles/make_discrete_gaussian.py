"""Write discrete_gaussian.json: delta of compositions of discrete Gaussians, by direct summation.

python tests/oracles/make_discrete_gaussian.py
"""

import json
import math
import sys
import time
from pathlib import Path

import numpy as np
from mpmath import mp

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.oracles.discrete_gaussian import DIGITS, ONE, Term, Total, delta_of, text, total_of

ABOUT = (
    "delta at epsilon to 30 digits, by make_discrete_gaussian.py; epsilons are doubles, sigmas "
    "exact decimals"
)
WRITTEN = 30
DELTAS = (1e-3, 1e-6, 1e-9, 1e-12)
SIGMAS = ("0.5", "1", "3.3", "10", "50")
COUNTS = (1, 7, 100, 1000)


def _one(sigma: str, count: int, sensitivity: int = 1) -> Term:
    return Term(sigma=sigma, sensitivity=sensitivity, count=count)


CASES: tuple[list[Term], ...] = (
    *([_one(sigma, count)] for sigma in SIGMAS for count in COUNTS),
    [_one("0.5", 7, 2)],
    [_one("1", 1, 5)],
    [_one("3.3", 100, 2)],
    [_one("3.3", 7, 5)],
    [_one("10", 1000, 2)],
    [_one("50", 100, 5)],
    [_one("3", 4), _one("7.5", 3)],
    [_one("2", 3), _one("3", 2), _one("5", 2)],
    [_one("1.5", 2, 3), _one("2", 2, 2)],
)


def _epsilon_near(total: Total, delta: float) -> float:
    """Return a short decimal at which delta is of that order: 0 if it is smaller there already."""
    losses = np.array([n / total.denominator for n in total.numerators])
    masses = np.array([mass / ONE for mass in total.masses])
    low, high = 0.0, float(losses.max())
    for _ in range(60):
        middle = 0.5 * (low + high)
        gap = np.maximum(losses - middle, 0.0)
        low, high = (middle, high) if (masses * -np.expm1(-gap)).sum() > delta else (low, middle)
    return float(f"{low:.8g}")


def _rows(terms: list[Term]) -> list[dict[str, object]]:
    total = total_of(terms)
    rows = []
    for epsilon in sorted({_epsilon_near(total, delta) for delta in DELTAS}):
        delta, error = delta_of(total, mp.mpf(epsilon))
        if not delta > 0:
            continue
        assert error < delta * mp.mpf(10) ** (-WRITTEN - 2), (terms, epsilon)
        rows.append(
            {
                "text": text(terms),
                "terms": terms,
                "epsilon": epsilon,
                "delta": mp.nstr(delta, WRITTEN),
            }
        )
    return rows


if __name__ == "__main__":
    mp.dps = DIGITS
    lines = []
    for case in CASES:
        started = time.monotonic()
        found = _rows(case)
        spent = time.monotonic() - started
        smallest = math.log10(float(str(found[-1]["delta"])))
        print(f"{spent:6.1f} s  {text(case)}  {len(found)} rows to 1e{smallest:.0f}", flush=True)
        lines += [json.dumps(row) for row in found]
    content = ",\n".join(lines)
    path = Path(__file__).with_name("discrete_gaussian.json")
    path.write_text(f'{{"about": {json.dumps(ABOUT)},\n"rows": [\n{content}\n]}}\n')
