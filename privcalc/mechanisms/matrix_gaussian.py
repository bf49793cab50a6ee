"""Gaussian noise that is correlated between the steps of a run: matrix factorisation, DP-FTRL.

Squared sensitivities of named strategies are in whole numbers, so that errors are counted; those of
matrices from files are in doubles with counted errors.

X = C^T C is nonnegative for all named ones. A record that takes part in the steps of a pattern p,
with vectors d_i of norm at most 1, moves C G by sum_{i, j in p} X_ij <d_i, d_j>, squared, and that
is at most sum_{i, j in p} X_ij, which equal vectors attain. It grows with p: the most
participations that there is room for are the worst.

In a binary tree the node of size s = 2^h with number a has the steps [a s, (a + 1) s). X counts the
nodes that two steps have in common: with m_v participations in the node v the sum over a pattern is
that of m_v^2.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import DomainError, UnsupportedError
from privcalc.exact import Enclosed
from privcalc.mechanisms.files import exact, lines
from privcalc.mechanisms.gaussian import Gaussian, checked_mu
from privcalc.opened import read_text
from privcalc.spec.entry import deviation, sensitivity, whole
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.losses.law import LossLaw, Term
    from privcalc.mechanisms.base import Mechanism
    from privcalc.spec.tree import Leaf

# Binary digits of a coefficient of the square root.
DIGITS = 128


def most_participations(steps: int, participations: int, separation: int) -> int:
    """Return how many participations there is room for."""
    return min(participations, -(-steps // separation))


def identity(steps: int, participations: int, separation: int) -> Enclosed:
    """Return the squared sensitivity of independent noise: X is the unit matrix."""
    return Enclosed.of(most_participations(steps, participations, separation))


def square_root(steps: int, bands: int, participations: int, separation: int) -> Enclosed:
    """Return the squared sensitivity of the banded square root of the matrix of prefix sums.

    C_ij = c_{i-j} for 0 <= i - j < bands, c_0 = 1, c_j = c_{j-1} (2 j - 1) / (2 j). With i < j,
    X_ij = sum_{u <= steps-1-j} c_u c_{u+j-i} falls with j for a fixed distance j - i, and with the
    distance for a fixed j, as c is nonnegative and does not grow. The l-th step of a pattern is at
    least l separation, and any two are at least as far apart as those of the pattern 0, separation,
    2 separation, ..., which is therefore the worst, term by term (Kalinin, Lampert 2024,
    arXiv:2405.13763, Theorem 2). What it adds up to at step t is y_t = y_{t-separation} + c_t, less
    c_{t - participations separation}.

    c_j, in units of 2^-DIGITS, is rounded down at every j, which costs less than a unit each time
    and shrinks with the factors: c_j is at most j units more, and y_t at most all of those.
    """
    bands = min(bands, steps)
    count = most_participations(steps, participations, separation)
    coefficients = [1 << DIGITS]
    for j in range(1, bands):
        coefficients.append(coefficients[-1] * (2 * j - 1) // (2 * j))
    missing = count * (bands - 1)
    if count == 1:
        sums = coefficients
    else:
        c = coefficients + [0] * (steps - bands)
        sums = c
        for t in range(separation, steps):
            sums[t] += sums[t - separation]
        # From the end: what is subtracted is not yet changed.
        for t in range(steps - 1, count * separation - 1, -1):
            sums[t] -= sums[t - count * separation]
    low = sum(y * y for y in sums)
    high = low + 2 * missing * sum(sums) + len(sums) * missing * missing
    unit = 1 << (2 * DIGITS)
    return Enclosed(Fraction(low, unit), Fraction(high, unit))


@lru_cache(maxsize=32)
def tree(
    steps: int, participations: int, separation: int, *, fixed: bool, completion: bool
) -> Enclosed:
    """Return the squared sensitivity of the sums of the nodes of a binary tree.

    That of one participation is the number of nodes with the first step. With a fixed distance it
    is the largest of all starts. Otherwise that is the lower end, and above it for every size of
    nodes: at most c = ceil(s / separation) participations are in a node, and m_v^2 is convex, so
    that the sum over nodes of one size is at most what as many full nodes as there can be have, and
    one with the rest. Where the separation is a power of 2 and the end of the tree does not cut
    them, the two agree.
    """
    low = largest_even(steps, participations, separation, completion=completion)
    count = most_participations(steps, participations, separation)
    if fixed or count == 1:
        return Enclosed.of(low)
    high = 0
    for size, end in published(steps, completion=completion):
        nodes, most = -(-end // size), min(count, -(-size // separation))
        full = min(nodes, count // most)
        high += full * most * most
        if full < nodes:
            high += (count - full * most) ** 2
    return Enclosed(Fraction(low), Fraction(max(low, high)))


def published(steps: int, *, completion: bool) -> Iterator[tuple[int, int]]:
    """Yield the sizes of nodes, and where the last published one of each size ends.

    At the end of the run, if it ends later than that.
    """
    top = (steps - 1).bit_length() if completion else steps.bit_length() - 1
    for h in range(top + 1):
        yield 1 << h, steps if completion else steps >> h << h


def largest_even(steps: int, participations: int, separation: int, *, completion: bool) -> int:
    """Return the largest sum of m_v^2 over patterns start, start + separation, ...

    They have `participations` steps, or less where the run ends. Of those that it cuts the ones
    that start before `separation` are enough: others are part of them.

    Let a node have f of them, the first of which is step `start` or the first of its residue in
    the node. There m_v^2 = 1 + 3 + ... + (2 f - 1), where a step is worth 2 r + 1 if the node has r
    steps of its residue before it. That is right for every node but the one with the start i, in
    which the r steps before i are none of the pattern: there each of the f is 2 r too much. So the
    sum of m_v^2 is a sum of worths, which differences of running sums give for all starts, less
    2 r f for every size.
    """
    import numpy as np

    # No two steps are further apart, and tables are as long as the separation.
    separation = min(separation, steps)
    rows = -(-steps // separation)
    count = min(participations, rows)
    place = np.arange(steps, dtype=np.int64)
    worth = np.zeros(rows * separation, dtype=np.int64)
    extra = np.zeros(steps, dtype=np.int64)
    for size, end in published(steps, completion=completion):
        if size <= separation:
            worth[:end] += 1
            continue
        before = (place[:end] & (size - 1)) // separation
        worth[:end] += 2 * before + 1
        left = np.minimum(size - (place[:end] & (size - 1)), steps - place[:end])
        extra[:end] += 2 * before * np.minimum(-(-left // separation), count)
    sums = np.zeros((rows + 1, separation), dtype=np.int64)
    np.cumsum(worth.reshape(rows, separation), axis=0, out=sums[1:])
    last = np.minimum(np.arange(rows) + count, rows)
    totals = (sums[last] - sums[:-1]).ravel()[:steps] - extra
    starts = max(min(separation, steps), steps - (count - 1) * separation)
    return int(totals[:starts].max())


MOST_COLUMNS, MOST_ROWS = 1000, 4000
# Beyond, squares leave the range of doubles.
LEAST, LARGEST = 1e-100, 1e100

# Words in these characters that Python takes for numbers are decimals.
_PLAIN = re.compile(r"[0-9+\-.eE]+", re.ASCII)


def matrix(file: str, text: str) -> list[list[float]]:
    """Return the rows of the matrix in a file, each entry the double next to what is written.

    Entries are decimals or ratios, separated as in other files; `#` begins a comment.

    Raises:
        DomainError: it is no matrix, is too large or has only zeros; the message has the name of
            the file, the line and what was expected.
    """
    rows: list[list[float]] = []
    for place, words in lines(file, text):
        row = _numbers(place, words)
        if len(row) > MOST_COLUMNS or len(rows) == MOST_ROWS:
            raise DomainError(
                f"{file} has a matrix of more than {MOST_ROWS} rows or {MOST_COLUMNS} columns;"
                " larger ones are known by name: strategy=tree, banded or identity"
            )
        if rows and len(row) != len(rows[0]):
            raise DomainError(
                f"{place}: expected {len(rows[0])} numbers as in the first row, got {len(row)}"
            )
        rows.append(row)
    if not rows:
        raise DomainError(f"{file} has no numbers; expected a matrix, a line for each row")
    largest = max(abs(value) for row in rows for value in row)
    if not largest:
        raise DomainError(f"{file}: every entry of the matrix is 0")
    if not LEAST <= largest <= LARGEST:
        raise DomainError(
            f"{file}: the largest entry must be in [{LEAST:g}, {LARGEST:g}], got {largest!r}"
        )
    return rows


def _numbers(place: str, words: list[str]) -> list[float]:
    """Return the numbers of a line; zeros are zeros, which say what steps have in common."""
    row = [math.inf]
    if _PLAIN.fullmatch("".join(words)):
        with suppress(ValueError):
            row = list(map(float, words))
    if not all(map(math.isfinite, row)):
        row = [float(exact(place, word)) for word in words]
    small = {word for word, x in zip(words, row, strict=True) if x == 0.0}
    # Digits of what is no 0 were lost.
    if any(re.split("[eE/]", word)[0].strip("+-0.") for word in small):
        raise DomainError(f"{place}: an entry is too small; write 0, or scale the matrix")
    return row


# Kinds of rounds that a sampled run is made of, at most.
CLASSES = 6
# Part of the largest squared norm of its class that the least one has to be.
SMALLEST_SHARE = 1e-10


class Strategy:
    """A matrix C, times a power of two, and what was worked out for it."""

    def __init__(self, rows: list[list[float]]) -> None:
        """Scale the largest entry to about 1: only entries that count for nothing are rounded."""
        import numpy as np

        from privcalc.numerics.participation import Gram

        given = np.array(rows)
        self._exponent = math.frexp(float(np.abs(given).max()))[1]
        self._matrix = np.ldexp(given, -self._exponent)
        self._places = np.nonzero(given)
        self._gram = Gram.of(self._matrix)
        self._known: dict[tuple[int, int, bool], Enclosed] = {}

    def square(self, participations: int, separation: int, *, fixed: bool) -> Enclosed:
        """Return the squared sensitivity.

        The pattern 0, separation, 2 separation, ... is the worst of a lower triangular Toeplitz
        matrix whose first column is nonnegative and does not grow (`square_root`), which
        is decided on the doubles: errors of entries are charged with those of their products.

        Raises:
            DomainError: there are more patterns than are gone through.
        """
        from privcalc.numerics.participation import Patterns, largest

        steps = self._matrix.shape[1]
        most = most_participations(steps, participations, separation)
        # No two steps are further apart, and tables are as long as the separation.
        separation = min(separation, steps)
        key = most, separation, fixed
        if key not in self._known:
            patterns = Patterns(steps, most, separation, fixed or self._falling())
            self._known[key] = self._scaled(*largest(self._gram, patterns))
        return self._known[key]

    def columns(self) -> tuple[int, list[tuple[Enclosed, int]]]:
        """Return the number of bands, and squared norms of the columns of one group, with counts.

        What a round costs grows with the norm: sorted by size, those of every group are below the
        largest that any group has in that place, and those of one group are what they are. Places
        are put together to a few classes.

        Raises:
            UnsupportedError: the matrix is not lower triangular, or no square.
        """
        import numpy as np

        rows, steps = self._places
        distance = rows - steps
        square = self._matrix.shape[0] == self._matrix.shape[1]
        if not square or (distance < 0).any():
            raise UnsupportedError(
                "sampling of matrix-gaussian needs a lower triangular square matrix: other rows"
                " would be published before the steps that they need"
            )
        bands = int(distance.max()) + 1
        products, wrong = np.diagonal(self._gram.products), np.diagonal(self._gram.wrong)
        groups = [
            np.sort(np.maximum(products - wrong, 0.0)[first::bands])[::-1]
            for first in range(min(bands, len(products)))
        ]
        # The first group has as many columns as any.
        above = np.zeros(len(groups[0]))
        for each in groups:
            above[: len(each)] = np.maximum(above[: len(each)], each)
        low = max((each for each in groups if len(each) == len(above)), key=lambda each: each.sum())
        above += 2.0 * wrong.max()
        found: list[tuple[Enclosed, int]] = []
        for part in np.array_split(np.arange(len(above)), min(CLASSES, len(above))):
            class_ = float(low[part[-1]]), float(above[part[0]])
            if not class_[0] > SMALLEST_SHARE * class_[1]:
                raise UnsupportedError(
                    "sampling of matrix-gaussian needs columns that are not 0, nor next to nothing"
                    "  against others: leave out the steps that no answer depends on"
                )
            found.append((self._scaled(*class_), len(part)))
        return bands, found

    def _falling(self) -> bool:
        import numpy as np

        c = self._matrix
        if c.shape[0] != c.shape[1] or np.triu(c, 1).any():
            return False
        even = (c[1:, 1:] == c[:-1, :-1]).all()
        return bool(even and c[-1, 0] >= 0.0 and (np.diff(c[:, 0]) <= 0.0).all())

    def _scaled(self, low: float, high: float) -> Enclosed:
        factor = Fraction(2) ** (2 * self._exponent)
        return Enclosed(Fraction(max(low, 0.0)), Fraction(high)) * factor


def read(file: str) -> Strategy:
    """Return the strategy in a file.

    Raises:
        DomainError: the file cannot be read, or has no matrix.
    """
    return _strategy(file, read_text(file))


@lru_cache(maxsize=1)
def _strategy(file: str, text: str) -> Strategy:
    """Make the strategy of a text once, as searches ask for it again and again."""
    return Strategy(matrix(file, text))


MOST_STEPS = 1_000_000
# Beyond this relative error of mu the law is one of two ends.
CLOSE = 1e-11


@mechanism(
    name="matrix_gaussian",
    place=55,
    parameters=(
        deviation(unit="unit of a step"),
        sensitivity(unit="unit of a step"),
        Parameter("file", kind="path"),
        Parameter("strategy", kind="choice", choices=("tree", "banded", "identity")),
        # The first steps of a longer run, of which the record takes part in no others.
        whole("steps", "increases", most=MOST_STEPS),
        whole("bands", most=MOST_STEPS, default_text="steps"),
        # Fewer are among those that it may be.
        whole("participations", "increases", default=1),
        whole("separation", default=1),
        Parameter("pattern", kind="choice", choices=("separated", "fixed"), default="separated"),
        Parameter("completion", kind="flag", default=False),
    ),
    one_of=(("file",), ("strategy", "steps")),
    excludes=(("file", "bands"), ("file", "completion")),
    example="matrix-gaussian:sigma=2,strategy=banded,steps=1000,participations=5,separation=200",
)
class MatrixGaussian(Gaussian):
    """Correlated noise: C G + Z, with a strategy matrix C and independent Gaussian noise Z.

    Row i of G is what step i adds up, to which a record gives a vector of norm at most
    `sensitivity` in each step in which it takes part. Published are C G + Z, or estimates that are
    computed from it such as the prefix sums A G + B Z, A = B C (DP-FTRL, matrix factorisation).
    Let S be the largest norm of C (G - G') over all that one record may do in the steps that
    `participations`, `separation` and `pattern` allow; the steps of other records stay as they are.
    Then N(S, sigma^2) and N(0, sigma^2) dominate the mechanism in every direction, also where each
    step depends on what was published before, if no row of C G + Z is published before the last
    step that it needs: row by row these are Gaussian mechanisms chosen adaptively, whose squared
    distances add up to at most S^2 (Denisov et al. 2022, Theorem 2.1; Smith, Thakurta 2022). The
    record with those vectors attains it. A group of k records has k S.

    Where C^T C is nonnegative S is the sum of its entries over the worst pattern, exactly for
    `banded`, `identity`, one participation and a fixed pattern; elsewhere S is enclosed, and the
    lower end of the answer is that of the worst pattern found. A `file` has a line for each row of
    C, with a column for each step: decimals or ratios, separated by commas, semicolons or white
    space; `#` begins a comment.

    `tree` publishes every node of a binary tree whose last step is over, and one participation has
    S^2 = floor(log2 steps) + 1. Restarts are uses: `@5` is five trees, each with its own noise.
    Where `steps` is no power of two, nodes that end later are not published; `completion=true` adds
    virtual steps until it is one, and every node that has a step is published (the tree completion
    of DP-FTRL before a restart): one participation has S^2 = ceil(log2 steps) + 1. A run whose last
    tree is not completed is a sum: `...,completion=true@4` and one without.

    Under `@poisson` each step sees a sample of one group of records: the records are divided, by
    chance and for good, into as many groups as C has bands, and step i samples from group i modulo
    bands, with probability q for each of its records (Choquette-Choo et al. 2023, Theorem 4). A
    record may be in steps that far apart, which no row of C has in common. Each is a sampled
    Gaussian mechanism with the norm of its column, and there are ceil(steps / bands) of them. Leave
    out `participations` there.
    """

    run = True
    named: ClassVar[str] = "sensitivity of the run / standard_deviation"

    @classmethod
    def sampled_how(cls, leaf: Leaf) -> str:
        """Name planned participations, and what becomes of a tree with steps to spare."""
        given = dict(leaf.parameters)
        steps, completed = given.get("steps"), given.get("completion", False)
        odd = isinstance(steps, int) and steps & (steps - 1) > 0
        if given.get("strategy") != "tree" or not odd:
            return "planned participations"
        return f"planned participations, tree {'' if completed else 'not '}completed"

    def __init__(
        self,
        *,
        standard_deviation: float,
        sensitivity: float = 1.0,
        file: str | None = None,
        strategy: str | None = None,
        steps: int | None = None,
        bands: int | None = None,
        participations: int = 1,
        separation: int = 1,
        pattern: str = "separated",
        completion: bool = False,
    ) -> None:
        """Take the strategy and the participations.

        Raises:
            DomainError: they do not fit, or the file has no matrix.
        """
        if bands is not None and strategy != "banded":
            raise DomainError("bands is a parameter of strategy=banded")
        if completion and strategy != "tree":
            raise DomainError("completion is a parameter of strategy=tree")
        self.unit = Enclosed.of(sensitivity) / Enclosed.of(standard_deviation)
        self.participations = participations
        self.strategy, self.steps, self.bands = strategy, steps or 0, bands or steps or 0
        if file is not None:
            self.matrix = read(file)
            square = self.matrix.square(participations, separation, fixed=pattern == "fixed")
        elif strategy == "banded":
            square = square_root(self.steps, self.bands, participations, separation)
        elif strategy == "tree":
            counts, fixed = (self.steps, participations, separation), pattern == "fixed"
            square = tree(*counts, fixed=fixed, completion=completion)
        else:
            square = identity(self.steps, participations, separation)
        self.mu = self._mu(square)

    def law(self) -> LossLaw | Term:
        """Return the law of one direction, the same in each; or those at both ends of mu."""
        from privcalc.losses.gaussian import GaussianLaw
        from privcalc.losses.law import Term

        law = GaussianLaw.of(self.mu)
        if law.error <= CLOSE:
            return law
        low, high = self.mu.doubles()
        return Term(GaussianLaw(high), GaussianLaw(low))

    def rounds(self, records: int) -> list[tuple[Mechanism, int]]:
        """Return what a record meets in samples, with counts: columns of one group.

        The norms of the columns of a banded square root fall, so that the group of step 0 costs
        most; its last column may be short.
        """
        if self.strategy == "tree" or self.participations > 1:
            raise UnsupportedError(
                "sampling of matrix-gaussian is known for banded strategies, and draws the"
                " participations: leave them out, and take another strategy than tree"
            )
        if self.strategy is None:
            bands, found = self.matrix.columns()
        else:
            bands = self.bands if self.strategy == "banded" else 1
            whole, rest = divmod(self.steps, bands)
            found = [(square_root(bands, bands, 1, 1), whole)]
            if rest:
                found.append((square_root(rest, bands, 1, 1), 1))
        if bands > 1 and records > 1:
            raise UnsupportedError(
                "@group of sampled matrix-gaussian is not available: records of different groups"
                " share rows of the noise"
            )
        return [
            (self.changed(mu=self._mu(square), run=False), count)
            for square, count in found
            if count
        ]

    def _mu(self, square: Enclosed) -> Enclosed:
        return checked_mu(square.root() * self.unit, self.named)
