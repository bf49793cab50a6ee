"""Random specifications over every mechanism and wrapper of the language.

Small discrete ones carry the probabilities of their outcomes, for the brute-force oracle.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from privcalc.relation import Relation
from tests.oracles import brute_pairs as pairs
from tests.random_specs import log_uniform

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    from tests.oracles.brute import Pair

    Outcomes = Callable[[], Pair]


@dataclass(frozen=True)
class RandomSpec:
    """A question: a specification, a delta, and the relation to ask under (None: the default).

    `outcomes` are (pair, count) of every part if all of them are discrete, and otherwise None. The
    pair is (without, with) for adding a record; under replace-one (P, Q) for replacing one.
    """

    text: str
    delta: float
    relation: Relation | None
    outcomes: tuple[tuple[Outcomes, int], ...] | None

    @property
    def replaces(self) -> bool:
        """Whether the question is asked under replace-one, the default with @wor."""
        if self.relation is None:
            return "@wor:" in self.text
        return self.relation is Relation.REPLACE_ONE

    def __str__(self) -> str:
        """Say how to ask it."""
        relation = f" --relation {self.relation.text}" if self.relation else ""
        return f"{self.text} --delta {self.delta!r}{relation}"


@dataclass(frozen=True)
class Base:
    """A mechanism without wrappers: the most it is used, and its outcomes if they are few.

    It is symmetric if its pair is the same in both orders.
    """

    text: str
    most: int
    outcomes: Outcomes | None = None
    symmetric: bool = True


class Generator:
    """Draws specifications; files that they name are written into a directory."""

    def __init__(self, rng: random.Random, directory: Path) -> None:
        """Take the source of chance and the directory."""
        self.rng = rng
        self.directory = directory
        self.files = 0

    def spec(self) -> RandomSpec:
        """Return a sum of one to three parts under one kind of sampling."""
        rng = self.rng
        sampling = rng.choices(("none", "poisson", "wor"), (5, 4, 2))[0]
        size = rng.choices((1, 2, 3), (6, 3, 1))[0]
        relation = None
        if sampling == "none" and rng.random() < 0.15:
            relation = Relation.REPLACE_ONE
        elif sampling == "wor" and rng.random() < 0.3:
            relation = Relation.ADD_OR_REMOVE_ONE
        replaces = relation is Relation.REPLACE_ONE or (sampling == "wor" and relation is None)
        parts = [self.part(sampling, replaces=replaces) for _ in range(size)]
        text = "+".join(part for part, _, _ in parts)
        known = tuple((make, count) for _, make, count in parts if make is not None)
        if sampling == "wor" and "@wor:" not in text:
            known = ()
        delta = log_uniform(rng, 1e-30, 0.3)
        return RandomSpec(text, delta, relation, known if len(known) == size else None)

    def disjoint(self) -> tuple[str, tuple[RandomSpec, ...]]:
        """Return mechanisms on disjoint parts, with another beside, and what a record may meet."""
        rng = self.rng
        sampling = rng.choice(("none", "poisson"))
        inside = [self.part(sampling, replaces=False) for _ in range(rng.randint(2, 3))]
        beside = [self.part(sampling, replaces=False) for _ in range(rng.randint(0, 1))]
        count = rng.choice((1, 2, 3))
        delta = log_uniform(rng, 1e-30, 0.3)
        rest = "".join(f"+{text}" for text, _, _ in beside)
        found = []
        for text, make, times in inside:
            whole = [(make, times * count), *((other, n) for _, other, n in beside)]
            known = tuple((outcomes, n) for outcomes, n in whole if outcomes is not None)
            outcomes = known if len(known) == len(whole) else None
            found.append(RandomSpec(f"{text}@{count}{rest}", delta, None, outcomes))
        return f"max({','.join(text for text, _, _ in inside)})@{count}{rest}", tuple(found)

    def part(self, sampling: str, *, replaces: bool) -> tuple[str, Outcomes | None, int]:
        """Return one wrapped mechanism with its count: text, outcomes of one use, count."""
        rng = self.rng
        base = self.base()
        text, make = base.text, base.outcomes
        # Where records are replaced the pair has to be that of either order.
        if (replaces or sampling == "wor") and not base.symmetric:
            make = None
        wrappings = 0 if sampling == "none" else rng.choices((0, 1, 2), (2, 7, 1))[0]
        population = None
        for _ in range(wrappings):
            if sampling == "wor":
                written, part, population = self.without_replacement(population)
                text += written
                draw = _glued if replaces else _sampled
                make = partial(draw, make, part) if make and wrappings == 1 else None
                continue
            q = log_uniform(rng, 1e-5, 0.9)
            # Few binary digits: the product of two is exact, and then is accepted.
            q = float(f"{q:.1g}") if wrappings == 1 else rng.randint(1, 255) / 256
            text += f"@poisson:q={q!r}"
            make = partial(_sampled, make, q) if make else None
        if rng.random() < 0.12:
            text += f"@group:k={rng.randint(2, 4)}"
            make = None
        count = int(log_uniform(rng, 1, base.most))
        if count > 1 or rng.random() < 0.3:
            text += f"@{count}"
        return text, make, count

    def without_replacement(self, inner: int | None) -> tuple[str, float | Fraction, int | None]:
        """Return a fixed-size sample: text, rate, and population if it is written.

        `inner` is the population that the event inside samples from: what is drawn here.
        """
        if inner is None and self.rng.random() < 0.5:
            rate = float(f"{log_uniform(self.rng, 1e-3, 0.9):.1g}")
            return f"@wor:q={rate!r}", rate, None
        sample = inner or self.rng.randint(1, 50_000)
        size = sample + self.rng.randint(1, 50_000)
        return f"@wor:n={size},m={sample}", Fraction(sample, size), size

    def base(self) -> Base:
        """Return one mechanism."""
        kinds: dict[Callable[[], Base], int] = {
            self.gaussian: 4,
            self.laplace: 3,
            self.gdp: 1,
            self.discrete_gaussian: 3,
            self.discrete_laplace: 2,
            self.staircase: 2,
            self.randomized_response: 2,
            self.exponential: 2,
            self.guarantee: 2,
            self.pmf: 1,
            self.profile: 1,
            self.gaussian_mixture: 1,
            self.gaussian_pair: 1,
            self.bernoulli_pair: 1,
            self.noisy_max: 1,
        }
        return self.rng.choices(list(kinds), list(kinds.values()))[0]()

    def gaussian(self) -> Base:
        """Gaussian noise."""
        sigma = log_uniform(self.rng, 0.6, 100)
        kind = self.rng.random()
        if 0.1 <= kind < 0.2:
            return Base(f"gnmax:sigma={sigma!r}", 1_000_000)
        if 0.2 <= kind < 0.3:
            tail = self.rng.choice(("banded,steps=7", "identity,steps=1", "banded,steps=5"))
            return Base(f"matrix-gaussian:sigma={2 * sigma!r},strategy={tail}", 100_000)
        sensitivity = ",sensitivity=0.5" if kind < 0.1 else ""
        return Base(f"gaussian:sigma={sigma!r}{sensitivity}", 1_000_000)

    def laplace(self) -> Base:
        """Laplace noise."""
        return Base(f"laplace:scale={log_uniform(self.rng, 0.5, 200)!r}", 5000)

    def gdp(self) -> Base:
        """A Gaussian guarantee."""
        return Base(f"gdp:mu={log_uniform(self.rng, 0.01, 2)!r}", 10_000)

    def discrete_gaussian(self) -> Base:
        """Discrete Gaussian noise."""
        sigma, sensitivity = log_uniform(self.rng, 0.5, 50), self.small_integer()
        make = partial(pairs.discrete_gaussian, sigma, sensitivity)
        text = f"discrete-gaussian:sigma={sigma!r},sensitivity={sensitivity}"
        return Base(text, 1000, make if sigma < 5 else None)

    def discrete_laplace(self) -> Base:
        """Two-sided geometric noise."""
        sensitivity = self.small_integer()
        if self.rng.random() < 0.5:
            scale = log_uniform(self.rng, 0.5, 50)
            text = f"discrete-laplace:scale={scale!r},sensitivity={sensitivity}"
            make = partial(pairs.discrete_laplace, scale=scale, sensitivity=sensitivity)
            return Base(text, 1000, make if scale < 20 else None)
        epsilon = log_uniform(self.rng, 0.05, 2)
        text = f"discrete-laplace:epsilon={epsilon!r},sensitivity={sensitivity}"
        make = partial(pairs.discrete_laplace, epsilon=epsilon, sensitivity=sensitivity)
        return Base(text, 1000, make if epsilon > 0.3 else None)

    def small_integer(self) -> int:
        """Return a sensitivity, mostly 1."""
        return self.rng.choices((1, 2, 3, 4, 5), (8, 3, 2, 1, 1))[0]

    def staircase(self) -> Base:
        """Staircase noise, with or without a shape of its own."""
        epsilon = log_uniform(self.rng, 0.05, 3)
        gamma = round(self.rng.random(), 2) if self.rng.random() < 0.5 else None
        text = f"staircase:epsilon={epsilon!r}" + (f",gamma={gamma!r}" if gamma is not None else "")
        make = partial(pairs.staircase, epsilon, gamma)
        return Base(text, 2000, make if epsilon > 0.4 else None)

    def randomized_response(self) -> Base:
        """An answer that may be changed."""
        rng = self.rng
        categories = rng.choice((2, 2, 2, 3, 4, 10))
        tail = f",categories={categories}" if categories > 2 or rng.random() < 0.2 else ""
        if rng.random() < 0.5:
            p = round(1 / categories + (1 - 1 / categories) * rng.uniform(0.02, 0.95), 3)
            make = partial(pairs.randomized_response, p=p, categories=categories)
            return Base(f"rr:p={p!r}{tail}", 2000, make)
        epsilon = log_uniform(rng, 0.02, 3)
        make = partial(pairs.randomized_response, epsilon=epsilon, categories=categories)
        return Base(f"randomized-response:epsilon={epsilon!r}{tail}", 2000, make)

    def exponential(self) -> Base:
        """The exponential mechanism."""
        monotone = ",monotone=true" if self.rng.random() < 0.3 else ""
        return Base(f"exponential:epsilon={log_uniform(self.rng, 0.02, 3)!r}{monotone}", 3000)

    def noisy_max(self) -> Base:
        """The best of several noisy scores, where its law is exact."""
        rng = self.rng
        monotone = ",monotone=true" if rng.random() < 0.3 else ""
        noise = rng.choice(("gaussian", "gumbel", "exponential"))
        if noise == "gaussian":
            return Base(f"noisy-max:sigma={log_uniform(rng, 1, 50)!r},candidates=2{monotone}", 9000)
        text = f"noisy-max:noise={noise},scale={log_uniform(rng, 1, 50)!r}"
        return Base(f"{text},candidates={rng.randint(2, 9)}{monotone}", 3000)

    def guarantee(self) -> Base:
        """A guarantee, pure or approximate."""
        epsilon = log_uniform(self.rng, 0.005, 2)
        if self.rng.random() < 0.5:
            return Base(f"pure:epsilon={epsilon!r}", 5000, partial(pairs.pure, epsilon))
        delta = self.rng.choice((0.0, log_uniform(self.rng, 1e-40, 1e-6)))
        text = f"approx:epsilon={epsilon!r},delta={delta!r}"
        return Base(text, 5000, partial(pairs.approx, epsilon, delta))

    def bernoulli_pair(self) -> Base:
        """A yes or no."""
        p, other = (round(self.rng.uniform(0.02, 0.98), 3) for _ in range(2))
        make = partial(pairs.bernoulli, p, other)
        return Base(f"bernoulli-pair:p={p!r},other_p={other!r}", 300, make, symmetric=False)

    def gaussian_mixture(self) -> Base:
        """Amounts of a person's records in a sum, in half of the cases none among them."""
        rng = self.rng
        chances = [rng.randint(1, 60) for _ in range(rng.randint(1, 3))]
        chances.append(100 - sum(min(each, 30) for each in chances))
        amounts = [round(rng.uniform(0.1, 3), 1) for _ in chances[:-1]] + [rng.choice((0, 0.5))]
        written = ",".join(repr(min(each, 30) / 100) for each in chances[:-1])
        text = f"gaussian-mixture:sigma={round(log_uniform(rng, 1, 20), 2)}"
        text += f",sensitivities={','.join(map(repr, amounts))}"
        return Base(f"{text},probabilities={written},{chances[-1] / 100!r}", 100, symmetric=False)

    def gaussian_pair(self) -> Base:
        """Two normal distributions, mostly of different variance."""
        rng = self.rng
        deviation = log_uniform(rng, 0.5, 3)
        other = deviation if rng.random() < 0.2 else deviation * rng.choice((0.5, 0.9, 1.25, 2))
        # A number with more digits stands for many, and small divergences of those are wide.
        other = float(f"{other:.15g}")
        shift = round(rng.uniform(-1, 1), 2)
        text = f"gaussian-pair:mean=0,deviation={deviation!r}"
        return Base(f"{text},other_mean={shift!r},other_deviation={other!r}", 100)

    def pmf(self) -> Base:
        """Two probability vectors in a file; sometimes with an output that one of them lacks."""
        rng = self.rng
        size = rng.randint(2, 5)
        columns = [[rng.randint(1, 99) for _ in range(size)] for _ in range(2)]
        if size > 2 and rng.random() < 0.2:
            columns[rng.randint(0, 1)][0] = 0
        first, other = ([Fraction(n, sum(column)) for n in column] for column in columns)
        rows = list(zip(first, other, strict=True))
        path = self.file(
            json.dumps([[str(a), str(b)] for a, b in rows])
            if rng.random() < 0.3
            else "first other\n" + "".join(f"{a} {b}\n" for a, b in rows)
        )
        return Base(f"pmf:file={path}", 30, partial(list, rows), symmetric=False)

    def profile(self) -> Base:
        """Points of a privacy profile, below 1 and falling to a small delta."""
        rng = self.rng
        reach, start = rng.uniform(0.5, 3), rng.uniform(0.02, 0.4)
        epsilons = sorted(
            {0.0, *(round(rng.uniform(0, reach), 3) for _ in range(rng.randint(1, 6)))}
        )
        deltas = [float(f"{start * 10 ** (-rng.uniform(2, 4) * e):.3g}") for e in epsilons]
        deltas.sort(reverse=True)
        deltas[-1] = min(deltas[-1], log_uniform(rng, 1e-35, 1e-6))
        path = self.file("".join(f"{e!r},{d!r}\n" for e, d in zip(epsilons, deltas, strict=True)))
        return Base(f"profile:file={path}", 100)

    def file(self, content: str) -> Path:
        """Write a file and return its path."""
        self.files += 1
        path = self.directory / f"table{self.files}.csv"
        path.write_text(content)
        return path


def _sampled(make: Outcomes, q: float | Fraction) -> Pair:
    return pairs.sampled(make(), q)


def _glued(make: Outcomes, q: float | Fraction) -> Pair:
    return pairs.glued(make(), q)
