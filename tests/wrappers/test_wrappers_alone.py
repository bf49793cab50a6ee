"""Wrappers by themselves: what they hand on unchanged, what they take for granted, and refuse."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from scipy.integrate import quad

from privcalc.accounting.realize import default_relation, realize
from privcalc.engine.composition import Composition
from privcalc.engine.planner import certified_delta
from privcalc.errors import DomainError, UsageError
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.law import Term
from privcalc.record import replace
from privcalc.relation import Adjacency, Relation
from privcalc.spec.parse import parse
from privcalc.spec.tree import Composed, Leaf, Repeated, Wrapped
from privcalc.wrappers.base import built
from privcalc.wrappers.batches import ShuffledBatches
from privcalc.wrappers.poisson import PoissonSampled
from privcalc.wrappers.sampling import SampledEvent
from privcalc.wrappers.select import runs_of, takes
from tests.asked import epsilon

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.wrappers.base import Walk


TEXT, LITTLE = "gaussian:sigma=4", "@batches:t=3,b=5"
LEAF = Leaf("gaussian", (("standard_deviation", 4.0),))


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (ShuffledBatches, DomainError, "batches needs t or n with b"),
        (
            lambda: built(Wrapped("gaussian", (("noise_multiplier", 1.0),), LEAF)),
            TypeError,
            "is no",
        ),
        (lambda: runs_of(cast("Wrapped", parse(f"{TEXT}@poisson:q=0.1").tree)), TypeError, "is no"),
        (
            lambda: runs_of(cast("Wrapped", parse(f"{TEXT}@select:runs=poisson,mean=_").tree)),
            UsageError,
            "only calibrate finds it",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(
    ask: Callable[[], object], error: type[Exception], words: str
) -> None:
    """Sizes that are missing, mechanisms in the place of wrappers, other wrappers, holes."""
    with pytest.raises(error, match=words):
        ask()


def test_what_a_number_of_runs_takes() -> None:
    """Those that have one parameter only, and those where one of two is given."""
    assert takes("fixed") == "n"
    assert takes("poisson") == "mean"
    assert takes("binomial") == "n and either mean or p"


@pytest.mark.parametrize(
    "around", [lambda event: Repeated(1, event), lambda event: Composed((event,))]
)
def test_one_step_of_a_batch_may_be_written_in_ways(around: Callable[[Any], Any]) -> None:
    """Once, or as a sum of one: both ends of the shuffled batches are the same."""
    tree = parse(f"{TEXT}@batches:t=3,b=5").tree
    assert isinstance(tree, Wrapped)
    relation = default_relation(tree)
    other = replace(tree, event=around(tree.event))
    assert realize(other, relation) == realize(tree, relation)


def test_batches_of_little_noise_have_no_sampling_above() -> None:
    """Beyond the range of the proof the upper end is that of the step alone, the lower is less."""
    alone, found = (epsilon(f"gaussian:sigma=0.3{batches}", 0.01) for batches in ("", LITTLE))
    assert alone.lower is not None
    assert found.lower is not None
    assert found.lower < alone.lower <= found.upper
    assert found.upper == pytest.approx(alone.upper, rel=1e-12)


@pytest.mark.parametrize("event", ["gaussian:sigma=2@4", "gaussian:sigma=2+gaussian:sigma=2@3"])
def test_replacing_in_a_sample_of_gaussians_is_that_of_one(event: str) -> None:
    """Two records may pull all of them in opposite directions, as they do one."""
    one = epsilon("gaussian:sigma=1@poisson:q=0.1", 1e-5, Relation.REPLACE_ONE)
    several = epsilon(f"({event})@poisson:q=0.1", 1e-5, Relation.REPLACE_ONE)
    assert several.lower is not None
    assert one.lower is not None
    assert several.upper == pytest.approx(one.upper, rel=1e-9)
    assert max(one.lower, several.lower) <= min(one.upper, several.upper)
    removed = epsilon("gaussian:sigma=1@poisson:q=0.1", 1e-5)
    assert removed.lower is not None
    assert several.upper > removed.lower


def test_a_group_of_samples_of_noise_that_is_known_roughly() -> None:
    """Each end is a mixture whose mu is that end: integrals of both are enclosed, and apart."""
    law, q, e = GaussianLaw(1.0, 0.01), 0.3, 0.5
    walk = SimpleNamespace(terms=lambda *_: [(Term(law, law), 1)])
    event = Composed((LEAF,))
    asked = SampledEvent(event, q, True, Adjacency.REMOVE, 2, cast("Walk", walk))
    term = PoissonSampled(sampling_probability=q).at_rate(asked)

    def truth(mu: float) -> float:
        """Return delta of 0, 1 or 2 sampled records against none, at e."""

        def gain(x: float) -> float:
            weights = ((1.0 - q) ** 2, 2.0 * q * (1.0 - q), q**2)
            there = sum(w * math.exp(-0.5 * (x - j * mu) ** 2) for j, w in enumerate(weights))
            return max(0.0, there - math.exp(e - 0.5 * x * x)) / math.sqrt(2.0 * math.pi)

        return float(quad(gain, -1.0, 12.0, points=(1.0, 2.0, 3.0), limit=200)[0])

    ends = []
    for each, mu in ((term.lower, 0.99), (term.upper, 1.01)):
        assert each is not None
        bound = certified_delta(Composition(((each, 1),)), e, 1e-9).bound
        assert bound.lower is not None
        assert bound.lower == pytest.approx(truth(mu), rel=1e-6)
        ends.append(bound)
    assert ends[0].upper < truth(1.0) < ends[1].lower  # type: ignore[operator]


def test_a_group_in_all_rounds_of_a_run() -> None:
    """Two records in every one of six rounds are one with half of the noise: mu = 6^(1/2)."""
    run = "matrix-gaussian:strategy=identity,steps=6,sigma="
    group, one = epsilon(f"{run}2@poisson:q=1@group:k=2", 1e-5), epsilon("gaussian:sigma=1@6", 1e-5)
    for bound in (group, one):
        assert bound.lower is not None
    assert group.upper == pytest.approx(one.upper, rel=1e-9)
    assert max(group.lower or 0.0, one.lower or 0.0) <= min(group.upper, one.upper)
