"""Write both_orders.json: what Renyi divergences in both orders of the neighbours allow.

python tests/oracles/make_both_orders.py

Brute force over pairs of outcomes, at 30 digits, with nothing but the definition: the pair (p, q)
is allowed if D_a of (p, 1 - p) from (q, 1 - q) and that of (q, 1 - q) from (p, 1 - p) are at most
epsilon at every order a of the guarantee. For zCDP the orders are a grid that is refined.
"""

import json
import math
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mpmath import mp, mpf

mp.dps = 30
ABOUT = "upper ends that are attained, to 20 digits, by make_both_orders.py; inputs are decimals"
WRITTEN = 20
CASES, FILES, ZCDP = 200, 30, 12
GOLDEN = (mp.sqrt(5) - 1) / 2


def moment_exceeds(p: mpf, rest: mpf, q: mpf, order: mpf, epsilon: mpf) -> bool:
    """Say whether the divergence of one order is above epsilon; rest = 1 - p."""
    c, away = order - 1, 1 - q
    if c == 0:
        value = p * mp.log(p / q) + rest * mp.log(rest / away)
        back = q * mp.log(q / p) + away * mp.log(away / rest)
        return bool(max(value, back) > epsilon)
    bound = mp.exp(c * epsilon)
    forward = p * (p / q) ** c + rest * (rest / away) ** c
    return bool(forward > bound or q * (q / p) ** c + away * (away / rest) ** c > bound)


def odds(q: mpf, order: mpf, epsilon: mpf) -> mpf:
    """Return the log of the largest odds ratio of p and q that one order allows."""
    low, high = mpf(0), mpf(1)

    def wrong(x: mpf) -> bool:
        ratio = mp.exp(x)
        whole = 1 - q + q * ratio
        return moment_exceeds(q * ratio / whole, (1 - q) / whole, q, order, epsilon)

    while not wrong(high):
        low, high = high, 2 * high
    for _ in range(85):
        middle = (low + high) / 2
        low, high = (low, middle) if wrong(middle) else (middle, high)
    return low


def least_over_orders(value: Callable[[mpf, mpf], mpf], rho: mpf) -> mpf:
    """Return the least value over all orders a of (a, rho a), by a grid and a refinement."""
    logs = [mpf(k) / 2 for k in range(-30, 11)]
    found = {x: value(1 + mp.exp(x), rho * (1 + mp.exp(x))) for x in logs}
    best = min(found, key=lambda x: found[x])
    at_one = value(mpf(1), rho)
    step = mpf(1) / 2
    low, high = best - step, best + step
    for _ in range(28):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        f, g = (value(1 + mp.exp(x), rho * (1 + mp.exp(x))) for x in (left, right))
        low, high = (low, right) if f < g else (left, high)
    return min(at_one, found[best], f, g)


def largest_odds(q: mpf, points: list[tuple[str, str]]) -> mpf:
    """Return the log of the largest odds ratio that all orders of a guarantee allow."""
    return min(odds(q, mpf(order), mpf(epsilon)) for order, epsilon in points)


def delta(points: list[tuple[str, str]], epsilon: str) -> mpf:
    """Return the largest p - e^epsilon q: a concave function of q.

    The best q is located in doubles; what is returned is the exact value there, which is attained.
    """
    slope = math.exp(float(epsilon))
    known = [(float(order), float(bound)) for order, bound in points]

    def value(logit: float) -> float:
        q = 1.0 / (1.0 + math.exp(-logit))
        low, high = 0.0, 1400.0
        for _ in range(64):
            middle = 0.5 * (low + high)
            wrong = any(double_exceeds(q, middle, *each) for each in known)
            low, high = (low, middle) if wrong else (middle, high)
        ratio = math.exp(min(low, 700.0))
        return q * ratio / (1.0 - q + q * ratio) - slope * q

    grid = [float(k) for k in range(-250, 26)]
    best = max(grid, key=value)
    low, high = best - 1.0, best + 1.0
    for _ in range(46):
        left, right = high - float(GOLDEN) * (high - low), low + float(GOLDEN) * (high - low)
        low, high = (left, high) if value(left) < value(right) else (low, right)
    q = 1 / (1 + mp.exp(-mpf(0.5 * (low + high))))
    ratio = mp.exp(largest_odds(q, points))
    return q * ratio / (1 - q + q * ratio) - mp.exp(mpf(epsilon)) * q


def double_exceeds(q: float, x: float, order: float, epsilon: float) -> bool:
    """Say in doubles whether a pair with this log odds ratio breaks one order, either way."""
    inside = x - math.log1p(q * math.expm1(x)) if x < 700.0 else -math.log(q)
    outside = inside - x
    c = order - 1.0
    exponents = [math.log(q) + (c + 1.0) * inside, math.log1p(-q) + (c + 1.0) * outside]
    back = [math.log(q) - c * inside, math.log1p(-q) - c * outside]
    logs = ([value - c * epsilon for value in pair] for pair in (exponents, back))
    return any(max(pair) > 1.0 or math.fsum(map(math.exp, pair)) > 1.0 for pair in logs)


def short(x: float) -> str:
    """Return a decimal of six digits."""
    return f"{x:.6g}"


def main() -> None:
    """Write the file."""
    rng = random.Random(20)
    rows: dict[str, list[dict[str, object]]] = {"delta": [], "power": [], "zcdp": []}
    for number in range(CASES + FILES):
        count = 1 if number < CASES else rng.choice((2, 3))
        points = []
        for _ in range(count):
            order, epsilon = 1 + 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-4, 0.7)
            points.append((short(order), short(epsilon)))
        if count > 1:
            orders = sorted(1 + 10 ** rng.uniform(-1, 2) for _ in range(count))
            points = [(short(a), short(0.3 + 0.4 * a**0.7)) for a in orders]
        worst = max(float(e) for _, e in points)
        asked = "0" if rng.random() < 0.25 else short(worst * rng.uniform(0, 1.3))
        row = {"points": points, "epsilon": asked, "delta": mp.nstr(delta(points, asked), WRITTEN)}
        rows["delta"].append(row)
        alpha = short(10 ** rng.uniform(-9, 0) if rng.random() < 0.6 else rng.uniform(0, 1))
        q = mpf(alpha)
        ratio = mp.exp(largest_odds(q, points))
        whole = 1 - q + q * ratio
        power, beta = q * ratio / whole, (1 - q) / whole
        rows["power"].append(
            {
                "points": points,
                "alpha": alpha,
                "power": mp.nstr(power, WRITTEN),
                "beta": mp.nstr(beta, WRITTEN),
            }
        )
    for number in range(ZCDP):
        rho = "0.5" if number < 2 else short(10 ** rng.uniform(-3, 0.7))
        alpha = "0.01" if number == 0 else short(10 ** rng.uniform(-8, -0.01))
        q = mpf(alpha)
        x = least_over_orders(partial(odds, q), mpf(rho))
        # For the advantage p + q = 1: the odds of p are those of 1 - q.
        y = least_over_orders(symmetric_odds, mpf(rho))
        ratio = mp.exp(x)
        rows["zcdp"].append(
            {
                "rho": rho,
                "alpha": alpha,
                "power": mp.nstr(q * ratio / (1 - q + q * ratio), WRITTEN),
                "advantage": mp.nstr(mp.tanh(y / 2), WRITTEN),
            }
        )
    path = Path(__file__).with_suffix("").parent / "both_orders.json"
    path.write_text(json.dumps({"about": ABOUT, **rows}, indent=1) + "\n", encoding="utf-8")


def symmetric_odds(order: mpf, epsilon: mpf) -> mpf:
    """Return the largest log odds of a pair with p + q = 1."""
    low, high = mpf(0), mpf(60)
    for _ in range(100):
        middle = (low + high) / 2
        p = 1 / (1 + mp.exp(-middle))
        wrong = moment_exceeds(p, 1 - p, 1 - p, order, epsilon)
        low, high = (low, middle) if wrong else (middle, high)
    return low


if __name__ == "__main__":
    main()
