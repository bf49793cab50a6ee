"""What an engine returns, what is kept of its proof, and a source, which proves brackets of delta.

A source is a composition prepared once, that proves brackets of delta at any epsilons: contours,
lists of outcomes, pairs of lattice laws and the tails of a law used once. Each has its certificate
in its own `deltas`; here stands how a bracket is formed from it, and in `engine/inverse.py` how
epsilon is. A sum of sources is a source, too.

A reader of a certificate needs no more than the line that was summed: that its sum bounds delta is
a theorem (`inversion/line_sum.py`), and every value can be worked out again.

The plainest source is a mechanism used once. For few uses a contour converges slowly, because
nothing smooths the loss; a single use needs none: delta(epsilon) = P(L > epsilon) - e^epsilon Q(L >
epsilon), or the law's own closed form. Playing a game of fixed-size steps (`losses/fixed_size`)
takes a second and more, near one epsilon. So estimates, and values for a search, are taken from the
game that is played for the delta that is looked for; values at given epsilons from one near them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from privcalc.bounds import Bound, Proof
from privcalc.errors import DisagreementError, NotCertifiedError
from privcalc.numerics.rounding import MARGIN, TINY, UNIT
from privcalc.numerics.work import charge
from privcalc.record import field, record, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.fixed_size.laws import FixedSizeUses
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.rounding import Array

# Brackets are padded to this part of the tolerance on each side. The pad hides the last digits
# of the estimate, so brackets for different tolerances are nested, and it stays far inside the
# tolerance that was asked.
PAD = 0.02
# Below this width of epsilon the relative tolerance gives way to an absolute one.
EPSILON_FLOOR = 1e-12
# Below this a delta counts as found: doubles have no relative precision left.
DELTA_FLOOR = 1e-300
CLOSED = Proof.CLOSED_FORM
# The engine whose errors depend on what is wished.
CONTOUR = Proof.INVERSION.engine


@record
class WholeLine:
    """One vertical line with all of its nodes: c + ikh for |k| <= n.

    Attributes:
        abscissa: c.
        step: h.
        nodes: n.
        right: the c' > c whose moment bounds the aliases beyond epsilon.
    """

    abscissa: float
    step: float
    nodes: int
    right: float


@record
class SplitLines:
    """A loss at which samples are split, and the lines of both sides (`inversion/solve.py`).

    Attributes:
        level: the loss.
        right: of the outcomes without a larger loss; None where they are negligible.
        left: of the reversed pair where there is one; None where that is negligible.
    """

    level: float
    right: WholeLine | None
    left: WholeLine | None


@record
class Evidence:
    """A bracket that lines prove by themselves.

    Attributes:
        bound: of epsilon or delta, whichever was asked for.
        proof: the kind.
        terms: its error terms, relative to delta.
        line: the line, where one proves it.
        split: the lines, where two do.
    """

    bound: Bound
    proof: Proof
    terms: dict[str, float]
    line: WholeLine | None = None
    split: SplitLines | None = None


@record
class Certified:
    """A bracket with what proved it.

    Attributes:
        bound: the bracket.
        proof: which inequality it was.
        terms: error terms relative to delta, where the engine has such.
        notes: sentences on what limited the bracket.
        order: the Renyi order that proved the upper end, if one did.
        conversion: how that order was converted, or "".
        evidence: of lines, for certificates.
    """

    bound: Bound
    proof: Proof
    terms: dict[str, float] = field(factory=dict)
    notes: tuple[str, ...] = ()
    order: float | None = None
    conversion: str = ""
    evidence: Evidence | None = None

    @classmethod
    def of(cls, source: object, bound: Bound, proof: Proof, terms: dict[str, float]) -> Certified:
        """Return a bracket that a source has proved, with its lines if it has such."""
        line, split = (getattr(source, name, None) for name in ("alone", "split"))
        known = Evidence(bound, proof, terms, line, split) if line or split else None
        return cls(bound, proof, terms, evidence=known)

    @property
    def engine(self) -> str:
        """The name of the engine: closed-form, contour, fft or rdp."""
        return self.proof.engine

    def with_bound(self, bound: Bound) -> Certified:
        """Return the same with another bracket."""
        return replace(self, bound=bound)

    def merged(self, other: Certified) -> Certified:
        """Intersect with another bracket of the same number; the rest is that of the narrower one.

        Raises:
            DisagreementError: they do not meet.
        """
        try:
            bound = self.bound.intersection(other.bound)
        except DisagreementError as error:
            raise DisagreementError(
                f"{self.proof.words} and {other.proof.words}: {error}"
            ) from None
        first = self.bound.width <= other.bound.width
        better, rest = (self, other) if first else (other, self)
        notes = (*better.notes, *rest.notes)
        return replace(better, bound=bound, notes=notes, evidence=better.evidence or rest.evidence)


# Nothing below this is claimed as a lower end.
SMALLEST_NORMAL = 1e-300
# What subnormal numbers may hide.
SUBNORMAL = 1e-323


@record
class Deltas:
    """The finite part of delta at several epsilons, each in units of its e^{log_scale}.

    Each truth lies in [lower, upper], which may be infinite or not a number where nothing is
    proved; `value` is the estimate between them. A log_scale of 0 is exact. The terms say what part
    of the width comes from where.
    """

    log_scale: Array
    lower: Array
    upper: Array
    value: Array
    terms: dict[str, Array]


def displaced(bounds: Callable[[Array], Deltas], epsilons: Array, slack: float) -> Deltas:
    """Bracket delta of losses that are displaced by at most `slack` from those that are bounded.

    delta falls: an upper end at epsilon - slack is one, and a lower end at epsilon + slack.
    """
    if slack == 0.0:
        return bounds(epsilons)
    size = UNIT * (np.abs(epsilons) + slack)
    found = bounds(epsilons)
    upper = bounds(epsilons - slack - size).upper
    lower = bounds(epsilons + slack + size).lower
    return Deltas(found.log_scale, lower, upper, found.value, found.terms)


class Source(Protocol):
    """What proves brackets of the finite part of delta at every epsilon, wide or narrow."""

    @property
    def proof(self) -> Proof:
        """Return what kind of proof it is."""
        ...

    @property
    def pad(self) -> float:
        """Return by what part of the tolerance brackets of delta are widened.

        0 where they are the same for all tolerances.
        """
        ...

    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Bracket the finite part of delta at increasing epsilons, shape (n,).

        Args:
            epsilons: where.
            log_scale: the units wished for, where the source does not work in absolute ones.
        """
        ...

    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf) in units of e^{log_scale}, without error bound.

        It may be off by more than the brackets are wide where the source is not good.
        """
        ...


def brackets(source: Source, epsilons: Array, tolerance: float) -> list[Certified | None]:
    """Bracket the finite part of delta at increasing epsilons; None where nothing is proved.

    exp and the product are off by a few units, log_scale by 2 units of itself; subnormal results,
    of exp, too, by 1e-323 more.
    """
    found = source.deltas(epsilons)
    with np.errstate(all="ignore"):
        pad = source.pad * tolerance * np.abs(found.value)
        scaled = found.log_scale != 0.0
        scale = np.exp(found.log_scale)
        slack = np.where(scaled, 1e-15 * (4.0 + np.abs(found.log_scale)), 0.0)
        tiny = np.where(scaled, SUBNORMAL, 0.0)
        upper = (found.upper + pad) * (scale * (1.0 + slack) + tiny) + tiny
        lower = (found.lower - pad) * np.maximum(scale * (1.0 - slack) - tiny, 0.0)
        lower = np.where(lower < SMALLEST_NORMAL, 0.0, lower)
        # Relative to a delta that underflows, errors say nothing.
        relative = {name: each / found.value for name, each in found.terms.items()}
        sized = found.value * scale > 0.0
    return [
        Certified(
            Bound.probability(float(upper[i]), float(lower[i])),
            source.proof,
            {name: float(each[i]) for name, each in relative.items()} if sized[i] else {},
        )
        if np.isfinite(upper[i] + lower[i])
        else None
        for i in range(len(epsilons))
    ]


def bracket(
    source: Source, epsilon: float, tolerance: float, beyond: float | None = None
) -> Certified:
    """Bracket the finite part of delta at one epsilon, or at a number between two doubles.

    delta falls: the upper end is that of the first, and the lower one that of the second.

    Raises:
        NotCertifiedError: nothing is proved there.
    """
    at = np.array([epsilon] if beyond in (None, epsilon) else [epsilon, beyond])
    found = brackets(source, at, tolerance)
    first, last = found[0], found[-1]
    if first is None or last is None:
        raise NotCertifiedError(why(source.proof.engine, source.deltas(at)))
    upper, lower = first.bound.upper, last.bound.lower
    bound = Bound(upper, None if lower is None else min(lower, upper))
    return Certified.of(source, bound, first.proof, first.terms)


def why(name: str, found: Deltas) -> str:
    """Say which error of a source is too large."""
    unit = np.where(found.log_scale == 0.0, found.value, 1.0)
    with np.errstate(all="ignore"):
        sizes = {term: float(np.max(each / unit)) for term, each in found.terms.items()}
    if not sizes:
        return f"the errors of the {name} engine cannot be brought below delta"
    term = max(sizes, key=lambda term: np.inf if sizes[term] != sizes[term] else sizes[term])
    size = f" ({sizes[term]:.2g} of delta)" if np.isfinite(sizes[term]) else ""
    return f"the {term} error of the {name} engine{size} cannot be brought below delta"


# Work for one value of a law's own profile.
PER_PROFILE = 200.0
# And for one of a game that was played.
PER_VALUE = 100.0
# Beyond this e^epsilon overflows.
LARGEST_EXPONENT = 700.0
# A loss slightly below epsilon, by more than any displacement of the tails.
STEP_BACK = 1e-11
# How far a difference reaches, relatively: of a profile, and of a game.
SLOPE_STEP, GAME_STEP = 1e-5, 1e-3


class SingleUse:
    """The source of one law by itself."""

    proof = Proof.SINGLE_USE
    # Nothing here depends on the tolerance.
    pad = 0.0

    def __init__(self, law: LossLaw) -> None:
        """Take the law."""
        self._law = law

    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Bracket delta at increasing epsilons, in absolute units.

        The tails give P(A) and Q(A) of a set A of outcomes, {L > epsilon} but for losses within
        `shift` of epsilon. P(A) - e^epsilon Q(A) is at most delta for any set. What A misses or
        has too much, |L - epsilon| <= shift, changes the difference by at most 1 - e^{-shift} of
        its P-mass, which is at most P(L > epsilon - 2 shift).
        """
        del log_scale
        lower, upper = self._closed(epsilons)
        rest = np.isnan(upper)
        if rest.any():
            lower[rest], upper[rest] = self._from_tails(epsilons[rest])
        zero = np.zeros(len(epsilons))
        return Deltas(zero, lower, upper, 0.5 * (lower + upper), {})

    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf), without error bound.

        The latter is delta less its slope in epsilon.
        """
        if self._law.properties.exact_profile:

            def middle(at: Array) -> Array:
                lower, upper = self._closed(at)
                return 0.5 * (lower + upper)

            return _with_slope(middle, epsilons, log_scale, SLOPE_STEP)
        tails = self._law.tails(epsilons)
        with np.errstate(over="ignore", invalid="ignore"):
            difference = tails.above_p - np.exp(epsilons) * tails.above_q
        lower, upper = self._closed(epsilons)
        value = np.where(np.isnan(upper), difference, 0.5 * (lower + upper))
        unit = np.exp(-log_scale)
        return value * unit, tails.above_p * unit

    def guess(self, log_delta: float) -> float:
        """Return where a search for that delta begins."""
        del log_delta
        return 0.0

    def _closed(self, epsilons: Array) -> tuple[Array, Array]:
        """Return the law's own bounds, not a number where it has none."""
        charge(PER_PROFILE * len(epsilons))
        found = [self._law.profile(float(each)) or (np.nan, np.nan) for each in epsilons]
        bounds = np.array(found, dtype=float).reshape(-1, 2)
        return bounds[:, 0].copy(), bounds[:, 1].copy()

    def _from_tails(self, epsilons: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds on delta at increasing epsilons >= 0; see `deltas`."""
        before = epsilons - STEP_BACK * (1.0 + np.abs(epsilons))
        points, place = np.unique(np.append(before, epsilons), return_inverse=True)
        back, here = place[: len(epsilons)], place[len(epsilons) :]
        tails = self._law.tails(points)
        error = np.broadcast_to(np.asarray(tails.error, dtype=float), points.shape)
        p, q, wrong = tails.above_p[here], tails.above_q[here], error[here]
        around = tails.above_p[back] * (1.0 + error[back]) + TINY
        with np.errstate(over="ignore", invalid="ignore"):
            growth = np.exp(np.minimum(epsilons, LARGEST_EXPONENT))
            scaled = growth * q
            slack = ((wrong + 8.0 * UNIT) * (p + scaled) + TINY * (1.0 + growth)) * MARGIN
            difference = p - scaled
            lower = np.maximum(0.0, difference - slack)
            upper = np.maximum(0.0, difference + slack) + around * tails.shift
            far = epsilons > LARGEST_EXPONENT
            lower = np.where(far, 0.0, lower)
            upper = np.where(far, p * (1.0 + wrong) * MARGIN + around * tails.shift + TINY, upper)
        known = tails.shift <= 0.25 * (epsilons - before)
        return np.where(known, lower, 0.0), np.where(known, upper, 1.0)


class GameValue:
    """The source of one law by itself: brackets of one side, each end the bound that it proves."""

    proof = Proof.GAME
    # What it proves depends on the tolerance, but it is no pad.
    pad = 0.0

    def __init__(self, law: FixedSizeUses, tolerance: float) -> None:
        """Take the law."""
        self._law = law.resolved(tolerance)

    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Return the bound at increasing epsilons, in absolute units."""
        charge(PER_VALUE * len(epsilons))
        found = [self._law.bounds(float(each), log_scale) for each in epsilons]
        lower, upper = np.array(found, dtype=float).reshape(-1, 2).T
        return Deltas(np.zeros(len(epsilons)), lower, upper, upper.copy(), {})

    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf)."""

        def about(at: Array) -> Array:
            return np.array([self._law.about(float(each), log_scale or None) for each in at])

        return _with_slope(about, epsilons, log_scale, GAME_STEP)

    def guess(self, log_delta: float) -> float:
        """Return where a search is about to end: far from there a game says little."""
        return self._law.guess(log_delta)


def single_use(law: LossLaw, tolerance: float) -> SingleUse | GameValue:
    """Return the source of one use."""
    return (
        GameValue(cast("FixedSizeUses", law), tolerance) if law.properties.game else SingleUse(law)
    )


def _with_slope(
    delta: Callable[[Array], Array], epsilons: Array, log_scale: float, step: float
) -> tuple[Array, Array]:
    """Return delta, and itself less its slope by a difference, in units of e^{log_scale}."""
    ahead = epsilons + step * (1.0 + np.abs(epsilons))
    here, there, unit = delta(epsilons), delta(ahead), np.exp(-log_scale)
    return here * unit, (here + (here - there) / (ahead - epsilons)) * unit
