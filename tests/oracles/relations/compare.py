"""Draws descriptions with samplings and relations, and compares bounds with programs that fit."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from privcalc.accounting.compose import compose
from privcalc.errors import PrivcalcError
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.oracles.relations.ceilings import Ceiling
from tests.oracles.relations.data_adaptive import ADAPTIVE
from tests.oracles.relations.ordinary import ORDINARY, Described
from tests.oracles.relations.spaces import Space, adaptive, divergences

if TYPE_CHECKING:
    from collections.abc import Callable

Array = Any
Numbers = Any
RELATIONS = {
    "add": Relation.ADD_OR_REMOVE_ONE,
    "replace": Relation.REPLACE_ONE,
    "special": Relation.REPLACE_SPECIAL,
}
KINDS = {**ADAPTIVE, **ORDINARY}
# Of which two uses are composed at once.
SHORT = {"rr", "pure", "approx", "discrete-laplace", "partition-selection"}
# With few outputs.
FEW = ("rr", "discrete-laplace", "exponential", "noisy-screening", "noisy-max", "svt")
POINTS = 8
# Programs of one use, where outputs are few and quickly worked out, and of others; and of each use
# of a composition.
QUICK = {"noisy-screening", "stability", "exponential", "rr", "partition-selection"}
QUICK |= {"noisy-max", "svt"}
MANY, SOME, FEWER = 60, 25, 12
# More draws, where lower ends have no other witness.
ROUNDS = 15
# Sums of a few hundred products of doubles.
RELATIVE, ABSOLUTE = 1e-9, 1e-12
# Of the rounding of ceilings; slopes of a few units of a double over small steps.
GRID_RELATIVE, GRID_ABSOLUTE = 1e-6, 1e-9


@dataclass(frozen=True)
class Question:
    """One specification and relation, with what is enumerated for it.

    Attributes:
        kind: the mechanism.
        shape: the samplings and counts around it, without numbers.
        text: the specification.
        relation: its name here.
        uses: each with the description it has, and its sampling.
    """

    kind: str
    shape: str
    text: str
    relation: str
    uses: tuple[tuple[Described, Space], ...]


@dataclass
class Found:
    """What came of a question at every epsilon."""

    question: Question
    epsilons: Array
    lower: list[float | None]
    upper: Array
    attained: Array
    ceiling: Array | None
    refused: str = ""
    inverse: tuple[float, float] | None = None

    @property
    def false_upper(self) -> bool:
        """Whether a program costs more than is printed."""
        if self.inverse is not None and self.inverse[0] > self.inverse[1] * (1 + RELATIVE) + 1e-9:
            return True
        return bool((self.attained > self.upper * (1 + RELATIVE) + ABSOLUTE).any())

    @property
    def false_lower(self) -> bool:
        """Whether nothing can cost as much as is printed."""
        if self.ceiling is None:
            return False
        most = np.maximum(self.ceiling * (1 + GRID_RELATIVE) + GRID_ABSOLUTE, self.attained)
        return any(x is not None and x > y for x, y in zip(self.lower, most, strict=True))

    @property
    def unseen(self) -> bool:
        """Whether a lower end is above what the programs that were drawn cost."""
        return any(
            x is not None and x > 1.02 * y + 1e-9
            for x, y in zip(self.lower, self.attained, strict=True)
        )


def question(rng: Numbers, kind: str | None = None, composed: float = 0.02) -> Question:
    """Draw one.

    Args:
        rng: the random numbers.
        kind: the mechanism; any where left out.
        composed: the chance of several uses, which take their time.
    """
    kind = kind or str(rng.choice(list(ADAPTIVE) * 2 + list(ORDINARY)))
    described = KINDS[kind](rng)
    relation = str(rng.choice(["add", "replace", "replace", "special"]))
    form = str(
        rng.choice(
            ["plain", "group", "poisson", "wor", "poisson+group", "wor+group", "poisson2", "wor2"],
            p=[0.05, 0.13, 0.28, 0.2, 0.16, 0.1, 0.05, 0.03],
        )
    )
    if relation == "special" and form.startswith("wor"):
        relation = "replace"
    if "replace" not in described.relations and form.startswith("wor"):
        form = "poisson+group" if form.endswith("group") else "poisson"
    if relation not in described.relations and not form.startswith("poisson"):
        relation = "add"
    if form == "wor+group":
        relation = "replace"
    records = int(rng.choice([2, 2, 3])) if form.endswith("group") else 1
    others = int(rng.integers(0, 4 - records // 2 if records < 3 else 2))
    several = 0.3 if kind in SHORT else composed
    count = int(rng.choice([1, 2, 3], p=[1 - several, 0.8 * several, 0.2 * several]))
    inner = count == 1 and "group" not in form and rng.random() < 0.08
    if inner:
        other = KINDS[str(rng.choice(FEW))](rng)
        described = Described(f"({described.text}+{other.text})", _together(described, other))
    sampling, space = _sampling(rng, form, relation, others, records)
    group = f"@group:k={records}" if records > 1 else ""
    times = f"@{count}" if count > 1 else ""
    text = described.text + sampling + times + group
    uses = ((described, space),) * count
    shape = ("inner " if inner else "") + form + times
    if count == 1 and not inner and rng.random() < (0.15 if kind in SHORT else composed):
        other = ORDINARY[str(rng.choice(["laplace", "rr", "approx", "discrete-laplace"]))](rng)
        how = form if rng.random() < 0.6 else "plain"
        size = space.size if how == form else 0
        more, beside = _sampling(rng, how, relation, others, records, size=size)
        text = f"({described.text}{sampling}+{other.text}{more}){group}"
        uses = ((described, space), (other, beside))
        shape += "+other"
    return Question(kind, shape, text, relation, uses)


def _together(one: Described, other: Described) -> Callable[[Space, Numbers], Array]:
    """Return programs that make two outputs of one sample."""

    def program(space: Space, rng: Numbers) -> Array:
        first, second = one.program(space, rng), other.program(space, rng)
        return (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)

    return program


def _sampling(
    rng: Numbers, form: str, relation: str, others: int, records: int, *, size: int = 0
) -> tuple[str, Space]:
    """Return a sampling as text, and the samples it makes."""
    replaced = relation == "replace"
    if form.startswith("poisson"):
        q = str(rng.choice(["0.01", "0.05", "0.125", "1/3", "0.5", "5/7", "0.9", "1"]))
        text, rate = f"@poisson:q={q}", float(Fraction(q))
        if form == "poisson2":
            text, rate = text + "@poisson:q=0.5", rate * 0.5
        return text, Space(others, records, False, replaced, rate=rate)
    if form.startswith("wor"):
        least = 1 if replaced else 2
        n = max(others + records, least)
        m = size or int(rng.integers(1, n if not replaced else n + 1))
        if form == "wor2":
            half = int(rng.integers(m, n + 1)) if replaced else int(rng.integers(m, n))
            text = f"@wor:n={half},m={m}@wor:n={n},m={half}"
            return text, Space(n - records, records, True, replaced, size=m)
        return f"@wor:n={n},m={m}", Space(n - records, records, True, replaced, size=m)
    return "", Space(others, records, replaced, replaced, size=others + records)


def asked(one: Question, rng: Numbers) -> Found:
    """Ask what is printed, and enumerate programs."""
    epsilons = np.linspace(0.0, 1.0, POINTS) * 0.05 * 60 ** rng.random()
    empty = np.zeros(0)
    try:
        answers = compose(
            parse(one.text).tree,
            relation=RELATIONS[one.relation],
            epsilons=[float(x) for x in epsilons],
        ).answers
    except PrivcalcError as error:
        return Found(one, epsilons, [], empty, empty, None, f"{type(error).__name__}: {error}")
    bounds = [answer.bound for answer in answers]
    lower = [bound.lower if bound else None for bound in bounds]
    upper = np.array([bound.upper if bound else math.inf for bound in bounds])
    scales = np.exp(epsilons)
    attained, ceiling = _attained(one, scales, rng), _ceiling(one, scales)
    found = Found(one, epsilons, lower, upper, attained, ceiling)
    for _ in range(ROUNDS):
        # A lower end of which no theorem says that it is too large has to be seen.
        if not found.unseen or ceiling is not None or len(one.uses) > 1:
            break
        found.attained = np.maximum(found.attained, _attained(one, scales, rng))
    if rng.random() < 0.1:
        found.inverse = _inverse(one, epsilons, found.attained)
    return found


def _attained(one: Question, scales: Array, rng: Numbers) -> Array:
    """Draw programs, and return the most that any of them costs, or an adaptive chain of them."""
    stages = {}
    for described, space in one.uses:
        key = id(described), id(space)
        if key not in stages:
            count = MANY if one.kind in QUICK else SOME
            count = count if len(one.uses) == 1 or count == MANY else FEWER
            stages[key] = [space.outputs(described.program(space, rng)) for _ in range(count)]
    chain = [stages[id(described), id(space)] for described, space in one.uses]
    attained = np.zeros(len(scales))
    for order in (1, -1):
        turned = [[pair[::order] for pair in stage] for stage in chain]
        if len(turned) == 1:
            found = np.max([divergences(p, q, scales) for p, q in turned[0]], axis=0)
        else:
            found = adaptive(turned, scales)
        attained = np.maximum(attained, found)
    return attained


def _inverse(one: Question, epsilons: Array, attained: Array) -> tuple[float, float] | None:
    """Return an epsilon whose delta is exceeded, and what is printed for a little less."""
    seen = np.flatnonzero(attained > 1e-7)
    if not len(seen):
        return None
    place = seen[len(seen) // 2]
    answer = compose(
        parse(one.text).tree,
        relation=RELATIONS[one.relation],
        deltas=[float(attained[place]) * (1 - 1e-8)],
    ).answers[0]
    return float(epsilons[place]), answer.bound.upper if answer.bound else math.inf


def _ceiling(one: Question, scales: Array) -> Array | None:
    if any(described.profile is None for described, _ in one.uses):
        return None
    if len(one.uses) == 1:
        ((described, space),) = one.uses
        assert described.profile is not None
        return np.max(Ceiling(described.profile).whole(space, scales), axis=0)
    found = np.zeros(len(scales))
    for order in (0, 1):
        pairs: dict[Any, Any] = {}
        for described, space in one.uses:
            assert described.profile is not None
            key = id(described), id(space)
            pairs[key] = pairs.get(key) or [Ceiling(described.profile).pair(space, order)]
        stages = [pairs[id(described), id(space)] for described, space in one.uses]
        found = np.maximum(found, _product(stages, scales))
    return found


def _product(stages: list[Any], scales: Array) -> Array:
    """Compose pairs outcome by outcome; three of many outcomes are too many, and say nothing."""
    p, q = np.ones(1), np.ones(1)
    for ((one, other),) in stages:
        if len(p) * len(one) > 200_000:
            return np.ones(len(scales))
        p, q = np.outer(p, one).ravel(), np.outer(q, other).ravel()
    return divergences(p, q, scales)


@dataclass
class Tally:
    """Counts of comparisons, and the worst of them."""

    questions: int = 0
    comparisons: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    false_upper: list[Found] = field(default_factory=list)
    false_lower: list[Found] = field(default_factory=list)
    unseen: list[Found] = field(default_factory=list)
    ratios: dict[tuple[str, str, str], list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )
    by_kind: Counter[str] = field(default_factory=Counter)

    def add(self, found: Found) -> None:
        """Count one question."""
        one = found.question
        key = one.kind, one.shape, one.relation
        if found.refused:
            self.refused[f"{one.kind} {one.shape} {one.relation}: {found.refused[:90]}"] += 1
            return
        self.questions += 1
        self.comparisons += len(found.epsilons) + (found.inverse is not None)
        self.by_kind[one.kind] += len(found.epsilons)
        if found.false_upper:
            self.false_upper.append(found)
        if found.false_lower:
            self.false_lower.append(found)
        if found.unseen:
            self.unseen.append(found)
        worth = found.attained > 1e-6
        self.ratios[key] += [float(x) for x in found.upper[worth] / found.attained[worth]]
