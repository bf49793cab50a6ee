"""The mechanism `profile`: hulls of points of a privacy profile, read from a file."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from privcalc.errors import DomainError
from privcalc.losses.profiles import profile_law
from privcalc.relation import Adjacency
from tests.pairs import atoms_of, atoms_profile, bracket, built, check_atoms, two_point

ADD = Adjacency.ADD


@pytest.fixture(autouse=True)
def _directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File names are relative to the current directory."""
    monkeypatch.chdir(tmp_path)


def write(text: str, name: str = "x.txt") -> None:
    """Write a file into the current directory."""
    Path(name).write_text(text, encoding="utf-8")


def test_one_point_is_an_approximate_guarantee() -> None:
    """A profile of one point is `approx`, alone and composed; (epsilon, 0) is `pure`."""
    write("epsilon,delta\n0.5,1e-8\n")
    law = atoms_of("profile:file=./x.txt", ADD)
    pair = two_point(0.5, 1e-8)
    assert sorted(law.losses) == sorted(pair.losses)
    assert law.masses == pytest.approx(pair.masses[::-1], rel=4e-16)
    assert law.infinity_mass == law.lower_infinity_mass == 1e-8
    for delta in (1e-6, 1e-3):
        ours = bracket("profile:file=./x.txt@20", delta=delta)
        theirs = bracket("approx:epsilon=0.5,delta=1e-8@20", delta=delta)
        assert ours[1] == pytest.approx(theirs[1], rel=1e-9)
    write("1 0", "pure.txt")
    assert bracket("profile:file=./pure.txt", delta=0.0)[1] == 1.0
    assert profile_law(((1.0, Fraction(0)),)).losses == (-1.0, 1.0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            # A delta of 1 - e^epsilon has to be a normal double.
            st.floats(-6.0, 6.0).filter(lambda x: x == 0.0 or abs(x) > 1e-290),
            st.one_of(st.just(0.0), st.floats(1e-200, 1.0)),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_the_profile_is_the_largest_that_meets_the_points(
    points: list[tuple[float, float]],
) -> None:
    """It meets every point, is symmetric, and no kink could be raised."""
    given_points = tuple(
        (x, Fraction(max(d, -math.expm1(x) if x < 0.0 else 0.0))) for x, d in points
    )
    law = profile_law(given_points)
    check_atoms(law)
    for x, delta in given_points:
        seen = atoms_profile(law, mp.exp(mpf(x)))
        assert seen <= mpf(delta.numerator) / delta.denominator + mpf("1e-14")
    assert law.infinity_mass == law.lower_infinity_mass
    # A kink of the hull is one of the points or its mirror image, with that very value.
    for loss, p in zip(law.losses, law.masses, strict=True):
        if p < 1e-9 or loss < 0.0:
            continue
        bounds = [
            d if x >= 0.0 else 1 - mp.exp(-mpf(x)) * (1 - mpf(d.numerator) / d.denominator)
            for x, d in given_points
            if abs(x) == loss
        ]
        best = min(
            mpf(b.numerator) / b.denominator if isinstance(b, Fraction) else b for b in bounds
        )
        assert abs(atoms_profile(law, mp.exp(mpf(loss))) - max(best, mpf(0))) < 1e-12


def test_points_at_infinity_and_below_zero() -> None:
    """Inf says nothing of finite epsilons; negative ones are read by their mirror image."""
    write("0.5 0.01\n1 1e-3\ninf 1e-6\n")
    law = atoms_of("profile:file=./x.txt", ADD)
    assert law.infinity_mass == 1e-3
    below = profile_law(((-1.0, Fraction("0.7")),))
    mirrored = 1 - mp.e + mp.e * mpf("0.7")
    assert below.losses == (-1.0, 1.0)
    assert abs(below.infinity_mass - mirrored) < 1e-15
    at_zero = profile_law(((0.0, Fraction("0.25")),))
    assert (at_zero.losses, at_zero.masses, at_zero.infinity_mass) == ((0.0,), (0.75,), 0.25)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("701 0", "epsilon must be within 700 of 0, or inf, got 701.0"),
        ("1 1.5", r"delta must be in \[0, 1\]"),
        ("1 1e-301", "0 or at least 1e-300, got 1e-301"),
        ("-1 0.5", r"no mechanism has delta 0.5 at epsilon -1.0: it is at least"),
        ("inf 0", "needs a point with a finite epsilon"),
        ("\n".join(f"{k}e-3 0" for k in range(5001)), "at most 5000 are supported; any part"),
    ],
)
def test_impossible_profiles_are_refused(text: str, message: str) -> None:
    """Each message begins with the file and says what is wrong."""
    write(text)
    with pytest.raises(DomainError, match=rf"^\./x\.txt.*{message}"):
        built("profile:file=./x.txt").laws(ADD)
