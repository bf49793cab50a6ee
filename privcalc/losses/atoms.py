"""Laws with finitely many losses, in doubles: sums on a vertical line, Renyi divergences, tails."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.losses.law import MASS_ULPS, MOST_ANCHORS, LawProperties, LossLaw, Tails
from privcalc.numerics.normal import pure_mu
from privcalc.numerics.rounding import MARGIN, TINIEST, UNIT
from privcalc.numerics.sums import log1p_bracket, log_loss_excess
from privcalc.numerics.work import charge
from privcalc.record import field, record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import RenyiCurve
    from privcalc.numerics.rounding import Array, Integers

# Orders times atoms that are worked on at once.
CHUNK = 1_000_000
# Of so many orders work is counted: of a term of one order.
MANY, PER_TERM = 1000, 1.5
# Where 1 + x is no longer formed.
LARGE = 600.0


def atomic_renyi(
    c: Array,
    losses: Array,
    masses: Array,
    *,
    infinite: bool,
    units: tuple[float, float],
    moved: float = 0.0,
) -> tuple[Array, Array]:
    """Return bounds on K(c) = log sum p e^{cl}.

    Args:
        c: orders minus 1, positive, of shape (n,).
        losses: the finite losses l.
        masses: their P-masses p, positive.
        infinite: whether P(L = inf) > 0 or Q(L = -inf) > 0.
        units: relative errors of a loss and of a mass, in units.
        moved: see `AtomicLaw.moved`.

    K is the log of sum p e^{cl}, off by little absolutely. Where no mass is at infinity, so that
    sum p = 1 and sum p e^{-l} = 1, also M - 1 = sum_j p_j h_c(l_j), in which no term is negative
    (`numerics/sums.py`), and the better ends are taken; doubles that miss the two sums by more
    than their errors allow (a law that is what its doubles say) have the former alone.

    A term is q f(p / q) for f(r) = r^a - 1 - a (r - 1), a = c + 1, which is convex and 0 at 1: it
    grows with p and falls with q where l > 0, and else the other way round, by a (1 - r^c) and
    c (1 - r^a), of which neither is more than a (1 - r^a).

    A list of a sample comes to 1 but for rounding, d in all, that outcomes have too much or too
    little of p, of q, or of both. A term p^a q^-c moves by at most a r^c d with p and c r^a d with
    q, so the sum moves by at most a e^{a l} d, with the largest loss l, or 0.
    """
    lower, upper = np.empty(c.shape), np.empty(c.shape)
    if not len(losses):
        return np.full(c.shape, -math.inf), np.full(c.shape, -math.inf)
    if len(c) > MANY:
        charge(PER_TERM * len(c) * len(losses))
    balanced = not infinite and _balanced(losses, masses, units)
    over = math.fsum([*masses.tolist(), -1.0])
    rows = max(1, CHUNK // len(losses))
    for i in range(0, len(c), rows):
        part = c[i : i + rows]
        # Exponents log p + c l.
        products, logs = part[:, None] * losses, np.log(masses)
        wrong = (units[0] + 2.0) * np.abs(products) + units[1] + 10.0 * np.abs(logs)
        low, high = log_sum(products + logs, UNIT * wrong)
        if moved and not infinite:
            a = part + 1.0
            with np.errstate(all="ignore"):
                off = np.log(a) + a * max(0.0, float(losses.max())) + math.log(abs(over) or TINIEST)
                if over > 0.0:
                    low += np.log1p(-np.minimum(MARGIN * np.exp(off - low), 1.0))
                elif over < 0.0:
                    high = np.logaddexp(high, off + UNIT * (16.0 + np.abs(off)))
        if balanced:
            steep = -(part + 1.0) * np.expm1((part + 1.0) * min(0.0, float(losses.min())))
            through = log1p_bracket(*widened(_excess(part, losses, masses, units), moved * steep))
            low, high = np.maximum(low, through[0]), np.minimum(high, through[1])
        lower[i : i + rows], upper[i : i + rows] = low, high
    return lower, upper


def widened(logs: tuple[Array, Array], by: Array) -> tuple[Array, Array]:
    """Return bounds on a logarithm of what is moved by so much."""
    with np.errstate(all="ignore"):
        part = np.where(by > 0.0, by * MARGIN * np.exp(-logs[0]), 0.0)
        low = logs[0] + np.log1p(-np.minimum(part, 1.0)) * (1.0 + 8.0 * UNIT)
        high = np.logaddexp(logs[1], np.log(by * MARGIN))
    return np.where(part > 0.0, low, logs[0]), np.where(by > 0.0, high, logs[1])


def log_sum(exponents: Array, errors: Array) -> tuple[Array, Array]:
    """Return bounds on log sum e^x over the last axis; each x is off by `errors`, absolutely.

    The exponentials are off by 8 units and those of x - top, which is rounded once, the sum by n
    units, its logarithm by 8 units of itself.
    """
    top = exponents.max(axis=-1)
    size = np.abs(exponents) + np.abs(top)[..., None]
    wrong = np.expm1(np.minimum(errors + UNIT * (8.0 + size), LARGE))
    terms = np.exp(exponents - top[..., None])
    count = (exponents.shape[-1] + 8.0) * UNIT
    # Terms that underflow are below e^{-700} each.
    total = terms.sum(axis=-1)
    off = (np.where(terms > 0.0, terms * wrong, 0.0).sum(axis=-1) + count * total) * MARGIN
    with np.errstate(divide="ignore", invalid="ignore"):
        low = top + np.log(np.maximum(total - off, 0.0))
        high = top + np.log(total + off)
    slack = 16.0 * UNIT * (np.abs(top) + 1.0)
    return low - slack, high + slack


def _excess(
    c: Array, losses: Array, masses: Array, units: tuple[float, float]
) -> tuple[Array, Array]:
    """Return bounds on log sum p h_c(l); an error of l counts by the slope of log h_c."""
    column = c[:, None]
    log_h, error = log_loss_excess(column, np.broadcast_to(losses, (len(c), len(losses))))
    logs = np.log(masses)
    # |l| times the slope (`log_loss_excess`).
    steep = 2.0 + np.where(losses > 0.0, column * losses, np.abs(losses))
    error = error + UNIT * (units[0] * steep + units[1] + 10.0 * np.abs(logs))
    exponents = log_h + logs
    known = np.isfinite(exponents)
    if not known.any():
        return np.full(len(c), -math.inf), np.full(len(c), -math.inf)
    return log_sum(np.where(known, exponents, -1e300), np.where(known, error, 0.0))


def _balanced(losses: Array, masses: Array, units: tuple[float, float]) -> bool:
    """Say whether sum p = 1 and sum p e^{-l} = 1, but for the errors of masses and losses."""
    with np.errstate(over="ignore"):
        q = masses * np.exp(-losses)
    spread = UNIT * ((units[0] + 2.0) * np.abs(losses) + units[1] + 12.0)
    missing = math.fsum(masses) - 1.0, math.fsum(q) - 1.0
    wrong = UNIT * (units[1] + 4.0) * float(masses.sum()), float((q * spread).sum())
    near = (abs(x) <= off * MARGIN + 2.0 * UNIT for x, off in zip(missing, wrong, strict=True))
    return math.isfinite(missing[1]) and all(near)


# exp(-700) is still a normal double.
LARGEST_EPSILON = 700.0
# Mechanisms form losses to 32 units; sampling them may double that.
LOSS_ULPS = 160.0
# With more atoms an order costs more than a closed form.
CHEAP_ATOMS = 2000
NOTHING = Enclosed(Fraction(0), Fraction(0))


@record
class AtomicLaw(LossLaw):
    """Finite losses with their P-masses; what is missing to 1 is `infinity_mass`.

    Losses and masses are accurate to `loss_units` and `MASS_ULPS` units in the last place.

    Attributes:
        losses: distinct finite values of L.
        masses: P-mass of each, positive.
        infinity_mass: P(L = +inf).
        lower_infinity_mass: Q(L = -inf).
        loss_units: relative error of the losses, at most LOSS_ULPS units; 0 if they are exact.
        lower_masses: Q-mass of each finite loss, where sampling may need it.
        infinity_mass_error: relative error of `infinity_mass`.
        known_loss: the largest loss itself, where it is known but no double.
        known_mass: `infinity_mass` itself, where it is known but no double.
        mechanism_rdp_curve, alternative_dominating_pair: see `LossLaw`.
        log_truncated_mass: log of a bound on the P-mass of truncated outcomes, and on their Q-mass.
        moved: of a list that bounds a law, how much P- and Q-mass rounding may have put where
            losses are negative, or taken from there, in its favour.
        mu: of a list of a pair of which more is known (`gaussian_range`, the Renyi curve) than such
            outcomes say.
        uses: see `LossLaw`; of parts of a mechanism as well.
    """

    losses: tuple[float, ...]
    masses: tuple[float, ...]
    infinity_mass: float = 0.0
    lower_infinity_mass: float = 0.0
    loss_units: float = LOSS_ULPS
    lower_masses: tuple[float, ...] = ()
    infinity_mass_error: float = 0.0
    known_loss: Fraction | None = None
    known_mass: Fraction | None = None
    mechanism_rdp_curve: RenyiCurve | None = None
    log_truncated_mass: float = -math.inf
    alternative_dominating_pair: LossLaw | None = None
    moved: float = 0.0
    mu: tuple[float, float] | None = None
    uses: int = 1

    @cached_property
    def properties(self) -> LawProperties:
        """With few atoms orders cost no more than a closed form."""
        return LawProperties(
            has_atoms=True,
            listed=len(self.losses),
            renyi_in_closed_form=self.mu is None and len(self.losses) <= CHEAP_ATOMS,
            rdp_implied_by_pld=self.mu is not None,
        )

    @property
    def max_loss_error(self) -> float:
        """Return the error of the losses; 0 for the very doubles they should be."""
        return self.loss_units * UNIT

    @property
    def max_loss(self) -> float:
        """Return the largest finite loss; -inf where every loss is infinite."""
        return max(self.losses, default=-math.inf)

    @cached_property
    def columns(self) -> tuple[Array, Array]:
        """The losses and their masses."""
        return np.array(self.losses), np.array(self.masses)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by sums of non-negative terms (`atomic_renyi`)."""
        return atomic_renyi(
            c,
            *self.columns,
            infinite=self.infinity_mass > 0.0 or self.lower_infinity_mass > 0.0,
            units=(self.loss_units, MASS_ULPS),
            moved=self.moved,
        )

    @cached_property
    def symmetric(self) -> bool:
        """Whether losses -l with the Q-masses of l are these losses with these masses."""
        if self.infinity_mass or self.lower_infinity_mass or self.log_truncated_mass > -math.inf:
            return False
        back = zip((-loss for loss in self.losses), self.lower_masses, strict=False)
        return dict(back) == dict(zip(self.losses, self.masses, strict=True))

    @property
    def reverse_direction(self) -> AtomicLaw | None:
        """Return minus the losses with the Q-masses.

        The mass Q(L = -inf) is taken to be as exact as other masses, and as P(L = inf).
        """
        if self.symmetric or not self.lower_masses:
            return self if self.symmetric else None
        return AtomicLaw(
            tuple(-loss for loss in self.losses),
            self.lower_masses,
            self.lower_infinity_mass,
            self.infinity_mass,
            self.loss_units,
            self.masses,
            self.infinity_mass_error + MASS_ULPS * UNIT,
            log_truncated_mass=self.log_truncated_mass,
            moved=self.moved,
        )

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return what is known, or the mu that any pair with such a bounded loss has."""
        if self.mu is not None:
            return self.mu
        if self.infinity_mass > 0.0 or self.lower_infinity_mass > 0.0:
            return 0.0, math.inf
        largest = max(abs(loss) for loss in self.losses)
        return 0.0, pure_mu(largest * (1.0 + self.max_loss_error))

    @property
    def atom_locations(self) -> tuple[float, ...]:
        """Return the losses themselves, unless there are many."""
        return tuple(sorted(self.losses)) if len(self.losses) <= MOST_ANCHORS else ()

    def tails(self, losses: Array) -> Tails:
        """Return sums of masses from either end; each sum of n terms is off by n units at most.

        So are those between neighbours, which have few terms where there are many losses.
        """
        values, p, q, *sums = self._sums
        index = np.searchsorted(values, losses, side="right")
        size = float(np.abs(values).max(initial=0.0))
        above_p, above_q, below_p, below_q = (each[index] for each in sums)
        units = MASS_ULPS + 4.0 + (LOSS_ULPS + 2.0) * size
        return Tails(
            above_p,
            above_q,
            below_p,
            below_q,
            error=UNIT * (units + len(values)),
            shift=self.loss_units * UNIT * size,
            between_p=_between(p, index),
            between_q=_between(q, index),
            between_error=UNIT * (units + np.diff(index)),
        )

    @cached_property
    def _sums(self) -> tuple[Array, ...]:
        """The losses in order, P- and Q-masses, and these above and below."""
        order = np.argsort(self.columns[0])
        values, p = (column[order] for column in self.columns)
        q = np.array(self.lower_masses)[order] if self.lower_masses else p * np.exp(-values)
        return values, p, q, _sums(p[::-1])[::-1], _sums(q[::-1])[::-1], _sums(p), _sums(q)


def _sums(masses: Array) -> Array:
    """Return the sums of the first 0, 1, ... masses."""
    return np.concatenate([[0.0], np.cumsum(masses)])


def _between(masses: Array, index: Integers) -> Array:
    """Return the sums of the masses from each place up to the next."""
    sums = np.add.reduceat(np.append(masses, 0.0), index)[:-1]
    found: Array = np.where(np.diff(index) > 0, sums, 0.0)
    return found


def nothing() -> AtomicLaw:
    """Return the law of what tells nothing: no loss."""
    return AtomicLaw((0.0,), (1.0,), loss_units=0.0, lower_masses=(1.0,))


def two_point(epsilon: Enclosed, infinity_mass: Enclosed = NOTHING) -> AtomicLaw:
    """Return the law of the Kairouz-Oh-Viswanath pair of an (epsilon, delta) guarantee.

    Loss +inf with probability delta; otherwise epsilon with probability e^eps / (1 + e^eps) and
    -epsilon with the rest. The pair is symmetric, so Q(L = -inf) is delta as well.

    Where epsilon is known and no double, e^epsilon is corrected to first order. Where it, or delta,
    is one of many numbers, the masses are off by epsilon and delta / (1 - delta) units more: which
    is for the caller to keep small.
    """
    value, error, known = epsilon.nearest()
    if value > LARGEST_EPSILON:
        raise DomainError(
            f"epsilon must be <= {LARGEST_EPSILON:g}, got {value!r}: beyond it the probabilities"
            " of the pair underflow"
        )
    mass, mass_error, known_mass = infinity_mass.nearest()
    moved = 0.0 if known is None else float(known - Fraction(value))
    down = 1.0 / (1.0 + math.exp(value) * (1.0 + moved))
    up = 1.0 / (1.0 + math.exp(-value) * (1.0 - moved))
    finite = float(1 - (infinity_mass.low + infinity_mass.high) / 2)
    if finite == 0.0:
        return AtomicLaw((), (), 1.0, 1.0)
    sides: tuple[float, ...] = (value, -value)
    both: tuple[float, ...] = (up * finite, down * finite)
    if value == 0.0:
        sides, both = (0.0,), (finite,)
    return AtomicLaw(
        sides,
        both,
        mass,
        mass,
        loss_units=error / UNIT,
        lower_masses=both[::-1],
        infinity_mass_error=mass_error,
        known_loss=known,
        known_mass=known_mass,
    )


@record
class ProvedLaw(LossLaw):
    """The pair of the largest profile through points of one that is proved at every epsilon.

    One use costs what is proved at the epsilon that is asked for. Compositions are those of a pair
    (P, Q) that dominates, with finitely many losses (`profiles.py`).

    Attributes:
        infinity_mass: what is proved from some epsilon on.
        last: that epsilon.
        name: what tells it from others.
        proved: both ends of delta at epsilons >= 0, of shape (n,).
        joined: makes the law of the pair, whose mass at infinity is `infinity_mass`.
        alternative_dominating_pair: see `LossLaw`.
        one_sided: see `LawProperties`.
    """

    infinity_mass: float
    last: float
    name: object
    proved: Callable[[Array], tuple[Array, Array]] = field(compare=False)
    joined: Callable[[], AtomicLaw] = field(compare=False)
    alternative_dominating_pair: LossLaw | None = None
    one_sided: bool = False

    @property
    def properties(self) -> LawProperties:
        """Return those of the pair, which is made only where it is needed; it has few points."""
        return LawProperties(
            has_atoms=True,
            renyi_in_closed_form=True,
            exact_profile=True,
            one_sided=self.one_sided,
        )

    @cached_property
    def atoms(self) -> AtomicLaw:
        """The pair; made when it is first needed."""
        return self.joined()

    def profile(self, epsilon: float) -> tuple[float, float]:
        """Return what is proved beyond the mass at infinity."""
        ends = [float(each[0]) for each in self.proved(np.array([epsilon]))]
        low, high = (max(0.0, each - self.infinity_mass) for each in ends)
        return low * (1.0 - 4.0 * UNIT), high * (1.0 + 4.0 * UNIT)

    @property
    def max_loss(self) -> float:
        """Return where the points end."""
        return self.last

    @property
    def lower_infinity_mass(self) -> float:
        """Return Q(L = -inf)."""
        return self.atoms.lower_infinity_mass

    @property
    def atom_locations(self) -> tuple[float, ...]:
        """Return its losses, unless there are many."""
        return self.atoms.atom_locations

    def tails(self, losses: Array) -> Tails:
        """Return those of the pair."""
        return self.atoms.tails(losses)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound those of the pair."""
        return self.atoms.renyi(c)
