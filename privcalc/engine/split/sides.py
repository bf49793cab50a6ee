"""One side of the split on a vertical line: the trapezoid rule, with all its errors.

Right, on Re z = c > 0, with F = prod A^n,

    R = (1 / 2 pi i) int F(z) e^{-z epsilon} / (z (z + 1)) dz,

the finite delta of the laws cut at the split. Left, on Re z = w > 0,

    Lf = (e^epsilon / 2 pi i) int F(z) e^{z epsilon} / (z (z + 1)) dz,
    F = prod (A + J)^n - prod A^n = e^{sum n log A} expm1(sum n log1p(J / A)),

e^epsilon times the delta at -epsilon of the reversed pair on the event that some outcome lies
beyond. Both are transforms of finite positive measures, so that `engine/contour/sum.py` holds word
for word: the sums' aliasing terms are non-negative, those of j < 0 have delta at most the mass of
the measure (1; Q of the event), those of j > 0 follow from Chernoff's bound with F(c') on the real
axis. F is a polynomial in the A and J with non-negative coefficients, so upper bounds of these give
one of F, and beyond the last node, where |A(c + it)| <= A(c) sigma and |J(w + it)| <= J(w),
|F| <= prod (A sigma + J)^n - prod (A sigma)^n.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.contour.aliasing import log_cut
from privcalc.engine.contour.sum import SLACK, aliasings, trapezoid
from privcalc.losses.quadrature import DecayingContour
from privcalc.numerics.arrays import expm1_with_error, log1p_with_error
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound
from privcalc.numerics.work import charge
from privcalc.record import mutable, record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.contour import ContourLaw
    from privcalc.losses.quadrature import QuadratureContour
    from privcalc.losses.sampled.cut import JoinedContour, PowerPart
    from privcalc.numerics.arrays import Array, ComplexArray

# Work for an exponential by itself, in units of what one costs in a product of matrices.
BY_ITSELF = 16
# Work for the summand of a node at an epsilon, and for what it may be off by.
PER_VALUE, PER_ERROR = 0.45, 0.45
# Nodes of a block that is moved to another epsilon at once, and the work for one of them.
BLOCK, PER_MOVE = 128, 0.08


@record
class Term:
    """A term of delta at one epsilon, in units of e^{log_scale}.

    Attributes:
        value: the term.
        above: the truth is at most so much larger ...
        below: ... or smaller.
        slope: its derivative by epsilon.
        terms: parts of both errors.
    """

    value: float
    above: float
    below: float
    slope: float
    terms: dict[str, float]


@record
class Line:
    """One contour, and what is proved of F on it.

    Attributes:
        right: which of the two sides.
        c: abscissa; c and the multiples of the step in use have few bits.
        step: distance of the nodes.
        nodes: n; the sum runs over |k| <= n.
        c_far: the c' of the aliasing bound.
        log_far: upper bound on log F(c').
        log_peak: upper bound on log F(c).
        log_cut: upper bound on log |F(c + it)| for t beyond (n + 1/2) step.
        log_mass: upper bound on the log of the measure's mass.
    """

    right: bool
    c: float
    step: float
    nodes: int
    c_far: float
    log_far: float
    log_peak: float
    log_cut: float
    log_mass: float

    def shift(self, z: float, epsilon: float) -> float:
        """Return the exponent that epsilon adds to log F(z)."""
        return -z * epsilon if self.right else (z + 1.0) * epsilon

    def aliasing(self, epsilon: float, log_scale: float) -> float:
        """Bound what the sum exceeds the integral by."""
        at, scale = (epsilon, log_scale) if self.right else (-epsilon, log_scale - epsilon)
        line, far = (self.c, self.step), (self.c_far, self.log_far)
        return float(aliasings(line, far, np.array([at]), np.array([scale]), self.log_mass)[0])

    def truncation(self, epsilon: float, log_scale: float) -> float:
        """Bound what is cut."""
        exponent = self.log_cut + self.shift(self.c, epsilon) - log_scale
        largest = abs(self.log_cut) + (self.c + 1.0) * abs(epsilon) + abs(log_scale)
        cut = (self.nodes + 0.5) * self.step
        return exp_bound(log_cut(exponent, cut) + SLACK + 8.0 * UNIT * largest) * MARGIN


@record
class Laws:
    """All laws on one line: A, J (not on the right, nor of whole laws), and the others."""

    counts: Sequence[int]
    near: Sequence[QuadratureContour | JoinedContour]
    far: Sequence[PowerPart | None]
    others: Sequence[tuple[ContourLaw, int]]

    @property
    def size(self) -> int:
        """Return the work for one t."""
        near = sum(each.size for each in self.near)
        others = sum(
            each.size * (1 if isinstance(each, DecayingContour) else BY_ITSELF)
            for each, _ in self.others
        )
        return near + sum(each.size for each in self.far if each) + others

    def values(self, step: float, nodes: int) -> Values:
        """Evaluate sum n log A with the others' cumulants, and sum n log(1 + J / A).

        J / A is formed as J e^{-K}, K = log A: off by the error of J, and relatively by that of K,
        4 units of it, 4 for exp's parts each and 3 for the product.
        """
        count = nodes + 1
        found = Values.zero(count)
        terms = 2.0 + len(self.near) + len(self.others)
        for index, (law, n) in enumerate(zip(self.near, self.counts, strict=True)):
            k, k_error = law.log_mgf_progression(step, count)
            found.add_near(n, k, k_error, terms)
            beyond = self.far[index] if self.far else None
            if beyond is not None:
                j, j_error = beyond.progression(step, count)
                ratio = j * np.exp(-k)
                relative = np.expm1(np.minimum(k_error, 1.0)) + UNIT * (16.0 + 4.0 * np.abs(k))
                wrong = (j_error * np.exp(-k.real) * 1.02 + np.abs(ratio) * relative) * MARGIN
                wrong = np.where(k_error < 1e-2, wrong, np.inf)
                found.add_rest(n, *log1p_with_error(ratio, wrong), terms)
        for other, n in self.others:
            found.add_near(n, *other.log_mgf_progression(step, count), terms)
        return found


@mutable
class Values:
    """sum n log A and D = sum n log(1 + J / A) at the nodes, with bounds on their errors."""

    near: ComplexArray
    near_error: Array
    rest: ComplexArray
    rest_error: Array

    @classmethod
    def zero(cls, count: int) -> Values:
        """Begin with nothing."""
        near, rest = (np.zeros(count, np.complex128) for _ in range(2))
        return cls(near, np.zeros(count), rest, np.zeros(count))

    def add_near(self, n: int, k: ComplexArray, error: Array, terms: float) -> None:
        """Add one law n times; each of the sums rounds once a term."""
        self.near = self.near + n * k
        self.near_error = self.near_error + n * error + terms * UNIT * n * np.abs(k)

    def add_rest(self, n: int, k: ComplexArray, error: Array, terms: float) -> None:
        """Add one law's log(1 + J / A) n times."""
        self.rest = self.rest + n * k
        self.rest_error = self.rest_error + n * error + terms * UNIT * n * np.abs(k)


class SideSum:
    """The nodes of one side, ready to give its term at any epsilon."""

    def __init__(self, line: Line, laws: Laws) -> None:
        """Evaluate F at the nodes c + ikh, k = 0 .. n, as e^{near} times `rest`."""
        self.line = line
        values = laws.values(line.step, line.nodes)
        self._near, self._error = values.near, values.near_error
        self._tables: tuple[ComplexArray, ComplexArray] | None = None
        self._rest: ComplexArray | float = 1.0
        self._rest_error: Array | float = 0.0
        if not line.right:
            self._rest, self._rest_error = expm1_with_error(values.rest, values.rest_error)
        self._z, self._kernel = trapezoid(line.c, line.step, line.nodes)

    def delta(self, epsilon: float, log_scale: float) -> Term:
        """Evaluate the term over e^{log_scale} at an epsilon.

        Rounding: the exponent is off by its error and 4 units of each of its terms; exp, the
        kernel, the rest and the products by 24 units; the sum of n terms by n. e^{near} (rest + e)
        e^d differs from e^{near} rest by |rest| (e^|d| - 1) + |e| e^|d|. Where nothing is known,
        |F| is at most its value on the real axis.
        """
        line, z = self.line, self._z
        charge(PER_ERROR * len(z))
        ahead, plain = self._plain(epsilon, log_scale)
        with np.errstate(over="ignore", invalid="ignore"):
            summand = plain * self._rest
            wrong = self._error + UNIT * (
                4.0 * (np.abs(self._near) + np.abs(ahead) * abs(epsilon) + abs(log_scale))
                + 24.0
                + len(z)
            )
            part = np.expm1(np.minimum(wrong, 1.0)) * np.abs(self._rest)
            part = part + np.exp(np.minimum(wrong, 1.0)) * self._rest_error
            known = np.where(wrong < 1.0, part * np.abs(plain), np.inf)
            crude = exp_bound(line.log_peak + line.shift(line.c, epsilon) - log_scale + 1e-6)
            known = np.where(np.isnan(known), np.inf, known)
            total = np.minimum(known, crude * np.abs(self._kernel) + np.abs(summand))
            rounding = float(total.sum()) * MARGIN
            value, slope = float(summand.real.sum()), float((summand * ahead).real.sum())
        aliasing = line.aliasing(epsilon, log_scale)
        cut = line.truncation(epsilon, log_scale)
        return Term(
            value=value,
            above=cut + rounding,
            below=aliasing + cut + rounding,
            slope=slope,
            terms={"aliasing": aliasing, "truncation": cut, "rounding": rounding},
        )

    def estimates(
        self, epsilons: Array, log_scale: float, near: tuple[float, float]
    ) -> tuple[Array, Array]:
        """Return the term over e^{log_scale} and its derivative by epsilon, without error bound.

        From one epsilon to another summands move by e^{(epsilon - e) z}: by one of few phases for
        each block of nodes, and one for each place in a block.

        Args:
            epsilons: where.
            log_scale: see there.
            near: e and the log of the term there, about, always the same.
        """
        at, scale = near
        if self._tables is None:
            ahead, plain = self._plain(at, scale)
            summand = plain * self._rest
            self._tables = _blocks(summand), _blocks(summand * ahead)
        first, blocks = self._tables[0], len(self._tables[0])
        charge(len(epsilons) * (PER_VALUE * sum(first.shape) + PER_MOVE * first.size))
        sign = -1.0 if self.line.right else 1.0
        moved = epsilons - at
        angles = np.multiply.outer(1j * sign * self.line.step * moved, np.arange(BLOCK))
        columns, rows = np.exp(angles), np.exp(BLOCK * angles[:, 1:2] * np.arange(blocks))
        with np.errstate(over="ignore", invalid="ignore"):
            factor = np.exp(self.line.shift(self.line.c, 1.0) * moved + scale - log_scale)
            value, slope = (
                factor * ((rows @ table) * columns).sum(axis=1).real for table in self._tables
            )
        return value, slope

    def _plain(self, epsilon: float, log_scale: float) -> tuple[ComplexArray, ComplexArray]:
        """Return the factors of epsilon at the nodes, and the summands but for the rest."""
        charge(PER_VALUE * len(self._z))
        ahead = -self._z if self.line.right else self._z + 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            return ahead, np.exp(self._near + ahead * epsilon - log_scale) * self._kernel


def _blocks(summand: ComplexArray) -> ComplexArray:
    """Return a table of the summands, zeros at the end; those that are no numbers are left out."""
    rows = -(-len(summand) // BLOCK)
    table: ComplexArray = np.zeros(rows * BLOCK, np.complex128)
    table[: len(summand)] = np.where(np.isfinite(summand), summand, 0.0)
    return table.reshape(rows, BLOCK)
