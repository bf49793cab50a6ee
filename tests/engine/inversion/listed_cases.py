"""Compositions that the tests of smoothed lines share, and their truths."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from mpmath import mp, mpf

from privcalc.accounting.realize import default_relation, realize
from privcalc.losses.atoms import AtomicLaw
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    import random
    from fractions import Fraction

    from privcalc.engine.composition import Composition

Number = Any


def compositions(text: str) -> dict[str, Composition]:
    """Return the composition of each direction."""
    tree = parse(text).tree
    return {name: each.upper for name, each in realize(tree, default_relation(tree)).items()}


def composition_of(text: str) -> Composition:
    """Return that of removing a record, or of both directions where they are one."""
    return next(each for name, each in compositions(text).items() if name in ("remove", "both"))


def random_law(rng: random.Random, most: int = 6) -> AtomicLaw:
    """Return a law with a few atoms of masses that add up to 1."""
    size = rng.randint(2, most)
    weights = [rng.randint(1, 2**20) for _ in range(size)]
    losses = tuple(rng.uniform(-1.0, 1.5) for _ in range(size))
    total = 2 ** math.ceil(math.log2(sum(weights)))
    weights[0] += total - sum(weights)
    return AtomicLaw(losses, tuple(weight / total for weight in weights), loss_units=0.0)


def enumerated(composition: Composition, at: float) -> Fraction | Number:
    """Return delta at an epsilon by going through all multisets of outcomes, in 40 digits."""
    sums = {mpf(0): mpf(1)}
    for law, count in composition:
        assert isinstance(law, AtomicLaw)
        for _ in range(count):
            following: dict[Number, Number] = {}
            for (have, mass), (loss, p) in itertools.product(
                sums.items(), zip(law.losses, law.masses, strict=True)
            ):
                key = have + mpf(loss)
                following[key] = following.get(key, mpf(0)) + mass * mpf(p)
            sums = following
    return mp.fsum(mass * (1 - mp.exp(at - loss)) for loss, mass in sums.items() if loss > at)
