"""From the specification in a certificate to the pairs whose cost is to be bounded.

Known here are the mechanisms whose dominating pair is in the literature and attained: Gaussian and
Laplace noise, randomized response, two-sided geometric and discrete Gaussian noise, a guarantee
`pure`, `approx` or `gdp`, their Poisson samples (Zhu, Dong, Wang 2022, Theorem 11, for both
directions), and sums and repetitions of all of them (Theorem 10).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from flint import arb

from tests.checker.laws import Finite, Gaussian, Laplace, Law, SampledGaussian, ball

Event = Mapping[str, Any]
MOST_LOSSES = 1000
# Standard deviations beyond which there is less than any bracket tells apart.
DEVIATIONS = 14


class NotCheckedError(Exception):
    """The check knows nothing of it: no word against the certificate."""


_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?"
_WRITTEN = re.compile(rf"({_NUMBER})(?:/({_NUMBER}))?(%?)")


def rational(value: object) -> Fraction:
    """Read what is written: a number, a ratio or a percentage, exactly."""
    if isinstance(value, Fraction):
        return value
    found = _WRITTEN.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"{value!r} is no number")
    upper, lower, percent = found.groups()
    return Fraction(upper) / Fraction(lower or 1) / (100 if percent else 1)


def positive(value: object) -> Fraction:
    """Read a number above 0."""
    found = rational(value)
    if not found > 0:
        raise ValueError(f"{value!r} is not above 0")
    return found


def whole(value: object) -> int:
    """Read a whole number from 1 on."""
    found = rational(value) if isinstance(value, Fraction) else Fraction(0)
    if found < 1 or found.denominator != 1:
        raise ValueError(f"{value!r} is no count")
    return int(found)


def directions(spec: Event, relation: str) -> dict[str, list[tuple[Law, int]]]:
    """Return the laws with their counts, in each order of the neighbours."""
    leaves = list(_leaves(spec, 1))
    sampled = any(rate is not None for _, rate, _ in leaves)
    ahead = [(_law(leaf, rate, remove=True), n) for leaf, rate, n in leaves]
    if relation == "add_or_remove_one":
        # Without a sample both orders have the same law.
        back = [
            (law if rate is None else _law(leaf, rate, remove=False), n)
            for (law, n), (leaf, rate, _) in zip(ahead, leaves, strict=True)
        ]
        return {"remove": ahead, "add": back}
    if relation == "replace_one" and not sampled:
        return {"replace": ahead}
    raise NotCheckedError(f"the relation {relation} of a sample is not known here")


def _leaves(event: Event, count: int) -> Any:
    """Yield the mechanisms, the rate at which each sees a sample or None, and its count."""
    kind = event["type"]
    if kind == "composed":
        _only(event, "events")
        for each in event["events"]:
            yield from _leaves(each, count)
    elif kind == "self_composed":
        _only(event, "event", "count")
        yield from _leaves(event["event"], count * whole(event["count"]))
    elif kind == "poisson_sampled":
        _only(event, "event", "sampling_probability")
        yield event["event"], rational(event["sampling_probability"]), count
    else:
        yield event, None, count


def _one(event: Event, *names: str) -> str:
    """Return which of some fields there is, of which there is to be one."""
    given = [name for name in names if name in event]
    if len(given) != 1:
        raise ValueError(f"{event['type']} has one of {', '.join(names)}")
    return given[0]


def _only(event: Event, *known: str) -> None:
    if unknown := ", ".join(sorted(set(event) - {"type", *known})):
        raise NotCheckedError(f"{event['type']} with {unknown} is not known here")


def _law(leaf: Event, rate: Fraction | None, *, remove: bool) -> Law:
    """Return the law of one use."""
    kind = leaf["type"]
    if rate is not None and not 0 < rate <= 1:
        raise NotCheckedError("a sampling probability is in (0, 1]")
    alone = rate is None or rate == 1
    if kind == "gaussian":
        multiplier = _multiplier(leaf)
        if rate is None or rate == 1:
            return Gaussian(1 / multiplier**2)
        return SampledGaussian(multiplier, rate, remove=remove)
    if kind == "gdp" and alone:
        _only(leaf, "mu")
        return Gaussian(positive(leaf["mu"]) ** 2)
    if kind == "laplace" and alone:
        return Laplace(1 / _multiplier(leaf))
    if kind in ("gdp", "laplace"):
        raise NotCheckedError(f"samples of {kind} are not known here")
    base = _finite(leaf)
    return base if rate is None else base.sampled(rate, remove=remove)


def _multiplier(leaf: Event) -> Fraction:
    """Return noise over sensitivity."""
    size = "standard_deviation" if leaf["type"] == "gaussian" else "scale"
    _only(leaf, "sensitivity", "noise_multiplier", size)
    if _one(leaf, "noise_multiplier", size) == "noise_multiplier":
        _only(leaf, "noise_multiplier")
        return positive(leaf["noise_multiplier"])
    return positive(leaf[size]) / positive(leaf.get("sensitivity", Fraction(1)))


def _finite(leaf: Event) -> Finite:
    """Return the pair of a mechanism of finitely many outcomes."""
    kind = leaf["type"]
    if kind == "randomized_response":
        _only(leaf, "probability", "epsilon", "categories")
        categories = whole(leaf.get("categories", Fraction(2)))
        if _one(leaf, "probability", "epsilon") == "probability":
            if not 0 < rational(leaf["probability"]) < 1:
                raise NotCheckedError("an answer that is always, or never, true")
            p = ball(rational(leaf["probability"]))
        else:
            power = ball(positive(leaf["epsilon"])).exp()
            p = power / (power + categories - 1)
        other = (1 - p) / (categories - 1)
        same = (categories - 2) * other
        if categories == 2:
            return Finite([(p, other), (other, p)])
        return Finite([(p, other), (same, same), (other, p)], (p / other).log())
    if kind in ("pure", "approx"):
        _only(leaf, "epsilon", *(["delta"] if kind == "approx" else []))
        size = rational(leaf["epsilon"])
        written = rational(leaf["delta"]) if kind == "approx" else Fraction(0)
        if size < 0 or not 0 <= written < 1:
            raise ValueError("epsilon is at least 0, and delta in [0, 1)")
        power, delta = ball(size).exp(), ball(written)
        rest = (1 - delta) / (1 + power)
        pairs = [(rest * power, rest), (rest, rest * power)]
        if written > 0:
            pairs += [(delta, arb(0)), (arb(0), delta)]
        return Finite(pairs)
    if kind == "discrete_laplace":
        _only(leaf, "scale", "epsilon", "sensitivity")
        shift = whole(leaf.get("sensitivity", Fraction(1)))
        if shift > MOST_LOSSES:
            raise NotCheckedError("so many losses are not listed here")
        said = _one(leaf, "scale", "epsilon")
        inverse = 1 / positive(leaf[said]) if said == "scale" else positive(leaf[said]) / shift
        alpha = (-ball(inverse)).exp()
        end, scale = 1 / (1 + alpha), (1 - alpha) / (1 + alpha)
        inner = [(scale * alpha**x, scale * alpha ** (shift - x)) for x in range(1, shift)]
        last = end * alpha**shift
        return Finite([(end, last), *inner, (last, end)], 2 * ball(inverse))
    if kind == "discrete_gaussian":
        return _discrete_gaussian(leaf)
    raise NotCheckedError(f"{kind} is not known here")


def _discrete_gaussian(leaf: Event) -> Finite:
    """Return N_Z(s, sigma^2) and N_Z(0, sigma^2) where both may matter (Canonne et al. 2020).

    The loss at x is (x - s / 2) s / sigma^2. What is beyond T on either side is, of sum e^{-x^2 /
    (2 sigma^2)}, at most e^{-T^2 / (2 sigma^2)} / (1 - e^{-T / sigma^2}) on each: no more than
    that is lost to infinity, on the side of P as on that of Q, and no less than nothing.
    """
    _only(leaf, "standard_deviation", "variance", "rho", "sensitivity")
    shift = whole(leaf.get("sensitivity", Fraction(1)))
    given = _one(leaf, "standard_deviation", "variance", "rho")
    size = positive(leaf[given])
    variance = {"variance": size, "rho": shift**2 / (2 * size)}.get(given, size**2)
    reach = math.ceil(DEVIATIONS * math.sqrt(variance)) + 1
    if 2 * reach + shift > MOST_LOSSES:
        raise NotCheckedError("so many losses are not listed here")
    power = [(-ball(x * x / (2 * variance))).exp() for x in range(reach + shift + 1)]
    left = (power[reach] / (1 - (-ball(reach / variance)).exp())).union(ball(0))
    total = power[0] + 2 * sum(power[1 : reach + 1], ball(0)) + 2 * left
    pairs = [
        (power[abs(x - shift)] / total, power[abs(x)] / total)
        for x in range(reach + shift, -reach - 1, -1)
    ]
    # A mass of P beyond reach + s or -reach is one of a normal beyond reach.
    return Finite(pairs, ball(Fraction(shift) / variance), 2 * left / total)
