"""`matrix-gaussian`: sensitivities against all patterns and signs, and against known numbers."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING

import pytest
from mpmath import mp, mpf

from privcalc.accounting.subsample import subsample
from privcalc.errors import DomainError, UnsupportedError
from privcalc.mechanisms import matrix_gaussian
from privcalc.mechanisms.matrix_gaussian import tree
from privcalc.spec.parse import parse
from privcalc.spec.registry import sampling_words
from privcalc.spec.tree import Wrapped
from tests.asked import epsilon as epsilon_of
from tests.truths import meet

if TYPE_CHECKING:
    from pathlib import Path

    from privcalc.exact import Enclosed

    Matrix = list[list[Fraction]]

NAMED = "matrix-gaussian:sigma=3,strategy="


def square_root(steps: int, bands: int) -> Matrix:
    """Return the banded square root of prefix sums: binomial coefficients over powers of 4."""
    c = [Fraction(math.comb(2 * j, j), 4**j) for j in range(bands)]
    return [
        [c[i - j] if 0 <= i - j < bands else Fraction(0) for j in range(steps)]
        for i in range(steps)
    ]


def nodes(steps: int) -> Matrix:
    """Return the complete nodes of a binary tree."""
    return [
        [Fraction(start <= i < start + size) for i in range(steps)]
        for size in (1 << h for h in range(steps.bit_length()))
        for start in range(0, steps - size + 1, size)
    ]


def unit(steps: int) -> Matrix:
    """Return the unit matrix."""
    return [[Fraction(i == j) for j in range(steps)] for i in range(steps)]


def patterns(steps: int, most: int, separation: int, *, fixed: bool) -> list[tuple[int, ...]]:
    """Return all sets of steps that are allowed."""
    found = []
    for count in range(1, most + 1):
        for each in combinations(range(steps), count):
            gaps = [b - a for a, b in pairwise(each)]
            if all(gap == separation if fixed else gap >= separation for gap in gaps):
                found.append(each)
    return found


def truth(c: Matrix, most: int, separation: int, *, fixed: bool) -> tuple[Fraction, Fraction]:
    """Return the largest square over patterns and signs, and with |X| in the place of X."""
    steps = len(c[0])
    zero = Fraction(0)
    x = [[sum((row[i] * row[j] for row in c), zero) for j in range(steps)] for i in range(steps)]
    signed = above = zero
    for p in patterns(steps, most, separation, fixed=fixed):
        above = max(above, sum((abs(x[i][j]) for i in p for j in p), zero))
        for signs in product((1, -1), repeat=len(p) - 1):
            s = dict(zip(p, (1, *signs), strict=True))
            signed = max(signed, sum((s[i] * s[j] * x[i][j] for i in p for j in p), zero))
    return signed, above


def written(c: Matrix, directory: Path) -> matrix_gaussian.Strategy:
    """Write a matrix to a file and read it."""
    file = directory / "c.csv"
    file.write_text("\n".join(",".join(str(x) for x in row) for row in c) + "\n")
    return matrix_gaussian.read(str(file))


def contains(found: Enclosed, exact: Fraction, width: float) -> bool:
    """Say whether an enclosure holds a number, and is narrow."""
    return found.low <= exact <= found.high <= found.low * (1 + Fraction(width))


class TestNamed:
    """Strategies that have a name, against their matrices."""

    @pytest.mark.parametrize("seed", range(12))
    def test_all_patterns(self, seed: int, tmp_path: Path) -> None:
        """Squares are those of the worst pattern of the matrix, by name and from a file."""
        rng = random.Random(f"strategies {seed}")
        steps, most, separation = rng.randint(1, 9), rng.randint(1, 5), rng.randint(1, 4)
        bands = rng.randint(1, 10)
        counts = steps, most, separation
        for name, matrix, found in (
            ("identity", unit(steps), matrix_gaussian.identity(*counts)),
            ("tree", nodes(steps), tree(*counts, fixed=False, completion=False)),
            (
                "banded",
                square_root(steps, bands),
                matrix_gaussian.square_root(steps, bands, most, separation),
            ),
        ):
            exact, above = truth(matrix, most, separation, fixed=False)
            assert exact == above
            assert found.low <= exact <= found.high
            if name == "banded":
                assert contains(found, exact, 1e-30)
            if name == "identity" or (name == "tree" and most == 1):
                assert found.low == found.high
            read = written(matrix, tmp_path).square(most, separation, fixed=False)
            assert read.low <= exact <= read.high
            if name != "tree":
                assert contains(read, exact, 1e-12)

    @pytest.mark.few(2)
    @pytest.mark.parametrize("seed", range(40))
    def test_trees(self, seed: int) -> None:
        """Against all patterns: one number where the distance is fixed, and else between the ends.

        A completed tree has the nodes of as many steps as the next power of two, of which a record
        is in the first ones only.
        """
        rng = random.Random(f"trees {seed}")
        steps, most, separation = rng.randint(1, 11), rng.randint(1, 5), rng.randint(1, 4)
        for completion in (False, True):
            matrix = nodes(1 << (steps - 1).bit_length() if completion else steps)
            matrix = [row[:steps] for row in matrix]
            for fixed in (False, True):
                exact, above = truth(matrix, most, separation, fixed=fixed)
                assert exact == above
                found = tree(steps, most, separation, fixed=fixed, completion=completion)
                assert found.low <= exact <= found.high
                assert not fixed or found.low == found.high

    @pytest.mark.slow
    def test_many_steps(self) -> None:
        """Long square roots have the sum of their coefficients, by mpmath."""
        with mp.workdps(40):
            c = [mpf(1)]
            for j in range(1, 20_000):
                c.append(c[-1] * (2 * j - 1) / (2 * j))
            apart = [x + (c[j - 10_000] if j >= 10_000 else 0) for j, x in enumerate(c)]
            for count, exact in (
                (1, mp.fsum(x * x for x in c)),
                (2, mp.fsum(y * y for y in apart)),
            ):
                found = matrix_gaussian.square_root(20_000, 20_000, count, 10_000)
                low, high = (mpf(x.numerator) / x.denominator for x in (found.low, found.high))
                assert low <= exact * (1 + mpf(10) ** -35)
                assert high >= exact * (1 - mpf(10) ** -35)
                assert high - low < exact * mpf(10) ** -25


class TestFiles:
    """Any matrix, against all patterns and all signs."""

    @pytest.mark.parametrize("seed", range(30))
    def test_all_patterns(self, seed: int, tmp_path: Path) -> None:
        """The upper end is above |X| summed, the lower below the best signs; both are close."""
        rng = random.Random(f"files {seed}")
        steps, most, separation = rng.randint(1, 8), rng.randint(1, 5), rng.randint(1, 4)
        fixed, negative = rng.random() < 0.4, rng.random() < 0.5
        bands = rng.choice((steps, separation, 2))
        matrix = [
            [
                Fraction(rng.randint(-20 if negative else 0, 20), rng.choice((1, 7, 10)))
                if 0 <= i - j < bands or rng.random() < 0.05
                else Fraction(0)
                for j in range(steps)
            ]
            for i in range(steps + rng.randint(0, 2))
        ]
        matrix[0][0] = Fraction(1, 3)
        found = written(matrix, tmp_path).square(most, separation, fixed=fixed)
        signed, above = truth(matrix, most, separation, fixed=fixed)
        # Vectors in several dimensions are between signs and absolute values.
        assert found.low <= signed * (1 + Fraction(1, 10**14))
        assert found.high >= above * (1 - Fraction(1, 10**14))
        if fixed or most == 1:
            assert found.high <= above * (1 + Fraction(1, 10**12))
        if not negative:
            assert found.low >= signed * Fraction(9, 10)
            assert found.high <= above * Fraction(3, 2)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("1 2\n3\n", "line 2: expected 2 numbers as in the first row, got 1"),
            ("1e999 1\n", "line 1: expected a number"),
            ("1_0 1\n", "line 1: expected a number"),
            ("# nothing\n", "has no numbers"),
            ("0 0\n0 0\n", "every entry of the matrix is 0"),
            ("1/2 1e-399/7\n", "line 1: an entry is too small"),
            ("1 0.0e-400 1/7\n0 -0 1e-200\n1\n", "line 3: expected 3 numbers"),
            ("1e-200\n", "the largest entry must be in"),
            (" ".join(["1"] * 1001), "more than 4000 rows or 1000 columns"),
        ],
    )
    def test_what_is_no_matrix(self, text: str, words: str, tmp_path: Path) -> None:
        """One line that says where, and what is expected."""
        file = tmp_path / "c.csv"
        file.write_text(text)
        with pytest.raises(DomainError, match=words):
            matrix_gaussian.read(str(file))

    def test_too_many_patterns(self, tmp_path: Path) -> None:
        """What cannot be gone through is refused, with what to ask instead."""
        file = tmp_path / "c.csv"
        file.write_text(("1 " * 900 + "\n") * 2)
        with pytest.raises(DomainError, match="state fewer, or a larger separation"):
            matrix_gaussian.read(str(file)).square(400, 1, fixed=False)


class TestAnswers:
    """What commands make of it."""

    @pytest.mark.parametrize(
        ("text", "other"),
        [
            ("tree,steps=1000@5", "gaussian:sigma=3@50"),
            # 11 + 4 + 4 + 16 + 16 ... for four with 1024 between: nodes with that many, squared.
            ("tree,steps=4096,participations=4,separation=1024", "gaussian:sigma=3@68"),
            ("tree,steps=1000,completion=true", "gaussian:sigma=3@11"),
            (
                "tree,steps=2000,participations=20,separation=100,pattern=fixed,completion=true",
                "gaussian:sigma=3@926",
            ),
            ("identity,steps=90,participations=9,separation=10", "gaussian:sigma=3@9"),
            ("identity,steps=90@poisson:q=0.05", "gaussian:sigma=3@poisson:q=0.05@90"),
            ("banded,bands=1,steps=7,sensitivity=2@group:k=2", "gaussian:sigma=3@16"),
        ],
    )
    def test_equal_to_independent_noise(self, text: str, other: str) -> None:
        """Integer sensitivities are so many uses of Gaussian noise."""
        one, same = epsilon_of(NAMED + text), epsilon_of(other)
        assert one.lower is not None
        assert meet(one, same)
        assert one.upper <= same.upper * (1 + 1e-8)

    @pytest.mark.slow
    @pytest.mark.parametrize(("steps", "rounds"), [(96, 12), (100, 13)])
    def test_sampled_rounds(self, steps: int, rounds: int, tmp_path: Path) -> None:
        """Cyclic groups are ceil(steps / bands) sampled uses of the norm of a column, or less."""
        norm = math.sqrt(sum(float(row[0]) ** 2 for row in square_root(8, 8)))
        other = epsilon_of(f"gaussian:sigma={3 / norm!r}@poisson:q=0.2@{rounds}")
        fewer = epsilon_of(f"gaussian:sigma={3 / norm!r}@poisson:q=0.2@{rounds - 1}")
        named = epsilon_of(f"{NAMED}banded,bands=8,steps={steps}@poisson:q=0.2")
        written(square_root(steps, 8), tmp_path)
        read = epsilon_of(f"matrix-gaussian:sigma=3,file={tmp_path}/c.csv@poisson:q=0.2")
        if steps % 8 == 0:
            assert named.upper == pytest.approx(other.upper, rel=1e-9)
            assert read.upper == pytest.approx(other.upper, rel=1e-9)
        assert fewer.upper < (named.lower or 0.0) <= named.upper <= other.upper * (1 + 1e-9)
        assert named.upper <= read.upper * (1 + 1e-9)
        assert (read.lower or 0.0) <= named.upper

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("tree,steps=8@poisson:q=0.1", "known for banded strategies"),
            ("identity,steps=8,participations=2@poisson:q=0.1", "leave them out"),
            ("identity,steps=8@5@poisson:q=0.1", "sample each run by itself"),
            ("identity,steps=8@allocation:t=5", "a whole run"),
            ("banded,steps=8,bands=2@poisson:q=0.1@group:k=2", "share rows"),
        ],
    )
    def test_refused(self, text: str, words: str) -> None:
        """What is not known is refused, with the reason."""
        with pytest.raises(UnsupportedError, match=words):
            epsilon_of(NAMED + text)

    @pytest.mark.slow
    def test_columns_of_different_norms(self, tmp_path: Path) -> None:
        """Sampled rounds are between those of the best group, and of the largest norms in order."""
        rng = random.Random(5)
        matrix = [
            [Fraction(rng.randint(1, 20), 20) * (0 <= i - j < 3) for j in range(11)]
            for i in range(11)
        ]
        written(matrix, tmp_path)
        found = epsilon_of(f"matrix-gaussian:sigma=3,file={tmp_path}/c.csv@poisson:q=0.2")
        norms = [math.sqrt(sum(float(row[j]) ** 2 for row in matrix)) for j in range(11)]
        groups = [sorted(norms[first::3], reverse=True) for first in range(3)]
        most = [max(group[i] for group in groups if i < len(group)) for i in range(4)]
        least, largest = (
            epsilon_of("+".join(f"gaussian:sigma={3 / x!r}@poisson:q=0.2" for x in each))
            for each in (max(groups[:2], key=lambda group: sum(x * x for x in group)), most)
        )
        assert found.lower == pytest.approx(least.lower, rel=1e-8)
        assert found.upper == pytest.approx(largest.upper, rel=1e-8)

    def test_trees_say_whether_they_are_completed(self) -> None:
        """Only where it makes a difference."""
        for text, words in (
            ("tree,steps=1000", ", tree not completed"),
            ("tree,steps=1000,completion=true", ", tree completed"),
            ("tree,steps=1024,completion=true", ""),
            ("banded,steps=1000", ""),
        ):
            assert sampling_words(parse(NAMED + text).tree) == "planned participations" + words
        with pytest.raises(DomainError, match="parameter of strategy=tree"):
            epsilon_of(NAMED + "identity,steps=9,completion=true")

    def test_no_single_step(self) -> None:
        """What amplifies one step has no run of them."""
        banded = Wrapped(
            "poisson_sampled",
            (("sampling_probability", 0.1),),
            parse(NAMED + "banded,steps=8").tree,
        )
        with pytest.raises(UnsupportedError, match="write @poisson:q= after it"):
            subsample(banded, [2.0])

    def test_an_upper_triangle_is_not_sampled(self, tmp_path: Path) -> None:
        """Its rows would be published too early."""
        written([[Fraction(1), Fraction(1)], [Fraction(0), Fraction(1)]], tmp_path)
        with pytest.raises(UnsupportedError, match="lower triangular"):
            epsilon_of(f"matrix-gaussian:sigma=3,file={tmp_path}/c.csv@poisson:q=0.2")

    def test_columns_next_to_nothing_are_not_sampled(self, tmp_path: Path) -> None:
        """A step that no answer depends on has no loss."""
        written([[Fraction(1), Fraction(0)], [Fraction(0), Fraction(0)]], tmp_path)
        with pytest.raises(UnsupportedError, match="next to nothing"):
            epsilon_of(f"matrix-gaussian:sigma=3,file={tmp_path}/c.csv@poisson:q=0.2")
