"""What is known of each part of a sum, against closed forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mpmath
import pytest

from privcalc.accounting.compose import compose
from privcalc.accounting.realize import (
    default_relation,
    explaining,
    last_parts,
    parts,
)
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from privcalc.spec.registry import to_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.accounting.realize import Part


def looked_at(text: str, delta: float = 1e-3) -> dict[str, Part]:
    """Return what is known of each part of a specification, by its text."""
    tree = parse(text).tree
    relation = default_relation(tree)
    with explaining() as seen:
        compose(tree, deltas=(delta,))
    return {to_text(part.tree): part for part in parts(seen, tree, relation)}


# Each with what is known of it: only an upper end, two ends, a curve, losses of any size.
KNOWN = {
    "gaussian:sigma=9": ("", "", "", "endless"),
    "pure:epsilon=0.1@3": ("", "", "", ""),
    "zcdp:rho=0.01": ("above", "", "curve", "endless"),
    "zcdp:rho=0.01@poisson:q=0.1": ("above", "", "curve", "endless"),
    "noisy-max:sigma=9,candidates=4@2": ("", "apart", "", ""),
    "randomized-response:epsilon=0.1@shuffle:n=100": ("", "apart", "", ""),
    "gaussian:sigma=9@batches:t=10": ("", "apart", "", ""),
    "gaussian:sigma=4@allocation:t=10": ("", "apart", "", "endless"),
    "gaussian:sigma=9@poisson:q=0.1@9": ("", "", "", "endless"),
}


@pytest.mark.dear(
    "gaussian:sigma=4@allocation:t=10",
    "gaussian:sigma=9@batches:t=10",
    "noisy-max:sigma=9,candidates=4@2",
)
@pytest.mark.parametrize("text", KNOWN)
def test_what_is_known(text: str) -> None:
    """Beside another part as by itself."""
    for whole in (text, f"{text}+rr:epsilon=0.1"):
        if "@shuffle" in text and whole != text:
            continue
        part = looked_at(whole, 0.3)[text]
        found = ("above", "apart", "curve", "endless")
        assert tuple(name if getattr(part, name) else "" for name in found) == KNOWN[text]


# Worked out when it is asked for, with the digits of that test.
MASSES: dict[str, Callable[[], mpmath.mpf]] = {
    "thresholded-counts:scale=10,threshold=30": lambda: mpmath.exp("-2.9") / 2,
    "approx:epsilon=1,delta=1e-5@7": lambda: 1 - (1 - mpmath.mpf("1e-5")) ** 7,
    "stability:sigma=2,threshold=5": lambda: mpmath.ncdf("-2.5"),
    "pure:epsilon=3": lambda: mpmath.mpf(0),
    "gaussian:sigma=1": lambda: mpmath.mpf(0),
    "gaussian:sigma=4@allocation:t=10": lambda: mpmath.mpf(0),
}


@pytest.mark.dear("gaussian:sigma=4@allocation:t=10")
@pytest.mark.parametrize("text", MASSES)
def test_masses_enclose_the_probability_of_an_infinite_loss(text: str) -> None:
    """The upper end is that of the laws above, the lower that of a mechanism that exists."""
    mass = MASSES[text]()
    (part,) = looked_at(text, 0.9).values()
    assert part.certain <= mass <= part.mass
    if "@allocation" in text:
        # What is cut off above is no mechanism's.
        assert part.certain == 0.0 < part.mass < 1e-15
    else:
        assert part.mass - part.certain <= 1e-12 * mass


def test_several_uses_of_an_envelope_have_what_one_use_has() -> None:
    """No member need have the mass of all of them at once."""
    (part,) = looked_at("partition-selection:epsilon=1,delta=1e-6@10").values()
    assert part.certain == pytest.approx(1e-6, rel=1e-9)
    assert part.mass == pytest.approx(1e-5, rel=1e-4)


def test_what_was_not_asked_has_no_parts() -> None:
    """Another specification, another relation, or nothing at all."""
    tree, other = parse("gaussian:sigma=9").tree, parse("gaussian:sigma=8").tree
    with explaining() as seen:
        assert parts(seen, tree, Relation.ADD_OR_REMOVE_ONE) == last_parts(seen) == ()
        compose(tree, deltas=(1e-3,))
    assert len(parts(seen, tree, Relation.ADD_OR_REMOVE_ONE)) == 1
    assert parts(seen, other, Relation.ADD_OR_REMOVE_ONE) == ()
    assert parts(seen, tree, Relation.REPLACE_ONE) == ()
    assert last_parts(seen) == parts(seen, tree, Relation.ADD_OR_REMOVE_ONE)


def test_a_search_keeps_few_trees() -> None:
    """The first and the last: laws are large."""
    with explaining() as seen:
        for k in range(1, 30):
            compose(parse(f"gaussian:sigma={k}").tree, deltas=(1e-3,))
    assert [to_text(tree) for tree, _, _ in seen] == [
        "gaussian:sigma=1",
        "gaussian:sigma=28",
        "gaussian:sigma=29",
    ] or len(seen) <= 4


def test_disjoint_parts_are_all_there() -> None:
    """A record is in one of them, and either may be what decides."""
    assert set(looked_at("max(zcdp:rho=0.01,gaussian:sigma=9)")) == {
        "zcdp:rho=0.01",
        "gaussian:sigma=9",
    }
