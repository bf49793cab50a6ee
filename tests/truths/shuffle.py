"""What shuffled reports cost, by counting every outcome and every data set."""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Rows = list[list[Fraction]]
# Probability of each histogram of reports.
Law = dict[tuple[int, ...], Fraction]


def response(ratio: Fraction, categories: int) -> Rows:
    """Return the reports of randomized response, one row a value."""
    other = 1 / (ratio + categories - 1)
    return [
        [ratio * other if i == j else other for j in range(categories)] for i in range(categories)
    ]


def shuffled(rows: Rows, values: Sequence[int]) -> Law:
    """Return the law of how often each report occurs, one person a value."""
    law: Law = {(0,) * len(rows[0]): Fraction(1)}
    for value in values:
        longer: Law = defaultdict(Fraction)
        for counts, mass in law.items():
            for symbol, chance in enumerate(rows[value]):
                if chance:
                    key = (*counts[:symbol], counts[symbol] + 1, *counts[symbol + 1 :])
                    longer[key] += mass * chance
        law = dict(longer)
    return law


def delta(p: Law, q: Law, growth: Fraction) -> Fraction:
    """Return sum (p - growth q)_+."""
    outcomes = set(p) | set(q)
    gaps = (p.get(each, Fraction(0)) - growth * q.get(each, Fraction(0)) for each in outcomes)
    return sum((gap for gap in gaps if gap > 0), Fraction(0))


def twice(law: Law) -> Law:
    """Return the law of two independent rounds."""
    return {a + b: x * y for a, x in law.items() for b, y in law.items()}


def pairs(rows: Rows, n: int) -> list[tuple[Law, Law]]:
    """Return the laws of all pairs of neighbouring data sets of n people."""
    found = []
    for others in itertools.combinations_with_replacement(range(len(rows)), n - 1):
        laws = [shuffled(rows, (*others, value)) for value in range(len(rows))]
        found += list(itertools.permutations(laws, 2))
    return found


def worst(rows: Rows, n: int, growths: Sequence[Fraction], rounds: int = 1) -> list[Fraction]:
    """Return the largest delta over all pairs, the same in each of one or two rounds."""
    found = pairs(rows, n)
    if rounds == 2:
        found = [(twice(p), twice(q)) for p, q in found]
    return [max(delta(p, q, growth) for p, q in found) for growth in growths]


def power(p: Law, q: Law, level: Fraction) -> Fraction:
    """Return the largest P of a test with Q = level (Neyman and Pearson), Q without zeros."""
    found, rest = Fraction(0), level
    for each in sorted(q, key=lambda each: p.get(each, Fraction(0)) / q[each], reverse=True):
        share = min(Fraction(1), rest / q[each])
        found += share * p.get(each, Fraction(0))
        rest -= share * q[each]
    return found
