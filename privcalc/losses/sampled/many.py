"""Many sampled Gaussians at once: noise and rate of each use, or of each run of uses, differ.

The law of the sum of their losses. K, its bounds, and bounds on |phi| are those of each of them
(`law.py`), evaluated as one array over laws and nodes, and added up; the sums are rounded outward
once. What is near is done alike: laws are taken in blocks of similar noise, whose panels, windows
and level sets are placed for one of them and proved for each.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.law import ContourLaw, LawProperties, LineLaw
from privcalc.losses.quadrature import (
    WIDEST_PANEL,
    Integrand,
    NodeSet,
    Normal,
    RemainderSum,
    SearchSums,
    WeightedLosses,
    on_part,
    refined,
)
from privcalc.losses.sampled.decay import SLACK, VariationCells, layers
from privcalc.losses.sampled.law import DEFAULT_LOG_MASS, cut_ends
from privcalc.losses.sampled.parts import SampledPart
from privcalc.numerics.rounding import MARGIN, UNIT, log1p_with_error
from privcalc.numerics.work import charge, left
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.losses.law import Tails
    from privcalc.losses.sampled.law import SampledLaw
    from privcalc.numerics.rounding import Array, ComplexArray

# Laws of a block: their arrays of nodes fit into a cache. Its largest deviation is at most SIMILAR
# times its least, lest panels that serve all are too many.
BLOCK, SIMILAR = 128, 1.5
# The rule of searches: nodes so far apart, in deviations, and less where the loss bends faster.
APART = 0.5
# What a node of that rule costs.
PER_SEARCH = 0.3
# What a cell costs.
PER_CELL = 1.0
# Panels of a quadrature, nodes of searches.
MOST_PANELS, MOST_NODES = 2000, 20_000
# Of what moments leave out, deviations; log of the error of M by quadrature.
BEYOND, LOG_PART = 9.5, -34.0


class Block:
    """Sampled Gaussians of similar noise, as columns of an array.

    Attributes:
        counts: how often each is used.
        s: deviation of X under R, its mean being -s^2 / 2.
        q: sampling probability.
    """

    def __init__(self, laws: Sequence[tuple[SampledLaw, int]]) -> None:
        """Gather the numbers of laws of one direction."""
        self.remove, self._laws = laws[0][0].remove, [law for law, _ in laws]
        self.counts: Array = np.array([float(count) for _, count in laws])
        self.q: Array = np.array([law.q for law, _ in laws])
        densities = [law.normal for law, _ in laws]
        fields = ("constant", "slope", "curvature", "mean", "deviation")
        self._fields = {name: np.array([getattr(f, name) for f in densities]) for name in fields}
        self.s: Array = self._fields["deviation"]
        self._chosen = sorted({0, int(self.q.argmax()), int(self.q.argmin()), len(laws) - 1})

    def part(self, log_mass: float) -> SampledPart:
        """Return the outcomes after a cut that leaves out a P-mass of each; a row for each law."""
        mean = self._fields["mean"]
        low, high = cut_ends(mean, self.s, self.q, log_mass, remove=self.remove)
        ends = cast("Array", low), cast("Array", high)
        return _columns(self._fields, *ends, self.q, slice(None))

    def exponent(self, c: float) -> float:
        """Return the power of 1 + y at an abscissa."""
        return c + 1.0 if self.remove else -c

    def search_outcomes(self, log_mass: float) -> WeightedLosses:
        """Return nodes of the trapezoid rule for searches; masses beyond are next to nothing.

        Raises:
            NotCertifiedError: the noise is so little that they are too many.
        """
        part = self.part(log_mass)
        low, high = cast("Array", part.low), cast("Array", part.high)
        most = float(((high - low) / self.s[:, None]).max())
        nodes = math.ceil(most / APART * max(1.0, float(self.s.max()))) + 1
        if nodes > MOST_NODES:
            raise NotCertifiedError("losses are too far apart for sums")
        charge(PER_SEARCH * nodes * len(self.s))
        x = low + (high - low) * np.linspace(0.0, 1.0, nodes)
        weights = np.ones(nodes)
        weights[[0, -1]] = 0.5
        log_w = part.density.log_density(x) + np.log(weights * (high - low) / (nodes - 1.0))
        return WeightedLosses(log_w, *part.losses(x)[:2], x, x)

    def nodes(
        self, log_mass: float, c: float, t_max: float, log_errors: Array, *, remainder: bool
    ) -> NodeSet:
        """Return outcomes of each law for |t| <= t_max, each with a quadrature error of its own.

        Panels are parts of [low, high], whose ends are dyadic numbers; they are halved until they
        serve some of the laws, and bounds of the error are proved for each law on the ellipses that
        served those. The centres are off by three roundings of numbers up to |low| + |high|.

        Raises:
            NotCertifiedError: the quadrature is too long.
        """
        part, exponent = self.part(log_mass), self.exponent(c)
        low, high = cast("Array", part.low), cast("Array", part.high)
        few = _columns(
            self._fields, low[:, 0], high[:, 0], self.q, np.array(self._chosen), deep=True
        )
        few_low, few_high = cast("Array", few.low), cast("Array", few.high)
        targets = log_errors[self._chosen][:, None, None]

        def on_some(centres: Array, halves: Array) -> Array:
            integrand = Integrand(few, exponent, t_max, remainder)
            width = few_high - few_low
            bounds = integrand.on_ellipses(
                few_low + width * centres[:, None], width * halves[:, None], slice(None)
            )
            found: Array = (bounds - targets).max(axis=0)
            return found

        width = WIDEST_PANEL * min(1.0, float(self.s.min()))
        count = max(1, float((high - low).max()) / width)
        if count > MOST_PANELS:
            raise NotCertifiedError("losses are too far apart for sums")
        halves = np.full(2 ** max(0, math.ceil(math.log2(count) - 0.5)), 0.5)
        halves /= len(halves)
        centres = halves * (2.0 * np.arange(len(halves)) + 1.0)
        refusal = f"{len(self.s)} characteristic functions oscillate too fast for quadrature"
        centres, halves, _ = refined(
            *((centres, halves), lambda *at: on_some(*at).min(axis=1), 0.0, refusal), MOST_PANELS
        )
        order = np.argsort(centres)
        centres, halves = centres[order], halves[order]
        best = on_some(centres, halves).argmin(axis=1)
        at = low + (high - low) * centres, (high - low) * halves
        errors = Integrand(part, exponent, t_max, remainder).on_ellipses(*at, best)
        with np.errstate(over="ignore"):
            quadrature = np.exp(errors).sum(axis=1) * MARGIN
        outcomes = on_part(part, *at, exponent, 2.0 * (np.abs(low) + np.abs(high)))
        out = self._outside(log_mass)
        nodes = NodeSet(outcomes, exponent, t_max, quadrature, out, self.q)
        return nodes.pruned(np.exp(log_errors) * 0.1, remainder=remainder)

    def _outside(self, log_mass: float) -> tuple[Array, Array]:
        """Return R(X outside) and W(X outside) of each."""
        r, w = np.array([law.truncated(log_mass).outside() for law in self._laws]).T
        return r, w

    def log_tilts(self, log_mass: float, c: float) -> Array:
        """Bound the logs of E_R[(1 + y)^a; out] of what a cut leaves out of each.

        With a > 0, 1 + y is at most 1 below the cut, and r e^x above it, r = q + (1 - q) e^-high;
        E[e^{ax}; x > high] is e^{a (a - 1) s^2 / 2} times a normal tail. With a < 0 the power is at
        most (1 - q)^a below, and 1 above. Logs are off by 64 units of their terms.
        """
        part, s, q, a = self.part(log_mass), self.s, self.q, self.exponent(c)
        low, high = cast("Array", part.low)[:, 0], cast("Array", part.high)[:, 0]
        mean, power = self._fields["mean"], max(a, 0.0)
        z = (high - mean) / s
        rise = power * np.log(q + (1.0 - q) * np.exp(-high)) + 0.5 * power * (power - 1.0) * s * s
        size = (1.0 + power) * (1.0 - np.log(q) + power * s * s) + (z + power * s) ** 2
        above = rise + _log_tail(z - power * s) + 64.0 * UNIT * size
        below = _log_tail((mean - low) / s) + min(a, 0.0) * np.log1p(-q) * (1.0 + 8.0 * UNIT)
        found: Array = np.logaddexp(above, below) + 1e-9
        return found

    def log_far(self, log_mass: float, c: float, mgf: tuple[Array, Array], t: float) -> float:
        """Bound sum of count log |phi| beyond t (`decay.py`); `mgf` are bounds on M(c) of each."""
        part, exponent = self.part(log_mass), self.exponent(c)
        farthest = np.maximum(np.abs(part.low), np.abs(part.high))
        size = float((farthest - np.log(part.q)).max())
        # Rounding of the logs of densities is covered by SLACK, or nothing is proved.
        if 128.0 * UNIT * (abs(exponent) + 1.0) * size > SLACK:
            return 0.0
        cells = VariationCells.of(part, exponent)
        _, losses, wrong = part.losses(cells.x)
        charge(PER_CELL * losses.size)
        gain = layers(cells.heights(losses, wrong), losses, np.array([t]))[0] / mgf[1] - SLACK
        logs = np.log1p(-np.clip(gain, 0.0, 1.0 - UNIT))
        with np.errstate(divide="ignore", invalid="ignore"):
            falls = np.log(cells.variation() / (mgf[0] * t)) + SLACK
        logs = np.minimum(logs, np.where(mgf[0] > 0.0, falls, 0.0))
        return float(logs @ self.counts) * (1.0 - SLACK)


def _log_tail(z: Array) -> Array:
    """Bound log P(N > z) by that of e^{-z^2/2}."""
    return -0.5 * np.maximum(z, 0.0) ** 2 * (1.0 - 1e-12)


def _columns(
    fields: dict[str, Array],
    low: Array,
    high: Array,
    q: Array,
    chosen: slice | Array,
    *,
    deep: bool = False,
) -> SampledPart:
    """Return outcomes whose numbers are columns, or pages, of arrays in the place of floats."""
    place: tuple[Any, ...] = (chosen, None, None) if deep else (chosen, None)
    density: Any = Normal(**{name: cast("Any", each[place]) for name, each in fields.items()})
    return SampledPart(density, *(cast("Any", each[place]) for each in (low, high, q)))


class Many:
    """Sampled Gaussians with their counts, in blocks."""

    def __init__(self, laws: Sequence[tuple[SampledLaw, int]]) -> None:
        """Sort them by their noise."""
        self.laws = tuple(sorted(laws, key=lambda each: (each[0].normal.deviation, each[0].q)))
        self.count = sum(count for _, count in laws)
        self.remove = laws[0][0].remove
        self._hash = hash(self.laws)

    def __hash__(self) -> int:
        """Return that of the laws, which takes time."""
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Compare the laws."""
        return self is other or (isinstance(other, Many) and self.laws == other.laws)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Divide them."""
        rows: list[list[tuple[SampledLaw, int]]] = []
        for each in self.laws:
            s = each[0].normal.deviation
            if not rows or len(rows[-1]) >= BLOCK or s > SIMILAR * rows[-1][0][0].normal.deviation:
                rows.append([])
            rows[-1].append(each)
        return tuple(Block(each) for each in rows)


@record
class ManySampledLaw(LineLaw):
    """The sum of the losses of many sampled Gaussians, all uses together.

    Attributes:
        many: the laws, all of one direction, with how often each is used.
        log_mass: log of the P-mass that the cut of their outcomes may drop, of all together.
    """

    many: Many
    log_mass: float = DEFAULT_LOG_MASS

    properties = LawProperties(line=True)

    @property
    def each(self) -> float:
        """Return the log of what the cut of one use may drop."""
        return min(self.log_mass - math.log(self.many.count) - 1e-9, math.log(0.01))

    @property
    def uses(self) -> int:
        """Return how many there are."""
        return self.many.count

    @property
    def log_truncated_mass(self) -> float:
        """Return the log of a bound on the P-mass outside the cuts (union bound)."""
        return self.log_mass + 1e-9

    @property
    def max_loss(self) -> float:
        """Return the sum of the largest losses."""
        return math.fsum(count * law.max_loss for law, count in self.many.laws)

    @property
    def max_loss_error(self) -> float:
        """Return the largest of the relative errors."""
        return max(law.max_loss_error for law, _ in self.many.laws) + 4.0 * UNIT

    def truncated(self, log_mass: float) -> ManySampledLaw:
        """Cut so that the P-mass outside is at most exp(log_mass)."""
        return ManySampledLaw(self.many, log_mass)

    def tails(self, losses: Array) -> Tails:
        """Refuse: they are those of a sum.

        Raises:
            NotCertifiedError: always.
        """
        del losses
        raise NotCertifiedError("the tails of a sum of losses are not known")

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Add up the bounds of all, by quadrature where work is left, or else by convexity."""
        low, high = self.convexity(c)
        for i, each in enumerate(c.tolist()):
            if left() <= 0.0:
                break
            with suppress(NotCertifiedError):
                found = self._log_moment(each)
                low[i], high[i] = max(low[i], found[0]), min(high[i], found[1])
        return low, high

    def _log_moment(self, c: float) -> tuple[float, float]:
        """Bound K(c): that of what is cut, far out, and no less than nothing beyond.

        M(c) - 1 of what is cut, `minus_one`, is the whole less E[(1 + y)^a; out].

        Raises:
            NotCertifiedError: the quadrature is too long, or a moment overflows.
        """
        z = BEYOND + (c + 1.0) * max(float(block.s.max()) for block in self.many.blocks)
        cut = self.truncated(math.log(self.many.count) - 0.5 * z * z)
        low = high = 0.0
        for block, sums in zip(
            self.many.blocks, cut.on_contour(c, 0.0, LOG_PART).sums, strict=True
        ):
            value, error = (each[:, 0] for each in sums.minus_one(np.zeros(1)))
            beyond = np.exp(block.log_tilts(cut.each, c))
            low += float(block.counts @ np.log1p(np.maximum(value.real - error, 0.0)))
            high += float(block.counts @ np.log1p(value.real + error + beyond))
        if not math.isfinite(high):
            raise NotCertifiedError("a moment generating function overflows")
        units = self._units + 8.0 * UNIT
        return low * (1.0 - units), high * (1.0 + units)

    def convexity(self, c: Array) -> tuple[Array, Array]:
        """Add up what convexity proves of each."""
        low, high = np.zeros(c.shape), np.zeros(c.shape)
        for law, count in self.many.laws:
            each = law.convexity(c)
            low, high = low + count * each[0], high + count * each[1]
        return low * (1.0 - self._units), high * (1.0 + self._units)

    def concentration(self, c: Array) -> Array:
        """Add up: D_a of a sum of losses is the sum of those of each."""
        found = np.zeros(c.shape)
        for law, count in self.many.laws:
            found = found + count * law.concentration(c)
        return found * (1.0 + self._units)

    @property
    def _units(self) -> float:
        """Bound the relative rounding of a sum over all laws."""
        return UNIT * (len(self.many.laws) + 16.0)

    @cached_property
    def _search(self) -> tuple[tuple[Array, SearchSums], ...]:
        """Return what searches ask of each block."""
        blocks = self.many.blocks
        return tuple((each.counts, SearchSums(each.search_outcomes(self.each))) for each in blocks)

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Estimate K, K', K'' at c."""
        found = np.zeros(3)
        a, sign = (c + 1.0, 1.0) if self.many.remove else (-c, -1.0)
        for counts, sums in self._search:
            charge(PER_SEARCH * sums.size)
            found += [float((counts * each).sum()) for each in sums.cumulants(a)]
        return float(found[0]), sign * float(found[1]), float(found[2])

    def on_contour(self, c: float, t_max: float, log_error: float) -> ManySampledContour:
        """Build certified nodes for |t| <= t_max of each, so that K is off as the whole's may be.

        Raises:
            NotCertifiedError: M(c) of a law overflows, or the quadrature is too long.
        """
        sums = []
        a = c + 1.0 if self.many.remove else -c
        for block, (_, search) in zip(self.many.blocks, self._search, strict=True):
            log_mgf = search.cumulants(a)[0]
            if not np.isfinite(log_mgf).all():
                raise NotCertifiedError(
                    f"the moment generating function overflows at order {c + 1.0:.6g}"
                )
            errors = log_mgf + log_error - math.log(2.0 * self.many.count)
            nodes = block.nodes(self.each, c, t_max, errors, remainder=True)
            sums.append(RemainderSum(c, nodes, remove=self.many.remove))
        return ManySampledContour(self, c, tuple(sums))


class ManySampledContour(ContourLaw):
    """The sum on a vertical line.

    Attributes:
        law: the law.
        c: the abscissa.
    """

    def __init__(self, law: ManySampledLaw, c: float, sums: tuple[RemainderSum, ...]) -> None:
        """Take M - 1 of each, in blocks."""
        self.law, self.c, self.sums = law, c, sums

    @property
    def size(self) -> int:
        """Return the number of nodes that every t costs."""
        blocks = zip(self.law.many.blocks, self.sums, strict=True)
        return sum(len(block.counts) * each.size for block, each in blocks)

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K(c + it) and a bound on its error."""
        return self._total([each.minus_one(t) for each in self.sums])

    def log_mgf_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return K and its error at t = k step, k < count."""
        return self._total(each.minus_one_progression(step, count) for each in self.sums)

    def _total(
        self, found: Sequence[tuple[ComplexArray, Array]] | Iterator[tuple[ComplexArray, Array]]
    ) -> tuple[ComplexArray, Array]:
        """Add up: a sum of n products is off by n + 2 units of the sum of their moduli."""
        value: Any = 0.0
        error: Any = 0.0
        size: Any = 0.0
        for block, (m, wrong) in zip(self.law.many.blocks, found, strict=True):
            logs, off = log1p_with_error(m, wrong)
            counts = block.counts[:, None]
            value = value + (counts * logs).sum(axis=0)
            error = error + (counts * off).sum(axis=0)
            size = size + (counts * np.abs(logs)).sum(axis=0)
        units = UNIT * (len(self.law.many.laws) + 4.0)
        return value, (error + units * size) * MARGIN

    def log_decay(self, t: float) -> float:
        """Add up the bounds of all."""
        total, each = 0.0, self.law.each
        for block, mgf in zip(self.law.many.blocks, self._mgf_ranges, strict=True):
            total += block.log_far(each, self.c, mgf, t)
        return max(total, -700.0)

    @cached_property
    def _mgf_ranges(self) -> list[tuple[Array, Array]]:
        """Return bounds on each M(c), in blocks."""
        found: list[tuple[Array, Array]] = []
        for each in self.sums:
            value, error = each.minus_one(np.zeros(1))
            m = 1.0 + value[:, 0].real
            wrong = error[:, 0] + 1e-12 * np.abs(m)
            found.append((m - wrong, m + wrong))
        return found
