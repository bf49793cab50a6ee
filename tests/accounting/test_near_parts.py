"""Groups of near parts: above and below what they stand for, with all uses."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from privcalc.accounting import realize as module
from privcalc.accounting.compose import compose
from privcalc.accounting.near_parts import enclosing
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from privcalc.spec.registry import to_text
from privcalc.spec.tree import Composed, Leaf, Repeated, Wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from privcalc.bounds import Bound

HISTORY = "+".join(
    f"gaussian:sigma={150 - 4 * k}e-2@poisson:q=0.00{40 + 2 * (k * 7 % 5)}@{3 + k % 4}"
    for k in range(12)
)
PAIR = "gaussian-pair:mean=0,deviation=1,other-mean=1,other-deviation=1.{}"


def answer(spec: str, relation: Relation | None) -> Bound:
    """Return epsilon at 1e-5."""
    found = compose(parse(spec).tree, relation=relation, deltas=(1e-5,), tolerance=1e-3)
    return found.answers[0].proved


def uses(tree: object) -> int:
    """Count the uses of a composition."""
    assert isinstance(tree, Composed)
    counts = [each.count if isinstance(each, Repeated) else 1 for each in tree.events]
    return sum(each for each in counts if isinstance(each, int))


@pytest.mark.dear("spec1-None")
@pytest.mark.parametrize(
    ("spec", "relation"),
    [
        ("+".join(HISTORY.split("+")[::2]), Relation.REPLACE_ONE),
        (f"({HISTORY})@group:k=2", None),
    ],
)
def test_groups_are_on_both_sides(
    spec: str, relation: Relation | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bracket of groups has the bracket of all parts inside, and is not much wider."""
    exact = answer(spec, relation)
    monkeypatch.setattr(module, "HEAVY", 4)
    monkeypatch.setattr(module, "GROUPS", 20)
    found = answer(spec, relation)
    assert exact.lower is not None
    assert found.lower is not None
    assert found.lower <= exact.lower <= exact.upper <= found.upper
    assert found.upper < 1.4 * found.lower


def test_numbers_are_the_outermost_and_uses_are_kept() -> None:
    """Above is the least noise and the highest rate of a group, below the other way round."""
    found = enclosing(parse(HISTORY).tree, 3)
    assert found is not None
    for tree, better in zip(found, (max, min), strict=True):
        assert isinstance(tree, Composed)
        assert uses(tree) == uses(parse(HISTORY).tree)
        assert len(tree.events) == 3
        rates, noises = [], []
        for each in tree.events:
            event = each.event if isinstance(each, Repeated) else each
            assert isinstance(event, Wrapped)
            assert isinstance(event.event, Leaf)
            (rate,), (noise,) = event.parameters, event.event.parameters
            assert isinstance(rate[1], float)
            assert isinstance(noise[1], float)
            rates.append(rate[1])
            noises.append(noise[1])
        assert better(rates) == (0.0048 if better is max else 0.004)
        other = min if better is max else max
        assert other(noises) == pytest.approx(1.06 if better is max else 1.5)


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        # Kinds are not mixed, nor numbers whose order is not known.
        ("+".join(f"gaussian:sigma={k + 1}+laplace:scale={k + 1}" for k in range(6)), 2),
        ("+".join(f"gaussian:sigma=1@poisson:q=0.{k},max=9@3" for k in range(1, 6)), None),
        (
            "+".join(
                f"gaussian-pair:mean=0,deviation=1,other-mean=1,other-deviation=1.{k}"
                for k in range(1, 6)
            ),
            None,
        ),
        # One report of more categories costs less, but not among those of others.
        ("+".join(f"rr:epsilon=2,categories={k}@shuffle:n=20@3" for k in range(2, 8)), None),
        ("+".join(f"rr:epsilon=0.{k}@shuffle:n=20@3" for k in range(2, 8)), None),
        # With a highest threshold more noise may cost more.
        (
            "+".join(
                f"svt:noise=gaussian,threshold_noise={k},query_noise=9,length=5,threshold=-9@2"
                for k in range(3, 9)
            ),
            None,
        ),
        # Only upper bounds are known to be ordered.
        ("+".join(f"gnss:sigma={k},beta=0.01@2" for k in range(30, 36)), None),
        ("+".join(f"gaussian:sigma=9@select:runs=poisson,mean={k}" for k in range(3, 9)), None),
        # k of t: the order in t, and of what is in it, is not known.
        ("+".join(f"gaussian:sigma={k}@allocation:t=9,k=3@2" for k in range(3, 9)), None),
    ],
)
def test_only_what_is_ordered_is_grouped(spec: str, parts: int | None) -> None:
    """Other differences stay, and where these are too many nothing is said."""
    found = enclosing(parse(spec).tree, 4)
    if parts is None:
        assert found is None
        return
    assert found is not None
    for tree in found:
        assert isinstance(tree, Composed)
        assert parts <= len(tree.events) <= 4
        assert uses(tree) == 12


def test_what_is_wrapped_is_grouped() -> None:
    """A group of records, and repetitions, go around the same."""
    found = enclosing(parse(f"({HISTORY})@group:k=2@3").tree, 5)
    assert found is not None
    for tree in found:
        assert "@group:k=2@3" in to_text(tree)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["", "@group:k=2"])
def test_long_histories_have_both_ends(suffix: str) -> None:
    """A noise schedule under replace-one, or of two records, was refused or had no lower end."""
    r = random.Random(500)
    noise = sorted(r.uniform(0.8, 1.5) for _ in range(500))
    spec = "+".join(f"gaussian:sigma={s!r}@poisson:q=0.004@10" for s in noise)
    found = answer(f"({spec}){suffix}", None if suffix else Relation.REPLACE_ONE)
    assert found.lower is not None
    assert found.upper <= 1.05 * found.lower


@pytest.mark.parametrize(
    ("event", "above", "below"),
    [
        # Numbers inside a repetition, and those of a wrapper around what stays as it is.
        ("(gaussian:sigma=1.{}@2)@poisson:q=0.1", "sigma=1.1@2@", "sigma=1.6@2@"),
        ("(gaussian:sigma=2+laplace:scale=3)@poisson:q=0.{}", "q=0.6", "q=0.1"),
    ],
)
def test_what_is_around_a_number_is_kept(event: str, above: str, below: str) -> None:
    """Two groups of six: each has the outermost of its numbers, in the form that was written."""
    tree = parse("+".join(f"({event.format(k)})@2" for k in range(1, 7))).tree
    found = enclosing(tree, 2)
    assert found is not None
    shape = event.partition("{}")
    for each, outermost in zip(found, (above, below), strict=True):
        assert uses(each) == 12
        assert outermost in to_text(each)
        assert isinstance(each, Composed)
        parts = [to_text(part) for part in each.events]
        assert len(parts) == 2
        assert all(shape[0].strip("(") in part for part in parts)


@pytest.mark.parametrize(
    "text", ["gaussian:sigma=1", "gaussian:sigma=1@5", "gaussian:sigma=1+gaussian:sigma=2"]
)
def test_few_parts_stay_as_they_are(text: str) -> None:
    """One part, with a count or without, and no more than are allowed."""
    assert enclosing(parse(text).tree, 2) is None


@pytest.mark.parametrize(
    ("event", "numbers", "groups", "relation"),
    [
        # Too many differ in kind for so few groups.
        (PAIR, range(1, 7), 2, Relation.ADD_OR_REMOVE_ONE),
        # The largest sample of the smallest data is none.
        ("gaussian:sigma=2@wor:{}", ("n=9,m=3", "n=99,m=66"), 2, Relation.REPLACE_ONE),
        # All of the data is the same in both directions, and a sample is not.
        ("gaussian:sigma=2@poisson:q={}", (0.25, 0.5, 1), 4, Relation.ADD_OR_REMOVE_ONE),
    ],
)
def test_what_cannot_be_grouped_is_composed_as_it_is(
    event: str,
    numbers: Iterable[object],
    groups: int,
    relation: Relation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each part by itself, and both ends of what they were."""
    tree = parse("+".join(event.format(each) for each in numbers)).tree
    exact = module.realize(tree, relation)
    monkeypatch.setattr(module, "HEAVY", -1)
    monkeypatch.setattr(module, "GROUPS", groups)
    assert module.realize(tree, relation) == exact
