"""Strategy matrices from files, and their squared sensitivities in doubles with counted errors."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache

from privcalc.errors import DomainError, UnsupportedError
from privcalc.exact import Enclosed
from privcalc.mechanisms.correlated.strategies import most_participations
from privcalc.mechanisms.files import exact, lines
from privcalc.opened import read_text

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
        matrix whose first column is nonnegative and does not grow (`strategies.square_root`), which
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
                    " beside others: leave out the steps that no answer depends on"
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
