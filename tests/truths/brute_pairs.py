"""Small discrete mechanisms as lists of outcome probabilities, written from their definitions.

Each function returns pairs (without, with): the probability of an outcome without the record and
with it. The numbers are the doubles that a specification holds, everything else is worked out at
the precision of `brute`.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from mpmath import mp

from privcalc.exact import exact
from privcalc.spec.tree import Composed, Leaf, Repeated, Wrapped
from tests.truths.brute import DIGITS

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.spec.tree import Node
    from tests.truths.brute import Pair

# What lies further out has a probability below 10^-CUT in all.
CUT = 75


def outcomes_of(tree: Node, *, replaced: bool) -> list[tuple[Pair, int]]:
    """Return the outcomes and the count of each part of a specification, [] where they are many.

    Args:
        tree: as it was parsed.
        replaced: whether a record is replaced, and not added or removed.
    """
    parts: Any = tree.events if isinstance(tree, Composed) else (tree,)
    found: list[tuple[Pair, int]] = []
    count: Any
    for part in parts:
        count, event = (part.count, part.event) if isinstance(part, Repeated) else (1, part)
        pair = _one_use(event, replaced=replaced)
        if not pair:
            return []
        found.append((pair, count))
    return found


def _one_use(event: Node, *, replaced: bool) -> Pair:
    """Return the outcomes of one mechanism, sampled or not; [] where they are not known here."""
    if isinstance(event, Wrapped):
        fixed = event.name == "sampled_without_replacement"
        if not isinstance(event.event, Leaf) or not (fixed or event.name == "poisson_sampled"):
            return []
        given: dict[str, Any] = {name: exact(cast("float", x)) for name, x in event.parameters}
        if "truncated_batch_size" in given or (replaced and not fixed):
            return []
        rate = given.get("sampling_probability")
        if rate is None:
            rate = given["sample_size"] / given["source_dataset_size"]
        pair = _one_use(event.event, replaced=fixed)
        return pair and (glued if replaced else sampled)(pair, rate)
    if not isinstance(event, Leaf) or event.name not in OUTCOMES:
        return []
    # The pair of a yes and a no is not the same in both orders.
    if replaced and event.name == "bernoulli_pair":
        return []
    with mp.workdps(DIGITS):
        given = {name: _number(value) for name, value in event.parameters}
        try:
            return OUTCOMES[event.name](given)
        except (KeyError, ValueError):
            return []


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    number = exact(value)
    return int(number) if isinstance(value, int) else mp.mpf(number.numerator) / number.denominator


def removal(pair: Pair) -> Pair:
    """Exchange the neighbours: P is then the output with the record."""
    return [(with_it, without) for without, with_it in pair]


def sampled(pair: Pair, q: float | Fraction) -> Pair:
    """Poisson sampling: the record is there with probability q, and otherwise it is not."""
    with mp.workdps(DIGITS):
        part = mp.mpf(Fraction(q).numerator) / Fraction(q).denominator
        return [(mp.mpf(a), (1 - part) * a + part * b) for a, b in pair]


def glued(pair: Pair, q: float | Fraction) -> Pair:
    """Sampling without replacement under replace-one, for a pair that is the same in both orders.

    H_a is at most that of (q P + (1-q) Q, Q) for a >= 1 and that of (P, (1-q) P + q Q) for a < 1
    (Zhu, Dong and Wang 2022, Corollary 31). Both are piecewise linear in a; the pair is that of the
    lower convex hull of their corners: where the slope changes by d at a, (P, Q) has (a d, d).
    """
    with mp.workdps(DIGITS):
        above = sampled(removal(pair), q)  # (Q, mixture); read the other way round below
        below = sampled(pair, q)
        corners = {mp.zero, mp.one}
        corners |= {b / a for a, b in above if a and b > a}
        corners |= {a / b for a, b in below if b and a < b}
        upper = [(b, a) for a, b in above]

        def height(a: Any) -> Any:
            outcomes = upper if a >= 1 else below
            return mp.fsum(max(mp.zero, p - a * other) for p, other in outcomes)

        hull: list[tuple[Any, Any]] = []
        for a in sorted(corners):
            point = a, height(a)
            while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-1], point):
                hull.pop()
            hull.append(point)
        slopes = [-mp.one, *(_slope(one, other) for one, other in pairwise(hull)), mp.zero]
        found = [
            (a * (after - before), after - before)
            for (a, _), before, after in zip(hull, slopes, slopes[1:], strict=False)
        ]
        return [*found, (hull[-1][1], mp.zero)]


def _slope(one: tuple[Any, Any], other: tuple[Any, Any]) -> Any:
    return (other[1] - one[1]) / (other[0] - one[0])


def pure(epsilon: float) -> Pair:
    """Two outcomes whose probabilities differ by the factor e^epsilon (randomised response)."""
    return approx(epsilon, 0.0)


def approx(epsilon: float, delta: float) -> Pair:
    """The worst (epsilon, delta)-DP mechanism (Kairouz, Oh and Viswanath 2015, section 2)."""
    with mp.workdps(DIGITS):
        lost, e = mp.mpf(delta), mp.exp(mp.mpf(epsilon))
        high, low = (1 - lost) * e / (1 + e), (1 - lost) / (1 + e)
        return [(lost, mp.zero), (high, low), (low, high), (mp.zero, lost)]


def randomized_response(
    *,
    p: float | None = None,
    epsilon: float | None = None,
    random: float | None = None,
    categories: int = 2,
) -> Pair:
    """The true category changes from the first to the second; every category is an outcome."""
    with mp.workdps(DIGITS):
        others = categories - 1
        if p is not None:
            true = mp.mpf(p)
        elif random is not None:
            true = 1 - mp.mpf(random) * others / categories
        else:
            true = mp.exp(mp.mpf(epsilon)) / (mp.exp(mp.mpf(epsilon)) + others)
        false = (1 - true) / others
        return [(true, false), (false, true), *[(false, false)] * (categories - 2)]


def bernoulli(p: float, other: float) -> Pair:
    """Yes with probability p without the record and `other` with it."""
    with mp.workdps(DIGITS):
        a, b = mp.mpf(p), mp.mpf(other)
        return [(a, b), (1 - a, 1 - b)]


def _shifted(weight: Any, reach: int, sensitivity: int) -> Pair:
    """Integer noise proportional to `weight`, cut at `reach`, at 0 and at the sensitivity."""
    weights = {k: weight(k) for k in range(-reach - sensitivity, reach + sensitivity + 1)}
    total = mp.fsum(weights.values())
    return [
        (weights[k] / total, weights[k - sensitivity] / total)
        for k in range(-reach, reach + sensitivity + 1)
    ]


def discrete_laplace(
    *, scale: float | None = None, epsilon: float | None = None, sensitivity: int = 1
) -> Pair:
    """Integer noise with probabilities proportional to e^(-|k| / scale)."""
    with mp.workdps(DIGITS):
        step = 1 / mp.mpf(scale) if scale is not None else mp.mpf(epsilon) / sensitivity
        reach = int(mp.ceil(CUT * mp.log(10) / step))
        if reach > 4_000:
            raise ValueError("too flat a law to be written out")
        return _shifted(lambda k: mp.exp(-abs(k) * step), reach, sensitivity)


def discrete_gaussian(sigma: float, sensitivity: int = 1) -> Pair:
    """Integer noise with probabilities proportional to e^(-k^2 / (2 sigma^2))."""
    with mp.workdps(DIGITS):
        variance = mp.mpf(sigma) ** 2
        reach = int(mp.ceil(mp.mpf(sigma) * mp.sqrt(2 * CUT * mp.log(10)))) + 2
        return _shifted(lambda k: mp.exp(-k * k / (2 * variance)), reach, sensitivity)


def staircase(epsilon: float, gamma: float | None = None) -> Pair:
    """Noise with a density of equal steps on [0, gamma), [gamma, 1 + gamma), ...; shift by 1.

    The density is constant between neighbouring points of the integers and +-gamma plus the
    integers, so those intervals are the outcomes.
    """
    with mp.workdps(DIGITS):
        e = mp.mpf(epsilon)
        corner = mp.mpf(gamma) if gamma is not None else 1 / (1 + mp.exp(e / 2))
        reach = int(mp.ceil(CUT * mp.log(10) / e)) + 2
        if reach > 4_000:
            raise ValueError("too flat a law to be written out")

        def density(x: Any) -> Any:
            return mp.exp(-e * mp.floor(abs(x) + 1 - corner))

        points = sorted(
            {k + shift for k in range(-reach, reach + 2) for shift in (mp.zero, corner, -corner)}
        )
        pieces = [
            ((right - left) * density((left + right) / 2), (left + right) / 2, right - left)
            for left, right in pairwise(points)
        ]
        total = mp.fsum(mass for mass, _, _ in pieces)
        return [
            (mass / total, width * density(middle - 1) / total) for mass, middle, width in pieces
        ]


# Of parameters by name; a KeyError says that these are others.
OUTCOMES: dict[str, Callable[[dict[str, Any]], Pair]] = {
    "pure": lambda given: pure(given["epsilon"]),
    "approx": lambda given: approx(given["epsilon"], given["delta"]),
    "bernoulli_pair": lambda given: bernoulli(given["p"], given["other_p"]),
    "randomized_response": lambda given: randomized_response(
        p=given.get("probability"),
        epsilon=given.get("epsilon"),
        random=given.get("random"),
        categories=given.get("categories", 2),
    ),
    "discrete_gaussian": lambda given: discrete_gaussian(
        _small(_alone(given, "clients")["standard_deviation"], 5), given.get("sensitivity", 1)
    ),
    "discrete_laplace": lambda given: discrete_laplace(
        scale=_small(_alone(given, "bound").get("scale"), 20),
        epsilon=given.get("epsilon"),
        sensitivity=given.get("sensitivity", 1),
    ),
    "staircase": lambda given: staircase(given["epsilon"], given.get("gamma")),
}


def _alone(given: dict[str, Any], other: str) -> dict[str, Any]:
    """Return the same without another parameter, which makes it another mechanism.

    Raises:
        KeyError: it is given.
    """
    if other in given:
        raise KeyError(other)
    return given


def _small(value: Any, most: float) -> Any:
    """Return what gives few outcomes.

    Raises:
        ValueError: it gives too many.
    """
    if value is not None and value > most:
        raise ValueError("too many outcomes")
    return value
