"""`gaussian-mixture`: a drawn sensitivity, against 40 digits, groups of records, and a peer."""

from __future__ import annotations

import pytest

from privcalc.errors import DomainError, SpecError, UnsupportedError
from privcalc.mechanisms import gaussian
from privcalc.relation import Relation
from privcalc.spec.json import from_json, to_json
from privcalc.spec.parse import parse
from privcalc.spec.registry import to_text
from tests.asked import delta, epsilon
from tests.pairs import built
from tests.truths import meet

PEER = (
    "gaussian-mixture:sigma=1,sensitivities=0,1,2,probabilities=0.2,0.6,0.2@3"
    "+gaussian-mixture:sigma=2,sensitivities=0,2,3,probabilities=0.33,0.34,0.33@2"
)


def spec(sigma: str, sizes: list[str], chances: list[str]) -> str:
    """Write a mixture."""
    lists = f"sensitivities={','.join(sizes)},probabilities={','.join(chances)}"
    return f"gaussian-mixture:sigma={sigma},{lists}"


def test_a_pessimistic_peer_is_matched_from_below() -> None:
    """dp_accounting 0.6 has 17.193115 for this sum, at its default interval."""
    bound = epsilon(PEER, 1e-6)
    assert 17.19311 < (bound.lower or 0.0) < bound.upper <= 17.193115


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("text", "other"),
    [
        (
            spec("1.5", ["0", "1"], ["0.9", "0.1"]) + "@group:k=3@50",
            "gaussian:sigma=1.5@poisson:q=0.1@group:k=3@50",
        ),
        (
            spec("2", ["1", "2"], ["1/4", "3/4"]) + "@group:k=2@3",
            spec("2", ["2", "3", "4"], ["1/16", "6/16", "9/16"]) + "@3",
        ),
        (
            "gaussian-pair:mean=0.1,deviation=2.5,other_mean=0.3,other_deviation=2.5@group:k=3@9",
            "gaussian:sigma=2.5,sensitivity=0.6@9",
        ),
    ],
)
def test_parts_of_a_group_add_up(text: str, other: str) -> None:
    """Each record draws its own: sums of parts, with the chances of all ways to draw them."""
    one, two = (epsilon(each, 1e-7, tolerance=1e-9) for each in (text, other))
    assert meet(one, two)
    assert one.lower == pytest.approx(two.upper, rel=1e-8)


def test_groups_beyond_the_terms_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the sums of the parts are too many, the group is bounded by a chain, from above."""
    text = spec("9", ["0", "1", "2"], ["0.2", "0.3", "0.5"]) + "@group:k=2"
    exact = delta(text, 0.3)
    monkeypatch.setattr(gaussian, "MOST_TERMS", 5)
    chain = delta(text, 0.3)
    assert 0.0 < (exact.lower or 0.0) <= chain.upper
    assert chain.lower is None
    with pytest.raises(DomainError, match="at most 5 sensitivities are supported"):
        epsilon(spec("1", [*"012345"], ["0.5", *["0.1"] * 5]), 1e-6)


def test_groups_that_are_too_unlikely_or_too_far() -> None:
    """No term of a group is rarer than 1e-250, or moves the mean by 1e8; a chain still holds."""
    rare = spec("9", ["0", "1"], ["1e-200", "1"])
    assert built(rare).grouped(2) is None
    assert built(spec("1", ["0", "6e7"], ["0.5", "0.5"])).grouped(2) is None
    assert built(spec("1", ["0", "4e7"], ["0.5", "0.5"])).grouped(2) is not None
    # All but 1e-200 of it is noise of deviation 9 / 2.
    assert meet(epsilon(rare + "@group:k=2", 1e-6), epsilon("gaussian:sigma=4.5", 1e-6))


def test_trivial_mixtures() -> None:
    """One size is a Gaussian, and none costs nothing."""
    one = epsilon("gaussian-mixture:sigma=2,sensitivities=1,probabilities=1", 1e-6)
    assert meet(one, epsilon("gaussian:sigma=2", 1e-6))
    nothing = "gaussian-mixture:sigma=2,sensitivities=0,3,probabilities=1,0"
    assert epsilon(nothing, 0.0).upper == 0.0


def test_forms() -> None:
    """Text and JSON hold lists, and give them back; ratios and a space after a comma are read."""
    text = "gaussian-mixture:sigma=1.5,sensitivities=0,1,2,probabilities=0.25,0.5,0.25"
    tree = parse(text).tree
    assert to_text(tree) == text
    assert to_json(tree)["sensitivities"] == [0.0, 1.0, 2.0]
    assert from_json(to_json(tree)) == tree
    spaced = "gaussian-mixture:sigma=1.5,sensitivities=0, 1, 2, probabilities=1/4,1/2,25%"
    assert to_text(parse(spaced).tree) == text
    assert parse(spec("2", ["1"], ["1"])).tree == parse(spec("2", ["1.0"], ["100%"])).tree


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        (spec("1", ["0", "1"], ["0.5", "0.4"]), DomainError, "is 0.1 that of sensitivity 0"),
        (spec("1", ["0", "1"], ["1"]), DomainError, "2 sensitivities and 1 probabilities"),
        (spec("1", ["0", "-1"], ["0.5", "0.5"]), SpecError, "must be >= 0, got -1"),
        (spec("1", ["0", "x"], ["0.5", "0.5"]), SpecError, "an equals sign and a value follow x"),
        (spec("1e-9", ["0", "1"], ["0.5", "0.5"]), DomainError, "must be 0, or in"),
        ("gaussian:sigma=1,2", SpecError, "sigma takes a number, got 1,2"),
        (spec("1", ["0", "1"], ["1", "1e-260"]), DomainError, "at least 1e-250"),
    ],
)
def test_refusals(text: str, error: type[Exception], words: str) -> None:
    """One line that says what is wrong."""
    with pytest.raises(error, match=words):
        epsilon(text, 1e-6)


def test_replacing_a_record_is_refused() -> None:
    """Two values of a record may lie on different sides."""
    with pytest.raises(UnsupportedError, match="two values of a record"):
        epsilon(PEER, 1e-6, Relation.REPLACE_ONE)
