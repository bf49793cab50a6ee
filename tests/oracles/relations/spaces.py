"""Small data sets of labelled persons, what is sampled of them, and functions of bounded change.

A data set is a set of persons. Under add-or-remove-one two data sets are as far apart as there are
persons in one of them only; under replace-one all have the same size, and half of that counts.
A mechanism fits a description if data sets at distance 1 have outputs that do, and so does every
function below: none changes by more than 1 from one data set to its neighbours. Nothing here, nor
in the files beside it, shares code with what it is compared with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = Any
State = frozenset[int]


@dataclass(frozen=True)
class Space:
    """All samples that may occur, and the two data sets that are told apart.

    Attributes:
        others: persons in both data sets.
        records: persons who are in the first data set only.
        swap: whether samples have one size, and neighbours differ by an exchange.
        replaced: whether the second data set has others in the place of `records`.
        size: of every sample, with `swap`.
        rate: of a Poisson sample; None where there is none.
    """

    others: int
    records: int
    swap: bool
    replaced: bool
    size: int = 0
    rate: float | None = None

    @property
    def coming(self) -> range:
        """Persons of the first data set only."""
        return range(self.others, self.others + self.records)

    @property
    def going(self) -> range:
        """Persons of the second data set only."""
        first = self.others + self.records
        return range(first, first + (self.records if self.replaced else 0))

    @cached_property
    def states(self) -> list[State]:
        """All sets of persons, or all of the size."""
        persons = range(self.others + self.records * (2 if self.replaced else 1))
        sizes = [self.size] if self.swap else range(len(persons) + 1)
        return [frozenset(each) for size in sizes for each in combinations(persons, size)]

    @cached_property
    def holds(self) -> Array:
        """Which persons (columns) each state (rows) holds."""
        persons = self.others + self.records * (2 if self.replaced else 1)
        return np.array([[p in state for p in range(persons)] for state in self.states], bool)

    @cached_property
    def distances(self) -> Array:
        """Numbers of steps between states."""
        held = self.holds.astype(int)
        apart = (held[:, None, :] != held[None, :, :]).sum(axis=2)
        return apart // 2 if self.swap else apart

    @cached_property
    def both(self) -> tuple[Array, Array]:
        """Probabilities of the states in a sample of either data set."""
        common = frozenset(range(self.others))
        first, second = common | set(self.coming), common | set(self.going)
        return self._sampled(first), self._sampled(second)

    @cached_property
    def needed(self) -> list[int]:
        """States that may be drawn."""
        first, second = self.both
        return [int(i) for i in np.flatnonzero((first > 0) | (second > 0))]

    def _sampled(self, data: State) -> Array:
        weights = np.zeros(len(self.states))
        for i, state in enumerate(self.states):
            if not state <= data:
                continue
            if self.swap:
                weights[i] = 1.0 / math.comb(len(data), self.size)
            elif self.rate is None:
                weights[i] = float(state == data)
            else:
                held = len(state)
                weights[i] = self.rate**held * (1.0 - self.rate) ** (len(data) - held)
        return weights

    def outputs(self, laws: Array) -> tuple[Array, Array]:
        """Return the laws of the output on both data sets, given those of the needed states."""
        first, second = self.both
        return first[self.needed] @ laws, second[self.needed] @ laws


Numbers = Any  # numpy.random.Generator


def pull(space: Space, sign: float = 1.0) -> Array:
    """Let records raise a number by 1, and those in their place lower it by 1, or not at all."""
    held = space.holds
    up, down = held[:, list(space.coming)].sum(axis=1), held[:, list(space.going)].sum(axis=1)
    return sign * (up - down * (0.0 if space.swap else 1.0))


def additive(space: Space, rng: Numbers, *, whole: bool) -> Array:
    """Add up what each person brings."""
    persons = space.holds.shape[1]
    low = 0 if space.swap else -1
    brought = rng.integers(low, 2, persons) if whole else rng.uniform(low, 1, persons)
    return space.holds @ brought.astype(float)


def rising(space: Space, rng: Numbers) -> Array:
    """Add up what each person brings, never less than nothing, up to a cap."""
    persons = space.holds.shape[1]
    brought = rng.integers(0, 2, persons) if rng.random() < 0.6 else rng.uniform(0, 1, persons)
    found = space.holds @ brought.astype(float)
    return np.minimum(found, rng.integers(1, persons + 1)) if rng.random() < 0.3 else found


def from_some(space: Space, rng: Numbers) -> Array:
    """Return the distance to some of the states, at most so much, with a sign."""
    count = len(space.states)
    some = rng.choice(count, size=int(rng.integers(1, max(2, count // 2))), replace=False)
    found = space.distances[:, some].min(axis=1).astype(float)
    if rng.random() < 0.5:
        found = np.minimum(found, rng.integers(1, 3))
    return found if rng.random() < 0.5 else -found


def extended(space: Space, rng: Numbers, *, whole: bool) -> Array:
    """Extend random numbers on some states: the least that distances allow (McShane)."""
    count = len(space.states)
    wide = float(space.distances.max())
    wild = rng.uniform(-wide, wide, count)
    if whole:
        wild = np.rint(wild)
    return (wild[None, :] + space.distances).min(axis=1)


def moving(space: Space, rng: Numbers, *, whole: bool = False) -> Array:
    """Return a number for each state that changes by at most 1 between neighbours."""
    kind = rng.random()
    if kind < 0.45:
        return pull(space, 1.0 if rng.random() < 0.5 else -1.0)
    if kind < 0.65:
        return additive(space, rng, whole=whole) * (1.0 if rng.random() < 0.5 else -1.0)
    if kind < 0.85:
        return from_some(space, rng)
    return extended(space, rng, whole=whole)


def divergences(p: Array, q: Array, scales: Array) -> Array:
    """Return H_a(P || Q), the sum of what P has over a Q, at many a."""
    return np.maximum(p[None, :] - scales[:, None] * q[None, :], 0.0).sum(axis=1)


Pair = tuple[Array, Array]


def merged(pair: Pair, most: int) -> Pair:
    """Put outcomes with about the same likelihood ratio together, which forgets something."""
    p, q = pair
    kept = (p > 0.0) | (q > 0.0)
    p, q = p[kept], q[kept]
    if len(p) <= most:
        return p, q
    with np.errstate(divide="ignore"):
        ratio = np.log(p) - np.log(q)
    order = np.argsort(ratio)
    p, q = p[order], q[order]
    # Half of the cells by mass, half by the ratio.
    mass = np.cumsum(p + q)
    finite = np.clip(ratio[order], -40.0, 40.0)
    span = max(float(finite[-1] - finite[0]), 1e-12)
    place = np.floor(mass / mass[-1] * (most // 2)) + np.floor(
        (finite - finite[0]) / span * (most // 2)
    )
    starts = np.flatnonzero(np.r_[True, np.diff(place) > 0])
    return np.add.reduceat(p, starts), np.add.reduceat(q, starts)


def adaptive(stages: Sequence[Sequence[Pair]], scales: Array) -> Array:
    """Return the largest H_a of a chain of uses, where later uses are chosen by earlier outputs.

    Each stage offers pairs of outputs on the same two data sets. The last use is that of the
    largest divergence at the scale that its past has made of a.
    """
    scales = np.asarray(scales, float)
    last = [merged(pair, 80) for pair in stages[-1]]

    def best(at: Array) -> Array:
        return np.max([divergences(p, q, at) for p, q in last], axis=0)

    value: Callable[[Array], Array] = best
    for stage in reversed(stages[:-1]):
        value = _before([merged(pair, 60) for pair in _worth(stage, scales)], value)
    return value(scales)


def _worth(stage: Sequence[Pair], scales: Array) -> list[Pair]:
    """Return the pairs that cost most at one of the scales, or in the middle of them."""
    tried = np.unique(np.r_[scales[::3], np.sqrt(scales[::3])])
    costs = np.array([divergences(p, q, tried) for p, q in stage])
    places = {int(i) for column in costs.T for i in np.argsort(-column)[:3]}
    return [stage[i] for i in sorted(places)]


def _before(pairs: Sequence[Pair], after: Callable[[Array], Array]) -> Callable[[Array], Array]:
    def value(at: Array) -> Array:
        found = np.zeros(len(at))
        for p, q in pairs:
            seen = p > 0.0
            ratio = q[seen] / p[seen]
            asked = (at[:, None] * ratio[None, :]).ravel()
            later = after(asked).reshape(len(at), -1)
            found = np.maximum(found, later @ p[seen])
        return found

    return value
