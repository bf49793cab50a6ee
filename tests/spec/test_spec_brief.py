"""Descriptions: short specifications are their text, long ones are counted and never repeated."""

from __future__ import annotations

import random

import pytest

from privcalc.spec.brief import brief, told_apart
from privcalc.spec.parse import parse
from privcalc.spec.registry import SHOWN, few, to_text
from privcalc.spec.tree import Composed, Leaf, Node, Parallel, Repeated, Wrapped
from tests.spec.spec_trees import extra_entries, ledger, random_tree


def history(entries: int, rates: int = 1) -> Node:
    """Return steps with noise that decays."""
    steps = (
        f"gaussian:noise_multiplier={1.5 - k / 1024!r}@poisson:q={0.004 * (1 + k % rates)!r}@14"
        for k in range(entries)
    )
    return parse("+".join(steps)).tree


def joined(*texts: str) -> Node:
    """Return the tree of a sum."""
    return parse("+".join(texts)).tree


def test_what_is_short_is_its_text() -> None:
    """Up to two hundred characters nothing is left out."""
    tree = joined("laplace:scale=2@10", "gaussian:sigma=5")
    assert brief(tree, "as it was written") == "laplace:scale=2@10+gaussian:sigma=5"


def test_histories() -> None:
    """Steps, noise multipliers and rates; the name of the file, where one was written."""
    words = "14,000 steps, 1,000 noise multipliers from 1.5 to 0.524, rate 0.004"
    steps = history(1000)
    assert brief(steps) == brief(steps, to_text(steps)) == words
    assert brief(steps, "opacus:file=h.json") == f"opacus:file=h.json: {words}"
    assert brief(history(10, rates=2)) == (
        "140 steps, 10 noise multipliers from 1.5 to 1.49, 2 rates from 0.004 to 0.008"
    )


def test_sums_of_many_kinds() -> None:
    """Mechanisms are counted by what they are and what is done to them, with their uses."""
    assert brief(ledger(301)) == (
        "301 mechanisms: 101 laplace, 100 gaussian@poisson, 100 randomized-response; 15,552 uses"
    )
    kinds = "pure:epsilon=1", "gdp:mu=1", "zcdp:rho=1", "laplace:scale=1", "gaussian:sigma=1"
    more = "exponential:epsilon=1", "staircase:epsilon=1", "rr:epsilon=1"
    assert brief(joined(*kinds * 20, *more)) == (
        "103 mechanisms: 20 pure, 20 gdp, 20 zcdp, 20 laplace, 20 gaussian, 1 exponential, 2 others"
    )


def test_sums_of_one_kind() -> None:
    """The numbers that all of them have are named, one value or between which they lie."""
    same = joined(*(f"laplace:scale={k + 3},sensitivity=2@{k + 1}" for k in range(100)))
    assert brief(same) == (
        "100 mechanisms, all laplace, scale from 3 to 102, sensitivity 2; 5,050 uses"
    )
    close = joined(*(f"gdp:mu={k + 1000001}" for k in range(100)))
    assert brief(close) == "100 mechanisms, all gdp, mu from 1000001 to 1000100"
    assert brief(joined(*["exponential:epsilon=1/3,monotone=true"] * 100)) == (
        "100 mechanisms, all exponential, epsilon 1/3"
    )


def test_a_free_count_has_no_uses() -> None:
    """What is to be found is not counted."""
    tree = joined(*["gdp:mu=1@7"] * 100, "gdp:mu=2@_")
    assert brief(tree) == "101 mechanisms, all gdp, mu from 1 to 2"
    holes = joined(*["gaussian:noise_multiplier=_@poisson:q=0.004@14"] * 5)
    assert brief(holes) == "70 steps, noise multiplier _, rate 0.004"


def test_what_is_done_to_the_whole_stands_after_it() -> None:
    """Groups, selections and repetitions of a long sum; and disjoint parts."""
    whole = Repeated(2, Wrapped("group", (("records", 2),), ledger(301)))
    assert brief(whole) == (
        "(301 mechanisms: 101 laplace, 100 gaussian@poisson, 100 randomized-response; 15,552 uses)"
        "@group:k=2@2"
    )
    parts = Parallel((ledger(301), Leaf("gdp", (("mu", 1.0),))))
    assert (
        brief(parts)
        == "2 disjoint parts: 1 (laplace+gaussian@poisson+randomized-response), 1 gdp; 15,553 uses"
    )


def test_alternatives_are_told_apart() -> None:
    """Long ones have numbers, as their descriptions may be the same."""
    first, second = ledger(301), Composed(ledger(301).events[::-1])
    names = told_apart([Leaf("gdp", (("mu", 1.0),)), first, second])
    assert names[0] == "gdp:mu=1"
    assert names[1].startswith("choice 2 of 3: 301 mechanisms: ")
    assert len(set(names)) == 3


def test_lists() -> None:
    """Of a long list the beginning is shown, and how many follow."""
    assert few(["a"] * 8) == ["a"] * 8
    assert few(["a"] * 1000, "{} others") == [*["a"] * 8, "992 others"]


@pytest.mark.slow
@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(4))
def test_descriptions_are_short(seed: int) -> None:
    """Of whatever there is: about three lines at most."""
    rng = random.Random(seed)
    with extra_entries():
        for _ in range(50):
            tree = Composed(tuple(random_tree(rng, 4) for _ in range(rng.randrange(2, 60))))
            for each in (tree, Repeated(3, tree), Parallel((tree, tree))):
                text = to_text(each)
                assert brief(each) == text if len(text) <= SHOWN else len(brief(each)) <= SHOWN
